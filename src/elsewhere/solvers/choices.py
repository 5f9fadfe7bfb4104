"""What a search chooses from: the values of every bin that fit a budget, with their quality and privacy terms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Measure
from elsewhere.model.problem import ROOM, Problem
from elsewhere.solvers import terms
from elsewhere.solvers.knapsack import Limits, SearchGaveUp, Tables

KINDS = {
    "js": terms.JS,
    "jeffreys": terms.JEFFREYS,
    "variational": terms.VARIATIONAL,
    "l2": terms.SQUARED_L2,
    "squared-l2": terms.SQUARED_L2,
    "pearson": terms.PEARSON,
    "neyman": terms.NEYMAN,
}
_BYTES_PER_ENTRY = 33


class Choices(NamedTuple):
    """The values that each bin may have, tabulated: what is left of a problem by a budget, or by any smaller one."""

    start: Ints
    low: Ints
    quality: Floats
    privacy: Floats
    #: The budget that every value fits when all other bins are at their best.
    budget: float
    #: Whether all such values are there, or only some for want of memory.
    whole: bool

    def tables(self, objective: Floats, cost: Floats, allowed: Flags) -> Tables:
        """Tables for the search; a value that is not allowed gets an infinite objective."""
        return Tables(self.start, self.low, np.where(allowed, objective, math.inf), np.where(allowed, cost, 0.0))

    def at(self, counts: Ints) -> Ints:
        """The places of the counts in the tables."""
        return self.start[:-1] + counts - self.low

    def within(self, budget: float) -> Flags:
        """The values that fit the budget when all other bins are at their best."""
        if budget == self.budget:
            return self.quality < math.inf
        least = np.minimum.reduceat(self.quality, self.start[:-1])
        room = budget - least.sum() + least + ROOM * (1.0 + abs(budget))
        return self.quality <= np.repeat(room, np.diff(self.start))


def tabulate(problem: Problem, budget: float, limits: Limits, around: Ints | None = None) -> Choices:
    """The terms of every value that fits the budget when all other bins are at their best.

    If they are more than the memory holds, the values nearest to the counts `around` must do.
    """
    low, number = problem.lower, problem.upper - problem.lower + 1
    measure = problem.quality
    if measure.distance.builtin and budget < math.inf:
        low, number = terms.ranges(
            KINDS[measure.distance.name], measure.reference, low, problem.upper, measure.reference_size, measure.size,
            budget,
        )  # fmt: skip
    entries = float(number.sum(dtype=np.float64))
    most = limits.memory // _BYTES_PER_ENTRY
    if entries > most and (around is None or most < len(low)):
        raise SearchGaveUp(
            f"the search would have to tabulate {entries:.3g} counts, more than memory_limit={limits.memory} bytes hold"
        )
    if entries > most and around is not None:
        each = most // len(low)
        high = np.minimum(low + number - 1, around + each // 2)
        low = np.maximum(low, high - each + 1)
        number = high - low + 1
    start = np.zeros(len(low) + 1, np.int64)
    np.cumsum(number, out=start[1:])
    quality = _table(measure, low, start)
    if problem.left_out.any():
        quality[np.repeat(problem.left_out, number)] = 0.0
    privacy = quality if problem.privacy is None else _table(problem.privacy, low, start)
    return Choices(start, low, quality, privacy, budget if measure.distance.builtin else math.inf, entries <= most)


def _table(measure: Measure, low: Ints, start: Ints) -> Floats:
    if measure.distance.builtin:
        kind = KINDS[measure.distance.name]
        return terms.fill(kind, measure.reference, low, start, measure.reference_size, measure.size)
    counts = [low[i] + np.arange(start[i + 1] - start[i], dtype=np.float64) for i in range(len(low))]
    return np.concatenate([measure.row(i, row) for i, row in enumerate(counts)])
