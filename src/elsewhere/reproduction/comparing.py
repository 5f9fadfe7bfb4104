"""Compare the optimal methods with the heuristics, for the experiments that vary one property of the histograms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from elsewhere.model.histogram import Histogram
from elsewhere.reproduction.claims import Claim, at_most
from elsewhere.reproduction.experiment import Dataset, Drawing, Panel, Series, Style
from elsewhere.reproduction.releases import GOALS, METHODS, NAMES, excess, targeted
from elsewhere.reproduction.rows import Rows

THRESHOLDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
OTHER_DATA = "other data"
TARGET_METHOD = (
    "The target is the uniform histogram. RO, RH, AO and AH stand for the answers of resemble and avoid, which equal "
    "those of the paper's algorithms. L2 is the distance from the target."
)
#: 'Similar' and 'low' NCE: the paper gives no number here. For hiding, it calls a median of 0.3 low.
SIMILAR, LOW = 0.05, 0.3
_MEASURES = {"d_p": "d_p (JS)", "d_q": "d_q (JS)", "nce": "NCE", "l2": "L2 from the target"}


def one_each(histograms: Sequence[Histogram], what: str, random: np.random.Generator) -> list[Histogram]:
    """One random histogram for each length, or each size."""
    by: dict[int, list[Histogram]] = {}
    for history in histograms:
        by.setdefault(getattr(history, what), []).append(history)
    return [group[random.integers(len(group))] for _, group in sorted(by.items())]


def compared(
    dataset: Dataset, histograms: Sequence[Histogram], thresholds: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """One row per histogram, threshold, goal and method; rows with the same `question` differ only in the method."""
    asked = [(history, threshold, goal) for history in histograms for threshold in thresholds for goal in GOALS]
    for question, (history, threshold, goal) in enumerate(asked):
        for method in METHODS:
            yield dataset.row(question=question, **targeted(goal, method, history, threshold))


def drawings(rows: Rows, by: str, label: str, figures: Mapping[str, str], log_x: bool = False) -> list[Drawing]:
    """One figure per measure for resemble, as in the paper, and then the same for avoid."""
    return [
        Drawing(
            f"{goal}-{measure}".replace("_", ""),
            figure if goal == "resemble" else "",
            f"{goal.capitalize()}: {_MEASURES[measure]} against the {label}",
            [_panel(name, own.where(goal=goal), measure, by, label, log_x) for name, own in rows.sets()],
        )
        for goal in GOALS
        for measure, figure in figures.items()
    ]


def within_threshold(rows: Rows, name: str) -> Iterator[Claim]:
    """The paper's claims on d_q in every experiment: it is within the threshold, and RO uses more of it than RH."""
    over = float(np.max(rows.column("d_q") / rows.column("threshold")))
    yield at_most("d_q is within the threshold (largest d_q / threshold)", 1.0 + 1e-9, over, f"resemble, {name}", "")
    best, greedy = (rows.where(method=method).column("d_q") for method in METHODS)
    shares = np.divide(greedy, best, out=np.where(greedy > 0, np.inf, 1.0), where=best > 0)
    yield at_most("RO has a larger d_q than RH (mean of RH's d_q / RO's d_q)", 1.0, float(np.mean(shares)),
                  f"resemble, {name}", "RH can also use up the threshold")  # fmt: skip


def clusters_kept(rows: Rows, name: str) -> Iterator[Claim]:
    """The paper's claims on NCE: those of RO and RH are 'similar', and 'zero, or low'."""
    best, greedy = (rows.where(method=method).column("nce") for method in METHODS)
    yield at_most("NCE of RO and RH is similar (mean difference)", SIMILAR, float(np.mean(np.abs(best - greedy))),
                  f"resemble, {name}", OTHER_DATA)  # fmt: skip
    for algorithm, values in (("RO", best), ("RH", greedy)):
        yield at_most(f"NCE of {algorithm} is zero or low (mean)", LOW, float(np.mean(values)),
                      f"resemble ({algorithm}), {name}", OTHER_DATA)  # fmt: skip


def introduction(rows: Rows, name: str) -> Iterator[Claim]:
    """The introduction's claim, which is stronger than the evaluation's 2.1% and 2.4%."""
    says = "introduction: RH's d_p is up to 1.5% above RO's (the evaluation itself says 2.1% and 2.4%)"
    why = "the paper contradicts itself: the figures in its evaluation are larger"
    yield at_most(says, 1.5, 100 * max(excess(rows)), f"resemble, {name}", why, "%")


def _panel(name: str, rows: Rows, measure: str, by: str, label: str, log_x: bool) -> Panel:
    # A line joins the points of one histogram; between different histograms it would mean nothing.
    style: Style = "line" if by == "threshold" else "points"
    series = []
    for method in METHODS:
        group = rows.where(method=method)
        series.append(Series(NAMES[rows[0]["goal"], method], group.column(by), group.column(measure), style))
    return Panel(name, label, _MEASURES[measure], series, log_x=log_x)
