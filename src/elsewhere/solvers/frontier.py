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
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.cancellation import check_cancelled
from elsewhere.kernels.jit import is_interpreting, items, kernel_over, part, per_call
from elsewhere.model.arrays import Flags, Floats, Ints, exact_sum
from elsewhere.model.problem import ROOM, Problem
from elsewhere.solvers import class_search, dual, label_queue, labels, one_call, terms
from elsewhere.solvers.choices import BYTES_PER_ENTRY, KINDS, table
from elsewhere.solvers.class_search import Choices, Classes, Limited, optimum
from elsewhere.solvers.knapsack import LABEL_SHARE, Limits, Solution
from elsewhere.solvers.one_call import (
    COST_MULTIPLIER,
    DUAL_BOUND,
    LARGEST_SIZE,
    PRIVACY,
    QUALITY,
    SIZE_MULTIPLIER,
    is_plain,
    noise,
)

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
_ROUNDS = 60
_CONVERGED = 1e-15
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# If so many points in a row must be left to single calls, the rest is left, too.
_PATIENCE = 4
# The multipliers to start from and the step, those of the point before with its budget, the usual gap, and how many
# points were left in a row.
NEXT_LAM, NEXT_MU, STEP, LAM, MU, BUDGET, GAP, FAILURES = range(8)

kernel = kernel_over(class_search, dual, label_queue, labels, one_call)


class State(NamedTuple):
    """What a point learns from those before it, so that it does not matter where a call ends."""

    #: NEXT_LAM to FAILURES.
    number: Floats
    #: The values of each class that fit the budget, and the least cost of each class.
    first: Ints
    last: Ints
    least_cost: Floats
    #: The values that the dual starts with.
    held: Flags


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
    reached = np.full((len(budgets), 5), math.nan)
    choices = Choices(
        np.empty(_MOST_CHOICES, np.int64), np.empty((3, _MOST_CHOICES)), np.empty(_MOST_CHOICES, np.int64),
        np.empty(_MOST_TAKEN, np.int64),
    )  # fmt: skip
    # Very bad values have rounding errors. If these matter, `exact._sharpened` is needed.
    drowned = _rounding_of_worst(classes) if problem.privacy.distance.unbounded else 0.0
    state = State(*_start(classes))
    totals = np.array(budgets)
    done = 0
    while done < len(budgets):
        check_cancelled()
        begin, work = done, 1 if is_interpreting() else _WORK_PER_CALL
        done = _answer(limited, classes, state, problem.size, totals, done, work, choices, counts, reached)
        for own, (loss, best, bound, lam, mu) in zip(counts[begin:done], reached[begin:done].tolist(), strict=True):
            if math.isnan(best) or drowned > 1e-12 * (1.0 + abs(best)):
                yield None
            else:
                yield Solution(own, best, best, bound, lam, mu, quality_total=loss)


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
def _price(
    classes: Classes,
    first: Ints,
    last: Ints,
    size: int,
    budget: float,
    lam: float,
    mu: float,
    held: Flags,
    best: Floats,
) -> tuple[float, float, bool]:
    """The dual bound for these multipliers, its rounding error, and whether it needs values that are not held yet.

    Holds these values and their neighbours, and puts the least reduced sum of each class into `best`.
    """
    start, low, f, g = items(classes.start), items(classes.low), items(classes.f), items(classes.g)
    copies, is_held = classes.copies, items(held)
    total = 0.0
    rounding = abs(mu) * size + lam * abs(budget)
    lacking = False
    for i in range(len(low)):
        begin, end = first[i], last[i]
        shift = low[i] - start[i]
        least, at = math.inf, begin
        for e in range(begin, end):
            reduced = f[e] + lam * g[e] - mu * (e + shift)
            if reduced < least:
                least, at = reduced, e
        best[i] = least
        total += copies[i] * least
        rounding += copies[i] * (abs(least) + 2.0 * abs(mu) * (at + shift))
        if not is_held[at]:
            lacking = True
            for e in range(max(begin, at - 1), min(end, at + 2)):
                is_held[e] = True
    rounding *= _ROUNDING
    return total - lam * budget + mu * size - rounding, rounding, lacking


@part
def _ascend(
    classes: Classes, first: Ints, last: Ints, size: int, budget: float, lam: float, mu: float, step: float, held: Flags
) -> tuple[float, float, float, float, Floats]:
    """The multipliers of the best dual bound, searched from the given ones, the bound and its rounding error.

    Only the values that are held take part, until the prices show that others are needed, as in `dual.maximise`. Also
    returns the least reduced sum of each class.
    """
    start, low, f, g = items(classes.start), items(classes.low), items(classes.f), items(classes.g)
    copies, is_held = classes.copies, items(held)
    n = len(low)
    bound, error, best_lam, best_mu, best_least = -math.inf, 0.0, lam, mu, np.empty(n)
    hoped = math.inf
    for _ in range(_ROUNDS):
        least = np.empty(n)
        value, rounding, lacking = _price(classes, first, last, size, budget, lam, mu, held, least)
        if value > bound:
            bound, error, best_lam, best_mu, best_least = value, rounding, lam, mu, least
        if hoped < math.inf and (not lacking or value >= hoped - _CONVERGED * (1.0 + abs(hoped))):
            break
        few = 0
        for i in range(n):
            for e in range(first[i], last[i]):
                few += is_held[e]
        few_start, few_value = np.zeros(n + 1, np.int64), np.empty(few, np.int64)
        few_f, few_g = np.empty(few), np.empty(few)
        k = 0
        for i in range(n):
            for e in range(first[i], last[i]):
                if is_held[e]:
                    few_value[k] = copies[i] * (low[i] + e - start[i])
                    few_f[k], few_g[k] = copies[i] * f[e], copies[i] * g[e]
                    k += 1
            few_start[i + 1] = k
        lam, mu, hoped = dual.maximise_few(few_start, few_value, few_f, few_g, size, budget, max(lam, 1e-9), mu, step)
    return best_lam, best_mu, bound, error, best_least


