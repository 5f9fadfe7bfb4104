"""The Lagrangian dual if the counts of a bin are too many to tabulate.

For given multipliers, the share of a bin in the dual bound is a formula, and bisection finds its minimum. The dual of a
few counts of each bin gives multipliers, and these show which counts are missing. This is column generation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints, exact_sum
from elsewhere.model.problem import Problem
from elsewhere.solvers import dual, terms
from elsewhere.solvers.choices import KINDS, values_within
from elsewhere.solvers.knapsack import Dual, Limits

#: Points between the two peaks of a bin with which its dual starts.
_FIRST_SHARES = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 1.0)
_ROUNDS = 60
_CONVERGED = 1e-14
_WORK_PER_CALL = 2_000_000
#: From this many bins on, equal ones are grouped.
_MANY_BINS = 512


class Groups(NamedTuple):
    """Groups of equal bins: one bin of each group, the group of each bin, and the number of bins in each group."""

    first: Ints
    member: Ints
    copies: Ints


class Node(NamedTuple):
    """A part of the problem: the counts low..high of each bin, the dual, and the bins' least shares."""

    low: Ints
    high: Ints
    by: Dual
    least: Floats
    #: Where the shares are least.
    at: Ints
    #: Groups of equal bins.
    groups: Groups
    #: Counts that the dual was found with: those of the bins of group of[k] are columns[k].
    of: Ints
    columns: Ints


