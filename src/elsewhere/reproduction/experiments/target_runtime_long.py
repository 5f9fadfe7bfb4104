"""Resembling and avoiding: runtime of the longest histograms, and of some that zeros were appended to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, grows_as, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study
from elsewhere.reproduction.padding import padded
from elsewhere.reproduction.racing import LITERAL, MACHINE, drawings, faster, series
from elsewhere.reproduction.releases import GOALS, uniform
from elsewhere.reproduction.rows import Rows

_THRESHOLD, _LONG = 1e-5, 75
_KINDS = {"long": "Figure 22 b, c", "padded": "Figures 22 d and 23 a"}
#: How many are longer in the paper's sets, and the mean seconds over both.
_NUMBER = {"NYC": 17, "TKY": 7}
_CODES = {"paper": "to the letter", "lean": "RO, lean", "verbs": "resemble"}
_SECONDS = {"optimal": 3.6, "heuristic": 0.0082}


def run(study: Study, dataset: Dataset) -> Rows:
    timing.warm_up()
    rows = Rows()
    longer = [history for history in dataset.histograms if history.length > _LONG]
    chosen = study.some(longer, study.scale.timed // 2, dataset.name, "timed")
    for kind, histograms in (("long", chosen), ("padded", padded(dataset))):
        for history in histograms:
            for goal in GOALS:
                times = timing.targeting(goal, history, uniform(history), _THRESHOLD, study.scale)
                rows.extend(dataset.row(kind=kind, number=len(longer), **row) for row in times)
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
        for algorithm, group, code, why in series(padded_rows, "resemble", name):
            if group[0]["method"] == "heuristic":
                yield grows_as("RH is close to linear in n, padded histograms", 1, group.column("n"),
                               group.column(code), algorithm, why)  # fmt: skip
    longer = rows.where(kind="long", goal="resemble")
    for method, paper in _SECONDS.items():
        for code in _CODES:
            times = longer.where(method=method).column(code)
            if np.isfinite(times).any():
                yield near(f"mean seconds of {'RO' if method == 'optimal' else 'RH'} for n > {_LONG}", paper,
                           float(np.nanmean(times)), _CODES[code],
                           MACHINE if code != "verbs" else "faster code")  # fmt: skip


EXPERIMENT = Experiment(
    order=130,
    title="Resembling and avoiding: runtime of long histograms",
    method=f"Histograms longer than {_LONG}, and one with zeros appended up to length 400; the threshold is "
    f"{_THRESHOLD:g}. {LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
