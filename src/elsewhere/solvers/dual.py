"""The Lagrangian dual of choosing one value per bin, given a size and a budget.

Every bin i takes one of its values x at objective f_i(x) and cost g_i(x); the values must sum to `size` and the costs
to at most `budget`. For a cost multiplier lam >= 0 and a size multiplier mu,

    D(lam, mu) = sum_i min_x (f_i(x) + lam g_i(x) - mu x) - lam budget + mu size

is a lower bound on the least total objective. Each choice of values, with the sums F, G and X of objectives, costs and
values, gives a plane F + lam (G - budget) - mu (X - size), and D is the least of all planes.

Three planes that meet in a highest point bound D from above. The choice that is best for the multipliers of this point
gives the plane that cuts off most of it. This plane replaces one of the three, until none cuts off anything. That is
the simplex method with three rows and generated columns (Dantzig and Wolfe), and takes some twenty choices.

Any choice that cuts off the point will do. So each bin first looks around the value that it had before, and at both
ends of its values. That finds the best value if the bin's sum has one minimum inside. If no such choice cuts off the
point, all values are looked at. `maximise` does a bounded amount of work per call, so that the caller can check the
clock in between.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import items, kernel, part
from elsewhere.model.arrays import Floats, Ints

_CONVERGED = 1e-15
#: Sums are lowered by this share of their terms, so that bounds hold despite rounding.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# The search ends after this many looks at all values, even if the multipliers are not optimal yet.
_PASSES = 100
_CHOICES_PER_PASS = 100
# Cost multipliers up to this many times a first guess are searched, then this many times as large ones, up to the
# largest. The bound is still valid without larger ones, only weaker.
_FAR = 1e6
_LARGEST = 1e30
# Coefficients of a plane below this are rounding errors.
_TINY = 1e-13
# Columns of the planes: 1 for a choice, or 0 for a limit on lam alone; the objective; the cost and the size above the
# allowed ones. A limit on lam is lam >= 0, with the cost 1, or lam <= the objective, with the cost -1.
WHOLE, OBJECTIVE, COST, SIZE = range(4)


class Values(NamedTuple):
    """The values of all bins, each with its objective and cost: bin i has the entries first[i]..last[i] - 1.

    The values of a bin are sorted. An infinite objective marks a value that is not allowed; each bin has another one.
    """

    first: Ints
    last: Ints
    value: Ints
    f: Floats
    g: Floats


class Ascent(NamedTuple):
    """The state of the search for the maximum of D: the best multipliers so far, with the bound that they prove."""

    lam: float
    mu: float
    bound: float
    #: How far rounding may have lowered the bound, and the best entry of each bin for the best multipliers.
    error: float
    best: Ints
    #: Where each bin looks first, and the planes that meet in the highest point. Both are changed in place.
    near: Ints
    planes: Floats
    #: How often all values were looked at; negative if the multipliers are optimal.
    passes: int

    @property
    def finished(self) -> bool:
        """Whether another call would change nothing."""
        return not 0 <= self.passes < _PASSES


def beginning(near: Ints) -> Ascent:
    """The state before the first call; each bin looks around these entries first."""
    return Ascent(0.0, 0.0, -math.inf, 0.0, near.copy(), near.copy(), np.zeros((3, 4)), 0)


@part
def _begin(values: Values, size: int, budget: float, planes: Floats) -> None:
    """The first planes: the least values of all bins, the greatest ones, and a limit on lam."""
    first, last, value, f, g = values
    f_span = g_span = 0.0
    for row in range(2):
        planes[row, WHOLE], planes[row, OBJECTIVE], planes[row, COST], planes[row, SIZE] = 1.0, 0.0, -budget, -size
    for i in range(len(first)):
        a, b = first[i], last[i] - 1
        while f[a] == math.inf:
            a += 1
        while f[b] == math.inf:
            b -= 1
        f_span += abs(f[b] - f[a])
        g_span += abs(g[b] - g[a])
        for row in range(2):
            e = a if row == 0 else b
            planes[row, OBJECTIVE] += f[e]
            planes[row, COST] += g[e]
            planes[row, SIZE] += value[e]
    planes[2, WHOLE], planes[2, OBJECTIVE], planes[2, COST], planes[2, SIZE] = 0.0, 0.0, 1.0, 0.0
    if budget == math.inf:
        planes[0, COST] = planes[1, COST] = -1.0
    elif planes[1, SIZE] * planes[0, COST] - planes[0, SIZE] * planes[1, COST] > 0.0:  # too expensive in the mean
        planes[2, COST] = -1.0
        planes[2, OBJECTIVE] = _FAR * (f_span / g_span if g_span > 0.0 and f_span > 0.0 else 1.0)


@part
def _look_near(values: Values, lam: float, mu: float, near: Ints) -> tuple[float, float, float]:
    """The objective, the cost and the size of good values for these multipliers, at the ends or near the last ones."""
    first, last, value, f, g = values
    first, last, value, f, g, near = items(first), items(last), items(value), items(f), items(g), items(near)
    objective = cost = taken = 0.0  # sizes are integers, but their sum may exceed 64 bits
    for i in range(len(first)):
        a, b, e = first[i], last[i] - 1, near[i]
        least = f[e] + lam * g[e] - mu * value[e]
        way = 0
        for step in (1, -1):
            while way != -step and a <= e + step <= b:
                reduced = f[e + step] + lam * g[e + step] - mu * value[e + step]
                if reduced >= least:
                    break
                least, e, way = reduced, e + step, step
        near[i] = e
        if f[a] + lam * g[a] - mu * value[a] < least:
            least, e = f[a] + lam * g[a] - mu * value[a], a
        if f[b] + lam * g[b] - mu * value[b] < least:
            e = b
        objective += f[e]
        cost += g[e]
        taken += value[e]
    return objective, cost, taken


@part
def _look_everywhere(values: Values, lam: float, mu: float, near: Ints) -> tuple[float, float, float, float, float]:
    """The sum of the bins' minima, of what rounding adds to them, and of objective, cost and size at the minima."""
    first, last, value, f, g = values
    first, last, value, f, g, near = items(first), items(last), items(value), items(f), items(g), items(near)
    total = rounding = objective = cost = taken = 0.0
    for i in range(len(first)):
        least = math.inf
        at = first[i]
        for e in range(first[i], last[i]):
            reduced = f[e] + lam * g[e] - mu * value[e]
            if reduced < least:
                least, at = reduced, e
        near[i] = at
        total += least
        rounding += abs(least) + 2.0 * abs(mu * value[at])
        objective += f[at]
        cost += g[at]
        taken += value[at]
    return total, rounding, objective, cost, taken


