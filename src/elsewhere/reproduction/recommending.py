"""The errors of a recommender, for the experiments that compare them."""

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

#: The paper's releases have the length n and the size N of their originals, so that a user's mean is N/n for both.
_MEANS: dict[MeanOver, str] = {"original": "N/n", "visited": "visited"}
_WHO = ("alone", "everybody")
#: Who gives releases away, only the user who is tested or all, and what means are over. The paper is judged by the
#: first: its tests are on 'test datasets of histograms that are sanitized'.
READINGS = tuple(f"{who}, {mean}" for mean in _MEANS.values() for who in _WHO)
JUDGED = READINGS[0]
READ = (
    "'Alone': only the tested user gives a release away; 'everybody': all do. 'N/n': a user's mean is the size divided "
    "by the length, which releases have from their originals; 'visited': it is over the locations that have a visit "
    f"in the release. The paper is judged by '{JUDGED}'. All releases are asked about the same locations, which all of "
    "them keep. Bars are 95% confidence intervals of the difference from the originals, over the splits."
)
#: 'Not substantially': the paper gives no number; this one was chosen beforehand.
SUBSTANTIAL = 0.05


def errors(
    study: Study, dataset: Dataset, users: Sequence[Histogram], releases: Mapping[K, Sequence[Histogram]]
) -> Iterator[tuple[K, dict[str, Any]]]:
    """A row an error and a reading of each release: before, after, and the confidence interval of the difference."""
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
    """The change of each error, as a share of it."""
    change: Floats = rows.column("sanitized") / rows.column("original") - 1.0
    return change


def panels(rows: Rows, by: str, label: str, log_x: bool = False) -> Iterator[Panel]:
    """MAE and RMSE of the originals and in all readings, a panel each."""
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
