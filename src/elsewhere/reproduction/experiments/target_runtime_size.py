"""Resembling and avoiding: runtime against the size N."""

from __future__ import annotations

from collections.abc import Iterator

from elsewhere.reproduction.claims import Claim, at_most, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study, enough
from elsewhere.reproduction.rows import Rows
from elsewhere.reproduction.runtime_comparison import (
    CHOSEN,
    LITERAL,
    drawings,
    faster,
    race,
    seconds_at,
    series,
    slowest,
)

_EXAMPLE = 109


def run(study: Study, dataset: Dataset) -> Rows:
    length = dataset.defaults.length
    fitting = [history for history in dataset.histograms if history.length == length]
    fitting = list(enough(fitting, 4, dataset, f"of length {length}"))
    return race(study, dataset, fitting, "size", _EXAMPLE)


def draw(rows: Rows) -> list[Drawing]:
    return drawings(rows, "N", "size N", "Figure 23 b", log_x=True)


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for timed, group, code, why in series(own, "resemble", name):
            yield moves("runtime increases with N", "rises", group.column("N"), group.column(code), timed, why)
        yield from faster(own, name)
        yield from slowest(own, name)
    for name, own in rows.sets("NYC"):
        yield from seconds_at(own, name, "N", _EXAMPLE, {"optimal": (5.6, near), "heuristic": (0.0067, at_most)})


EXPERIMENT = Experiment(
    order=140,
    title="Resembling and avoiding: runtime against the size N",
    method=f"Histograms of one length (25 in NYC, 35 in TKY): {CHOSEN} with the size nearest to {_EXAMPLE}. {LITERAL}",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
