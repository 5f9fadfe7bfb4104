"""Kernels of the search over a tree: Lagrangian bounds by convex merging, and labels merged along the tree.

The tree is binary here: a node with many children becomes a cascade of mergers. Merger u has the values low[u],
low[u] + 1, ... at start[u]..start[u + 1] of every table. Its value is the sum of the values of its two children; a
merger without children is a bin. Children come before their parents, and the last merger is the root.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Floats, Ints

#: Pairs of labels to try for one value, per label that it may keep.
_MOST_TRIED = 1_000


class Mergers(NamedTuple):
    """The binary tree with the terms of each value of each merger; an infinite objective marks a forbidden value."""

    left: Ints
    right: Ints
    low: Ints
    start: Ints
    objective: Floats
    cost: Floats


@kernel
def tighten(left: Ints, right: Ints, low: Ints, high: Ints) -> bool:
    """Narrow the ranges of all mergers to values that are sums of values; False if a merger is left without any."""
    for u in range(len(low)):
        if left[u] >= 0:
            low[u] = max(low[u], low[left[u]] + low[right[u]])
            high[u] = min(high[u], high[left[u]] + high[right[u]])
        if low[u] > high[u]:
            return False
    for u in range(len(low) - 1, -1, -1):
        one, two = left[u], right[u]
        if one >= 0:
            # Both bounds are computed before either changes: neither tightens the other.
            one_low, one_high = max(low[one], low[u] - high[two]), min(high[one], high[u] - low[two])
            two_low, two_high = max(low[two], low[u] - high[one]), min(high[two], high[u] - low[one])
            low[one], high[one], low[two], high[two] = one_low, one_high, two_low, two_high
    return True


@kernel
def totals(left: Ints, right: Ints, counts: Ints) -> Ints:
    """The value of every merger, given the counts of the bins."""
    values = np.empty(len(left), np.int64)
    values[: len(counts)] = counts
    for u in range(len(counts), len(left)):
        values[u] = values[left[u]] + values[right[u]]
    return values


@part
def _envelope(value: Floats, objective: Floats, cost: Floats, hull: Ints) -> None:
    """Replace a function by its lower convex envelope, together with the two parts of its values.

    The first and the last value are finite. `hull` is a work array for indices.
    """
    n = len(value)
    convex = True
    for k in range(1, n - 1):
        if not value[k] - value[k - 1] <= value[k + 1] - value[k]:
            convex = False
            break
    if convex:
        return
    size = 0
    for k in range(n):
        if value[k] == math.inf:
            continue
        while size > 1:
            i, j = hull[size - 2], hull[size - 1]
            if (value[j] - value[i]) * (k - j) <= (value[k] - value[j]) * (j - i):
                break
            size -= 1
        hull[size] = k
        size += 1
    for h in range(size - 1):
        i, j = hull[h], hull[h + 1]
        for k in range(i + 1, j):
            share = (k - i) / (j - i)
            value[k] = value[i] + share * (value[j] - value[i])
            objective[k] = objective[i] + share * (objective[j] - objective[i])
            cost[k] = cost[i] + share * (cost[j] - cost[i])


@kernel
def inside(
    mergers: Mergers, weight: float, multiplier: float, inner: Floats, own: Floats, objective: Floats, cost: Floats
) -> None:
    """A lower bound on weight * objective + multiplier * cost below every merger, for each of its values.

    The bound goes into `inner`, its two parts into `objective` and `cost`, and the merger's own part into `own`. Every
    function is replaced by its convex envelope, so that two of them are merged by sorting their slopes. For convex
    terms the bound is exact.
    """
    left, right, low, start = mergers.left, mergers.right, mergers.low, mergers.start
    widest = 0
    for u in range(len(low)):
        widest = max(widest, start[u + 1] - start[u])
    hull = np.empty(widest, np.int64)
    own_p = np.empty(widest)
    own_q = np.empty(widest)
    for u in range(len(low)):
        first, last = start[u], start[u + 1]
        n = last - first
        for k in range(n):
            p, q = mergers.objective[first + k], mergers.cost[first + k]
            own_p[k], own_q[k] = p, q
            own[first + k] = math.inf if p == math.inf else weight * p + multiplier * q
        _envelope(own[first:last], own_p[:n], own_q[:n], hull)
        one, two = left[u], right[u]
        if one < 0:
            inner[first:last] = own[first:last]
            objective[first:last] = own_p[:n]
            cost[first:last] = own_q[:n]
            continue
        i, j = start[one], start[two]
        i_end, j_end = start[one + 1] - 1, start[two + 1] - 1
        for k in range(low[one] + low[two] - low[u], n):
            if k >= 0:
                inner[first + k] = inner[i] + inner[j] + own[first + k]
                objective[first + k] = objective[i] + objective[j] + own_p[k]
                cost[first + k] = cost[i] + cost[j] + own_q[k]
            if i == i_end and j == j_end:
                break
            if j == j_end or (i < i_end and inner[i + 1] - inner[i] <= inner[j + 1] - inner[j]):
                i += 1
            else:
                j += 1


@kernel
def outside(mergers: Mergers, inner: Floats, own: Floats, outer: Floats) -> None:
    """A lower bound on everything that is not below a merger, for each of its values, given the bounds of `inside`."""
    left, right, low, start = mergers.left, mergers.right, mergers.low, mergers.start
    root = len(low) - 1
    outer[start[root] : start[root + 1]] = 0.0
    for u in range(root, -1, -1):
        if left[u] < 0:
            continue
        first, n = start[u], start[u + 1] - start[u]
        for child, sibling in ((left[u], right[u]), (right[u], left[u])):
            # The minimum over b of inner(b) + rest(a + b), for increasing a: b decreases, or a + b increases.
            begin, end = start[child], start[child + 1]
            b, k = start[sibling + 1] - 1, 0
            a = low[u] - (low[sibling] + b - start[sibling]) - low[child]
            while a < end - begin:
                if a >= 0:
                    outer[begin + a] = inner[b] + own[first + k] + outer[first + k]
                down = inner[b - 1] - inner[b] if b > start[sibling] else math.inf
                up = math.inf
                if k + 1 < n:
                    up = own[first + k + 1] + outer[first + k + 1] - own[first + k] - outer[first + k]
                if down == math.inf and up == math.inf:
                    break
                if down <= up:
                    b -= 1
                else:
                    k += 1
                a += 1


@kernel
def sharpen(mergers: Mergers, multiplier: float, hope: float, inner: Floats, outer: Floats, work: int) -> bool:
    """Replace the bounds of `inside` and `outside` by exact ones over the values that fit `hope`; others are infinite.

    For terms that are not convex, the envelopes are too low. Returns whether at most `work` sums were enough.
    """
    left, right, low, start, p, q = mergers
    places = np.flatnonzero((inner + outer <= hope) & (p < math.inf))
    first = np.searchsorted(places, start)
    for u in range(len(low)):
        if left[u] >= 0:
            one, two = left[u], right[u]
            work -= (first[one + 1] - first[one]) * (first[two + 1] - first[two])
    if work < 0:
        return False
    allowed = np.zeros(len(p), np.bool_)
    allowed[places] = True
    inner[:] = math.inf
    outer[:] = math.inf
    for u in range(len(low)):
        one, two = left[u], right[u]
        if one >= 0:
            for i in places[first[one] : first[one + 1]]:
                shift = start[u] - low[u] + (low[one] + i - start[one]) + low[two] - start[two]
                for j in places[first[two] : first[two + 1]]:
                    e = shift + j
                    if start[u] <= e < start[u + 1] and allowed[e]:
                        inner[e] = min(inner[e], inner[i] + inner[j])
        for e in places[first[u] : first[u + 1]]:
            inner[e] = p[e] + multiplier * q[e] + (inner[e] if one >= 0 else 0.0)
    outer[-1] = 0.0
    for u in range(len(low) - 1, -1, -1):
        one, two = left[u], right[u]
        if one >= 0:
            for i in places[first[one] : first[one + 1]]:
                shift = start[u] - low[u] + (low[one] + i - start[one]) + low[two] - start[two]
                for j in places[first[two] : first[two + 1]]:
                    e = shift + j
                    if start[u] <= e < start[u + 1] and allowed[e]:
                        rest = outer[e] + p[e] + multiplier * q[e]
                        outer[i] = min(outer[i], rest + inner[j])
                        outer[j] = min(outer[j], rest + inner[i])
    return True


@kernel
def trace(mergers: Mergers, inner: Floats) -> Ints:
    """The values of all mergers that attain the bounds of `inside`, from the root down."""
    left, right, low, start = mergers.left, mergers.right, mergers.low, mergers.start
    values = np.empty(len(low), np.int64)
    values[-1] = low[-1]
    for u in range(len(low) - 1, -1, -1):
        one, two = left[u], right[u]
        if one < 0:
            continue
        first = max(low[one], values[u] - (low[two] + start[two + 1] - start[two] - 1))
        last = min(low[one] + start[one + 1] - start[one] - 1, values[u] - low[two])
        least = math.inf
        for a in range(first, last + 1):
            sum_ = inner[start[one] + a - low[one]] + inner[start[two] + values[u] - a - low[two]]
            if sum_ < least:
                least = sum_
                values[one], values[two] = a, values[u] - a
    return values


class Bounds(NamedTuple):
    """The bounds that rule labels out: two lower bounds on what is outside each value, and the limits on the sums.

    A label stays if objective + multiplier * cost + outer <= hope, and cost + outer_cost <= budget.
    """

    multiplier: float
    hope: float
    budget: float
    inner: Floats
    outer: Floats
    outer_cost: Floats


class Labels(NamedTuple):
    """Choices of the values below a merger that no other choice of the same value dominates in objective and cost.

    Those of the value at index e of the tables are at group[e]..group[e + 1]. They are sorted by `rank`, which is
    objective + multiplier * cost. `of_left` and `of_right` say which labels were merged. `towards` has a bit for each
    forbidden choice that agrees with all values chosen below the merger.
    """

    group: Ints
    objective: Floats
    cost: Floats
    rank: Floats
    of_left: Ints
    of_right: Ints
    towards: Ints


class Candidates(NamedTuple):
    """Unfinished labels of one value, without the merger's own term."""

    objective: Floats
    cost: Floats
    of_left: Ints
    of_right: Ints
    towards: Ints


