"""resemble and avoid (RO and AO) in one compiled call on a problem's arrays, without a step in Python.

The kernel does what `searches`, `choices`, `exact` and `knapsack` do for a problem with flat built-in distances, in the
same order and with the same kernels, so counts and certificates are the same to the last bit. It has little memory and
no clock. If its search does not finish, the caller uses those modules instead.

The kernels that it calls are in other files, so its cache depends on those, too (`jit.kernel_over`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from elsewhere.kernels.jit import items, kernel_over, part, per_call
from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.distances import Distance
from elsewhere.model.problem import Problem
from elsewhere.model.question import Goal
from elsewhere.solvers import dual, knapsack, label_queue, labels, terms
from elsewhere.solvers.choices import KINDS
from elsewhere.solvers.knapsack import (
    BYTES_PER_COLUMN,
    BYTES_PER_LABEL,
    FIRST_WIDTH,
    GOOD_ENOUGH_WORK,
    GROWTH,
    LABEL_SHARE,
    Limits,
    Solution,
)

# The limits of a call: values in the tables, and work in the dual, the completions and the labels. It takes some ms.
_MOST_VALUES = 1 << 16
_DUAL_WORK = 4_000_000
_COMPLETION_WORK = 2_000_000
LABEL_WORK = 200_000
_INTERPRETED_SHARE = 10
# Rows of the results of a call: the sums of the terms, and the numbers of the certificate.
QUALITY, PRIVACY, DUAL_BOUND, COST_MULTIPLIER, SIZE_MULTIPLIER = range(5)
# NumPy adds up this many numbers without halving them.
_UNHALVED = 128
# From this many bins on, equal ones are grouped before counts are allocated, which is left to `exact.spread`.
_MANY_BINS = 512
#: Above this, not every count is a distinct float.
LARGEST_SIZE = 1 << 53
_EPSILON = float(np.finfo(np.float64).eps)

Fields: TypeAlias = tuple[Any, ...]

kernel = kernel_over(dual, knapsack, label_queue, labels, terms)


def attempt(problem: Problem, limits: Limits) -> Solution | None:
    """The proven optimum of resemble or avoid, ties broken by name; None if that takes more than one call."""
    quality, privacy, budget = problem.quality, problem.privacy, problem.budget
    if not is_plain(problem, limits) or budget == math.inf:
        return None
    assert privacy is not None
    asked = targeting(problem.goal, quality.distance, privacy.distance, budget, limits.memory)
    users = Bins(
        np.array((0, len(problem.original))), problem.original, privacy.reference, problem.lower, problem.upper,
        np.array((quality.reference_size, privacy.reference_size, quality.size)).reshape(3, 1),
    )  # fmt: skip
    counts, reached = answers(asked, users)
    loss, distance, bound, lam, mu = reached.ravel().tolist()
    best = asked.sign * distance
    return None if math.isnan(best) else Solution(counts, best, best, bound, lam, mu, quality_total=loss)


def is_plain(problem: Problem, limits: Limits) -> bool:
    """Whether the distances are flat and built in, nothing is forbidden, and only the optimum ends the search."""
    quality, privacy = problem.quality, problem.privacy
    assert privacy is not None
    flat = problem.tree is None and not problem.smoothed and quality.distance.builtin and privacy.distance.builtin
    return flat and len(problem.forbidden) == 0 and limits.gap == 0.0 and limits.deadline == math.inf


def targeting(goal: Goal, quality: Distance, privacy: Distance, budget: float, memory: int) -> Targeting:
    """The question in the kernel's form."""
    sign = -1.0 if goal == "avoid" else 1.0
    return Targeting(
        terms.logarithms(), KINDS[quality.name], KINDS[privacy.name], sign, privacy.unbounded, budget, memory,
        per_call(_DUAL_WORK, _INTERPRETED_SHARE), per_call(_COMPLETION_WORK, _INTERPRETED_SHARE),
        per_call(LABEL_WORK, _INTERPRETED_SHARE),
    )  # fmt: skip


