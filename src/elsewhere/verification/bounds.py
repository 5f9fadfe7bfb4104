"""Bounds on the best possible objective, in plain NumPy and without any solver code.

`dual_bound` recomputes a certificate's bound in one pass over the bins. `better_exists` goes further and searches for a
better histogram among all those that the multipliers do not rule out. If there is none, the result is optimal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Measure
from elsewhere.model.problem import ROOM, Problem
from elsewhere.verification.ranges import Cost, Terms, cheap_counts, least_costs

#: With more counts than this, ranges of counts are checked instead of single ones.
_TABULATED = 1 << 16
#: Up to this many bits, the terms of a count can be distinguished from those of the next.
_DIGITS = 40
#: The search for a better histogram gives up after this many labels.
_MOST_LABELS = 10_000_000
#: The most forbidden histograms: each takes one bit.
_MOST_FORBIDDEN = 62


class Multipliers:
    """A problem with a certificate's multipliers: what each count of each bin adds to the dual bound.

    Counts that no histogram with an objective of at most `most` can have are left out.
    """

    def __init__(self, problem: Problem, quality: float, size: float, most: float = math.inf) -> None:
        self.problem = problem
        self.quality = quality
        self.size = size
        self.sign = -1.0 if problem.goal == "avoid" else 1.0
        measures = [problem.quality] if problem.privacy is None else [problem.quality, problem.privacy]
        self.own = not all(measure.distance.builtin for measure in measures)
        self.low, self.high = problem.lower, problem.upper
        self.room = self.objective_room = np.full(len(self.low), math.inf)
        if problem.privacy is not None:
            if most < math.inf:
                self.objective_room = self._keep_within(problem.privacy, most)
            self.room = self._keep_within(problem.quality, problem.budget)

    def _keep_within(self, measure: Measure, budget: float) -> Floats:
        """The most that a bin may add to a sum within the budget if all others are at their best.

        For convex terms, counts that add more are left out at once.
        """
        if not measure.distance.builtin:
            least = np.array([measure.row(i, self._counts(i)).min() for i in range(len(self.low))])
            rooms: Floats = budget - least.sum() + least + ROOM * (1.0 + abs(budget))
            return rooms

        def terms(x: Ints) -> Floats:
            return measure.terms(x.astype(np.float64))

        best = first_count(self.low, self.high, lambda x: terms(self._next(x)) >= terms(x))
        least = terms(best)
        room: Floats = budget - least.sum() + least + ROOM * (1.0 + abs(budget))
        last = first_count(best, self.high, lambda x: terms(self._next(x)) > room)
        self.low = first_count(self.low, best, lambda x: terms(x) <= room)
        self.high = np.minimum(last + _step(last) - 1, self.high)
        return room

    @property
    def number(self) -> float:
        """The number of counts."""
        return float((self.high - self.low).sum(dtype=np.float64)) + len(self.low)

    @property
    def _many(self) -> bool:
        """Whether there are too many counts to check one by one."""
        return self.number > _TABULATED and not self.own

    def narrow(self, most: Floats) -> None:
        """Leave out counts that cost more than `most`, if there are many counts."""
        if self._many:
            self.low, self.high = cheap_counts(self._convex(), *self._finite(), most)

    def _convex(self) -> Cost:
        """The cost of counts as a difference of convex functions."""
        quality, privacy = self.problem.quality, self.problem.privacy
        if privacy is None:
            kept = np.where(self.problem.left_out, 0.0, 1.0)
            return Cost(_weighted(quality, kept), _nothing, self.size)
        weight = np.full(len(self.low), self.quality)
        if self.problem.goal != "avoid":
            costs, gains = _weighted(quality, weight), _weighted(privacy, np.ones_like(weight))
            return Cost(lambda bins, x: costs(bins, x) + gains(bins, x), _nothing, self.size)
        # For equal terms, use their difference directly: separate bounds on the two would be weak.
        equal = (quality.reference == privacy.reference) & (quality.distance == privacy.distance)
        equal &= quality.reference_size == privacy.reference_size
        falling = np.where(equal, np.maximum(1.0 - weight, 0.0), 1.0)
        rising = np.where(equal, np.maximum(weight - 1.0, 0.0), weight)
        return Cost(_weighted(quality, rising), _weighted(privacy, falling), self.size)

    def _finite(self) -> tuple[Ints, Ints]:
        """The first and the last count of each bin with finite terms; convex terms are infinite only at the ends."""
        finite = [np.isfinite(self._cost(end)) for end in (self.low, self.high)]
        low = np.where(finite[0], self.low, self._next(self.low))
        return low, np.where(finite[1], self.high, low)

    def _next(self, x: Ints) -> Ints:
        following: Ints = np.minimum(x + _step(x), self.high)
        return following

    def _q(self, x: Ints) -> Floats:
        terms = self.problem.quality.terms(x.astype(np.float64))
        terms[self.problem.left_out] = 0.0
        return terms

    def _counts(self, bin_: int) -> Floats:
        return np.arange(self.low[bin_], self.high[bin_] + 1, dtype=np.float64)

    def _cost(self, x: Ints) -> Floats:
        """f + lambda q - mu x for one count per bin."""
        quality = self._q(x)
        if self.problem.privacy is None:
            return quality - self.size * x
        return self.sign * self.problem.privacy.terms(x.astype(np.float64)) + self.quality * quality - self.size * x

    def row(self, bin_: int) -> tuple[Ints, Floats, Floats]:
        """The counts that a bin may have, with their objective and quality terms."""
        x = np.arange(self.low[bin_], self.high[bin_] + 1)
        quality = self.problem.quality.row(bin_, x.astype(np.float64))
        if self.problem.left_out[bin_]:
            quality[:] = 0.0
        objective = quality
        if self.problem.privacy is not None:
            objective = self.sign * self.problem.privacy.row(bin_, x.astype(np.float64))
        fits = (quality <= self.room[bin_]) & np.isfinite(objective) & np.isfinite(quality)
        fits &= objective <= self.objective_room[bin_]
        return x[fits], objective[fits], quality[fits]

    def least(self, released: Ints) -> Floats:
        """The least cost of each bin.

        A sum of convex terms is minimised by bisection. If it is so flat that rounding misleads the bisection, the
        released count is a second candidate.
        """
        if self.problem.goal != "avoid" and not self.own:
            near = self._cost(np.clip(released, self.low, self.high))
            return np.minimum(
                near, self._cost(first_count(self.low, self.high, lambda x: self._cost(self._next(x)) >= self._cost(x)))
            )
        if self._many:
            return least_costs(self._convex(), *self._finite())
        least = np.empty(len(self.low))
        for bin_ in range(len(self.low)):
            x, objective, quality = self.row(bin_)
            least[bin_] = (objective + self.quality * quality - self.size * x).min(initial=math.inf)
        return least

    def dual_bound(self, least: Floats) -> float:
        """The bound on the sum of the minimised terms."""
        spent = self.quality * self.problem.budget if self.quality > 0.0 else 0.0
        return float(least.sum()) - spent + self.size * self.problem.size

    def rounding(self, least: Floats) -> float:
        """The size of the numbers that the dual bound is a sum of."""
        spent = self.quality * self.problem.budget if self.quality > 0.0 else 0.0
        return float(np.abs(least).sum()) + abs(spent) + abs(self.size) * self.problem.size


def _step(x: Ints) -> Ints:
    """The step from a count to the next one that floating point can distinguish."""
    step: Ints = np.maximum(x >> _DIGITS, 1)
    return step


def _nothing(bins: Ints, x: Ints) -> Floats:
    return np.zeros(len(x))


def _weighted(measure: Measure, weight: Floats) -> Terms:
    """The terms of single counts of a built-in distance, times the weights of their bins."""

    def terms(bins: Ints, x: Ints) -> Floats:
        found = measure.distance.terms(
            measure.reference[bins], x.astype(np.float64), measure.reference_size, measure.size
        )
        return np.where(weight[bins] > 0.0, weight[bins] * found, 0.0)

    return terms


class View(Protocol):
    """The interface that `better_exists` needs."""

    problem: Problem
    quality: float
    size: float

    @property
    def number(self) -> float: ...  # the number of counts

    def narrow(self, most: Floats) -> None: ...  # leave out counts that cost more

    def row(self, bin_: int, /) -> tuple[Ints, Floats, Floats]: ...  # counts, objective and quality terms

    def dual_bound(self, least: Floats) -> float: ...


def better_exists(view: View, least: Floats, objective: float, tolerance: float) -> bool | None:
    """Whether some histogram within the constraints has an objective below `objective` by more than `tolerance`.

    All choices of one count per bin are built up bin by bin. Choices that the multipliers rule out are dropped. Of two
    choices with the same size so far, on the way to the same forbidden histograms, the one that is worse in objective
    and quality is dropped. None if there are too many choices.
    """
    problem = view.problem
    allowance = objective - tolerance - view.dual_bound(least)
    if allowance <= 0.0:
        return False
    if len(problem.forbidden) > _MOST_FORBIDDEN:
        return None
    view.narrow(least + allowance)
    if view.number > _MOST_LABELS:
        return None
    bit = np.left_shift(1, np.arange(len(problem.forbidden)))
    rows = []
    for bin_ in range(len(least)):
        x, f, q = view.row(bin_)
        reduced = f + view.quality * q - view.size * x - least[bin_]
        stays = reduced <= allowance
        forbidden = ((problem.forbidden[:, bin_] == x[:, None]) * bit).sum(axis=1)
        rows.append((x[stays], f[stays], q[stays], reduced[stays], forbidden[stays]))
    rows.sort(key=lambda row: len(row[0]))
    after_least = np.append(np.cumsum([row[0].min() for row in rows][::-1])[::-1], 0)
    after_most = np.append(np.cumsum([row[0].max() for row in rows][::-1])[::-1], 0)
    after_quality = np.append(np.cumsum([row[2].min() for row in rows][::-1])[::-1], 0.0)
    budget = problem.budget if problem.privacy is not None else math.inf
    size, f_sum, q_sum, reduced_sum = np.zeros(1, np.int64), np.zeros(1), np.zeros(1), np.zeros(1)
    towards = np.full(1, bit.sum())
    labels = 0
    for at, (x, f, q, reduced, forbidden) in enumerate(rows):
        labels += len(size) * len(x)
        if labels > _MOST_LABELS:
            return None
        size = np.add.outer(size, x).ravel()
        f_sum, q_sum = np.add.outer(f_sum, f).ravel(), np.add.outer(q_sum, q).ravel()
        reduced_sum = np.add.outer(reduced_sum, reduced).ravel()
        towards = np.bitwise_and.outer(towards, forbidden).ravel()
        left = problem.size - size
        stays = (reduced_sum <= allowance) & (q_sum + after_quality[at + 1] <= budget)
        stays &= (left >= after_least[at + 1]) & (left <= after_most[at + 1])
        kept = np.flatnonzero(stays)
        if len(x) > 1:
            kept = kept[undominated(size[kept], towards[kept], q_sum[kept], f_sum[kept])]
        size, towards = size[kept], towards[kept]
        f_sum, q_sum, reduced_sum = f_sum[kept], q_sum[kept], reduced_sum[kept]
    return bool((f_sum[towards == 0] < objective - tolerance).any())


def undominated(size: Ints, towards: Ints, quality: Floats, objective: Floats) -> Ints:
    """The choices that no other choice of the same size and towards the same histograms dominates."""
    if len(size) == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort((objective, quality, towards, size))
    size, towards, objective = size[order], towards[order], objective[order]
    group = np.cumsum(np.append(0, (np.diff(size) > 0) | (np.diff(towards) != 0)))
    # A running minimum that restarts in each group, because every group lies below all groups before it.
    lowered = objective - group * (np.ptp(objective) + 1.0)
    before = np.append(math.inf, np.minimum.accumulate(lowered)[:-1])
    kept: Ints = order[(lowered < before) | np.append(True, np.diff(group) > 0)]
    return kept


def first_count(low: Ints, high: Ints, holds: Callable[[Ints], Flags]) -> Ints:
    """For every bin, the least count in low..high from which on a condition holds, or `high`; by bisection."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = low + (high - low) // 2
        found = holds(middle) | (low >= high)
        high = np.where(found & (low < high), middle, high)
        low = np.where(found, low, middle + 1)
    return high
