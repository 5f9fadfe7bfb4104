"""The dual bound over all values that fit the budget, whether they are tabulated or not.

A search over some values proves nothing about the others. Its multipliers do: in any solution, a bin adds at least the
minimum of f + lam q - mu x over all its values.
"""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.problem import Problem
from elsewhere.solvers import terms
from elsewhere.solvers.choices import KINDS, values_within
from elsewhere.solvers.knapsack import Limits, Solution

#: Terms to compute between two checks of the clock, and in all before the bound is given up.
_WORK_PER_CALL = 2_000_000
_MOST_WORK = 400_000_000
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


def bound_for_all_values(problem: Problem, solution: Solution, limits: Limits) -> Solution:
    """A solution of a search that saw only some values, with the bound that its multipliers prove for all of them.

    If that bound cannot be computed, the solution gets the trivial bound and no dual bound.
    """
    dual = _dual_bound(problem, solution, limits)
    bound = min(solution.objective, max(dual, _trivial_bound(problem)))
    return solution._replace(bound=bound, dual_bound=dual)


def _trivial_bound(problem: Problem) -> float:
    """Built-in distances are not negative, and convex terms are greatest at an end. Of others, nothing is known."""
    assert problem.privacy is not None
    if not problem.privacy.distance.builtin:
        return -math.inf
    if problem.goal == "resemble":
        return 0.0
    ends = [problem.privacy.terms(end.astype(np.float64)) for end in (problem.lower, problem.upper)]
    return -float(np.maximum(*ends).sum())


def _dual_bound(problem: Problem, solution: Solution, limits: Limits) -> float:
    """The bound that the multipliers prove; -inf if that takes too long or a term may be neither convex nor finite."""
    quality, privacy = problem.quality, problem.privacy
    assert privacy is not None
    if not (quality.distance.builtin and privacy.distance.builtin) or abs(solution.objective) == math.inf:
        return -math.inf
    # In avoid, no bound holds if a distance may be infinite.
    if problem.goal == "avoid" and privacy.distance.unbounded:
        return -math.inf
    lam, mu = solution.cost_multiplier, solution.size_multiplier
    low, number = values_within(problem, problem.budget)
    lagrangian = terms.Lagrangian(
        KINDS[privacy.distance.name], privacy.reference, privacy.reference_size,
        KINDS[quality.distance.name], quality.reference, quality.reference_size,
        quality.size, -1.0 if problem.goal == "avoid" else 1.0, lam, mu,
    )  # fmt: skip
    least, at = np.empty(len(low)), np.empty(len(low), np.int64)
    done, work = 0, _WORK_PER_CALL
    spent = 0
    while done < len(low):
        if spent >= _MOST_WORK or (spent and limits.passed):
            return -math.inf
        reached = terms.least_reduced(lagrangian, low, low + number - 1, done, work, least, at)
        spent += work
        work = _WORK_PER_CALL if reached > done else 2 * work  # each call starts its bin from the beginning
        done = reached
    budgeted = lam * problem.budget if lam > 0.0 else 0.0
    total = float(least.sum()) - budgeted + mu * problem.size
    return total - _ROUNDING * (float(np.abs(least).sum()) + abs(budgeted) + abs(mu) * problem.size)
