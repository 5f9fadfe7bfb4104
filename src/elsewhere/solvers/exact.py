"""Exact answers to the three problems: LHO's by convex allocation, RO's and AO's by the knapsack search.

The same search also answers related questions: the least quality loss that the constraints allow, and the least
quality loss that meets a wanted privacy distance. A user's own distance is tabulated, so it need not be convex; for
hide the search is then a dynamic program over bins and sizes.
"""

from __future__ import annotations

import math
from itertools import islice, product

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints, exact_sum
from elsewhere.model.distances import DISTANCES, Distance, Measure
from elsewhere.model.problem import Problem
from elsewhere.solvers import branches, groups, knapsack, terms
from elsewhere.solvers.bounds import bound_for_all_values
from elsewhere.solvers.choices import KINDS, Choices, sizes, tabulate
from elsewhere.solvers.knapsack import Dual, Limits, OutOfTime, SearchGaveUp, Solution, Tables

#: From this many bins on, equal ones are grouped before counts are allocated.
_MANY_BINS = 512


def least_loss(problem: Problem, limits: Limits) -> Solution | None:
    """The counts of least quality loss, ignoring the limit on it; None if the constraints are infeasible.

    The time limit applies only after some feasible counts are known. If the search cannot visit all values, the
    solution is not closed.
    """
    bound, price = -math.inf, 0.0
    if problem.quality.distance.builtin:
        counts, price = spread(problem, problem.quality.distance)
        bound = problem.quality.to_total(figures(problem, counts)[0])
        if problem.allows(counts):
            return Solution(counts, bound, bound, bound, 0.0, price)
    known = None if limits.deadline == math.inf else quick_counts(problem)
    try:
        choices = tabulate(problem, math.inf, limits.without_deadline() if known is None else limits, around=known)
    except SearchGaveUp:
        known = quick_counts(problem)
        if known is None:
            raise
        choices = tabulate(problem, math.inf, limits, around=known)
    try:
        solution = _least_loss_of(problem, choices, limits, known)
    except OutOfTime:  # accept any feasible counts
        return _least_loss_of(problem, choices, Limits(math.inf, math.inf, limits.memory))
    if choices.whole or solution is None:
        return solution
    # A bound that also holds for values without tables: the least loss if nothing were forbidden.
    return solution._replace(bound=bound, dual_bound=bound, cost_multiplier=0.0, size_multiplier=price)


def _least_loss_of(problem: Problem, choices: Choices, limits: Limits, known: Ints | None = None) -> Solution | None:
    allowed = choices.quality < math.inf
    if problem.goal == "resemble":
        allowed &= choices.privacy < math.inf
    return least(problem, choices, choices.quality, allowed, limits, known)


def quick_counts(problem: Problem) -> Ints | None:
    """Counts that satisfy all constraints except the limit on the quality loss, without a search; None if none do.

    A convex distance stands in for a user's function. If these counts are forbidden, one count is moved. As many
    neighbours as there are forbidden histograms are tried. The counts themselves are one of these histograms, so at
    least one neighbour is allowed.
    """
    quality = problem.quality.distance
    counts, _ = spread(problem, quality if quality.builtin else DISTANCES["squared-l2"])
    if problem.allows(counts):
        return counts
    sources, sinks = np.flatnonzero(counts > problem.lower), np.flatnonzero(counts < problem.upper)
    pairs = ((i, j) for i, j in product(sources.tolist(), sinks.tolist()) if i != j)
    for i, j in islice(pairs, len(problem.forbidden)):
        neighbour = counts.copy()
        neighbour[i] -= 1
        neighbour[j] += 1
        if problem.allows(neighbour):
            return neighbour
    return None


