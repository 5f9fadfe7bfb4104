"""Compare the runtimes of the optimal methods and the heuristics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Goal, Method
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_least, at_most, number
from elsewhere.reproduction.experiment import FULL, QUICK, Dataset, Drawing, Fit, Panel, Scale, Series, Study, sampled
from elsewhere.reproduction.releases import GOALS, METHODS, NAMES, uniform
from elsewhere.reproduction.rows import Rows

MACHINE = "another machine and other code"
_FASTER = "faster code: the exact search visits only a small part of the graph, so the heuristic saves little"
_FLAT = "in a flat histogram, or with a small threshold, few counts can change, so RO's graph is small"
LITERAL = (
    "RO, RH, AO and AH are the paper's pseudocode to the letter. 'RO, every length' keeps the best path of every "
    "distinct quality loss, as the text below the pseudocode says, on a graph without edges that alone exceed the "
    "threshold. 'RH, tabulated' computes each term once. A run that takes too long, or whose graph would be too large, "
    "is left out."
)
#: The code that the paper's authors ran, to judge by their runtimes.
SUGGESTED: dict[Method, str] = {"optimal": "RO, every length", "heuristic": "RH, tabulated"}
#: The columns with seconds.
CODES = ("paper", "suggested", "verbs")
#: The names of the pairs of codes for RO and RH.
BOTH = {"paper": "RO and RH", "suggested": "RO, every length, and RH, tabulated", "verbs": "resemble, both methods"}


def race(study: Study, dataset: Dataset, histograms: Sequence[Histogram], what: str, example: int) -> Rows:
    """Time each algorithm on some of the histograms, with the uniform histogram as target."""
    rows = Rows()
    for history in _chosen(study, dataset, histograms, what, example):
        for goal in GOALS:
            times = timing.targeting(goal, history, uniform(history), dataset.defaults.threshold, study.scale)
            rows.extend(dataset.row(**row) for row in times)
    return rows


def _chosen(
    study: Study, dataset: Dataset, histograms: Sequence[Histogram], what: str, example: int
) -> list[Histogram]:
    """A sample, and some histograms whose length (or size) is nearest to that of the paper's example."""
    off = [abs(getattr(history, what) - example) for history in histograms]
    nearest = [history for history, by in zip(histograms, off, strict=True) if by == min(off)]
    nearest = nearest[: _examples(study.scale)]
    sample = study.sample(histograms, _number(study.scale), dataset.name, "timed")
    return [*nearest, *(history for history in sample if all(history is not it for it in nearest))]


def _number(scale: Scale) -> int:
    return max(6, scale.timed // 4)


def _examples(scale: Scale) -> int:
    """How many histograms nearest to the one in a caption are always timed."""
    return _number(scale) // 2


#: The histograms that `race` times in words, for the method of an experiment.
CHOSEN = f"{sampled(_number(FULL), _number(QUICK), 'of them')}, and up to {_examples(FULL)} ({_examples(QUICK)})"


def drawings(rows: Rows, by: str, label: str, figure: str, log_x: bool = False) -> list[Drawing]:
    """Seconds against one column, for resemble, as in the paper, and for avoid."""
    return [
        Drawing(
            f"{goal}-seconds",
            figure if goal == "resemble" else "",
            f"{goal.capitalize()}: runtime against the {label}",
            [
                Panel(name, label, "seconds", [
                    Series(timed.removesuffix(f", {name}"), group.column(by), group.column(code))
                    for timed, group, code, _ in series(own, goal, name)
                ], log_x=log_x, log_y=True, fit=Fit())
                for name, own in rows.sets()
            ],
        )
        for goal in GOALS
    ]  # fmt: skip


def series(rows: Rows, goal: Goal, name: str) -> Iterator[tuple[str, Rows, str, str]]:
    """Each code that ran: its name, its rows, the column with its seconds, and why it may differ from the paper."""
    for method in METHODS:
        group = rows.where(goal=goal, method=method)
        for code in CODES:
            if group and np.isfinite(group.column(code)).any():
                yield f"{algorithm(goal, method, code)}, {name}", group, code, reason(code)


def algorithm(goal: Goal, method: Method, code: str) -> str:
    """The name of the algorithm that a column of seconds is about."""
    names = {"paper": NAMES[goal, method], "suggested": SUGGESTED[method], "verbs": f"{goal} ({NAMES[goal, method]})"}
    return names[code]


def reason(code: str) -> str:
    """Why a runtime may differ from the paper's."""
    return MACHINE if code != "verbs" else "faster code"


def faster(rows: Rows, name: str) -> Iterator[Claim]:
    """'RH is at least two orders of magnitude more efficient than RO', in each code.

    Runs of RO that did not finish are ignored: they cannot lower the least ratio.
    """
    for code, why in (("paper", MACHINE), ("suggested", _FLAT), ("verbs", _FASTER)):
        best, greedy = (rows.where(goal="resemble", method=method).column(code) for method in METHODS)
        ratios = best / greedy
        ratios = ratios[np.isfinite(ratios)]
        least, most = (float(ratios.min()), float(ratios.max())) if ratios.size else (np.nan, np.nan)
        claim = at_least("RH is two orders of magnitude faster than RO", 100, least, f"{BOTH[code]}, {name}", why,
                         " times")  # fmt: skip
        yield replace(claim, ours=f"{number(least)} to {number(most)} times") if ratios.size else claim


def slowest(rows: Rows, name: str) -> Iterator[Claim]:
    """The introduction: 'RO takes up to 5 minutes'."""
    for code in CODES:
        # NaN if any run did not finish, because that run may have been the slowest.
        times = rows.where(goal="resemble", method="optimal").column(code)
        yield at_most("introduction: RO takes up to 5 minutes (slowest run)", 300.0, float(np.max(times)),
                      f"{algorithm('resemble', 'optimal', code)}, {name}", reason(code), " s")  # fmt: skip


def seconds_at(
    rows: Rows, name: str, by: str, example: int, paper: Mapping[Method, tuple[float, Callable[..., Claim]]]
) -> Iterator[Claim]:
    """Compare the seconds in a caption, by method, with those of the histogram nearest to it."""
    at = min(rows.where(goal="resemble"), key=lambda row: abs(row[by] - example))[by]
    for method, (seconds, judged) in paper.items():
        nearest = rows.where(goal="resemble", method=method, **{by: at})[0]
        for code in CODES:
            on = f"{algorithm('resemble', method, code)}, {name}, {by} = {at}"
            yield judged(f"seconds of {NAMES['resemble', method]} at {by} = {example}", seconds, nearest[code], on,
                         reason(code))  # fmt: skip
