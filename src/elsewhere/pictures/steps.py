"""The picture of a frontier: the privacy distance for each quality loss, as steps."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING

from elsewhere.pictures import canvas, files, tables
from elsewhere.pictures.changes import PRIVATE
from elsewhere.pictures.curve import TITLE, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# All in inches.
_WIDTH, _HEIGHT = 8.0, 5.5
_ABOVE, _BELOW, _LEFT = 1.0, 0.85, 1.0


def draw(curve: Curve, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the figure, and write it to the path if there is one."""
    ending = files.ending(path)
    with canvas.settings():
        figure = canvas.sheet(_WIDTH, _HEIGHT, TITLE, curve.in_words(), [PRIVATE])
        axes = figure.add_axes(
            (_LEFT / _WIDTH, _BELOW / _HEIGHT, 1 - (_LEFT + canvas.MARGIN) / _WIDTH, 1 - (_ABOVE + _BELOW) / _HEIGHT)
        )
        _draw_points(axes, curve)
        axes.set_xlabel("quality loss")
        better = "smaller is nearer to the target" if curve.goal == "resemble" else "greater is farther from the target"
        axes.set_ylabel(f"privacy distance ({better})")
        axes.grid(color=canvas.INK, alpha=0.15, linewidth=0.6)
        if path is not None:
            files.save(figure, path, ending, TITLE, lambda: tables.curve_table(curve))
    return figure


def _draw_points(axes: Axes, curve: Curve) -> None:
    losses = [point.quality_loss for point in curve.points]
    distances = _heights(axes, curve)
    # A quality loss reaches what the largest point below it does, so the line goes right first, then to the next point.
    axes.step(
        [losses[at] for at in curve.undominated],
        [distances[at] for at in curve.undominated],
        where="post",
        color=canvas.AFTER,
    )
    axes.plot(losses, distances, "o", color=canvas.AFTER, markersize=5, clip_on=False, zorder=3)
    x, y = losses[curve.marked], distances[curve.marked]
    axes.plot([x], [y], "D", color=canvas.SENSITIVE, markersize=9, clip_on=False, zorder=3)
    # No step is drawn on this side of a point.
    above = curve.goal == "resemble"
    axes.annotate(
        curve.mark, (x, y), (9, 6 if above else -6), textcoords="offset points", va="bottom" if above else "top"
    )
    axes.set_xlim(0, 1.15 * max(losses) or 1.0)
    axes.set_ylim(min(0.0, *distances), 1.15 * max(distances) or 1.0)


def _heights(axes: Axes, curve: Curve) -> list[float]:
    """The height of each point; infinite distances are on a separate line above the others."""
    from matplotlib.ticker import MaxNLocator

    distances = [point.privacy_distance for point in curve.points]
    if max(distances) < math.inf:
        return distances
    highest = max([distance for distance in distances if distance < math.inf], default=0.0)
    top = 1.25 * highest or 1.0
    ticks = [tick for tick in MaxNLocator(nbins=6).tick_values(0, highest) if tick <= highest]
    axes.set_yticks([*ticks, top], labels=[*(f"{tick:.4g}" for tick in ticks), "infinite"])
    return [min(distance, top) for distance in distances]
