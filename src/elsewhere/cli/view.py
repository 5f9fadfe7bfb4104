"""How a person sees a result: before and after as bars, the figures in words, the certificate in one line."""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console
from rich.table import Table
from rich.text import Text

from elsewhere import Histogram, Sanitized

_BAR = 16


def show(
    console: Console,
    before: Histogram,
    result: Sanitized,
    *,
    target: Histogram | None = None,
    sensitive: Collection[str] = (),
) -> None:
    """Print the histogram before and after, the target if there is one, and what it cost."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("location")
    table.add_column("before", min_width=_BAR + 4)
    table.add_column("after", min_width=_BAR + 4)
    columns = [before, result.histogram]
    if target is not None:
        table.add_column("target", min_width=_BAR + 4)
        columns.append(target)
    locations = sorted({location for column in columns for location in column})
    most = max(int(column.counts.max()) for column in columns)
    for location in locations:
        hidden = location in sensitive
        name = location + (" (sensitive)" if hidden else "")
        row = [Text(name, style="red" if hidden else "")]
        for column, style in zip(columns, ("blue", "green", "yellow"), strict=False):
            row.append(_bar(column[location], most, style))
        table.add_row(*row)
    console.print(table)
    console.print(in_words(result), highlight=False, soft_wrap=True)


def in_words(result: Sanitized) -> str:
    """The figures and the certificate as sentences."""
    lines = [f"The release differs from the history by {result.quality_loss:.4g} (quality loss)."]
    if result.privacy_distance is not None:
        lines.append(f"It is {result.privacy_distance:.4g} away from the target (privacy distance).")
    if result.status == "optimal":
        proof = "Certificate: optimal; no histogram within the constraints is better"
    else:
        proof = f"Certificate: within {result.gap:.3g} of the best possible"
    if result.certificate is not None:
        proof += (
            f" (multipliers {result.certificate.quality_multiplier:.4g} for quality and "
            f"{result.certificate.size_multiplier:.4g} for size alone prove {result.certificate.bound:.6g})"
        )
    return "\n".join([*lines, proof + "."])


def _bar(count: int, most: int, style: str) -> Text:
    eighths = round(8 * _BAR * count / most)
    blocks = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return Text(f"{count:>3} ") + Text(blocks, style=style)