def answers(asked: Targeting, users: Bins) -> tuple[Ints, Floats]:
    """The counts of all bins, and the rows QUALITY to SIZE_MULTIPLIER with a number for each user.

    If the search of a user did not finish, its numbers are NaN and its counts mean nothing.
    """
    counts, reached = np.zeros(len(users.original), np.int64), np.empty((5, users.sizes.shape[1]))
    reached.fill(math.nan)  # `np.full` takes three times as long
    _answer(tuple(asked.logs), asked[1:], tuple(users), counts, reached)
    return counts, reached


class Targeting(NamedTuple):
    """The question that all users share: kinds of the distances, 1 for resemble or -1 for avoid, bytes of memory.

    `logs` is a table for the terms; `budget` limits the sum of the quality terms; `unbounded` says whether the privacy
    distance may be infinite. The rest are the limits of the call. They are arguments, because changing a constant would
    compile the kernel again.
    """

    logs: terms.Logarithms
    q_kind: int
    p_kind: int
    sign: float
    unbounded: bool
    budget: float
    memory: int
    dual_work: int
    completion_work: int
    label_work: int


class Bins(NamedTuple):
    """The bins of some users, those of user u at offset[u]..offset[u + 1], and the sizes of each user.

    `target` is scaled already. The rows of `sizes` are those of the history, of the target and of the release.
    """

    offset: Ints
    original: Ints
    target: Floats
    lower: Ints
    upper: Ints
    sizes: Floats


@part
def noise(objective: float) -> float:
    """The rounding error of sums near an objective, as in `knapsack`."""
    return 1e-14 + 1e-13 * abs(objective)


@part
def numpy_sum(x: Floats) -> float:
    """The sum, equal to NumPy's to the last bit: more than 128 numbers are halved, others are added in eights."""
    if len(x) <= _UNHALVED:
        return _unhalved_sum(x, 0, len(x))
    end = np.empty(64, np.int64)
    end[0] = len(x)
    halves = np.empty(64)
    is_second = np.zeros(64, np.bool_)
    depth = i = 0
    while True:
        while end[depth] - i > _UNHALVED:
            half = (end[depth] - i) // 2
            end[depth + 1] = i + half - half % 8
            depth += 1
            is_second[depth] = False
        sum_ = _unhalved_sum(x, i, end[depth])
        i = end[depth]
        while depth > 0 and is_second[depth]:
            sum_ = halves[depth] + sum_
            depth -= 1
        if depth == 0:
            return sum_
        halves[depth] = sum_
        is_second[depth] = True
        end[depth] = end[depth - 1]


@part
def _unhalved_sum(x: Floats, i: int, last: int) -> float:
    """The sum of x[i:last] as NumPy adds up to 128 numbers."""
    sum_ = -0.0
    if last - i >= 8:
        eight = np.empty(8)
        for k in range(8):
            eight[k] = x[i + k]
        i += 8
        while i + 8 <= last:
            for k in range(8):
                eight[k] += x[i + k]
            i += 8
        sum_ = (eight[0] + eight[1]) + (eight[2] + eight[3])
        sum_ += (eight[4] + eight[5]) + (eight[6] + eight[7])
    while i < last:
        sum_ += x[i]
        i += 1
    return float(sum_)


@part
def _order_ties(original: Ints, reference: Floats, lower: Ints, upper: Ints, counts: Ints) -> None:
    """Among bins that differ only in their position, put larger counts first, as in `exact.ordered`."""
    n = len(counts)
    free = 0
    order = np.empty(n, np.int64)
    for i in range(n):
        if lower[i] < upper[i]:
            order[free] = i
            free += 1
    order = order[:free].copy()
    key = np.empty(n)
    for which in range(4):
        for at in range(free):
            i = order[at]
            if which == 0:
                key[i] = upper[i]
            elif which == 1:
                key[i] = lower[i]
            elif which == 2:
                key[i] = reference[i]
            else:
                key[i] = original[i]
        labels.sort(order, key)
    begin = 0
    for end in range(1, free + 1):
        if end < free:
            a, b = order[begin], order[end]
            if (
                original[a] == original[b]
                and reference[a] == reference[b]
                and lower[a] == lower[b]
                and upper[a] == upper[b]
            ):
                continue
        for k in range(begin + 1, end):
            count = counts[order[k]]
            at = k
            while at > begin and counts[order[at - 1]] < count:
                counts[order[at]] = counts[order[at - 1]]
                at -= 1
            counts[order[at]] = count
        begin = end


