"""Resembling and avoiding: runtime against the distance between the histogram and the target."""

from __future__ import annotations

from collections.abc import Iterator

from elsewhere.model.distances import distance
from elsewhere.model.histogram import Histogram
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study
from elsewhere.reproduction.experiments.target_threshold import LENGTH, SIZE
from elsewhere.reproduction.releases import GOALS
from elsewhere.reproduction.rows import Rows
from elsewhere.reproduction.runtime_comparison import CODES, algorithm, drawings, series

_THRESHOLD = 0.5
#: With the threshold above, RO takes too long.
_RO_THRESHOLD = 2e-3
_TARGETS = 10
_SEARCH = "on the same graph, the number of partial solutions to keep depends on the target"


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    history = dataset.nearest(LENGTH, SIZE)
    for target in _targets(history):
        for goal in GOALS:
            times = [timing.heuristics(goal, history, target, _THRESHOLD, study.scale)]
            if goal == "resemble":
                times.append(timing.optimals(goal, history, target, _RO_THRESHOLD, study.scale))
            rows.extend(dataset.row(distance=distance("js", target, history), **row) for row in times)
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return drawings(rows, "distance", "distance JS(H, H'')", "Figure 23 d")


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for timed, group, code, why in series(own, "resemble", name):
            if group[0]["method"] == "optimal":
                continue
            yield moves("runtime of RH increases with JS(H, H'')", "rises", group.column("distance"),
                        group.column(code), timed, why)  # fmt: skip
        for code in CODES:
            # NaN if any run did not finish, because that run may have been the slowest.
            times = own.where(goal="resemble", method="optimal").column(code)
            yield near("runtime of RO is not affected by the target (slowest to fastest)", 1.0,
                       float(times.max() / times.min()), f"{algorithm('resemble', 'optimal', code)}, {name}",
                       _SEARCH)  # fmt: skip


def _targets(history: Histogram) -> Iterator[dict[str, float]]:
    """Targets between the histogram and its opposite, in which the most visited location has the fewest visits."""
    ordered = sorted(history, key=lambda location: (history[location], location))
    opposite = dict(zip(ordered, [history[location] for location in reversed(ordered)], strict=True))
    for step in range(1, _TARGETS + 1):
        share = step / _TARGETS
        yield {name: (1 - share) * history[name] + share * opposite[name] for name in history}


EXPERIMENT = Experiment(
    order=160,
    title="Resembling and avoiding: runtime against the distance to the target",
    method=f"The histogram whose length and size are nearest to n = {LENGTH} and N = {SIZE}. The targets lie between "
    "it and its opposite, in which the most visited location has the fewest visits, and so on. The paper does not say "
    f"how its targets were made. The threshold is {_THRESHOLD:g}, as in the paper. RO, which the paper leaves out "
    f"here, has {_RO_THRESHOLD:g}, because it takes too long with larger ones.",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