def optimum(problem: Problem, choices: Choices, known: Ints, limits: Limits, *, own_terms: bool = True) -> Solution:
    """The counts nearest to the target (RO) or farthest from it (AO) within the quality limit.

    `known` are feasible counts. An infinite objective means avoid at infinite distance. `own_terms` says whether the
    tables have the quality terms of the problem.
    """
    unsure = False
    if problem.goal == "avoid" and np.isinf(choices.privacy).any():
        try:
            if own_terms and _can_allocate(problem):
                farthest = _allocated_at_infinity(problem, limits)
            else:
                farthest = _at_infinity(problem, choices, known, limits)
        except SearchGaveUp:
            farthest, unsure = None, True
        if farthest is not None:
            return farthest
    tables = _signed(problem, choices)
    solution = branches.solve(
        tables, problem.size, problem.budget, known=known, forbidden=problem.forbidden, limits=limits
    )
    if solution is None:
        raise AssertionError("the known counts are a solution")
    if problem.goal == "resemble":
        solution = _sharpened(problem, tables, solution, limits)
    if not choices.whole:
        solution = bound_for_all_values(problem, solution, limits)
    if unsure:
        solution = solution._replace(bound=-math.inf, dual_bound=-math.inf)
    return solution


def better(problem: Problem, solution: Solution, counts: Ints) -> Solution:
    """The solution, with the counts in place of its own if they are better."""
    _, distance = figures(problem, counts)
    assert problem.privacy is not None
    assert distance is not None
    objective = problem.privacy.to_total(distance) * (-1.0 if problem.goal == "avoid" else 1.0)
    if objective >= solution.objective:
        return solution
    bound = min(solution.bound, objective)
    return solution._replace(counts=counts, objective=objective, bound=bound, proven=False, quality_total=math.nan)


def _sharpened(problem: Problem, tables: Tables, solution: Solution, limits: Limits) -> Solution:
    """Search again without very bad values, if their rounding errors are larger than the differences that matter.

    That happens if a target has tiny weights next to ordinary ones and terms divide by them. The dual bound stays that
    of all values, so that it can be checked.
    """
    assert problem.privacy is not None
    narrow = tables
    while problem.privacy.distance.unbounded and not limits.passed:
        finite = np.where(narrow.objective < math.inf, narrow.objective, 0.0)
        drowned = np.finfo(np.float64).eps * np.maximum.reduceat(finite, tables.start[:-1]).sum()
        least = np.minimum.reduceat(narrow.objective, tables.start[:-1])
        room = np.repeat(solution.objective - least.sum() + least, np.diff(tables.start))
        improving = narrow.objective <= room + 1e-9 * (np.abs(room) + abs(solution.objective))
        improving[tables.at(solution.counts)] = True
        if drowned <= 1e-12 * (1.0 + abs(solution.objective)) or improving[narrow.objective < math.inf].all():
            break
        narrow = Tables(
            tables.start,
            tables.low,
            np.where(improving, tables.objective, math.inf),
            np.where(improving, tables.cost, 0.0),
        )
        found = branches.solve(
            narrow, problem.size, problem.budget, known=solution.counts, forbidden=problem.forbidden, limits=limits
        )
        assert found is not None
        solution = found
    if narrow is tables:
        return solution
    return solution._replace(dual_bound=knapsack.dual_value(tables, problem.size, problem.budget, solution))


def figures(problem: Problem, counts: Ints) -> tuple[float, float | None]:
    """The quality loss and the privacy distance of the counts, as in the model but without its overhead."""
    quality, privacy = problem.quality, problem.privacy
    if problem.tree is not None or problem.smoothed:
        return problem.quality_loss(counts), problem.privacy_distance(counts)
    own = not quality.distance.builtin or problem.left_out.any()
    loss = problem.quality_loss(counts) if own else _total(quality, counts)
    if privacy is None:
        return loss, None
    return loss, _total(privacy, counts) if privacy.distance.builtin else privacy(counts.astype(np.float64))


def _total(measure: Measure, counts: Ints) -> float:
    kind = KINDS[measure.distance.name]
    # In interpreted mode the sum is a NumPy number.
    total = float(terms.total(kind, measure.reference, counts, measure.reference_size, measure.size))
    return measure.from_total(total)


