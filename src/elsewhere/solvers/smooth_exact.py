"""Answers with proven bounds if a distance smooths the histograms, and so couples the bins.

1. The fractional optimum gives a tangent, and with it a bound (`smooth_relaxation`).
2. Rounding it and moving single visits gives counts (`smooth_moves`).
3. Around the tangent, a quadratic form is a better bound for integer counts (`smooth_minorant`). Better known counts
   make the region smaller where the form must hold, and so the form itself better.
4. All counts that the form does not rule out are tried (`smooth_search`). If that finishes, the best of them are
   optimal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.distances import Measure
from elsewhere.model.problem import Problem
from elsewhere.model.rows import constant_part, rows_over, tightened
from elsewhere.solvers.knapsack import Limits, SearchGaveUp, Solution
from elsewhere.solvers.smooth_minorant import Minorant, minorant
from elsewhere.solvers.smooth_moves import Moves, figures
from elsewhere.solvers.smooth_relaxation import Coupled, Tangent, relax
from elsewhere.solvers.smooth_search import enumeration

#: How many matrices with an entry for each pair of bins are in memory at a time.
_MATRICES = 8
#: The form is computed again once the gap has shrunk to this share.
_SHRUNK = 0.8
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


class SmoothSolution(NamedTuple):
    """A solution, with the other parts of its certificate: the point of the tangent, and the form's diagonal."""

    solution: Solution
    point: Floats
    diagonal: Floats


class _View(NamedTuple):
    """A problem over its free bins."""

    problem: Coupled
    free: Ints
    #: The counts of the others.
    counts: Ints
    #: The objective of the rows without free bins.
    constant: float

    def whole(self, x: Ints) -> Ints:
        counts = self.counts.copy()
        counts[self.free] = x
        return counts


def optimum(problem: Problem, known: Ints | None, limits: Limits, search: bool = True) -> SmoothSolution:
    """The counts of least privacy distance within the budget, or of least quality loss in hide.

    `known` are feasible counts, which are needed only with a budget. Without `search`, only steps 1 to 3 are done.
    """
    if problem.privacy is None:
        return _minimise(_view(problem, problem.quality, None, limits), known, limits, search, -math.inf)
    cost = problem.quality if problem.budget < math.inf else None
    return _minimise(_view(problem, problem.privacy, cost, limits), known, limits, search, -math.inf)


def least_loss(problem: Problem, limits: Limits) -> SmoothSolution:
    """Counts whose quality loss fits the limit, or the least loss that was found."""
    return _minimise(_view(problem, problem.quality, None, limits), None, limits, True, problem.budget)


def _view(problem: Problem, objective: Measure, cost: Measure | None, limits: Limits) -> _View:
    needed = 8 * _MATRICES * len(problem.lower) ** 2
    if needed > limits.memory:
        raise SearchGaveUp(
            f"memory_limit={limits.memory} bytes are too few: a SmoothedJS over {len(problem.lower)} locations needs "
            f"{needed}"
        )
    lower, upper = tightened(problem.lower, problem.upper, problem.size)
    free = np.flatnonzero(lower < upper)
    coupled = Coupled(
        rows_over(objective, lower, free),
        None if cost is None else rows_over(cost, lower, free),
        math.inf if cost is None else problem.budget - constant_part(cost, lower, free),
        problem.size - int(lower.sum() - lower[free].sum()),
        lower[free],
        upper[free],
    )
    return _View(coupled, free, lower, constant_part(objective, lower, free))


def _minimise(view: _View, known: Ints | None, limits: Limits, search: bool, enough: float) -> SmoothSolution:
    """The least objective; the search may end at one of at most `enough`."""
    problem = view.problem
    if not len(view.free):
        nothing = np.zeros(len(view.counts))
        solution = Solution(view.counts, view.constant, view.constant, view.constant, 0.0, 0.0)
        return SmoothSolution(solution, view.counts.astype(np.float64), nothing)
    tangent = relax(problem, limits)
    moves = Moves(problem, tangent, limits)
    x, found = moves.start(None if known is None else known[view.free])
    lower = minorant(problem, tangent, found)
    proven = False
    while search and lower is not None and not proven and found + view.constant > enough:
        if found - lower.bound <= limits.tolerance(found + view.constant) or limits.passed:
            break
        x, better, proven = _searched(problem, lower, moves, x, found, limits)
        if better == found and not proven:
            break
        found = better
        lower = minorant(problem, tangent, found)
    return _solution(view, tangent, lower, x, found, found - limits.gap if proven else -math.inf)


def _solution(
    view: _View, tangent: Tangent, lower: Minorant | None, x: Ints, found: float, proven: float
) -> SmoothSolution:
    certified, size_price, diagonal = min(tangent.bound, found), tangent.size_price, np.zeros(len(view.free))
    if lower is not None and lower.bound > tangent.bound:
        certified, size_price, diagonal = min(lower.bound, found), lower.size_price, lower.diagonal
    point, spread = view.counts.astype(np.float64), np.zeros(len(view.counts))
    point[view.free], spread[view.free] = tangent.point, diagonal
    # No distance is negative, and because of rounding the objective found may be below the bound.
    objective, dual = found + view.constant, max(certified + view.constant, 0.0)
    bound = min(max(proven + view.constant, dual), objective)
    # If hardly any counts are feasible, prices are high, and their rounding errors matter in a certificate.
    paid = tangent.price * (1.0 + abs(view.problem.budget)) if tangent.price > 0.0 else 0.0
    dual = max(dual - _ROUNDING * (paid + abs(size_price) * view.problem.size), 0.0)
    return SmoothSolution(Solution(view.whole(x), objective, bound, dual, tangent.price, size_price), point, spread)


def _searched(
    problem: Coupled, lower: Minorant, moves: Moves, x: Ints, found: float, limits: Limits
) -> tuple[Ints, float, bool]:
    """The best counts found, or x if none are better, and whether all that could be better have been tried.

    Returns early once it pays to compute a better form.
    """
    if lower.empty:
        return x, found, True
    if not lower.open.any():
        objective, cost = figures(problem, lower.low)
        fits = int(lower.low.sum()) == problem.size and cost <= problem.budget and objective < found
        return (lower.low, objective, True) if fits else (x, found, True)
    search = enumeration(lower, problem.size, limits)
    if search is None:
        return x, found, False
    enough = lower.tangent.bound + _SHRUNK * (found - lower.tangent.bound)
    while (counts := search.next(found - limits.tolerance(found), limits)) is not None:
        objective, cost = figures(problem, counts)
        if objective < found and cost <= problem.budget:
            x, found = moves.improved(counts)
            if found < enough:
                return x, found, False
    return x, found, search.finished
