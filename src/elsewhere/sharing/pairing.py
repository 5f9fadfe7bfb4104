"""Pair users: as many pairs as possible, and among these pairings the least total quality loss.

A pair costs the total loss of its two users, and a user without a pair costs `PENALTY` limits, which is more than the
losses of all others together. This is an assignment problem. Its dual has a price for each user: no price is above the
penalty, and the prices of two users never sum to more than the cost of their pair. So the sum of the prices is a lower
bound on the cost of any pairing.

Most pairs are never computed exactly. The first candidates are those with the smallest cheap lower bounds. The
resulting prices show which other pairs may be better, and these become candidates in the next round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.extras import load
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.sharing.block import Block, Release
from elsewhere.solvers import pairs

#: The cost of a user without a pair, in limits on the quality loss. A block has fewer pairs than this.
PENALTY = 1 << 13
#: Candidates of each user at first, and new candidates of each user per round.
_NEAREST = 16
_ROUNDS = 40
#: Prices closer than this are equal.
_NOISE = 1e-11
_VIOLATED = 1e-9


class Pairing(NamedTuple):
    """The pairs that were found, by the numbers of users in the block, and the prices that bound any other pairing."""

    first: Ints
    second: Ints
    releases: list[Release]
    #: By user. Their sum is at most the cost of any pairing.
    prices: Floats
    #: By pair of users with and without the secret, in their order: a lower bound on the total loss.
    lower: Floats

    @property
    def cost(self) -> float:
        """The total loss of all users in pairs."""
        return sum(sum(release.losses) for release in self.releases)


def check_solver() -> None:
    """Raise unless the library for pairing is installed."""
    load("scipy", "mechanism = 'shared' needs SciPy", "shared")


def paired(block: Block) -> Pairing:
    """The best pairing of a block, or the best found in some rounds, with prices."""
    penalty = PENALTY * block.limit
    with_secret, without = np.flatnonzero(block.secret), np.flatnonzero(~block.secret)
    costs = _Costs.of(block, with_secret, without)
    costs.look_at(_nearest(costs.lower, _NEAREST))
    for _ in range(_ROUNDS):
        i, j = _matching(costs.cost, penalty)
        y, z = _prices(costs.cost, i, j, penalty)
        missed = costs.undecided & (y[:, None] + z > costs.lower + _VIOLATED)
        if not missed.any():
            break
        costs.look_at(_nearest(np.where(missed, costs.lower - y[:, None] - z, math.inf), _NEAREST))
    else:
        i, j = _matching(costs.cost, penalty)
        y, z = _prices(costs.cost, i, j, penalty)
    releases = [block.release(u, v) for u, v in zip(with_secret[i].tolist(), without[j].tolist(), strict=True)]
    prices = np.empty(len(block.secret))
    prices[without] = z = np.minimum(z, penalty)
    # The prices must also respect the lower bounds of pairs that were not computed.
    prices[with_secret] = np.minimum(y, np.minimum((costs.lower - z).min(axis=1, initial=math.inf), penalty))
    assert all(release is not None for release in releases)
    return Pairing(with_secret[i], without[j], [it for it in releases if it is not None], prices, costs.lower)


class _Costs(NamedTuple):
    """The costs of pairs, as far as they are known."""

    block: Block
    first: Ints
    second: Ints
    #: A lower bound for each pair.
    lower: Floats
    #: The cost; infinite if no release is known.
    cost: Floats
    #: Pairs whose cost may be lower than the known one.
    undecided: Flags
    weighed: Flags

    @classmethod
    def of(cls, block: Block, first: Ints, second: Ints) -> _Costs:
        lower = block.bounds(first, second)
        shape = lower.shape
        return cls(block, first, second, lower, np.full(shape, math.inf), np.isfinite(lower), np.zeros(shape, np.bool_))

    def look_at(self, chosen: Flags) -> None:
        """Compute the costs of some pairs: first by weights, and by the exact search if that does not decide."""
        chosen = chosen & self.undecided
        for i, j in zip(*np.nonzero(chosen & self.weighed), strict=True):
            found, bound = self.block.decide(int(self.first[i]), int(self.second[j]))
            self.cost[i, j] = math.inf if found is None else sum(found.losses)
            self.lower[i, j] = max(bound, self.lower[i, j])
            self.undecided[i, j] = False
        i, j = np.nonzero(chosen & ~self.weighed)
        if not len(i):
            return
        state, total, lower = self.block.weigh(self.first[i], self.second[j])
        self.cost[i, j], self.lower[i, j] = total, np.maximum(lower, self.lower[i, j])
        self.weighed[i, j], self.undecided[i, j] = True, (state == pairs.UNKNOWN) | (state == pairs.WITHIN)


def _nearest(far: Floats, number: int) -> Flags:
    """The least finite entries of each row and of each column."""
    chosen = np.zeros(far.shape, np.bool_)
    for axis, length in ((1, far.shape[1]), (0, far.shape[0])):
        if min(far.shape) == 0:
            break
        least = np.argsort(far, axis=axis, kind="stable").take(np.arange(min(number, length)), axis=axis)
        np.put_along_axis(chosen, least, True, axis=axis)
    return chosen & np.isfinite(far)


def _matching(cost: Floats, penalty: float) -> tuple[Ints, Ints]:
    """The rows and columns of the pairs in the cheapest pairing.

    A pair saves two penalties. An impossible pair saves nothing, so its users stay without a pair.
    """
    from scipy.optimize import linear_sum_assignment

    possible = np.isfinite(cost)
    i, j = linear_sum_assignment(np.where(possible, cost - 2.0 * penalty, 0.0))
    served = possible[i, j]
    return i[served].astype(np.int64), j[served].astype(np.int64)


def _prices(cost: Floats, i: Ints, j: Ints, penalty: float) -> tuple[Floats, Floats]:
    """Prices of rows and columns that prove the pairs (i, j) optimal, by shortest paths (Bellman and Ford).

    The edges are the constraints on differences of prices: from a column to a row at the cost of the pair, back along a
    chosen pair at minus its cost, and through users without a pair, whose price is the penalty.
    """
    rows, columns = cost.shape
    row, column = np.nonzero(np.isfinite(cost))
    weight = cost[row, column]
    y, minus_z, outside = np.zeros(rows), np.zeros(columns), 0.0
    alone_row, alone_column = np.ones(rows, np.bool_), np.ones(columns, np.bool_)
    alone_row[i], alone_column[j] = False, False
    for _ in range(2 * (rows + columns) + 2):
        before = y.copy(), minus_z.copy(), outside
        outside = min(outside, (minus_z + penalty).min(initial=math.inf))
        outside = min(outside, (y[alone_row] - penalty).min(initial=math.inf))
        nearer = np.minimum(y, outside + penalty)
        np.minimum.at(nearer, row, minus_z[column] + weight)
        y = np.where(nearer < y - _NOISE, nearer, y)
        minus_z[alone_column] = np.minimum(minus_z[alone_column], outside - penalty)
        along = y[i] - cost[i, j]
        minus_z[j] = np.where(along < minus_z[j] - _NOISE, along, minus_z[j])
        if outside == before[2] and np.array_equal(y, before[0]) and np.array_equal(minus_z, before[1]):
            break
    return y - outside, outside - minus_z
