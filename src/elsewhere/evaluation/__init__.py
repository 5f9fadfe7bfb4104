"""Measure how useful releases still are: quality loss, clustering and recommendation, as in the paper's evaluation."""

from __future__ import annotations

from elsewhere.evaluation.nce import conditional_entropies
from elsewhere.evaluation.quality import quality_losses
from elsewhere.evaluation.recommendation import TooFewUsers, recommendation_errors
from elsewhere.evaluation.result import Contrast, Errors, Estimate, Evaluation, Recommendation, Spread
from elsewhere.evaluation.tables import Tables
from elsewhere.text import plural

__all__ = [
    "Contrast",
    "Errors",
    "Estimate",
    "Evaluation",
    "Recommendation",
    "Spread",
    "Tables",
    "TooFewUsers",
    "conditional_entropies",
    "evaluate",
    "quality_losses",
    "recommendation_errors",
]


def evaluate(tables: Tables, *, clusters: int = 3, neighbours: int = 25, splits: int = 10, seed: int = 1) -> Evaluation:
    """Compute the figures of the paper's evaluation section for any two tables of users' histograms.

    Parameters
    ----------
    tables
        The original and the sanitized histograms: ``Tables.read(original, sanitized)`` or ``Tables.of(...)``.
    clusters
        Number of clusters that the counts of a histogram are put into, for NCE. Default: 3.
    neighbours
        Number of neighbours per prediction. Default: 25.
    splits
        Number of random splits into tested and other users; at least 2. Default: 10.
    seed
        Seed of the splits; the same seed gives the same figures.

    Returns
    -------
    Evaluation
        Quality loss in every distance, NCE and recommendation errors. Without enough users for recommendation that part
        is None, and a note says so.

    See Also
    --------
    quality_losses, conditional_entropies, recommendation_errors : The three measurements.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4.
    """
    notes = _left_out(tables)
    losses = {name: Spread.of(values) for name, values in quality_losses(tables).items()}
    groups = Spread.of(conditional_entropies(tables, clusters))
    try:
        recommended = recommendation_errors(tables, neighbours, splits, seed)
    except TooFewUsers as error:
        recommended = None
        notes.append(f"Skipped recommendation: {error}.")
    return Evaluation(len(tables.users), len(tables.locations), losses, clusters, groups, recommended, tuple(notes))


def _left_out(tables: Tables) -> list[str]:
    left_out = {
        "without a release": tables.unreleased,
        "without a visit": tables.empty,
        "found only in the sanitized table": tables.unknown,
    }
    return [f"Left out {plural(number, 'user')} {which}." for which, number in left_out.items() if number]
