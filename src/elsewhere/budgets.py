"""The limits of a frontier's points: on the quality loss, or on the privacy distance."""

from __future__ import annotations

import math
from bisect import bisect_left

from elsewhere.model.distances import distance
from elsewhere.model.errors import Infeasible, InputError
from elsewhere.model.histogram import Profile, TableLike
from elsewhere.model.question import Question
from elsewhere.model.trees import KindDistance
from elsewhere.solve import solve, solve_frontier

_POINTS = 20
#: Gains below this share of a privacy distance do not justify a longer curve.
_LITTLE = 0.001


def frontier_budgets(question: Question) -> list[float]:
    """About twenty limits, dense near the least possible one, up to where nothing improves.

    For the least quality loss, they are privacy distances, from that of the smallest change to the best.
    """
    if question.aim == "least-loss":
        return _distances(question)
    least, most = 0.0, math.inf
    if not isinstance(question.privacy, KindDistance):
        most = distance(question.quality, question.history, _extreme(question))
    try:
        _reached(question, 0.0)
    except Infeasible as error:
        least = error.needed_quality_loss
    if most == math.inf:
        most = solve_frontier(question.within(math.inf), [math.inf])[0].quality_loss
    if not max(least, most) < math.inf:
        raise InputError(
            "the quality loss has no upper end, so the limits cannot be chosen; give budgets", ("budgets",)
        )
    budgets = _spaced(least, max(most, 2.0 * least))
    if question.goal == "resemble":
        return budgets
    nearly_all = (1.0 - _LITTLE) * _reached(question, budgets[-1])
    if nearly_all == math.inf:
        return budgets
    # The best distance may be reached long before, and larger budgets take longest to search.
    enough = bisect_left(budgets, nearly_all, key=lambda budget: _reached(question, budget))
    return _spaced(least, budgets[max(enough, 1)])


def _distances(question: Question) -> list[float]:
    any_distance = math.inf if question.goal == "resemble" else 0.0
    first = solve(question.wanting(any_distance, "least-loss")).privacy_distance
    best = solve(question.wanting(None, None)).privacy_distance
    assert first is not None
    assert best is not None
    if not max(first, best) < math.inf:
        raise InputError(
            "the privacy distance has no upper end, so the limits cannot be chosen; give budgets", ("budgets",)
        )
    return [first + (best - first) * at / _POINTS for at in range(_POINTS)] + [best]


def _extreme(question: Question) -> TableLike:
    """The fractional histogram that is best if quality does not matter."""
    if question.target is None:
        raise InputError("hide has no frontier; only resemble and avoid have one")
    weights, history = Profile(question.target), question.history
    if question.goal == "resemble":
        return {location: weight * history.size for location, weight in weights.items()}
    return {min(history, key=lambda location: (weights[location], location)): history.size}


def _reached(question: Question, budget: float) -> float:
    """A bound on the privacy distance within a budget, computed without a search."""
    return solve_frontier(question.within(budget, time_limit=0.0), [budget])[0].bound


def _spaced(least: float, most: float) -> list[float]:
    return [least + (most - least) * (at / _POINTS) ** 2 for at in range(_POINTS + 1)]
