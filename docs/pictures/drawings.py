"""Makes the drawings of the site again: python -m docs.pictures.drawings

Every point is computed, most of them by a few lines that any reader can follow. The ground is white, so that a drawing
is readable in a light and in a dark theme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from math import inf, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import elsewhere as ew
from elsewhere import profiles
from elsewhere.pictures import canvas, files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
FAINT = "#9aa5b1"

#: The example of the paper.
HISTORY = dict(zip("abcdefgh", (7, 2, 3, 2, 13, 12, 8, 3), strict=True))
FRUGAL = dict(zip("abcdefgh", (10, 8, 6, 2, 13, 4, 4, 3), strict=True))
#: One so small that all releases can be drawn, and a limit on its quality loss.
FEW, OTHER, LIMIT = (5, 1, 2, 4), (2, 5, 3, 2), 0.05


def main() -> None:
    for name, draw in DRAWINGS.items():
        with canvas.settings():
            figure = draw()
            figure.set_facecolor("white")
            (HERE / f"{name}.svg").write_bytes(_rounded(files.rendered(figure, ".svg")))


def _rounded(svg: bytes) -> bytes:
    """Coordinates to a hundredth of a point: what nobody sees need not be stored."""
    text = re.sub(r"(?<=[ \"ML,-])\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", svg.decode())
    return "\n".join(line.rstrip() for line in text.splitlines()).encode() + b"\n"


def term(reference: float, x: float) -> float:
    """One location's term of the JS-divergence, of shares."""
    return sum(share / 2 * log2(2 * share / (reference + x)) for share in (reference, x) if share)


# Results, as the library draws them


def person() -> Figure:
    """The history of the tutorial, which is read from its page."""
    page = (HERE.parent / "tutorials" / "person.md").read_text("utf-8")
    table = re.search(r":caption: january\.csv\n\nlocation,count\n(.*?)```", page, re.DOTALL)
    assert table is not None
    rows = [line.rsplit(",", 1) for line in table[1].splitlines()]
    history = ew.Histogram({place: int(count) for place, count in rows})
    sensitive = ew.Taxonomy.shipped().select(["preset:health", "preset:religion", "preset:gambling"], history)
    return ew.hide(history, sensitive).plot()


def frontier() -> Figure:
    return ew.frontier(HISTORY, FRUGAL, [step / 500 for step in range(46)]).plot()


def _sample(name: str) -> ew.Histogram:
    from importlib.resources import as_file, files

    with as_file(files("elsewhere") / "data" / "samples" / f"{name}.csv") as path:
        return ew.read(path).histogram


def year_resembles() -> Figure:
    return ew.resemble(_sample("year"), profiles.stored("retiree"), max_quality_loss=0.05).plot()


def year_avoids() -> Figure:
    at_most = {"Hospital": 187, "Pharmacy": 16, "Psychotherapist": 21}
    return ew.avoid(_sample("year"), profiles.stored("commuter"), max_quality_loss=0.02, upper=at_most).plot()


def year_frontier() -> Figure:
    return ew.frontier(_sample("year"), profiles.stored("retiree"), [step / 100 for step in range(31)]).plot()


# The algorithms


def marginal() -> Figure:
    """hide: the next visit goes where it costs least."""
    kept = {place: count for place, count in HISTORY.items() if place not in "gh"}
    steps = [
        [1000 * (term(count / 50, (count + k) / 50) - term(count / 50, (count + k - 1) / 50)) for k in range(1, 6)]
        for count in kept.values()
    ]
    cheapest = sorted(cost for costs in steps for cost in costs)[:11]
    figure, axes = _sheet(7.2, 3.6)
    for at, costs in enumerate(steps):
        taken = sum(cost <= cheapest[-1] for cost in costs)
        axes.plot([at] * 5, costs, color=FAINT, linewidth=1, zorder=1)
        axes.scatter([at] * taken, costs[:taken], 70, canvas.AFTER, zorder=2)
        axes.scatter([at] * (5 - taken), costs[taken:], 70, "white", edgecolor=FAINT, zorder=2)
        for k, cost in enumerate(costs, 1):
            axes.annotate(f"+{k}", (at, cost), (9, 0), textcoords="offset points", va="center", fontsize=8)
    axes.axhline((cheapest[-1] + min(c for costs in steps for c in costs if c > cheapest[-1])) / 2,
                 color=canvas.SENSITIVE, linestyle="--", linewidth=1.2)  # fmt: skip
    axes.annotate(
        "dashed: the price. The 11 steps\nbelow it are taken.", (5.6, 3.1), ha="right", color=canvas.SENSITIVE
    )
    axes.set_xticks(range(6), [f"{place} ({count} visits)" for place, count in kept.items()])
    axes.set_xlim(-0.4, 5.6)
    axes.set_ylim(0, 4.6)
    axes.set_ylabel("cost of one more visit, in thousandths")
    return figure


