"""Resembling and avoiding: runtime against the size N."""

from __future__ import annotations

from collections.abc import Iterator

from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_most, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study, enough
from elsewhere.reproduction.racing import CHOSEN, LITERAL, MACHINE, chosen, drawings, faster, series
from elsewhere.reproduction.releases import GOALS, uniform
from elsewhere.reproduction.rows import Rows

_EXAMPLE = 109


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    length = dataset.defaults.length
    fitting = [history for history in dataset.histograms if history.length == length]
    fitting = list(enough(fitting, 4, dataset, f"of length {length}"))
    for history in chosen(study, dataset, fitting, "size", _EXAMPLE):
        for goal in GOALS:
            times = timing.targeting(goal, history, uniform(history), dataset.defaults.threshold, study.scale)
            rows.extend(dataset.row(**row) for row in times)
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return drawings(rows, "N", "size N", "Figure 23 b", log_x=True)


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for algorithm, group, code, why in series(own, "resemble", name):
            yield moves("runtime increases with N", "rises", group.column("N"), group.column(code), algorithm, why)
        yield from faster(own, name)
    for name, own in rows.sets("NYC"):
        at = min(own.where(goal="resemble"), key=lambda row: abs(row["N"] - _EXAMPLE))["N"]
        for method, algorithm, paper, judged in (("optimal", "RO", 5.6, near), ("heuristic", "RH", 0.0067, at_most)):
            example = own.where(goal="resemble", method=method, N=at)[0]
            for code, where in (("paper", algorithm), ("verbs", f"resemble ({algorithm})")):
                yield judged(f"seconds of {algorithm} at N = {_EXAMPLE}", paper, example[code],
                             f"{where}, {name}, N = {at}", MACHINE if code == "paper" else "faster code")  # fmt: skip


EXPERIMENT = Experiment(
    order=140,
    title="Resembling and avoiding: runtime against the size N",
    method=f"Histograms of one length (25 in NYC, 35 in TKY). {CHOSEN} of the size that is nearest to {_EXAMPLE}. "
    f"{LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
