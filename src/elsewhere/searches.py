"""Choose the solver: flat, over a tree, by totals of kinds, smoothed, or a heuristic."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from elsewhere import drawing
from elsewhere.model.arrays import Ints
from elsewhere.model.distances import slack
from elsewhere.model.errors import Infeasible
from elsewhere.model.keys import Key
from elsewhere.model.problem import Problem
from elsewhere.solvers import exact, kind_totals, large, smooth_exact, tree_exact, tree_tables
from elsewhere.solvers.choices import Choices, tabulate
from elsewhere.solvers.heuristic import heuristic, in_steps
from elsewhere.solvers.kind_totals import KindChoices
from elsewhere.solvers.knapsack import GOOD_ENOUGH, Effort, Limits, SearchGaveUp, Solution, nothing_found
from elsewhere.solvers.required_loss import flat_search, required_loss
from elsewhere.solvers.tree_tables import TreeChoices

#: The share of the time for the search. Most searches end long before, and near their bound, and need no heuristic.
_SEARCH_SHARE = 0.75
#: The work of the heuristic after a search that ended without a time limit, in labels: about a second's worth.
_LAST_TRY = 20_000_000.0

AnyChoices: TypeAlias = Choices | TreeChoices | KindChoices | large.LargeChoices


def tabulated(problem: Problem, limits: Limits, known: Ints, wider: AnyChoices | None = None) -> AnyChoices:
    """The tables of the search; `wider` are those for a larger budget, if they are known."""
    if kind_totals.depends_on_totals(problem):
        totals = kind_totals.tabulate(problem, problem.budget, limits, known)
        if totals.whole:
            return totals
    if problem.tree is not None:
        return tree_tables.tabulate(problem, problem.budget, limits, around=known)
    if large.is_large(problem):
        return large.LargeChoices()
    if isinstance(wider, Choices) and (narrowed := wider.narrowed(problem)) is not None:
        return narrowed
    return tabulate(problem, problem.budget, limits, around=known)


def least_loss(problem: Problem, limits: Limits) -> Solution | None:
    """The counts of least quality loss; None if the constraints are infeasible."""
    if problem.quality.smoother is not None:
        return smooth_exact.least_loss(problem, limits).solution
    return (exact.least_loss if problem.tree is None else tree_exact.least_loss)(problem, limits)


def least_loss_by_key(problem: Problem, limits: Limits, key: Key | None) -> Solution | None:
    """The least loss with ties broken in a secret order by the key; without a key, or over a tree, by name."""
    if key is None or problem.tree is not None:
        return least_loss(problem, limits)
    order = drawing.keyed_order(problem.names, key)
    shuffled = problem._replace(
        original=problem.original[order],
        lower=problem.lower[order],
        upper=problem.upper[order],
        forbidden=np.ascontiguousarray(problem.forbidden[:, order]),
        sensitive=problem.sensitive[order],
        quality=problem.quality._replace(reference=problem.quality.reference[order]),
        left_out=problem.left_out[order],
    )
    solution = least_loss(shuffled, limits)
    return None if solution is None else solution._replace(counts=solution.counts[np.argsort(order)])


def approximate(problem: Problem, choices: AnyChoices, known: Ints, limits: Limits) -> Solution:
    """The result of a heuristic, with a bound. Over a tree, it is the solution of the dual's multiplier."""
    if isinstance(choices, TreeChoices):
        return tree_exact.optimum(problem, choices, known, limits.ending_in(0.0))
    if isinstance(choices, KindChoices):
        return choices.split(problem, approximate(choices.problem, choices.totals, choices.of(known), limits))
    counts = _greedy(problem, choices, known, limits, Effort.of(math.inf))
    if isinstance(choices, large.LargeChoices):
        return large.bounded(problem, counts, limits)
    return exact.bounded(problem, choices, counts, limits)


def searched(problem: Problem, choices: AnyChoices, known: Ints, limits: Limits) -> Solution:
    """The optimum, or the best found when time is up; ties are broken by name."""
    if isinstance(choices, TreeChoices):
        return tree_exact.optimum(problem, choices, known, limits)
    if isinstance(choices, KindChoices):
        of_kinds = choices.problem.within(problem.limit)
        found = _searched_flat(of_kinds, choices.totals, choices.of(known), limits, own_terms=False)
        solution = choices.split(problem, found)
        return solution._replace(counts=tree_exact.ordered(problem, solution.counts))
    solution = _searched_flat(problem, choices, known, limits)
    return solution._replace(counts=exact.ordered(problem, solution.counts))


