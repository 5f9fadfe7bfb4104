"""One value per bin, given a size and a budget, at the least total objective: optimal, or as close as limits allow.

This is the multiple-choice knapsack behind resemble and avoid (RO and AO in the paper). First come the dual bound and
its multipliers. Then follow rounds of label search, each over the values whose reduced cost fits a guessed gap between
the dual bound and the optimum. A round that finds a solution within its gap proves it optimal. A round that finds none
proves that the gap is larger, and the next round guesses higher. If a round drops labels for lack of memory, its bound
takes that into account.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, cast

import numpy as np

from elsewhere.kernels.cancellation import check_cancelled
from elsewhere.kernels.jit import per_call
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.errors import InputError
from elsewhere.solvers import dual, labels

# Work between two checks of the clock: values of the tables, sums of completions, labels. Each takes about 50 ms.
_DUAL_WORK = 20_000_000
_COMPLETION_WORK = 10_000_000
_LABEL_WORK = 1_000_000
# Without a time limit, a search may do this much work, in labels: a few seconds. Sums of completions count less.
_MOST_WORK = 60_000_000.0
_SUMS_PER_LABEL = 10
# The share of the work that is left which the completions of a round may do.
_COMPLETION_SHARE = 0.5
GROWTH = 2.0
FIRST_WIDTH = 4_000
BYTES_PER_LABEL = 12
BYTES_PER_COLUMN = 64
LABEL_SHARE = 8
_WIDER = 8
# Once the relative gap is this small, only this much more work is done, in labels times values. If the gap does not
# close by then, the problem is subset sum in disguise and hardly ever closes. The first round has the same limit.
GOOD_ENOUGH = 1e-6
GOOD_ENOUGH_WORK = 60_000_000


class SearchGaveUp(InputError):
    """A limit ended the search before it knew whether there is any answer."""


class OutOfTime(SearchGaveUp):
    """The time limit ended the search."""


class Tables(NamedTuple):
    """The terms of each value of each bin: bin i has the values low[i], low[i] + 1, ... at start[i]..start[i + 1].

    A value with an infinite objective is not allowed; costs are finite.
    """

    start: Ints
    low: Ints
    objective: Floats
    cost: Floats

    def at(self, counts: Ints) -> Ints:
        """The indices of the counts in the tables."""
        return self.start[:-1] + counts - self.low

    def of(self, bins: Flags) -> Tables:
        """The tables of these bins alone."""
        number = np.diff(self.start)
        kept, start = np.repeat(bins, number), np.append(0, np.cumsum(number[bins]))
        return Tables(start, self.low[bins], self.objective[kept], self.cost[kept])

    @property
    def values(self) -> Ints:
        """The value at each index."""
        return np.arange(len(self.cost)) + np.repeat(self.low - self.start[:-1], np.diff(self.start))


class Limits(NamedTuple):
    """When to stop early: an absolute gap, a time on the clock of `time.monotonic`, and bytes for the search."""

    gap: float = 0.0
    deadline: float = math.inf
    memory: int = 2**30

    def without_deadline(self) -> Limits:
        """The same limits without a time limit."""
        return self._replace(deadline=math.inf)

    def ending_in(self, seconds: float) -> Limits:
        """The same limits with this time limit."""
        return self._replace(deadline=time.monotonic() + seconds)

    def tolerance(self, objective: float) -> float:
        """The gap at which the search ends: the requested one, or the rounding error."""
        return max(self.gap, _noise(objective))

    @property
    def seconds(self) -> float:
        """The time that is left."""
        return max(self.deadline - time.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        """Whether time is up. Raises if the search was cancelled."""
        check_cancelled()
        return self.deadline < math.inf and time.monotonic() >= self.deadline


class Solution(NamedTuple):
    """The best counts found, a proven bound on their objective, and the multipliers of the dual bound.

    If the objective is infinite, `proven` says whether the quality loss is the least.
    """

    counts: Ints
    objective: float
    bound: float
    dual_bound: float
    cost_multiplier: float
    size_multiplier: float
    proven: bool = True
    #: The sum of the quality terms; NaN if it has not been added up.
    quality_total: float = math.nan

    @property
    def closed(self) -> bool:
        """Whether the objective is at its bound."""
        return self.proven and self.objective <= self.bound + _noise(self.objective)


def _noise(objective: float) -> float:
    """The rounding error of sums near an objective."""
    return 1e-14 + 1e-13 * abs(objective) if abs(objective) < math.inf else 0.0


class Effort:
    """How much work a search may still do, in labels, and in each round. With a time limit, only the time ends it.

    `enough` is the work that is left once the gap is good enough. All work is counted the same way whether kernels are
    compiled or not, so a search ends at the same place.
    """

    def __init__(self, limits: Limits, enough: float = GOOD_ENOUGH_WORK, most_in_round: float = math.inf) -> None:
        self.left = _MOST_WORK if limits.deadline == math.inf else math.inf
        self.used = 0.0
        self.enough = enough
        self.most_in_round = most_in_round

    @classmethod
    def of(cls, work: float, most_in_round: float = math.inf) -> Effort:
        """This much work, even if there is a time limit."""
        effort = cls(Limits(), most_in_round=most_in_round)
        effort.left = work
        return effort

    def of_round(self, share: float = 1.0) -> float:
        """How much work a part of a round may do, given its share of what is left."""
        return min(share * self.left, self.most_in_round)

    def end_soon(self) -> None:
        """Continue only for the work that is allowed once the gap is good enough."""
        self.left = min(self.left, self.enough)
        self.enough = self.left

    def spend(self, work: float) -> None:
        self.left -= work
        self.used += work

    @property
    def spent(self) -> bool:
        """Whether none is left."""
        return self.left <= 0.0


class Dual(NamedTuple):
    """Multipliers of cost and size, and the bound that they prove."""

    lam: float
    mu: float
    bound: float


class Best(NamedTuple):
    """The best counts known, if any, their objective, and a bound on the optimum.

    `exhausted` says whether everything that may be better has been searched.
    """

    counts: Ints | None
    objective: float
    bound: float
    exhausted: bool = False


def improve(
    tables: Tables,
    size: int,
    budget: float,
    by: Dual,
    best: Best,
    forbidden: Ints,
    limits: Limits,
    effort: Effort | None = None,
    widest: float = math.inf,
) -> Best:
    """The best counts of the tables by rounds of label search, or the known ones if none are better.

    Choices that are more than `widest` above the dual bound are not searched.
    """
    (lam, mu, dual_bound), (counts, found, bound, _) = by, best
    if effort is None:
        effort = Effort(limits)
        if counts is None:  # finding any counts at all is worth any effort
            effort.left = math.inf
    reduced, least, order, gap = labels.reduced_costs(tables.start, tables.low, tables.objective, tables.cost, lam, mu)
    most = limits.memory // (LABEL_SHARE * BYTES_PER_LABEL)
    width = min(FIRST_WIDTH, most // len(order))
    tree = None
    exhausted = False
    while not limits.passed and not effort.spent and (counts is None or found - bound > limits.tolerance(found)):
        if tree is None:
            tree = labels.prefix_tree(np.ascontiguousarray(forbidden.T[order]))
        now = limits if counts is not None else limits._replace(gap=0.0)  # without counts a gap means nothing
        gap = min(gap, found - dual_bound, widest)
        largest = max(abs(dual_bound), gap)  # the rounding error of their sum is relative to this
        hope = min(found, dual_bound + gap + now.tolerance(largest))
        fixed, layers, first = _select(tables, reduced, least, gap, order, lam, tree)
        enough = GOOD_ENOUGH_WORK // len(layers.value)
        width = max(1, width if width > FIRST_WIDTH else min(width, enough))
        left = size - int(fixed.sum())
        task = labels.Task(lam, mu, dual_bound, left, budget, hope, now.tolerance(found))
        outcome = _search(layers, first, task, gap, found, tree, now, width, effort)
        if outcome.values is not None:
            counts, found = np.empty(len(order), np.int64), outcome.objective
            counts[order] = np.concatenate((fixed, outcome.values))
        if not outcome.finished:
            break
        bound = max(bound, min(found, outcome.bound))
        near_enough = counts is not None and found - bound <= GOOD_ENOUGH * abs(found)
        if near_enough:
            effort.end_soon()
        if outcome.gave_up:
            wider = min(_WIDER * width, width * most // outcome.labels)
            if near_enough:
                wider = min(wider, enough)
            if wider < 2 * width:
                break
            width = wider
        elif gap >= min(found - dual_bound, widest, _span(tables, reduced, lam, budget) + 1e3 * _noise(largest)):
            exhausted = True  # everything better than the best counts has been searched
            break
        else:
            # If a larger gap adds no more values, small steps are useless.
            next_gap = found - dual_bound
            all_in = np.count_nonzero(reduced <= next_gap) == len(fixed) + len(layers.value)
            gap = next_gap if all_in else max(gap * GROWTH, 1e-12)
    return Best(counts, found, min(bound, found), exhausted)


def nothing_found(limits: Limits) -> SearchGaveUp:
    """The error for a search that ended before it found anything."""
    if limits.passed:
        return OutOfTime("the time limit ended the search before any histogram within the constraints was found")
    return SearchGaveUp(f"memory_limit={limits.memory} bytes are too few to find any histogram within the constraints")


def dual_of(tables: Tables, size: int, budget: float, known: Ints | None, limits: Limits) -> Dual:
    """The dual bound of all values of the tables; `known` are feasible counts, if any are known."""
    values = dual.Values(tables.start[:-1], tables.start[1:], tables.values, tables.objective, tables.cost)
    entries = np.where(tables.objective < math.inf, np.arange(len(tables.objective)), len(tables.objective))
    near = np.minimum.reduceat(entries, tables.start[:-1]) if known is None else tables.at(known)
    return multipliers(values, near, size, budget, limits)


def multipliers(values: dual.Values, near: Ints, size: int, budget: float, limits: Limits) -> Dual:
    """The multipliers of the best dual bound, or of the best one found in time. Bins first look around `near`."""
    ascent = dual.beginning(near)
    while not ascent.finished:
        ascent = dual.Ascent(*dual.maximise(values, size, budget, per_call(_DUAL_WORK), ascent))
        if limits.passed:
            break
    return Dual(float(ascent.lam), float(ascent.mu), float(ascent.bound))


def bounded(tables: Tables, size: int, budget: float, counts: Ints, limits: Limits) -> Solution:
    """The given counts with the dual bound, without a search."""
    lam, mu, dual_bound = dual_of(tables, size, budget, counts, limits)
    objective = float(tables.objective[tables.at(counts)].sum())
    return Solution(counts, objective, min(dual_bound, objective), dual_bound, lam, mu)


def dual_value(tables: Tables, size: int, budget: float, solution: Solution) -> float:
    """The dual bound that a solution's multipliers prove on these tables."""
    lam, mu = solution.cost_multiplier, solution.size_multiplier
    _, least, _, _ = labels.reduced_costs(tables.start, tables.low, tables.objective, tables.cost, lam, mu)
    return float(least.sum()) - (lam * budget if lam > 0.0 else 0.0) + mu * size


