"""Hiding: effect on a recommender, by the number of sensitive locations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, at_most, near, other_reading
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study
from elsewhere.reproduction.experiments.hide_locations import NUMBERS
from elsewhere.reproduction.recommending import JUDGED, READ, READINGS, SUBSTANTIAL, changes, errors, panels
from elsewhere.reproduction.releases import drawn
from elsewhere.reproduction.rows import Rows
from elsewhere.verbs import hide

_WHY = "other data; the paper says neither how often it splits the users nor whether changes have a sign"
_CHANGES = {"MAE": 0.001, "RMSE": 0.024}


def run(study: Study, dataset: Dataset) -> Rows:
    users = [history for history in study.users(dataset) if history.length > max(NUMBERS)]
    releases = {}
    for number in NUMBERS:
        random = study.random("sensitive", dataset.name, 0)
        releases[number] = [hide(history, drawn(history, number, random)).histogram for history in users]
    return Rows(dataset.row(sensitive=number, **row) for number, row in errors(study, dataset, users, releases))


def draw(rows: Rows) -> list[Drawing]:
    return [Drawing("errors", "Figure 13", "Errors of a recommender by |L'|", panels(rows, "sensitive", "|L'|"))]


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets("NYC"):
        for reading in READINGS:
            for error, paper in _CHANGES.items():
                found, on = np.abs(changes(own.where(reading=reading, error=error))), f"hide, {name}, {reading}"
                mean = near(f"mean change of {error}, as a share of it", paper, float(np.mean(found)), on, _WHY)
                yield mean if reading == JUDGED else other_reading(mean)
                if reading == JUDGED:
                    yield at_most(f"{error} is not substantially affected (greatest change, as a share)", SUBSTANTIAL,
                                  float(np.max(found)), on, _WHY)  # fmt: skip


EXPERIMENT = Experiment(
    order=40,
    title="Hiding: recommendation",
    method="Users with more than ten locations. In each split a tenth of the users is tested against the others. "
    f"{READ} A change of more than {SUBSTANTIAL:.0%} counts as substantial; the paper gives no number.",
    run=run,
    draw=draw,
    claims=claims,
)
