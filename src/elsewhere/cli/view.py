"""Show a result on the terminal: before and after as bars, the figures in words, the certificate in one line."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING

from elsewhere.model.result import Frontier, Sanitized
from elsewhere.output.sentences import GUESSES_TITLE, in_words
from elsewhere.pictures.changes import Changes, figure, number

if TYPE_CHECKING:
    from elsewhere.policy import Policy

_BAR = 16
#: Blocks from empty to full, in eighths.
_BLOCKS = " ▏▎▍▌▋▊▉█"


def show(result: Sanitized, policy: Policy, stream: IO[str], bars: bool | None = None) -> None:
    """Print the histogram before and after, and the figures: with bars on a terminal, otherwise plain."""
    changes = result.changes()
    if stream.isatty() if bars is None else bars:
        _show_bars(changes, stream)
    else:
        _show_plain(changes, stream)
    for sentence in in_words(result, policy.quality, policy.privacy):
        print(sentence, file=stream)
    print(f"{GUESSES_TITLE}:", file=stream)
    for guess in result.guesses:
        print(f"- {guess}", file=stream)


def suggestion(points: Frontier) -> str:
    """A sentence about the limit beyond which more quality loss gains little."""
    knee = points.suggest()
    at = points.index(knee)
    assert knee.privacy_distance is not None
    reaches = "an infinite privacy distance"
    if knee.privacy_distance < math.inf:
        reaches = f"a privacy distance of {figure(knee.privacy_distance)}"
    beyond = "which is the best possible" if at == len(points) - 1 else "and beyond it each step buys less"
    choice = f"--max-quality-loss {points.budgets[at]:.4g}: it reaches {reaches}"
    if knee.question.aim == "least-loss":
        option = "--max-distance" if knee.goal == "resemble" else "--min-distance"
        choice = f"{option} {points.budgets[at]:.4g}: it costs a quality loss of {figure(knee.quality_loss)}"
    return f"A good choice is {choice}, {beyond}."


def _show_plain(changes: Changes, stream: IO[str]) -> None:
    """One line per location, with columns separated by tabs."""
    target = [] if changes.target is None else ["target"]
    print("location", "before", "after", *target, sep="\t", file=stream)
    for row in changes.top_rows():
        name = row.name + (" (sensitive)" if row.sensitive else "")
        numbers = [row.before, row.after] if row.target is None else [row.before, row.after, row.target]
        print(name, *map(number, numbers), sep="\t", file=stream)
    if changes.folded_note():
        print(changes.folded_note(), file=stream)


def _show_bars(changes: Changes, stream: IO[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream)
    draw = _bar if _can_show(stream, _BLOCKS) else _plain_bar
    rows = changes.top_rows()
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
            Text(f"{number(count):>{wide}} ") + Text(draw(count, most), style=style)
            for count, style in ((row.before, "blue"), (row.after, "green"), (row.target, "yellow"))
            if count is not None
        ]
        table.add_row(name, *cells)
    console.print(table)
    if changes.folded_note():
        console.print(changes.folded_note(), highlight=False)


def _can_show(stream: IO[str], text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _bar(count: float, most: float) -> str:
    eighths = round(8 * _BAR * count / most)
    return _BLOCKS[-1] * (eighths // 8) + _BLOCKS[eighths % 8].strip()


def _plain_bar(count: float, most: float) -> str:
    return "#" * round(_BAR * count / most)
