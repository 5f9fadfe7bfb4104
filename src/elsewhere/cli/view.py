"""How a person sees a result: before and after as bars, the figures in words, the certificate in one line."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING

from elsewhere.model.result import Frontier, Sanitized
from elsewhere.pictures.changes import Changes, figure, number

if TYPE_CHECKING:
    from elsewhere.policy import Policy

_BAR = 16
#: Where the scale of a distance ends, if it does.
_SCALES = {"js": 1, "variational": 2}


def show(result: Sanitized, policy: Policy, stream: IO[str], bars: bool | None = None) -> None:
    """Print the histogram before and after, and what it cost: with bars on a terminal, plain elsewhere."""
    changes = result.changes()
    if stream.isatty() if bars is None else bars:
        _show_bars(changes, stream)
    else:
        _show_plain(changes, stream)
    for sentence in in_words(result, policy):
        print(sentence, file=stream)


def in_words(result: Sanitized, policy: Policy) -> list[str]:
    """The figures and the certificate as sentences."""
    question = result.question
    loss = on_scale(result.quality_loss, policy.quality)
    lines = [f"The release differs from your history by {loss} (quality loss)."]
    hidden = int(question.history[question.sensitive].sum())
    if question.sensitive.any():
        places = some(int(question.sensitive.sum()), "sensitive place")
        lines.append(f"{some(hidden, 'visit')} to {places} {'is' if hidden == 1 else 'are'} gone from it.")
    if result.privacy_distance is not None:
        distance = on_scale(result.privacy_distance, policy.privacy)
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


def suggestion(points: Frontier) -> str:
    """Where more quality loss stops paying, as a sentence."""
    knee = points.suggest()
    at = points.index(knee)
    assert knee.privacy_distance is not None
    reaches = "an infinite privacy distance"
    if knee.privacy_distance < math.inf:
        reaches = f"a privacy distance of {figure(knee.privacy_distance)}"
    beyond = "which is the best there is" if at == len(points) - 1 else "and beyond it each step buys less"
    return f"A good choice is --max-quality-loss {points.budgets[at]:.4g}: it reaches {reaches}, {beyond}."


def distinct(points: Frontier, chosen: float | None) -> Frontier:
    """The points without those that are the same as the one before, but for a choice that was made."""
    kept = [
        at
        for at, point in enumerate(points)
        if at == 0 or point.histogram != points[at - 1].histogram or points.budgets[at] == chosen
    ]
    return Frontier([points[at] for at in kept], [points.budgets[at] for at in kept])


def on_scale(distance: float, name: str) -> str:
    """A distance, with what it can be at most."""
    if name in _SCALES:
        return f"{figure(distance)} on a scale from 0 to {_SCALES[name]}"
    return f"{figure(distance)} ({name}; 0 is no difference)"


def some(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _show_plain(changes: Changes, stream: IO[str]) -> None:
    """One line a location, in columns that tabs separate."""
    target = [] if changes.target is None else ["target"]
    print("location", "before", "after", *target, sep="\t", file=stream)
    for row in changes.shown():
        name = row.name + (" (sensitive)" if row.sensitive else "")
        numbers = [row.before, row.after] if row.target is None else [row.before, row.after, row.target]
        print(name, *map(number, numbers), sep="\t", file=stream)
    if changes.folded():
        print(changes.folded(), file=stream)


def _show_bars(changes: Changes, stream: IO[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream)
    rows = changes.shown()
    columns = ("before", "after") if changes.target is None else ("before", "after", "target")
    most = max(max(row.before, row.after, row.target or 0.0) for row in rows)
    wide = max(len(number(most)), 4)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("location", overflow="ellipsis", no_wrap=True, max_width=34)
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        name = Text(row.name + (" (sensitive)" if row.sensitive else ""), style="red" if row.sensitive else "")
        cells = [
            Text(f"{number(count):>{wide}} ") + Text(_bar(count, most), style=style)
            for count, style in ((row.before, "blue"), (row.after, "green"), (row.target, "yellow"))
            if count is not None
        ]
        table.add_row(name, *cells)
    console.print(table)
    if changes.folded():
        console.print(changes.folded(), highlight=False)


def _bar(count: float, most: float) -> str:
    eighths = round(8 * _BAR * count / most)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