def bounded(problem: Problem, choices: Choices, counts: Ints, limits: Limits) -> Solution:
    """The given counts, with the dual bound on the optimum."""
    if problem.goal == "avoid" and (choices.within(problem.budget) & np.isinf(choices.privacy)).any():
        return Solution(counts, math.inf, -math.inf, -math.inf, 0.0, 0.0)
    solution = knapsack.bounded(_signed(problem, choices), problem.size, problem.budget, counts, limits)
    return solution if choices.whole else bound_for_all_values(problem, solution, limits)


def least(
    problem: Problem, choices: Choices, objective: Floats, allowed: Flags, limits: Limits, known: Ints | None = None
) -> Solution | None:
    """The counts of least objective among the values allowed, with no budget; None if there are none."""
    smallest, largest = sizes(choices.start, choices.low, allowed)
    if not smallest <= problem.size <= largest:
        return None
    tables = choices.tables(objective, np.zeros_like(objective), allowed)
    return branches.solve(tables, problem.size, math.inf, known=known, forbidden=problem.forbidden, limits=limits)


def cheapest(
    problem: Problem, choices: Choices, cost: Floats, budget: float, allowed: Flags, limits: Limits
) -> Ints | None:
    """The counts of least cost if that fits the budget, else None."""
    found = least(problem, choices, cost, allowed, limits._replace(gap=0.0))
    if found is None or (found.closed and found.objective > budget):
        return None
    if found.objective > budget:
        raise knapsack.nothing_found(limits)
    return found.counts


def loss_bound(
    problem: Problem, choices: Choices, cost: Floats, budget: float, allowed: Flags, limits: Limits, *, known: Ints
) -> float:
    """The dual bound on what `least_quality` finds."""
    tables = choices.tables(choices.quality, cost, allowed)
    return knapsack.bounded(tables, problem.size, budget, known, limits).bound


def least_quality(
    problem: Problem,
    choices: Choices,
    cost: Floats,
    budget: float,
    allowed: Flags,
    limits: Limits,
    *,
    known: Ints,
    most: float,
) -> Solution | None:
    """The counts of least quality loss whose cost fits the budget, as that of `known` does; None if it is above `most`.

    If time ends the search, the loss may be above `most`.
    """
    tables, by = choices.tables(choices.quality, cost, allowed), None
    if most < math.inf:
        bounded = knapsack.bounded(tables, problem.size, budget, known, limits)
        if bounded.bound > most:
            return None
        by = Dual(bounded.cost_multiplier, bounded.size_multiplier, bounded.dual_bound)
    found = branches.solve(tables, problem.size, budget, known=known, forbidden=problem.forbidden, limits=limits, by=by)
    return found if found is not None and (found.objective <= most or not found.closed) else None


def _signed(problem: Problem, choices: Choices) -> Tables:
    """The tables of a target problem as a minimisation, without values at infinite distance."""
    assert problem.privacy is not None
    sign = -1.0 if problem.goal == "avoid" else 1.0
    if choices.budget == problem.budget and not problem.privacy.distance.unbounded:
        return Tables(choices.start, choices.low, sign * choices.privacy, choices.quality)
    allowed = choices.within(problem.budget) & (choices.privacy < math.inf)
    return choices.tables(sign * choices.privacy, choices.quality, allowed)


def _at_infinity(problem: Problem, choices: Choices, known: Ints, limits: Limits) -> Solution | None:
    """The counts of least quality loss at an infinite privacy distance: at least one bin has an infinite term.

    None if no counts within the budget have one.
    """
    flagged = np.where(np.isinf(choices.privacy), -1.0, 0.0)
    allowed, limits = choices.within(problem.budget), limits._replace(gap=0.0)
    start: Ints | None = known
    if not flagged[choices.at(known)].any():
        start = cheapest(problem, choices, flagged, -1.0, allowed, limits)
    if start is None:
        return None
    found = least_quality(problem, choices, flagged, -1.0, allowed, limits, known=start, most=problem.budget)
    if found is None:
        return None
    if found.objective > problem.budget:
        raise SearchGaveUp("the search for counts at an infinite distance was not finished")
    return Solution(found.counts, -math.inf, -math.inf, -math.inf, 0.0, 0.0, proven=found.closed and choices.whole)