def _releases() -> Iterator[tuple[int, ...]]:
    """Every way to spread the 12 visits over the four places."""
    for bars in combinations(range(15), 3):
        yield tuple(b - a - 1 for a, b in pairwise((-1, *bars, 15)))


def _distances(release: Sequence[int]) -> tuple[float, float]:
    """The quality loss and the privacy distance of a release of the small example."""
    loss = sum(term(r / 12, x / 12) for r, x in zip(FEW, release, strict=True))
    return loss, sum(term(r / 12, x / 12) for r, x in zip(OTHER, release, strict=True))


def dual() -> Figure:
    """The dual: a line under all releases, and the height of the best one."""
    points = np.array([_distances(release) for release in _releases()])
    lams = np.linspace(0, 2.2, 2201)
    heights = (points[:, 1] + lams[:, None] * (points[:, 0] - LIMIT)).min(1)
    touched = (points[:, 1] + lams[:, None] * (points[:, 0] - LIMIT)).argmin(1)
    best = int(heights.argmax())
    optimum = points[points[:, 0] <= LIMIT, 1].min()
    figure = _blank(9.2, 3.9)
    left, right = figure.add_axes((0.075, 0.14, 0.40, 0.76)), figure.add_axes((0.585, 0.14, 0.40, 0.76))
    inside = points[:, 0] <= LIMIT
    left.scatter(*points[~inside].T, 14, FAINT, linewidth=0)
    left.scatter(*points[inside].T, 14, canvas.BEFORE, linewidth=0)
    left.scatter(*points[inside & (points[:, 1] == optimum)][:1].T, 60, canvas.AFTER, zorder=3)
    left.axvline(LIMIT, color=canvas.INK, linewidth=0.8, linestyle=":")
    line = np.array([0.0, 0.2])
    left.plot(line, heights[best] - lams[best] * (line - LIMIT), color=canvas.SENSITIVE, linewidth=1.4)
    left.plot(LIMIT, heights[best], "o", color=canvas.SENSITIVE, markersize=5)
    left.annotate("the bound", (LIMIT, heights[best]), (-12, -20), textcoords="offset points", ha="right",
                  color=canvas.SENSITIVE, arrowprops={"arrowstyle": "-", "color": canvas.SENSITIVE})  # fmt: skip
    left.annotate("the optimum", (points[inside & (points[:, 1] == optimum)][0]), (-52, 34),
                  textcoords="offset points", color=canvas.AFTER,
                  arrowprops={"arrowstyle": "-", "color": canvas.AFTER})  # fmt: skip
    left.annotate("limit", (LIMIT, 0.245), (3, 0), textcoords="offset points")
    left.set(xlim=(0, 0.16), ylim=(0, 0.26), xlabel="quality loss", ylabel="privacy distance", title="Releases")
    right.plot(lams, heights, color=canvas.SENSITIVE, linewidth=1.4)
    breaks = [at for at in range(1, len(lams)) if touched[at] != touched[at - 1]]
    right.scatter(lams[breaks], heights[breaks], 22, "white", edgecolor=canvas.SENSITIVE, zorder=3)
    right.axhline(optimum, color=canvas.AFTER, linewidth=1.2, linestyle="--")
    right.annotate("the optimum", (2.2, optimum), (0, 4), textcoords="offset points", ha="right", color=canvas.AFTER)
    right.plot(lams[best], heights[best], "o", color=canvas.SENSITIVE, markersize=6)
    right.annotate("the best bound", (lams[best], heights[best]), (0, -40), textcoords="offset points", ha="center",
                   color=canvas.SENSITIVE, arrowprops={"arrowstyle": "-", "color": canvas.SENSITIVE})  # fmt: skip
    right.set(xlim=(0, 2.2), xlabel="multiplier of the quality loss", ylabel="bound", title="Bound")
    return figure


