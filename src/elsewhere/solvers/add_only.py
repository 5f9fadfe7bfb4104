r"""Releases that only add visits: find the smallest size that meets a wanted privacy distance.

Each size must be decided separately: because counts are integers, a larger size may fail although a smaller one
suffices. So every smaller size must be ruled out, but not one by one. All sizes A..B are ruled out at once if a bound
on the distance holds for all shares x/N that counts may have at these sizes. With a price :math:`\nu` of the shares,
which sum to 1, the distance at any of these sizes is at least

.. math:: \nu + \sum_i \min_s \left( f_i(s) - \nu s \right), \quad s \in \bigcup_x [x/B, x/A]

where x runs over the counts of bin i. At a single size, the best price makes the bound equal to the least distance,
because the terms are convex; the convex allocation attains it. For avoid the terms are maximised: a convex term is
greatest at an end of the range of shares, and the best price is that of a fractional knapsack.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.cancellation import check_cancelled
from elsewhere.model.arrays import Floats, Ints, exact_sum
from elsewhere.model.distances import Distance, Measure, slack
from elsewhere.model.problem import Problem
from elsewhere.solvers import exact, kind_totals
from elsewhere.solvers.knapsack import Solution

#: The rounding error of a bound, relative to the numbers in it.
_ROUNDING = 1e-9
#: The search gives up after this many sizes have been checked one by one.
_MOST_LOOKS = 2_000


class Sizes(NamedTuple):
    """The sizes to search, for bins that are places or kinds of place."""

    #: The flat problem at the greatest size.
    problem: Problem
    distance: Distance
    #: The target's shares.
    target: Floats
    wanted: float

    @property
    def first(self) -> int:
        """The least size: the sum of the lower bounds."""
        return exact_sum(self.problem.lower)

    @property
    def last(self) -> int:
        """The greatest size."""
        return min(self.problem.size, exact_sum(self.problem.upper))

    @property
    def limit_case(self) -> float:
        """The limit of the best distance as the number of added visits grows."""
        shares = np.zeros(len(self.target))
        grows = self.problem.upper - self.problem.lower >= self.problem.size - self.first
        if not grows.any():
            return math.nan
        if self.problem.goal == "avoid":
            empty, full = self._terms(shares), self._terms(shares + 1.0)
            if np.isinf(empty).any() or np.isinf(full[grows]).any():
                return math.inf
            return float(empty.sum() + (full - empty)[grows].max())
        shares[grows] = self.target[grows]
        shares[np.flatnonzero(grows)[0]] += 1.0 if not shares.any() else 0.0
        return float(self._terms(shares / shares.sum()).sum())

    def best_at(self, size: int) -> Solution | None:
        """The best totals of a size, with their proof; None if they need a search, which is avoid with upper bounds.

        Without upper bounds, avoid adds all visits at one place, because the terms are convex.
        """
        if self.problem.goal == "resemble":
            counts, price = self._nearest(size)
            distance = float(self._terms(counts / size).sum())
            return Solution(counts, distance, distance, distance, 0.0, price)
        low, added = self.problem.lower, size - self.first
        open_ = self.problem.upper > low
        if (low[open_] + added > self.problem.upper[open_]).any():
            return None
        before, after = self._terms(low / size), self._terms((low + added) / size)
        if np.isinf(before).any() or np.isinf(after[open_]).any():
            return None
        counts, price = low.copy(), 0.0
        if added:
            gain = np.where(open_, after - before, -math.inf)
            counts[int(np.argmax(gain))] += added
            price = -float(gain.max()) / added
        farthest = -float(self._terms(counts / size).sum())
        return Solution(counts, farthest, farthest, farthest, 0.0, price)

    def next_size(self, size: int) -> tuple[int, bool]:
        """The first size from this one on that may suffice, and True; or the last size that was checked, and False."""
        gallop = self._gallop_far if self.problem.goal == "avoid" else self._gallop_near
        for _ in range(_MOST_LOOKS):
            check_cancelled()
            if size > self.last:
                break
            beyond = gallop(size)
            if beyond == size:
                return size, True
            size = beyond
        return size, False

    def _gallop_near(self, size: int) -> int:
        """The size itself if it suffices; else a larger size such that none below it does."""
        counts, price = self._nearest(size)
        if float(self._terms(counts / size).sum()) <= self.wanted + slack(self.wanted):
            return size
        return self._gallop(size, lambda last: self._least(size, last, price * size) > self.wanted)

    def _nearest(self, size: int) -> tuple[Ints, float]:
        """The counts of the given size that are nearest to the target, and the price of a count."""
        near = Measure(self.distance, self.target * size, float(size), float(size))
        at_size = self.problem._replace(size=size, upper=np.minimum(self.problem.upper, size), quality=near)
        return exact.spread(at_size, self.distance)

    def _gallop_far(self, size: int) -> int:
        """The size itself if it may suffice; else a larger size such that none below it does."""
        if self._greatest(size, size) >= self.wanted:
            return size
        return self._gallop(size, lambda last: self._greatest(size, last) < self.wanted)

    def _gallop(self, size: int, ruled_out: Callable[[int], bool]) -> int:
        """A larger size such that all sizes below it are ruled out, found by doubling the step and then halving it."""
        step = 1
        while size + step <= self.last and ruled_out(size + step):
            step *= 2
        known, open_ = step // 2, step  # the offset of the last size that is ruled out, and of one that is not
        while open_ - known > 1:
            middle = (known + open_) // 2
            known, open_ = (middle, open_) if ruled_out(min(size + middle, self.last)) else (known, middle)
        return size + known + 1

    def _least(self, first: int, last: int, price: float) -> float:
        """A bound on the least distance at any of the sizes, a little lower because of rounding."""
        assert self.distance.ratio is not None
        low, high = self.problem.lower, np.minimum(self.problem.upper, last)
        ratio = self.distance.ratio(price)
        best = high / first if ratio == math.inf else np.clip(ratio * self.target, low / last, high / first)
        # The counts whose shares are nearest to the best share, from below and from above.
        count = np.clip(np.floor(best * last + _ROUNDING), low, high)
        below, above = np.minimum(best, count / first), np.maximum(best, np.minimum(count + 1, high) / last)
        costs = np.minimum(self._terms(below) - price * below, self._terms(above) - price * above)
        return float(costs.sum()) + price - _ROUNDING * (1.0 + abs(price) + self.wanted)

    def _greatest(self, first: int, last: int) -> float:
        """A bound on the greatest distance at any of the sizes, a little higher because of rounding."""
        low = self.problem.lower / last
        free = max(1.0 - float(low.sum()), 0.0)
        high = np.minimum(np.minimum(self.problem.upper, last) / first, low + free)
        at_low, at_high = self._terms(low), self._terms(high)
        if np.isinf(at_low).any() or np.isinf(at_high).any():
            return math.inf
        width = np.maximum(high - low, 0.0)
        slope = np.divide(at_high - at_low, width, out=np.full(len(low), -math.inf), where=width > 0.0)
        order = np.argsort(-slope, kind="stable")
        order = order[width[order] > 0.0]
        before = np.append(0.0, np.cumsum(width[order])[:-1])
        taken = np.clip(free - before, 0.0, width[order])
        return float(at_low.sum() + (slope[order] * taken).sum()) + _ROUNDING * (1.0 + self.wanted)

    def _terms(self, shares: Floats) -> Floats:
        return self.distance.terms(self.target, shares, 1.0, 1.0)


def sizes(problem: Problem, wanted: float) -> Sizes:
    """The sizes to search, given the problem at the greatest size; its bins are places or kinds."""
    flat = problem if problem.tree is None else kind_totals.over_kinds(problem)
    assert flat.privacy is not None
    target, distance = flat.privacy.reference / flat.privacy.reference_size, flat.privacy.distance
    lower, upper = flat.lower, flat.upper
    if distance.unbounded and flat.goal == "resemble":
        lower = np.where(target > 0.0, np.maximum(lower, 1), lower)
        upper = np.where(target > 0.0, upper, lower)
    return Sizes(flat._replace(lower=lower, upper=upper), distance, target, wanted)
