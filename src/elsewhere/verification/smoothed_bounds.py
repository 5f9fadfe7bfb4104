"""Bounds on the best possible objective of a smoothed distance, in plain NumPy and without any solver code.

Smoothing couples the bins, so a certificate has a point. The Lagrangian is convex: it is at least its tangent at the
point plus the Bregman divergence of every row. Histograms better than the release are near the point, where the
divergences are at least a quadratic form. `SmoothedView` checks that the form minus the certificate's curvature is
positive semidefinite, and has the resulting bound. `better_smoothed` searches for a better histogram among all those
that the form does not rule out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.problem import Problem
from elsewhere.model.result import Certificate
from elsewhere.model.rows import Rows, constant_part, rows_over, tightened

#: The search for a better histogram gives up after this many partial ones.
_MOST_LABELS = 300_000
#: A smaller radius would be below the rounding errors of divergences. A larger radius is always valid.
_LEAST_RADIUS = 1e-11
#: The rounding of a form's eigenvalues, relative to its largest entry.
_ROUNDING = 1e-9


class _Parts(NamedTuple):
    """The objective and the cost over the bins that are not fixed."""

    objective: Rows
    cost: Rows | None
    multiplier: float
    budget: float
    size: int
    lower: Ints
    upper: Ints

    @property
    def weighted(self) -> list[tuple[Rows, float]]:
        """The rows that the Lagrangian sums over."""
        extra = [(self.cost, self.multiplier)] if self.cost is not None and self.multiplier > 0.0 else []
        return [(self.objective, 1.0), *extra]


class SmoothedView(NamedTuple):
    """A problem with a certificate: better histograms are at least slope @ v + v' form v / 2 above the point."""

    parts: _Parts
    point: Floats
    slope: Floats
    form: Floats
    curvature: Floats
    size_multiplier: float
    #: The bins that a better histogram may change.
    left: Ints
    #: The objective of the rows without free bins.
    constant: float
    bound: float

    @classmethod
    def of(cls, problem: Problem, certificate: Certificate, objective: float) -> SmoothedView | None:
        """The view for a release with this objective; None if the certificate is invalid."""
        point, curvature = np.array(certificate.point, dtype=float), np.array(certificate.curvature, dtype=float)
        multiplier, price = certificate.quality_multiplier, certificate.size_multiplier
        n = len(problem.lower)
        if point.shape != (n,) or curvature.shape != (n,) or not math.isfinite(price) or not 0 <= multiplier < math.inf:
            return None
        lower, upper = tightened(problem.lower, problem.upper, problem.size)
        free = np.flatnonzero(lower < upper)
        if not ((point >= lower) & (point <= upper) & (curvature >= 0.0) & np.isfinite(curvature)).all():
            return None
        measure = problem.privacy or problem.quality
        cost = None if problem.privacy is None else rows_over(problem.quality, lower, free)
        fixed = 0.0 if cost is None else constant_part(problem.quality, lower, free)
        size = problem.size - int(lower.sum() - lower[free].sum())
        parts = _Parts(
            rows_over(measure, lower, free), cost, multiplier, problem.budget - fixed, size, lower[free], upper[free]
        )
        constant = constant_part(measure, lower, free)
        if not len(free):
            nothing = np.zeros(0)
            return cls(parts, nothing, nothing, np.zeros((0, 0)), nothing, price, free, constant, constant)
        return _viewed(parts, point[free], curvature[free], price, objective - constant, constant)


def _viewed(
    parts: _Parts, point: Floats, curvature: Floats, price: float, objective: float, constant: float
) -> SmoothedView | None:
    value = -parts.multiplier * parts.budget if parts.multiplier > 0.0 else 0.0
    slope = np.zeros(len(point))
    for rows, weight in parts.weighted:
        y = rows.sums(point)
        value += weight * float(rows.totals(y))
        slope += weight * (rows.matrix.T @ rows.slopes(y))
    if not (math.isfinite(value) and np.isfinite(slope).all()):
        return None
    tangent, reduced = _least_tangent(parts, point, slope)
    radius = max(objective - value - tangent, _LEAST_RADIUS)
    form = np.zeros((len(point), len(point)))
    for rows, weight in parts.weighted:
        form += _form(parts, rows, weight, point, radius)
    form += form.diagonal().max()  # histograms have the right size, so this adds 0
    # Leave out bins whose reduced cost allows only the point's count.
    stays = ((reduced > radius) & (point == parts.lower)) | ((-reduced > radius) & (point == parts.upper))
    curvature = np.where(stays, 0.0, curvature)
    left = np.flatnonzero(~stays)
    if len(left) and curvature.any():
        spare = np.linalg.eigvalsh(form[np.ix_(left, left)] - np.diag(curvature[left]))[0]
        if spare < -_ROUNDING * float(form.diagonal().max()):
            return None
    nearest = _nearest(parts, point, slope - price, curvature) - point
    least = (slope - price) * nearest + 0.5 * curvature * nearest**2
    bound = value + float(least.sum()) + price * (parts.size - float(point.sum()))
    return SmoothedView(parts, point, slope, form, curvature, price, left, constant, bound + constant)