def labels() -> Figure:
    """The label search on the small example: what it looks at, and what it never sees."""
    lam = _best_multiplier()
    optimum = min(p for q, p in map(_distances, _releases()) if q <= LIMIT)
    looked: set[tuple[int, int]] = {(0, 0)}
    layer: dict[int, list[tuple[float, float, tuple[int, ...]]]] = {0: [(0.0, 0.0, ())]}
    for at in range(4):
        following: dict[int, list[tuple[float, float, tuple[int, ...]]]] = {}
        for size, found in layer.items():
            for (q, p, way), x in product(found, range(13 - size)):
                label = (q + term(FEW[at] / 12, x / 12), p + term(OTHER[at] / 12, x / 12), (*way, x))
                if label[1] + lam * (label[0] - LIMIT) + _completion(at + 1, 12 - size - x, lam) <= optimum + 1e-12:
                    following.setdefault(size + x, []).append(label)
        layer = {size: _undominated(found) for size, found in following.items()}
        looked |= {(at + 1, size) for size in layer}
    best = min((p, way) for q, p, way in layer[12] if q <= LIMIT)[1]
    figure, axes = _sheet(7.2, 4.2)
    nodes = [(0, 0), *((at, size) for at in (1, 2, 3) for size in range(13)), (4, 12)]
    for node in nodes:
        axes.scatter(*node, 60, canvas.BEFORE if node in looked else "white", edgecolor=FAINT, zorder=2)
    path = [0, *np.cumsum(best).tolist()]
    axes.plot(range(5), path, color=canvas.AFTER, linewidth=2.4, zorder=1)
    for at, x in enumerate(best):
        middle = (at + 0.5, (path[at] + path[at + 1]) / 2)
        axes.annotate(f"{x} visits", middle, (-6, 5), textcoords="offset points", ha="right", color=canvas.AFTER)
    axes.set_xticks(range(5), ["start", *(f"after place {name}" for name in "abcd")])
    axes.set(xlim=(-0.3, 4.4), ylim=(-0.8, 12.8), ylabel="visits placed so far")
    return figure


def _best_multiplier() -> float:
    points = np.array([_distances(release) for release in _releases()])
    lams = np.linspace(0, 2.2, 2201)
    return float(lams[(points[:, 1] + lams[:, None] * (points[:, 0] - LIMIT)).min(1).argmax()])


def _completion(at: int, size: int, lam: float) -> float:
    """The least that the other places add to the bound when they have to place so many visits."""
    if at == 4:
        return 0.0 if size == 0 else inf
    return min(
        term(OTHER[at] / 12, x / 12) + lam * term(FEW[at] / 12, x / 12) + _completion(at + 1, size - x, lam)
        for x in range(size + 1)
    )


def _undominated(found: list[tuple[float, float, tuple[int, ...]]]) -> list[tuple[float, float, tuple[int, ...]]]:
    kept: list[tuple[float, float, tuple[int, ...]]] = []
    for label in sorted(found):
        if not kept or label[1] < kept[-1][1]:
            kept.append(label)
    return kept


