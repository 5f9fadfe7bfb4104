"""The kinds of place of a history, as the page shows them: the tree, the reason for each kind, and open questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from elsewhere.app.interface import GROUND
from elsewhere.app.plans import check_texts, plan_about
from elsewhere.app.session import OpenHistory, Session
from elsewhere.model.comparison import Comparison
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.kinds import Kind
from elsewhere.model.names import NameIndex, is_pattern, matches, name_key
from elsewhere.model.taxonomy import PRESET, Placed, Taxonomy
from elsewhere.plan import Plan
from elsewhere.policy import SHIPPED
from elsewhere.text import closest, quote

#: Kinds that leave open whether a place is sensitive: Ty's Bar may be a gay bar.
_UNTOLD = ("nightlife", "bar", "nightclub", "spa", "massage_studio", "sauna", "event_space", "social_club")
#: The most places that the page asks about.
_MOST_UNSURE = 12
#: The reason for a kind that the person gave.
_OWN_WORD = "you said so"


def tree(session: Session, opened: OpenHistory, ground: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a taxonomy with locations of the history, and of the target if there is one."""
    plan = _plan_about(session, opened, ground)
    places = _places(plan, opened.history.histogram)
    history = plan.counted(opened.history.histogram)
    told, shipped = plan.kinds, plan.shipped
    if plan.policy.by == "kind":  # a kind is found by its name, even if a place has the same name
        told, shipped = session.taxonomy(ground.get("taxonomy") or SHIPPED), Taxonomy.shipped()
    locations = history.index.union(NameIndex(plan.counted_names(places))).names
    placed = told.placed(locations)
    in_shipped = placed if told is shipped else shipped.placed(locations)
    nodes = [
        _node(history, node.id, node.name, node.parent, placed.own.get(node.id, []), placed.below[node.id])
        for _, node in told.tree()
        if node.id in placed.below
    ]
    if placed.unknown:
        unknown = list(placed.unknown)
        nodes.append(_node(history, "", "Other places", None, unknown, unknown))
    return {
        "nodes": nodes,
        "presets": _presets(in_shipped),
        "places": _told(opened, plan, places),
        "unsure": _unsure(history, in_shipped, plan),
        "watched": len(plan.shipped.often_sensitive(locations)),
    }


def kinds_of(session: Session, taxonomy: str | None) -> list[dict[str, Any]]:
    """All kinds of place in a taxonomy, for a person to choose from."""
    chosen = session.taxonomy(SHIPPED if taxonomy is None else taxonomy)
    listed = list(chosen.tree())
    names = NameIndex([node.name for _, node in listed])
    kinds = []
    for depth, node in listed:
        # A name is easier to read in a policy than an id, but it must be unique; a command splits at the last =.
        clear = "=" not in node.name and len(names.positions(node.name)) == 1 and chosen.node(node.name) == node
        kinds.append({"value": node.name if clear else node.id, "name": node.name, "depth": depth})
    return kinds


def _plan_about(session: Session, opened: OpenHistory, ground: Mapping[str, Any]) -> Plan:
    for key in ground:
        if key not in GROUND["properties"]:
            raise InputError(f"unknown key {quote(key)}{closest(key, GROUND['properties'])}")
    choices = {key: value for key, value in ground.items() if value is not None}
    check_texts(choices)
    # The tree does not depend on the goal and its limits.
    aim = {"goal": "hide"} if "target" not in choices else {"goal": "resemble", "max_quality_loss": 0.0}
    return plan_about(session, opened, {**choices, **aim})


def _places(plan: Plan, history: Histogram) -> Sequence[str]:
    """The places of the history and the target, without the kinds of a target that is compared by kind."""
    if plan.target is None:
        return history.locations
    comparison = Comparison(plan.target, (), plan.kinds, plan.policy.depth)
    if plan.policy.by == "name" and comparison.match(history.index).kinds is not None:
        return history.locations
    return history.index.union(NameIndex(list(plan.target))).names


def _told(opened: OpenHistory, plan: Plan, places: Sequence[str]) -> list[dict[str, Any]]:
    """Each place with the kind that is used for it, and the reason for that kind."""
    said, kinds, depth = _said(plan), plan.kinds, plan.policy.depth
    reasons = _reasons(opened, places) if plan.policy.taxonomy in (None, SHIPPED) else {}
    told = []
    for name in places:
        found = reasons.get(name)
        reason, confidence = (None, None) if found is None else (found.reason, found.confidence)
        if said(name):
            reason, confidence = _OWN_WORD, 1.0
        told.append({"name": name, "kind": kinds.kind_at(name, depth), "reason": reason, "confidence": confidence})
    return told


def _reasons(opened: OpenHistory, places: Iterable[str]) -> Mapping[str, Kind]:
    """The reason for each place's kind, from the export or the name; looked up only once."""
    shipped = Taxonomy.shipped().with_types(opened.history.types)
    opened.reasons.update((name, shipped.kind(name)) for name in places if name not in opened.reasons)
    return opened.reasons


def _said(plan: Plan) -> Callable[[str], bool]:
    """A function that says whether the person gave a kind to a place."""
    keys = frozenset(name_key(name) for name in plan.policy.kinds if not is_pattern(name))
    patterns = [name_key(name) for name in plan.policy.kinds if is_pattern(name)]
    return lambda name: (key := name_key(name)) in keys or any(matches(key, pattern) for pattern in patterns)


def _unsure(history: Histogram, placed: Placed, plan: Plan) -> list[str]:
    """The most visited locations that may be sensitive as far as is known."""
    said = _said(plan)
    unsure = {*placed.unknown, *chain.from_iterable(placed.own.get(node, ()) for node in _UNTOLD)}
    asked = [name for name in unsure if history[name] and not said(name)]
    return sorted(asked, key=lambda name: (-history[name], name))[:_MOST_UNSURE]


def _presets(placed: Placed) -> dict[str, list[str]]:
    """The locations that each preset covers, among those with a kind of the shipped taxonomy."""
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
