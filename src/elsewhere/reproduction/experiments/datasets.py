"""The data sets: compare the paper's table of characteristics with the data at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.reproduction.claims import Claim, at_most, near
from elsewhere.reproduction.data import TABLE
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.rows import Rows

_OTHER_DATA = "other data"
#: The paper says 'approximately 3400 histograms' for both sets together.
_ALL = 3400


def run(study: Study, dataset: Dataset) -> Rows:
    return Rows(dataset.row(n=history.length, N=history.size) for history in dataset.histograms)


def draw(rows: Rows) -> list[Drawing]:
    return [Drawing("distribution", "", "Distribution of the length n and of the size N", [
        Panel(f"{name}, {label}", label, "share of histograms", [Series(name, *_distribution(own.column(column)),
              "steps")], log_x=column == "N")
        for name, own in rows.sets() for column, label in (("n", "length n"), ("N", "size N"))
    ])]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        paper, lengths, sizes = TABLE[own[0]["like"]], own.column("n"), own.column("N")
        for says, value, found, form in (
            ("number of histograms", paper.users, len(own), ",.0f"),
            ("mean length n", paper.mean_length, np.mean(lengths), ".2f"),
            ("greatest length n", paper.greatest_length, np.max(lengths), ".0f"),
            ("mean size N", paper.mean_size, np.mean(sizes), ".2f"),
        ):
            claim = near(says, value, float(found), name, _OTHER_DATA)
            yield replace(claim, paper=f"{value:{form}}", ours=f"{found:{form}}")  # as in the paper's table
        yield at_most("mean number of locations of a user", 41, float(np.mean(lengths)), name, _OTHER_DATA)
    yield near("introduction: histograms in both sets", _ALL, len(rows), "all sets", _OTHER_DATA)


def _distribution(values: Floats) -> tuple[Floats, Floats]:
    return np.sort(values), np.arange(1, len(values) + 1) / len(values)


EXPERIMENT = Experiment(
    order=5,
    title="The data sets",
    method="The paper's table of characteristics. Made-up users have these characteristics by construction, so for "
    "them this part checks nothing.",
    run=run,
    draw=draw,
    claims=claims,
)
