"""The alternative to elsewhere: a general solver on the same model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from elsewhere import Histogram
from elsewhere.model.histogram import TableLike
from elsewhere.model.question import Goal, Question


@dataclass(frozen=True)
class Rival:
    """The result of a rival: the privacy distance and the quality loss of its histogram, computed exactly."""

    privacy_distance: float
    quality_loss: float

    def keeps(self, limit: float) -> bool:
        """Whether it satisfies the limit; a general solver tolerates about 1e-6."""
        return self.quality_loss <= limit + 1e-12


def highs(
    goal: Goal,
    histogram: Histogram,
    target: TableLike,
    limit: float,
    quality: str = "js",
    privacy: str = "js",
    time_limit: float = 300.0,
) -> Rival:
    """HiGHS on the multiple-choice knapsack: one binary variable for every count that a bin may have.

    Counts that alone exceed the quality limit get no variable, which is the obvious way to model it.
    """
    problem = Question(goal, histogram, target, limit, quality=quality, privacy=privacy).problem
    assert problem.privacy is not None
    sign = -1.0 if goal == "avoid" else 1.0
    budget = problem.budget
    values, bins, costs, objectives = [], [], [], []
    for bin_ in range(len(problem.locations)):
        x = np.arange(problem.lower[bin_], problem.upper[bin_] + 1, dtype=np.float64)
        cost, objective = problem.quality.row(bin_, x), sign * problem.privacy.row(bin_, x)
        fits = (cost <= budget) & np.isfinite(objective)
        values.append(x[fits])
        bins.append(np.full(int(fits.sum()), bin_))
        costs.append(cost[fits])
        objectives.append(objective[fits])
    value, cost, objective = np.concatenate(values), np.concatenate(costs), np.concatenate(objectives)
    of_bin = np.concatenate(bins)
    n = len(problem.locations)
    one_each = csr_array((np.ones(len(value)), (of_bin, np.arange(len(value)))), shape=(n, len(value)))
    result = milp(
        objective,
        constraints=[
            LinearConstraint(one_each, 1, 1),
            LinearConstraint(value[None, :], problem.size, problem.size),
            LinearConstraint(cost[None, :], -math.inf, budget),
        ],
        bounds=Bounds(0, 1),
        integrality=np.ones(len(value), dtype=np.int64),
        options={"mip_rel_gap": 0.0, "time_limit": time_limit},
    )
    counts = np.zeros(n, np.int64)
    if result.x is not None:
        np.add.at(counts, of_bin, np.round(result.x).astype(np.int64) * value.astype(np.int64))
    return Rival(problem.privacy(counts.astype(np.float64)), problem.quality_loss(counts))
