"""Runtimes of the optimal methods and the heuristics beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Method
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_least
from elsewhere.reproduction.experiment import FULL, QUICK, Dataset, Drawing, Panel, Scale, Series, Study, sampled
from elsewhere.reproduction.releases import GOALS, METHODS, NAMES, uniform
from elsewhere.reproduction.rows import Rows

MACHINE = "another machine and other code"
_FASTER = "faster code: the exact search looks at a small part of the graph, so that little is left to be gained"
_PRUNED = "the paper does not say which edges its graph had"
LITERAL = (
    "RO, RH, AO and AH are the paper's algorithms to the letter. 'Pruned' is RO or AO on a graph without edges that "
    "alone exceed the threshold, as the paper's runtimes suggest. A run that takes too long, or whose graph would be "
    "too large, is left out."
)
_CODES = (("paper", "{}"), ("pruned", "{}, pruned"), ("verbs", "{goal} ({})"))


def race(study: Study, dataset: Dataset, histograms: Sequence[Histogram], what: str, example: int) -> Rows:
    """The seconds that each algorithm takes for some of the histograms, aiming at the uniform one."""
    rows = Rows()
    for history in _chosen(study, dataset, histograms, what, example):
        for goal in GOALS:
            times = timing.targeting(goal, history, uniform(history), dataset.defaults.threshold, study.scale)
            rows.extend(dataset.row(**row) for row in times)
    return rows


def _chosen(
    study: Study, dataset: Dataset, histograms: Sequence[Histogram], what: str, example: int
) -> list[Histogram]:
    """A sample, and with it some whose length, or size, is nearest to that of the paper's example."""
    off = [abs(getattr(history, what) - example) for history in histograms]
    nearest = [history for history, by in zip(histograms, off, strict=True) if by == min(off)]
    nearest = nearest[: _examples(study.scale)]
    sample = study.sample(histograms, _number(study.scale), dataset.name, "timed")
    return [*nearest, *(history for history in sample if all(history is not it for it in nearest))]


def _number(scale: Scale) -> int:
    return max(6, scale.timed // 4)


def _examples(scale: Scale) -> int:
    """Of the histograms that a caption names, so many are timed in any case."""
    return _number(scale) // 2


#: How many `race` takes, for the method of an experiment.
CHOSEN = f"{sampled(_number(FULL), _number(QUICK))}, and up to {_examples(FULL)} ({_examples(QUICK)})"


def drawings(rows: Rows, by: str, label: str, figure: str, log_x: bool = False) -> list[Drawing]:
    """Seconds against one column, for resemble, which the paper has, and for avoid."""
    return [
        Drawing(
            f"{goal}-seconds",
            figure if goal == "resemble" else "",
            f"{goal.capitalize()}: runtime against the {label}",
            [
                Panel(name, label, "seconds", [
                    Series(algorithm.partition(", " + name)[0], group.column(by), group.column(code))
                    for algorithm, group, code, _ in series(own, goal, name)
                ], log_x=log_x, log_y=True, fit=True)
                for name, own in rows.sets()
            ],
        )
        for goal in GOALS
    ]  # fmt: skip


def series(rows: Rows, goal: str, name: str) -> Iterator[tuple[str, Rows, str, str]]:
    """What ran: its name, its rows, the column of its seconds, and why its runtime may differ from the paper's."""
    for method in METHODS:
        group = rows.where(goal=goal, method=method)
        for code, words in _CODES:
            if group and np.isfinite(group.column(code)).any():
                algorithm = words.format(NAMES[group[0]["goal"], method], goal=goal)
                yield f"{algorithm}, {name}", group, code, MACHINE if code != "verbs" else "faster code"


def faster(rows: Rows, name: str) -> Iterator[Claim]:
    """'RH is at least two orders of magnitude more efficient than RO', in each code."""
    for code, why in (("paper", MACHINE), ("pruned", _PRUNED), ("verbs", _FASTER)):
        best, greedy = (rows.where(goal="resemble", method=method).column(code) for method in METHODS)
        if code == "pruned":
            greedy = rows.where(goal="resemble", method="heuristic").column("paper")
        ratios = best / greedy
        least = float(np.nanmin(ratios)) if np.isfinite(ratios).any() else np.nan
        on = {"paper": "RO, RH", "pruned": "RO pruned, RH", "verbs": "resemble, both methods"}[code]
        yield at_least("RH is two orders of magnitude faster than RO", 100, least, f"{on}, {name}", why, " times")


def seconds_at(
    rows: Rows, name: str, by: str, example: int, paper: Mapping[Method, tuple[float, Callable[..., Claim]]]
) -> Iterator[Claim]:
    """What a caption says of one histogram, by method, beside the one that is nearest to it."""
    at = min(rows.where(goal="resemble"), key=lambda row: abs(row[by] - example))[by]
    for method, (seconds, judged) in paper.items():
        algorithm = NAMES["resemble", method]
        nearest = rows.where(goal="resemble", method=method, **{by: at})[0]
        for code, where in (("paper", algorithm), ("verbs", f"resemble ({algorithm})")):
            yield judged(f"seconds of {algorithm} at {by} = {example}", seconds, nearest[code],
                         f"{where}, {name}, {by} = {at}", MACHINE if code == "paper" else "faster code")  # fmt: skip
