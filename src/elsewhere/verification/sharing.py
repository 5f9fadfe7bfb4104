"""Check shared releases and the prices of their pairing, in plain NumPy and without any solver code."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Distance, slack

_TOLERANCE = 1e-9


class SharedPair(NamedTuple):
    """Two histories and the release that they share, with positive counts at sorted places, and the claimed losses."""

    places: tuple[Ints, Ints]
    counts: tuple[Ints, Ints]
    release_places: Ints
    release_counts: Ints
    losses: tuple[float, float]


def check_pair(pair: SharedPair, closed: Flags, held: Flags, distance: Distance, limit: float) -> str | None:
    """The problem with a shared release; None if there is none.

    `closed` and `held` say for each place whether no visit may be released, and whether none may be added.
    """
    union = np.unique(np.concatenate([*pair.places, pair.release_places]))
    first, second = (_spread(union, at, of) for at, of in zip(pair.places, pair.counts, strict=True))
    release = _spread(union, pair.release_places, pair.release_counts)
    sizes = [sum(of.tolist()) for of in pair.counts]
    if sum(pair.release_counts.tolist()) != (sum(sizes) + 1) // 2:
        return "its size is not the mean of the two sizes"
    if (release[closed[union]] > 0).any():
        return "it has a visit at a sensitive place"
    if (release > np.minimum(first, second))[held[union]].any():
        return "it adds visits to a place of an often sensitive kind"
    if (release[(first == 0) & (second == 0)] > 0).any():
        return "it has a visit at a place that neither user visited"
    for original, claimed in zip((first, second), pair.losses, strict=True):
        loss = float(distance.terms(original, release, original.sum(), release.sum()).sum())
        if not abs(loss - claimed) <= _TOLERANCE:
            return f"its quality loss is {loss:.10g}, not {claimed:.10g}"
        if not loss <= limit + slack(limit):
            return f"its quality loss {loss:.10g} is above {limit:.10g}"
    return None


def _spread(union: Ints, places: Ints, counts: Ints) -> Floats:
    found = np.zeros(len(union))
    found[np.searchsorted(union, places)] = counts
    return found


def bound_of(with_secret: Floats, without: Floats, lower: Floats, penalty: float) -> float:
    """The lower bound on the cost of any pairing that the prices of users with and without the secret prove.

    `lower` has a lower bound on the total loss of each pair; a user without a pair costs the `penalty`. If prices are
    too high, they prove nothing, and the bound is minus infinity.
    """
    prices = np.concatenate([with_secret, without])
    if (prices > penalty + _TOLERANCE).any() or (with_secret[:, None] + without > lower + _TOLERANCE).any():
        return -math.inf
    return math.fsum(prices.tolist())
