"""The popularity of places, which a drawn release adds to a person's own habits.

The shipped table is by kind of place: the mean of the shipped profiles, which are made up. A data team can learn a
better one, by name, with `elsewhere.profiles.learn`. Its places may also get visits if the person never was there,
because genuine histograms have many places with one or two visits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import filterfalse, islice

import numpy as np

from elsewhere import profiles
from elsewhere.model.histogram import Profile, TableLike, TargetLike, as_target, parse_weights
from elsewhere.model.names import NameIndex, is_pattern
from elsewhere.model.taxonomy import Taxonomy

#: The most places of a table that a person may get visits at without having been there; each one slows down draws.
_MOST_RECEIVERS = 1000


def popularity_of(places: NameIndex, table: TableLike | None) -> Sequence[float | None]:
    """The weight of each place in a table by location (None if it has none), or else in the shipped table by kind.

    Places of one kind share its weight. A place of unknown kind has the mean weight of the others; if all are unknown,
    the weights are 0.
    """
    if table is not None:
        known, weights = parse_weights(table, "popularity")
        return [float(weights[at]) if at >= 0 else None for at in known.positions_of(places)]
    kinds = [_kind(name) for name in places.names]
    alike = Counter(kinds)
    found = [None if kind is None else _by_kind()[kind] / alike[kind] for kind in kinds]
    return _with_mean(found)


@dataclass(frozen=True)
class Popularity:
    """The popularity of places, and which of them may get visits if the person never was there."""

    weights: Profile
    #: The most popular places, without those that reveal something about somebody.
    receivers: tuple[str, ...]

    @classmethod
    def of(cls, table: TargetLike) -> Popularity:
        """Weights by location, or a profile. Of a learned one, only places that many users visited receive visits.

        A bare profile with a spread was learned from an unknown number of users, so only the person's own places get
        visits. Homes and places of often sensitive kinds never get visits in this way.

        >>> Popularity.of({"Blue Note Café": 2, "St. Mary's Hospital": 5, "Pier 7": 3, "Home": 9}).receivers
        ('Pier 7', 'Blue Note Café')
        """
        known, numbers = parse_weights(as_target(table), "popularity")
        weights = Profile(zip(known.names, numbers.tolist(), strict=True))
        order = sorted(np.flatnonzero(numbers).tolist(), key=lambda at: (-numbers[at], known.keys[at]))
        many = _visited_by_many(table)
        names = (known.names[at] for at in order if many is None or known.names[at] in many)
        places = filterfalse(is_pattern, names)  # patterns cannot be candidates
        return cls(weights, tuple(islice(filterfalse(_tells, places), _MOST_RECEIVERS)))


def _visited_by_many(learned: TargetLike) -> Collection[str] | None:
    """The places with so many visitors that none of them is identifiable; None if it was not learned from users."""
    if not isinstance(learned, profiles.StoredProfile):
        return () if isinstance(learned, Profile) and learned.spread is not None else None
    if learned.users is None:
        return None
    spread = learned.profile.spread
    if spread is None:
        return ()
    names = learned.profile.locations
    shares = spread.shares(names)
    return {name for name, share in zip(names, shares, strict=True) if share * learned.users > profiles.FEW_USERS - 0.5}


def _tells(name: str) -> bool:
    """Whether a visit to a place may reveal something about a person: people live there, or its kind is sensitive."""
    places = Taxonomy.shipped()
    return bool(places.often_sensitive([name]) or places.select(["preset:home", "Housing"], among=[name]))


def shipped_table() -> Profile:
    """The shipped table, as weights of kinds."""
    nodes = {node.id: node.name for _, node in Taxonomy.shipped().tree()}
    return Profile({nodes[node]: weight for node, weight in _by_kind().items()})


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
    """The kind of a place in the shipped table: its own, or the nearest above it."""
    taxonomy = Taxonomy.shipped()
    return next((node for node in reversed(taxonomy.path(name)) if node in _by_kind()), None)
