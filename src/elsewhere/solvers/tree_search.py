"""One value per bin of a tree, given a size and a budget, at the least total objective: optimal, or with a proven gap.

This is RO and AO over a taxonomy: objective and cost are sums over the nodes of a tree. First comes the Lagrangian dual
with one multiplier for the budget; a dynamic program over the tree evaluates it and fixes the size exactly. Then follow
rounds in which labels are merged along the tree, each over the values that fit a guessed gap between the dual bound and
the optimum. A round that finds a solution within its gap proves it optimal. A round that finds none proves that the gap
is larger, and the next round guesses higher. If a round drops labels for lack of memory, its bound takes that into
account.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers import tree_labels
from elsewhere.solvers.knapsack import Limits, Solution, nothing_found
from elsewhere.solvers.tree_labels import Bounds, Labels, Mergers

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
_MOST_DUAL_STEPS = 100
_TILT = 1e-7
# The first guess of the gap: a share of the gap to the best known counts, or of the bound.
_FIRST_SHARE = 1.0 / 64.0
_FIRST_GAP = 1e-5
_GROWTH = 4.0
# Labels of one value, at first and at most; labels of all values at first; and the bytes of a label.
_FIRST_WIDTH = 200
_MOST_WIDTH = 100_000
_WIDER = 2
_FIRST_ROOM = 20_000
_BYTES_PER_LABEL = 48
# Pairs of labels between two checks of the clock. Once the relative gap is this small, only this many more are tried.
_WORK = 10_000_000
_SHARPEN_WORK = 200_000_000
_GOOD_ENOUGH = 1e-4
_GOOD_ENOUGH_WORK = 50_000_000
_MOST_WORK = 1_000_000_000


class _Dual(NamedTuple):
    """The best multiplier, the bound that it proves, and lower bounds on what is below and outside each value."""

    multiplier: float
    bound: float
    inner: Floats
    outer: Floats
    #: The least cost of what is outside each value.
    outer_cost: Floats
    #: Whether all terms are convex at that multiplier, so that the bounds are exact.
    convex: bool
    #: The values of all mergers at a multiplier that keeps them roughly within the budget.
    values: Ints


class _Best(NamedTuple):
    """The best counts found and their objective."""

    counts: Ints | None
    objective: float


def solve(mergers: Mergers, budget: float, *, known: Ints | None, bits: Ints, limits: Limits) -> Solution | None:
    """The counts of least objective whose costs sum to at most `budget`; None if there are none.

    `known` are such counts to start from. `bits` has the forbidden choices that each index of a bin agrees with.
    `SearchGaveUp` is raised if a limit is reached before any counts are found.
    """
    best = _Best(None, math.inf)
    if known is not None:
        values = tree_labels.totals(mergers.left, mergers.right, known)
        best = _Best(known, _sum(mergers, mergers.objective, values))
        budget = max(budget, _sum(mergers, mergers.cost, values))  # known counts fit the budget; sums vary by rounding
    dual = _dual(mergers, budget)
    if dual is None:
        return None
    best = _better(best, mergers, budget, bits, dual.values)
    bound = min(dual.bound, best.objective)
    first_step = step = _first_step(dual, best)
    span = _span(mergers, dual)
    width, work = _FIRST_WIDTH, 0
    sharp = dual.convex
    while not limits.passed and not _near(best, bound, limits) and work < _MOST_WORK:
        hope = min(bound + step, best.objective) + limits.tolerance(bound)
        hope = hope if hope - dual.bound < span else math.inf
        view = dual if dual.convex else _sharpened(mergers, dual, budget, hope)
        if not sharp and view.bound <= hope:
            # The sharp bound is found here, and small steps start from it.
            sharp, step, bound = True, first_step, max(bound, min(view.bound, best.objective))
            continue
        outcome = _round(mergers, budget, view, hope, bits, width, limits)
        work += outcome.work
        if outcome.best.objective < best.objective:
            best = outcome.best
        if not outcome.finished:
            break
        bound = max(bound, min(best.objective, hope, outcome.given_up))
        if outcome.given_up == math.inf:
            step *= _GROWTH
            if hope == math.inf:
                break
        else:
            small = best.objective - bound <= _GOOD_ENOUGH * abs(best.objective)
            if width >= _MOST_WIDTH or (small and work > _GOOD_ENOUGH_WORK):
                break
            width, step = _WIDER * width, step / _GROWTH
    if best.counts is None:
        if bound == math.inf:
            return None
        raise nothing_found(limits)
    return Solution(best.counts, best.objective, min(bound, best.objective), dual.bound, dual.multiplier, 0.0)


def _near(best: _Best, bound: float, limits: Limits) -> bool:
    """Whether the best counts are within the allowed gap of the bound, or nothing better is left."""
    return best.objective - bound <= limits.tolerance(best.objective) if best.counts is not None else bound == math.inf


def _first_step(dual: _Dual, best: _Best) -> float:
    """A cautious guess of the gap: a round with too large a gap has far too many labels."""
    return max(min(_FIRST_SHARE * (best.objective - dual.bound), _FIRST_GAP * abs(dual.bound)), 1e-9)


def _sharpened(mergers: Mergers, dual: _Dual, budget: float, hope: float) -> _Dual:
    """The same multiplier with exact bounds for everything no worse than `hope`, unless that takes too long."""
    spent = _spent(dual.multiplier, budget)
    inner, outer = dual.inner.copy(), dual.outer.copy()
    if not tree_labels.sharpen(mergers, dual.multiplier, hope + spent, inner, outer, _SHARPEN_WORK):
        return dual
    bound = float(inner[-1]) - spent
    bound -= _ROUNDING * (abs(bound) + 2.0 * abs(spent)) if bound < math.inf else 0.0
    return dual._replace(bound=max(dual.bound, bound), inner=inner, outer=outer)


def _spent(multiplier: float, budget: float) -> float:
    return multiplier * budget if multiplier > 0.0 else 0.0


def _span(mergers: Mergers, dual: _Dual) -> float:
    """An upper bound on how far any choice is above the dual bound."""
    finite = np.where(mergers.objective < math.inf, mergers.objective, 0.0)
    return float(np.maximum.reduceat(finite, mergers.start[:-1]).sum()) - dual.bound + 1.0


def _sum(mergers: Mergers, table: Floats, values: Ints) -> float:
    return float(table[mergers.start[:-1] + values - mergers.low].sum())


def _better(best: _Best, mergers: Mergers, budget: float, bits: Ints, values: Ints) -> _Best:
    """The best counts, or the given values if they are better and allowed."""
    bins = int(np.count_nonzero(mergers.left < 0))
    objective = _sum(mergers, mergers.objective, values)
    allowed = _sum(mergers, mergers.cost, values) <= budget
    forbidden = np.bitwise_and.reduce(bits[(mergers.start[:-1] + values - mergers.low)[:bins]])
    return _Best(values[:bins], objective) if allowed and not forbidden and objective < best.objective else best


def _dual(mergers: Mergers, budget: float) -> _Dual | None:
    """The greatest bound that a multiplier proves; None if not even the least cost is within the budget."""
    inner, own, objective, cost, outer, outer_cost = (np.empty(len(mergers.cost)) for _ in range(6))

    def least(weight: float, multiplier: float) -> tuple[float, float]:
        tree_labels.inside(mergers, weight, multiplier, inner, own, objective, cost)
        return float(objective[-1]), float(cost[-1])

    p_under, q_under = least(0.0, 1.0)
    if q_under > budget + _ROUNDING * (abs(budget) + abs(q_under)):
        return None
    tree_labels.outside(mergers, inner, own, outer_cost)
    values = tree_labels.trace(mergers, inner)
    p_over, q_over = least(1.0, 0.0)
    multiplier, feasible = 0.0, 0.0 if q_over <= budget else math.inf
    p, q = p_over, q_over
    for _ in range(_MOST_DUAL_STEPS if q_over > budget else 0):
        multiplier = max(0.0, (p_under - p_over) / (q_over - q_under))
        p, q = least(1.0, multiplier)
        scale = abs(p_over) + multiplier * abs(q_over)
        if p + multiplier * q >= p_over + multiplier * q_over - _ROUNDING * scale:
            break
        if q > budget:
            p_over, q_over = p, q
        else:
            p_under, q_under, feasible = p, q, multiplier
    if multiplier > 0.0 and _level(mergers, own):
        multiplier *= 1.0 + _TILT
        p, q = least(1.0, multiplier)
    tree_labels.outside(mergers, inner, own, outer)
    spent = _spent(multiplier, budget)
    bound = p + multiplier * q - spent - _ROUNDING * (abs(p) + multiplier * abs(q) + abs(spent))
    below = inner.copy()
    finite = mergers.objective < math.inf
    terms = mergers.objective[finite] + multiplier * mergers.cost[finite]
    convex = bool((terms - own[finite] <= 1e-12 * (np.abs(terms) + np.abs(own[finite]))).all())
    if feasible < math.inf:
        least(1.0, feasible)
        values = tree_labels.trace(mergers, inner)
    return _Dual(multiplier, bound, below, outer, outer_cost, convex, values)


def _level(mergers: Mergers, own: Floats) -> bool:
    """Whether the multiplier makes all values equal, as if cost and objective were the same: subset sum in disguise.

    Then a slightly larger multiplier prefers values that leave most of the budget.
    """
    finite = mergers.objective < math.inf
    return float(np.abs(own[finite]).max()) <= 1e-9 * float(np.abs(mergers.objective[finite]).max())


class _Outcome(NamedTuple):
    """The solution of a round, the least objective that it may have missed for lack of memory, and its work."""

    best: _Best
    given_up: float
    work: int
    finished: bool


def _room_for(room: int, group: Ints, labels: Labels | None = None) -> Labels:
    """Memory for this many labels, with those made so far."""
    floats, ints = np.empty((3, room)), np.empty((3, room), np.int64)
    if labels is not None:
        floats[:, : len(labels.cost)] = labels.objective, labels.cost, labels.rank
        ints[:, : len(labels.cost)] = labels.of_left, labels.of_right, labels.towards
    return Labels(group, floats[0], floats[1], floats[2], ints[0], ints[1], ints[2])


def _round(
    mergers: Mergers, budget: float, dual: _Dual, hope: float, bits: Ints, width: int, limits: Limits
) -> _Outcome:
    """Find the best solution if its objective is at most `hope`; no value keeps more labels than `width`."""
    room = _FIRST_ROOM + 2 * width
    spent = _spent(dual.multiplier, budget)
    # Sums vary by rounding: a choice that exceeds the budget by no more than that is checked at the end.
    most_cost = budget + _ROUNDING * abs(budget) if budget < math.inf else budget
    bounds = Bounds(dual.multiplier, hope + spent, most_cost, dual.inner, dual.outer, dual.outer_cost)
    labels = _room_for(room, np.zeros(len(mergers.cost) + 1, np.int64))
    place, given_up, work = 0, math.inf, 0
    nothing = _Best(None, math.inf)
    while place < len(mergers.cost):
        place, dropped, full, tried = tree_labels.advance(mergers, bounds, labels, bits, place, width, _WORK)
        given_up, work = min(given_up, dropped - spent), work + tried
        if full:
            room *= 2
            if room * _BYTES_PER_LABEL * 2 > limits.memory:
                return _Outcome(nothing, -math.inf, work, finished=False)
            labels = _room_for(room, labels.group, labels)
        if limits.passed:
            return _Outcome(nothing, -math.inf, work, finished=False)
    first, last = labels.group[-2:].tolist()
    allowed = np.flatnonzero((labels.towards[first:last] == 0) & (labels.cost[first:last] <= budget))
    if not len(allowed):
        return _Outcome(nothing, given_up, work, finished=True)
    chosen = first + int(allowed[np.argmin(labels.objective[first:last][allowed])])
    counts = tree_labels.chosen_counts(mergers, labels, chosen)
    return _Outcome(_Best(counts, float(labels.objective[chosen])), given_up, work, finished=True)
