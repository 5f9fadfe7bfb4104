"""Good integer counts if a distance couples the bins: round the fractional optimum, then move visits one by one."""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers.knapsack import Limits
from elsewhere.solvers.smooth_relaxation import Coupled, Tangent

#: Moves of a visit that are computed exactly in each step.
_MOVES = 200
#: Prices of the budget to try, relative to that of the fractional optimum: integer counts cost more.
_PRICES = (1.0, 1.25, 1.6, 2.5, 6.0, 30.0)
#: A gain below this is rounding.
_NOTICEABLE = 1e-15


def figures(problem: Coupled, x: Ints) -> tuple[float, float]:
    """The objective and the cost of counts."""
    objective, cost = _all_figures(problem, x[None].astype(np.float64))
    return float(objective[0]), float(cost[0])


class Moves:
    """Moves of single visits between bins, ranked by first and second derivatives; the best are computed exactly."""

    def __init__(self, problem: Coupled, tangent: Tangent, limits: Limits) -> None:
        self._problem, self._tangent, self._limits = problem, tangent, limits
        curved = np.zeros((len(tangent.point), len(tangent.point)))
        for rows, weight in ((problem.objective, 1.0), (problem.cost, tangent.price)):
            if rows is not None and weight > 0.0:
                curved += weight * ((rows.matrix.T * rows.bends(rows.sums(tangent.point))) @ rows.matrix)
        own = 0.5 * curved.diagonal()
        self._second = own[:, None] + own - curved
        #: The best counts within the budget that were computed on the way.
        self._best: Ints | None = None
        self._least = math.inf

    def start(self, known: Ints | None) -> tuple[Ints, float]:
        """Counts within the budget, and their objective; `known` are such counts, if there is a budget."""
        x = _rounded(self._problem, self._tangent.point)
        if known is not None:
            self._keep(known)
        self._keep(x)
        if self._problem.cost is not None and self._tangent.price > 0.0:
            for factor in _PRICES:
                x = self._settled(x, factor * self._tangent.price)
                if figures(self._problem, x)[1] <= self._problem.budget or self._limits.passed:
                    break
        assert self._best is not None
        return self.improved(self._best)

    def improved(self, x: Ints) -> tuple[Ints, float]:
        """Counts within the budget that none of the tried moves improves, and their objective; x is within it, too."""
        self._best, self._least = x, figures(self._problem, x)[0]
        while not self._limits.passed:
            before = self._least
            self._tried(self._best, self._tangent.price)
            if not self._least < before - _NOTICEABLE:
                break
        return self._best, self._least

    def _settled(self, x: Ints, price: float) -> Ints:
        """Counts that none of the tried moves improves in objective + price * cost."""
        objective, cost = figures(self._problem, x)
        merit = objective + price * cost
        while not self._limits.passed:
            moved, objectives, costs = self._tried(x, price)
            merits = objectives + price * costs
            at = int(np.argmin(merits))
            if not merits[at] < merit - _NOTICEABLE:
                break
            x, merit = moved[at], float(merits[at])
        return x

    def _tried(self, x: Ints, price: float) -> tuple[Ints, Floats, Floats]:
        """The most promising moves, with objective and cost; the best within the budget is recorded."""
        up, down = np.flatnonzero(x < self._problem.upper), np.flatnonzero(x > self._problem.lower)
        slope = self._slopes(x, price)
        change = slope[up, None] - slope[down] + self._second[np.ix_(up, down)]
        change[up[:, None] == down] = math.inf
        best = np.argpartition(change, min(_MOVES, change.size - 1), axis=None)[:_MOVES]
        best = best[np.isfinite(change.ravel()[best])]
        at = np.arange(len(best))
        moved = np.repeat(x[None], max(len(best), 1), axis=0)
        moved[at, up[best // len(down)]] += 1
        moved[at, down[best % len(down)]] -= 1
        objectives, costs = _all_figures(self._problem, moved.astype(np.float64))
        fits = np.where(costs <= self._problem.budget, objectives, math.inf)
        first = int(np.argmin(fits))
        if fits[first] < self._least:
            self._best, self._least = moved[first], float(fits[first])
        return moved, objectives, costs

    def _keep(self, x: Ints) -> None:
        objective, cost = figures(self._problem, x)
        if cost <= self._problem.budget and objective < self._least:
            self._best, self._least = x, objective

    def _slopes(self, x: Ints, price: float) -> Floats:
        """Slopes at x, or slightly above it if a row has no visits, because its slope may be infinite."""
        total = np.zeros(len(x))
        for rows, weight in ((self._problem.objective, 1.0), (self._problem.cost, price)):
            if rows is not None and weight > 0.0:
                y = np.maximum(rows.sums(x.astype(np.float64)), 0.3 * rows.matrix.max(axis=1))
                total += weight * (rows.matrix.T @ rows.slopes(y))
        return total


def _all_figures(problem: Coupled, x: Floats) -> tuple[Floats, Floats]:
    """The objective and the cost of many counts."""
    objective = problem.objective.totals(problem.objective.sums(x))
    if problem.cost is None:
        return objective, np.full(len(x), -math.inf)
    return objective, problem.cost.totals(problem.cost.sums(x))


def _rounded(problem: Coupled, point: Floats) -> Ints:
    """Integer counts near the point that sum to the size."""
    x = np.clip(np.floor(point + 1e-9).astype(np.int64), problem.lower, problem.upper)
    order = np.argsort(x - point, kind="stable")
    while missing := problem.size - int(x.sum()):
        can = order[(x[order] < problem.upper[order]) if missing > 0 else (x[order] > problem.lower[order])]
        x[can[:missing] if missing > 0 else can[missing:]] += 1 if missing > 0 else -1
    return x
