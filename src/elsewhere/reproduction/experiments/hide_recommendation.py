"""Hiding: what it does to a recommender, by the number of sensitive locations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study
from elsewhere.reproduction.experiments.hide_locations import NUMBERS
from elsewhere.reproduction.recommending import READINGS, changes, errors, panels
from elsewhere.reproduction.releases import drawn
from elsewhere.reproduction.rows import Rows
from elsewhere.verbs import hide

_WHY = "other data; the paper says neither how often it splits the users, nor whether a change has a sign"


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    users = [history for history in study.users(dataset) if history.length > max(NUMBERS)]
    for number in NUMBERS:
        random = study.random("sensitive", dataset.name, 0)
        releases = [hide(history, drawn(history, number, random)).histogram for history in users]
        rows.extend(dataset.row(sensitive=number, **row) for row in errors(study, dataset, users, releases))
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return [Drawing("errors", "Figure 13", "Errors of a recommender by |L'|", panels(rows, "sensitive", "|L'|"))]


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets("NYC"):
        for reading in READINGS:
            for error, paper in (("MAE", 0.001), ("RMSE", 0.024)):
                change = float(np.mean(np.abs(changes(own.where(reading=reading, error=error)))))
                yield near(f"mean change of {error}, as a share of it", paper, change, f"hide, {name}, {reading}", _WHY)


EXPERIMENT = Experiment(
    order=40,
    title="Hiding: recommendation",
    method="Users with more than ten locations. In each split a tenth of the users is tested against the others. "
    "'Alone': only the tested user gives a release away; 'everybody': all do. The paper leaves open which it means.",
    run=run,
    draw=draw,
    claims=claims,
)
