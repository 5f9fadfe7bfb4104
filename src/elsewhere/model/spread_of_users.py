"""The spread of a profile, measured on histograms of users."""

from __future__ import annotations

import numpy as np

from elsewhere.model.distances import find_distance
from elsewhere.model.histogram import Histogram, Profile
from elsewhere.model.spread import DISTANCES, Spread, quantiles_of


def measured_spread(profile: Profile, members: list[Histogram], others: list[Histogram], privacy: str) -> Spread:
    """How members of a profile differ from it, and how far others are from it."""
    visits, places = np.zeros(profile.length), []
    for member in members:
        at = np.array(profile.index.positions_of(member.index))[member.counts > 0]
        visits[at[at >= 0]] += 1
        places.append(float(np.count_nonzero(at >= 0)))
    near, far = ([_distance(profile, histogram, privacy) for histogram in group] for group in (members, others))
    shares = dict(zip(profile.locations, (visits / len(members)).tolist(), strict=True))
    return Spread(shares, quantiles_of(near), quantiles_of(places), quantiles_of(far) if far else (), privacy)


def _distance(profile: Profile, histogram: Histogram, privacy: str) -> float:
    """The distance of a histogram from a profile; its time does not depend on the length of the profile."""
    found = find_distance(privacy)
    visited = histogram.counts > 0
    at = np.array(profile.index.positions_of(histogram.index))[visited]
    weights = np.where(at >= 0, profile.weights[at], 0.0)
    terms = found.terms(weights, histogram.counts[visited].astype(np.float64), 1.0, float(histogram.size))
    # Without visits, the term is proportional to the weight.
    unvisited = max(0.0, 1.0 - float(weights.sum()))
    total = float(terms.sum() + found.terms(np.array([unvisited]), np.zeros(1), 1.0, 1.0).sum())
    return min(total, DISTANCES[privacy])  # rounding may exceed it
