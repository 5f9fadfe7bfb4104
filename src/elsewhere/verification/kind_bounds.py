"""Bounds if privacy depends on the totals of kinds and quality on locations: each kind is a bin.

The best split of a total is the one of least quality loss. Quality terms are convex, so its loss is a sum of the
smallest steps. That many smallest steps never sum to more than the loss of any split, so the bound holds for any terms.
"""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.problem import ROOM, Problem
from elsewhere.verification.bounds import better_exists, first_count

#: With more counts, or larger ones, there are no such bounds: rounding hides the steps of larger counts.
_MOST_COUNTS = 20_000_000
_LARGEST = 1 << 40
#: The most sums to try for the best bound.
_MOST_SUMS = 4_000_000
#: The search for the price of a visit: growing steps, from the first to the largest, then this many finer ones.
_FIRST_STEP, _LARGEST_STEP = 1e-6, 1e12
_STEPS = 60


class KindMultipliers:
    """A problem of totals with a certificate's multiplier: what each total of each kind adds to the bound.

    The multiplier of the size is the one with the best bound.
    """

    def __init__(self, problem: Problem, quality: float, low: Ints, high: Ints, top: Ints) -> None:
        assert problem.tree is not None
        assert problem.privacy is not None
        self.problem, self.quality = problem, quality
        totals, losses = _least_losses(problem, low, high, top)
        kinds = np.repeat(np.unique(top), [len(row) for row in losses])
        self._start = np.append(0, np.cumsum([len(row) for row in losses]))
        self._total, self._loss = np.concatenate(totals), np.concatenate(losses)
        terms = problem.privacy.node_terms(kinds, self._total.astype(np.float64))
        self._objective = -terms if problem.goal == "avoid" else terms
        self._cost = np.where(np.isfinite(self._objective), self._objective + quality * self._loss, math.inf)
        self.size = self._best_price()
        self._least = self._least_at(self.size)

    def _least_at(self, price: float) -> Floats:
        """The least cost of each kind if a visit is worth the price."""
        least: Floats = np.minimum.reduceat(self._cost - price * self._total, self._start[:-1])
        return least

    def _best_price(self) -> float:
        """The multiplier of the size with the best bound. Any multiplier is valid, so it need not be exact.

        The bound is concave and piecewise linear in it: each step goes to where the lines on both sides meet.
        """

        def line(price: float) -> tuple[float, float, int]:
            """The price with the bound there and its slope."""
            shifted = self._cost - price * self._total
            least = np.minimum.reduceat(shifted, self._start[:-1])
            at = np.flatnonzero(shifted == np.repeat(least, np.diff(self._start)))
            kinds = np.searchsorted(self._start, at, side="right")
            taken = self._total[at[np.append(True, np.diff(kinds) > 0)]]
            return price, float(least.sum()) + price * self.problem.size, self.problem.size - int(taken.sum())

        left = right = line(0.0)
        step = _FIRST_STEP
        while right[2] > 0 and step < _LARGEST_STEP:
            left, right, step = right, line(right[0] + step), 4.0 * step
        while left[2] < 0 and step < _LARGEST_STEP:
            left, right, step = line(left[0] - step), left, 4.0 * step
        for _ in range(_STEPS):
            if not left[2] > 0 > right[2]:
                break
            price = (right[1] - left[1] + left[2] * left[0] - right[2] * right[0]) / (left[2] - right[2])
            if not left[0] < price < right[0]:
                break
            between = line(price)
            left, right = (between, right) if between[2] >= 0 else (left, between)
        return max(left, right, key=lambda end: end[1])[0]

    @staticmethod
    def of(problem: Problem, quality: float) -> KindMultipliers | None:
        """The view of a problem; None if it does not depend on totals, or if it has too many counts."""
        top = _tops(problem)
        if top is None or not problem.size < _LARGEST:
            return None
        ranges = _within_budget(problem)
        if ranges is None or float((ranges[1] - ranges[0] + 1).sum(dtype=np.float64)) > _MOST_COUNTS:
            return None
        return KindMultipliers(problem, quality, *ranges, top)

    def bound(self, most: float) -> float:
        """No histogram within the constraints has a sum of the minimised terms below this, if any has at most `most`.

        This is the best bound for the multiplier of quality, unless that takes too many sums.
        """
        dual = self.dual_bound(self._least)
        allowance = most - dual
        size, above = np.zeros(1, np.int64), np.zeros(1)
        tried = 0
        for kind, least in enumerate(self._least.tolist()):
            own = slice(self._start[kind], self._start[kind + 1])
            reduced = self._cost[own] - self.size * self._total[own] - least
            near = np.flatnonzero(reduced <= allowance)
            tried += len(size) * len(near)
            if tried > _MOST_SUMS:
                return dual
            sizes = np.add.outer(size, self._total[own][near]).ravel()
            sums = np.add.outer(above, reduced[near]).ravel()
            order = np.lexsort((sums, sizes))
            order = order[(sums[order] <= allowance) & (sizes[order] <= self.problem.size)]
            order = order[np.append(True, np.diff(sizes[order]) > 0)] if len(order) else order
            size, above = sizes[order], sums[order]
        return dual + float(above[size == self.problem.size].min(initial=max(allowance, 0.0)))

    @property
    def number(self) -> float:
        """The number of totals."""
        return float(len(self._total))

    def narrow(self, most: Floats) -> None:
        """Nothing to leave out: all totals are tabulated."""

    def row(self, kind: int) -> tuple[Ints, Floats, Floats]:
        """The totals that a kind may have, with their objective and quality terms."""
        own = slice(self._start[kind], self._start[kind + 1])
        fits = np.isfinite(self._objective[own])
        return self._total[own][fits], self._objective[own][fits], self._loss[own][fits]

    def dual_bound(self, least: Floats) -> float:
        """The bound on the sum of the minimised terms, from the kinds' least costs."""
        spent = self.quality * self.problem.budget if self.quality > 0.0 else 0.0
        return float(least.sum()) - spent + self.size * self.problem.size

    def better(self, objective: float, tolerance: float) -> bool | None:
        """Whether some histogram within the constraints has an objective below `objective` by more than `tolerance`."""
        return better_exists(self, self._least, objective, tolerance)