def large() -> Figure:
    """Large sizes: only counts near the lowest point of a place's curve are looked at."""
    figure = _blank(9.2, 3.4)
    x = np.linspace(0, 1e6, 500)
    resemble = [term(0.3, at / 1e6) + 0.6 * term(0.62, at / 1e6) for at in x]
    avoid = [-term(0.181, at / 1e6) + 0.631 * term(0.753, at / 1e6) + 0.386 * at / 1e6 for at in x]
    for at, (title, curve) in enumerate((("resemble", resemble), ("avoid", avoid))):
        axes = figure.add_axes((0.075 + 0.5 * at, 0.15, 0.4, 0.74))
        values = np.array(curve)
        room = values.min() + 0.0035
        axes.axhspan(values.min(), room, color=canvas.TARGET, alpha=0.25, linewidth=0)
        axes.plot(x, values, color=FAINT, linewidth=1.6)
        axes.plot(x, np.where(values <= room, values, np.nan), color=canvas.AFTER, linewidth=3)
        axes.set(title=title, xlabel="visits to one place, in millions", ylabel="its share of the bound")
        axes.set_xticks(np.linspace(0, 1e6, 5), ["0", "0.25", "0.5", "0.75", "1"])
        axes.set_ylim(values.min() - 0.004, values.min() + 0.035)
        axes.annotate("the gap", (1e6, (values.min() + room) / 2), (-3, 0), textcoords="offset points", ha="right",
                      va="center", color=canvas.INK)  # fmt: skip
        if at:
            middle = x[x < 4e5][values[x < 4e5].argmax()]
            axes.axvline(middle, color=canvas.SENSITIVE, linestyle="--", linewidth=1)
            axes.annotate("cut here, and\nsearch both halves", (middle, values.min() + 0.034), (5, 0),
                          textcoords="offset points", va="top", color=canvas.SENSITIVE)  # fmt: skip
    return figure


#: A history and a target over a small tree, for the drawing of merged labels.
EVENINGS = {"Food": {"Italian": (6, 3), "French": (4, 5)}, "Arts": {"Cinema": (6, 4), "Museum": (4, 8)}}


def tree() -> Figure:
    """Trees: labels of siblings are merged, and only the best of each total go on."""
    figure = _blank(9.2, 5.0)
    frames = {"Food": (0.09, 0.1, 0.34, 0.32), "Arts": (0.59, 0.1, 0.34, 0.32), "All": (0.33, 0.61, 0.38, 0.31)}
    axes = {name: figure.add_axes(frame) for name, frame in frames.items()}
    wanted = {"Food": 8, "Arts": 12}
    merged = {kind: _merge_leaves(kind) for kind in EVENINGS}
    for kind, total in wanted.items():
        names = " and ".join(EVENINGS[kind])
        _staircase(axes[kind], merged[kind][total], f"{kind}: {total} visits to {names}")
    joint = [
        (q1 + q2, p1 + p2)
        for total in range(21)
        for (q1, p1), (q2, p2) in product(_kept(merged["Food"][total]), _kept(merged["Arts"][20 - total]))
    ]
    _staircase(axes["All"], joint, "All: 20 visits")
    axes["All"].axvline(0.011, color=canvas.INK, linestyle=":", linewidth=1)
    axes["All"].annotate("limit", (0.011, axes["All"].get_ylim()[1]), (3, -8), textcoords="offset points", va="top")
    for kind, from_ in (("Food", (0.3, 0.48)), ("Arts", (0.72, 0.48))):
        figure.add_artist(_arrow(from_, (0.42 if kind == "Food" else 0.62, 0.545)))
    return figure


def _merge_leaves(kind: str) -> dict[int, list[tuple[float, float]]]:
    """The labels of every total of two locations."""
    first, second = EVENINGS[kind].values()
    totals: dict[int, list[tuple[float, float]]] = {total: [] for total in range(21)}
    kept, aimed = first[0] + second[0], first[1] + second[1]
    for x, y in product(range(21), repeat=2):
        if x + y <= 20:
            q, p = (
                (term(a / 20, x / 20) + term(b / 20, y / 20) + term(c / 20, (x + y) / 20)) / 2
                for a, b, c in ((first[0], second[0], kept), (first[1], second[1], aimed))
            )
            totals[x + y].append((q, p))
    return totals


