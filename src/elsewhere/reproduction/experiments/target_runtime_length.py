"""Resembling and avoiding: runtime against the length n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, grows_as, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study, enough
from elsewhere.reproduction.rows import Rows
from elsewhere.reproduction.runtime_comparison import (
    CHOSEN,
    CODES,
    LITERAL,
    algorithm,
    drawings,
    faster,
    race,
    reason,
    seconds_at,
    series,
    slowest,
)

_EXAMPLE = 26
_MOVES = "other data: the number of moves depends on the histogram as much as on n"


def run(study: Study, dataset: Dataset) -> Rows:
    size = dataset.defaults.size
    fitting = [history for history in dataset.histograms if history.size == size]
    fitting = list(enough(fitting, 4, dataset, f"of size {size}"))
    return race(study, dataset, fitting, "length", _EXAMPLE)


def draw(rows: Rows) -> list[Drawing]:
    return drawings(rows, "n", "length n", "Figure 22 a")


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for timed, group, code, why in series(own, "resemble", name):
            yield moves("runtime increases with n", "rises", group.column("n"), group.column(code), timed, why)
            if group[0]["method"] == "heuristic" and code != "verbs":
                yield grows_as("RH is close to linear in n", 1, group.column("n"), group.column(code), timed, _MOVES)
        yield from faster(own, name)
        yield from slowest(own, name)
        yield from _spread(own.where(goal="resemble", method="optimal", n=_EXAMPLE), name)
    for name, own in rows.sets("NYC"):
        yield from seconds_at(own, name, "n", _EXAMPLE, {"optimal": (2.3, near), "heuristic": (0.0052, near)})


def _spread(rows: Rows, name: str) -> Iterator[Claim]:
    """'The runtime for histograms with n = 26 and N = 100 varied from 2.5 to 45 seconds.'"""
    for code in CODES:
        times = rows.column(code)
        least, most = (times.min(), times.max()) if times.size > 1 else (np.nan, np.nan)
        for which, paper, ours in (("least", 2.5, least), ("greatest", 45.0, most)):
            yield near(f"{which} seconds of histograms with n = {_EXAMPLE} and N = 100", paper, float(ours),
                       f"{algorithm('resemble', 'optimal', code)}, {name}, {times.size} of them",
                       reason(code))  # fmt: skip


EXPERIMENT = Experiment(
    order=120,
    title="Resembling and avoiding: runtime against the length n",
    method=f"Histograms of size 100: {CHOSEN} with the length nearest to {_EXAMPLE}. {LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
