"""How popular places are with everybody: what a drawn release adds to a person's own habits.

The shipped table is by kind of place: the mean of the shipped profiles, which are made up. A data team learns a better
one, by name, with `elsewhere.profiles.learn`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache

from elsewhere import profiles
from elsewhere.model.histogram import TableLike, parse_weights
from elsewhere.model.names import NameIndex
from elsewhere.model.taxonomy import Taxonomy


def popularity_of(places: NameIndex, table: TableLike | None) -> Sequence[float | None]:
    """The weight of each place in a table by location, None where it has none, or else in the shipped one by kind.

    Places of one kind share its weight. A place of unknown kind has the mean weight of the others; if all are unknown
    they have 0.
    """
    if table is not None:
        known, weights = parse_weights(table, "popularity")
        return [float(weights[at]) if at >= 0 else None for at in known.positions_of(places)]
    kinds = [_kind(name) for name in places.names]
    alike = Counter(kinds)
    found = [None if kind is None else _by_kind()[kind] / alike[kind] for kind in kinds]
    return _with_mean(found)


def _with_mean(weights: Sequence[float | None]) -> list[float]:
    known = [weight for weight in weights if weight is not None]
    mean = math.fsum(known) / len(known) if known else 0.0
    return [mean if weight is None else weight for weight in weights]


@cache
def _by_kind() -> dict[str, float]:
    """The mean share of each kind in the shipped profiles."""
    shares: dict[str, list[float]] = {}
    shipped, taxonomy = profiles.shipped(), Taxonomy.shipped()
    for stored in shipped:
        for name, share in stored.profile.items():
            if path := taxonomy.path(name):
                shares.setdefault(path[-1], []).append(share)
    return {node: math.fsum(found) / len(shipped) for node, found in shares.items()}


@lru_cache(1 << 16)
def _kind(name: str) -> str | None:
    """The kind of a place that the shipped table has: its own, or else the nearest above it."""
    taxonomy = Taxonomy.shipped()
    return next((node for node in reversed(taxonomy.path(name)) if node in _by_kind()), None)
