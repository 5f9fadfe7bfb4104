"""A result in words, for whoever sees it: what it cost, what is gone, how that is proven. All of it is private."""

from __future__ import annotations

from elsewhere.model.result import Sanitized
from elsewhere.pictures.changes import figure
from elsewhere.text import plural

#: Where the scale of a distance ends, if it does.
_SCALES = {"js": 1, "variational": 2}


def in_words(result: Sanitized, quality: str, privacy: str) -> list[str]:
    """The figures as sentences, in terms of these distances, and the certificate as the last one."""
    question = result.question
    loss = on_scale(result.quality_loss, quality)
    lines = [f"The release differs from your history by {loss} (quality loss)."]
    hidden = int(question.history[question.sensitive].sum())
    if question.sensitive.any():
        places = plural(int(question.sensitive.sum()), "sensitive place")
        lines.append(f"{plural(hidden, 'visit')} to {places} {'is' if hidden == 1 else 'are'} gone from it.")
    if result.privacy_distance is not None:
        distance = on_scale(result.privacy_distance, privacy)
        lines.append(f"Its distance from the target is {distance} (privacy distance).")
    lines += [f"{note[:1].upper()}{note[1:]}." for note in result.notes]
    return [*lines, _certificate(result)]


def _certificate(result: Sanitized) -> str:
    if result.status == "optimal":
        proof = "Certificate: optimal; nothing that keeps to what was asked is better"
    else:
        proof = f"Certificate: within {result.gap:.3g} of the best possible"
    if result.certificate is not None:
        proof += (
            f" (multipliers {result.certificate.quality_multiplier:.4g} for quality and "
            f"{result.certificate.size_multiplier:.4g} for size alone prove {result.certificate.bound:.6g})"
        )
    return proof + "."


def on_scale(distance: float, name: str) -> str:
    """A distance, with what it can be at most."""
    if name in _SCALES:
        return f"{figure(distance)} on a scale from 0 to {_SCALES[name]}"
    return f"{figure(distance)} ({name}; 0 is no difference)"