def _span(tables: Tables, reduced: Floats, lam: float, budget: float) -> float:
    """An upper bound on how far any choice within the budget is above the dual bound."""
    span = float(np.max(reduced, where=reduced < math.inf, initial=0.0)) * len(tables.low)
    if lam > 0.0:
        span += lam * (budget - float(np.minimum.reduceat(tables.cost, tables.start[:-1]).sum()))
    return span


def _select(
    tables: Tables, reduced: Floats, least: Floats, gap: float, order: Ints, lam: float, forbidden: labels.Forbidden
) -> tuple[Ints, labels.Layers, labels.Labels]:
    """The values with a reduced cost within the gap, bin by bin in the given order.

    Returns the values of the first bins, which have only one; the layers of the others; and the label before these.
    """
    most_fixed = 0 if forbidden.node.shape[1] else len(order) - 1
    fixed, cost, objective, *rest = labels.select(*tables, reduced, gap, order, least, lam, most_fixed)
    layers = labels.Layers(*cast(tuple[Ints, Ints, Floats, Floats], rest))
    return fixed, layers, labels.first_label(forbidden, cost, objective)


class _Outcome(NamedTuple):
    """The values of the layers in the solution of a round, if any, and the bound that it has proven if it finished."""

    values: Ints | None
    objective: float
    bound: float
    labels: int
    #: Whether labels were dropped for lack of memory, and whether the round finished.
    gave_up: bool
    finished: bool


