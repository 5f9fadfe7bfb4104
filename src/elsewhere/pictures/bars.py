"""The picture of one result: bars before and after and of the target, one row per location."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from elsewhere.pictures import canvas, files, tables
from elsewhere.pictures.changes import TITLE, Changes, Row, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In inches.
_CHART = 6.7
_BAR, _GAP = 0.13, 0.14
_ABOVE, _LEGEND, _BELOW, _LINE = 1.4, 0.88, 0.85, 0.14
# In points.
_NAMES, _NUMBERS = 9.0, 7.0

_COLOURS = {"before": canvas.BEFORE, "after": canvas.AFTER, "target": canvas.TARGET}
_HATCH: dict[str, Any] = {"facecolor": canvas.SENSITIVE, "edgecolor": "white", "linewidth": 0, "hatch": "//////"}


def draw(changes: Changes, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the figure, and write it to the path if there is one."""
    ending = files.ending(path)
    with canvas.settings():
        figure = _figure(changes)
        if path is not None:
            files.save(figure, path, ending, TITLE, lambda: tables.changes_table(changes, changes.all_rows()))
    return figure


def _figure(changes: Changes) -> Figure:
    rows, folded = changes.top_rows(), changes.folded_note()
    labels = _labels(rows)
    footer = changes.remarks()
    if any(canvas.NO_GLYPH in label for label in labels):
        footer.insert(0, f"{canvas.NO_GLYPH} stands for a character that no font here can draw.")
    series: dict[str, list[float]] = {"before": [row.before for row in rows], "after": [row.after for row in rows]}
    if changes.target is not None:
        series["target"] = [row.target or 0.0 for row in rows]
    pitch = len(series) * _BAR + _GAP
    below = _BELOW + _LINE * (len(footer) - 1)
    height = _ABOVE + pitch * (len(rows) + bool(folded)) + below
    left = canvas.MARGIN + canvas.text_width(labels, _NAMES) + 0.1
    width = left + _CHART + canvas.MARGIN
    figure = canvas.sheet(width, height, TITLE, changes.in_words(), footer)
    axes = figure.add_axes((left / width, below / height, _CHART / width, 1 - (_ABOVE + below) / height))
    _draw_bars(axes, rows, series, _BAR / pitch)
    _make_room_for_numbers(axes, series)
    _label(axes, labels, folded)
    _add_legend(figure, series, any(row.sensitive for row in rows))
    return figure


def _draw_bars(axes: Axes, rows: Sequence[Row], series: Mapping[str, Sequence[float]], thickness: float) -> None:
    for at, (name, numbers) in enumerate(series.items()):
        offset = (at - (len(series) - 1) / 2) * thickness
        places = [place + offset for place in range(len(rows))]
        bars = axes.barh(places, numbers, thickness * 0.9, color=_COLOURS[name], label=name)
        axes.bar_label(bars, [_short(count) for count in numbers], padding=2, fontsize=_NUMBERS)
        for bar, row in zip(bars, rows, strict=True):
            if row.sensitive and name == "before":
                bar.set(**_HATCH)


def _make_room_for_numbers(axes: Axes, series: Mapping[str, Sequence[float]]) -> None:
    counts = [count for numbers in series.values() for count in numbers]
    number_width = canvas.text_width(map(_short, counts), _NUMBERS) + 0.1
    axes.set_xlim(0, max(1, *counts) / (1 - number_width / _CHART))


def _label(axes: Axes, labels: Sequence[str], folded: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_yticks(range(len(labels)), labels=labels, parse_math=False, fontsize=_NAMES)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.5 + bool(folded), -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: _short(count)))
    axes.grid(axis="x", color=canvas.INK, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("count")
    axes.annotate("location", (0, 1), (-3.5, 4), "axes fraction", "offset points", ha="right")
    axes.text(0, len(labels), f" {folded}", va="center", fontstyle="italic")


def _add_legend(figure: Figure, series: Mapping[str, Sequence[float]], sensitive: bool) -> None:
    from matplotlib.patches import Patch

    entries = [Patch(color=_COLOURS[name], label=name) for name in series]
    if sensitive:
        entries.insert(1, Patch(**_HATCH, label="before, sensitive"))
    width, height = figure.get_size_inches()
    corner = (canvas.MARGIN / width, 1 - _LEGEND / height)
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=corner, ncols=4, borderaxespad=0, borderpad=0)


def _labels(rows: Sequence[Row]) -> list[str]:
    names = canvas.drawable([row.name for row in rows])
    return [f"{name} (sensitive)" if row.sensitive else name for name, row in zip(names, rows, strict=True)]


def _short(count: float) -> str:
    return number(count) if count < 1e9 else f"{count:.4g}"
