r"""Check whether fewer added visits would have met a privacy distance, in plain NumPy and without any solver code.

Ranges of sizes are checked, and halved until each is ruled out or a single size is left. At sizes A..B the share of a
bin with count x is in x/B..x/A. For any price :math:`\nu` of the shares, which sum to 1, no distance is below
:math:`\nu` plus the sum of the minima of :math:`f_i(s) - \nu s` (for avoid, above the sum with the maxima). The bound
is concave (convex) in the price, so golden section finds its best price. At a single size the bound of resemble is the
least distance itself. The same holds for avoid, unless there are upper bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.model.problem import Problem

#: The check gives up after this many ranges of sizes.
_MOST_RANGES = 4_000
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: Prices are the hyperbolic sines of -45..45: from tiny ones to those of 64 bits.
_WIDEST, _STEPS = 45.0, 110


class Ranges:
    """The bins of a problem, or its kinds, as shares of histograms of several sizes."""

    def __init__(self, problem: Problem, wanted: float, tolerance: float) -> None:
        privacy = problem.privacy
        assert privacy is not None
        self.low, self.high = problem.lower, problem.upper
        self.target = privacy.reference / privacy.reference_size
        if privacy.tree is not None:
            tops = privacy.tree.parent < 0
            self.low, self.high = privacy.tree.sums(self.low)[tops], privacy.tree.sums(self.high)[tops]
            self.target = privacy.tree.sums(self.target)[tops]
        self.distance = privacy.distance
        self.sign = -1.0 if problem.goal == "avoid" else 1.0
        self.wanted = self.sign * wanted
        self.tolerance = tolerance

    def _terms(self, shares: Floats) -> Floats:
        return self.distance.terms(self.target, shares, 1.0, 1.0)

    def bound(self, first: int, last: int, price: float) -> float:
        """A lower bound for all histograms of these sizes, signed so that less is better."""
        if self.sign < 0.0:
            return self._bound_far(first, last, price)
        assert self.distance.ratio is not None
        high = np.minimum(self.high, last)
        start, end = self.low / last, high / first
        ratio = self.distance.ratio(price)
        with np.errstate(invalid="ignore"):
            lowest = np.where(self.target > 0.0, ratio * self.target, 0.0) if ratio < math.inf else end
        lowest = np.clip(lowest, start, end)
        # The next shares on both sides that some count has at some size; rounding may only widen them.
        over = np.clip(np.ceil(lowest * first * (1.0 - 1e-12)), self.low, high)
        under = np.clip(np.floor(lowest * last * (1.0 + 1e-12)), self.low, high)
        # If a count can have exactly this share, the minimum itself is possible.
        left = np.where(under >= over, lowest, np.minimum(under / first, lowest))
        right = np.where(under >= over, lowest, np.maximum(over / last, lowest))
        least = np.minimum(self._terms(left) - price * left, self._terms(right) - price * right)
        return float(least.sum()) + price

    def _bound_far(self, first: int, last: int, price: float) -> float:
        """The bound for avoid: a convex term minus a line is greatest at an end."""
        start = self.low / last
        room = max(1.0 - float(start.sum()), 0.0)
        end = np.maximum(np.minimum(np.minimum(self.high, last) / first, start + room), start)
        with np.errstate(invalid="ignore"):
            most = np.maximum(self._terms(start) - price * start, self._terms(end) - price * end)
        return -(float(most.sum()) + price)

    def best_bound(self, first: int, last: int) -> float:
        """The bound at its best price, or one that is good enough to rule the sizes out."""
        enough = self.wanted + self.tolerance
        return _greatest(lambda at: self.bound(first, last, math.sinh(at)), enough)


def fewer_suffice(problem: Problem, wanted: float, sizes: range, tolerance: float) -> int | None:
    """The smallest of these sizes that meets the distance, or 0 if none does; None if that is not clear."""
    ranges = Ranges(problem, wanted, tolerance)
    open_ = [(sizes.start, sizes.stop - 1)] if sizes else []
    partly = np.maximum(ranges.high - ranges.low, 0)
    partial = bool(((partly > 0) & (partly < problem.size - int(ranges.low.sum()))).any())
    clear = True
    for _ in range(_MOST_RANGES):
        if not open_:
            return 0 if clear else None
        first, last = open_.pop()
        bound = ranges.best_bound(first, last)
        if bound > ranges.wanted + tolerance:
            continue
        if first < last:
            middle = (first + last) // 2
            open_ += [(middle + 1, last), (first, middle)]
        elif bound < ranges.wanted - tolerance and not (partial and ranges.sign < 0.0):
            return first
        else:
            clear = False
    return None


def _greatest(function: Callable[[float], float], enough: float) -> float:
    """The maximum of a unimodal function, or any value above `enough`."""
    left, right = -_WIDEST, _WIDEST
    inner = [right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)]
    values = [function(at) for at in inner]
    best = max(values)
    for _ in range(_STEPS):
        if best > enough:
            break
        if values[0] < values[1]:
            left, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = left + _GOLDEN * (right - left)
            values[1] = function(inner[1])
        else:
            right, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = right - _GOLDEN * (right - left)
            values[0] = function(inner[0])
        best = max(best, *values)
    return best
