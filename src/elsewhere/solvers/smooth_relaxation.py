"""The best fractional counts if a distance couples the bins: a primal-dual interior-point method.

    minimise p(x)   subject to   q(x) <= budget,   sum of x = size,   lower <= x <= upper

p and q are convex sums over rows. Bounds are computed at the resulting point. They hold at any point, so rounding
errors here make them less tight but never wrong.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.rows import Rows
from elsewhere.solvers.knapsack import Limits

_MOST_STEPS = 60
#: The gap to the bound at which a point is good enough, relative to the objective.
_NEAR = 1e-12
#: Steps without a better bound after which rounding has taken over.
_PATIENCE = 6
#: Share of the way to the nearest constraint that a step may go.
_SHARE = 0.99


class Coupled(NamedTuple):
    """The problem over the bins that are free. Without a budget there are no cost rows."""

    objective: Rows
    cost: Rows | None
    budget: float
    size: int
    lower: Ints
    upper: Ints


class Tangent(NamedTuple):
    """A point, the price of the budget, and the bound that they prove: no counts have an objective below `bound`.

    For counts x the Lagrangian is at least bound + reduced @ (x - point) + slack, with the slack of each bin at the
    nearer of its bounds, because the Lagrangian is convex.
    """

    point: Floats
    price: float
    size_price: float
    #: The slopes of the Lagrangian less the price of a visit.
    reduced: Floats
    #: The Lagrangian at the point, and the least of its tangent within the bounds.
    value: float
    bound: float


def tangent(problem: Coupled, point: Floats, price: float) -> Tangent:
    """The bound that a point and a price prove."""
    value, slope = 0.0, np.zeros(len(point))
    with np.errstate(invalid="ignore"):  # a slope may be infinite if a row has no visits; then nothing is proven
        for rows, weight, limit in ((problem.objective, 1.0, 0.0), (problem.cost, price, problem.budget)):
            if rows is not None and weight > 0.0:
                y = rows.sums(point)
                value += weight * (float(rows.totals(y)) - limit)
                slope += weight * (rows.matrix.T @ rows.slopes(y))
        return _tangent(problem, point, price, value, slope)


def _tangent(problem: Coupled, point: Floats, price: float, value: float, slope: Floats) -> Tangent:
    order = np.argsort(slope, kind="stable")
    taken = np.cumsum((problem.upper - problem.lower)[order])
    last = min(int(np.searchsorted(taken, problem.size - int(problem.lower.sum()))), len(order) - 1)
    size_price = float(slope[order[last]])
    reduced = slope - size_price
    ends = np.minimum(reduced * (problem.lower - point), reduced * (problem.upper - point))
    bound = value + float(ends.sum()) + size_price * (problem.size - float(point.sum()))
    return Tangent(point, price, size_price, reduced, value, bound if math.isfinite(bound) else -math.inf)


def relax(problem: Coupled, limits: Limits) -> Tangent:
    """The tangent with the best bound found; the time limit may end the search early."""
    low, high = problem.lower.astype(np.float64), problem.upper.astype(np.float64)
    x = low + (high - low) * ((problem.size - low.sum()) / (high - low).sum())
    barrier = max(float(problem.objective.totals(problem.objective.sums(x))), 1e-9) / len(x)
    state = _State(x, barrier / (x - low), barrier / (high - x), 1.0, 0.0)
    if problem.cost is not None:
        room = max(problem.budget, 1e-9)
        state = state._replace(room=room, price=barrier / room)
    best, since = tangent(problem, x, 0.0), 0
    for _ in range(_MOST_STEPS):
        moved = _step(problem, state, barrier, low, high)
        if moved is None:
            break
        state, far = moved
        found = tangent(problem, state.x, state.price)
        since = 0 if found.bound > best.bound else since + 1
        best = found if found.bound > best.bound else best
        gap = float(state.below @ (state.x - low) + state.above @ (high - state.x)) + state.price * state.room
        if since > _PATIENCE or gap < _NEAR * abs(best.bound) or limits.passed:
            break
        barrier = gap / (2 * len(x) + 1) * (0.1 if far > 0.9 else 0.4)
    return _at_bounds(problem, best)


class _State(NamedTuple):
    """Counts, the prices of their bounds, and the room and price of the budget."""

    x: Floats
    below: Floats
    above: Floats
    room: float
    price: float


def _step(problem: Coupled, state: _State, barrier: float, low: Floats, high: Floats) -> tuple[_State, float] | None:
    """One step of Newton's method, and how far it could go; None if rounding has taken over."""
    x, below, above, room, price = state
    n = len(x)
    rows, cost = problem.objective, problem.cost
    y = rows.sums(x)
    system, right = np.zeros((n + 2, n + 2)), np.zeros(n + 2)
    system[:n, :n] = _curved(rows, y)
    system[np.arange(n), np.arange(n)] += below / (x - low) + above / (high - x)
    system[n, :n] = system[:n, n] = 1.0
    system[n + 1, n + 1] = -1.0
    right[:n] = barrier / (x - low) - barrier / (high - x) - rows.matrix.T @ rows.slopes(y)
    right[n] = problem.size - float(x.sum())
    if cost is not None:
        z = cost.sums(x)
        system[:n, :n] += price * _curved(cost, z)
        system[n + 1, :n] = system[:n, n + 1] = cost.matrix.T @ cost.slopes(z)
        system[n + 1, n + 1] = -room / price
        missing = float(cost.totals(z)) + room - problem.budget
        right[n + 1] = -missing - barrier / price
    try:
        solved = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solved).all():
        return None
    step: Floats = np.asarray(solved[:n], dtype=np.float64)
    below_step = barrier / (x - low) - below - below / (x - low) * step
    above_step = barrier / (high - x) - above + above / (high - x) * step
    room_step, price_step = 0.0, 0.0
    if cost is not None:
        room_step, price_step = -missing - float(system[n + 1, :n] @ step), float(solved[n + 1]) - price
    far = min(_longest(x - low, step), _longest(high - x, -step), _longest(room, room_step))
    dual_far = min(_longest(below, below_step), _longest(above, above_step), _longest(price, price_step))
    moved = _State(
        x + far * step,
        below + dual_far * below_step,
        above + dual_far * above_step,
        room + far * room_step,
        price + dual_far * price_step,
    )
    inside = (moved.x > low).all() and (moved.x < high).all()
    return (moved, min(far, dual_far)) if inside else None


