"""Label search over the layers of the paper's graph: one value per bin, with a given sum and limited cost.

A label is a choice for the first bins, with its partial size s, cost g and objective f. Two rules keep labels few.
First, dominance: of two labels with the same s, one is dropped if the other is no worse in g and f. Second, bounds:
`complete` computes, for every layer and every size still to be placed, the least reduced cost, the least cost and the
least objective with which the other bins can place it. A label that cannot beat the incumbent within the budget is
dropped at once. Completions also turn every label into a solution, so the incumbent is good long before the last layer.

`complete` and `advance` do a bounded amount of work per call and return where they stopped, so that the caller can
check the clock in between. The result does not depend on where the calls stop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsewhere.kernels.jit import items, kernel_over, part
from elsewhere.model.arrays import Floats, Indices, Ints, Number
from elsewhere.solvers import label_queue
from elsewhere.solvers.label_queue import BOUND, COST_SO_FAR, OBJECTIVE_SO_FAR, SAME, is_dropped, promising, settle

# Rows of the completion table, each over (layer, size still to be placed): the least reduced cost, with the objective
# and the cost along that completion; the least cost, with the objective along it; the least objective.
REDUCED, REDUCED_F, REDUCED_G, COST, COST_F, OBJECTIVE = range(6)
_BY_REDUCED, _BY_COST = 0, 1
# The record of the best solution: the objective; the layer and label that it extends, by which entry, and the kind of
# completion from there; and the least bound of the labels that were dropped for lack of memory.
FOUND, LAYER, LABEL, ENTRY, KIND, GIVEN_UP = range(6)
# Rows of the steps by which all labels were reached: the label extended, the entry that extended it, and the node in
# the prefix tree of the forbidden histograms (-1: none of them any more).
PARENT, VIA, NODE = range(3)
# Rows of the values' terms, and of the positions of a layer's completions in their table.
F, G, R = range(3)
FIRST, WIDTH, POSITION = range(3)
# The first gap admits this many values besides the best.
_FIRST_VALUES = 16
# Reduced costs below this share of the first gap are rounding errors.
_SMALL = 1e-6
# How many labels can be skipped in the time that it takes to process one.
_SKIPPED_PER_LABEL = 8

kernel = kernel_over(label_queue)


class Layers(NamedTuple):
    """The values of a round: layer i, which is one bin, has those at start[i]..start[i + 1]."""

    start: Ints
    value: Ints
    #: Rows F, G and R: the objective, the cost and the reduced cost of each value.
    terms: Floats
    #: The bins' least reduced sums, added up layer by layer, without the sizes of bins before the first layer.
    passed: Floats


class Task(NamedTuple):
    """The goal of a round: values that sum to `size`, with a cost within `budget` and an objective below `hope`.

    `lam` and `mu` are the multipliers of cost and size, and `dual` is the bound that they prove. Solutions that are
    better by at most `margin` are ignored.
    """

    lam: float
    mu: float
    dual: float
    size: int
    budget: float
    hope: float
    margin: float


class Completions(NamedTuple):
    """The completion table, as far as it has been computed.

    Layer i can be left with the sizes where[FIRST, i], where[FIRST, i] + 1, ..., where[WIDTH, i] of them; they begin at
    column where[POSITION, i] of the table. `taken` holds the entry that each kind of completion takes first. In a
    finished table the width of layer 0 is 0 if no completion is within the gap, and -1 if the table was given up.
    """

    where: Ints
    table: Floats
    taken: Ints
    #: Layers still to do, from the last to the first; the next entry of the current layer, or -1 before its first.
    layers: int
    entry: int
    #: Columns in use.
    end: int
    #: How much of the last call's work was not done; negative if it did a bit more.
    unspent: int


class Labels(NamedTuple):
    """The labels of a layer, and those of the next layer that have been made so far.

    There is one bucket for each partial size base, base + 1, ..., sorted by cost; `offset` has the starts of the
    buckets. `steps` records every label of every layer.
    """

    layer: int
    label: Floats
    offset: Ints
    base: int
    steps: Indices
    #: The next layer: its labels, where its buckets end, and the numbers of labels and buckets.
    made: Floats
    made_offset: Ints
    made_labels: int
    made_buckets: int
    #: As in `Completions`.
    unspent: int


class Forbidden(NamedTuple):
    """The prefix tree of the forbidden histograms: a column for each, a row for each layer.

    `value` has their values; `node` has, for each layer, the first column with the same values in all layers before.
    """

    node: Ints
    value: Ints


@part
def sort(order: Ints, key: Floats) -> None:
    """Sort bin numbers by their keys in ascending order; the sort is stable."""
    n = len(order)
    other = np.empty_like(order)
    width = 1
    while width < n:
        for begin in range(0, n - width, 2 * width):
            middle, end = begin + width, min(begin + 2 * width, n)
            if key[order[middle - 1]] <= key[order[middle]]:
                continue
            i, j = begin, middle
            for k in range(begin, end):
                if i < middle and (j == end or key[order[i]] <= key[order[j]]):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
            for k in range(begin, end):
                order[k] = other[k]
        width *= 2


@part
def _in_order(second: Floats, small: float) -> Ints:
    """The bins in the order of the layers, by the reduced costs of their second choices.

    Labels multiply late if the bins whose second choice costs most come first. If it costs nothing, equal bins come
    last: what several equal bins can complete is known exactly.
    """
    n = len(second)
    order = np.arange(n)
    sort(order, -second)
    free = n
    while free > 0 and second[order[free - 1]] <= small:
        free -= 1
    equal = np.empty(n)
    begin = free
    while begin < n:
        end = begin
        while end < n and second[order[end]] == second[order[begin]]:
            end += 1
        for k in range(begin, end):
            equal[order[k]] = end - begin
        begin = end
    sort(order[free:], equal)
    return order


@part
def first_gap(reduced: Floats) -> float:
    """A first guess of the gap between the dual and the optimum: the gap that admits a few values besides the best."""
    reduced = items(reduced)
    smallest = np.empty(_FIRST_VALUES)
    smallest[:] = math.inf
    for e in range(len(reduced)):
        if 1e-13 < reduced[e] < smallest[-1]:
            at = len(smallest) - 1
            while at > 0 and smallest[at - 1] > reduced[e]:
                smallest[at] = smallest[at - 1]
                at -= 1
            smallest[at] = reduced[e]
    gap = 0.0
    for other in smallest:
        if other < math.inf:
            gap = other
    return gap


@kernel
def reduced_costs(
    start: Ints, low: Ints, f: Floats, g: Floats, lam: float, mu: float
) -> tuple[Floats, Floats, Ints, float]:
    """The reduced cost of each value: how much it costs above the best of its bin for these multipliers.

    Also returns the bins' best, the bins in the order of the layers, and a first guess of the gap.
    """
    start, low, f, g = items(start), items(low), items(f), items(g)
    n = len(start) - 1
    reduced = np.empty(len(f))
    best = np.empty(n)
    second = np.empty(n)
    for i in range(n):
        least = next_ = math.inf
        for e in range(start[i], start[i + 1]):
            reduced[e] = f[e] + lam * g[e] - mu * (low[i] + e - start[i])
            if reduced[e] < least:
                least, next_ = reduced[e], least
            elif reduced[e] < next_:
                next_ = reduced[e]
        best[i] = least
        second[i] = next_ - least
        for e in range(start[i], start[i + 1]):
            reduced[e] -= least
    guess = first_gap(reduced)
    return reduced, best, _in_order(second, _SMALL * guess), guess


@kernel
def select(
    start: Ints,
    low: Ints,
    f: Floats,
    g: Floats,
    reduced: Floats,
    limit: float,
    order: Ints,
    best: Floats,
    lam: float,
    most_fixed: int,
) -> tuple[Ints, float, float, Ints, Ints, Floats, Floats]:
    """The values with a reduced cost of at most `limit`, bin by bin in the given order, as the fields of `Layers`.

    Of the first bins, up to `most_fixed` have a single such value and need no layers. Before the layers, returns the
    values of these bins, and the sums of their costs and objectives.
    """
    start, low, f, g, reduced = items(start), items(low), items(f), items(g), items(reduced)
    n = len(order)
    number = np.zeros(n, np.int64)
    total = 0
    for layer in range(n):
        i = order[layer]
        for e in range(start[i], start[i + 1]):
            number[layer] += reduced[e] <= limit
        total += number[layer]
    fixed = 0
    while fixed < most_fixed and number[fixed] == 1:
        fixed += 1
    fixed_value = np.empty(fixed, np.int64)
    layer_start = np.zeros(n - fixed + 1, np.int64)
    value, table = np.empty(total - fixed, np.int64), np.empty((3, total - fixed))
    passed = np.zeros(n - fixed + 1)
    cost = objective = 0.0
    k = 0
    for layer in range(n):
        i = order[layer]
        for e in range(start[i], start[i + 1]):
            if reduced[e] > limit:
                continue
            x = low[i] + e - start[i]
            if layer < fixed:
                fixed_value[layer] = x
                cost += g[e]
                objective += f[e]
                continue
            value[k], table[F, k], table[G, k], table[R, k] = x, f[e], g[e], reduced[e]
            k += 1
        if layer + 1 == fixed:
            passed[0] = objective + lam * cost
        if layer >= fixed:
            layer_start[layer - fixed + 1] = k
            passed[layer - fixed + 1] = passed[layer - fixed] + best[i]
    return fixed_value, cost, objective, layer_start, value, table, passed


@part
def wider(table: NDArray[Number], columns: int) -> NDArray[Number]:
    """The same rows with room for more columns."""
    wide = np.empty((table.shape[0], columns), table.dtype)
    into, old = items(wide), items(table)
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            into[row, column] = old[row, column]
    return wide


@part
def first_columns(layers: int) -> tuple[Ints, Floats, Ints]:
    """The arrays of the completion table before the first call: after the last layer, nothing is left to be placed.

    Small questions use few columns of the table, so the others are not filled with zeros.
    """
    where, table, taken = np.zeros((3, layers + 1), np.int64), np.empty((6, 256)), np.empty((2, 256), np.int64)
    where[WIDTH, layers] = 1
    for row in range(6):
        table[row, 0] = 0.0
    return where, table, taken


def no_completions(layers: int) -> Completions:
    """The completion table before the first call."""
    return Completions(*first_columns(layers), layers, -1, 1, 0)


@kernel
def complete(
    layers: Layers, size: int, limit: float, most: int, work: int, so_far: Completions
) -> tuple[Ints, Floats, Ints, int, int, int, int]:
    """Continue the completion table, from the last layer to the first, until about `work` sums were compared.

    Completions with a reduced cost above `limit` are left out. The table is given up beyond `most` columns. Returns the
    fields of `Completions`.
    """
    start, value = layers.start, layers.value
    f, g, reduced = layers.terms[F], layers.terms[G], layers.terms[R]
    where, table, taken = so_far.where, so_far.table, so_far.taken
    first, width, position = where[FIRST], where[WIDTH], where[POSITION]
    left, entry, end = so_far.layers, so_far.entry, so_far.end
    n = len(start) - 1
    least = np.zeros(n + 1, np.int64)
    greatest = np.zeros(n + 1, np.int64)
    for i in range(n):
        a = b = value[start[i]]
        for e in range(start[i], start[i + 1]):
            a = min(a, value[e])
            b = max(b, value[e])
        least[i + 1] = least[i] + a
        greatest[i + 1] = greatest[i] + b
    while left > 0 and work > 0:
        i = left - 1
        after, after_width, after_at = first[i + 1], width[i + 1], position[i + 1]
        low = max(after + least[i + 1] - least[i], size - greatest[i])
        high = min(after + after_width - 1 + greatest[i + 1] - greatest[i], size - least[i])
        span = high - low + 1
        if entry < 0:
            if end + span > most:
                width[0] = -1
                left = 0
                break
            if span <= 0:
                width[0] = 0
                left = 0
                break
            columns = table.shape[1]
            while end + span > columns:
                columns *= 2
            if columns > table.shape[1]:
                table, taken = wider(table, columns), wider(taken, columns)
            work -= span
            for k in range(end, end + span):
                for row in range(6):
                    table[row, k] = math.inf
            entry = start[i]
        while entry < start[i + 1] and work > 0:
            e = entry
            shift = value[e] + after - low
            for k in range(max(0, -shift), min(after_width, span - shift)):
                source = after_at + k
                if table[REDUCED, source] == math.inf:
                    continue
                sink = end + k + shift
                sum_ = reduced[e] + table[REDUCED, source]
                if sum_ < table[REDUCED, sink]:
                    table[REDUCED, sink] = sum_
                    table[REDUCED_F, sink] = f[e] + table[REDUCED_F, source]
                    table[REDUCED_G, sink] = g[e] + table[REDUCED_G, source]
                    taken[_BY_REDUCED, sink] = e
                sum_ = g[e] + table[COST, source]
                if sum_ < table[COST, sink]:
                    table[COST, sink] = sum_
                    table[COST_F, sink] = f[e] + table[COST_F, source]
                    taken[_BY_COST, sink] = e
                table[OBJECTIVE, sink] = min(table[OBJECTIVE, sink], f[e] + table[OBJECTIVE, source])
            work -= 1 + min(after_width, span)
            entry += 1
        if entry < start[i + 1]:
            break
        a, b = 0, span - 1
        while a <= b and table[REDUCED, end + a] > limit:
            a += 1
        while b >= a and table[REDUCED, end + b] > limit:
            b -= 1
        if b < a:
            width[0] = 0
            left = 0
            break
        for k in range(end + a, end + b + 1):
            if table[REDUCED, k] > limit:
                table[REDUCED, k] = math.inf
        first[i], width[i], position[i] = low + a, b - a + 1, end + a
        end += b + 1
        left, entry = i, -1
    return where, table, taken, left, entry, end, work


def prefix_tree(value: Ints) -> Forbidden:
    """The tree of forbidden histograms that are given as columns, a row for each layer."""
    layers, columns = value.shape
    node = np.zeros((layers + 1, columns), np.int64)
    if not columns:
        return Forbidden(node, value)
    differ = (value != value[:, :1]).any(axis=1)
    for layer in range(layers):
        if not differ[layer]:
            node[layer + 1] = node[layer]
            continue
        order = np.lexsort((value[layer], node[layer]))  # stable: the first of equal columns comes first
        follows = (np.diff(node[layer][order]) == 0) & (np.diff(value[layer][order]) == 0)
        begins = np.flatnonzero(np.append(True, ~follows))
        node[layer + 1, order] = np.repeat(order[begins], np.diff(np.append(begins, columns)))
    return Forbidden(node, value)


@part
def _follow(nodes: Ints, values: Ints, layer: int, node: int, value: int) -> int:
    """The node of the forbidden histograms' prefix tree that `value` leads to, or -1 when it leaves the tree."""
    for k in range(nodes.shape[1]):
        if nodes[layer, k] == node and values[layer, k] == value:
            return int(nodes[layer + 1, k])
    return -1


