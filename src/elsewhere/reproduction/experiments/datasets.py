"""The data sets: the paper's table of characteristics, beside that of the users at hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.reproduction.claims import Claim, at_most, near
from elsewhere.reproduction.data import TABLE
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.rows import Rows

_OTHER_DATA = "other data"
#: The paper's 'approximately 3400 histograms' in both sets.
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
        for says, value, found in (
            ("number of histograms", paper.users, len(own)),
            ("mean length n", paper.mean_length, float(np.mean(lengths))),
            ("greatest length n", paper.greatest_length, float(np.max(lengths))),
            ("mean size N", paper.mean_size, float(np.mean(sizes))),
        ):
            yield near(says, value, found, name, _OTHER_DATA)
        yield at_most("mean number of locations of a user", 41, float(np.mean(lengths)), name, _OTHER_DATA)
    yield near("introduction: histograms in both sets", _ALL, len(rows), "all sets", _OTHER_DATA)


def _distribution(values: Floats) -> tuple[Floats, Floats]:
    return np.sort(values), np.arange(1, len(values) + 1) / len(values)


EXPERIMENT = Experiment(
    order=5,
    title="The data sets",
    method="The paper's table of characteristics. Users that were made up for lack of data have these characteristics "
    "by construction, so for them this part checks nothing.",
    run=run,
    draw=draw,
    claims=claims,
)
