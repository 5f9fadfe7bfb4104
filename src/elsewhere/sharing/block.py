"""A block of users in which pairs are searched, and the release that two of them would share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.solvers import branches, knapsack, pairs
from elsewhere.solvers.knapsack import Limits, Tables

#: The most values in an exact search; the counts of larger pairs are those that the weights give.
_MOST_VALUES = 1 << 20


class Block(NamedTuple):
    """Some users: user u has counts[offset[u]:offset[u + 1]] at places sorted by number."""

    offset: Ints
    place: Ints
    counts: Ints
    #: By place: whether no release may have visits there, and whether none may have more visits than either history.
    closed: Flags
    held: Flags
    #: By user: which of the two kinds the user is of.
    secret: Flags
    #: The number of the quality distance in `pairs.KINDS`.
    kind: int
    #: The limit on the quality loss of each user, with the slack of floating point.
    limit: float

    def bounds(self, first: Ints, second: Ints) -> Floats:
        """A lower bound on the total loss of each pair; infinite if there is no release within the limit."""
        return pairs.bounds(self.kind, *self[:4], first, second, self.limit)

    def weigh(self, first: Ints, second: Ints) -> tuple[Ints, Floats, Floats]:
        """The status of some pairs (`pairs.LEAST` to `UNKNOWN`), their total losses, and lower bounds on them."""
        return pairs.weigh(self.kind, *self[:5], first, second, self.limit)

    def release(self, u: int, v: int) -> Release | None:
        """The release of least total loss within both limits, or the best found; None if there is none."""
        return self.decide(u, v)[0]

    def decide(self, u: int, v: int) -> tuple[Release | None, float]:
        """The release of least total loss within both limits, as far as it is found, and a bound on the total of any.

        The bound is infinite if there is provably none. The result does not depend on the order of the two users.
        """
        place, a, c, most, size = pairs.joined(*self[:5], u, v)
        state, lower, counts = pairs.release(self.kind, a, c, most, size, self.limit)
        found: Ints | None = counts if state <= pairs.WITHIN else None
        if state in (pairs.WITHIN, pairs.UNKNOWN) and len(a) * (size + 1) <= _MOST_VALUES:
            found, bound = _searched(self.kind, a, c, most, counts, self.limit, known=state == pairs.WITHIN)
            lower = max(lower, bound)
        if found is None:
            return None, lower
        losses = pairs.losses(self.kind, a, c, found)
        kept = found > 0
        return Release(place[kept], found[kept], losses, min(lower, sum(losses))), lower


class Release(NamedTuple):
    """A shared release: places and positive counts, the quality loss of each user, and a bound on their sum."""

    place: Ints
    counts: Ints
    losses: tuple[float, float]
    bound: float


def _searched(
    kind: int, a: Floats, c: Floats, most: Ints, counts: Ints, limit: float, known: bool
) -> tuple[Ints | None, float]:
    """The counts of least total loss within both limits, if any are found, and a bound; infinite if there are none.

    The search has one budget: the limit that the least total breaks. If `known`, `counts` are within both limits;
    otherwise the search first looks for counts that break the limit least.
    """
    size = int(counts.sum())
    middle = pairs.release(kind, a, c, most, size, math.inf)[2]
    loss_a, loss_c = pairs.losses(kind, a, c, middle)
    great, other = (_table(kind, shares, most, size) for shares in ((a, c) if loss_a > loss_c else (c, a)))
    if not known:
        least = _solved(great, other, most, size, limit, middle)
        if great.of(least.counts) > limit:
            return None, math.inf if least.bound > limit else -math.inf
        counts = least.counts
    best = _solved(_Table(great.start, great.values + other.values), great, most, size, limit, counts)
    if other.of(best.counts) <= limit:
        counts = best.counts
    return counts, best.bound


class _Table(NamedTuple):
    """The quality loss of a user by bin and count: values[start[i] + x]."""

    start: Ints
    values: Floats

    def of(self, counts: Ints) -> float:
        return float(self.values[self.start[:-1] + counts].sum())


def _table(kind: int, shares: Floats, most: Ints, size: int) -> _Table:
    start = np.append(0, np.cumsum(np.minimum(most, size) + 1)).astype(np.int64)
    x = (np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))) / size
    return _Table(start, pairs.terms(kind, np.repeat(shares, np.diff(start)), x))


def _solved(objective: _Table, cost: _Table, most: Ints, size: int, budget: float, known: Ints) -> knapsack.Solution:
    tables = Tables(objective.start, np.zeros(len(most), np.int64), objective.values, cost.values)
    nothing = np.zeros((0, len(most)), np.int64)
    found = branches.solve(tables, size, budget, known=known, forbidden=nothing, limits=Limits())
    assert found is not None
    return found


def canonical_order(offset: Ints, place: Ints, count: Ints, chance: Sequence[int]) -> Ints:
    """The users ordered by their histories, with ties broken by `chance`.

    The order of histories does not depend on their owners, so neither does the choice of pairs.
    """
    spans = [slice(*ends) for ends in zip(offset[:-1].tolist(), offset[1:].tolist(), strict=True)]
    contents = [(tuple(place[span].tolist()), tuple(count[span].tolist())) for span in spans]
    return np.array(sorted(range(len(spans)), key=lambda at: (contents[at], chance[at])), np.int64)