@part
def _pivot(planes: Floats) -> int:
    """The plane to subtract from the others, so that rounding matters least; -1 if the planes do not meet."""
    pivot, best = -1, 0.0
    for r in range(3):
        a_cost, a_size, b_cost, b_size = _differences(planes, r)
        first, second = a_cost * b_size, a_size * b_cost
        if planes[r, WHOLE] > 0.0 and abs(first - second) > best * (abs(first) + abs(second)):
            pivot, best = r, abs(first - second) / (abs(first) + abs(second))
    return pivot


@part
def _differences(planes: Floats, r: int) -> tuple[float, float, float, float]:
    """Cost and size of each of the two planes after plane r, less those of plane r."""
    i, j = (r + 1) % 3, (r + 2) % 3
    return (
        planes[i, COST] - planes[i, WHOLE] * planes[r, COST],
        planes[i, SIZE] - planes[i, WHOLE] * planes[r, SIZE],
        planes[j, COST] - planes[j, WHOLE] * planes[r, COST],
        planes[j, SIZE] - planes[j, WHOLE] * planes[r, SIZE],
    )


@part
def _mixture(planes: Floats, r: int, whole: float, cost: float, size: float) -> tuple[float, float, float]:
    """The shares of the three planes that add up to these numbers."""
    i, j = (r + 1) % 3, (r + 2) % 3
    a_cost, a_size, b_cost, b_size = _differences(planes, r)
    cost -= whole * planes[r, COST]
    size -= whole * planes[r, SIZE]
    area = a_cost * b_size - a_size * b_cost
    of_i = (cost * b_size - size * b_cost) / area
    of_j = (a_cost * size - a_size * cost) / area
    of_r = whole - planes[i, WHOLE] * of_i - planes[j, WHOLE] * of_j
    # A tuple, because allocating an array takes longer than all of this.
    if r == 0:
        return of_r, of_i, of_j
    return (of_j, of_r, of_i) if r == 1 else (of_i, of_j, of_r)


@part
def _meet(planes: Floats) -> tuple[float, float, float]:
    """The point in which the planes meet: lam, mu and the height; -inf if they do not."""
    r = _pivot(planes)
    if r < 0:
        return 0.0, 0.0, -math.inf
    i, j = (r + 1) % 3, (r + 2) % 3
    a_cost, a_size, b_cost, b_size = _differences(planes, r)
    a = planes[i, OBJECTIVE] - planes[i, WHOLE] * planes[r, OBJECTIVE]
    b = planes[j, OBJECTIVE] - planes[j, WHOLE] * planes[r, OBJECTIVE]
    area = a_cost * b_size - a_size * b_cost
    lam, mu = (b * a_size - a * b_size) / area, (a_cost * b - b_cost * a) / area
    return lam, mu, planes[r, OBJECTIVE] + lam * planes[r, COST] - mu * planes[r, SIZE]


