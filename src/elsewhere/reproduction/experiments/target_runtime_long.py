"""Resembling and avoiding: runtime of the longest histograms, and of some padded with zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from elsewhere.model.question import Method
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, grows_as, grows_at_most, near
from elsewhere.reproduction.experiment import FULL, QUICK, Dataset, Drawing, Experiment, Scale, Study, sampled
from elsewhere.reproduction.releases import GOALS, NAMES, uniform
from elsewhere.reproduction.rows import Rows
from elsewhere.reproduction.runtime_comparison import CODES, LITERAL, algorithm, drawings, faster, reason, series
from elsewhere.reproduction.zero_padding import padded

_THRESHOLD, _LONG = 1e-5, 75
_KINDS = {"long": "Figure 22 b, c", "padded": "Figures 22 d and 23 a"}
#: How many histograms are longer than that in the paper's sets, and the mean seconds over both sets.
_NUMBER = {"NYC": 17, "TKY": 7}
_SECONDS: dict[Method, float] = {"optimal": 3.6, "heuristic": 0.0082}
#: 'Scales well': the paper gives no number.
WELL = 2.0


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    longer = [history for history in dataset.histograms if history.length > _LONG]
    largest = max((history.size for history in longer), default=math.nan)
    chosen = study.sample(longer, _number(study.scale), dataset.name, "timed")
    for kind, histograms in (("long", chosen), ("padded", padded(dataset))):
        for history in histograms:
            for goal in GOALS:
                times = timing.targeting(goal, history, uniform(history), _THRESHOLD, study.scale)
                rows.extend(dataset.row(kind=kind, number=len(longer), largest=largest, **row) for row in times)
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return [
        Drawing(f"{kind}-{it.name}", it.figure, f"{it.title}, {kind} histograms", it.panels)
        for kind, figure in _KINDS.items()
        if rows.where(kind=kind)
        for it in drawings(rows.where(kind=kind), "n", "length n", figure)
    ]


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        yield near(f"histograms longer than {_LONG}", _NUMBER[own[0]["like"]], own[0]["number"], name, "other data")
        yield from faster(own.where(kind="long"), f"{name}, n > {_LONG}")
        padded_rows = own.where(kind="padded", goal="resemble")
        for timed, group, code, why in series(padded_rows, "resemble", name):
            n, taken = group.column("n"), group.column(code)
            if group[0]["method"] == "heuristic":
                yield grows_as("RH is close to linear in n, padded histograms", 1, n, taken, timed, why)
            else:
                yield grows_at_most("RO scales well with n, padded histograms", WELL, n, taken, timed, why)
    largest = max((row["largest"] for row in rows if row["number"]), default=math.nan)
    yield near(f"size of the largest histogram longer than {_LONG}", 2061, largest, "all sets", "other data")
    longer = rows.where(kind="long", goal="resemble")
    for method, paper in _SECONDS.items():
        for code in CODES:
            times = longer.where(method=method).column(code)
            # NaN if any run did not finish, because that run may have been the slowest.
            mean = float(np.mean(times)) if times.size else math.nan
            yield near(f"mean seconds of {NAMES['resemble', method]} for n > {_LONG}", paper, mean,
                       algorithm("resemble", method, code), reason(code))  # fmt: skip


def _number(scale: Scale) -> int:
    return scale.timed // 2


EXPERIMENT = Experiment(
    order=130,
    title="Resembling and avoiding: runtime of long histograms",
    method=sampled(_number(FULL), _number(QUICK), f"of each set's histograms longer than {_LONG}")
    + f", and one that is padded with zeros up to length 400. The threshold is {_THRESHOLD:g}. {LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
