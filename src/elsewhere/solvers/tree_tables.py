"""The values of every merger that fit a budget, with their terms: the input of a search over a tree.

A merger adds up two children. The children of a node are merged in pairs; the last merger of a node has its term.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Measure
from elsewhere.model.problem import ROOM, Problem
from elsewhere.model.trees import Tree
from elsewhere.solvers import terms, tree_labels
from elsewhere.solvers.choices import KINDS, Shortage
from elsewhere.solvers.knapsack import Limits, SearchGaveUp
from elsewhere.solvers.tree_labels import Mergers

#: Tables of the terms, of the bounds and of the labels' groups.
_BYTES_PER_ENTRY = 112


class TreeChoices(NamedTuple):
    """The values of every merger that fit a budget when all other nodes are at their best, with their terms.

    Merger u has the values low[u], low[u] + 1, ... at start[u]..start[u + 1], and the term of a node of the tree, or
    none. The first mergers are the bins, the last is the root.
    """

    left: Ints
    right: Ints
    node: Ints
    low: Ints
    start: Ints
    quality: Floats
    privacy: Floats
    #: The resource that did not suffice for all these values; then the tables have those nearest to some known counts.
    short_of: Shortage

    @property
    def whole(self) -> bool:
        """Whether the tables have all values that fit the budget."""
        return not self.short_of

    def within(self, budget: float) -> Flags:
        """The values that fit the budget when all other nodes are at their best."""
        least = np.minimum.reduceat(self.quality, self.start[:-1])
        room = budget - least.sum() + least + ROOM * (1.0 + abs(budget))
        return (self.quality <= np.repeat(room, np.diff(self.start))) & (self.quality < math.inf)

    def mergers(self, objective: Floats, cost: Floats, allowed: Flags) -> Mergers | None:
        """The input of `tree_search`, with the allowed values only; None if no choice of them has the right size."""
        at = np.arange(len(allowed))
        offset = self.start[:-1] - self.low
        within = allowed
        while True:
            low = np.minimum.reduceat(np.where(within, at, len(at)), self.start[:-1]) - offset
            high = np.maximum.reduceat(np.where(within, at, -1), self.start[:-1]) - offset
            if not tree_labels.tighten(self.left, self.right, low, high):
                return None
            if allowed[low + offset].all() and allowed[high + offset].all():
                break
            # A range now ends at a value that is not allowed: a user's own function may have such values in between.
            number = np.diff(self.start)
            within = allowed & (at >= np.repeat(low + offset, number)) & (at <= np.repeat(high + offset, number))
        number = high - low + 1
        start = np.append(0, np.cumsum(number))
        source = np.arange(start[-1]) + np.repeat(self.start[:-1] + low - self.low - start[:-1], number)
        allowed = allowed[source]
        return Mergers(
            self.left, self.right, low, start,
            np.where(allowed, objective[source], math.inf), np.where(allowed, cost[source], 0.0),
        )  # fmt: skip

    def bits(self, mergers: Mergers, forbidden: Ints) -> Ints:
        """For each index of a bin, the forbidden rows that have its value, one bit each."""
        bits = np.zeros(len(mergers.cost), np.int64)
        bins = np.arange(forbidden.shape[1])
        for number, row in enumerate(forbidden):
            known = (row >= mergers.low[bins]) & (row < mergers.low[bins] + np.diff(mergers.start)[bins])
            bits[(mergers.start[bins] + row - mergers.low[bins])[known]] |= 1 << number
        return bits


def tabulate(problem: Problem, budget: float, limits: Limits, around: Ints | None = None) -> TreeChoices:
    """The terms of every value that fits the budget when all other nodes are at their best.

    If memory does not suffice, only the values nearest to the counts `around` are tabulated. Without such counts,
    `SearchGaveUp` is raised.
    """
    left, right, node, low, high = _fitting(problem, budget)
    entries = float((high - low + 1).sum(dtype=np.float64))
    most = limits.memory // _BYTES_PER_ENTRY
    short_of: Shortage = ""
    if entries > most:
        if around is None or most < 3 * len(low):
            raise SearchGaveUp(
                f"the search would have to tabulate {entries:.3g} counts, more than memory_limit={limits.memory} "
                "bytes hold"
            )
        short_of = "memory"
        values = tree_labels.totals(left, right, around)
        half = (most // len(low) - 1) // 2
        low, high = np.maximum(low, values - half), np.minimum(high, values + half)
        tree_labels.tighten(left, right, low, high)
    start = np.append(0, np.cumsum(high - low + 1))
    quality = _table(problem.quality, problem.left_out, node, low, start)
    privacy = quality
    if problem.privacy is not None:
        privacy = _table(problem.privacy, np.zeros_like(problem.left_out), node, low, start)
    return TreeChoices(left, right, node, low, start, quality, privacy, short_of)


def entries(problem: Problem) -> int:
    """The number of values if any loss is allowed."""
    *_, low, high = _fitting(problem, math.inf)
    return int((high - low + 1).sum())


def _fitting(problem: Problem, budget: float) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """The mergers, and the least and the greatest value of each that fits the budget."""
    tree = problem.tree
    assert tree is not None
    left, right, node = _mergers(tree)
    low, high = _ranges(problem, tree, node, budget)
    if not tree_labels.tighten(left, right, low, high):
        raise AssertionError("the bounds have room for the size")
    return left, right, node, low, high


def _mergers(tree: Tree) -> tuple[Ints, Ints, Ints]:
    """The two children of every merger, and its node or -1: of a node's children the two smallest are merged first."""
    bins = tree.bins
    left, right, node, size = [-1] * bins, [-1] * bins, list(range(bins)), [1] * bins
    below: list[list[int]] = [[] for _ in range(len(tree.parent) + 1)]
    for bin_, parent in enumerate(tree.parent[:bins].tolist()):
        below[parent].append(bin_)
    for inner in [*range(bins, len(tree.parent)), -1]:
        waiting = [(size[at], at) for at in below[inner]]
        heapq.heapify(waiting)
        while len(waiting) > 1:
            (_, a), (_, b) = heapq.heappop(waiting), heapq.heappop(waiting)
            left.append(a)
            right.append(b)
            node.append(-1)
            size.append(size[a] + size[b])
            heapq.heappush(waiting, (size[-1], len(size) - 1))
        if inner >= 0:
            node[-1] = inner
            below[tree.parent[inner]].append(len(node) - 1)
    return np.array(left), np.array(right), np.array(node)


