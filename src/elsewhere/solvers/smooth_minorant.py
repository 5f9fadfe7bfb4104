"""A lower bound on the objective of integer counts if a distance couples the bins: a quadratic form.

At a point near the fractional optimum the objective is at least its tangent plus the Bregman divergence of every row.
Counts that are better than known ones have small divergences, so their rows stay near those of the point. There each
divergence is at least c / 2 times the square of the row's change, with c as below. All in all, for v = x - point,

    objective(x) >= bound + reduced @ v + v' Q v / 2,     Q = sum over the rows a of c a a'

A diagonal D such that Q - D is positive semidefinite gives a separable bound. With it, every bin pays for being an
integer, and the best integer counts are found bin by bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.rows import Rows
from elsewhere.solvers.smooth_relaxation import Coupled, Tangent

#: Rounds of raising D, and the share of the possible increase that each round takes.
_ROUNDS = 4
_RAISE = 0.5
#: D stays below its maximum by this share, because of rounding.
_SPARE = 1e-6
#: What is added to a form to invert it, relative to its largest entry.
_SOLID = 1e-12
#: Bisection steps in the search for the end of a row.
_HALVINGS = 60
#: A smaller radius would be below the rounding errors of divergences. A larger radius is always valid.
_LEAST_RADIUS = 1e-11


class Minorant(NamedTuple):
    """A lower bound on the objective of all counts that are better than the known ones."""

    tangent: Tangent
    #: The greatest gap to the tangent's bound that better counts may have.
    radius: float
    quadratic: Floats
    diagonal: Floats
    #: The counts that each bin may have.
    low: Ints
    high: Ints
    size_price: float
    bound: float

    @property
    def empty(self) -> bool:
        """Whether no counts remain."""
        return bool((self.low > self.high).any())

    @property
    def open(self) -> Flags:
        """The bins that may have several counts, or a single one that differs from the point."""
        return np.asarray((self.low < self.high) | (self.low != self.tangent.point))


def minorant(problem: Coupled, tangent: Tangent, known: float) -> Minorant | None:
    """The lower bound for counts with an objective below `known`; None if the tangent rules all of them out."""
    if not -np.inf < tangent.bound < known:
        return None
    radius = max(known - tangent.bound, _LEAST_RADIUS)
    quadratic = _form(problem.objective, problem, tangent, 1.0, radius)
    if problem.cost is not None and tangent.price > 0.0:
        quadratic += _form(problem.cost, problem, tangent, tangent.price, radius)
    low, high = _ranges(problem, tangent, radius)
    # The counts sum to the size, so this term is 0 for them.
    quadratic += quadratic.diagonal().max(initial=0.0)
    opened = np.flatnonzero((low < high) | (low != tangent.point))
    diagonal = np.zeros(len(low))
    if len(opened):
        spread = float(((high - low)[opened].astype(np.float64) ** 2).sum())
        diagonal[opened], width = _spared(
            quadratic[np.ix_(opened, opened)], _fraction(tangent.point[opened]), radius, spread
        )
        low[opened] = np.maximum(low[opened], np.ceil(tangent.point[opened] - width - 1e-9).astype(np.int64))
        high[opened] = np.minimum(high[opened], np.floor(tangent.point[opened] + width + 1e-9).astype(np.int64))
    price, least = _least(problem, tangent, diagonal)
    return Minorant(tangent, radius, quadratic, diagonal, low, high, price, least)


def _form(rows: Rows, problem: Coupled, tangent: Tangent, weight: float, radius: float) -> Floats:
    """The part of Q that comes from a sum of rows, with the least c that each row's divergence allows."""
    y = rows.sums(tangent.point)
    slope, term = rows.slopes(y), rows.terms(y)
    end = rows.sums(problem.upper.astype(np.float64))
    most = rows.matrix.max(axis=1) * (problem.size - problem.lower.sum())
    far = np.maximum(np.minimum(end, rows.sums(problem.lower.astype(np.float64)) + most), y)

    def divergence(at: Floats) -> Floats:
        return weight * (rows.terms(at) - term - slope * (at - y))

    inner, outer = y, far
    for _ in range(_HALVINGS):
        middle = 0.5 * (inner + outer)
        beyond = divergence(middle) > radius
        inner, outer = np.where(beyond, inner, middle), np.where(beyond, middle, outer)
    # 2 D / change^2 decreases as a row grows, because second derivatives do.
    change = outer - y
    most = np.maximum(divergence(outer), 0.0)
    curvature = np.divide(2.0 * most, change**2, out=np.zeros(len(y)), where=change > 1e-100)
    return np.asarray((rows.matrix.T * curvature) @ rows.matrix)


