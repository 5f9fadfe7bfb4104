"""Hiding: distribution of runtimes by the number of sensitive locations, and the joint term of the analysis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_least, grows_as, moves, near
from elsewhere.reproduction.experiment import (
    FULL,
    QUICK,
    Dataset,
    Drawing,
    Experiment,
    Fit,
    Panel,
    Series,
    Study,
    sampled,
)
from elsewhere.reproduction.experiments.hide_locations import NUMBERS
from elsewhere.reproduction.fits import power_law
from elsewhere.reproduction.releases import drawn
from elsewhere.reproduction.rows import Rows

_MACHINE = "another machine and other code"
_FASTER = "faster code: it builds no graph"
#: Below this, building the graph does not dominate the runtime.
_LARGE = 1e5
_CODES = (("paper", "LHO", _MACHINE), ("verbs", "hide", _FASTER))


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    users = study.sample(dataset.histograms, study.scale.timed, dataset.name, "timed")
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
            seconds, sensitive = _seconds(own, code), own.column("sensitive")
            series = [
                Series(f"|L'| = {number:g}", *_distribution(seconds[sensitive == number]), "steps")
                for number in np.unique(sensitive)
            ]
            distributions.append(Panel(f"{name}, {algorithm}", "seconds", "share of histograms", series, log_x=True))
        codes = [Series(algorithm, own.column("lambda"), own.column(code)) for code, algorithm, _ in _CODES]
        joint.append(
            Panel(
                name,
                "λ = (n - |L'|) K² log((n - |L'|) K²)",
                "seconds",
                codes,
                log_x=True,
                log_y=True,
                fit=Fit(least=_LARGE),
            )
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
            on, seconds, sensitive = f"{algorithm}, {name}", _seconds(own, code), own.column("sensitive")
            for number, paper in ((1, 0.95), (10, 0.25)):
                share = _share_below(seconds[sensitive == number], 1.0)
                yield near(f"share of histograms below 1 s at |L'| = {number}", paper, share, on, why, share=True)
            share = _share_below(seconds[sensitive == 10], 300.0)
            yield at_least("share of histograms below 5 minutes at |L'| = 10", 0.99, share, on, why)


def _distribution(seconds: Floats) -> tuple[Floats, Floats]:
    known = np.sort(seconds[np.isfinite(seconds)])
    return known, np.arange(1, len(known) + 1) / len(seconds)


def _share_below(seconds: Floats, limit: float) -> float:
    return float(np.mean(seconds < limit)) if seconds.size and np.isfinite(seconds).all() else np.nan


def _seconds(rows: Rows, code: str) -> Floats:
    """The runtimes. If LHO did not finish, the prediction of the power law in λ through the other runs, or NaN.

    The law is fitted without the runs that were ended, so a prediction is at least the time at which its run was ended.
    """
    seconds, joint = rows.column(code), rows.column("lambda")
    missing, large = np.isnan(seconds), joint >= _LARGE
    law = power_law(joint[large], seconds[large])
    if law is not None:
        predicted = law.factor * joint[missing] ** law.exponent
        seconds[missing] = np.maximum(predicted, rows.column("paper_above")[missing])
    return seconds


EXPERIMENT = Experiment(
    order=70,
    title="Hiding: runtime by the number of sensitive locations, and the joint term",
    method=f"{sampled(FULL.timed, QUICK.timed, 'users')}. If LHO's graph would be too large for the memory of a usual "
    "machine, or if its run took too long and was ended, its runtime is predicted by a power law in λ. The law is "
    "fitted to the finished runs of the set, and a prediction is never below the time at which the run was ended. The "
    "law ignores the slowest runs otherwise, so predictions are more likely too short than too long. With too few runs "
    "for a law, nothing is predicted.",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
