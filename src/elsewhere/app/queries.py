"""From a question of the page to its answer: a policy is made of it, and asked like anybody's."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elsewhere.app.interface import QUESTION
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.model.errors import Infeasible, InputError, PrivacyNotMet, sufficient_limit
from elsewhere.model.histogram import Histogram
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.model.taxonomy import PRESET, Placed, Taxonomy
from elsewhere.output.sentences import in_words, on_scale
from elsewhere.policy import Plan, Policy
from elsewhere.text import closest, quote

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


def tree(session: Session, opened: OpenHistory, target: str | None, taxonomy: str | None) -> dict[str, Any]:
    """The part of a taxonomy that the history, and the target if there is one, have locations of."""
    history = opened.history.histogram
    weights = {} if target is None else session.target(target)
    locations = sorted({*history, *weights})
    chosen = Taxonomy.shipped() if taxonomy is None else session.taxonomy(taxonomy)
    placed = chosen.placed(locations)
    nodes = [
        _node(history, node.id, node.name, node.parent, placed.own.get(node.id, []), placed.below[node.id])
        for _, node in chosen.tree()
        if node.id in placed.below
    ]
    if placed.unknown:
        unknown = list(placed.unknown)
        nodes.append(_node(history, "", "Other places", None, unknown, unknown))
    return {"nodes": nodes, "presets": _presets(placed if taxonomy is None else Taxonomy.shipped().placed(locations))}


def release(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> dict[str, Any]:
    """The release that a question asks for, with all that the page shows of it; or why there is none."""
    began = time.perf_counter()
    plan = planned(session, opened, question)
    opened.question = dict(question)
    answer: dict[str, Any] = {"number": question["number"], "possible": True}
    try:
        answer |= _figures(sanitized(opened, plan), plan, opened.history.histogram)
    except Infeasible as error:
        answer |= _impossible(error) | {"best": None}
    except PrivacyNotMet as error:
        answer |= _impossible(error) | {"best": _figures(error.best, plan, opened.history.histogram)}
    return answer | {"seconds": time.perf_counter() - began}


def frontier(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> dict[str, Any]:
    """What each limit on the quality loss would buy."""
    if question.get("goal") == "hide":
        raise InputError("goal is 'hide', which has no frontier; it is for resemble and avoid")
    history = opened.history.histogram
    plan = planned(session, opened, {**question, "max_quality_loss": 0.0}).with_choices(_ON_CURVE)
    try:
        _leave_some(plan, history)
    except Infeasible as error:
        why = _impossible(error)
        raise Refused(400, why["sentence"], why["hint"]) from None
    exact = history.size * history.length <= _SMALL
    points = _searched(plan, history) if exact else _at_best(plan, history)
    needed, sentence = _needed(plan, history, points.budgets[0])
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


def _searched(plan: Plan, history: Histogram) -> Frontier:
    budgets = plan.budgets(history)
    return plan.frontier(history, budgets).distinct(chosen=budgets[-1])


def _at_best(plan: Plan, history: Histogram) -> Frontier:
    """The bounds alone, which need no search; the more visits there are, the nearer to them the releases come."""
    budgets = plan.budgets(history)[:: 1 if history.size * history.length <= _LARGE else 2]
    points = plan.with_choices({"time_limit": 0.0}).frontier(history, budgets)
    return Frontier(
        [
            replace(point, quality_loss=budget, privacy_distance=point.bound)
            for point, budget in zip(points, budgets, strict=True)
        ],
        budgets,
    )


def planned(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> Plan:
    """The plan that a question amounts to."""
    choices = _choices(question)
    ticked = choices.pop("ticked", None)
    target, taxonomy = choices.get("target"), choices.get("taxonomy")
    given: dict[str, Any] = {}
    if target is not None:
        given["target"] = session.target(target)
        choices["target"] = session.targets[target].name if target in session.targets else target
    if taxonomy is not None:
        given["taxonomy"] = session.taxonomy(taxonomy)
        choices["taxonomy"] = session.taxonomies[taxonomy].name if taxonomy in session.taxonomies else taxonomy
    policy, history = Policy(**choices), opened.history.histogram
    asked = SECONDS if policy.time_limit is None else policy.time_limit
    limit = min(SECONDS, max(asked, _AT_LEAST * history.size * history.length))
    plan = replace(policy, time_limit=limit).plan(**given)
    return plan if ticked is None else _settled(plan, history, set(ticked))


def sanitized(opened: OpenHistory, plan: Plan) -> Sanitized:
    """The answer to a plan; the last one is remembered."""
    history = opened.history.histogram
    sensitive = plan.sensitive(history)
    if opened.answered is not None:
        last, result = opened.answered
        # Two files may have the same name, so that the policy alone does not tell.
        if (last.policy, last.sensitive(history)) == (plan.policy, sensitive) and last.target is plan.target:
            return result
    _leave_some(plan, history)
    result = plan.sanitize(history)
    opened.answered = (plan, result)
    return result


def _leave_some(plan: Plan, history: Histogram) -> None:
    """Refuse to hide everything there is."""
    beyond = () if plan.policy.visited_only or plan.target is None else plan.target
    if plan.sensitive(history).issuperset({*history, *beyond}):
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
    for key in ("target", "taxonomy"):
        if not isinstance(question.get(key), str | None):
            raise InputError(f"{key} is {quote(question[key])}; it must be a text")
    ticked = question.get("ticked") or []
    if not isinstance(ticked, list) or not all(isinstance(name, str) for name in ticked):
        raise InputError(f"ticked is {quote(ticked)}; it must be a list of texts")
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in question.items()
        if value is not None and key != "number"
    }


def _settled(plan: Plan, history: Histogram, ticked: set[str]) -> Plan:
    """The plan whose sensitive locations are those that are ticked, whatever else their names cover."""
    covered = plan.sensitive(history)
    missed = sorted(ticked - covered)
    plan = plan.with_choices({"sensitive": (*plan.policy.sensitive, *missed)})
    # What a whole branch covers of the target alone stays covered: it may not have been there to tick yet.
    unseen = covered.difference(history)
    beyond = sorted(plan.sensitive(history) - ticked - unseen)
    return plan.with_choices({"spared": (*plan.policy.spared, *beyond)})


def _presets(placed: Placed) -> dict[str, list[str]]:
    """The locations that each preset covers, of those that the shipped taxonomy has placed."""
    shipped = Taxonomy.shipped()
    covered: dict[str, set[str]] = {PRESET + name: set() for name in shipped.presets}
    for _, node in shipped.tree():
        for group in node.groups:
            covered[PRESET + group].update(placed.below.get(node.id, ()))
    return {preset: sorted(locations) for preset, locations in covered.items()}


def _node(
    history: Histogram, at: str, name: str, parent: str | None, own: list[str], below: list[str]
) -> dict[str, Any]:
    count = sum(history[location] for location in below)
    known = bool(at)
    return {"id": at, "name": name, "parent": parent, "known": known, "count": count, "own": own, "locations": below}


def is_unchanged(result: Sanitized, history: Histogram) -> bool:
    """Whether a release would be the history itself."""
    return result.histogram == history


def _notes(result: Sanitized, plan: Plan, history: Histogram) -> list[str]:
    """What a person must know about a release beside its figures, as sentences."""
    notes = [f"{note[:1].upper()}{note[1:]}." for note in result.notes]
    if plan.target is not None and 2 * (common := sum(name in history for name in plan.target)) < len(plan.target):
        some = f"Only {common}" if common else "None"
        notes.append(f"{some} of the target's {len(plan.target)} places are in your history. Places match by name.")
    if is_unchanged(result, history):
        notes.append("Warning: nothing was hidden. The release would equal your history.")
    return notes


def _figures(result: Sanitized, plan: Plan, history: Histogram) -> dict[str, Any]:
    policy = plan.policy
    notes = _notes(result, plan, history)
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
        "quality_words": on_scale(result.quality_loss, policy.quality),
        "privacy_words": None if distance is None else on_scale(distance, policy.privacy),
        "words": [sentence for sentence in words if sentence not in notes],
        "certificate": certificate,
        "status": result.status,
        "notes": notes,
        "unchanged": is_unchanged(result, history),
    }


def _impossible(error: Infeasible | PrivacyNotMet) -> dict[str, Any]:
    sentence, needed = str(error), error.needed_quality_loss
    hint = "Untick some places, or allow more change."
    if 0.0 < needed < math.inf:
        hint = f"A quality loss of {sufficient_limit(needed)} is enough."
    return {
        "possible": False,
        "sentence": f"{sentence[:1].upper()}{sentence[1:]}",
        "hint": hint,
        "needed_quality_loss": _finite(needed),
    }


def _needed(plan: Plan, history: Histogram, least: float) -> tuple[float | None, str | None]:
    """The least quality loss that meets the wanted privacy distance, or why there is none."""
    if plan.policy.max_distance is None and plan.policy.min_distance is None:
        return None, None
    try:
        plan.with_choices({"max_quality_loss": least, "time_limit": _ADVICE, "gap": 0.0}).sanitize(history)
    except PrivacyNotMet as error:
        return _finite(error.needed_quality_loss), str(error)
    return least, None


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def overtaken() -> Refused:
    return Refused(
        409, "another tab has asked a newer question about the same history", "Continue there, or try again here."
    )
