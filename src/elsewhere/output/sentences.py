"""A result in words: the figures, what was removed, and the proof. All of it is private."""

from __future__ import annotations

from itertools import islice

from elsewhere.model.result import Sanitized
from elsewhere.pictures.changes import figure
from elsewhere.text import as_sentence, plural, printable

#: The heading of the sentences about attackers.
GUESSES_TITLE = "What a stranger could still guess"
#: The greatest value of a distance, if it has one.
_SCALES = {"js": 1, "variational": 2}
#: The most places in a to-do list.
_MOST_LISTED = 50


def in_words(result: Sanitized, quality: str, privacy: str) -> list[str]:
    """The figures as sentences, with the names of these distances, and the proof as the last sentence."""
    loss = on_scale(result.quality_loss, quality)
    lines = [f"The release differs from your history by {loss} (quality loss)."]
    places = int(result.question.problem.sensitive.sum())
    if places:
        hidden, where = result.question.hidden_visits, plural(places, "sensitive place")
        lines.append(f"Removed {plural(hidden, 'visit')} to {where}." if hidden else f"Added no visit to {where}.")
    if result.privacy_distance is not None:
        distance = on_scale(result.privacy_distance, privacy)
        lines.append(f"Its distance from the target is {distance} (privacy distance).")
    if result.question.size == "free":
        lines += _to_do(result)
    lines += [as_sentence(note) for note in result.notes]
    return [*lines, _proof(result)]


def _to_do(result: Sanitized) -> list[str]:
    """The visits to make so that the release becomes true."""
    added, made = result.added, result.question.history.size
    lines = [f"To do: {plural(sum(added.values()), 'more visit')}, besides the {made:,} that you made."]
    for name, count in islice(added.items(), _MOST_LISTED):
        lines.append(f"- {plural(count, 'more visit')} to {printable(name)}")
    if len(added) > _MOST_LISTED:
        rest = sum(islice(added.values(), _MOST_LISTED, None))
        lines.append(f"- {plural(rest, 'more visit')} to {plural(len(added) - _MOST_LISTED, 'other place')}")
    return lines


def _proof(result: Sanitized) -> str:
    if result.question.size == "free":
        if result.status == "optimal":
            return "Proven: fewer added visits do not meet the distance, and no other way to add these is better."
        return "Not proven: fewer added visits may meet the distance."
    if result.question.method == "drawn":
        more = "the proven least" if result.gap < 1e-12 else f"{result.gap:.3g} above the proven least"
        return f"Drawn at random: the quality loss is {more}."
    if result.question.aim == "least-loss":
        closer = "no release that meets the privacy distance is closer to your history"
        return (
            f"Proven: {closer}." if result.status == "optimal" else f"Proven: {closer} by more than {result.gap:.3g}."
        )
    if result.status == "optimal":
        return "Proven: no release within these limits is better."
    return f"Proven: no release within these limits is better by more than {result.gap:.3g}."


def on_scale(distance: float, name: str) -> str:
    """A distance with the greatest value of its scale."""
    if name in _SCALES:
        return f"{figure(distance)} on a scale from 0 to {_SCALES[name]}"
    return f"{figure(distance)} ({name}; 0 is no difference)"
