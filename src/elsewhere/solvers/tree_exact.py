"""Exact answers when a distance sums over the nodes of a tree."""

from __future__ import annotations

from elsewhere.model.errors import InputError
from elsewhere.model.problem import Problem
from elsewhere.solvers import tree_hide
from elsewhere.solvers.knapsack import Limits, Solution


def least_loss(problem: Problem, limits: Limits) -> Solution | None:
    """The counts of least quality loss, whatever the limit on it."""
    counts = tree_hide.spread(problem)
    loss = problem.quality.to_total(problem.quality_loss(counts))
    if not problem.allows(counts):
        raise InputError("the best release over a taxonomy is forbidden", ("forbidden",))
    return Solution(counts, loss, loss, loss, 0.0, 0.0)
