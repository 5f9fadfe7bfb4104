"""Bounds on the best possible objective over a tree, in plain NumPy and without any solver code.

Dynamic programming combines the counts of the nodes, child by child, for a certificate's multiplier.
`TreeMultiplier.bound` is the bound that it proves. `better_on_tree` goes further and searches for a better histogram
among all those that the multiplier does not rule out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.problem import ROOM, Problem
from elsewhere.model.trees import Tree
from elsewhere.verification.bounds import undominated

#: The search for a better histogram gives up after this many labels; and the number of labels handled together.
_MOST_LABELS = 10_000_000
_MOST_PAIRS = 4_000_000
#: The most forbidden histograms: each takes one bit.
_MOST_FORBIDDEN = 62


class _Part(NamedTuple):
    """A node with everything below it, or some children of a node, with its possible counts low, low + 1, ..."""

    low: int
    #: The least cost of each count: objective + multiplier * quality, summed over all nodes of the part.
    cost: Floats
    #: The terms of the node itself; zeros for a part that is not a whole node.
    objective: Floats
    quality: Floats
    #: The least quality loss of each count, summed over all nodes of the part, and its value if each is at its best.
    spent: Floats
    least: float
    #: The two parts that it consists of, or none for a bin.
    made_of: tuple[int, int] | None = None
    bin: int = -1

    @property
    def high(self) -> int:
        return self.low + len(self.cost) - 1

    @property
    def counts(self) -> Ints:
        return np.arange(self.low, self.high + 1)


class TreeMultiplier:
    """A problem over a tree with a certificate's multiplier.

    Counts that no histogram with an objective of at most `most` can have are left out.
    """

    def __init__(self, problem: Problem, multiplier: float, most: float = math.inf) -> None:
        assert problem.tree is not None
        self.problem, self.multiplier = problem, multiplier
        self.budget = problem.budget if problem.privacy is not None else math.inf
        self.spent = multiplier * self.budget if multiplier > 0.0 else 0.0
        self.parts: list[_Part] = []
        rows = _rows(problem, self.budget, most)
        least = [float(quality[objective < math.inf].min(initial=math.inf)) for _, objective, quality in rows]
        self.spare = self.budget - sum(least) + ROOM * (1.0 + abs(self.budget))
        children: list[list[int]] = [[] for _ in range(len(rows) + 1)]
        for node, (low, objective, quality) in enumerate(rows):
            if node < problem.tree.bins:
                cost = objective + multiplier * quality
                spent = np.where(objective < math.inf, quality, math.inf)
                self.parts.append(_Part(low, cost, objective, quality, spent, least[node], bin=node))
            else:
                self._join(children[node], low, objective, quality, least[node])
            children[problem.tree.parent[node]].append(len(self.parts) - 1)
        self._join(children[-1], problem.size, np.zeros(1), np.zeros(1), 0.0)

    def _join(self, children: list[int], low: int, objective: Floats, quality: Floats, least: float) -> None:
        """Combine the children of a node, one after the other; with the last child, the part is the node itself.

        A count is left out if every split of it exceeds the budget, even with all other nodes at their best.
        """
        at = children[0]
        for child in children[1:]:
            a, b = self.parts[at], self.parts[child]
            whole = child == children[-1]
            first = max(a.low + b.low, low) if whole else a.low + b.low
            last = min(a.high + b.high, low + len(objective) - 1 if whole else self.problem.size)
            cost = _convolved(a, b, first, last)
            spent = _convolved(a._replace(cost=a.spent), b._replace(cost=b.spent), first, last)
            p, q, best = np.zeros(len(cost)), np.zeros(len(cost)), a.least + b.least
            if whole:
                p, q = objective[first - low : last - low + 1], quality[first - low : last - low + 1]
                best += least
            spent = np.where(p < math.inf, spent + q, math.inf)
            cost = np.where(spent <= self.spare + best, cost + p + self.multiplier * q, math.inf)
            self.parts.append(_Part(first, cost, p, q, spent, best, (at, child)))
            at = len(self.parts) - 1

    @property
    def bound(self) -> float:
        """No histogram within the constraints has a sum of the minimised terms below this."""
        root = self.parts[-1]
        return float(root.cost[self.problem.size - root.low]) - self.spent

    @property
    def rounding(self) -> float:
        """The magnitude of the numbers in the bound."""
        return abs(self.bound) + 2.0 * abs(self.spent)

    def outside(self) -> list[Floats]:
        """For each part and each of its counts, the least cost of everything outside the part."""
        outer = [np.full(len(part.cost), math.inf) for part in self.parts]
        outer[-1][self.problem.size - self.parts[-1].low] = 0.0
        for at in range(len(self.parts) - 1, -1, -1):
            part = self.parts[at]
            if part.made_of is None:
                continue
            rest = outer[at] + part.objective + self.multiplier * part.quality
            for child, sibling in (part.made_of, part.made_of[::-1]):
                a, b = self.parts[child], self.parts[sibling]
                for count, cost in zip(b.counts.tolist(), b.cost.tolist(), strict=True):
                    first, last = max(a.low, part.low - count), min(a.high, part.high - count)
                    if first <= last and cost < math.inf:
                        sums = rest[first + count - part.low : last + count - part.low + 1] + cost
                        target = outer[child][first - a.low : last - a.low + 1]
                        np.minimum(target, sums, out=target)
        return outer


def _rows(problem: Problem, budget: float, most: float) -> list[tuple[int, Floats, Floats]]:
    """For each node, its least count, and the objective and quality terms of its counts.

    The objective of a count that is not possible is infinite.
    """
    tree = problem.tree
    assert tree is not None
    low, high = tree.sums(problem.lower), np.minimum(tree.sums(problem.upper), problem.size)
    start = np.append(0, np.cumsum(high - low + 1))
    nodes = np.repeat(np.arange(len(low)), high - low + 1)
    counts = np.arange(start[-1]) - (start[:-1] - low)[nodes]
    quality = problem.quality.node_terms(nodes, counts.astype(np.float64))
    quality[problem.left_out[nodes]] = 0.0
    objective = quality
    if problem.privacy is not None:
        objective = problem.privacy.node_terms(nodes, counts.astype(np.float64))
        objective = -objective if problem.goal == "avoid" else objective
    allowed = np.isfinite(objective) & np.isfinite(quality)
    before = -1
    while before != (before := int(allowed.sum())):
        # First remove counts that cannot be a sum of counts below, or part of the size; then those over the budget.
        low = counts[np.minimum.reduceat(np.where(allowed, np.arange(len(counts)), len(counts) - 1), start[:-1])]
        high = counts[np.maximum.reduceat(np.where(allowed, np.arange(len(counts)), 0), start[:-1])]
        _tighten(tree, low, high, problem.size)
        allowed &= (counts >= low[nodes]) & (counts <= high[nodes])
        least = np.minimum.reduceat(np.where(allowed, quality, math.inf), start[:-1])
        allowed &= quality <= (budget - least.sum() + least + ROOM * (1.0 + abs(budget)))[nodes]
        if most < math.inf:
            least = np.minimum.reduceat(np.where(allowed, objective, math.inf), start[:-1])
            allowed &= objective <= (most - least.sum() + least + ROOM * (1.0 + abs(most)))[nodes]
    objective, quality = np.where(allowed, objective, math.inf), np.where(allowed, quality, 0.0)
    return [
        (
            int(low[v]),
            *(table[start[v] : start[v + 1]][(low[v] <= own) & (own <= high[v])] for table in (objective, quality)),
        )
        for v in range(len(low))
        for own in [counts[start[v] : start[v + 1]]]
    ]


def _tighten(tree: Tree, low: Ints, high: Ints, size: int) -> None:
    """Narrow the range of each node to possible sums of its children, and to counts that leave room for the others."""
    nodes = len(tree.parent)
    least, most = np.zeros(nodes + 1, np.int64), np.zeros(nodes + 1, np.int64)
    for node, above in enumerate(tree.parent.tolist()):  # children come before their parents
        if node >= tree.bins:
            low[node], high[node] = max(low[node], least[node]), min(high[node], most[node])
        least[above] += low[node]
        most[above] += high[node]
    for node in range(nodes - 1, -1, -1):
        above = tree.parent[node]
        whole_low, whole_high = (size, size) if above < 0 else (low[above], high[above])
        own_low, own_high = low[node], high[node]
        low[node] = max(own_low, whole_low - (most[above] - own_high))
        high[node] = min(own_high, whole_high - (least[above] - own_low))


def _convolved(a: _Part, b: _Part, first: int, last: int) -> Floats:
    """The least cost of each sum from `first` to `last` of a count of a and a count of b."""
    if len(a.cost) < len(b.cost):
        a, b = b, a
    least = np.full(last - first + 1, math.inf)
    for count, cost in zip(b.counts.tolist(), b.cost.tolist(), strict=True):
        begin, end = max(first, a.low + count), min(last, a.high + count)
        if begin <= end and cost < math.inf:
            sums = a.cost[begin - count - a.low : end - count - a.low + 1] + cost
            target = least[begin - first : end - first + 1]
            np.minimum(target, sums, out=target)
    return least


class _Labels(NamedTuple):
    """Choices of the counts of the bins in a part: size, objective, quality, and the forbidden rows that agree."""

    size: Ints
    objective: Floats
    quality: Floats
    towards: Ints

    def take(self, at: Ints) -> _Labels:
        """The labels at these positions."""
        return _Labels(self.size[at], self.objective[at], self.quality[at], self.towards[at])


def better_on_tree(view: TreeMultiplier, objective: float, tolerance: float) -> bool | None:
    """Whether some histogram within the constraints has an objective below `objective` by more than `tolerance`.

    All choices are built up part by part. Choices that the multiplier rules out are dropped. Of two choices with the
    same size, on the way to the same forbidden histograms, the one that is worse in objective and quality is dropped.
    None if there are too many choices.
    """
    problem = view.problem
    if objective - tolerance - view.bound <= 0.0:
        return False
    if len(problem.forbidden) > _MOST_FORBIDDEN:
        return None
    most, outer = objective - tolerance + view.spent, view.outside()
    made: list[_Labels | None] = []
    tried = 0
    for part, outside in zip(view.parts, outer, strict=True):
        labels = _of_bin(problem, part) if part.made_of is None else None
        if part.made_of is not None:
            a, b = (made[at] for at in part.made_of)
            assert a is not None
            assert b is not None
            tried += len(a.size) * len(b.size)
            if len(a.size) * len(b.size) > _MOST_PAIRS or tried > _MOST_LABELS:
                return None
            labels = _joined(a, b, part)
            for at in part.made_of:
                made[at] = None
        assert labels is not None
        cost = labels.objective + view.multiplier * labels.quality + outside[labels.size - part.low]
        kept = np.flatnonzero((cost <= most) & (labels.quality <= view.budget))
        labels = labels.take(kept)
        made.append(labels.take(undominated(labels.size, labels.towards, labels.quality, labels.objective)))
    root = made[-1]
    assert root is not None
    return bool((root.objective[root.towards == 0] < objective - tolerance).any())


def _of_bin(problem: Problem, part: _Part) -> _Labels:
    allowed = np.isfinite(part.objective)
    bits = np.left_shift(1, np.arange(len(problem.forbidden)))
    towards = ((problem.forbidden[:, part.bin] == part.counts[:, None]) * bits).sum(axis=1)
    return _Labels(part.counts[allowed], part.objective[allowed], part.quality[allowed], towards[allowed])


def _joined(a: _Labels, b: _Labels, part: _Part) -> _Labels:
    """Combine the labels of two parts whose sizes add up to a possible count of the joint part."""
    size = np.add.outer(a.size, b.size).ravel()
    kept = np.flatnonzero((size >= part.low) & (size <= part.high))
    at = size[kept] - part.low
    return _Labels(
        size[kept],
        np.add.outer(a.objective, b.objective).ravel()[kept] + part.objective[at],
        np.add.outer(a.quality, b.quality).ravel()[kept] + part.quality[at],
        np.bitwise_and.outer(a.towards, b.towards).ravel()[kept],
    )
