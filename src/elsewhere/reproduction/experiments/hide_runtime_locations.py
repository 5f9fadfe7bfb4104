"""Hiding: how runtimes are distributed by the number of sensitive locations, and the joint term of the analysis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_least, grows_as, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.experiments.hide_locations import NUMBERS
from elsewhere.reproduction.fits import power_law
from elsewhere.reproduction.releases import drawn
from elsewhere.reproduction.rows import Rows

_MACHINE = "another machine and other code"
_FASTER = "faster code: no graph"
#: Below it something else than the graph takes the time.
_LARGE = 1e5
_CODES = (("paper", "LHO", _MACHINE), ("verbs", "hide", _FASTER))


def run(study: Study, dataset: Dataset) -> Rows:
    timing.warm_up()
    rows = Rows()
    users = study.some(dataset.histograms, study.scale.timed, dataset.name, "timed")
    for number in NUMBERS:
        random = study.random("sensitive", dataset.name)
        for history in users:
            sensitive = drawn(history, number, random)
            if len(sensitive) < history.length:
                rows.append(dataset.row(**timing.hiding(history, sensitive, study.scale)))
    return rows


def draw(rows: Rows) -> list[Drawing]:
    distributions, joint = [], []
    for name, own in rows.sets():
        for code, algorithm, _ in _CODES:
            series = [
                Series(f"|L'| = {number}", *_distribution(group, code), "steps")
                for number, group in own.by("sensitive")
            ]
            distributions.append(Panel(f"{name}, {algorithm}", "seconds", "share of histograms", series, log_x=True))
        codes = [Series(algorithm, own.column("lambda"), own.column(code)) for code, algorithm, _ in _CODES]
        joint.append(
            Panel(name, "λ = (n - |L'|) K² log((n - |L'|) K²)", "seconds", codes, log_x=True, log_y=True, fit=True)
        )
    return [
        Drawing("distribution", "Figure 16 a, b", "Distribution of the runtime of hiding by |L'|", distributions),
        Drawing("joint", "Figure 16 c, d", "Runtime of hiding against the joint term λ", joint),
    ]


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for code, algorithm, why in _CODES:
            seconds = _seconds(own, code)
            yield moves(
                "runtime increases with |L'|", "rises", own.column("sensitive"), seconds, f"{algorithm}, {name}", why
            )
            large = Rows(row for row in own if row["lambda"] >= _LARGE)
            yield grows_as("runtime is linear in λ", 1, large.column("lambda"), large.column(code),
                           f"{algorithm}, {name}, λ >= {_LARGE:g}", why)  # fmt: skip
    for name, own in rows.sets("NYC"):
        for code, algorithm, why in _CODES:
            on = f"{algorithm}, {name}"
            for number, paper in ((1, 0.95), (10, 0.25)):
                share = _share_below(own.where(sensitive=number), code, 1.0)
                yield near(f"share of histograms below 1 s at |L'| = {number}", paper, share, on, why, share=True)
            share = _share_below(own.where(sensitive=10), code, 300.0)
            yield at_least("share of histograms below 5 minutes at |L'| = 10", 0.99, share, on, why)


def _distribution(rows: Rows, code: str) -> tuple[Floats, Floats]:
    seconds = _seconds(rows, code)
    known = np.sort(seconds[np.isfinite(seconds)])
    return known, np.arange(1, len(known) + 1) / len(seconds)


def _share_below(rows: Rows, code: str, limit: float) -> float:
    return float(np.mean(_seconds(rows, code) < limit)) if rows else np.nan


def _seconds(rows: Rows, code: str) -> Floats:
    """The runtimes; where LHO was not run, what the power law in λ through the others predicts."""
    seconds, joint = rows.column(code), rows.column("lambda")
    missing, large = np.isnan(seconds), joint >= _LARGE
    law = power_law(joint[large], seconds[large])
    if law is not None:
        seconds[missing] = law.factor * joint[missing] ** law.exponent
    return seconds


EXPERIMENT = Experiment(
    order=70,
    title="Hiding: runtime by the number of sensitive locations, and the joint term",
    method="A sample of users. Where LHO's graph would be too large for the memory of a usual machine, its runtime is "
    "predicted by the power law in λ that is fitted to the others.",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
