"""Hiding: runtime against the length n, also of histograms padded with zeros."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from elsewhere.model.histogram import Histogram
from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_most, grows_as, moves
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
    enough,
    sampled,
)
from elsewhere.reproduction.releases import drawn_with
from elsewhere.reproduction.rows import Rows
from elsewhere.reproduction.zero_padding import padded

_WHY = "another machine and other code"
_FASTER = "faster code: it looks only at the cost of each count, and the overhead of a call takes most of the time"


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    for kind, histograms in _histograms(study, dataset):
        random = study.random("sensitive", dataset.name, kind)
        for history in histograms:
            visited = Histogram({name: count for name, count in history.items() if count})
            sensitive = drawn_with(visited, dataset.defaults.sensitive, dataset.defaults.visits, random)
            if sensitive is not None:
                rows.append(dataset.row(kind=kind, **timing.hiding(history, sensitive, study.scale)))
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return [Drawing("seconds", "Figure 14", "Runtime of hiding against the length n", [
        Panel(f"{name}, {kind} histograms, K = {group[0]['K']}", "length n", "seconds",
              [Series("LHO", group.column("n"), group.column("paper")),
               Series("hide", group.column("n"), group.column("verbs"))], log_y=True,
              fit=Fit(offset=group[0]["sensitive"]))
        for name, own in rows.sets() for kind, group in own.by("kind")
    ])]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for kind, group in own.by("kind"):
            n, bins, where = group.column("n"), group.column("bins"), f"{name}, {kind}"
            yield moves("runtime increases with n", "rises", n, group.column("paper"), f"LHO, {where}", _WHY)
            yield grows_as(
                "runtime is linear in n (fitted to n - |L'|)", 1, bins, group.column("paper"), f"LHO, {where}", _WHY
            )
            yield grows_as(
                "runtime is linear in n (fitted to n - |L'|)", 1, bins, group.column("verbs"), f"hide, {where}", _FASTER
            )
        each = own.where(kind="users'")
        for code, algorithm in (("paper", "LHO"), ("verbs", "hide")):
            slowest = float(np.max(each.column(code))) if each else np.nan
            yield at_most("the slowest histogram with K = 20", 3.0, slowest, f"{algorithm}, {name}", _WHY, " s")
            yield at_most("introduction: LHO takes less than 1 second (the evaluation itself has up to 100)", 1.0,
                          slowest, f"{algorithm}, {name}, K = 20", _WHY, " s")  # fmt: skip


def _histograms(study: Study, dataset: Dataset) -> Iterator[tuple[str, list[Histogram]]]:
    number = dataset.defaults.sensitive
    fitting = [history for history in dataset.histograms if np.count_nonzero(history.counts) > number]
    fitting = list(enough(fitting, 1, dataset, f"with more than {number} visited locations"))
    yield "users'", list(study.sample(fitting, study.scale.timed, dataset.name, "timed"))
    yield "padded", padded(replace(dataset, histograms=tuple(fitting)))


EXPERIMENT = Experiment(
    order=50,
    title="Hiding: runtime against the length n",
    method=f"{sampled(FULL.timed, QUICK.timed, 'users')}. Five random locations of each user are hidden: the first of "
    "many random draws with K = 20 visits. Users without such a draw are left out. The histogram whose length and size "
    "are nearest to those that the paper names is padded with zeros.",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
