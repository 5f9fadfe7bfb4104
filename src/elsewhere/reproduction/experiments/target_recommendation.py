"""Resembling and avoiding: effect on a recommender, by the threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, at_least, at_most, other_reading
from elsewhere.reproduction.comparing import OTHER_DATA
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study
from elsewhere.reproduction.recommending import JUDGED, READ, READINGS, SUBSTANTIAL, changes, errors, panels
from elsewhere.reproduction.releases import GOALS, METHODS, NAMES, uniform
from elsewhere.reproduction.rows import Rows
from elsewhere.verbs import avoid, resemble

_THRESHOLDS = (0.001, 0.005, 0.01, 0.05, 0.1)
_VERBS = {"resemble": resemble, "avoid": avoid}


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    users = study.users(dataset)
    for goal in GOALS:
        releases = {
            (method, threshold): [
                _VERBS[goal](history, uniform(history), threshold, method=method).histogram for history in users
            ]
            for method in METHODS
            for threshold in _THRESHOLDS
        }
        rows.extend(
            dataset.row(goal=goal, method=method, threshold=threshold, **row)
            for (method, threshold), row in errors(study, dataset, users, releases)
        )
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return [
        Drawing(
            NAMES[goal, method].lower(),
            "Figure 21" if goal == "resemble" else "",
            f"Errors of a recommender by the threshold, {NAMES[goal, method]}",
            panels(rows.where(goal=goal, method=method), "threshold", "threshold", log_x=True),
        )
        for goal in GOALS
        for method in METHODS
    ]


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.where(goal="resemble").sets("NYC"):
        for method in METHODS:
            for reading in READINGS:
                on = f"resemble ({NAMES['resemble', method]}), {name}, {reading}"
                for error in ("MAE", "RMSE"):
                    change = changes(own.where(method=method, reading=reading, error=error))
                    most = at_most(f"{error} is not substantially affected (greatest change, as a share)", SUBSTANTIAL,
                                   float(np.max(np.abs(change))), on, OTHER_DATA)  # fmt: skip
                    yield most if reading == JUDGED else other_reading(most)
                lower = float(np.mean(changes(own.where(method=method, reading=reading)) < 0))
                some = at_least(
                    "in some cases errors are lower on releases (share of cases)", 0.01, lower, on, OTHER_DATA
                )
                yield some if reading == JUDGED else other_reading(some)


EXPERIMENT = Experiment(
    order=110,
    title="Resembling and avoiding: recommendation",
    method=f"All users resemble, or avoid, the uniform histogram. {READ} A change of more than {SUBSTANTIAL:.0%} "
    "counts as substantial; the paper gives no number.",
    run=run,
    draw=draw,
    claims=claims,
)