def first_label(forbidden: Forbidden, cost: float, objective: float) -> Labels:
    """The labels before the first layer: a single one, with the cost and the objective of the bins before it."""
    steps = np.zeros((3, 1024), np.int32)
    steps[NODE, 0] = 0 if forbidden.node.shape[1] else -1
    label = np.zeros((3, 1))
    label[COST_SO_FAR, 0], label[OBJECTIVE_SO_FAR, 0] = cost, objective
    return Labels(0, label, np.array([0, 1]), 0, steps, label, np.zeros(1, np.int64), 0, 0, 0)


@kernel
def advance(
    layers: Layers,
    completions: Completions,
    task: Task,
    forbidden: Forbidden,
    keep: int,
    work: int,
    so_far: Labels,
    layer_at: Ints,
    best: Floats,
) -> tuple[int, Floats, Ints, int, Indices, Floats, Ints, int, int, int]:
    """Extend the labels, layer by layer, until about `work` were tried or a layer has over `keep` of them.

    The steps of the labels of layer i begin at layer_at[i]. Returns the fields of `Labels`.
    """
    start, value, passed = items(layers.start), items(layers.value), items(layers.passed)
    f, g = items(layers.terms[F]), items(layers.terms[G])
    table, where = items(completions.table), completions.where
    first, width, position = items(where[FIRST]), items(where[WIDTH]), items(where[POSITION])
    lam, size, budget, margin = task.lam, task.size, task.budget, task.margin
    layer, label, offset, base, steps = so_far.layer, so_far.label, so_far.offset, so_far.base, so_far.steps
    new, new_offset, count, bucket = so_far.made, so_far.made_offset, so_far.made_labels, so_far.made_buckets
    n = len(start) - 1
    head, stop = items(np.empty(len(value), np.int64)), items(np.empty(len(value), np.int64))
    entry, key = items(np.empty(len(value), np.int64)), items(np.empty((2, len(value))))
    before = best.copy()
    # A bucket that must be processed again is finished in this call, so the work does not depend on where calls stop.
    whole, again, begins = False, False, bucket == 0
    while layer < n and (work > 0 or again) and offset[-1] <= keep:
        low = size - (first[layer + 1] + width[layer + 1] - 1)
        extended = items(label)
        at = layer_at[layer]
        new_at = layer_at[layer + 1] = at + offset[-1]
        # Arrays are assigned only here: in the loops below, that would update reference counts in each round.
        if begins:
            new = np.empty((3, 16 + 2 * offset[-1]))
            new_offset = np.zeros(width[layer + 1] + 1, np.int64)
            begins, count = False, 0
        room = 0
        while bucket < width[layer + 1] and (work > 0 or again):
            s = low + bucket
            column = position[layer + 1] + size - s - first[layer + 1]
            tests = label_queue.Tests(
                lam,
                budget,
                table[COST, column],
                table[OBJECTIVE, column],
                task.dual - passed[layer + 1] - task.mu * s + table[REDUCED, column],
            )
            limit = min(task.hope, best[FOUND]) - margin
            lists = made = 0
            tied = False
            if table[REDUCED, column] < math.inf:
                for e in range(start[layer], start[layer + 1]):
                    source = s - value[e] - base
                    if not 0 <= source < len(offset) - 1:
                        continue
                    k, end = offset[source], offset[source + 1]
                    if not whole:
                        k, same = promising(extended, k, end, g[e], f[e], -math.inf, math.inf, limit, tests)
                        tied = tied or same
                        work -= (k - offset[source]) // _SKIPPED_PER_LABEL
                    if k < end:
                        made += end - k
                        head[lists], stop[lists], entry[lists] = k, end, e
                        key[0, lists], key[1, lists] = (
                            extended[COST_SO_FAR, k] + g[e],
                            extended[OBJECTIVE_SO_FAR, k] + f[e],
                        )
                        lists += 1
            if count + made > new.shape[1] or new_at + count + made > steps.shape[1]:
                room, again = made, True
                break
            for k in range(lists // 2 - 1, -1, -1):
                settle(key, head, stop, entry, lists, k)
            work -= 1 + (start[layer + 1] - start[layer]) // _SKIPPED_PER_LABEL
            least = math.inf
            for field in range(len(best)):
                before[field] = best[field]
            while lists > 0 and not tied:
                cost, objective, parent, e = key[0, 0], key[1, 0], head[0], entry[0]
                work -= 1
                if cost + tests.cost_left > budget:
                    break
                limit = min(task.hope, best[FOUND]) - margin
                keeps = not is_dropped(objective, cost, least, limit, tests)
                node = -1
                if keeps and steps[NODE, at + parent] >= 0:
                    node = _follow(forbidden.node, forbidden.value, layer, steps[NODE, at + parent], value[e])
                    keeps = node < 0 or layer + 1 < n
                if keeps:
                    new[COST_SO_FAR, count] = cost
                    new[OBJECTIVE_SO_FAR, count] = objective
                    new[BOUND, count] = objective + lam * cost + tests.rest
                    steps[PARENT, new_at + count] = parent
                    steps[VIA, new_at + count] = e
                    steps[NODE, new_at + count] = node
                    count += 1
                if keeps and node < 0:
                    # A label on the tree may yet become a forbidden histogram: it neither shadows another label
                    # nor makes an incumbent.
                    least = objective
                    kind, sum_ = _BY_REDUCED, objective + table[REDUCED_F, column]
                    if cost + table[REDUCED_G, column] > budget:
                        kind, sum_ = _BY_COST, objective + table[COST_F, column]
                    if sum_ < best[FOUND] - margin:
                        best[FOUND], best[LAYER], best[LABEL], best[ENTRY], best[KIND] = sum_, layer, parent, e, kind
                k, end = parent + 1, stop[0]
                if not whole:
                    k, tied = promising(extended, k, end, g[e], f[e], cost, least, limit, tests)
                    work -= (k - parent) // _SKIPPED_PER_LABEL
                if k < end:
                    head[0] = k
                    key[0, 0], key[1, 0] = extended[COST_SO_FAR, k] + g[e], extended[OBJECTIVE_SO_FAR, k] + f[e]
                else:
                    lists -= 1
                    head[0], stop[0], entry[0] = head[lists], stop[lists], entry[lists]
                    key[0, 0], key[1, 0] = key[0, lists], key[1, lists]
                settle(key, head, stop, entry, lists, 0)
                # Of two equal labels the order matters only if the first is kept.
                tied = tied or (keeps and not whole and lists > 0 and key[0, 0] == cost and key[1, 0] == objective)
            whole = again = tied
            if tied:
                count = new_offset[bucket]
                for field in range(len(best)):
                    best[field] = before[field]
                continue
            bucket += 1
            new_offset[bucket] = count
        if room > 0:  # for the labels of the next bucket, which is then processed again
            if count + room > new.shape[1]:
                new = wider(new, 2 * (count + room))
            if new_at + count + room > steps.shape[1]:
                steps = wider(steps, 2 * (new_at + count + room))
            continue
        if bucket < width[layer + 1]:
            break
        layer += 1
        label, offset, base, bucket, begins = new, new_offset, low, 0, True
        if count == 0:
            layer = n
    return layer, label, offset, base, steps, new, new_offset, count, bucket, work


@kernel
def trace(
    start: Ints, value: Ints, where: Ints, taken: Ints, size: int, steps: Indices, layer_at: Ints, best: Floats
) -> Ints:
    """The incumbent's values, layer by layer: first those of its label, then those of its completion."""
    first, position = where[FIRST], where[POSITION]
    n = len(start) - 1
    chosen = np.empty(n, np.int64)
    layer, label, kind = int(best[LAYER]), int(best[LABEL]), int(best[KIND])
    chosen[layer] = value[int(best[ENTRY])]
    left = size - chosen[layer]
    for i in range(layer - 1, -1, -1):
        at = layer_at[i + 1] + label
        chosen[i] = value[steps[VIA, at]]
        left -= chosen[i]
        label = steps[PARENT, at]
    for i in range(layer + 1, n):
        chosen[i] = value[taken[kind, position[i] + left - first[i]]]
        left -= chosen[i]
    return chosen


def thin(label: Floats, offset: Ints, steps: Indices, at: int, keep: int) -> tuple[Ints, float]:
    """Keep the labels of a layer with the least bounds, evenly spread among equals, in place.

    Returns the new offsets and the least bound of the dropped labels.
    """
    count = int(offset[-1])
    bound = label[BOUND, :count]
    cut = np.partition(bound, keep - 1)[keep - 1]
    stays = bound < cut - SAME
    equal = np.flatnonzero((bound >= cut - SAME) & (bound <= cut + SAME))
    stays[equal[np.linspace(0, len(equal) - 1, keep - int(stays.sum())).astype(np.int64)]] = True
    given_up = float(bound[~stays].min(initial=math.inf))
    kept = int(stays.sum())
    label[:, :kept] = label[:, :count][:, stays]
    steps[:, at : at + kept] = steps[:, at : at + count][:, stays]
    return np.concatenate(([0], np.cumsum(stays)))[offset], given_up
