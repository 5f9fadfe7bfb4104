"""How much of the original histograms' use the sanitized ones keep: quality loss, clustering, recommendation."""

from __future__ import annotations

from elsewhere.evaluation.nce import conditional_entropies
from elsewhere.evaluation.quality import quality_losses
from elsewhere.evaluation.recommendation import TooFewUsers, recommendation_errors
from elsewhere.evaluation.result import Contrast, Errors, Estimate, Evaluation, Recommendation, Spread
from elsewhere.evaluation.tables import Tables

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
    """The figures of the paper's evaluation section, for any two tables of users' histograms.

    Parameters
    ----------
    tables
        The original and the sanitized histograms: ``Tables.read(original, sanitized)`` or ``Tables.of(...)``.
    clusters
        Into how many clusters the counts of a histogram are put, for NCE.
    neighbours, splits, seed
        As in `recommendation_errors`, which is left out, with a note, where there are too few users for it.
    """
    notes = _left_out(tables)
    losses = {name: Spread.of(values) for name, values in quality_losses(tables).items()}
    groups = Spread.of(conditional_entropies(tables, clusters))
    try:
        recommended = recommendation_errors(tables, neighbours, splits, seed)
    except TooFewUsers as error:
        recommended = None
        notes.append(f"Recommendation is not measured: {error}.")
    return Evaluation(len(tables.users), len(tables.locations), losses, clusters, groups, recommended, tuple(notes))


def _left_out(tables: Tables) -> list[str]:
    left_out = {
        "of the original without a release": tables.unreleased,
        "of the original without a visit": tables.empty,
        "of the sanitized table whom the original does not have": tables.unknown,
    }
    return [
        f"{number:,} user{'' if number == 1 else 's'} {which} {'is' if number == 1 else 'are'} left out."
        for which, number in left_out.items()
        if number
    ]
