"""Exact answers if a distance sums over the nodes of a tree: the problems of `exact`, solved by `tree_search`."""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.errors import InputError
from elsewhere.model.problem import Problem
from elsewhere.solvers import exact, tree_hide, tree_search, tree_tables
from elsewhere.solvers.knapsack import Limits, SearchGaveUp, Solution, nothing_found
from elsewhere.solvers.required_loss import Search
from elsewhere.solvers.tree_tables import TreeChoices, tabulate

#: The most forbidden histograms: each takes one bit.
_MOST_FORBIDDEN = 62


def least_loss(problem: Problem, limits: Limits) -> Solution | None:
    """The counts of least quality loss, ignoring the limit on it; None if the constraints are infeasible."""
    counts, loss = None, -math.inf
    if problem.quality.distance.builtin:
        counts = tree_hide.spread(problem)
        loss = problem.quality.to_total(problem.quality_loss(counts))
        if problem.allows(counts):
            return Solution(counts, loss, loss, loss, 0.0, 0.0)
    elif problem.is_location.all():  # the quality distance is flat; only the privacy distance uses the tree
        return exact.least_loss(problem.without_tree(), limits)
    else:
        counts = exact.quick_counts(problem)
    limits = limits.without_deadline()  # without any counts there would be no answer at all
    choices = tabulate(problem, math.inf, limits, around=counts)
    allowed = choices.quality < math.inf
    if problem.goal == "resemble":
        allowed &= choices.privacy < math.inf
    found = least(problem, choices, choices.quality, allowed, limits)
    if found is None or choices.whole:
        return found
    return found._replace(bound=loss, dual_bound=loss)


def optimum(problem: Problem, choices: TreeChoices, known: Ints, limits: Limits) -> Solution:
    """The counts nearest to the target or farthest from it within the quality limit.

    `known` are feasible counts. An infinite objective means avoid at infinite distance.
    """
    assert problem.privacy is not None
    unsure = False
    if problem.goal == "avoid" and np.isinf(choices.privacy).any():
        try:
            farthest = _at_infinity(problem, choices, known, limits)
        except SearchGaveUp:
            farthest, unsure = None, True
        if farthest is not None:
            return farthest
        if problem.privacy_distance(known) == math.inf:
            return Solution(known, -math.inf, -math.inf, -math.inf, 0.0, 0.0, proven=False)
    objective = -choices.privacy if problem.goal == "avoid" else choices.privacy
    allowed = choices.within(problem.budget) & (choices.privacy < math.inf)
    solution = _solved(problem, choices, objective, choices.quality, problem.budget, allowed, limits, known)
    if solution is None:
        raise AssertionError("the known counts are a solution")
    if not choices.whole:
        trivial = -math.inf
        if problem.privacy.distance.builtin:
            trivial = 0.0
            if problem.goal == "avoid":
                ends = [problem.privacy.terms(end.astype(np.float64)) for end in (problem.lower, problem.upper)]
                trivial = -float(np.maximum(*ends).sum())
        solution = solution._replace(bound=min(trivial, solution.objective), dual_bound=-math.inf)
    if unsure:
        solution = solution._replace(bound=-math.inf, dual_bound=-math.inf)
    return solution._replace(counts=ordered(problem, solution.counts))


def least(
    problem: Problem, choices: TreeChoices, objective: Floats, allowed: Flags, limits: Limits, known: Ints | None = None
) -> Solution | None:
    """The counts of least objective among the values allowed, with no budget; None if there are none."""
    return _solved(problem, choices, objective, np.zeros_like(objective), math.inf, allowed, limits, known)


def cheapest(
    problem: Problem, choices: TreeChoices, cost: Floats, budget: float, allowed: Flags, limits: Limits
) -> Ints | None:
    """The counts of least cost if that fits the budget, else None."""
    found = least(problem, choices, cost, allowed, limits._replace(gap=0.0))
    if found is None or (found.closed and found.objective > budget):
        return None
    if found.objective > budget:
        raise nothing_found(limits)
    return found.counts


def least_quality(
    problem: Problem, choices: TreeChoices, cost: Floats, budget: float, allowed: Flags, limits: Limits, *,
    known: Ints, most: float,
) -> Solution | None:  # fmt: skip
    """The counts of least quality loss whose cost fits the budget, as that of `known` does; None if it is above `most`.

    If time ends the search, the loss may be above `most`.
    """
    found = _solved(problem, choices, choices.quality, cost, budget, allowed, limits, known)
    return found if found is not None and (found.objective <= most or not found.closed) else None


def required_loss_search(problem: Problem) -> Search:
    """The functions that search for the least quality loss at a wanted privacy distance over a tree."""
    return Search(tabulate, cheapest, least_quality, tree_tables.entries(problem))


def _solved(
    problem: Problem,
    choices: TreeChoices,
    objective: Floats,
    cost: Floats,
    budget: float,
    allowed: Flags,
    limits: Limits,
    known: Ints | None,
) -> Solution | None:
    if len(problem.forbidden) > _MOST_FORBIDDEN:
        raise InputError(
            f"forbidden has {len(problem.forbidden)} histograms; over a taxonomy at most {_MOST_FORBIDDEN} are "
            "supported",
            ("forbidden",),
        )
    mergers = choices.mergers(objective, cost, allowed)
    if mergers is None:
        return None
    bits = choices.bits(mergers, problem.forbidden)
    return tree_search.solve(mergers, budget, known=known, bits=bits, limits=limits)


def _at_infinity(problem: Problem, choices: TreeChoices, known: Ints, limits: Limits) -> Solution | None:
    """The counts of least quality loss at an infinite privacy distance: at least one node has an infinite term.

    None if no counts within the budget have one.
    """
    flagged = np.where(np.isinf(choices.privacy), -1.0, 0.0)
    allowed, limits = choices.within(problem.budget), limits._replace(gap=0.0)
    start = cheapest(problem, choices, flagged, -1.0, allowed, limits)
    if start is None:
        return None
    found = least_quality(problem, choices, flagged, -1.0, allowed, limits, known=start, most=problem.budget)
    if found is None:
        return None
    if found.objective > problem.budget:
        raise SearchGaveUp("the search for counts at an infinite distance was not finished")
    return Solution(found.counts, -math.inf, -math.inf, -math.inf, 0.0, 0.0, proven=found.closed and choices.whole)


def ordered(problem: Problem, counts: Ints) -> Ints:
    """Among locations that differ only in their name, give larger counts to the names that sort first."""
    quality, privacy, tree = problem.quality, problem.privacy, problem.tree
    assert privacy is not None
    assert tree is not None
    assert quality.weight is not None
    assert privacy.weight is not None
    if len(problem.forbidden):
        return counts
    n = len(counts)
    keys = (
        problem.upper, problem.lower, privacy.reference, problem.original, tree.parent[:n], quality.weight[:n],
        privacy.weight[:n],
    )  # fmt: skip
    by_name, by_count = np.lexsort(keys), np.lexsort((-counts, *keys))
    ordered = np.empty_like(counts)
    ordered[by_name] = counts[by_count]
    return ordered