def _least_tangent(parts: _Parts, point: Floats, slope: Floats) -> tuple[float, Floats]:
    """The least change along the tangent within the bounds, and the reduced costs; cheap bins are filled first."""
    order = np.argsort(slope, kind="stable")
    x, left, last = parts.lower.astype(np.float64), parts.size - int(parts.lower.sum()), 0
    for at in order.tolist():
        if left <= 0:
            break
        taken = min(left, int(parts.upper[at] - parts.lower[at]))
        x[at] += taken
        left -= taken
        last = at
    return float(slope @ (x - point)), slope - slope[last]


def _form(parts: _Parts, rows: Rows, weight: float, point: Floats, radius: float) -> Floats:
    """The quadratic form below the divergences of some rows, for changes whose divergence is within the radius.

    Divergence divided by the squared change decreases as a row grows, because second derivatives do. So it is enough
    to know how far a row can grow.
    """
    y = rows.sums(point)
    slope, term = rows.slopes(y), rows.terms(y)
    spare = parts.size - int(parts.lower.sum())
    most = rows.sums(parts.lower.astype(np.float64)) + rows.matrix.max(axis=1) * spare
    high = np.maximum(np.minimum(most, rows.sums(parts.upper.astype(np.float64))), y)
    low = y
    for _ in range(60):
        middle = 0.5 * (low + high)
        outside = weight * (rows.terms(middle) - term - slope * (middle - y)) > radius
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    grown = high - y
    divergence = np.maximum(weight * (rows.terms(high) - term - slope * grown), 0.0)
    bend = np.divide(2.0 * divergence, grown**2, out=np.zeros(len(y)), where=grown > 1e-100)
    return np.asarray(rows.matrix.T @ (bend[:, None] * rows.matrix))


def _nearest(parts: _Parts, point: Floats, slope: Floats, curvature: Floats) -> Floats:
    """The integer count of each bin at which slope * v + curvature * v^2 / 2 is least."""
    flat = np.where(slope > 0.0, parts.lower, parts.upper).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bowl = np.clip(np.round(point - slope / curvature), parts.lower, parts.upper)
    return np.asarray(np.where(curvature > 0.0, bowl, flat))


def better_smoothed(view: SmoothedView, objective: float, tolerance: float) -> bool | None:
    """Whether some histogram within the constraints has an objective below `objective` by more than `tolerance`.

    Histograms are built up bin by bin. The form without the curvature has a triangular root, so every bin adds a
    square. The curvature and the slopes bound the cost of the remaining bins. None if there are too many histograms.
    """
    if objective - tolerance <= view.bound:
        return False
    parts, left, slope = view.parts, view.left, view.slope - view.size_multiplier
    v = _nearest(parts, view.point, slope, view.curvature) - view.point
    rest = slope * v + 0.5 * view.curvature * v**2
    shift = _ROUNDING * float(view.form.diagonal().max(initial=0.0))
    try:
        root = np.linalg.cholesky(view.form[np.ix_(left, left)] + np.diag(2.0 * shift - view.curvature[left])).T
    except np.linalg.LinAlgError:
        return None
    # Every bin pays its cost above its minimum; bins that are left out pay that minimum at the point's count.
    most = objective - tolerance - view.bound + float(np.delete(rest, left).sum())
    moves, cost = np.zeros((1, len(left))), np.zeros(1)
    for at in range(len(left) - 1, -1, -1):
        bin_ = left[at]
        v = np.arange(parts.lower[bin_], parts.upper[bin_] + 1) - view.point[bin_]
        # Subtract what was added to compute the root.
        own = slope[bin_] * v + (0.5 * view.curvature[bin_] - shift) * v**2 - rest[bin_]
        if len(cost) * len(v) > 10 * _MOST_LABELS:
            return None
        total = cost[:, None] + own + 0.5 * (root[at, at] * v + (moves @ root[at])[:, None]) ** 2
        before, chosen = np.nonzero(total < most)
        if len(before) > _MOST_LABELS:
            return None
        moves, cost = moves[before], total[before, chosen]
        moves[:, at] = v[chosen]
    x = np.repeat(view.point[None], len(moves), axis=0)
    x[:, left] = np.round(x[:, left] + moves)
    x = x[x.sum(axis=1) == parts.size]
    if parts.cost is not None:
        x = x[parts.cost.totals(parts.cost.sums(x)) <= parts.budget]
    found = parts.objective.totals(parts.objective.sums(x)) + view.constant
    return bool((found < objective - tolerance).any())
