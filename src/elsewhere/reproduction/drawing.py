"""The figures of the experiments: panels side by side, in the colours of the other pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.pictures import canvas
from elsewhere.reproduction.experiment import Drawing, Fit, Panel, Series
from elsewhere.reproduction.fits import power_law

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# All in inches.
_WIDTH, _PANEL_HEIGHT = 8.6, 2.55
_ABOVE, _BELOW, _LEFT, _GAP, _ROW_GAP = 1.1, 1.4, 0.85, 0.95, 1.35
_COLUMNS = 2
_COLOURS = (canvas.AFTER, canvas.SENSITIVE, canvas.TARGET, canvas.BEFORE, "#009e73", "#cc79a7")
_MARKERS = "osD^vP"


def draw(drawing: Drawing, footer: str) -> Figure:
    """The figure; call it within `canvas.settings()`."""
    panels = list(drawing.panels)
    rows = math.ceil(len(panels) / _COLUMNS)
    height = _ABOVE + _BELOW + rows * _PANEL_HEIGHT + (rows - 1) * _ROW_GAP
    which = f"{drawing.figure} of the paper" if drawing.figure else "Not in the paper"
    figure = canvas.sheet(_WIDTH, height, drawing.title, which, [footer])
    width = (_WIDTH - _LEFT - canvas.MARGIN - (_COLUMNS - 1) * _GAP) / _COLUMNS
    for at, panel in enumerate(panels):
        row, column = divmod(at, _COLUMNS)
        left = _LEFT + column * (width + _GAP)
        bottom = height - _ABOVE - (row + 1) * _PANEL_HEIGHT - row * _ROW_GAP
        axes = figure.add_axes((left / _WIDTH, bottom / height, width / _WIDTH, _PANEL_HEIGHT / height))
        _draw_panel(axes, panel)
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for at, series in enumerate(panel.series):
        _draw_series(axes, series, _COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)], panel)
    # The name of a set may come from a file name, so a dollar sign in it must not start a formula.
    axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold", parse_math=False)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    if panel.log_x and _has_positive(panel, "x"):
        axes.set_xscale("log")
    if panel.log_y and _has_positive(panel, "y"):
        axes.set_yscale("log")
    axes.grid(color=canvas.INK, alpha=0.15, linewidth=0.6)
    if len(panel.series) > 1:
        # Below the axes, so that it covers no points.
        legend = axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(-0.05, -0.19), ncols=2, columnspacing=1.0,
                             handletextpad=0.4, borderaxespad=0)  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def _draw_series(axes: Axes, series: Series, colour: str, marker: str, panel: Panel) -> None:
    x, y = (np.array(list(values), dtype=np.float64) for values in (series.x, series.y))
    # A logarithmic axis cannot show 0: such a point is missing in the picture, but not in the CSV.
    seen = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not panel.log_x)) & ((y > 0) | (not panel.log_y))
    x, y = x[seen], y[seen]
    if series.style == "steps":
        axes.step(x, y, where="post", color=colour, label=series.label, linewidth=1.3)
        return
    order = np.argsort(x, kind="stable")
    label = f"{series.label}{_draw_fit(axes, x, y, colour, panel.fit)}"
    if series.low is not None and series.high is not None:
        low, high = (np.array(list(values), dtype=np.float64)[seen] for values in (series.low, series.high))
        axes.errorbar(x, y, yerr=(y - low, high - y), fmt="none", ecolor=colour, elinewidth=0.9, capsize=2, alpha=0.7)
    line = "-" if series.style == "line" else ""
    size, alpha = (3.5, 1.0) if series.style == "line" else (3.0, 0.75)
    axes.plot(x[order], y[order], f"{line}{marker}", color=colour, label=label, markersize=size, linewidth=1.1,
              markeredgewidth=0, alpha=alpha)  # fmt: skip


def _draw_fit(axes: Axes, x: Floats, y: Floats, colour: str, fit: Fit | None) -> str:
    """Draw the power law of a claim over the points that it is fitted to; return its text for the legend."""
    if fit is None:
        return ""
    fitted = x[x >= fit.least] - fit.offset
    law = power_law(fitted, y[x >= fit.least])
    if law is None:
        return ""
    ends = np.geomspace(fitted[fitted > 0].min(), fitted.max(), 30)
    axes.plot(ends + fit.offset, law.factor * ends**law.exponent, "--", color=colour, linewidth=0.9)
    base = f"(x - {fit.offset:g})" if fit.offset else "x"
    return f": {base}^{law.exponent:.2f}" + (f" from {fit.least:g} on" if fit.least else "")


def _has_positive(panel: Panel, axis: str) -> bool:
    return any(np.nanmax([0.0, *getattr(series, axis)]) > 0 for series in panel.series)
