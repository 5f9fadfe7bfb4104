"""Resembling and avoiding: runtime against the length n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, grows_as, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study, enough
from elsewhere.reproduction.rows import Rows
from elsewhere.reproduction.runtime_comparison import (
    CHOSEN,
    LITERAL,
    MACHINE,
    drawings,
    faster,
    race,
    seconds_at,
    series,
)

_EXAMPLE = 26


def run(study: Study, dataset: Dataset) -> Rows:
    size = dataset.defaults.size
    fitting = [history for history in dataset.histograms if history.size == size]
    fitting = list(enough(fitting, 4, dataset, f"of size {size}"))
    return race(study, dataset, fitting, "length", _EXAMPLE)


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
        yield from seconds_at(own, name, "n", _EXAMPLE, {"optimal": (2.3, near), "heuristic": (0.0052, near)})
        yield from _spread(own.where(goal="resemble", method="optimal", n=_EXAMPLE), name)


def _spread(rows: Rows, name: str) -> Iterator[Claim]:
    """'The runtime for histograms with n = 26 and N = 100 varied from 2.5 to 45 seconds.'"""
    for code, where, why in (("paper", "RO", MACHINE), ("verbs", "resemble (RO)", "faster code")):
        times = rows.column(code)
        least, most = (times.min(), times.max()) if times.size > 1 else (np.nan, np.nan)
        for which, paper, ours in (("least", 2.5, least), ("greatest", 45.0, most)):
            yield near(f"{which} seconds of histograms with n = {_EXAMPLE} and N = 100", paper, float(ours),
                       f"{where}, {name}, {times.size} of them", why)  # fmt: skip


EXPERIMENT = Experiment(
    order=120,
    title="Resembling and avoiding: runtime against the length n",
    method=f"Histograms of size 100. {CHOSEN} of the length that is nearest to {_EXAMPLE}. {LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
