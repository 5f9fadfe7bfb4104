"""Resembling and avoiding: d_p, d_q, NCE and L2 against the threshold on the quality loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, at_least, at_most, beyond, moves, near
from elsewhere.reproduction.comparing import (
    OTHER_DATA,
    TARGET_METHOD,
    THRESHOLDS,
    compared,
    drawings,
    introduction,
    within_threshold,
)
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study
from elsewhere.reproduction.releases import excess
from elsewhere.reproduction.rows import Rows

LENGTH, SIZE = 40, 100


def run(study: Study, dataset: Dataset) -> Rows:
    return Rows(compared(dataset, [dataset.nearest(LENGTH, SIZE)], THRESHOLDS))


def draw(rows: Rows) -> list[Drawing]:
    figures = {"d_p": "Figure 20 a", "d_q": "Figure 20 b", "nce": "Figure 20 c", "l2": "Figure 27 d"}
    return drawings(rows, "threshold", "threshold", figures, log_x=True)


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        resembling, avoiding = own.where(goal="resemble"), own.where(goal="avoid")
        on = f"resemble, {name}, n = {own[0]['n']}, N = {own[0]['N']}"
        above = [100 * share for share in excess(resembling)]
        yield at_most("excess of RH's d_p over RO's", 2.4, max(above), on, OTHER_DATA, "%")
        yield at_most("excess of RH's d_p over RO's, on average", 0.5, float(np.mean(above)), on, OTHER_DATA, "%")
        best, greedy = resembling.where(method="optimal"), resembling.where(method="heuristic")
        for group, algorithm in ((best, "RO"), (greedy, "RH")):
            x = group.column("threshold")
            yield moves("d_p decreases with the threshold", "falls", x, group.column("d_p"), f"{on} ({algorithm})",
                        OTHER_DATA)  # fmt: skip
            yield moves("L2 decreases with the threshold, as d_p does", "falls", x, group.column("l2"),
                        f"{on} ({algorithm})", OTHER_DATA)  # fmt: skip
            yield moves("NCE increases with the threshold", "rises", x, group.column("nce"), f"{on} ({algorithm})",
                        OTHER_DATA)  # fmt: skip
            used = float(np.min(group.column("d_q") / x))
            yield at_least("d_q is close to the threshold (least d_q / threshold)", 0.9, used, f"{on} ({algorithm})",
                           "at small thresholds a single visit is a large step")  # fmt: skip
        total = float(best.column("nce").sum())
        lower = 1.0 - float(greedy.column("nce").sum()) / total if total else np.nan
        yield near("relative shortfall of RH's NCE below RO's, on average", 0.015, lower, on, OTHER_DATA)
        yield from introduction(resembling, name)
        yield from within_threshold(resembling, name)
        yield beyond("largest shortfall of AH's d_p below AO's", 100 * max(excess(avoiding)), f"avoid, {name}", "%")


EXPERIMENT = Experiment(
    order=100,
    title="Resembling and avoiding: impact of the threshold",
    method=f"The histogram whose length and size are nearest to n = {LENGTH} and N = {SIZE}. The paper names no "
    f"thresholds; these are from {THRESHOLDS[0]:g} to {THRESHOLDS[-1]:g}. {TARGET_METHOD}",
    run=run,
    draw=draw,
    claims=claims,
)