@part
def _start(
    q_kind: int, reference: Floats, original: Ints, lower: Ints, upper: Ints, size: int, q_size: float
) -> tuple[Ints, float]:
    """Feasible counts to start from: the original, or else those of least quality loss; empty if there are none.

    Also returns the least budget that they are known to fit.
    """
    n = len(original)
    held = least = 0
    most = 0.0
    within = possible = True
    for i in range(n):
        held += original[i]
        least += lower[i]
        most += upper[i]
        within = within and lower[i] <= original[i] <= upper[i]
        possible = possible and lower[i] <= upper[i]
    if held == size and within:
        return original, 0.0
    if n >= _MANY_BINS or not possible or least > size or most < size:
        return np.empty(0, np.int64), math.inf
    copies = np.empty(n, np.int64)
    for i in range(n):
        copies[i] = 1
    counts, tied, left, _ = terms.allocate(q_kind, reference, lower, upper, copies, q_size, float(size), size)
    chosen = np.zeros(n, np.bool_)
    for i in tied:
        chosen[i] = True
    for i in range(n):
        if left > 0 and chosen[i]:
            counts[i] += 1
            left -= 1
    # Near the limit the last digit of a sum decides, and the report adds up in another order.
    return counts, terms.total(q_kind, reference, counts, q_size, float(size)) / (1.0 - 1e-9)


@part
def _drowns(start: Ints, f: Floats, objective: float, constant: float) -> bool:
    """Whether very bad values have rounding errors that matter. `exact._sharpened` handles this case.

    The constant is the objective of the bins without tables.
    """
    sum_ = max(0.0, constant)
    for i in range(len(start) - 1):
        greatest = 0.0
        for e in range(start[i], start[i + 1]):
            if f[e] < math.inf:
                greatest = max(greatest, f[e])
        sum_ += greatest
    return 1.01 * _EPSILON * sum_ > 1e-12 * (1.0 + abs(objective + constant))


@part
def _span(start: Ints, reduced: Floats, g: Floats, lam: float, budget: float) -> float:
    """An upper bound on how far any choice within the budget is above the dual bound, as in `knapsack`."""
    start, reduced, g = items(start), items(reduced), items(g)
    n = len(start) - 1
    greatest = 0.0
    least = np.empty(n)
    for i in range(n):
        least[i] = g[start[i]]
        for e in range(start[i], start[i + 1]):
            least[i] = min(least[i], g[e])
            if reduced[e] < math.inf:
                greatest = max(greatest, reduced[e])
    span = greatest * n
    return span + lam * (budget - numpy_sum(least)) if lam > 0.0 else span


