"""The values of every bin that fit a budget, with their quality and privacy terms: the input of a search.

If memory or time does not suffice for all values, the tables have only those nearest to some known counts.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from elsewhere.kernels.jit import kernel
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Measure
from elsewhere.model.problem import ROOM, Problem
from elsewhere.solvers import terms
from elsewhere.solvers.knapsack import Limits, OutOfTime, SearchGaveUp, Tables

KINDS = {
    "js": terms.JS,
    "jeffreys": terms.JEFFREYS,
    "variational": terms.VARIATIONAL,
    "l2": terms.SQUARED_L2,
    "squared-l2": terms.SQUARED_L2,
    "pearson": terms.PEARSON,
    "neyman": terms.NEYMAN,
}
BYTES_PER_ENTRY = 33
#: Terms to compute between two checks of the clock: built-in ones, and those of a user's function.
_TERMS_PER_CALL = 1 << 20
_CALLS_PER_LOOK = 64
# With a time limit, tables grow step by step and may take this share of the time, but at least this long. What follows
# takes several times as long as the tables.
_FIRST_TERMS = 1 << 16
_FIRST_CALLS = 1 << 10
_GROWTH = 4
_TIME_SHARE = 0.25
_LEAST_SECONDS = 0.02

#: The resource that kept values out of the tables, if any.
Shortage: TypeAlias = Literal["", "memory", "time"]


class Choices(NamedTuple):
    """Tables of the values that each bin may have: all that fit a budget when every other bin is at its best.

    Bin i has the values low[i], low[i] + 1, ... with terms at start[i]..start[i + 1].
    """

    start: Ints
    low: Ints
    quality: Floats
    privacy: Floats
    #: The budget that the values fit; infinite if all values are there.
    budget: float
    #: The resource that did not suffice for all these values; then the tables have those nearest to some known counts.
    short_of: Shortage

    @property
    def whole(self) -> bool:
        """Whether the tables have all values that fit the budget."""
        return not self.short_of

    def tables(self, objective: Floats, cost: Floats, allowed: Flags) -> Tables:
        """Tables for the search; a value that is not allowed gets an infinite objective."""
        return Tables(self.start, self.low, np.where(allowed, objective, math.inf), np.where(allowed, cost, 0.0))

    def at(self, counts: Ints) -> Ints:
        """The indices of the counts in the tables."""
        return self.start[:-1] + counts - self.low

    def within(self, budget: float) -> Flags:
        """The values that fit the budget when all other bins are at their best."""
        if budget == self.budget:
            return self.quality < math.inf
        least = np.minimum.reduceat(self.quality, self.start[:-1])
        room = budget - least.sum() + least + ROOM * (1.0 + abs(budget))
        return self.quality <= np.repeat(room, np.diff(self.start))

    def narrowed(self, problem: Problem) -> Choices | None:
        """The tables that `tabulate` would make for the budget of the problem, if these tables contain them."""
        low, number = values_within(problem, problem.budget)
        after = self.low + np.diff(self.start)
        if not self.whole or (low < self.low).any() or (low + number > after).any():
            return None
        start = np.append(0, np.cumsum(number))
        at = np.arange(start[-1]) + np.repeat(self.at(low) - start[:-1], number)
        budget = problem.budget if problem.quality.distance.builtin else math.inf
        return Choices(start, low, self.quality[at], self.privacy[at], budget, "")


def tabulate(problem: Problem, budget: float, limits: Limits, around: Ints | None = None) -> Choices:
    """The terms of every value that fits the budget when all other bins are at their best.

    If memory or time does not suffice, only the values nearest to the counts `around` are tabulated. Without such
    counts, `SearchGaveUp` is raised.
    """
    low, number = values_within(problem, budget)
    entries = float(number.sum(dtype=np.float64))
    most = limits.memory // BYTES_PER_ENTRY
    if entries > most and (around is None or most < len(low)):
        raise SearchGaveUp(
            f"the search would have to tabulate {entries:.3g} counts, more than memory_limit={limits.memory} bytes hold"
        )
    short_of: Shortage = "memory" if entries > most else ""
    if around is not None and entries > most:
        low, number = _nearest(low, number, around, most)
    if around is None or limits.deadline == math.inf:
        return _tabulated(problem, budget, low, number, short_of, limits)
    limits = limits.ending_in(max(_TIME_SHARE * limits.seconds, _LEAST_SECONDS))
    entries, at_most = float(number.sum()), _first_step(problem)
    choices = None
    while choices is None or not limits.passed:
        every = at_most >= entries
        values = (low, number) if every else _nearest(low, number, around, max(at_most, len(low)))
        try:
            choices = _tabulated(problem, budget, *values, short_of if every else "time", limits)
        except OutOfTime:
            break
        if every:
            break
        at_most *= _GROWTH
    if choices is None:
        nearest = _nearest(low, number, around, len(low))
        choices = _tabulated(problem, budget, *nearest, "time", limits.without_deadline())
    return choices


def _first_step(problem: Problem) -> int:
    builtin = problem.quality.distance.builtin and (problem.privacy is None or problem.privacy.distance.builtin)
    return _FIRST_TERMS if builtin else _FIRST_CALLS


@kernel
def sizes(start: Ints, low: Ints, allowed: Flags) -> tuple[float, float]:
    """The smallest and the largest sum of one allowed value per bin; inf and -inf if a bin has none."""
    smallest = largest = 0.0
    for i in range(len(low)):
        first, last = start[i], start[i + 1] - 1
        while first <= last and not allowed[first]:
            first += 1
        while first <= last and not allowed[last]:
            last -= 1
        if first > last:
            return math.inf, -math.inf
        smallest += low[i] + first - start[i]
        largest += low[i] + last - start[i]
    return smallest, largest


def values_within(problem: Problem, budget: float) -> tuple[Ints, Ints]:
    """The values of each bin that fit the budget when all other bins are at their best: the least, and how many.

    Nothing is known about a user's function before it is called, so all values within the bounds may fit.
    """
    measure = problem.quality
    if measure.distance.builtin and budget < math.inf:
        return terms.ranges(
            KINDS[measure.distance.name], np.ones(len(problem.lower)), measure.reference, problem.lower, problem.upper,
            measure.reference_size, measure.size, budget,
        )  # fmt: skip
    return problem.lower, problem.upper - problem.lower + 1


def _nearest(low: Ints, number: Ints, around: Ints, most: int) -> tuple[Ints, Ints]:
    """At most `most` values in all, the same number for each bin: those nearest to the counts `around`."""
    each = most // len(low)
    high = np.minimum(low + number - 1, around + each // 2)
    low = np.maximum(low, high - each + 1)
    return low, high - low + 1


def _tabulated(problem: Problem, budget: float, low: Ints, number: Ints, short_of: Shortage, limits: Limits) -> Choices:
    start = np.zeros(len(low) + 1, np.int64)
    np.cumsum(number, out=start[1:])
    quality = table(problem.quality, low, start, limits)
    if problem.left_out.any():
        quality[np.repeat(problem.left_out, number)] = 0.0
    privacy = quality if problem.privacy is None else table(problem.privacy, low, start, limits)
    return Choices(start, low, quality, privacy, budget if problem.quality.distance.builtin else math.inf, short_of)


def table(measure: Measure, low: Ints, start: Ints, limits: Limits) -> Floats:
    """The term of every value of every bin. `OutOfTime` is raised if time is up before all are computed."""
    table = np.empty(start[-1])
    if measure.distance.builtin:
        kind = KINDS[measure.distance.name]
        for first in range(0, len(table), _TERMS_PER_CALL):
            _look_at_clock(limits, first)
            last = min(len(table), first + _TERMS_PER_CALL)
            terms.fill(
                kind, measure.reference, low, start, measure.reference_size, measure.size, terms.logarithms(), first,
                last, table,
            )  # fmt: skip
        return table
    for i, (begin, end) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        for first in range(begin, end, _CALLS_PER_LOOK):
            _look_at_clock(limits, first)
            last = min(end, first + _CALLS_PER_LOOK)
            table[first:last] = measure.row(i, low[i] + np.arange(first - begin, last - begin, dtype=np.float64))
    return table


def _look_at_clock(limits: Limits, done: int) -> None:
    if done and limits.passed:
        raise OutOfTime("the time limit ended the search before all counts were tabulated")
