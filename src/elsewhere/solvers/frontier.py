"""resemble and avoid (RO and AO) for many limits on the quality loss: one search for each, but a much smaller one.

`class_search` has the search. The tables are those of the largest limit, one for each class of equal bins. Each dual
starts from the one before.

Two histograms may be equally good. Which of them a single call returns depends on how it searches. So this search also
finds out whether its optimum is the only one. If it is not, or if anything else is in doubt, the point is left to the
search of a single call. The counts of every point are therefore those of a single call. The multipliers may differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.cancellation import check_cancelled
from elsewhere.kernels.jit import is_interpreting, items, kernel_over, part, per_call
from elsewhere.model.arrays import Floats, Ints, exact_sum
from elsewhere.model.distances import Measure
from elsewhere.model.problem import ROOM, Problem
from elsewhere.solvers import class_search, dual, knapsack, label_queue, labels, one_call, terms
from elsewhere.solvers.choices import BYTES_PER_ENTRY, KINDS, table
from elsewhere.solvers.class_search import Choices, Classes, Limited, optimum
from elsewhere.solvers.knapsack import LABEL_SHARE, Limits, Solution
from elsewhere.solvers.one_call import LARGEST_SIZE, is_plain, noise

# The most values in the tables and classes. The limits of a point: choices of all classes and how often they take each
# value, labels, sums in the completions.
_MOST_VALUES = 1 << 18
_MOST_CLASSES = 1 << 13
_MOST_CHOICES = 1 << 11
_MOST_TAKEN = 1 << 14
_MOST_LABELS = 1 << 20
_BYTES_PER_LABEL = 104
_COMPLETION_WORK = 2_000_000
_LABEL_WORK = 500_000
# A call ends after about this much work, in labels: some tens of milliseconds. The rest is the work of a dual.
_WORK_PER_CALL = 4_000_000
_WORK_PER_POINT = 5_000
_WORK_PER_CLASS = 160
_VALUES_PER_WORK = 2
_DUAL_WORK = 4_000_000
# Gaps of neighbouring points vary, and a round with one that is too small is in vain. So a point starts with the
# largest of those before it, which counts this much less from point to point.
_GAP_DECAY = 0.9
# If so many points in a row must be left to single calls, the rest is left, too.
_PATIENCE = 4
# The budget of the point before, the gap to start with, and how many points were left in a row.
BUDGET, GAP, FAILURES = range(3)
# The proof of a point: the dual bound, and the multipliers of the quality loss and of the size.
_DUAL_BOUND, _COST, _PRICE = range(3)

kernel = kernel_over(class_search, dual, knapsack, label_queue, labels, one_call)


class State(NamedTuple):
    """What a point learns from those before it, so that it does not matter where a call ends."""

    #: BUDGET to FAILURES.
    number: Floats
    #: The planes of the dual of the point before, and an entry of each class near its best one.
    planes: Floats
    near: Ints
    #: The least cost of each class, and its entries that fit the budget of the point before.
    least_cost: Floats
    first: Ints
    last: Ints


def attempts(problem: Problem, known: Ints, budgets: list[float], limits: Limits) -> Iterator[Solution | None]:
    """The proven optimum for each of these budgets, from the largest to the smallest, if it is the only one.

    `known` are counts that fit every budget. A point is None if the search of a single call must find it.
    """
    plain = is_plain(problem, limits) and len(budgets) > 1 and budgets[0] < math.inf
    classes = _tabulated(problem, known, budgets[0], limits) if plain else None
    if classes is None:
        yield from (None for _ in budgets)
        return
    assert problem.privacy is not None
    most_labels = min(_MOST_LABELS, limits.memory // (LABEL_SHARE * _BYTES_PER_LABEL))
    limited = Limited(limits.memory, per_call(_COMPLETION_WORK), per_call(_LABEL_WORK), most_labels)
    counts = np.zeros((len(budgets), len(problem.original)), np.int64)
    reached = np.full((len(budgets), 3), math.nan)
    choices = Choices(
        np.empty(_MOST_CHOICES, np.int64), np.empty((3, _MOST_CHOICES)), np.empty(_MOST_CHOICES, np.int64),
        np.empty(_MOST_TAKEN, np.int64),
    )  # fmt: skip
    # Very bad values have rounding errors. If these matter, `exact._sharpened` is needed.
    drowned = _rounding_of_worst(classes) if problem.privacy.distance.unbounded else 0.0
    entries = classes.start[:-1] + known[classes.member[classes.begin[:-1]]] - classes.low
    least_cost = np.minimum.reduceat(classes.g, classes.start[:-1])
    first, last = classes.start[:-1].copy(), classes.start[1:].copy()
    state = State(np.array([budgets[0], -1.0, 0.0]), np.zeros((3, 4)), entries, least_cost, first, last)
    totals, done = np.array(budgets), 0
    while done < len(budgets):
        check_cancelled()
        begin, work = done, 1 if is_interpreting() else _WORK_PER_CALL
        done = _answer(limited, classes, state, problem.size, totals, done, work, choices, counts, reached)
        found = counts[begin:done]
        losses, distances = _totals(problem.quality, found), _totals(problem.privacy, found)
        bests = [-distance for distance in distances] if problem.goal == "avoid" else distances
        proofs = reached[begin:done]
        solutions = map(Solution, found, bests, bests, *proofs.T.tolist(), repeat(True), losses)
        in_doubt = np.isnan(proofs[:, _DUAL_BOUND]) | (drowned > 1e-12 * (1.0 + np.abs(bests)))
        yield from (
            solutions
            if not in_doubt.any()
            else (None if doubt else solution for solution, doubt in zip(solutions, in_doubt.tolist(), strict=True))
        )


def _totals(measure: Measure, counts: Ints) -> list[float]:
    """The sum of the terms of each row of counts."""
    sums = np.empty(len(counts))
    kind = KINDS[measure.distance.name]
    terms.totals(kind, measure.reference, counts, measure.reference_size, measure.size, sums)
    return sums.tolist()


def _tabulated(problem: Problem, known: Ints, budget: float, limits: Limits) -> Classes | None:
    """The classes of a problem; None if their values are too many or too large, or infinitely far from the target."""
    privacy = problem.privacy
    assert privacy is not None
    if max(problem.quality.reference_size, problem.quality.size) >= LARGEST_SIZE:
        return None
    keys = np.array((problem.upper, problem.lower, privacy.reference, problem.original))
    member = np.lexsort(keys)
    keys = keys[:, member]
    is_first = np.ones(len(member) + 1, np.bool_)
    np.logical_or.reduce(keys[:, 1:] != keys[:, :-1], axis=0, out=is_first[1:-1])
    (begin,) = is_first.nonzero()
    first = member[begin[:-1]]
    class_of = np.empty(len(member), np.int64)
    class_of[member] = is_first[:-1].cumsum() - 1
    quality = problem.quality._replace(reference=problem.quality.reference[first])
    privacy = privacy._replace(reference=privacy.reference[first])
    # Bins of the same class are not at their best here, so the ranges may be too wide. They are narrowed anyway.
    low, number = terms.ranges(
        KINDS[quality.distance.name], np.ones(len(first)), quality.reference, problem.lower[first],
        problem.upper[first], quality.reference_size, quality.size, budget,
    )  # fmt: skip
    most = min(_MOST_VALUES, limits.memory // BYTES_PER_ENTRY)
    if len(first) > _MOST_CLASSES or exact_sum(number) > most:
        return None
    start = np.zeros(len(first) + 1, np.int64)
    number.cumsum(out=start[1:])
    f, g = table(privacy, low, start, limits), table(quality, low, start, limits)
    if np.count_nonzero(np.isfinite(f)) < len(f):
        return None
    f = -f if problem.goal == "avoid" else f
    return Classes(begin, member, class_of, begin[1:] - begin[:-1], start, low, f, g, known)


def _rounding_of_worst(classes: Classes) -> float:
    """The rounding error of the sum of the greatest objectives."""
    greatest = np.maximum.reduceat(classes.f, classes.start[:-1])
    return 1.01 * float(np.finfo(np.float64).eps) * float((classes.copies * greatest).sum())


@part
def _all_values(classes: Classes) -> tuple[Ints, Floats, Floats]:
    """The values of the classes as those of single bins, and their terms: a class takes a value for all its members."""
    start, low, copies = items(classes.start), items(classes.low), items(classes.copies)
    f, g, value = items(classes.f), items(classes.g), np.empty(len(classes.f), np.int64)
    all_f, all_g = np.empty(len(f)), np.empty(len(f))
    into, into_f, into_g = items(value), items(all_f), items(all_g)
    for i in range(len(low)):
        for e in range(start[i], start[i + 1]):
            into[e], into_f[e], into_g[e] = copies[i] * (low[i] + e - start[i]), copies[i] * f[e], copies[i] * g[e]
    return value, all_f, all_g


@part
def _narrow(classes: Classes, least: Floats, budget: float, first: Ints, last: Ints) -> None:
    """Shrink the entries first..last of each class to the values that fit the budget if all else is at its best."""
    g, copies = classes.g, classes.copies
    spare = budget + ROOM * (1.0 + abs(budget))
    for i in range(len(first)):
        spare -= copies[i] * least[i]
    for i in range(len(first)):
        while g[first[i]] > spare + least[i]:
            first[i] += 1
        while g[last[i] - 1] > spare + least[i]:
            last[i] -= 1


@part
def _ascend(
    classes: Classes, values: dual.Values, size: int, budget: float, state: State
) -> tuple[float, float, float, float, Floats]:
    """The multipliers of the best dual bound, the bound and its rounding error, and each class's least reduced sum."""
    low, start, f, g, near = classes.low, classes.start, classes.f, classes.g, state.near
    for i in range(len(near)):
        near[i] = min(max(near[i], values.first[i]), values.last[i] - 1)
    begun = dual.Ascent(0.0, 0.0, -math.inf, 0.0, near, near, state.planes, 0)
    lam, mu, bound, error, at, _, _, _ = dual.maximise(values, size, budget, _DUAL_WORK, begun)
    least = np.empty(len(at))
    for i in range(len(at)):
        least[i] = f[at[i]] + lam * g[at[i]] - mu * (low[i] + at[i] - start[i])
    return lam, mu, bound, error, least