def _search(
    layers: labels.Layers,
    reached: labels.Labels,
    task: labels.Task,
    gap: float,
    found: float,
    forbidden: labels.Forbidden,
    limits: Limits,
    width: int,
    effort: Effort,
) -> _Outcome:
    """Find the best solution in the layers if it is below `hope`, or at least one that is better than `found`.

    `reached` is the label before the first layer. No layer keeps more labels than `width`.
    """
    n = len(layers.start) - 1
    ended = _Outcome(None, found, -math.inf, 0, gave_up=True, finished=False)
    most = limits.memory // BYTES_PER_COLUMN
    completions = labels.no_completions(n)
    allowed, used = _SUMS_PER_LABEL * effort.of_round(_COMPLETION_SHARE), 0
    while completions.layers and used < allowed and not (used and limits.passed):
        work = math.ceil(min(per_call(_COMPLETION_WORK), allowed - used))
        completions = labels.Completions(*labels.complete(layers, task.size, gap, most, work, completions))
        used += work - completions.unspent
    effort.spend(used / _SUMS_PER_LABEL)
    if completions.layers or completions.where[labels.WIDTH, 0] < 0:
        return ended
    if completions.where[labels.WIDTH, 0] == 0:
        return _Outcome(None, found, task.hope - limits.gap, 0, gave_up=False, finished=True)
    best = np.zeros(6)
    best[labels.FOUND], best[labels.LAYER], best[labels.GIVEN_UP] = found, -1, math.inf
    layer_at = np.zeros(n + 1, np.int64)
    allowed, used = effort.of_round(), 0
    while reached.layer < n and used < allowed and not limits.passed:
        work = math.ceil(min(per_call(_LABEL_WORK), allowed - used))
        reached = labels.Labels(
            *labels.advance(layers, completions, task, forbidden, width, work, reached, layer_at, best)
        )
        used += work - reached.unspent
        if reached.offset[-1] > width and reached.layer < n:
            at = int(layer_at[reached.layer])
            offset, given_up = labels.thin(reached.label, reached.offset, reached.steps, at, width)
            reached = reached._replace(offset=offset)
            best[labels.GIVEN_UP] = min(best[labels.GIVEN_UP], given_up)
    effort.spend(used)
    values = None
    if best[labels.LAYER] >= 0:
        values = labels.trace(
            layers.start, layers.value, completions.where, completions.taken, task.size, reached.steps, layer_at, best
        )
    proven = min(min(task.hope, best[labels.FOUND]) - limits.gap, best[labels.GIVEN_UP])
    gave_up = bool(best[labels.GIVEN_UP] < math.inf)
    return _Outcome(values, float(best[labels.FOUND]), float(proven), int(layer_at.max()), gave_up, reached.layer == n)
