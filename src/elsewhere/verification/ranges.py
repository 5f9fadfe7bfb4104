"""A lower bound on each bin's share of the dual bound, if there are too many counts to check one by one.

In plain NumPy, like all of verification. The cost of a count is the difference of two convex functions; the second is 0
except in avoid. Over a range of counts, a convex function is never above its chord, and never below the extended chord
of an adjacent range. Both are straight lines, so the resulting bound is least at an end. Ranges are halved until their
bound is as good as a count that was checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints

#: A function that returns the terms of counts x in the bins with the same indices.
Terms: TypeAlias = Callable[[Ints, Ints], Floats]

#: A bound is good enough if it is below a count's cost by at most this: over all bins, and relative to the numbers.
_CLOSE = 1e-10
_ROUNDING = 1e-13
#: With this many ranges, none is halved again, and their bounds are used: for the least cost, and for cheap counts.
_MOST_RANGES = 1 << 21
_FEW_RANGES = 1 << 14


class Cost(NamedTuple):
    """rising(x) - falling(x) - price * x; both functions are convex and finite."""

    rising: Terms
    falling: Terms
    price: float

    def at(self, bins: Ints, x: Ints) -> Floats:
        cost: Floats = self.rising(bins, x) - self.falling(bins, x) - self.price * x
        return cost

    def scale(self, bins: Ints, x: Ints) -> Floats:
        """The magnitude of the numbers in the cost."""
        size: Floats = np.abs(self.rising(bins, x)) + np.abs(self.falling(bins, x)) + np.abs(self.price * x)
        return size


class _Ranges(NamedTuple):
    """Ranges first..last of counts, each of one bin, with bounds on the costs of their counts."""

    bins: Ints
    first: Ints
    last: Ints
    bound: Floats

    @staticmethod
    def whole(cost: Cost, low: Ints, high: Ints) -> _Ranges:
        """One range per bin with all its counts. Until a range is halved, its bound is that of the ends."""
        every = np.arange(len(low))
        return _Ranges(every, low, high, np.minimum(cost.at(every, low), cost.at(every, high)))

    def only(self, these: Flags) -> _Ranges:
        return _Ranges(self.bins[these], self.first[these], self.last[these], self.bound[these])

    @property
    def open(self) -> Flags:
        """The ranges with counts between their ends."""
        return self.last - self.first > 1

    def halved(self, cost: Cost) -> _Ranges:
        """The halves of ranges that are open."""
        middle = self.first + (self.last - self.first) // 2
        (up_first, up, up_last), (down_first, down, down_last) = (
            [terms(self.bins, x) for x in (self.first, middle, self.last)] for terms in (cost.rising, cost.falling)
        )
        before, after = middle - self.first, self.last - middle
        # The chord of either half, extended, is below the other half.
        lowered_first = np.where(before > 1, up - (up_last - up) * (before / after), up_first)
        lowered_last = np.where(after > 1, up + (up - up_first) * (after / before), up_last)
        at_middle = up - down - cost.price * middle
        lower = np.minimum(at_middle, lowered_first - down_first - cost.price * self.first)
        upper = np.minimum(at_middle, lowered_last - down_last - cost.price * self.last)
        return _Ranges(
            np.concatenate((self.bins, self.bins)),
            np.concatenate((self.first, middle)),
            np.concatenate((middle, self.last)),
            np.concatenate((lower, upper)),
        )


def least_costs(cost: Cost, low: Ints, high: Ints) -> Floats:
    """A tight lower bound on the least cost of the counts low..high of each bin."""
    ranges = _Ranges.whole(cost, low, high)
    found = ranges.bound.copy()
    floor = found.copy()
    scale = np.minimum(cost.scale(ranges.bins, low), cost.scale(ranges.bins, high))
    ranges = ranges.only(ranges.open)
    while 0 < len(ranges.bins) <= _MOST_RANGES:
        ranges = ranges.halved(cost)
        at_first = cost.at(ranges.bins, ranges.first)
        better = np.flatnonzero(at_first < found[ranges.bins])
        better = better[np.argsort(-at_first[better], kind="stable")]  # so that the best of each bin is the last
        bins = ranges.bins[better]
        found[bins], scale[bins] = at_first[better], cost.scale(bins, ranges.first[better])
        close = _CLOSE / len(low) + _ROUNDING * scale
        done = ~ranges.open | (ranges.bound >= (found - close)[ranges.bins])
        np.minimum.at(floor, ranges.bins[done], ranges.bound[done])
        ranges = ranges.only(~done)
    np.minimum.at(floor, ranges.bins, ranges.bound)
    return floor


def cheap_counts(cost: Cost, low: Ints, high: Ints, most: Floats) -> tuple[Ints, Ints]:
    """A first and a last count of each bin; all counts of low..high outside cost more than `most`."""
    ranges = _Ranges.whole(cost, low, high)
    first, last = high.copy(), low.copy()

    def take(taken: _Ranges) -> None:
        np.minimum.at(first, taken.bins, taken.first)
        np.maximum.at(last, taken.bins, taken.last)

    while True:
        take(ranges.only(~ranges.open & (ranges.bound <= most[ranges.bins])))
        ranges = ranges.only(ranges.open)
        if not 0 < len(ranges.bins) <= _FEW_RANGES + len(low):
            break
        ranges = ranges.halved(cost)
        ranges = ranges.only(ranges.bound <= most[ranges.bins])
    take(ranges)
    return first, last