def _curved(rows: Rows, y: Floats) -> Floats:
    return np.asarray((rows.matrix.T * rows.bends(y)) @ rows.matrix)


def _longest(distance: Floats | float, step: Floats | float) -> float:
    """The largest possible share of a step before a value reaches 0."""
    distance, step = np.atleast_1d(distance), np.atleast_1d(step)
    shrinks = step < 0.0
    return float(min(1.0, (_SHARE * distance[shrinks] / -step[shrinks]).min(initial=1.0)))


def _at_bounds(problem: Coupled, found: Tangent) -> Tangent:
    """The tangent with counts exactly at their active bounds and exactly the right sum, if that is no worse."""
    low, high = problem.lower, problem.upper
    near = 1e-3 * np.minimum(1.0, high - low)
    held = np.abs(found.reduced) * near > 1e3 * max(found.value - found.bound, 0.0) / len(low)
    x = np.where(held & (found.reduced > 0) & (found.point - low < near), low, found.point)
    x = np.where(held & (found.reduced < 0) & (high - found.point < near), high, x)
    inside = np.minimum(x - low, high - x)
    x[np.argmax(inside)] += problem.size - x.sum()
    moved = tangent(problem, np.clip(x, low, high), found.price)
    return moved if moved.bound >= found.bound - 1e-9 * abs(found.value) else found
