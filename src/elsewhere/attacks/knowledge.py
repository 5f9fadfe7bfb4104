"""Features for an attacker who knows what everybody does: the popularity table, or what members of a group are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.attacks.table import entry_rows
from elsewhere.drawing import OWN_SHARE
from elsewhere.model.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Counts whose places may be more popular than others, if visits were drawn by popularity.
_SMALL = (1, 2, 3)
#: The quantiles of members' distances and numbers of places that an attacker knows.
_QUANTILES = np.linspace(0.0, 1.0, 21)


def by_popularity(counts: csr_array, popularity: Floats) -> Callable[[Ints], Floats]:
    """How the counts of a histogram correlate with the popularity of its places, which a drawn release follows.

    One feature is the likelihood ratio of the counts: under the mixture that `hide` draws from, against the person's
    own shares alone.
    """
    rows, users, data = entry_rows(counts), counts.shape[0], counts.data.astype(np.float64)
    weights = popularity[counts.indices]
    total = np.bincount(rows, weights, minlength=users)
    shares = weights / np.where(total > 0, total, 1.0)[rows]
    own = data / np.maximum(counts.sum(axis=1), 1)[rows]
    logs = np.log(shares * np.diff(counts.indptr)[rows] + 0.01)

    def sums(numbers: Floats) -> Floats:
        return np.bincount(rows, numbers, minlength=users).astype(np.float64)

    def mean(which: Floats) -> Floats:
        number = sums(which)
        return sums(which * logs) / np.where(number > 0, number, 1.0)

    mixed = np.log(OWN_SHARE * own + (1 - OWN_SHARE) * shares) - np.log(own)
    likelihoods = [sums(own * mixed), sums(np.abs(own - shares))]
    small = [mean((data == count).astype(np.float64)) for count in _SMALL]
    known = np.column_stack([mean(np.ones_like(data)), mean(data), *small, *likelihoods])
    return lambda _: known


def by_members(counts: csr_array, distances: Floats, target: Flags, members: Flags) -> Callable[[Ints], Floats]:
    """How a histogram compares with the known members: the spread of a profile, as far as it can be learned.

    The columns: the rank of its distance to the target among theirs, the rank of its number of the target's places,
    visits at places where no member was, how common the visited places are, and the share of visits at places of the
    target. A known member is compared with the other members.
    """
    visited = counts > 0
    own = visited.astype(np.float64)
    rows, users = entry_rows(own), own.shape[0]
    numbers = own @ target
    sizes = np.maximum(counts.sum(axis=1), 1)

    def informed(known: Ints) -> Floats:
        who = np.unique(known[members[known]])
        within = np.isin(np.arange(users), who)
        by_place = own[who].sum(axis=0)
        others = by_place[own.indices] - within[rows]
        rates = others / np.maximum(len(who) - within[rows], 1)
        never = np.bincount(rows, counts.data * (others <= 0), minlength=users)
        ranks = [
            np.searchsorted(np.quantile(figures[who], _QUANTILES), figures) / len(_QUANTILES)
            for figures in (distances, numbers)
        ]
        usual = np.bincount(rows, np.log(rates + 0.5 / (len(who) + 1)), minlength=users) / np.maximum(
            np.diff(own.indptr), 1
        )
        inside = counts @ target / sizes
        return np.column_stack([*ranks, distances, never / sizes, never > 0, usual, inside, numbers])

    return informed