@part
def _known_objective(classes: Classes) -> float:
    """The objective of the known counts."""
    start, low, f, known, class_of = classes.start, classes.low, classes.f, classes.known, classes.class_of
    objective = 0.0
    for k in range(len(known)):
        i = class_of[k]
        objective += f[start[i] + known[k] - low[i]]
    return objective


@kernel
def _answer(
    limited: Limited,
    classes: Classes,
    state: State,
    size: int,
    budgets: Floats,
    done: int,
    work: int,
    choices: Choices,
    all_counts: Ints,
    reached: Floats,
) -> int:
    """Put the optimal counts for each budget into `all_counts` and their proof into `reached`, if they are proven.

    Starts with number `done` and returns the first budget that is left when the work is done.
    """
    number, first, last = state.number, state.first, state.last
    value, f, g = _all_values(classes)
    values = dual.Values(first, last, value, f, g)
    known = _known_objective(classes)
    while done < len(budgets) and work > 0:
        if number[FAILURES] >= _PATIENCE:
            return len(budgets)
        budget, counts = budgets[done], all_counts[done]
        _narrow(classes, state.least_cost, budget, first, last)
        dual.shift(values, size, budget, number[BUDGET] - budget, state.planes)
        lam, mu, bound, error, least = _ascend(classes, values, size, budget, state)
        # Solutions that differ by less are not told apart, neither here nor in `knapsack`.
        margin = 4.0 * (noise(bound) + error)
        task = labels.Task(lam, mu, bound, size, budget, math.inf, margin)
        gap, spent = optimum(limited, classes, first, last, task, least, known, number[GAP], choices, counts)
        work -= spent + _WORK_PER_POINT + _WORK_PER_CLASS * len(least) + len(values.f) // _VALUES_PER_WORK
        number[FAILURES] += 1.0
        if gap < math.inf:
            reached[done, _DUAL_BOUND], reached[done, _COST], reached[done, _PRICE] = bound, lam, mu
            number[GAP] = max(_GAP_DECAY * number[GAP], gap, 1e-12)
            number[FAILURES] = 0.0
        done += 1
        number[BUDGET] = budget
    return done
