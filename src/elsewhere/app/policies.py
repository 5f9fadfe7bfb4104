"""A policy that a person saved earlier, as a question of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from elsewhere.app import queries
from elsewhere.app.interface import QUESTION
from elsewhere.app.plans import plan_about
from elsewhere.app.session import OpenHistory, Session, file_name
from elsewhere.model.errors import InputError
from elsewhere.model.taxonomy import PRESET, Taxonomy
from elsewhere.policy import SHIPPED, Policy
from elsewhere.text import name_list


def as_question(session: Session, opened: OpenHistory, policy: Policy, loaded: Mapping[str, str]) -> dict[str, Any]:
    """The policy as a question about a history, with its names as ticks; or the files that it needs and the page lacks.

    `loaded` has the ids of the target, the taxonomy and the earlier release that were loaded as its files.
    """
    choices = policy.chosen()
    beyond = [key for key in choices if key not in QUESTION["properties"]]
    beyond += ["max_quality_loss"] if policy.goal == "hide" and policy.max_quality_loss is not None else []
    if policy.mechanism == "shared":
        raise InputError("the policy has mechanism = 'shared', which takes many users; use it for a batch")
    beyond += ["lower"] if isinstance(policy.lower, Mapping) else []
    beyond += ["size"] if policy.size == "free" else []
    if beyond:
        raise InputError(
            f"the page cannot apply {name_list(beyond)}; run the policy with: elsewhere {policy.goal} --policy FILE"
        )
    # The page never reads a file that a policy names: the person loads it.
    known = {"target": session.profiles, "taxonomy": (SHIPPED,), "lower": ()}
    files = [kind for kind in known if kind in choices and choices[kind] not in known[kind]]
    if needs := [{"kind": kind, "name": file_name(choices[kind])} for kind in files if not loaded.get(kind)]:
        return {"needs": needs}
    found = {kind: loaded[kind] for kind in files}
    asked = {**choices, **found, "sensitive": policy.sensitive, "spared": policy.spared}
    plan = plan_about(session, opened, asked)
    history = opened.history.histogram
    covered = plan.covered_in(history)
    everything = plan.with_choices({"spared": ()}).covered_in(history)
    question = {**choices, **found, "number": 0, "spared": [], "time_limit": None, "ticked": sorted(covered.locations)}
    # In the history's spelling, so that the page finds the places.
    question["kinds"] = {
        opened.history.histogram.index.find(place) or place: kind for place, kind in policy.kinds.items()
    }
    whole = [name for name, places in covered.items() if places and places == everything[name]]
    taxonomy = None if question.get("taxonomy") is None else session.taxonomy(question["taxonomy"])
    question["sensitive"] = list(_branches(whole, taxonomy))
    return {"question": question, "notes": list(_notes(policy, [name for name in covered if not covered[name]]))}


def _branches(names: Iterable[str], taxonomy: Taxonomy | None) -> Iterator[str]:
    """The presets and ids of nodes among the names, which the page can tick as a whole."""
    for name in names:
        if name.startswith(PRESET):
            yield name
        elif taxonomy is not None and taxonomy.knows(name):
            yield from (node.id for depth, node in taxonomy.tree(name) if depth == 0)


def _notes(policy: Policy, missing: list[str]) -> Iterator[str]:
    if missing:
        yield f"The policy also names {name_list(missing, 5)}, which your history does not have."
    if policy.time_limit not in (None, queries.SECONDS):
        yield f"The page searches for up to {queries.SECONDS:.0f} seconds, whatever time limit the policy has."
