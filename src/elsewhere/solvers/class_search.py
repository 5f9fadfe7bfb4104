"""The label search of `frontier` over classes of equal bins, from a dual bound to the optimum if it is the only one.

Bins that differ only in their name form a class. A class acts as one bin whose choices are multisets of values, so the
search has fewer layers than that of `labels`, and meets no histogram twice. A label also has the extra cost of another
one that is as good. So the search finds out whether its optimum is the only one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import items, part
from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers import labels
from elsewhere.solvers.knapsack import BYTES_PER_COLUMN

# Values with reduced costs of up to this many gaps are listed at once, because the next gaps may need them.
_NEAR_GAPS = 8.0
_GROWTH = 2.0
# Up to this many numbers are sorted by insertion.
_FEW = 24
# Rows of the labels of all layers, and of where they come from.
COST, OBJECTIVE, REDUCED, EXTRA = range(4)
PARENT, VIA, PLACED = range(3)


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

    A tail is a label of the last layers. In place of the size that it has placed, it has what is left for the others.
    A new label has the size that it leaves instead, and a new tail the size that it places.
    """

    label: Floats
    steps: Ints
    made: Floats
    origin: Ints


class Limited(NamedTuple):
    """The limits of a point: bytes of memory, sums in the completions, labels in all and in a layer."""

    memory: int
    completion_work: int
    label_work: int
    most_labels: int


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
    labels.sort(order, second)
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
def _extend_tails(
    layers: labels.Layers,
    completions: labels.Completions,
    task: labels.Task,
    layer: int,
    begin: int,
    end: int,
    found: float,
    reached: Labels,
) -> tuple[int, int]:
    """Make all tails that begin with this layer and may end a solution below `hope` that is as good as the best one.

    Returns their number and the work done.
    """
    start, value = items(layers.start), items(layers.value)
    f, g, reduced = items(layers.terms[labels.F]), items(layers.terms[labels.G]), items(layers.terms[labels.R])
    first, width = completions.where[labels.FIRST, layer], completions.where[labels.WIDTH, layer]
    label, steps, made, origin = items(reached.label), items(reached.steps), items(reached.made), items(reached.origin)
    spare = min(task.hope, found + task.margin) - task.dual
    number = work = 0
    for k in range(begin, end):
        placed = task.size - steps[PLACED, k]
        for e in range(start[layer], start[layer + 1]):
            work += 1
            above = label[REDUCED, k] + reduced[e]
            if above >= spare:
                break
            rest = placed + value[e]
            if rest < first or rest >= first + width:
                continue
            made[COST, number], made[OBJECTIVE, number] = label[COST, k] + g[e], label[OBJECTIVE, k] + f[e]
            made[REDUCED, number] = above
            origin[PARENT, number], origin[VIA, number], origin[PLACED, number] = k, e, rest
            number += 1
    return number, work