@part
def _hold_known(classes: Classes, held: Flags) -> float:
    """Hold the values of the known counts. Returns their objective."""
    start, low, known, begin, member = classes.start, classes.low, classes.known, classes.begin, classes.member
    f = classes.f
    objective = 0.0
    for i in range(len(low)):
        for k in range(begin[i], begin[i + 1]):
            e = start[i] + known[member[k]] - low[i]
            held[e] = True
            objective += f[e]
    return objective


@part
def _figures(classes: Classes, counts: Ints) -> tuple[float, float]:
    """The sums of the quality terms and of the objective, bin by bin, as `terms.total` adds them up."""
    start, low, f, g, class_of = classes.start, classes.low, classes.f, classes.g, classes.class_of
    cost = objective = 0.0
    for k in range(len(counts)):
        i = class_of[k]
        e = start[i] + counts[k] - low[i]
        cost += g[e]
        objective += f[e]
    return cost, objective


@kernel
def _start(classes: Classes) -> tuple[Floats, Ints, Ints, Floats, Flags]:
    """The fields of `State` before the first point, with a guess of the multipliers as in `dual.maximise`."""
    start, f, g, copies = classes.start, classes.f, classes.g, classes.copies
    n = len(copies)
    held, least_cost = np.zeros(len(f), np.bool_), np.empty(n)
    f_span = g_span = steps = 0.0
    for i in range(n):
        a, b = start[i], start[i + 1] - 1
        least_f = least_g = a
        for e in range(a, b + 1):
            if f[e] < f[least_f]:
                least_f = e
            if g[e] < g[least_g]:
                least_g = e
        held[a] = held[b] = held[least_f] = held[least_g] = True
        least_cost[i] = g[least_g]
        f_span += copies[i] * (abs(f[b] - f[least_f]) + abs(f[a] - f[least_f]))
        g_span += copies[i] * (abs(g[b] - g[least_g]) + abs(g[a] - g[least_g]))
        steps += copies[i] * (b - a)
    number = np.zeros(8)
    number[NEXT_LAM] = f_span / g_span if g_span > 0.0 and f_span > 0.0 else 1.0
    number[STEP] = max(1e-300, 0.05 * f_span / max(1.0, steps))
    number[GAP] = -1.0
    _hold_known(classes, held)
    return number, start[:-1].copy(), start[1:].copy(), least_cost, held


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
    """Put the optimal counts for each budget into `all_counts` and their figures into `reached`, if they are proven.

    Starts with number `done` and returns the first budget that is left when the work is done.
    """
    number, first, last, held = state.number, state.first, state.last, state.held
    while done < len(budgets) and work > 0:
        if number[FAILURES] >= _PATIENCE:
            return len(budgets)
        budget, counts = budgets[done], all_counts[done]
        _narrow(classes, state.least_cost, budget, first, last)
        lam, mu, bound, error, least = _ascend(
            classes, first, last, size, budget, number[NEXT_LAM], number[NEXT_MU], number[STEP], held
        )
        held[:] = False
        known = _hold_known(classes, held)
        # Solutions that differ by less are not told apart, neither here nor in `knapsack`.
        margin = 4.0 * (noise(bound) + error)
        task = labels.Task(lam, mu, bound, size, budget, math.inf, margin)
        gap, spent = optimum(limited, classes, first, last, task, least, known, number[GAP], held, choices, counts)
        work -= spent + _WORK_PER_POINT + _WORK_PER_CLASS * len(least) + len(held) // _VALUES_PER_WORK
        number[FAILURES] += 1.0
        if gap < math.inf:
            reached[done, QUALITY], reached[done, PRIVACY] = _figures(classes, counts)
            reached[done, DUAL_BOUND], reached[done, COST_MULTIPLIER], reached[done, SIZE_MULTIPLIER] = bound, lam, mu
            number[GAP] = max(0.5 * (number[GAP] + gap) if number[GAP] >= 0.0 else gap, 1e-12)
            number[FAILURES] = 0.0
        done += 1
        number[NEXT_LAM], number[NEXT_MU] = lam, mu
        if number[BUDGET] > budget and done < len(budgets):  # the multipliers change steadily with the budget
            ahead = (budget - budgets[done]) / (number[BUDGET] - budget)
            number[NEXT_LAM] = max(1e-9, lam + ahead * (lam - number[LAM]))
            number[NEXT_MU] += ahead * (mu - number[MU])
        number[LAM], number[MU], number[BUDGET] = lam, mu, budget
    return done