def _kept(found: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    kept: list[tuple[float, float]] = []
    for q, p in sorted(found):
        if not kept or p < kept[-1][1]:
            kept.append((q, p))
    return kept


def _staircase(axes: Axes, found: Sequence[tuple[float, float]], title: str) -> None:
    """The labels of one total: those that no other beats go on."""
    kept = _kept(found)
    most = 1.5 * max(q for q, _ in kept), 4.0 * max(p for _, p in kept)
    axes.scatter(*zip(*found, strict=True), 12, FAINT, linewidth=0)
    axes.step(*zip(*kept, strict=True), where="post", color=canvas.AFTER, linewidth=1)
    axes.scatter(*zip(*kept, strict=True), 26, canvas.AFTER, zorder=3)
    axes.set(xlim=(0, most[0]), ylim=(0, most[1]), xlabel="quality loss so far", ylabel="distance so far")
    axes.set_title(title, fontsize=10)
    axes.locator_params(nbins=4)


def pairing() -> Figure:
    """Shared releases: the pairs of least total loss, and the prices that prove it."""
    costs: Mapping[tuple[int, int], float] = {(0, 0): 0.12, (0, 1): 0.17, (1, 0): 0.10, (1, 2): 0.14, (2, 1): 0.15,
                                              (2, 3): 0.16, (1, 3): 0.19}  # fmt: skip
    chosen, prices = _matching(costs)
    figure, axes = _sheet(7.2, 4.0)
    for (i, j), cost in costs.items():
        bold = (i, j) in chosen
        ends = (0, -1.35 * i), (3, -j)
        axes.plot(*zip(*ends, strict=True), color=canvas.AFTER if bold else FAINT, linewidth=3 if bold else 1, zorder=1)
        share = (0.5, 0.4, 0.7)[i] if bold else 0.24
        at = tuple(a + share * (b - a) for a, b in zip(*ends, strict=True))
        axes.annotate(f"{cost:.2f}", at, ha="center", va="center", fontsize=8.5, fontweight="bold" if bold else None,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    for side, (count, colour) in enumerate(((3, canvas.SENSITIVE), (4, canvas.TARGET))):
        for at in range(count):
            spot = (3 * side, -at * (1 if side else 1.35))
            axes.scatter(*spot, 420, colour, zorder=2)
            price = prices[at + 3 * side]
            axes.annotate(f"price {price:.2f}", spot, (16 if side else -16, 0), textcoords="offset points", va="center",
                          ha="left" if side else "right")  # fmt: skip
    axes.annotate("were there", (0, 0.55), ha="center", fontsize=10)
    axes.annotate("were not there", (3, 0.55), ha="center", fontsize=10)
    axes.set(xlim=(-1.1, 4.1), ylim=(-3.4, 0.9))
    axes.axis("off")
    return figure


def _matching(costs: Mapping[tuple[int, int], float]) -> tuple[set[tuple[int, int]], list[float]]:
    """The pairs of least total cost, and prices: no two of them are together above the cost of a pair."""
    from scipy.optimize import linear_sum_assignment, linprog

    table = np.full((3, 4), 9.0)
    for pair, cost in costs.items():
        table[pair] = cost
    chosen = set(zip(*(side.tolist() for side in linear_sum_assignment(table)), strict=True))
    together = np.array([[float(at in (i, 3 + j)) for at in range(7)] for i, j in costs])
    # One user on the right stays alone, whoever it is: their prices can only lower the sum.
    found = linprog(-np.ones(7), together, list(costs.values()), bounds=[(0, None)] * 3 + [(None, 0)] * 4)
    return chosen, [float(price) for price in found.x]


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> Any:
    from matplotlib.patches import FancyArrowPatch

    return FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=16, color=FAINT, linewidth=1.6)


def _sheet(width: float, height: float) -> tuple[Figure, Axes]:
    figure = _blank(width, height)
    return figure, figure.add_axes((0.7 / width, 0.45 / height, 1 - 0.9 / width, 1 - 0.65 / height))


def _blank(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


DRAWINGS: dict[str, Callable[[], Figure]] = {
    draw.__name__: draw
    for draw in (person, frontier, year_resembles, year_avoids, year_frontier,
                 marginal, dual, labels, large, tree, pairing)
}  # fmt: skip


if __name__ == "__main__":
    main()