@part
def _thin(candidates: Candidates, number: int, multiplier: float, width: int) -> tuple[int, float]:
    """Keep candidates that no other dominates, sorted by rank; return how many, and the least rank dropped.

    If there are too many, half of those kept are the best by rank, and half are spread over all costs: if ranks tie,
    some candidates must leave budget to the rest. A candidate on the way to a forbidden choice dominates no other, and
    there is only one for every such choice.
    """
    p, q, towards = candidates.objective, candidates.cost, candidates.towards
    order = np.argsort(q[:number])
    kept = 0
    best = math.inf
    for at in order:
        if p[at] < best:
            order[kept] = at
            kept += 1
            if towards[at] == 0:
                best = p[at]
    rank = np.empty(kept)
    for at in range(kept):
        rank[at] = p[order[at]] + multiplier * q[order[at]]
    by_rank = np.argsort(rank)
    dropped = math.inf
    if kept > width:
        stays = np.zeros(kept, np.bool_)
        stays[by_rank[: width // 2]] = True
        for at in range(width - width // 2):
            stays[at * kept // (width - width // 2)] = True
        for at in by_rank:
            if not stays[at]:
                dropped = rank[at]
                break
        by_rank = by_rank[stays[by_rank]]
    chosen = order[by_rank]
    kept = len(chosen)
    p[:kept], q[:kept], towards[:kept] = p[chosen], q[chosen], towards[chosen]
    candidates.of_left[:kept], candidates.of_right[:kept] = candidates.of_left[chosen], candidates.of_right[chosen]
    return kept, dropped


@part
def _combine(
    labels: Labels, at_left: int, at_right: int, splits: int, most_rank: float, most_cost: float, multiplier: float,
    candidates: Candidates, width: int,
) -> tuple[int, float, int]:  # fmt: skip
    """Merge the labels of two children that the bounds do not rule out, for each split of a value into theirs.

    The splits are at at_left, at_left + 1, ... and at_right, at_right - 1, ... of the tables. Returns how many
    candidates are left, the least rank of those dropped (-inf if pairs were not tried), and how many pairs were tried.
    """
    group, p, q, rank, towards = labels.group, labels.objective, labels.cost, labels.rank, labels.towards
    new_p, new_q, new_towards = candidates.objective, candidates.cost, candidates.towards
    new_left, new_right = candidates.of_left, candidates.of_right
    number = tried = 0
    dropped = math.inf
    share = 1 + _MOST_TRIED * width // splits
    for split in range(splits):
        first, last = group[at_right - split], group[at_right - split + 1]
        if first == last:
            continue
        enough = tried + share  # each split gets its own share of the work
        for i in range(group[at_left + split], group[at_left + split + 1]):
            if rank[i] + rank[first] > most_rank:
                break
            if tried > max(enough, _MOST_TRIED * width):
                dropped = -math.inf
                break
            for j in range(first, last):
                if rank[i] + rank[j] > most_rank:
                    break
                tried += 1
                if q[i] + q[j] > most_cost:
                    continue
                if number == len(new_p):
                    number, least = _thin(candidates, number, multiplier, 2 * width)
                    dropped = min(dropped, least)
                new_p[number], new_q[number] = p[i] + p[j], q[i] + q[j]
                new_left[number], new_right[number], new_towards[number] = i, j, towards[i] & towards[j]
                number += 1
    number, least = _thin(candidates, number, multiplier, width)
    return number, min(dropped, least), tried


@kernel
def advance(
    mergers: Mergers, bounds: Bounds, labels: Labels, bits: Ints, place: int, width: int, work: int
) -> tuple[int, float, bool, int]:
    """Make the labels of all values from index `place` on, until done, about `work` were tried, or memory is full.

    `bits` has, for each index of a bin, the forbidden choices that have its value. A value keeps at most `width`
    labels. Returns the index to continue with, a lower bound for the labels dropped because of `width` (on the scale of
    `hope`), whether memory is full, and how many pairs were tried.
    """
    left, right, low, start = mergers.left, mergers.right, mergers.low, mergers.start
    own_p, own_q, lam = mergers.objective, mergers.cost, bounds.multiplier
    inner, outer, outer_cost = bounds.inner, bounds.outer, bounds.outer_cost
    group, p, q, rank = labels.group, labels.objective, labels.cost, labels.rank
    of_left, of_right, towards = labels.of_left, labels.of_right, labels.towards
    whole, parts = np.empty((2, 4 * width)), np.empty((3, 4 * width), np.int64)
    candidates = Candidates(whole[0], whole[1], parts[0], parts[1], parts[2])
    given_up = math.inf
    tried = 0
    end = group[place]
    for u in range(np.searchsorted(start, place, side="right") - 1, len(low)):
        one, two = left[u], right[u]
        for e in range(max(place, start[u]), start[u + 1]):
            if tried >= work:
                return e, given_up, False, tried
            group[e] = group[e + 1] = end
            if end + width > len(p):
                return e, given_up, True, tried
            own_rank = own_p[e] + lam * own_q[e]
            if own_p[e] == math.inf or inner[e] + outer[e] > bounds.hope:
                continue
            most_rank, most_cost = bounds.hope - outer[e] - own_rank, bounds.budget - outer_cost[e] - own_q[e]
            number = 1
            candidates.objective[0] = candidates.cost[0] = 0.0
            candidates.towards[0] = bits[e]
            if one >= 0:
                value = low[u] + e - start[u]
                a = max(low[one], value - (low[two] + start[two + 1] - start[two] - 1))
                last = min(low[one] + start[one + 1] - start[one] - 1, value - low[two])
                number, dropped, pairs = _combine(
                    labels, start[one] + a - low[one], start[two] + value - a - low[two], last - a + 1,
                    most_rank, most_cost, lam, candidates, width,
                )  # fmt: skip
                tried += pairs + last - a
                # Pairs that were not tried are no better than the value's own bound.
                given_up = min(given_up, max(dropped + bounds.hope - most_rank, inner[e] + outer[e]))
            elif most_rank < 0.0 or most_cost < 0.0:
                continue
            for at in range(number):
                p[end], q[end] = candidates.objective[at] + own_p[e], candidates.cost[at] + own_q[e]
                rank[end], towards[end] = p[end] + lam * q[end], candidates.towards[at]
                of_left[end], of_right[end] = candidates.of_left[at], candidates.of_right[at]
                end += 1
            group[e + 1] = end
    return len(own_p), given_up, False, tried


@kernel
def chosen_counts(mergers: Mergers, labels: Labels, label: int) -> Ints:
    """The counts of the bins that a label of the root has chosen."""
    left, low, start, group = mergers.left, mergers.low, mergers.start, labels.group
    chosen = np.empty(len(left), np.int64)
    chosen[-1] = label
    bins = 0
    while bins < len(left) and left[bins] < 0:
        bins += 1
    for u in range(len(left) - 1, bins - 1, -1):
        chosen[left[u]] = labels.of_left[chosen[u]]
        chosen[mergers.right[u]] = labels.of_right[chosen[u]]
    counts = np.empty(bins, np.int64)
    for u in range(bins):
        e = np.searchsorted(group, chosen[u], side="right") - 1
        counts[u] = low[u] + e - start[u]
    return counts
