"""The errors of a recommender on originals and releases, for the experiments that compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from elsewhere.evaluation import compare_recommendations
from elsewhere.evaluation.recommendation import MeanOver
from elsewhere.model.arrays import Floats
from elsewhere.model.histogram import Histogram
from elsewhere.reproduction.experiment import Dataset, Panel, Series, Study, enough
from elsewhere.reproduction.releases import side_by_side
from elsewhere.reproduction.rows import Rows

K = TypeVar("K")

#: In the paper, a release has the length n and the size N of its original, so a user's mean is N/n for both.
_MEANS: dict[MeanOver, str] = {"original": "N/n", "visited": "visited"}
_WHO = ("alone", "everybody")
#: Who shares a release (the tested user alone, or everybody), and what means are over. The paper is judged by the
#: first reading: it tests on 'test datasets of histograms that are sanitized'.
READINGS = tuple(f"{who}, {mean}" for mean in _MEANS.values() for who in _WHO)
JUDGED = READINGS[0]
READ = (
    "'Alone': only the tested user shares a release; 'everybody': all users do. 'N/n': a user's mean is the size "
    "divided by the length, both of the original; 'visited': the mean is over the locations that have a visit in the "
    f"release. The paper is judged by '{JUDGED}'. All releases are tested on the same locations: those that all of "
    "them keep. Bars are 95% confidence intervals of the difference from the originals, over the splits."
)
#: 'Not substantially': the paper gives no number. This one was chosen before the measurements.
SUBSTANTIAL = 0.05


def errors(
    study: Study, dataset: Dataset, users: Sequence[Histogram], releases: Mapping[K, Sequence[Histogram]]
) -> Iterator[tuple[K, dict[str, Any]]]:
    """One row per release, error and reading: before, after, and the confidence interval of the difference."""
    enough(users, 30, dataset, "long enough for a recommender")
    tables = [side_by_side(users, released) for released in releases.values()]
    for mean_over, mean in _MEANS.items():
        found = compare_recommendations(tables, splits=study.scale.splits, seed=study.seed, mean_over=mean_over)
        for key, both in zip(releases, found, strict=True):
            for who in _WHO:
                for name in ("MAE", "RMSE"):
                    contrast = getattr(getattr(both, who), name.lower())
                    yield (
                        key,
                        {
                            "reading": f"{who}, {mean}",
                            "error": name,
                            "original": contrast.original.mean,
                            "sanitized": contrast.sanitized.mean,
                            "difference_low": contrast.difference.low,
                            "difference_high": contrast.difference.high,
                        },
                    )


def changes(rows: Rows) -> Floats:
    """The relative change of each error."""
    change: Floats = rows.column("sanitized") / rows.column("original") - 1.0
    return change


def panels(rows: Rows, by: str, label: str, log_x: bool = False) -> Iterator[Panel]:
    """One panel each for MAE and RMSE, with the originals and all readings."""
    for name, own in rows.sets():
        for error in ("MAE", "RMSE"):
            groups = {reading: own.where(error=error, reading=reading) for reading in READINGS}
            first = groups[JUDGED]
            series = [Series("originals", first.column(by), first.column("original"), "line")]
            for reading, group in groups.items():
                original = group.column("original")
                low, high = original + group.column("difference_low"), original + group.column("difference_high")
                series.append(
                    Series(f"releases, {reading}", group.column(by), group.column("sanitized"), "line", low, high)
                )
            yield Panel(f"{name}, {error}", label, f"{error} in visits", series, log_x=log_x)