def _can_allocate(problem: Problem) -> bool:
    """Whether `_allocated_at_infinity` applies: both distances are built in, and nothing is forbidden."""
    quality, privacy = problem.quality, problem.privacy
    assert privacy is not None
    return quality.distance.builtin and privacy.distance.builtin and len(problem.forbidden) == 0


def _allocated_at_infinity(problem: Problem, limits: Limits) -> Solution | None:
    """The same by convex allocation. A built-in term is infinite only at 0, or everywhere except at 0, or nowhere.

    So one bin after the other must be empty, or must not be. Those that lose least by being empty come first: once that
    loss alone is above the best one, no other bin can be better.
    """
    quality, privacy, none = problem.quality, problem.privacy, np.zeros(len(problem.lower))
    assert privacy is not None
    if_empty, if_not = np.isinf(privacy.terms(none)), np.isinf(privacy.terms(none + 1.0))
    lower, upper = np.where(if_not, np.maximum(problem.lower, 1), problem.lower), np.where(if_empty, 0, problem.upper)
    own = np.where(if_empty, quality.terms(none), 0.0)
    bins = np.flatnonzero((if_empty | if_not) & (lower <= upper))
    keys = np.array((problem.original, problem.lower, problem.upper, privacy.reference))[:, bins]
    bins = bins[np.unique(keys, axis=1, return_index=True)[1]]  # one of those that differ only in their name
    best, least = None, problem.budget
    for at in bins[np.lexsort((bins, own[bins]))].tolist():
        if own[at] > least:
            break
        if limits.passed:
            raise OutOfTime("the time limit ended the search for counts at an infinite distance")
        bounded = problem._replace(lower=problem.lower.copy(), upper=problem.upper.copy())
        bounded.lower[at], bounded.upper[at] = lower[at], upper[at]
        if exact_sum(bounded.lower) <= problem.size <= exact_sum(bounded.upper):
            counts, _ = spread(bounded, quality.distance)
            loss = quality.to_total(figures(problem, counts)[0])
            if loss < least or (best is None and loss == least):
                best, least = counts, loss
    return None if best is None else Solution(best, -math.inf, -math.inf, -math.inf, 0.0, 0.0)


def spread(problem: Problem, distance: Distance) -> tuple[Ints, float]:
    """Convex allocation: the counts of least quality loss by a built-in distance, and the price of a count.

    The price is the size multiplier that proves the loss least.
    """
    measure = problem.quality
    low, high, reference = problem.lower, problem.upper, measure.reference
    many = len(low) >= _MANY_BINS
    copies = np.ones(len(low), np.int64)
    if many:
        member, first, copies = groups.group(_numbered(problem.original, reference), low, high)
        low, high, reference = low[first], high[first], reference[first]
    counts, tied, left, price = terms.allocate(
        KINDS[distance.name], reference, low, high, copies, measure.reference_size, measure.size, problem.size
    )
    if many:
        counts = counts[member]
        if left:
            chosen = np.zeros(len(low), dtype=np.bool_)
            chosen[tied] = True
            tied = np.flatnonzero(chosen[member])
    if left:
        counts[np.sort(tied)[:left]] += 1
    return counts, price


def _numbered(original: Ints, reference: Floats) -> Ints:
    """One number per bin, equal for bins with equal references: the history's counts, unless there is a target."""
    if np.array_equal(original, reference):
        return original
    return np.unique(reference, return_inverse=True)[1].astype(np.int64)


def ordered(problem: Problem, counts: Ints) -> Ints:
    """Among locations that differ only in their name, give larger counts to the names that sort first."""
    assert problem.privacy is not None
    if len(problem.forbidden):
        return counts
    keys = (problem.upper, problem.lower, problem.privacy.reference, problem.original)
    by_name = np.lexsort(keys)
    by_count = np.lexsort((-counts, *keys))
    ordered = np.empty_like(counts)
    ordered[by_name] = counts[by_count]
    return ordered
