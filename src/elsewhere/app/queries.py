"""From a question of the page to its answer: a policy is made of it, and asked like anybody's."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from elsewhere.app.interface import QUESTION
from elsewhere.app.plans import check_texts, plan_about
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.budgets import frontier_budgets
from elsewhere.model.errors import (
    ElsewhereError,
    Infeasible,
    InputError,
    PrivacyNotMet,
    TargetMismatch,
    sufficient_limit,
)
from elsewhere.model.histogram import Histogram, Profile
from elsewhere.model.names import NameIndex
from elsewhere.model.question import Covered, Question
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.model.trees import KindDistance
from elsewhere.output.sentences import in_words, on_scale
from elsewhere.pictures.changes import figure
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.solve import solve, solve_frontier
from elsewhere.text import as_sentence, closest, quote
from elsewhere.verification.verify import check_release

#: Seconds that one question may take.
SECONDS = 10.0
#: A curve is drawn of many points, each of which need not be perfect.
_ON_CURVE = {"gap": 0.001, "time_limit": 0.25}
#: Visits times places up to which its points are searched for, and from which on every other one will do.
_SMALL, _LARGE = 50_000, 2_000_000
#: Seconds per visit and place that a search takes before it has anything to show.
_AT_LEAST = 3e-7
#: Seconds that the advice on a wanted distance may take.
_ADVICE = 2.0


class Asked(NamedTuple):
    """What the page asks, as a policy that a command could have, and resolved against the history."""

    policy: Policy
    question: Question


def release(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> dict[str, Any]:
    """The release that a question asks for, with all that the page shows of it; or why there is none."""
    began = time.perf_counter()
    asked = resolve(session, opened, question)
    opened.question = dict(question)
    answer: dict[str, Any] = {"number": question["number"], "possible": True}
    try:
        answer |= _figures(sanitized(opened, asked), asked.policy)
    except Infeasible as error:
        answer |= _impossible(error) | {"best": None}
    except PrivacyNotMet as error:
        answer |= _impossible(error) | {"best": _figures(error.best, asked.policy)}
    return answer | {"seconds": time.perf_counter() - began}


def frontier(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> dict[str, Any]:
    """What each limit on the quality loss would buy."""
    if question.get("goal") == "hide":
        raise InputError("goal is 'hide', which has no frontier; it is for resemble and avoid")
    # What could be reached at best: a drawn release comes near it.
    method = None if question.get("method") == "drawn" else question.get("method")
    asked = resolve(session, opened, {**question, "max_quality_loss": 0.0, "aim": None, "method": method}).question
    try:
        _leave_some(asked)
    except Infeasible as error:
        why = _impossible(error)
        raise Refused(400, why["sentence"], why["hint"]) from None
    exact = asked.history.size * asked.history.length <= _SMALL
    curve = asked.within(0.0, **_ON_CURVE)
    points = _searched(curve) if exact else _at_best(curve)
    needed, sentence = _needed(asked, points.budgets[0])
    return {
        "number": question["number"],
        "exact": exact,
        "points": [
            {
                "max_quality_loss": budget,
                "quality_loss": point.quality_loss,
                "privacy_distance": _finite(point.privacy_distance),
            }
            for budget, point in zip(points.budgets, points, strict=True)
        ],
        "suggested": points.budgets[points.index(points.suggest())],
        "needed": needed,
        "sentence": sentence,
    }


def _searched(question: Question) -> Frontier:
    budgets = frontier_budgets(question)
    return solve_frontier(question.within(budgets[-1]), budgets).distinct(chosen=budgets[-1])


def _at_best(question: Question) -> Frontier:
    """The bounds alone, which need no search; the more visits there are, the nearer to them the releases come."""
    history = question.history
    budgets = frontier_budgets(question)[:: 1 if history.size * history.length <= _LARGE else 2]
    points = solve_frontier(question.within(budgets[-1], time_limit=0.0), budgets)
    return Frontier(
        [
            replace(point, quality_loss=budget, privacy_distance=point.bound)
            for point, budget in zip(points, budgets, strict=True)
        ],
        budgets,
    )


def resolve(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> Asked:
    """The policy and the resolved question that a question of the page amounts to."""
    choices = _choices(question)
    ticked = choices.pop("ticked", None)
    plan, history = plan_about(session, opened, choices), opened.history.histogram
    asked = SECONDS if plan.policy.time_limit is None else plan.policy.time_limit
    plan = plan.with_choices({"time_limit": min(SECONDS, max(asked, _AT_LEAST * history.size * history.length))})
    try:
        found = plan.question(history)
    except TargetMismatch as error:
        raise _mismatched(error, plan.policy) from None
    return Asked(plan.policy, found) if ticked is None else _settled(plan, history, found, ticked)


def _mismatched(error: TargetMismatch, policy: Policy) -> Refused:
    """What is wrong is said as anywhere; what to do is said in the words of the page."""
    sentence, _, _ = str(error).partition(";")
    if policy.by == "kind":
        return Refused(400, sentence, "Choose another target, or compare anyway.", ("mismatch",))
    hint = "Compare kinds of place instead, choose another target, or compare anyway."
    return Refused(400, sentence, hint, ("kind", "mismatch"))


def _settled(plan: Plan, history: Histogram, question: Question, ticked: Iterable[str]) -> Asked:
    """The same, but sensitive are the locations that are ticked, whatever else their names cover."""
    known, covered = _known(question), question.covered
    chosen = set()
    for name in ticked:
        if (place := known.find(name)) is None:
            raise InputError(f"{quote(name)} is not in the history{closest(name, known.names)}")
        chosen.add(place)
    missed = sorted(chosen - covered.locations)
    # What a whole branch covers of the target alone stays covered: it may not have been there to tick yet.
    wanted = chosen.union(name for name in covered.locations if name not in question.history)
    # A name with a * in it means more places than one, and that of a kind all that are of it.
    named = plan.with_choices({"sensitive": (*plan.policy.sensitive, *missed)}).covered_in(history)
    beyond = named.locations - wanted
    if kept := sorted(wanted.intersection(chain.from_iterable(map(known.match, beyond)))):
        raise InputError(f"the * in a name that is not ticked also means {quote(kept[0])}; tick both, or neither")
    sensitive = Covered((name, locations - beyond) for name, locations in named.items())
    policy = replace(
        plan.policy,
        sensitive=(*plan.policy.sensitive, *missed),
        spared=(*plan.policy.spared, *sorted(beyond)),
    )
    return Asked(policy, replace(question, sensitive=sensitive))


def _known(question: Question) -> NameIndex:
    """The places of the history and, unless only visited ones may receive counts, of the target if it has places."""
    if question.target is None or question.visited_only or isinstance(question.privacy, KindDistance):
        return question.history.index
    return question.history.index.union(Profile(question.target).index)


def sanitized(opened: OpenHistory, asked: Asked) -> Sanitized:
    """The answer, which has passed its check; the last one is remembered."""
    if opened.answered is not None:
        policy, result = opened.answered
        # Two files may have the same name, so that the policy alone does not tell.
        same = policy == asked.policy and result.question.covered == asked.question.covered
        if same and result.question.target is asked.question.target:
            return result
    _leave_some(asked.question)
    result = solve(asked.question)
    check = check_release(asked.question, result)
    if not check.ok:
        raise ElsewhereError(f"the release failed its check and is not shown: {check.problems[0]}")
    opened.answered = (asked.policy, result)
    return result


def _leave_some(question: Question) -> None:
    """Refuse to hide everything there is."""
    known, fixed = _known(question), NameIndex(list(question.not_raised))
    open_to = (name for name in known.names if name in question.history or fixed.position(name) < 0)
    if question.covered.locations.issuperset(open_to):
        raise Infeasible("every place is ticked, so there is nowhere to move the visits", math.inf)


def _choices(question: Mapping[str, Any]) -> dict[str, Any]:
    """What a question says of a policy, and the ticks."""
    known = QUESTION["properties"]
    for key in question:
        if key not in known:
            raise InputError(f"unknown key {quote(key)}{closest(key, known)}")
    for key in QUESTION["required"]:
        if question.get(key) is None:
            raise InputError(f"the key {key!r} is missing")
    check_texts(question)
    ticked = question.get("ticked") or []
    if not isinstance(ticked, list) or not all(isinstance(name, str) for name in ticked):
        raise InputError(f"ticked is {quote(ticked)}; it must be a list of texts")
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in question.items()
        if value is not None and key != "number"
    }


def _figures(result: Sanitized, policy: Policy) -> dict[str, Any]:
    notes = list(map(as_sentence, result.notes))
    if result.unchanged:
        notes.append("Warning: nothing was hidden. The release would equal your history.")
    *words, certificate = in_words(result, policy.quality, policy.privacy)
    distance = result.privacy_distance
    return {
        "bars": [
            {
                "location": row.location,
                "before": row.before,
                "after": row.after,
                "target": row.target,
                "sensitive": row.sensitive,
            }
            for row in result.changes().all_rows()
        ],
        "quality_loss": _finite(result.quality_loss),
        "privacy_distance": _finite(distance),
        "quality_words": on_scale(result.quality_loss, policy.quality) + _regret(result),
        "privacy_words": None if distance is None else on_scale(distance, policy.privacy),
        "words": [sentence for sentence in words if sentence not in notes],
        "certificate": certificate,
        "status": result.status,
        "notes": notes,
        "unchanged": result.unchanged,
        "guesses": [{"sentence": guess.sentence, "source": guess.source} for guess in result.guesses],
    }


def _regret(result: Sanitized) -> str:
    """What chance costs, in words."""
    if result.question.method != "drawn" or result.regret is None:
        return ""
    return f"; {figure(result.regret)} above the least possible"


def _impossible(error: Infeasible | PrivacyNotMet) -> dict[str, Any]:
    needed = error.needed_quality_loss
    hint = "Untick some places, or allow more change."
    if 0.0 < needed < math.inf:
        hint = f"A quality loss of {sufficient_limit(needed)} is enough."
    return {
        "possible": False,
        "sentence": as_sentence(str(error)).rstrip("."),
        "hint": hint,
        "needed_quality_loss": _finite(needed),
    }


def _needed(question: Question, least: float) -> tuple[float | None, str | None]:
    """The least quality loss that meets the wanted privacy distance, or why there is none."""
    if question.distance_limit is None:
        return None, None
    try:
        solve(question.within(least, time_limit=_ADVICE, gap=0.0))
    except PrivacyNotMet as error:
        return _finite(error.needed_quality_loss), str(error)
    return least, None


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def overtaken() -> Refused:
    return Refused(
        409, "another tab has asked a newer question about the same history", "Continue there, or try again here."
    )
