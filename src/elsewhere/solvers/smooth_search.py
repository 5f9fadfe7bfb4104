"""Enumerate all integer counts below a quadratic form, depth first, to close gaps if a distance couples the bins.

The form is v' E v / 2 + sum of separable costs, v = x - point. With E = R' R and R triangular, each bin that is decided
adds the square of one sum over the bins decided before. The separable part bounds the cost of the other bins: a dynamic
program fills a table of it over bins and sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import kernel
from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers.knapsack import Limits
from elsewhere.solvers.smooth_minorant import Minorant

#: Bins decided between two checks of the clock; about 50 ms.
_WORK = 200_000
_MORE, _LEAF, _DONE = 0, 1, 2


class _Form(NamedTuple):
    """The form over the open bins. The bins that are decided last come first."""

    root: Floats
    point: Floats
    low: Ints
    #: The separable cost of each count of each bin, and the least cost of the first k bins with a given sum above low.
    own: Floats
    least: Floats
    size: int


class _Stack(NamedTuple):
    """The state of the depth-first search: for each level its count above low, its children, and the sums so far."""

    x: Ints
    kids: Ints
    kid_costs: Floats
    #: The next child, and how many there are.
    places: Ints
    cost: Floats
    total: Ints


class Enumeration:
    """A search through all counts that a lower bound does not rule out; the threshold can be lowered on the way."""

    def __init__(self, lower: Minorant, form: _Form, order: Ints) -> None:
        self._value, self._counts, self._form, self._order = lower.tangent.value, lower.low.copy(), form, order
        m, width = form.own.shape
        self._stack = _Stack(
            np.zeros(m, np.int64), np.zeros((m, width), np.int64), np.zeros((m, width)), np.zeros((m, 2), np.int64),
            np.zeros(m + 1), np.zeros(m + 1, np.int64),
        )  # fmt: skip
        self._level, self._enter = m - 1, True
        self.finished = False

    def next(self, threshold: float, limits: Limits) -> Ints | None:
        """The next counts whose lower bound is below the threshold; None if there are no more, or if time is up."""
        while not self.finished and not limits.passed:
            status, self._level, self._enter = descend(
                self._form, self._stack, threshold - self._value, self._level, self._enter, _WORK
            )
            self.finished = status == _DONE
            if status == _LEAF:
                counts = self._counts.copy()
                counts[self._order] = self._form.low + self._stack.x
                return counts
        return None


def enumeration(lower: Minorant, size: int, limits: Limits) -> Enumeration | None:
    """The search through the remaining counts; None if memory or precision does not suffice."""
    opened = np.flatnonzero(lower.open)
    own = lower.quadratic.diagonal()
    # Decide the bins first where a visit costs most, because they leave the fewest counts.
    order = opened[np.argsort(own[opened], kind="stable")]
    width, total = int((lower.high - lower.low).max(initial=0)) + 1, size - int(lower.low.sum())
    if not len(order) or total < 0 or 8 * len(order) * (total + 2 * width + len(order)) > limits.memory:
        return None
    # A Cholesky root needs a form that is definite despite rounding; what is added is taken from the separable part.
    shift = 1e-12 * float(own.max())
    form = lower.quadratic[np.ix_(order, order)] + np.diag(shift - lower.diagonal[order])
    try:
        root = np.ascontiguousarray(np.linalg.cholesky(form).T)
    except np.linalg.LinAlgError:
        return None
    point, low = lower.tangent.point[order], lower.low[order]
    counts = low[:, None] + np.arange(width)
    v = counts - point[:, None]
    costs = lower.tangent.reduced[order, None] * v + 0.5 * (lower.diagonal[order, None] - shift) * v * v
    costs[counts > lower.high[order, None]] = np.inf
    return Enumeration(lower, _Form(root, point, low, costs, table(costs, total), total), order)


@kernel
def table(costs: Floats, most: int) -> Floats:
    m, width = costs.shape
    least = np.full((m + 1, most + 1), np.inf)
    least[0, 0] = 0.0
    for at in range(m):
        for before in range(most + 1):
            if least[at, before] < np.inf:
                for step in range(min(width, most - before + 1)):
                    cost = least[at, before] + costs[at, step]
                    if cost < least[at + 1, before + step]:
                        least[at + 1, before + step] = cost
    return least


@kernel
def descend(form: _Form, stack: _Stack, threshold: float, level: int, enter: bool, work: int) -> tuple[int, int, bool]:
    """Continue to the next leaf, to the end, or until the work is done; `enter` if a level has no children yet."""
    root, point, low, own, least, size = form
    x, kids, kid_costs, places, cost, total = stack
    m, width = kids.shape
    for _ in range(work):
        behind = 0.0
        for j in range(level + 1, m):
            behind += root[level, j] * (low[j] + x[j] - point[j])
        if enter:
            left, number = size - total[level + 1], 0
            for step in range(min(width, left + 1)):
                part = root[level, level] * (low[level] + step - point[level]) + behind
                bound = cost[level + 1] + own[level, step] + 0.5 * part * part + least[level, left - step]
                if bound < threshold:
                    at = number
                    while at > 0 and kid_costs[level, at - 1] > bound:
                        kids[level, at] = kids[level, at - 1]
                        kid_costs[level, at] = kid_costs[level, at - 1]
                        at -= 1
                    kids[level, at] = step
                    kid_costs[level, at] = bound
                    number += 1
            places[level, 0] = 0
            places[level, 1] = number
            enter = False
        at = places[level, 0]
        if at >= places[level, 1] or kid_costs[level, at] >= threshold:
            level += 1
            if level == m:
                return _DONE, m - 1, False
            continue
        places[level, 0] = at + 1
        step = kids[level, at]
        part = root[level, level] * (low[level] + step - point[level]) + behind
        x[level] = step
        cost[level] = cost[level + 1] + own[level, step] + 0.5 * part * part
        total[level] = total[level + 1] + step
        if level == 0:
            return _LEAF, 0, False
        level -= 1
        enter = True
    return _MORE, level, enter