def _tops(problem: Problem) -> Ints | None:
    """The kind of each bin, which is a top node; None if the problem does not depend on totals of such kinds."""
    tree, quality, privacy = problem.tree, problem.quality, problem.privacy
    if tree is None or privacy is None or len(problem.forbidden) or problem.budget == math.inf:
        return None
    assert quality.weight is not None
    assert privacy.weight is not None
    totals = not quality.weight[tree.bins :].any() and not privacy.weight[tree.parent >= 0].any()
    if not totals or not quality.distance.builtin or quality.enough is not None or privacy.enough is not None:
        return None
    top = np.arange(len(tree.parent))
    for node in range(len(top) - 1, -1, -1):  # parents come after their children
        if tree.parent[node] >= 0:
            top[node] = top[tree.parent[node]]
    return top[: tree.bins]


def _losses(problem: Problem, bins: Ints, x: Ints) -> Floats:
    """The quality terms of single counts."""
    terms = problem.quality.node_terms(bins, x.astype(np.float64))
    terms[problem.left_out[bins]] = 0.0
    return terms


def _within_budget(problem: Problem) -> tuple[Ints, Ints] | None:
    """The counts of each bin that fit the budget when all other bins are at their best: the first and the last.

    None if there are none of the right size.
    """
    low, high, bins = problem.lower, np.minimum(problem.upper, problem.size), np.arange(len(problem.lower))

    def loss(x: Ints) -> Floats:
        return _losses(problem, bins, x)

    best = first_count(low, high, lambda x: loss(np.minimum(x + 1, high)) >= loss(x))
    least = loss(best)
    room = problem.budget - least.sum() + least + ROOM * (1.0 + abs(problem.budget))
    last = first_count(best, high, lambda x: loss(np.minimum(x + 1, high)) > room)
    first = first_count(low, best, lambda x: loss(x) <= room)
    return (first, last) if (least <= room).all() and first.sum() <= problem.size else None


def _least_losses(problem: Problem, low: Ints, high: Ints, top: Ints) -> tuple[list[Ints], list[Floats]]:
    """For each kind, the totals that fit the budget if all other kinds are at their best, and the least loss of each.

    The bins may have the counts low..high.
    """
    order = np.argsort(top, kind="stable")
    low, number = low[order], (high - low + 1)[order]
    start = np.append(0, np.cumsum(number))
    counts = np.arange(start[-1]) + np.repeat(low - start[:-1], number)
    losses = _losses(problem, np.repeat(order, number), counts)
    steps = np.diff(losses)
    within = np.ones(len(losses), np.bool_)
    within[start[:-1]] = False  # a step leads to each count except a bin's first
    first = np.searchsorted(top[order], np.unique(top))
    totals, rows = np.add.reduceat(low, first), []
    base = np.add.reduceat(losses[start[:-1]], first)
    for kind, (begin, end) in enumerate(zip(first, np.append(first[1:], len(order)), strict=True)):
        own = steps[start[begin] : start[end] - 1][within[start[begin] + 1 : start[end]]]
        own.sort()
        rows.append(base[kind] + np.append(0.0, np.cumsum(own))[: problem.size - totals[kind] + 1])
    least = np.array([row.min() for row in rows])
    room = problem.budget - least.sum() + least + ROOM * (1.0 + abs(problem.budget))
    fits = [np.flatnonzero(row <= most) for row, most in zip(rows, room, strict=True)]
    return [total + kept for total, kept in zip(totals, fits, strict=True)], [
        row[kept] for row, kept in zip(rows, fits, strict=True)
    ]
