"""One value a bin, given a size and a budget, at the least total objective: exactly, or as near as limits allow.

This is the multiple-choice knapsack behind resemble and avoid (RO and AO in the paper). The steps: the dual bound and
its multipliers; then rounds of label search, each among the values whose reduced cost fits a guessed gap between the
dual bound and the optimum. A round that finds a solution within its gap has proven it optimal; one that does not has
proven that the gap is larger, and the next guesses higher. What a round gives up for want of memory, it accounts for
in the bound.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.errors import InputError
from elsewhere.solvers import dual, labels
from elsewhere.solvers.cancellation import check_cancelled

_WORK_PER_CALL = 5_000_000
_GROWTH = 4.0
_FIRST_WIDTH = 4_000
_BYTES_PER_LABEL = 12
_BYTES_PER_COLUMN = 64
_LABEL_SHARE = 8
_WIDER = 8
# A relative gap this small is worth only so much work, in labels times values: where it does not close then, it is
# subset sum in disguise, and hardly ever closes at all. The first round is held to the same.
_GOOD_ENOUGH = 1e-6
_GOOD_ENOUGH_WORK = 60_000_000


class SearchGaveUp(InputError):
    """The memory is too small to say whether there is any answer at all."""


class Tables(NamedTuple):
    """What each value of each bin is worth: bin i has the values low[i], low[i] + 1, ... at start[i]..start[i + 1].

    A value with an infinite objective is not allowed; costs are finite.
    """

    start: Ints
    low: Ints
    objective: Floats
    cost: Floats

    def at(self, counts: Ints) -> Ints:
        """The places of the counts in the tables."""
        return self.start[:-1] + counts - self.low


class Limits(NamedTuple):
    """When to stop early: an absolute gap, a time on the clock of `time.monotonic`, and bytes for the search."""

    gap: float = 0.0
    deadline: float = math.inf
    memory: int = 2**30

    def without_deadline(self) -> Limits:
        """The same but for time, and with no gap left."""
        return Limits(0.0, math.inf, self.memory)

    def ending_in(self, seconds: float) -> Limits:
        """The same but for time."""
        return self._replace(deadline=time.monotonic() + seconds)

    def tolerance(self, objective: float) -> float:
        """The gap at which the search ends: the one asked for, or the noise of floating point."""
        return max(self.gap, _noise(objective))

    @property
    def passed(self) -> bool:
        check_cancelled()
        return self.deadline < math.inf and time.monotonic() >= self.deadline


class Solution(NamedTuple):
    """The best counts found, a proven bound on their objective, and the multipliers of the dual bound.

    An infinite objective says nothing of the quality loss, so `proven` says whether that is the least.
    """

    counts: Ints
    objective: float
    bound: float
    dual_bound: float
    cost_multiplier: float
    size_multiplier: float
    proven: bool = True

    @property
    def closed(self) -> bool:
        """Whether the objective is at its bound."""
        return self.proven and self.objective <= self.bound + _noise(self.objective)


def _noise(objective: float) -> float:
    return 1e-14 + 1e-13 * abs(objective) if abs(objective) < math.inf else 0.0


def solve(
    tables: Tables,
    size: int,
    budget: float,
    *,
    known: Ints | None,
    forbidden: Ints,
    limits: Limits,
    guess: tuple[float, float] = (-1.0, 0.0),
) -> Solution | None:
    """The counts of least objective whose sum is `size` and whose costs sum to at most `budget`.

    `known` is a feasible choice to start from, `forbidden` has whole choices as rows that must not come out, `guess` is
    a pair of multipliers to start from. With a finite budget a choice must be known; without one the answer is None if
    there is none. Limits count from the moment that a choice is known.
    """
    first = np.zeros(0, np.int64) if known is None else known
    lam, mu, dual_bound = dual.maximise(
        tables.start, tables.low, tables.objective, tables.cost, size, budget, first, *guess
    )
    counts, found = known, math.inf
    if known is not None:
        found = float(tables.objective[tables.at(known)].sum())
    bound = min(dual_bound, found)
    reduced, least, second, gap = labels.reduced_costs(tables.start, tables.low, tables.objective, tables.cost, lam, mu)
    # Labels multiply late if the bins whose second choice costs most come first.
    order = np.argsort(-second, kind="stable")
    most = limits.memory // (_LABEL_SHARE * _BYTES_PER_LABEL)
    width = min(_FIRST_WIDTH, most // len(order))
    exhausted = False
    while counts is None or (not limits.passed and found - bound > limits.tolerance(found)):
        now = limits if counts is not None else limits.without_deadline()
        gap = min(gap, found - dual_bound)
        hope = min(found, dual_bound + gap + now.tolerance(dual_bound))
        entries = _select(tables, reduced, least, gap, order)
        enough = _GOOD_ENOUGH_WORK // len(entries.value)
        width = max(1, width if width > _FIRST_WIDTH else min(width, enough))
        outcome = _search(entries, size, budget, (lam, mu, dual_bound), gap, hope, found, forbidden, now, width)
        if outcome.counts is not None:
            counts, found = outcome.counts, outcome.objective
        if not outcome.finished:
            break
        bound = max(bound, min(found, outcome.bound))
        if outcome.gave_up:
            wider = min(_WIDER * width, width * most // outcome.labels)
            if found - bound <= _GOOD_ENOUGH * abs(found):
                wider = min(wider, enough)
            if wider < 2 * width:
                break
            width = wider
        elif gap >= min(found - dual_bound, _span(tables, reduced, lam, budget) + 1e3 * _noise(dual_bound)):
            exhausted = True  # whatever is better than what was found has been looked at
            break
        else:
            # Where a larger gap would let no more values in, there is no use in small steps.
            widest = found - dual_bound
            all_in = len(_select(tables, reduced, least, widest, order).value) == len(entries.value)
            gap = widest if all_in else max(gap * _GROWTH, 1e-12)
    if counts is None:
        if exhausted:
            return None
        raise nothing_found(limits)
    return Solution(counts, found, min(bound, found), dual_bound, lam, mu)


def nothing_found(limits: Limits) -> SearchGaveUp:
    return SearchGaveUp(f"memory_limit={limits.memory} bytes are too few to find any histogram within the constraints")


def bounded(tables: Tables, size: int, budget: float, counts: Ints) -> Solution:
    """The given counts with the dual bound, without a search."""
    lam, mu, dual_bound = dual.maximise(
        tables.start, tables.low, tables.objective, tables.cost, size, budget, counts, -1.0, 0.0
    )
    objective = float(tables.objective[tables.at(counts)].sum())
    return Solution(counts, objective, min(dual_bound, objective), dual_bound, lam, mu)


def dual_value(tables: Tables, size: int, budget: float, solution: Solution) -> float:
    """The dual bound that a solution's multipliers prove on these tables."""
    lam, mu = solution.cost_multiplier, solution.size_multiplier
    _, least, _, _ = labels.reduced_costs(tables.start, tables.low, tables.objective, tables.cost, lam, mu)
    return float(least.sum()) - (lam * budget if lam > 0.0 else 0.0) + mu * size


