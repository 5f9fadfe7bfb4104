"""Measure how useful releases still are: quality loss, clustering and recommendation, as in the paper's evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from elsewhere.evaluation.nce import conditional_entropies
from elsewhere.evaluation.quality import quality_losses
from elsewhere.evaluation.recommendation import TooFewUsers, compare_recommendations, recommendation_errors
from elsewhere.evaluation.result import Contrast, Errors, Estimate, Evaluation, Kinds, Recommendation, Spread
from elsewhere.evaluation.tables import Tables
from elsewhere.model.distances import over_taxonomy
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.text import plural

__all__ = [
    "Contrast",
    "Errors",
    "Estimate",
    "Evaluation",
    "Kinds",
    "Recommendation",
    "Spread",
    "Tables",
    "TooFewUsers",
    "compare_recommendations",
    "conditional_entropies",
    "evaluate",
    "quality_losses",
    "recommendation_errors",
]


def evaluate(
    tables: Tables,
    *,
    clusters: int = 3,
    neighbours: int = 25,
    splits: int = 10,
    seed: int = 1,
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
) -> Evaluation:
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
    taxonomy
        Measure the quality loss over this taxonomy as well, and NCE and recommendation of the kinds at its top level.
        Default: only location by location.
    levels
        The weights of the taxonomy's levels for the quality loss; see `TreeDistance`. Default: equal shares.

    Returns
    -------
    Evaluation
        Quality loss in every distance, NCE and recommendation errors. Without enough users for recommendation that part
        is None, and a note says so. With a taxonomy `kinds` has the same figures over it.

    See Also
    --------
    quality_losses, conditional_entropies, recommendation_errors : The three measurements.
    Tables.by_kind : Add counts up by kind, to measure at another level of a taxonomy.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4.
    """
    over_taxonomy("js", taxonomy, levels)  # raises before any work if they are wrong
    notes = _left_out(tables)
    recommend = partial(recommendation_errors, neighbours=neighbours, splits=splits, seed=seed)
    losses = _spreads(tables)
    groups = Spread.of(conditional_entropies(tables, clusters))
    recommended = _unless_too_few(recommend, tables, "recommendation", notes)
    kinds = None
    if taxonomy is not None:
        notes += _unknown(tables, taxonomy)
        added = tables.by_kind(taxonomy)
        kinds = Kinds(
            len(added.locations),
            _spreads(tables, taxonomy, levels),
            Spread.of(conditional_entropies(added, clusters)),
            _unless_too_few(recommend, added, "recommendation of kinds", notes),
        )
    return Evaluation(
        len(tables.users), len(tables.locations), losses, clusters, groups, recommended, kinds, tuple(notes)
    )


def _spreads(
    tables: Tables, taxonomy: Taxonomy | None = None, levels: Sequence[float] | None = None
) -> dict[str, Spread]:
    return {name: Spread.of(values) for name, values in quality_losses(tables, taxonomy, levels).items()}


def _unless_too_few(
    recommend: Callable[[Tables], Recommendation], tables: Tables, what: str, notes: list[str]
) -> Recommendation | None:
    try:
        return recommend(tables)
    except TooFewUsers as error:
        notes.append(f"Skipped {what}: {error}.")
        return None


def _unknown(tables: Tables, taxonomy: Taxonomy) -> list[str]:
    unknown = sum(not taxonomy.path(location) for location in tables.locations)
    all_ = plural(len(tables.locations), "location")
    return [f"The taxonomy does not have {unknown} of {all_}; each is a kind of its own."] if unknown else []


def _left_out(tables: Tables) -> list[str]:
    left_out = {
        "without a release": tables.unreleased,
        "without a visit": tables.empty,
        "found only in the sanitized table": tables.unknown,
    }
    return [f"Left out {plural(number, 'user')} {which}." for which, number in left_out.items() if number]
