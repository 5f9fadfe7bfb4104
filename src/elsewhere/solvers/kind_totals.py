"""Totals of kinds: if the privacy distance depends only on them, search over kinds instead of locations.

The best split of a kind's total is the one of least quality loss. Quality terms are convex, so each next visit goes
where it costs least, and the loss of a total is a sum of the smallest costs. So a kind is a bin of a flat problem, with
the total as its value, and `exact` solves that problem. Its solution is split at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.distances import Measure
from elsewhere.model.problem import ROOM, Problem
from elsewhere.solvers import choices, exact, required_loss
from elsewhere.solvers.choices import Choices
from elsewhere.solvers.knapsack import Limits, Solution
from elsewhere.solvers.required_loss import flat_search


class KindChoices(NamedTuple):
    """The totals of every kind that fit a budget when all other kinds are at their best, with their terms."""

    #: The flat problem over kinds. Its quality terms are those in `totals`; use its own measure only for the root.
    problem: Problem
    totals: Choices
    #: The kind of each bin.
    kind: Ints

    @property
    def short_of(self) -> choices.Shortage:
        """The resource that did not suffice for all totals."""
        return self.totals.short_of

    @property
    def whole(self) -> bool:
        """Whether the tables have all totals that fit the budget."""
        return self.totals.whole

    def of(self, counts: Ints) -> Ints:
        """The total of every kind."""
        return _totals(self.kind, counts)

    def split(self, problem: Problem, solution: Solution) -> Solution:
        """The solution for totals as one for locations: each total is split at the least quality loss."""
        return _split(problem, self.kind, solution)


def depends_on_totals(problem: Problem) -> bool:
    """Whether the privacy distance depends on totals only, and each total can be split independently."""
    tree, quality, privacy = problem.tree, problem.quality, problem.privacy
    if tree is None or privacy is None or not quality.distance.builtin or len(problem.forbidden):
        return False
    assert quality.weight is not None
    assert privacy.weight is not None
    # The quality terms must be those of locations; the privacy terms those of kinds, or of locations without a kind.
    flat = np.concatenate((problem.is_location, np.zeros(len(tree.first), np.bool_)))
    return np.array_equal(quality.weight, flat) and np.array_equal(privacy.weight, tree.parent < 0)


def tabulate(problem: Problem, budget: float, limits: Limits, around: Ints | None = None) -> KindChoices:
    """The totals that fit a budget, for a problem that depends on them; `around` has the meaning of `choices.tabulate`.

    If memory does not suffice for all values of locations, some totals are missing, and splits may not be the best.
    """
    kind = _kinds(problem)
    single = choices.tabulate(problem.without_tree()._replace(privacy=None), budget, limits, around)
    over_kinds = _over_kinds(problem, kind, problem.original if around is None else around)
    low, rows = _rows(kind, single)
    least = np.array([row.min() for row in rows])
    # A little more than the verifier's tolerance, so that it can prove the bound of the multipliers.
    room = budget - least.sum() + least + 2.0 * ROOM * (1.0 + abs(budget))
    for k, row in enumerate(rows):
        fits = np.flatnonzero((row <= room[k]) & (low[k] + np.arange(len(row)) <= problem.size))
        low[k] += fits[0]
        rows[k] = row[fits[0] : fits[-1] + 1]
    start = np.append(0, np.cumsum([len(row) for row in rows]))
    assert over_kinds.privacy is not None
    privacy = choices.table(over_kinds.privacy, low, start, limits.without_deadline())
    totals = Choices(start, low, np.concatenate(rows), privacy, budget, single.short_of)
    return KindChoices(over_kinds, totals, kind)


def least_loss_at(problem: Problem, wanted: float, limits: Limits, least: float) -> Solution | None:
    """`required_loss.required_loss` for a problem that depends on totals."""
    kind = _kinds(problem)
    of_kinds = _over_kinds(problem, kind, problem.original)
    search = flat_search(of_kinds)._replace(tabulate=lambda _, cap, limits: tabulate(problem, cap, limits).totals)
    if required_loss.entries_of(problem) > required_loss.FEW:
        search = search._replace(bounded=None)
    found = required_loss.required_loss(of_kinds, wanted, limits, least, search)
    return None if found is None else _split(problem, kind, found)


def over_kinds(problem: Problem) -> Problem:
    """The flat problem whose bins are the kinds; the quality loss is not that of the locations."""
    return _over_kinds(problem, _kinds(problem), problem.original)


def split(problem: Problem, solution: Solution) -> Solution:
    """The solution for totals of kinds as one for locations: each total is split at the least quality loss."""
    return _split(problem, _kinds(problem), solution)


def _kinds(problem: Problem) -> Ints:
    """The number of the kind of each bin."""
    assert problem.tree is not None
    bins = np.arange(len(problem.original))
    parent = problem.tree.parent[bins]
    kind: Ints = np.unique(np.where(parent < 0, bins, parent), return_inverse=True)[1]
    return kind


def _split(problem: Problem, kind: Ints, solution: Solution) -> Solution:
    """The solution for totals as one for locations."""
    counts = np.empty(len(kind), np.int64)
    quality = problem.quality
    by_kind = np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1])
    for bins, total in zip(by_kind, solution.counts.tolist(), strict=True):
        if len(bins) == 1:
            counts[bins] = total
            continue
        of_kind = problem._replace(
            original=problem.original[bins], lower=problem.lower[bins], upper=problem.upper[bins], size=total,
            quality=quality._replace(reference=quality.reference[bins], tree=None, weight=None),
        )  # fmt: skip
        counts[bins], _ = exact.spread(of_kind, quality.distance)
    # Over a tree no multiplier for the size is needed: the dynamic program fixes the size.
    return solution._replace(counts=counts, size_multiplier=0.0)


def _over_kinds(problem: Problem, kind: Ints, known: Ints) -> Problem:
    """The flat problem whose bins are the kinds. Its original counts are the known ones, so it has the right size."""
    quality, privacy = problem.quality, problem.privacy
    assert privacy is not None
    kinds = int(kind.max()) + 1
    reference = np.bincount(kind, privacy.reference, kinds).astype(np.float64)
    original = _totals(kind, known)
    return problem._replace(
        original=original,
        lower=_totals(kind, problem.lower),
        upper=np.minimum(_totals(kind, problem.upper), problem.size),
        forbidden=np.zeros((0, kinds), np.int64),
        sensitive=np.zeros(kinds, np.bool_),
        quality=Measure(quality.distance, original.astype(np.float64), quality.reference_size, quality.size),
        privacy=Measure(privacy.distance, reference, privacy.reference_size, privacy.size),
        left_out=np.zeros(kinds, np.bool_),
    )


def _rows(kind: Ints, single: Choices) -> tuple[Ints, list[Floats]]:
    """The least total of every kind, and the least quality loss of that total and all that follow."""
    number = np.diff(single.start)
    steps = np.diff(single.quality)
    inside = np.ones(len(steps), np.bool_)
    inside[single.start[1:-1] - 1] = False  # from the last value of a bin to the first of the next
    steps, of_kind = steps[inside], np.repeat(kind, number - 1)
    order = np.lexsort((steps, of_kind))
    ends = np.cumsum(np.bincount(of_kind, minlength=int(kind.max()) + 1))
    least = np.bincount(kind, np.minimum.reduceat(single.quality, single.start[:-1]))
    rows = []
    for lowest, costs in zip(least.tolist(), np.split(steps[order], ends[:-1]), strict=True):
        # Starting where all bins are at their best, only positive costs are added, so no digits cancel.
        turn = int(np.searchsorted(costs, 0.0))
        down, up = np.cumsum(-costs[:turn][::-1])[::-1], np.cumsum(costs[turn:])
        rows.append(lowest + np.concatenate((down, [0.0], up)))
    return _totals(kind, single.low), rows


def _totals(kind: Ints, counts: Ints) -> Ints:
    totals = np.zeros(int(kind.max()) + 1, np.int64)
    np.add.at(totals, kind, counts)
    return totals
