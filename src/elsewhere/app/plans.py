"""The plans of the page's questions. They are cached with the history, so that a name is looked up only once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsewhere.app.session import OpenHistory, Session
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.text import quote


def check_texts(choices: Mapping[str, Any]) -> None:
    """Raise unless the names of tables are texts."""
    for key in ("target", "taxonomy", "lower"):
        if not isinstance(choices.get(key), str | None):
            raise InputError(f"{key} is {quote(choices[key])}; it must be a text")


def plan_about(session: Session, opened: OpenHistory, choices: Mapping[str, Any]) -> Plan:
    """The plan with these choices, including what the history's export says about its places."""
    made_of = [choices.get(name) for name in ("target", "taxonomy", "kinds", "lower")]
    if opened.plan is None or opened.plan[0] != made_of:
        opened.plan = made_of, _plan_of(session, choices).about(opened.history)
    _, plan = opened.plan
    return plan.with_choices(vars(_policy_of(session, choices)))


def _plan_of(session: Session, choices: Mapping[str, Any]) -> Plan:
    given: dict[str, Any] = {}
    if (target := choices.get("target")) is not None:
        given["target"] = session.target(target)
    if (taxonomy := choices.get("taxonomy")) is not None:
        given["taxonomy"] = session.taxonomy(taxonomy)
    # The program reads no file that a policy names.
    plan = _policy_of(session, {**choices, "lower": None}).plan(**given)
    if (lower := choices.get("lower")) is None:
        return plan
    earlier = session.releases.ask(lower)
    if earlier.content.problems:
        raise InputError(f"{quote(earlier.name)} is not a release: {earlier.content.problems[0]}")
    return plan.continuing(earlier.content.histogram)


def _policy_of(session: Session, choices: Mapping[str, Any]) -> Policy:
    """The policy, in which a loaded table has the name of its file."""
    names = dict(choices)
    for key, tables in (("target", session.targets), ("taxonomy", session.taxonomies), ("lower", session.releases)):
        table = tables.get(names.get(key) or "")
        if table is not None:
            names[key] = table.name
    return Policy(**names)
