"""What somebody would use instead of elsewhere: a general solver on the same model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from elsewhere import Histogram
from elsewhere.model.histogram import TableLike
from elsewhere.model.problem import Constraints, targeting
from elsewhere.model.result import Goal


@dataclass(frozen=True)
class Rival:
    """What a rival found, and whether it has proven it."""

    objective: float
    proven: bool


def highs(
    goal: Goal,
    histogram: Histogram,
    target: TableLike,
    limit: float,
    quality: str = "js",
    privacy: str = "js",
    time_limit: float = 300.0,
) -> Rival:
    """HiGHS on the multiple-choice knapsack: a binary variable for every count that a bin may have.

    Counts that do not fit the quality limit by themselves get no variable, as anybody would do it.
    """
    problem = targeting(goal, histogram, target, limit, quality, privacy, "original", Constraints())
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
    total = math.inf if result.fun is None else float(result.fun)
    return Rival(problem.privacy.shown(sign * total), bool(result.status == 0))