def _ranges(problem: Coupled, tangent: Tangent, radius: float) -> tuple[Ints, Ints]:
    """The counts whose reduced costs fit the radius."""
    reduced = tangent.reduced
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(np.abs(reduced) > 0.0, np.minimum(radius / np.abs(reduced) + 1e-9, 2.0**60), 2.0**60)
    steps = np.floor(steps).astype(np.int64)
    low = np.where(reduced < 0.0, np.maximum(problem.upper - steps, problem.lower), problem.lower)
    high = np.where(reduced > 0.0, np.minimum(problem.lower + steps, problem.upper), problem.upper)
    return low, high


def _fraction(point: Floats) -> Floats:
    return np.abs(point - np.round(point))


def _spared(quadratic: Floats, weight: Floats, radius: float, spread: float) -> tuple[Floats, Floats]:
    """A diagonal D as described above, large where the weight is, and how far each bin may be from the point.

    `spread` is more than the square of any change.
    """
    n = len(quadratic)
    own = float(quadratic.diagonal().max())
    if not own > 0.0:
        return np.zeros(n), np.full(n, 2.0**60)
    solid = _SOLID * own
    try:
        inverse = np.linalg.inv(quadratic + solid * np.eye(n))
    except np.linalg.LinAlgError:
        return np.zeros(n), np.full(n, 2.0**60)
    width = 1.001 * np.sqrt((2.0 * radius + solid * spread) * np.maximum(inverse.diagonal(), 0.0))
    diagonal = np.zeros(n)
    order = np.argsort(-weight, kind="stable")
    for _ in range(_ROUNDS):
        for at in order[(inverse.diagonal() * own)[order] < 1.0 / (_ROUNDS * 1e-6)]:
            more = _RAISE / inverse[at, at]
            inverse += np.outer(inverse[at], inverse[at]) * (more / (1.0 - _RAISE))
            diagonal[at] += more
    diagonal *= 1.0 - _SPARE
    while diagonal.any() and np.linalg.eigvalsh(quadratic - np.diag(diagonal))[0] < 0.0:
        diagonal = np.where(diagonal > 1e-9 * own, 0.9 * diagonal, 0.0)
    return diagonal, width


def _least(problem: Coupled, tangent: Tangent, diagonal: Floats) -> tuple[float, float]:
    """The minimum of the separable part over integer counts of the right sum: the price of a visit, and the bound.

    The greedy allocation is optimal for convex costs, and its last price proves it.
    """
    lower, upper = problem.lower, problem.upper

    def counts(price: float) -> Ints:
        """The best count of each bin at a price: the count at which one more would cost at least the price."""
        slope = tangent.reduced - price
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.ceil(tangent.point - slope / diagonal - 0.5)
        flat = np.where(slope < 0.0, upper, lower)
        best = np.where(diagonal > 0.0, np.clip(best, lower, upper), flat)
        return np.asarray(best.astype(np.int64))

    def value(price: float) -> float:
        v = counts(price) - tangent.point
        cost = (tangent.reduced - price) * v + 0.5 * diagonal * v * v
        return (
            tangent.value
            + float(cost.sum())
            + (tangent.size_price + price) * (problem.size - float(tangent.point.sum()))
        )

    scale = float(np.abs(tangent.reduced).max()) + float(diagonal.max()) * (problem.size + 1.0)
    low, high = -scale, scale
    for _ in range(200):
        middle = 0.5 * (low + high)
        if counts(middle).sum() < problem.size:
            low = middle
        else:
            high = middle
    price = low if value(low) > value(high) else high
    return tangent.size_price + price, value(price)