def _ranges(problem: Problem, tree: Tree, node: Ints, budget: float) -> tuple[Ints, Ints]:
    """The least and the greatest value of each merger: those of its node that fit the budget, or any."""
    quality = problem.quality
    assert quality.weight is not None
    lower, upper = tree.sums(problem.lower), np.minimum(tree.sums(problem.upper), problem.size)
    if quality.distance.builtin and budget < math.inf:
        weight = np.where(problem.left_out, 0.0, quality.weight)
        lower, number = terms.ranges(
            KINDS[quality.distance.name], weight, tree.sums(quality.reference), lower, upper,
            quality.reference_size, quality.size, budget,
        )  # fmt: skip
        upper = lower + number - 1
    low = np.where(node < 0, 0, lower[node])
    high = np.where(node < 0, problem.size, upper[node])
    low[-1] = high[-1] = problem.size
    return low, high


def _table(measure: Measure, left_out: Flags, node: Ints, low: Ints, start: Ints) -> Floats:
    """The weighted term of every value of every merger; 0 for mergers without a term."""
    assert measure.tree is not None
    assert measure.weight is not None
    weight = np.where(node < 0, 0.0, np.where(left_out, 0.0, measure.weight)[node])
    at = np.flatnonzero(weight > 0.0)
    number = np.diff(start)[at]
    places = np.arange(number.sum()) + np.repeat(start[at] - np.append(0, np.cumsum(number)[:-1]), number)
    table = np.zeros(start[-1])
    if measure.distance.builtin:
        filled = np.empty(len(places))
        terms.fill(
            KINDS[measure.distance.name], measure.tree.sums(measure.reference)[node[at]], low[at],
            np.append(0, np.cumsum(number)), measure.reference_size, measure.size, terms.logarithms(), 0,
            len(places), filled,
        )  # fmt: skip
        table[places] = filled * np.repeat(weight[at], number)
    else:
        values = places - np.repeat((start[:-1] - low)[at], number)
        table[places] = measure.node_terms(np.repeat(node[at], number), values.astype(np.float64))
    return table
