"""Quality loss: how far each user's release is from the original, in every built-in distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elsewhere.evaluation.tables import Tables
from elsewhere.model.arrays import Floats
from elsewhere.model.distances import DISTANCES, over_taxonomy
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.model.trees import TreeDistance


def quality_losses(
    tables: Tables, taxonomy: Taxonomy | None = None, levels: Sequence[float] | None = None
) -> dict[str, Floats]:
    """Return the quality loss of every user in `tables`, by name of the distance. It can be infinite.

    Parameters
    ----------
    tables
        The original and the sanitized histograms.
    taxonomy
        Measure the loss at every level of this taxonomy, as `TreeDistance` does. Default: location by location.
    levels
        The weights of the levels; see `TreeDistance`.

    >>> tables = Tables.of({"ann": {"gym": 3}, "bob": {"gym": 2}}, {"ann": {"spa": 4}, "bob": {"gym": 2}})
    >>> quality_losses(tables)["l2"].tolist()
    [5.0, 0.0]
    """
    totals = {name: np.zeros(len(tables.users)) for name in DISTANCES}
    for weight, level in _weighted(tables, taxonomy, levels):
        before, after = level.before.astype(np.float64), level.after.astype(np.float64)
        lengths = np.diff(level.offset)
        sizes = [np.repeat(level.sums(counts), lengths) for counts in (before, after)]
        for name, distance in DISTANCES.items():
            totals[name] += weight * level.sums(distance.terms(before, after, *sizes))
    return {name: np.sqrt(total) if DISTANCES[name].root else total for name, total in totals.items()}


def _weighted(
    tables: Tables, taxonomy: Taxonomy | None, levels: Sequence[float] | None
) -> Iterator[tuple[float, Tables]]:
    """The tables at each level with a weight, and that weight; the last level is that of the locations."""
    tree = over_taxonomy("js", taxonomy, levels)
    if not isinstance(tree, TreeDistance):
        yield 1.0, tables
        return
    *inner, own = tree.weights
    weighted = [(depth, weight) for depth, weight in enumerate(inner, start=1) if weight]
    added = tables.by_kinds(tree.taxonomy, [depth for depth, _ in weighted])
    for (_, weight), level in zip(weighted, added, strict=True):
        yield weight, level
    yield own, tables
