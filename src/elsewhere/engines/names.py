"""Find sensitive names that no user has. Such a policy is a mistake, and is refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from elsewhere.model.errors import InputError, TargetMismatch, Unchanged
from elsewhere.model.names import NameIndex, is_pattern
from elsewhere.model.taxonomy import PRESET, Taxonomy
from elsewhere.plan import Plan
from elsewhere.text import closest, quote

#: The most locations that a misspelt name is compared with.
SUGGESTED = 10_000
#: The most users' own names that a summary lists: those that hid most visits.
MOST_NAMES = 100


def check_named(plan: Plan, personal: Iterable[str] = ()) -> None:
    """Raise if neither the policy nor a column of the users' own choices names anything to hide."""
    if plan.policy.goal == "hide" and not plan.policy.sensitive and "sensitive" not in personal:
        raise InputError("the policy hides nothing: it names no sensitive place")


def check_found(plan: Plan, locations: Iterable[Sequence[str]]) -> None:
    """Raise if a sensitive name covers none of the users' locations. Usually the first few chunks are enough."""
    seen: set[str] = set()
    missing = list(plan.policy.sensitive)
    for chunk in locations if missing else ():
        missing = unmatched(plan, missing, chunk)
        if not missing:
            return
        seen.update(chunk[: max(SUGGESTED - len(seen), 0)])
    if missing:
        raise not_found(plan, missing[0], sorted(seen))


def check_corrected(plan: Plan, locations: Iterable[Sequence[str]]) -> None:
    """Raise if the policy gives a kind to a place that no user has, but users have one with a similar name."""
    missing, seen = set(plan.policy.kinds), set[str]()
    for chunk in locations if missing else ():
        index = NameIndex(chunk)
        missing = {name for name in missing if not index.positions(name)}
        if not missing:
            return
        seen.update(chunk[: max(SUGGESTED - len(seen), 0)])
    for name in sorted(missing):
        if meant := closest(name, sorted(seen)):
            raise InputError(f"kinds names {quote(name)}, which no user has{meant}")


def check_target(plan: Plan, locations: Iterable[Sequence[str]]) -> None:
    """Raise if most of the target's weight is at places that no user has."""
    found: frozenset[str] = frozenset()
    mismatch: TargetMismatch | None = None
    for chunk in locations if plan.expects_target else ():
        found |= plan.target_in(chunk)
        try:
            return plan.check_target(found)
        except TargetMismatch as error:
            mismatch = error
    if mismatch is not None:
        raise TargetMismatch(str(mismatch))  # without the options of single commands: a policy has keys instead
    return None


def compared_by_name(plan: Plan, locations: Iterable[Sequence[str]]) -> bool:
    """Whether users are probably compared with the target by name, judging by the first chunk of their locations."""
    return all(plan.compares_names(chunk) for chunk in islice(locations, 1))


def unmatched(plan: Plan, names: Sequence[str], locations: Sequence[str]) -> list[str]:
    """The names that cover none of the locations."""
    covered = plan.with_choices({"sensitive": tuple(names)}).covered(locations)
    return [name for name in names if not covered[name]]


def hidden_by_name(names: Sequence[str], found: Iterable[tuple[str, int, int]]) -> dict[str, dict[str, int]]:
    """The users and visits that each sensitive name hid: first all names of the policy, then the users' own."""
    hidden = {name: {"users": 0, "visits": 0} for name in names}
    for name, users, visits in found:
        if name in hidden or len(hidden) < len(names) + MOST_NAMES:
            hidden[name] = {"users": int(users), "visits": int(visits)}
    return hidden


def not_found(plan: Plan, name: str, locations: Sequence[str]) -> Unchanged:
    """The error for a name that covers nothing, with a suggestion."""
    kinds = is_pattern(name) or name.startswith(PRESET) or plan.policy.taxonomy is not None
    sentence = f"{quote(name)} covers no place of any user" if kinds else f"no user has a place called {quote(name)}"
    if not kinds and Taxonomy.shipped().knows(name):
        return Unchanged(f'{sentence}; set taxonomy = "shipped" in the policy to hide places of that kind')
    return Unchanged(sentence + closest(name, locations))