class Shares:
    """The shares of counts in the dual bound of a problem, for any multipliers."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        assert problem.privacy is not None
        self.problem, self.limits = problem, limits
        self.quality, self.privacy = problem.quality, problem.privacy
        self.sign = -1.0 if problem.goal == "avoid" else 1.0
        self.size, self.budget = problem.size, problem.budget

    def root(self, known: Ints, enough: float) -> Node:
        """The whole problem: all counts that fit the budget, among them `known`."""
        low, number = values_within(self.problem, self.budget)
        high = low + number - 1
        q_peak = self.quality.reference * (self.quality.size / self.quality.reference_size)
        p_peak = self.privacy.reference * (self.privacy.size / self.privacy.reference_size)
        between = [((1.0 - share) * q_peak + share * p_peak).astype(np.int64) for share in _FIRST_SHARES]
        groups = self.alike(low, high)
        first, every = groups.first, np.arange(len(groups.first))
        some = [np.clip(column[first], low[first], high[first]) for column in (known, *between)]
        columns = [low[first], high[first], *some]
        of = np.tile(every, len(columns))
        return self.dual(low, high, groups, of, np.concatenate(columns), enough)

    def part(self, low: Ints, high: Ints, node: Node, enough: float) -> Node | None:
        """A part of a node with its own dual; None if it has no counts of the right size."""
        if exact_sum(low) > self.size or exact_sum(high) < self.size:
            return None
        groups = self.alike(low, high)
        first, every = groups.first, np.arange(len(groups.first))
        # Each group starts with the counts of the node's group that its bins come from.
        order = np.argsort(node.of, kind="stable")
        start = np.searchsorted(node.of[order], np.arange(len(node.groups.first) + 1))
        before = node.groups.member[first]
        length = np.diff(start)[before]
        of = np.repeat(every, length)
        columns = node.columns[
            order[np.arange(len(of)) + np.repeat(start[before] - np.cumsum(length) + length, length)]
        ]
        inside = (columns >= low[first][of]) & (columns <= high[first][of])
        of = np.concatenate((of[inside], every, every))
        return self.dual(low, high, groups, of, np.concatenate((columns[inside], low[first], high[first])), enough)

    def within(self, node: Node, gap: float) -> tuple[Ints, Ints, Ints, Ints]:
        """The first and last count of each bin whose share is within the gap, and the widest hole between them."""
        first, member, _ = node.groups
        begin, end, hole, hole_end = (np.empty(len(first), np.int64) for _ in range(4))
        limit = node.least + gap + dual.ROUNDING * (np.abs(node.least) + abs(node.by.mu) * node.at)
        lagrangian = self.lagrangian(node.by.lam, node.by.mu, first)
        terms.near_least(lagrangian, node.low[first], node.high[first], limit[first], begin, end, hole, hole_end)
        # The least share may be known only as a lower bound.
        begin, end = np.minimum(begin[member], node.at), np.maximum(end[member], node.at)
        return begin, end, hole[member], hole_end[member]

    def alike(self, low: Ints, high: Ints) -> Groups:
        """Groups of equal bins if there are many bins; else each bin is a group."""
        if len(low) < _MANY_BINS:
            every = np.arange(len(low))
            return Groups(every, every, np.ones(len(low), np.int64))
        keys = (low, high, self.quality.reference, self.privacy.reference)
        order = np.lexsort(keys)
        new = np.append(True, np.any([np.diff(key[order]) != 0 for key in keys], axis=0))
        member = np.empty(len(low), np.int64)
        member[order] = np.cumsum(new) - 1
        return Groups(order[new], member, np.bincount(member).astype(np.int64))

    def dual(self, low: Ints, high: Ints, groups: Groups, of: Ints, columns: Ints, enough: float) -> Node:
        """The dual of a part by column generation: add counts until no other count would change it.

        Equal bins have the same best counts, so a group acts as one bin whose counts and terms are multiplied. If the
        bound exceeds `enough`, the search may stop early.
        """
        first, member, copies = groups
        every = np.arange(len(first))
        planes = np.zeros((3, 4))
        best: tuple[Dual, Floats, Ints] | None = None
        for _ in range(_ROUNDS):
            order = np.lexsort((columns, of))
            of, columns = of[order], columns[order]
            new = np.append(True, (np.diff(of) != 0) | (np.diff(columns) != 0))
            of, columns = of[new], columns[new]
            f, g = (copies[of] * each for each in self.terms_of(first[of], columns))
            start = np.searchsorted(of, np.arange(len(first) + 1)).astype(np.int64)
            near = start[:-1] if best is None else np.flatnonzero(columns == best[2][of])
            values = dual.Values(start[:-1], start[1:], copies[of] * columns, f, g)
            ascent = dual.beginning(near)._replace(planes=planes)
            while not ascent.finished:
                ascent = dual.Ascent(*dual.maximise(values, self.size, self.budget, _WORK_PER_CALL, ascent))
            lam, mu, hoped = ascent.lam, ascent.mu, ascent.bound
            value, rounding, least, at = self.dual_value(low[first], high[first], groups, lam, mu)
            if best is None or value > best[0].bound:
                best = Dual(lam, mu, value), least, at
            noise = _CONVERGED * (1.0 + abs(hoped)) + math.sqrt(len(low)) * rounding
            if value >= hoped - noise or value > enough or self.limits.passed:
                break
            around = [np.clip(at + shift, low[first], high[first]) for shift in (-1, 0, 1)]
            of = np.concatenate((of, *(every for _ in around)))
            columns = np.concatenate((columns, *around))
        assert best is not None
        by, least, at = best
        return Node(low, high, by, least[member], at[member], groups, of, columns)

    def dual_value(
        self, low: Ints, high: Ints, groups: Groups, lam: float, mu: float
    ) -> tuple[float, float, Floats, Ints]:
        """The dual bound for all counts, rounded down, and by how much; the groups' least shares and their counts."""
        first, _, copies = groups
        least, at = np.empty(len(low)), np.empty(len(low), np.int64)
        lagrangian = self.lagrangian(lam, mu, first)
        done, work = 0, _WORK_PER_CALL
        while done < len(low):
            reached = terms.least_reduced(lagrangian, low, high, done, work, least, at)
            work = _WORK_PER_CALL if reached > done else 2 * work  # each call starts its bin from the beginning
            done = reached
        budgeted = lam * self.budget if lam > 0.0 else 0.0
        value = float((copies * least).sum()) - budgeted + mu * self.size
        rounding = dual.ROUNDING * (float((copies * np.abs(least)).sum()) + abs(budgeted) + abs(mu) * self.size)
        return value - rounding, rounding, least, at

    def lagrangian(self, lam: float, mu: float, bins: Ints) -> terms.Lagrangian:
        """The shares of these bins."""
        quality, privacy = self.quality, self.privacy
        return terms.Lagrangian(
            KINDS[privacy.distance.name], privacy.reference[bins], privacy.reference_size,
            KINDS[quality.distance.name], quality.reference[bins], quality.reference_size,
            quality.size, self.sign, lam, mu,
        )  # fmt: skip

    def terms_of(self, bins: Ints, columns: Ints) -> tuple[Floats, Floats]:
        """The objective and the cost of single counts."""
        quality, privacy, size = self.quality, self.privacy, self.quality.size
        f = terms.terms_of(KINDS[privacy.distance.name], privacy.reference, bins, columns, privacy.reference_size, size)
        g = terms.terms_of(KINDS[quality.distance.name], quality.reference, bins, columns, quality.reference_size, size)
        return self.sign * f, g
