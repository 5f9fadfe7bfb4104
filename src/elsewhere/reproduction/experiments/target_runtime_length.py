"""Resembling and avoiding: runtime against the length n."""

from __future__ import annotations

from collections.abc import Iterator

from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, grows_as, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study, enough
from elsewhere.reproduction.racing import LITERAL, MACHINE, drawings, faster, series
from elsewhere.reproduction.releases import GOALS, uniform
from elsewhere.reproduction.rows import Rows

_EXAMPLE = 26


def run(study: Study, dataset: Dataset) -> Rows:
    timing.warm_up()
    rows = Rows()
    size = dataset.defaults.size
    fitting = [history for history in dataset.histograms if history.size == size]
    fitting = list(enough(fitting, 4, dataset, f"of size {size}"))
    for history in study.some(fitting, max(6, study.scale.timed // 4), dataset.name, "timed"):
        for goal in GOALS:
            times = timing.targeting(goal, history, uniform(history), dataset.defaults.threshold, study.scale)
            rows.extend(dataset.row(**row) for row in times)
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return drawings(rows, "n", "length n", "Figure 22 a")


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for algorithm, group, code, why in series(own, "resemble", name):
            yield moves("runtime increases with n", "rises", group.column("n"), group.column(code), algorithm, why)
        yield from faster(own, name)
        greedy = own.where(goal="resemble", method="heuristic")
        yield grows_as("RH is close to linear in n", 1, greedy.column("n"), greedy.column("paper"), f"RH, {name}",
                       "other data: how many moves there are depends on the histogram as much")  # fmt: skip
    for name, own in rows.sets("NYC"):
        at = min(own.where(goal="resemble"), key=lambda row: abs(row["n"] - _EXAMPLE))["n"]
        for method, algorithm, paper in (("optimal", "RO", 2.3), ("heuristic", "RH", 0.0052)):
            example = own.where(goal="resemble", method=method, n=at)[0]
            for code, where in (("paper", algorithm), ("verbs", f"resemble ({algorithm})")):
                yield near(f"seconds of {algorithm} at n = {_EXAMPLE}", paper, example[code],
                           f"{where}, {name}, n = {at}", MACHINE if code == "paper" else "faster code")  # fmt: skip


EXPERIMENT = Experiment(
    order=120,
    title="Resembling and avoiding: runtime against the length n",
    method=f"Histograms of size 100. {LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