def _span(tables: Tables, reduced: Floats, lam: float, budget: float) -> float:
    """More than any choice within the budget can have above the dual bound."""
    span = float(reduced[reduced < math.inf].max()) * len(tables.low)
    if lam > 0.0:
        span += lam * (budget - float(np.minimum.reduceat(tables.cost, tables.start[:-1]).sum()))
    return span


class _Entries(NamedTuple):
    """The values that a round looks at, in layers: `order` says which bin is which layer."""

    order: Ints
    start: Ints
    value: Ints
    objective: Floats
    cost: Floats
    reduced: Floats
    passed: Floats


def _select(tables: Tables, reduced: Floats, least: Floats, gap: float, order: Ints) -> _Entries:
    selected = labels.select(tables.start, tables.low, tables.objective, tables.cost, reduced, gap, order, least)
    return _Entries(order, *selected)


class _Outcome(NamedTuple):
    """What a round found, if anything, and the bound that it has proven if it came to its end."""

    counts: Ints | None
    objective: float
    bound: float
    labels: int
    #: Whether labels were dropped for want of room, and whether the round came to its end.
    gave_up: bool
    finished: bool


def _search(
    entries: _Entries,
    size: int,
    budget: float,
    multipliers: tuple[float, float, float],
    gap: float,
    hope: float,
    found: float,
    forbidden: Ints,
    limits: Limits,
    width: int,
) -> _Outcome:
    """Find the best solution among the entries if it is below `hope`, or at least one that is better than `found`."""
    e = entries
    n = len(e.order)
    nothing = _Outcome(None, found, hope - limits.gap, 0, gave_up=False, finished=True)
    first, widths, position, table, taken = labels.complete(
        e.start, e.value, e.objective, e.cost, e.reduced, size, gap, limits.memory // _BYTES_PER_COLUMN
    )
    if widths[0] <= 0:
        return nothing if widths[0] == 0 else _Outcome(None, found, -math.inf, 0, gave_up=True, finished=False)
    wanted = np.ascontiguousarray(forbidden.T[e.order]) if len(forbidden) else np.zeros((n, 0), np.int64)
    classes = _prefix_tree(wanted)
    best = np.zeros(6)
    best[labels.FOUND], best[labels.LAYER], best[labels.GIVEN_UP] = found, -1, math.inf
    layer_at = np.zeros(n + 1, np.int64)
    layer, base = 0, 0
    label, offset = np.zeros((3, 1)), np.array([0, 1])
    steps = np.zeros((3, 1024), np.int32)
    steps[labels.NODE, 0] = 0 if len(forbidden) else -1
    while layer < n and not limits.passed:
        layer, label, offset, base, steps = labels.advance(
            layer, _WORK_PER_CALL, width, e.start, e.value, e.objective, e.cost, e.passed, *multipliers, size, budget,
            hope, limits.tolerance(best[labels.FOUND]), first, widths, position, table, classes, wanted,
            label, offset, base, steps, layer_at, best,
        )  # fmt: skip
        if offset[-1] > width and layer < n:
            offset, given_up = labels.thin(label, offset, steps, int(layer_at[layer]), width)
            best[labels.GIVEN_UP] = min(best[labels.GIVEN_UP], given_up)
    counts = None
    if best[labels.LAYER] >= 0:
        counts = np.empty(n, np.int64)
        counts[e.order] = labels.trace(e.start, e.value, first, position, taken, size, steps, layer_at, best)
    proven = min(min(hope, best[labels.FOUND]) - limits.gap, best[labels.GIVEN_UP])
    gave_up = bool(best[labels.GIVEN_UP] < math.inf)
    return _Outcome(counts, float(best[labels.FOUND]), float(proven), int(layer_at.max()), gave_up, layer == n)


def _prefix_tree(wanted: Ints) -> Ints:
    """For each layer and column of `wanted`, the first column with the same values in all layers before."""
    classes = np.zeros((wanted.shape[0] + 1, wanted.shape[1]), np.int64)
    for layer in range(wanted.shape[0] if wanted.shape[1] else 0):
        seen: dict[tuple[int, int], int] = {}
        for k in range(wanted.shape[1]):
            classes[layer + 1, k] = seen.setdefault((int(classes[layer, k]), int(wanted[layer, k])), k)
    return classes
