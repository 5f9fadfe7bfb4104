"""The curve of the page: the best privacy distance for each limit on the quality loss, sent point by point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from elsewhere.app.queries import finite, impossible, leave_some, resolve
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.budgets import frontier_budgets
from elsewhere.kernels.cancellation import cancellable, check_cancelled
from elsewhere.kernels.first_answers import is_compiled
from elsewhere.model.errors import Infeasible, InputError, PrivacyNotMet
from elsewhere.model.question import Question
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.solve import solve, solve_frontier

#: The gap and the seconds of a point: a curve has many points, and none needs to be perfect. Interpreted searches get
#: more time.
_GAP, _SECONDS, _SECONDS_AT_FIRST = 0.001, 0.25, 10.0
#: Products of visits and places: up to the first, points are searched; beyond the second, a tree gets half the points.
_SMALL, _LARGE = 50_000, 2_000_000
#: Seconds that the advice on a wanted distance may take.
_ADVICE = 2.0

Tell = Callable[[dict[str, Any]], None]


class _Stopped(Exception):
    """The person has stopped the curve."""


def frontier(session: Session, opened: OpenHistory, question: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """The best distance for each limit on the quality loss; `tell` is called with the limits, and with each point."""
    if question.get("goal") == "hide":
        raise InputError("goal is 'hide', which has no frontier; it is for resemble and avoid")
    # The curve of the optimum: a drawn release comes close to it.
    method = None if question.get("method") == "drawn" else question.get("method")
    asked = resolve(session, opened, {**question, "max_quality_loss": 0.0, "aim": None, "method": method}).question
    try:
        leave_some(asked)
    except Infeasible as error:
        why = impossible(error)
        raise Refused(400, why["sentence"], why["hint"]) from None
    exact = asked.history.size * asked.history.length <= _SMALL
    found: dict[float, Sanitized] = {}

    def on_point(point: Sanitized) -> None:
        budget = point.question.max_quality_loss
        found[budget] = point if exact else _at_best(point)
        check_cancelled()
        tell({"point": _point(budget, found[budget])})

    def check_stopped() -> None:
        if question["number"] <= opened.stopped:
            raise _Stopped

    needed, sentence, stopped = None, None, False
    try:
        with cancellable(check_stopped):
            found = _points(asked, exact, tell, on_point)
            needed, sentence = _needed(asked, min(found))
    except _Stopped:
        stopped = True
    if not found:
        raise Refused(400, "you stopped the curve before its first point", "Draw it when you have time.", ("curve",))
    budgets = sorted(found)
    points = Frontier([found[budget] for budget in budgets], budgets)
    return {
        "number": question["number"],
        "exact": exact,
        "stopped": stopped,
        "points": [_point(budget, point) for budget, point in zip(budgets, points, strict=True)],
        # The points of the largest limits come first, so an unfinished curve is no basis for a suggestion.
        "suggested": None if stopped else budgets[points.index(points.suggest())],
        "needed": needed,
        "sentence": sentence,
    }


def _points(asked: Question, exact: bool, tell: Tell, on_point: Callable[[Sanitized], None]) -> dict[float, Sanitized]:
    """The points by limit. For a long history they are bounds, which need no search and are close to releases."""
    curve = asked.within(0.0, gap=_GAP, time_limit=_SECONDS if is_compiled() else _SECONDS_AT_FIRST)
    budgets, history = frontier_budgets(curve), asked.history
    if asked.problem.tree is not None and history.size * history.length > _LARGE:
        budgets = budgets[::2]
    tell({"budgets": budgets, "exact": exact})
    most = budgets[-1]
    if exact:
        points = solve_frontier(curve.within(most), budgets, on_point).distinct(chosen=most)
        return dict(zip(points.budgets, points, strict=True))
    points = solve_frontier(curve.within(most, time_limit=0.0), budgets, on_point)
    return dict(zip(budgets, map(_at_best, points), strict=True))


def _at_best(point: Sanitized) -> Sanitized:
    return replace(point, quality_loss=point.question.max_quality_loss, privacy_distance=point.bound)


def _point(budget: float, point: Sanitized) -> dict[str, Any]:
    return {
        "max_quality_loss": budget,
        "quality_loss": point.quality_loss,
        "privacy_distance": finite(point.privacy_distance),
    }


def _needed(question: Question, least: float) -> tuple[float | None, str | None]:
    """The least quality loss that meets the wanted privacy distance, or why there is none."""
    if question.distance_limit is None:
        return None, None
    try:
        solve(question.within(least, time_limit=_ADVICE, gap=0.0))
    except PrivacyNotMet as error:
        return finite(error.needed_quality_loss), str(error)
    return least, None