@part
def _keep(
    completions: labels.Completions,
    task: labels.Task,
    layer: int,
    is_tail: bool,
    number: int,
    limit: float,
    end: int,
    reached: Labels,
) -> int:
    """Append the labels or tails just made that no other dominates, by the size that is left for the layers from here.

    If two have the same objective, the cheaper one is kept, with the extra cost of the other: the other leads to
    solutions that are as good, if the budget allows for the extra cost. Returns the end of the labels.
    """
    first, width = completions.where[labels.FIRST, layer], completions.where[labels.WIDTH, layer]
    at_first = completions.where[labels.POSITION, layer]
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
            labels.sort(order[begin:stop], costs)
        else:
            for k in range(begin + 1, stop):
                me, at = order[k], k
                while at > begin and costs[order[at - 1]] > costs[me]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = me
        bound = task.dual if is_tail else task.dual + table[labels.REDUCED, at_first + bucket]
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
def _meet(
    layers: labels.Layers,
    task: labels.Task,
    layer: int,
    begin: int,
    end: int,
    first_tail: int,
    end_of_tails: int,
    reached: Labels,
) -> tuple[int, int, int, float, float]:
    """The best solution of a label, a choice of the layer that is left, and a tail: these three, and its objective.

    Also returns the objective of the best one with another label or choice. Labels are sorted by the size that they
    leave and tails by the size that they place, then by cost. Of the tails of a size, the more one costs, the better is
    its objective. So a label takes the most expensive one within the budget.
    """
    start, value, f, g = items(layers.start), items(layers.value), layers.terms[labels.F], layers.terms[labels.G]
    label, steps = items(reached.label), items(reached.steps)
    best = second = math.inf
    best_label = via = best_tail = -1
    for e in range(start[layer], start[layer + 1]):
        budget, shift, objective = task.budget - g[e], value[e], f[e]
        placed, first, stop, k = -1, first_tail, first_tail, first_tail
        for at in range(begin, end):
            if steps[PLACED, at] != placed:
                placed, first = steps[PLACED, at], stop
                while first < end_of_tails and steps[PLACED, first] > placed + shift:
                    first += 1
                stop = first
                while stop < end_of_tails and steps[PLACED, stop] == placed + shift:
                    stop += 1
                k = stop - 1
            while k >= first and label[COST, at] + label[COST, k] > budget:
                k -= 1
            if k < first:
                continue
            whole = label[OBJECTIVE, at] + objective + label[OBJECTIVE, k]
            if whole < best:
                second, best, best_label, via, best_tail = best, whole, at, e, k
            elif whole < second:
                second = whole
    return best_label, via, best_tail, best, second


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

    Labels of the first layers and tails of the last ones meet at a layer in between, because both multiply with every
    layer. The side that takes less work goes on.

    Returns its objective, or infinity; its cost, and the extra cost of another solution that is as good; the best
    objective found, even if it is not below `hope`; and the work that is left. That is below 0 if the search was not
    finished, or if a layer might have more than `most` labels. The choices of the layers go into `chosen`.
    """
    start = layers.start
    label, steps = np.empty((4, 256)), np.empty((3, 256), np.int64)
    made, origin = np.empty((3, 256)), np.empty((3, 256), np.int64)
    label[COST, 0], label[OBJECTIVE, 0], label[REDUCED, 0], label[EXTRA, 0] = cost, objective, 0.0, math.inf
    label[COST, 1], label[OBJECTIVE, 1], label[REDUCED, 1], label[EXTRA, 1] = 0.0, 0.0, 0.0, math.inf
    steps[PLACED, 0], steps[PLACED, 1] = 0, task.size
    begin, stop, first_tail, end_of_tails, end = 0, 1, 1, 2, 2
    layer, last = 0, len(chosen)
    while layer < last - 1:
        room = (stop - begin) * (start[layer + 1] - start[layer])
        tail_room = (end_of_tails - first_tail) * (start[last] - start[last - 1])
        is_tail = tail_room < room
        room = min(room, tail_room)
        if room > most or end > most:
            return math.inf, 0.0, 0.0, found, -1
        if room > made.shape[1]:
            made, origin = np.empty((3, room)), np.empty((3, room), np.int64)
        reached = Labels(label, steps, made, origin)
        if is_tail:
            last -= 1
            number, done = _extend_tails(layers, completions, task, last, first_tail, end_of_tails, found, reached)
        else:
            number, found, done = _extend(layers, completions, task, layer, begin, stop, found, reached)
            layer += 1
        work -= done
        if number == 0 or work < 0:
            return math.inf, 0.0, 0.0, found, work
        if end + number > label.shape[1]:
            label, steps = labels.wider(label, 2 * (end + number)), labels.wider(steps, 2 * (end + number))
            reached = Labels(label, steps, made, origin)
        limit = min(task.hope, found + task.margin)
        kept = _keep(completions, task, last if is_tail else layer, is_tail, number, limit, end, reached)
        if is_tail:
            first_tail, end_of_tails = end, kept
        else:
            begin, stop = end, kept
        end = kept
    work -= (start[layer + 1] - start[layer]) * (stop - begin + end_of_tails - first_tail)
    if work < 0:
        return math.inf, 0.0, 0.0, found, work
    reached = Labels(label, steps, made, origin)
    at, via, tail, whole, second = _meet(layers, task, layer, begin, stop, first_tail, end_of_tails, reached)
    if at < 0:
        return math.inf, 0.0, 0.0, found, work
    cost = label[COST, at] + layers.terms[labels.G, via] + label[COST, tail]
    extra = min(label[EXTRA, at], label[EXTRA, tail]) if second >= whole + task.margin else 0.0
    chosen[layer] = via
    for k in range(layer - 1, -1, -1):
        chosen[k] = steps[VIA, at]
        at = steps[PARENT, at]
    for k in range(last, len(chosen)):
        chosen[k] = steps[VIA, tail]
        tail = steps[PARENT, tail]
    return whole, cost, extra, min(found, whole), work


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
def optimum(
    limited: Limited,
    classes: Classes,
    first: Ints,
    last: Ints,
    task: labels.Task,
    least: Floats,
    found: float,
    gap: float,
    choices: Choices,
    counts: Ints,
) -> tuple[float, int]:
    """Rounds of label search as in `knapsack`, from a guess of the gap on; a negative one means no guess.

    Puts the optimum into `counts` if it is the only one. Returns its gap, or infinity, and the work done.
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
            gap, widest = max(labels.first_gap(reduced), 1e-12), -1.0
            continue
        near = Near(begin, best, entry, reduced)
        order, fixed = _in_order(near, gap)
        free = order[fixed:]
        layer_start, number = _choices(classes, near, gap, free, choices)
        if number == 0:
            break
        layers = labels.Layers(layer_start, choices.value, choices.terms, reduced)
        placed, cost, objective = _fix(classes, near, order, fixed, counts)
        left = task.size - placed
        where, table, taken = labels.first_columns(n - fixed)
        begun = labels.Completions(where, table, taken, n - fixed, -1, 1, 0)
        where, table, taken, rest, next_, end, unspent = labels.complete(
            layers, left, gap, limited.memory // BYTES_PER_COLUMN, limited.completion_work, begun
        )
        if rest > 0 or where[labels.WIDTH, 0] < 0:
            break
        if where[labels.WIDTH, 0] > 0:
            completions = labels.Completions(where, table, taken, rest, next_, end, unspent)
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
