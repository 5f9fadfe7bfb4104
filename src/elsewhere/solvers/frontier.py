"""resemble and avoid (RO and AO) for many limits on the quality loss: one search for each, but a much smaller one.

Bins that differ only in their name form a class. A class acts as one bin whose choices are multisets of values, so the
search has fewer layers and meets no histogram twice. The tables are those of the largest limit. Each dual starts from
the one before.

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
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.problem import ROOM, Problem
from elsewhere.solvers import dual, label_queue, labels, one_call, terms
from elsewhere.solvers.choices import BYTES_PER_ENTRY, KINDS, table
from elsewhere.solvers.knapsack import BYTES_PER_COLUMN, LABEL_SHARE, Limits, Solution
from elsewhere.solvers.one_call import (
    COST_MULTIPLIER,
    DUAL_BOUND,
    LARGEST_SIZE,
    PRIVACY,
    QUALITY,
    SIZE_MULTIPLIER,
    is_plain,
    sort,
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
# Values with reduced costs of up to this many gaps are near the optimum. The dual of the next point starts with them.
_NEAR_GAPS = 8.0
_ROUNDS = 60
_CONVERGED = 1e-15
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# The first gap admits this many values besides the best. Later ones start from the gaps of the points before.
_FIRST_VALUES = 16
_GROWTH = 2.0
# If so many points in a row must be left to single calls, the rest is left, too.
_PATIENCE = 4
# Up to this many numbers are sorted by insertion.
_FEW = 24
# Rows of the labels of all layers, and of where they come from.
COST, OBJECTIVE, REDUCED, EXTRA = range(4)
PARENT, VIA, PLACED = range(3)
# The multipliers to start from and the step, those of the point before with its budget, the usual gap, and how many
# points were left in a row.
NEXT_LAM, NEXT_MU, STEP, LAM, MU, BUDGET, GAP, FAILURES = range(8)

kernel = kernel_over(dual, label_queue, labels, one_call)


class Classes(NamedTuple):
    """The classes and the terms of their values: class i has the values low[i], low[i] + 1, ... from start[i] on.

    Its bins are member[begin[i]], ..., sorted by name; `copies` has their number. `known` are feasible counts.
    """

    begin: Ints
    member: Ints
    class_of: Ints
    copies: Ints
    start: Ints
    low: Ints
    f: Floats
    g: Floats
    known: Ints


class Near(NamedTuple):
    """The entries near the optimum, those of class i from begin[i] on, with their reduced costs.

    The best entry of class i is at begin[i] + best[i].
    """

    begin: Ints
    best: Ints
    entry: Ints
    reduced: Floats


class Choices(NamedTuple):
    """Room for the choices of all classes: the sums of their values and of their terms, and what they take.

    Choice c takes the near entries of its class, in their order, taken[taken_at[c]], ... times.
    """

    value: Ints
    terms: Floats
    taken_at: Ints
    taken: Ints


class Labels(NamedTuple):
    """The labels of all layers, with rows COST to EXTRA and PARENT to PLACED; and new ones that are not sorted yet.

    In place of the size that it has placed, a new label has the size that it leaves.
    """

    label: Floats
    steps: Ints
    made: Floats
    origin: Ints


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


class Limited(NamedTuple):
    """The limits of a point: bytes of memory, sums in the completions, labels in all and in a layer."""

    memory: int
    completion_work: int
    label_work: int
    most_labels: int


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
    unbounded = problem.privacy.distance.unbounded
    most_labels = min(_MOST_LABELS, limits.memory // (LABEL_SHARE * _BYTES_PER_LABEL))
    limited = Limited(limits.memory, per_call(_COMPLETION_WORK), per_call(_LABEL_WORK), most_labels)
    counts = np.zeros((len(budgets), len(problem.original)), np.int64)
    reached = np.full((len(budgets), 5), math.nan)
    choices = Choices(
        np.empty(_MOST_CHOICES, np.int64), np.empty((3, _MOST_CHOICES)), np.empty(_MOST_CHOICES, np.int64),
        np.empty(_MOST_TAKEN, np.int64),
    )  # fmt: skip
    # Very bad values have rounding errors. If these matter, `exact._sharpened` is needed.
    greatest = np.maximum.reduceat(classes.f, classes.start[:-1])
    drowned = 1.01 * np.finfo(np.float64).eps * float((classes.copies * greatest).sum())
    state = State(*_start(classes))
    totals = np.array(budgets)
    done = 0
    while done < len(budgets):
        check_cancelled()
        begin, work = done, 1 if is_interpreting() else _WORK_PER_CALL
        done = _answer(limited, classes, state, problem.size, totals, done, work, choices, counts, reached)
        for own, (loss, best, bound, lam, mu) in zip(counts[begin:done], reached[begin:done].tolist(), strict=True):
            if math.isnan(best) or (unbounded and drowned > 1e-12 * (1.0 + abs(best))):
                yield None
            else:
                yield Solution(own, best, best, bound, lam, mu, quality_total=loss)


def _tabulated(problem: Problem, known: Ints, budget: float, limits: Limits) -> Classes | None:
    """The classes of a problem; None if their values are too many or too large, or infinitely far from the target."""
    privacy = problem.privacy
    assert privacy is not None
    if max(problem.quality.reference_size, problem.quality.size) >= LARGEST_SIZE:
        return None
    keys = np.stack((problem.upper, problem.lower, privacy.reference, problem.original))
    member = np.lexsort(keys)
    keys = keys[:, member]
    changes = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    begin = np.concatenate(([0], np.flatnonzero(changes) + 1, [len(member)]))
    first = member[begin[:-1]]
    class_of = np.empty(len(member), np.int64)
    class_of[member[0]] = 0
    class_of[member[1:]] = np.cumsum(changes)
    quality = problem.quality._replace(reference=problem.quality.reference[first])
    privacy = privacy._replace(reference=privacy.reference[first])
    # Bins of the same class are not at their best here, so the ranges may be too wide. They are narrowed anyway.
    low, number = terms.ranges(
        KINDS[quality.distance.name], np.ones(len(first)), quality.reference, problem.lower[first],
        problem.upper[first], quality.reference_size, quality.size, budget,
    )  # fmt: skip
    most = min(_MOST_VALUES, limits.memory // BYTES_PER_ENTRY)
    if len(first) > _MOST_CLASSES or float(number.sum(dtype=np.float64)) > most:
        return None
    start = np.zeros(len(first) + 1, np.int64)
    np.cumsum(number, out=start[1:])
    f, g = table(privacy, low, start, limits), table(quality, low, start, limits)
    if not np.isfinite(f).all():
        return None
    f = -f if problem.goal == "avoid" else f
    return Classes(begin, member, class_of, np.diff(begin), start, low, f, g, known)


@part
def _noise(objective: float) -> float:
    """The rounding error of sums near an objective, as in `knapsack`."""
    return 1e-14 + 1e-13 * abs(objective)


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
def _near(
    classes: Classes, first: Ints, last: Ints, lam: float, mu: float, least: Floats, widest: float
) -> tuple[Ints, Ints, Ints, Floats]:
    """The entries with a reduced cost of up to `widest`: where those of each class begin, which, and their costs.

    Also returns the position of the best one of each class, after where they begin.
    """
    start, low, f, g = items(classes.start), items(classes.low), items(classes.f), items(classes.g)
    n = len(low)
    begin, best, span = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.empty((2, n), np.int64)
    for i in range(n):
        shift, limit = low[i] - start[i], least[i] + widest
        number, a, b = 0, last[i], first[i]
        for e in range(first[i], last[i]):
            if f[e] + lam * g[e] - mu * (e + shift) <= limit:
                number += 1
                a, b = min(a, e), e
        begin[i + 1] = begin[i] + number
        span[0, i], span[1, i] = a, b
    near, reduced = np.empty(begin[n], np.int64), np.empty(begin[n])
    k = 0
    for i in range(n):
        shift, limit = low[i] - start[i], least[i] + widest
        for e in range(span[0, i], span[1, i] + 1):
            sum_ = f[e] + lam * g[e] - mu * (e + shift)
            if sum_ <= limit:
                near[k], reduced[k] = e, sum_ - least[i]
                if reduced[k] < reduced[begin[i] + best[i]]:
                    best[i] = k - begin[i]
                k += 1
    return begin, best, near, reduced


@part
def _first_gap(reduced: Floats) -> float:
    """A gap that admits a few values besides the best."""
    smallest = np.empty(_FIRST_VALUES)
    smallest[:] = math.inf
    for other in reduced:
        if 1e-13 < other < smallest[-1]:
            at = len(smallest) - 1
            while at > 0 and smallest[at - 1] > other:
                smallest[at] = smallest[at - 1]
                at -= 1
            smallest[at] = other
    gap = 1e-12
    for other in smallest:
        if other < math.inf:
            gap = other
    return gap


@part
def _in_order(near: Near, gap: float) -> tuple[Ints, int]:
    """The classes in the order of the search, and how many of these have no choice within the gap (not all).

    As in `knapsack`, labels multiply late if the classes whose second choice costs most come first.
    """
    begin, best, reduced = near.begin, near.best, near.reduced
    n = len(best)
    second = np.empty(n)
    fixed = 0
    for i in range(n):
        next_ = math.inf
        for k in range(begin[i], begin[i + 1]):
            if k != begin[i] + best[i]:
                next_ = min(next_, reduced[k])
        second[i] = -next_
        fixed += next_ > gap
    order = np.arange(n)
    sort(order, second)
    return order, min(fixed, n - 1)


@part
def _choices(classes: Classes, near: Near, gap: float, order: Ints, choices: Choices) -> tuple[Ints, int]:
    """The multisets of values of each class whose reduced costs sum to at most the gap, as layers, the cheapest first.

    Returns where the layers start, and the number of choices: 0 if there is no room for all of them.
    """
    start, low, f, g = items(classes.start), items(classes.low), items(classes.f), items(classes.g)
    begin, bests, entry, reduced = near.begin, near.best, near.entry, near.reduced
    copies, value, taken_at, taken = classes.copies, choices.value, choices.taken_at, choices.taken
    sums_f, sums_g, sums = choices.terms[labels.F], choices.terms[labels.G], choices.terms[labels.R]
    layer_start = np.zeros(len(order) + 1, np.int64)
    number = now = 0
    for layer in range(len(order)):
        i = order[layer]
        a, entries, best = begin[i], begin[i + 1] - begin[i], bests[i]
        if now + 2 * entries > len(taken):
            return layer_start, 0
        taken[now : now + entries] = 0
        taken[now + best] = copies[i]
        more = True
        while more:
            sum_ = 0
            objective = cost = above = 0.0
            for k in range(entries):
                count = taken[now + k]
                if count > 0:
                    e = entry[a + k]
                    sum_ += count * (low[i] + e - start[i])
                    objective += count * f[e]
                    cost += count * g[e]
                    above += count * reduced[a + k]
            at = number
            while at > layer_start[layer] and sums[at - 1] > above:
                value[at], taken_at[at] = value[at - 1], taken_at[at - 1]
                sums_f[at], sums_g[at], sums[at] = sums_f[at - 1], sums_g[at - 1], sums[at - 1]
                at -= 1
            value[at], taken_at[at] = sum_, now
            sums_f[at], sums_g[at], sums[at] = objective, cost, above
            number, now = number + 1, now + entries
            if number == len(value) or now + 2 * entries > len(taken):
                return layer_start, 0
            for k in range(entries):
                taken[now + k] = taken[now + k - entries]
            # The next multiset within the gap: one more of an entry, and none of those before it except the best.
            more = False
            for k in range(entries):
                if k == best:
                    continue
                if taken[now + best] > 0 and above + reduced[a + k] <= gap:
                    taken[now + k] += 1
                    taken[now + best] -= 1
                    more = True
                    break
                above -= taken[now + k] * reduced[a + k]
                taken[now + best] += taken[now + k]
                taken[now + k] = 0
        layer_start[layer + 1] = number
    return layer_start, number


@part
def _extend(
    layers: labels.Layers,
    completions: labels.Completions,
    task: labels.Task,
    layer: int,
    begin: int,
    end: int,
    found: float,
    reached: Labels,
) -> tuple[int, float, int]:
    """Make all labels of the next layer that may lead to a solution below `hope` that is as good as the best one found.

    Returns their number, the best objective found, and the work done.
    """
    start, value = items(layers.start), items(layers.value)
    f, g, reduced = items(layers.terms[labels.F]), items(layers.terms[labels.G]), items(layers.terms[labels.R])
    table, where = items(completions.table), completions.where
    first, width = where[labels.FIRST, layer + 1], where[labels.WIDTH, layer + 1]
    shift = where[labels.POSITION, layer + 1] - first
    label, steps, made, origin = items(reached.label), items(reached.steps), items(reached.made), items(reached.origin)
    hope, margin, budget, dual_bound = task.hope, task.margin, task.budget, task.dual
    limit = min(hope, found + margin)
    number = work = 0
    for k in range(begin, end):
        left = task.size - steps[PLACED, k]
        for e in range(start[layer], start[layer + 1]):
            work += 1
            above = label[REDUCED, k] + reduced[e]
            if dual_bound + above >= limit:
                break
            rest = left - value[e]
            if rest < first or rest >= first + width:
                continue
            at = shift + rest
            cost = label[COST, k] + g[e]
            objective = label[OBJECTIVE, k] + f[e]
            if (
                dual_bound + above + table[labels.REDUCED, at] >= limit
                or cost + table[labels.COST, at] > budget
                or objective + table[labels.OBJECTIVE, at] >= limit
            ):
                continue
            within = cost + table[labels.REDUCED_G, at] <= budget
            whole = objective + table[labels.REDUCED_F if within else labels.COST_F, at]
            if whole < found:
                found = whole
                limit = min(hope, found + margin)
            made[COST, number], made[OBJECTIVE, number], made[REDUCED, number] = cost, objective, above
            origin[PARENT, number], origin[VIA, number], origin[PLACED, number] = k, e, rest
            number += 1
    return number, found, work


@part
def _keep(
    completions: labels.Completions, task: labels.Task, layer: int, number: int, limit: float, end: int, reached: Labels
) -> int:
    """Append the labels just made that no other label dominates, by the size that they leave.

    If two have the same objective, the cheaper one is kept, with the extra cost of the other: the other leads to
    solutions that are as good, if the budget allows for the extra cost. Returns the end of the labels.
    """
    first, width = completions.where[labels.FIRST, layer + 1], completions.where[labels.WIDTH, layer + 1]
    at_first = completions.where[labels.POSITION, layer + 1]
    table = items(completions.table)
    label, steps, made, origin = items(reached.label), items(reached.steps), items(reached.made), items(reached.origin)
    costs, margin = reached.made[COST], task.margin
    offset, order = np.zeros(width + 1, np.int64), np.empty(number, np.int64)
    for k in range(number):
        offset[origin[PLACED, k] - first + 1] += 1
    for k in range(width):
        offset[k + 1] += offset[k]
    for k in range(number):
        bucket = origin[PLACED, k] - first
        order[offset[bucket]] = k
        offset[bucket] += 1
    begin = 0
    for bucket in range(width):
        stop = offset[bucket]
        if stop - begin > _FEW:
            sort(order[begin:stop], costs)
        else:
            for k in range(begin + 1, stop):
                me, at = order[k], k
                while at > begin and costs[order[at - 1]] > costs[me]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = me
        bound = task.dual + table[labels.REDUCED, at_first + bucket]
        least = math.inf
        for k in range(begin, stop):
            me = order[k]
            objective = made[OBJECTIVE, me]
            if objective >= least + margin or bound + made[REDUCED, me] >= limit:
                continue
            if objective >= least - margin:
                label[EXTRA, end - 1] = min(label[EXTRA, end - 1], costs[me] - label[COST, end - 1])
                continue
            least = objective
            parent = origin[PARENT, me]
            label[COST, end], label[OBJECTIVE, end] = costs[me], objective
            label[REDUCED, end], label[EXTRA, end] = made[REDUCED, me], label[EXTRA, parent]
            steps[PARENT, end], steps[VIA, end] = parent, origin[VIA, me]
            steps[PLACED, end] = task.size - first - bucket
            end += 1
        begin = stop
    return end


@part
def _search(
    layers: labels.Layers,
    completions: labels.Completions,
    task: labels.Task,
    cost: float,
    objective: float,
    found: float,
    work: int,
    most: int,
    chosen: Ints,
) -> tuple[float, float, float, float, int]:
    """Find the best solution below `hope`; `cost` and `objective` are those of the fixed classes.

    Returns its objective, or infinity; its cost, and the extra cost of another solution that is as good; the best
    objective found, even if it is not below `hope`; and the work that is left. That is below 0 if the search was not
    finished, or if a layer might have more than `most` labels. The choices of the layers go into `chosen`.
    """
    start = layers.start
    label, steps = np.empty((4, 256)), np.empty((3, 256), np.int64)
    made, origin = np.empty((3, 256)), np.empty((3, 256), np.int64)
    label[COST, 0], label[OBJECTIVE, 0], label[REDUCED, 0], label[EXTRA, 0] = cost, objective, 0.0, math.inf
    steps[PLACED, 0] = 0
    begin, end = 0, 1
    for layer in range(len(chosen)):
        room = (end - begin) * (start[layer + 1] - start[layer])
        if room > most or end > most:
            return math.inf, 0.0, 0.0, found, -1
        if room > made.shape[1]:
            made, origin = np.empty((3, room)), np.empty((3, room), np.int64)
        reached = Labels(label, steps, made, origin)
        number, found, done = _extend(layers, completions, task, layer, begin, end, found, reached)
        work -= done
        if number == 0 or work < 0:
            return math.inf, 0.0, 0.0, found, work
        if end + number > label.shape[1]:
            label, steps = labels.wider(label, 2 * (end + number)), labels.wider(steps, 2 * (end + number))
            reached = Labels(label, steps, made, origin)
        limit = min(task.hope, found + task.margin)
        begin, end = end, _keep(completions, task, layer, number, limit, end, reached)
    if end == begin:
        return math.inf, 0.0, 0.0, found, work
    at = end - 1  # labels of one size are sorted by cost, so the last is the best
    for layer in range(len(chosen) - 1, -1, -1):
        chosen[layer] = steps[VIA, at]
        at = steps[PARENT, at]
    return label[OBJECTIVE, end - 1], label[COST, end - 1], label[EXTRA, end - 1], found, work


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


@part
def _fix(classes: Classes, near: Near, order: Ints, fixed: int, counts: Ints) -> tuple[int, float, float]:
    """Give the classes that come first in the order their best value. Returns their size, cost and objective."""
    start, low, f, g, begin, member = classes.start, classes.low, classes.f, classes.g, classes.begin, classes.member
    near_begin, best, entry = near.begin, near.best, near.entry
    size, cost, objective = 0, 0.0, 0.0
    for at in range(fixed):
        i = order[at]
        e = entry[near_begin[i] + best[i]]
        for k in range(begin[i], begin[i + 1]):
            counts[member[k]] = low[i] + e - start[i]
        copies = begin[i + 1] - begin[i]
        size += copies * (low[i] + e - start[i])
        cost += copies * g[e]
        objective += copies * f[e]
    return size, cost, objective


@part
def _take(classes: Classes, near: Near, order: Ints, chosen: Ints, choices: Choices, counts: Ints) -> None:
    """Give the other classes what was chosen: larger counts to the names that sort first, as in `exact.ordered`."""
    start, low, begin, member = classes.start, classes.low, classes.begin, classes.member
    near_begin, entry, taken_at, taken = near.begin, near.entry, choices.taken_at, choices.taken
    for layer in range(len(order)):
        i = order[layer]
        to, often = begin[i], taken_at[chosen[layer]]
        for k in range(near_begin[i + 1] - near_begin[i] - 1, -1, -1):
            for _ in range(taken[often + k]):
                counts[member[to]] = low[i] + entry[near_begin[i] + k] - start[i]
                to += 1


@part
def _optimum(
    limited: Limited,
    classes: Classes,
    first: Ints,
    last: Ints,
    task: labels.Task,
    least: Floats,
    found: float,
    gap: float,
    held: Flags,
    choices: Choices,
    counts: Ints,
) -> tuple[float, int]:
    """Rounds of label search as in `knapsack`, from a guess of the gap on; a negative one means no guess.

    Puts the optimum into `counts` if it is the only one. Returns its gap, or infinity, and the work done. The values
    that are near the optimum are then held.
    """
    n, work = len(classes.low), limited.label_work
    budget, edge = task.budget, 1e-14 * (1.0 + abs(task.budget))  # costs this close are not told apart
    lam, mu, bound, margin = task.lam, task.mu, task.dual, task.margin
    widest = -1.0
    begin = best = entry = np.zeros(0, np.int64)
    reduced = np.zeros(0)
    while True:
        if gap >= 0.0:
            gap = min(max(gap, 2.0 * margin), found - bound + 2.0 * margin)
        if gap < 0.0 or gap > widest:
            widest = _NEAR_GAPS * gap if gap >= 0.0 else math.inf
            begin, best, entry, reduced = _near(classes, first, last, lam, mu, least, widest)
        if gap < 0.0:
            gap, widest = _first_gap(reduced), -1.0
            continue
        for k in range(len(entry)):
            held[entry[k]] = True
        near = Near(begin, best, entry, reduced)
        order, fixed = _in_order(near, gap)
        free = order[fixed:]
        layer_start, number = _choices(classes, near, gap, free, choices)
        if number == 0:
            break
        layers = labels.Layers(layer_start, choices.value, choices.terms, reduced)
        placed, cost, objective = _fix(classes, near, order, fixed, counts)
        left = task.size - placed
        where = np.zeros((3, n - fixed + 1), np.int64)
        where[labels.WIDTH, n - fixed] = 1
        begun = labels.Completions(where, np.zeros((6, 256)), np.zeros((2, 256), np.int64), n - fixed, -1, 1)
        where, table, taken, rest, next_, end = labels.complete(
            layers, left, gap, limited.memory // BYTES_PER_COLUMN, limited.completion_work, begun
        )
        if rest > 0 or where[labels.WIDTH, 0] < 0:
            break
        if where[labels.WIDTH, 0] > 0:
            completions = labels.Completions(where, table, taken, rest, next_, end)
            now = labels.Task(lam, mu, bound, left, budget + edge, bound + gap, margin)
            chosen = np.empty(n - fixed, np.int64)
            reached, cost, extra, found, work = _search(
                layers, completions, now, cost, objective, found, work, limited.most_labels, chosen
            )
            if work < 0:
                break
            if reached + margin < bound + gap:
                if cost > budget - edge or cost + extra <= budget + edge:
                    break
                _take(classes, near, free, chosen, choices, counts)
                return reached - bound, limited.label_work - work
        if gap >= found - bound + 2.0 * margin:
            break
        gap *= _GROWTH
    return math.inf, limited.label_work - work


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
        margin = 4.0 * (_noise(bound) + error)
        task = labels.Task(lam, mu, bound, size, budget, math.inf, margin)
        gap, spent = _optimum(limited, classes, first, last, task, least, known, number[GAP], held, choices, counts)
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