def _searched_flat(
    problem: Problem, choices: Choices | large.LargeChoices, known: Ints, limits: Limits, *, own_terms: bool = True
) -> Solution:
    """The optimum; if the search ends far from it, the better of its result and the heuristic's in the remaining time.

    `own_terms` says whether the tables have the quality terms of the problem.
    """
    left = limits.seconds
    for_search = limits.ending_in(_SEARCH_SHARE * left)
    if isinstance(choices, large.LargeChoices):
        solution = large.optimum(problem, known, for_search)
    else:
        solution = exact.optimum(problem, choices, known, for_search, own_terms=own_terms)
    near_enough = max(limits.tolerance(solution.objective), GOOD_ENOUGH * abs(solution.objective))
    if solution.objective in (solution.bound, -math.inf) or solution.objective - solution.bound <= near_enough:
        return solution
    with suppress(SearchGaveUp):
        rest = limits.ending_in((1.0 - _SEARCH_SHARE) * left)  # even if the search's last step took long
        effort = Effort.of(_LAST_TRY if limits.deadline == math.inf else math.inf)
        return exact.better(problem, solution, _greedy(problem, choices, known, rest, effort))
    return solution


def _greedy(
    problem: Problem, choices: Choices | large.LargeChoices, known: Ints, limits: Limits, effort: Effort
) -> Ints:
    """The counts of the heuristic for a flat problem."""
    if isinstance(choices, large.LargeChoices):
        return in_steps(problem, known, limits, effort)
    return heuristic(problem, choices, known, limits, effort)


def known_counts(problem: Problem, limits: Limits) -> Ints:
    """Feasible counts to start from: the original, or else those of least quality loss."""
    # For a built-in distance, the original has no loss if it has the right size.
    if problem.is_within(problem.original) and (
        problem.quality.distance.builtin or problem.quality_loss(problem.original) <= problem.limit
    ):
        return problem.original
    if limits.deadline < math.inf and problem.tree is None and not problem.smoothed:
        counts = exact.quick_counts(problem)
        if counts is not None and problem.quality_loss(counts) <= problem.limit:
            return counts
    limits = limits._replace(gap=0.0)
    solution = least_loss(problem, limits)
    above = solution is not None and problem.quality_loss(solution.counts) > problem.limit
    if solution is not None and not solution.closed and above and not problem.smoothed:
        limits = limits.without_deadline()
        solution = least_loss(problem, limits)
    if solution is None:
        raise nothing_left()
    needed = problem.quality_loss(solution.counts)
    if needed > problem.limit + slack(problem.limit):
        # A smoothed loss may be known to be too large before the least one is found.
        if not solution.closed and not solution.bound > problem.budget:
            raise nothing_found(limits)
        raise above_limit(problem, needed, solution.closed)
    return solution.counts


def above_limit(problem: Problem, needed: float, proven: bool) -> Infeasible:
    """The error for a limit on the quality loss that is too low."""
    least = "the least possible" if proven else "the least found"
    return Infeasible(
        f"no histogram within the constraints has a quality loss of at most {problem.limit:.10g}; "
        f"{least} is {needed:.10g}",
        needed,
    )


def nothing_left() -> Infeasible:
    """The error for infeasible constraints."""
    return Infeasible("no histogram satisfies the constraints: all are forbidden or at an infinite distance", math.inf)


def required_loss_of(problem: Problem, wanted: float, limits: Limits, least: float) -> Solution | None:
    """The counts of least quality loss that meet a privacy distance, if any do; `least` is a loss to start from."""
    if kind_totals.depends_on_totals(problem):
        found = kind_totals.least_loss_at(problem, wanted, limits, least)
    elif problem.goal == "resemble" and large.is_large(asked := problem.swapped(wanted)):
        found = _required_loss_of_large(asked, limits)
    else:
        search = flat_search(problem) if problem.tree is None else tree_exact.required_loss_search(problem)
        found = required_loss(problem, wanted, limits, least, search)
    if found is None:
        return None
    ordered = exact.ordered if problem.tree is None else tree_exact.ordered
    return found._replace(counts=ordered(problem, found.counts))


def _required_loss_of_large(asked: Problem, limits: Limits) -> Solution | None:
    """The same with the search for large sizes, as resemble with its distances swapped."""
    nearest = least_loss(asked, limits)
    if nearest is None or (nearest.closed and asked.quality_loss(nearest.counts) > asked.limit + slack(asked.limit)):
        return None
    if asked.quality_loss(nearest.counts) > asked.limit + slack(asked.limit):
        raise nothing_found(limits)
    return large.optimum(asked, nearest.counts, limits)
