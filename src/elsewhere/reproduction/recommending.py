"""The errors of a recommender, for the experiments that compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elsewhere.evaluation import recommendation_errors
from elsewhere.model.arrays import Floats
from elsewhere.model.histogram import Histogram
from elsewhere.reproduction.experiment import Dataset, Panel, Series, Study, enough
from elsewhere.reproduction.releases import side_by_side
from elsewhere.reproduction.rows import Rows

#: Who gives releases away: only the user who is tested, or all.
READINGS = ("alone", "everybody")


def errors(
    study: Study, dataset: Dataset, users: Sequence[Histogram], releases: Sequence[Histogram]
) -> Iterator[dict[str, object]]:
    """A row an error and a reading: before, after, and the confidence interval of the difference."""
    enough(users, 30, dataset, "long enough for a recommender")
    found = recommendation_errors(side_by_side(users, releases), splits=study.scale.splits, seed=study.seed)
    for reading in READINGS:
        both = getattr(found, reading)
        for name, contrast in (("MAE", both.mae), ("RMSE", both.rmse)):
            yield {
                "reading": reading,
                "error": name,
                "original": contrast.original.mean,
                "sanitized": contrast.sanitized.mean,
                "difference_low": contrast.difference.low,
                "difference_high": contrast.difference.high,
            }


def changes(rows: Rows) -> Floats:
    """The change of each error, as a share of it."""
    change: Floats = rows.column("sanitized") / rows.column("original") - 1.0
    return change


def panels(rows: Rows, by: str, label: str, log_x: bool = False) -> Iterator[Panel]:
    """MAE and RMSE of the originals and in both readings, a panel each."""
    for name, own in rows.sets():
        for error in ("MAE", "RMSE"):
            alone, everybody = (own.where(error=error, reading=reading) for reading in READINGS)
            series = [
                Series("originals", alone.column(by), alone.column("original"), "line"),
                Series("releases, alone", alone.column(by), alone.column("sanitized"), "line"),
                Series("releases, everybody", everybody.column(by), everybody.column("sanitized"), "line"),
            ]
            yield Panel(f"{name}, {error}", label, f"{error} in visits", series, log_x=log_x)
