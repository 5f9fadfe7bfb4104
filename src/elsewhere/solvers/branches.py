"""Branch and bound around the rounds of `knapsack`, for bins whose share of the dual has two minima far apart.

Each bin i adds min_x (f_i(x) + lam g_i(x) - mu x) to the dual bound. In avoid, that sum may be least at two values with
a high barrier between them. The dual then takes a bit of both, which no choice of values can do, and its bound is far
from the optimum. If the values are split between the two minima, each half has better multipliers and a better bound.
Usually one or two bins are in this position, one for each multiplier. If many are, they are equal, and labels do it
better.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import items, kernel
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.solvers import dual, labels
from elsewhere.solvers.choices import sizes
from elsewhere.solvers.knapsack import (
    Best,
    Dual,
    Effort,
    Limits,
    Solution,
    Tables,
    dual_of,
    improve,
    multipliers,
    nothing_found,
)
from elsewhere.solvers.one_call import LABEL_WORK

# A value is as good as the best one if its reduced cost is below this share of the barrier between the two.
_ALIKE = 1e-3
# A barrier is high if it is this many times the first guess of the gap.
_HIGH = 2.0
# If more bins than this have a high barrier, nothing is split.
_MOST_FORKS = 4
_MOST_PARTS = 200
# The work of each round on the whole before it is split, in labels. It is that of `one_call`.
_FIRST_TRY = float(LABEL_WORK)
# The work of a dual for each value, and of the rounds of a part that end at once, in labels.
_WORK_PER_VALUE = 0.5
_WORK_PER_PART = 500_000.0
# Bytes for each value in the copy of a part, and for each bin of a part that waits. Both together may take one of so
# many parts of the memory.
_BYTES_PER_VALUE = 48
_BYTES_PER_BIN = 16
_MEMORY_SHARE = 4


def solve(
    tables: Tables,
    size: int,
    budget: float,
    *,
    known: Ints | None,
    forbidden: Ints,
    limits: Limits,
    by: Dual | None = None,
) -> Solution | None:
    """The counts of least objective whose sum is `size` and whose costs sum to at most `budget`.

    `known` is a feasible choice to start from. The rows of `forbidden` are choices that must not be returned. `by` is
    the dual bound, if it is known. With a finite budget `known` is required. Without one, the result is None if there
    is no choice, and `SearchGaveUp` is raised if a limit is reached before one is found.
    """
    free = np.diff(tables.start) > 1
    if by is None and free.any() and not free.all():
        return _solve_free(tables, free, size, budget, known, forbidden, limits)
    by = by or dual_of(tables, size, budget, known, limits)
    if known is None:
        best = improve(tables, size, budget, by, Best(None, math.inf, by.bound), forbidden, limits)
    else:
        best = _branch(tables, size, budget, by, known, forbidden, limits)
    if best.counts is not None:
        return Solution(best.counts, best.objective, best.bound, by.bound, by.lam, by.mu)
    if best.exhausted:
        return None
    raise nothing_found(limits)


class _Part(NamedTuple):
    """The entries first..last - 1 of each bin, and the dual bound of their values."""

    first: Ints
    last: Ints
    by: Dual

    def of(self, tables: Tables) -> Tables:
        """The tables of these entries alone."""
        number = self.last - self.first
        if number.sum() == len(tables.cost):
            return tables
        start = np.append(0, np.cumsum(number))
        entries = np.arange(start[-1]) + np.repeat(self.first - start[:-1], number)
        low = tables.low + self.first - tables.start[:-1]
        return Tables(start, low, tables.objective[entries], tables.cost[entries])


class _Fork(NamedTuple):
    """A bin with two entries that are as good as each other, and the best entries of all bins."""

    bin: int
    left: int
    right: int
    best: Ints


def _branch(tables: Tables, size: int, budget: float, by: Dual, known: Ints, forbidden: Ints, limits: Limits) -> Best:
    """The best counts: by rounds on the whole if that takes little work, else part by part, the least bound first.

    Small questions are answered in the first way, and `one_call` answers them so, too. So a release never depends on
    which of the two finds it.
    """
    found = float(tables.objective[tables.at(known)].sum())
    best = Best(known, found, min(by.bound, found))
    best = improve(tables, size, budget, by, best, forbidden, limits, Effort.of(math.inf, _FIRST_TRY))
    if best.objective - best.bound <= limits.tolerance(best.objective):
        return best
    effort, most = Effort(limits), _MOST_PARTS if _has_room(tables, limits) else 0
    queue, made = [(best.bound, 0, _Part(tables.start[:-1], tables.start[1:], by))], 1
    finished = math.inf  # the least bound of the finished parts
    while queue and not limits.passed and not effort.spent:
        bound, _, part = queue[0]
        if bound >= best.objective - limits.tolerance(best.objective):
            break
        heapq.heappop(queue)
        own = part.of(tables)
        fork = _fork(own, part.by) if made < most else None
        if fork is not None:
            for half in _halves(tables, part, fork, size, budget, limits):
                heapq.heappush(queue, (max(bound, half.by.bound), made, half))
                made += 1
                effort.spend(len(tables.cost) * _WORK_PER_VALUE)
        else:
            # An effort of its own, and its own work for a small gap, which says nothing about the other parts.
            own_effort = Effort.of(effort.left)
            best = improve(own, size, budget, part.by, best._replace(bound=bound), forbidden, limits, own_effort)
            effort.spend(own_effort.used + _WORK_PER_PART)
            finished = min(finished, best.bound)
    return best._replace(bound=min([finished, best.objective, *(bound for bound, _, _ in queue)]))


def _has_room(tables: Tables, limits: Limits) -> bool:
    """Whether splitting takes only a small part of the memory."""
    needed = _BYTES_PER_VALUE * len(tables.cost) + _BYTES_PER_BIN * _MOST_PARTS * len(tables.low)
    return needed <= limits.memory // _MEMORY_SHARE


def _fork(own: Tables, by: Dual) -> _Fork | None:
    """The bin with the highest barrier between its best values; None if there are none, or too many, such bins."""
    reduced, _, _, gap = labels.reduced_costs(own.start, own.low, own.objective, own.cost, by.lam, by.mu)
    forks, at, left, right, best = _forks(own.start, reduced, _HIGH * gap)
    return _Fork(at, left, right, best) if 0 < forks <= _MOST_FORKS else None


@kernel
def _forks(start: Ints, reduced: Floats, high: float) -> tuple[int, int, int, int, Ints]:
    """How many bins have a barrier above `high` between their best values.

    Also returns the bin with the highest one, the positions of its two best values, and the best position in each bin.
    """
    start, reduced = items(start), items(reduced)
    best = np.zeros(len(start) - 1, np.int64)
    forks = left = right = 0
    at = -1
    highest = 0.0
    for i in range(len(start) - 1):
        first, last = start[i], start[i + 1]
        least = first
        for e in range(first, last):
            if reduced[e] < reduced[least]:
                least = e
        best[i] = least - first
        own = high
        for way in (-1, 1):
            barrier = 0.0
            e = least + way
            while first <= e < last:
                if reduced[e] < math.inf:
                    barrier = max(barrier, reduced[e])
                if reduced[e] <= _ALIKE * barrier and barrier > own:
                    own = barrier
                    if barrier > highest:
                        highest, at = barrier, i
                        left, right = min(least, e) - first, max(least, e) - first
                e += way
        forks += own > high
    return forks, at, left, right, best


def _halves(tables: Tables, part: _Part, fork: _Fork, size: int, budget: float, limits: Limits) -> Iterator[_Part]:
    """The part split in two between the two best values of a bin, without halves that have no values of this size."""
    cut = part.first[fork.bin] + (fork.left + fork.right) // 2 + 1
    value = tables.values
    for is_right in (False, True):
        first, last, near = part.first.copy(), part.last.copy(), part.first + fork.best
        (first if is_right else last)[fork.bin] = cut
        near[fork.bin] = part.first[fork.bin] + (fork.right if is_right else fork.left)
        own = _Part(first, last, part.by).of(tables)
        smallest, largest = sizes(own.start, own.low, own.objective < math.inf)
        if smallest <= size <= largest:
            values = dual.Values(first, last, value, tables.objective, tables.cost)
            yield _Part(first, last, multipliers(values, near, size, budget, limits))


def _solve_free(
    tables: Tables, free: Flags, size: int, budget: float, known: Ints | None, forbidden: Ints, limits: Limits
) -> Solution | None:
    """`solve` without the bins that have a single value, which only shift the size, the budget and the objective."""
    fixed, entry = ~free, tables.start[:-1][~free]
    objective = float(tables.objective[entry].sum())
    spent, held = float(tables.cost[entry].sum()), int(tables.low[fixed].sum())
    matching = (forbidden[:, fixed] == tables.low[fixed]).all(axis=1)
    solution = solve(
        tables.of(free), size - held, budget - spent, known=None if known is None else known[free],
        forbidden=forbidden[matching][:, free], limits=limits,
    )  # fmt: skip
    if solution is None:
        return None
    counts = tables.low.copy()
    counts[free] = solution.counts
    dual_bound = solution.dual_bound + (objective - dual.ROUNDING * abs(objective))
    # What counts as a rounding error in the search may not do so next to a smaller sum.
    bound = (solution.objective if solution.closed else solution.bound) + objective
    return solution._replace(
        counts=counts, objective=solution.objective + objective, bound=bound, dual_bound=dual_bound
    )
