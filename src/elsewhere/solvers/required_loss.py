"""The least quality loss that meets a wanted privacy distance.

This is the search of resemble and avoid with quality and privacy swapped, over values that fit a guessed loss. If none
of these meets the distance, the next guess is higher.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from elsewhere.model.arrays import Ints
from elsewhere.model.problem import Problem
from elsewhere.solvers import choices, exact
from elsewhere.solvers.knapsack import Limits, OutOfTime, Solution

_FIRST_GUESS = 1e-6
_GROWTH = 4.0
#: With at most this many values, a bound on the loss is computed over all of them. The loss is seldom far above it.
FEW = 1 << 18
_ABOVE_BOUND = 1.5


class Search(NamedTuple):
    """The functions that search one kind of problem: those of `exact`, or those of the same names for trees."""

    #: Returns the values that fit a loss.
    tabulate: Callable[[Problem, float, Limits], Any]
    cheapest: Callable[..., Any]
    least_quality: Callable[..., Solution | None]
    #: The number of values for any loss.
    entries: int
    #: Returns a bound on the least loss without a search; None if it takes too long.
    bounded: Callable[..., float] | None = None


def flat_search(problem: Problem) -> Search:
    """The search for flat distances."""
    entries = entries_of(problem)
    bounded = exact.loss_bound if entries <= FEW else None
    return Search(choices.tabulate, exact.cheapest, exact.least_quality, entries, bounded)


def entries_of(problem: Problem) -> int:
    """The number of values of all bins."""
    return int((problem.upper - problem.lower + 1).sum(dtype=np.float64))


def required_loss(problem: Problem, wanted: float, limits: Limits, least: float, search: Search) -> Solution | None:
    """The counts of least quality loss whose privacy distance is at most (resemble) or at least (avoid) `wanted`.

    None if there are none. `least` is the least sum of quality terms that satisfies the constraints. `SearchGaveUp` is
    raised if a limit is reached before any counts are found.
    """
    asked = problem.swapped(wanted)
    cap = max(2.0 * least, _FIRST_GUESS)
    best: Solution | None = None
    guessing = search.bounded is not None and cap < math.inf
    while True:
        try:
            fitting = math.inf if guessing else cap
            values = search.tabulate(problem, fitting, limits)
            cost = asked.quality.counted(values.privacy)
            allowed = values.within(fitting) & (cost < math.inf)
            start = search.cheapest(problem, values, cost, asked.budget, allowed, limits)
        except OutOfTime:
            if best is None:
                raise
            return best
        if guessing and search.bounded is not None:
            if start is None:
                return None
            guessing, best = False, unproven(problem, start)
            bound = search.bounded(problem, values, cost, asked.budget, allowed, limits, known=start)
            cap = max(cap, _ABOVE_BOUND * bound)
            continue
        if start is not None:
            found = search.least_quality(problem, values, cost, asked.budget, allowed, limits, known=start, most=cap)
            if found is not None and found.objective <= cap:
                return found
            if found is not None or best is None:
                best = unproven(problem, start if found is None else found.counts)
            if limits.passed:
                return best
        if cap == math.inf:
            return None
        cap = math.inf if len(values.quality) >= search.entries else _GROWTH * cap


def unproven(problem: Problem, counts: Ints) -> Solution:
    """Counts that may have more loss than needed: the only bound is that a built-in distance is not negative."""
    bound = 0.0 if problem.quality.distance.builtin else -math.inf
    return Solution(counts, math.inf, bound, -math.inf, 0.0, 0.0, proven=False)
