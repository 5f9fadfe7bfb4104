"""What a privacy parameter would take: the least quality loss at which a wanted privacy distance is met.

This is the search of resemble and avoid with quality and privacy swapped, among values that fit a guessed loss; if
none of those does, the next guess is higher.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from elsewhere.model.arrays import Flags, Floats
from elsewhere.model.distances import Measure, slack
from elsewhere.model.problem import Problem
from elsewhere.solvers.choices import Choices, tabulate
from elsewhere.solvers.exact import cheapest, least_quality
from elsewhere.solvers.knapsack import Limits, OutOfTime
from elsewhere.solvers.tree_tables import TreeChoices

FIRST_GUESS = 1e-6
GROWTH = 4.0
# The answer is wanted to 1e-9; the rest of the gap is left to rounding.
GAP = 1e-10
# It is advice: it may take a part of the memory, and so of the time, that the answer itself may take.
SHARE = 8


Tabulate: TypeAlias = Callable[[Problem, float, Limits], Choices]


class RequiredLoss(NamedTuple):
    """A quality loss that is enough, and whether it is proven to be the least."""

    loss: float
    proven: bool


def required_loss(problem: Problem, wanted: float, limits: Limits, tabulate: Tabulate = tabulate) -> RequiredLoss:
    """The least quality loss at which the privacy distance is at most (resemble) or at least (avoid) `wanted`.

    `tabulate` gives the values that fit a loss.

    `SearchGaveUp` is raised if a limit is reached before any loss is found that is enough.
    """
    limits = limits._replace(gap=GAP, memory=limits.memory // SHARE)
    cap = max(2.0 * problem.budget, FIRST_GUESS)
    enough: float | None = None
    while True:
        try:
            choices = tabulate(problem, cap, limits)
            cost, budget, allowed = swapped(problem, choices, wanted, cap)
            start = cheapest(problem, choices, cost, budget, allowed, limits)
        except OutOfTime:
            if enough is None:
                raise
            return RequiredLoss(enough, proven=False)
        if start is not None:
            enough = problem.quality.from_total(float(choices.quality[choices.at(start)].sum()))
            found = least_quality(problem, choices, cost, budget, allowed, limits, known=start, most=cap)
            if found is not None and (found.objective <= cap or limits.passed):
                loss = problem.quality.from_total(found.objective)
                return RequiredLoss(loss, found.objective - found.bound <= 2.0 * GAP)
        if cap == math.inf:
            return RequiredLoss(math.inf, proven=True)
        everything = len(choices.quality) == int((problem.upper - problem.lower + 1).sum())
        cap = math.inf if everything else GROWTH * cap


def swapped(problem: Problem, choices: Choices | TreeChoices, wanted: float, cap: float) -> tuple[Floats, float, Flags]:
    """The wanted privacy distance as a cost and a budget, and the values that may be chosen."""
    assert problem.privacy is not None
    allowed = choices.within(cap)
    if problem.goal == "avoid":
        return *_farther(problem.privacy, choices, wanted), allowed
    budget = problem.privacy.to_total(wanted + 0.999 * slack(wanted))
    return choices.privacy, budget, allowed & (choices.privacy < math.inf)


def _farther(measure: Measure, choices: Choices | TreeChoices, wanted: float) -> tuple[Floats, float]:
    """A cost and a budget that say: the privacy distance is at least `wanted`."""
    infinite = np.isinf(choices.privacy)
    if wanted == math.inf:
        return np.where(infinite, -1.0, 0.0), -1.0
    target = measure.to_total(max(0.0, wanted - 0.999 * slack(wanted)))
    finite = np.where(infinite, 0.0, choices.privacy)
    enough = target + abs(float(np.minimum.reduceat(finite, choices.start[:-1]).clip(max=0.0).sum())) + 1.0
    return np.where(infinite, -enough, -finite), -target