@part
def _search(
    asked: Targeting, budget: float, start: Ints, low: Ints, f: Floats, g: Floats, size: int, known: Ints
) -> tuple[bool, Ints, float, float, float, float]:
    """`branches.solve` without a clock, with little memory, and only as far as `knapsack.improve` alone finishes.

    Returns whether the search finished; the counts and their objective; the dual bound, lam and mu.
    """
    n, work = len(low), asked.dual_work
    value, near, taken = np.empty(len(f), np.int64), np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        near[i] = start[i] + known[i] - low[i]
        taken[i] = f[near[i]]
        for e in range(start[i], start[i + 1]):
            value[e] = low[i] + e - start[i]
    ascent = dual.Ascent(0.0, 0.0, -math.inf, 0.0, near, near, np.zeros((3, 4)), 0)
    values = dual.Values(start[:-1], start[1:], value, f, g)
    lam, mu, dual_bound, _, _, _, _, passes = dual.maximise(values, size, budget, work, ascent)
    done = passes < 0
    counts, found = known, numpy_sum(taken)
    bound = min(dual_bound, found)
    reduced, least, order, gap = labels.reduced_costs(start, low, f, g, lam, mu)
    width = min(FIRST_WIDTH, asked.memory // (LABEL_SHARE * BYTES_PER_LABEL) // n)
    while done and found - bound > noise(found):
        gap = min(gap, found - dual_bound)
        rounding = noise(max(abs(dual_bound), gap))
        hope = min(found, dual_bound + gap + rounding)
        fixed, cost, objective, layer_start, layer_value, layer_terms, passed = labels.select(
            start, low, f, g, reduced, gap, order, least, lam, n - 1
        )
        free, left = n - len(fixed), size
        for x in fixed:
            left -= x
        layers = labels.Layers(layer_start, layer_value, layer_terms, passed)
        width = max(1, min(width, GOOD_ENOUGH_WORK // len(layer_value)))
        where, table, entries = labels.first_columns(free)
        begun = labels.Completions(where, table, entries, free, -1, 1, 0)
        where, table, entries, rest, entry, end, unspent = labels.complete(
            layers, left, gap, asked.memory // BYTES_PER_COLUMN, asked.completion_work, begun
        )
        if rest > 0 or where[labels.WIDTH, 0] < 0:
            break
        proven = hope
        if where[labels.WIDTH, 0] > 0:
            best = np.zeros(6)
            best[labels.FOUND], best[labels.LAYER], best[labels.GIVEN_UP] = found, -1.0, math.inf
            task = labels.Task(lam, mu, dual_bound, left, budget, hope, noise(found))
            layer_at, steps, label = np.zeros(free + 1, np.int64), np.empty((3, 1024), np.int32), np.zeros((3, 1))
            steps[labels.PARENT, 0], steps[labels.VIA, 0], steps[labels.NODE, 0] = 0, 0, -1
            label[label_queue.COST_SO_FAR, 0], label[label_queue.OBJECTIVE_SO_FAR, 0] = cost, objective
            first = labels.Labels(0, label, np.arange(2), 0, steps, label, np.zeros(1, np.int64), 0, 0, 0)
            completions = labels.Completions(where, table, entries, rest, entry, end, unspent)
            nothing = labels.Forbidden(np.zeros((free + 1, 0), np.int64), np.zeros((free, 0), np.int64))
            layer, _, _, _, steps, _, _, _, _, _ = labels.advance(
                layers, completions, task, nothing, width, asked.label_work, first, layer_at, best
            )
            if layer < free:
                break
            if best[labels.LAYER] >= 0.0:
                chosen = labels.trace(layer_start, layer_value, where, entries, left, steps, layer_at, best)
                counts = np.empty(n, np.int64)
                for at in range(n):
                    counts[order[at]] = fixed[at] if at < n - free else chosen[at - n + free]
                found = best[labels.FOUND]
            proven = min(hope, found)
        bound = max(bound, min(found, proven))
        if gap >= found - dual_bound or gap >= _span(start, reduced, g, lam, budget) + 1e3 * rounding:
            break
        widest = found - dual_bound
        within = 0
        for e in range(len(reduced)):
            within += reduced[e] <= widest
        gap = widest if within == len(fixed) + len(layer_value) else max(gap * GROWTH, 1e-12)
    return done and found <= bound + noise(found), counts, found, dual_bound, lam, mu


@part
def _fixed(
    asked: Targeting, fixed: Ints, reference: Floats, target: Floats, low: Ints, sizes: tuple[float, float, float]
) -> tuple[int, float, float]:
    """The size, the quality loss and the objective of the bins that have a single value."""
    held = 0
    for i in fixed:
        held += low[i]
    f, g = _tabulate(asked, reference[fixed], target[fixed], np.arange(len(fixed) + 1), low[fixed], sizes)
    return held, numpy_sum(g), numpy_sum(f) if len(f) == len(fixed) else math.inf


@part
def _tabulate(
    asked: Targeting, reference: Floats, target: Floats, start: Ints, low: Ints, sizes: tuple[float, float, float]
) -> tuple[Floats, Floats]:
    """The objective and the quality loss of each value.

    The tables are empty if a value is infinitely far from the target to avoid.
    """
    q_size, p_size, x_size = sizes
    length = start[-1]
    first = start[0]
    f, g = np.empty(length), np.empty(length)
    terms.fill(asked.q_kind, reference, low, start, q_size, x_size, asked.logs, first, length, g)
    terms.fill(asked.p_kind, target, low, start, p_size, x_size, asked.logs, first, length, f)
    for e in range(length):
        if f[e] == math.inf:
            g[e] = 0.0
            if asked.sign < 0.0:
                length = 0
        f[e] *= asked.sign
    return f[:length], g[:length]


@part
def _ranges(
    asked: Targeting, budget: float, reference: Floats, lower: Ints, upper: Ints, q_size: float, x_size: float
) -> tuple[Ints, Ints]:
    """Each bin's least value in the tables, and the number of its values; no bins if there are too many values."""
    n = len(reference)
    weight = np.empty(n)
    for i in range(n):
        weight[i] = 1.0
    low, number = terms.ranges(asked.q_kind, weight, reference, lower, upper, q_size, x_size, budget)
    values = 0.0
    for i in range(n):
        values += number[i]
    return (low, number) if values <= min(_MOST_VALUES, asked.memory // 33) else (low[:0], number[:0])


@part
def _parted(number: Ints) -> tuple[Ints, Ints]:
    """The bins with several values, and the others; if none has several, all of them count as such."""
    free, fixed = np.empty(len(number), np.int64), np.empty(len(number), np.int64)
    k = 0
    for i in range(len(number)):
        if number[i] > 1:
            free[k] = i
            k += 1
        else:
            fixed[i - k] = i
    return (free[:k], fixed[: len(number) - k]) if k > 0 else (fixed, free[:0])


@kernel
def _answer(logs: Fields, asked: Fields, users: Fields, counts: Ints, reached: Floats) -> None:
    """`_answer_all`, with plain tuples of the fields: Numba takes 2 µs longer to accept named ones from Python."""
    _answer_all(Targeting(terms.Logarithms(*logs), *asked), Bins(*users), counts, reached)


@part
def _answer_all(asked: Targeting, users: Bins, counts: Ints, reached: Floats) -> None:
    """Put the optimal counts of each user into `counts` and their figures into `reached`, if optimality is proven."""
    offset, all_original, all_target = items(users.offset), users.original, users.target
    all_lower, all_upper = users.lower, users.upper
    sizes = items(users.sizes)
    budget = asked.budget
    for u in range(len(offset) - 1):
        first, last = offset[u], offset[u + 1]
        q_size, p_size, x_size = sizes[0, u], sizes[1, u], sizes[2, u]
        if max(q_size, x_size) >= LARGEST_SIZE:
            continue
        size = int(x_size)
        original, target, lower, upper = (
            all_original[first:last],
            all_target[first:last],
            all_lower[first:last],
            all_upper[first:last],
        )
        reference = original.astype(np.float64)
        known, least = _start(asked.q_kind, reference, original, lower, upper, size, q_size)
        if least > budget:
            continue
        low, number = _ranges(asked, budget, reference, lower, upper, q_size, x_size)
        # Bins with a single value only shift the size, the budget and the objective, unless there are no others.
        free, fixed = _parted(number)
        start = np.zeros(len(free) + 1, np.int64)
        for k in range(len(free)):
            start[k + 1] = start[k] + number[free[k]]
        if len(low) == 0:
            continue
        held, spent, constant = _fixed(asked, fixed, reference, target, low, (q_size, p_size, x_size))
        f, g = _tabulate(asked, reference[free], target[free], start, low[free], (q_size, p_size, x_size))
        if len(f) == 0 or abs(constant) == math.inf:
            continue
        closed, found, objective, dual_bound, lam, mu = _search(
            asked, budget - spent, start, low[free], f, g, size - held, known[free]
        )
        if not closed or (asked.unbounded and _drowns(start, f, objective, constant)):
            continue
        if len(fixed) > 0:
            dual_bound += constant - dual.ROUNDING * abs(constant)
        best = low
        for k in range(len(free)):
            best[free[k]] = found[k]
        _order_ties(original, target, lower, upper, best)
        for i in range(last - first):
            counts[first + i] = best[i]
        reached[QUALITY, u] = terms.total(asked.q_kind, reference, best, q_size, x_size)
        reached[PRIVACY, u] = terms.total(asked.p_kind, target, best, p_size, x_size)
        reached[DUAL_BOUND, u], reached[COST_MULTIPLIER, u], reached[SIZE_MULTIPLIER, u] = dual_bound, lam, mu