@part
def enter(planes: Floats, whole: float, objective: float, cost: float, size: float) -> bool:
    """Replace one of the planes by this one, such that the three still have a highest point; False if none can be."""
    r = _pivot(planes)
    if r < 0:
        return False
    weight = _mixture(planes, r, 1.0, 0.0, 0.0)
    share = _mixture(planes, r, whole, cost, size)
    leaving, least, largest = -1, math.inf, 0.0
    for i in range(3):
        if share[i] > _TINY:
            ratio = max(0.0, weight[i]) / share[i]
            if ratio < least or (ratio == least and share[i] > largest):
                leaving, least, largest = i, ratio, share[i]
    if leaving < 0 or (
        planes[leaving, WHOLE] == whole
        and planes[leaving, OBJECTIVE] == objective
        and planes[leaving, COST] == cost
        and planes[leaving, SIZE] == size
    ):
        return False
    planes[leaving, WHOLE], planes[leaving, OBJECTIVE] = whole, objective
    planes[leaving, COST], planes[leaving, SIZE] = cost, size
    return True


@part
def shift(values: Values, size: int, budget: float, above: float, planes: Floats) -> None:
    """Let all choices cost this much more than allowed, because the budget has changed to this one.

    If the planes then have no highest point, they replace first planes, as far as they cut off anything.
    """
    before = planes.copy()
    r = _pivot(planes)
    if r >= 0:
        for i in range(3):
            before[i, COST] += before[i, WHOLE] * above
            planes[i, COST] = before[i, COST]
        if min(_mixture(planes, r, 1.0, 0.0, 0.0)) >= 0.0:
            return
    _begin(values, size, budget, planes)
    for k in range(6 if r >= 0 else 0):
        objective, cost, taken = before[k % 3, OBJECTIVE], before[k % 3, COST], before[k % 3, SIZE]
        lam, mu, height = _meet(planes)
        if before[k % 3, WHOLE] > 0.0 and objective + lam * cost - mu * taken < height:
            enter(planes, 1.0, objective, cost, taken)


@part
def _raise_limit(planes: Floats) -> bool:
    """Raise the upper limit on lam, if that is one of the planes and D is higher beyond it; whether it was raised."""
    for i in range(3):
        if planes[i, WHOLE] == 0.0 and planes[i, COST] < 0.0 and planes[i, OBJECTIVE] < _LARGEST:
            r = _pivot(planes)
            if r >= 0 and _mixture(planes, r, 1.0, 0.0, 0.0)[i] > _TINY:
                planes[i, OBJECTIVE] *= _FAR
                return True
    return False


@part
def _descend(values: Values, size: int, budget: float, near: Ints, planes: Floats) -> tuple[float, float, float, int]:
    """Lower the highest point until no choice of near values cuts it off. Returns the point and the choices tried."""
    lam, mu, height = _meet(planes)
    for tried in range(_CHOICES_PER_PASS):
        if lam < 0.0 and enter(planes, 0.0, 0.0, 1.0, 0.0):
            lam, mu, height = _meet(planes)
            continue
        objective, cost, taken = _look_near(values, lam, mu, near)
        above = cost - budget if budget < math.inf else -1.0
        cut = objective - mu * (taken - size)
        if budget < math.inf:
            cut += lam * above
        is_lower = cut < height - _CONVERGED * (1.0 + abs(height))
        if not (is_lower and enter(planes, 1.0, objective, above, taken - size)) and not _raise_limit(planes):
            return lam, mu, height, tried
        lam, mu, height = _meet(planes)
    return lam, mu, height, _CHOICES_PER_PASS


@kernel
def maximise(
    values: Values, size: int, budget: float, work: int, so_far: Ascent
) -> tuple[float, float, float, float, Ints, Ints, Floats, int]:
    """Continue towards the lam and mu that maximise D, until about `work` values were visited.

    With a finite budget, some choice must be within it: otherwise D has no maximum. Returns the fields of `Ascent`.
    """
    n, entries = len(values.first), len(values.f)
    best_lam, best_mu, best, error, at = so_far.lam, so_far.mu, so_far.bound, so_far.error, so_far.best
    near, planes, passes = so_far.near, items(so_far.planes), so_far.passes
    if planes[0, WHOLE] + planes[1, WHOLE] + planes[2, WHOLE] == 0.0:
        _begin(values, size, budget, planes)
    while 0 <= passes < _PASSES and work > 0:
        lam, mu, height, tried = _descend(values, size, budget, near, planes)
        lam = lam if lam > 0.0 else 0.0  # also instead of -0.0, which `max` may keep
        total, rounding, objective, cost, taken = _look_everywhere(values, lam, mu, near)
        passes += 1
        dual, above = total + mu * size, -1.0
        rounding += abs(mu) * size
        if budget < math.inf:
            dual -= lam * budget
            rounding += lam * abs(budget)
            above = cost - budget
        rounding *= ROUNDING
        if dual - rounding > best:  # so that the bound holds despite rounding
            best_lam, best_mu, best, error, at = lam, mu, dual - rounding, rounding, near.copy()
        is_lower = dual < height - rounding - _CONVERGED * (1.0 + abs(height))
        if not (is_lower and enter(planes, 1.0, objective, above, taken - size)):
            passes = -passes
        work -= 2 * entries + 4 * n * (1 + tried)
    return best_lam, best_mu, best, error, at, near, so_far.planes, passes
