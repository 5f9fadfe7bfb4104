"""What a history and a target have in common: they are compared place by place, or by the totals of kinds of place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from elsewhere.model.errors import TargetMismatch
from elsewhere.model.histogram import Profile
from elsewhere.model.names import NameIndex
from elsewhere.model.taxonomy import UNKNOWN_KIND, Taxonomy

Number = TypeVar("Number", int, float)

#: A target of which less than this share matches is taken for a mistake.
_LEAST_SHARE = 0.5 - 1e-9
#: Names of kinds that many people give to places of their own.
_EVERYBODYS = ("home", "work")


class Match(NamedTuple):
    """What the places of a history have to do with those of a target."""

    #: What the history is compared with.
    target: Mapping[str, Any]
    #: The kind of the target that a place counts for, by place; None if places match by name alone.
    kinds: Mapping[str, str] | None
    #: The share of the target's weight that has a counterpart.
    share: float

    def check(self) -> None:
        """Raise if hardly anything matches."""
        if self.share >= _LEAST_SHARE:
            return
        share = f"only {100 * self.share:.0f}% of the target's weight is at"
        what, remedy = "places", "give a target with the same names or with kinds of place"
        if self.kinds is not None:
            what, remedy = (
                "kinds of place",
                "set by to 'kind', add candidates of the missing kinds, choose another target",
            )
        raise TargetMismatch(
            f"{share} {what} that the history has; {remedy}, or set allow_mismatch to compare anyway",
            ("by", "candidates", "allow_mismatch"),
        )


class Comparison:
    """A target that histories are compared with.

    Parameters
    ----------
    target
        Weights by place or by kind of place.
    candidates
        Places that may receive visits although nobody visited them.
    taxonomy
        Says what kinds there are, and which places belong to them.
    depth
        The level of the taxonomy at which kinds are compared, counted from 1 at the top.
    """

    def __init__(self, target: Mapping[str, Any], candidates: Iterable[str], taxonomy: Taxonomy, depth: int) -> None:
        self._target, self._candidates = target, NameIndex(list(candidates))
        self._taxonomy, self._depth = taxonomy, depth
        #: What is said about a place does not change a kind of the same name.
        self._by_name = taxonomy.without_types()
        self._shares: dict[str, float] = {name: share for name, share in Profile(target).items() if share > 0.0}
        self._names = NameIndex(list(self._shares))
        #: Whether the target is one of kinds of place; it is one of places otherwise.
        self.is_of_kinds = all(self._by_name.path(name) for name in self._shares)

    def match(self, history: NameIndex) -> Match:
        """What a history with these places has to do with the target.

        A target of kinds is compared with the totals of kinds, unless most names in the history are those of kinds,
        too.
        """
        if not self.is_of_kinds:
            return Match(self._target, None, self.share(self.names_in(history)))
        if self._has_kinds(history):
            return Match(self._target, None, 1.0)
        kinds = self._kinds.of(history.union(self._candidates).names, self._taxonomy)
        found = set(kinds.values())
        shares = totals_by_kind(self._shares, lambda _: self._by_name, self._depth)
        return Match(self._totals, kinds, sum(share for kind, share in shares.items() if kind in found))

    def _has_kinds(self, history: NameIndex) -> bool:
        """Whether most names in a history are names of kinds, home and work apart, which places are called, too."""
        return sum(self.votes(history)) >= 0

    def votes(self, places: NameIndex) -> list[int]:
        """Whether each place says that a history is compared by name (1) or by kind (-1); most votes decide."""
        if not self.is_of_kinds:
            return [1] * len(places.keys)
        known = self._by_name.known_kinds(places)
        return [0 if key in _EVERYBODYS else 1 if key in known or self._has_name(key) else -1 for key in places.keys]

    def _has_name(self, key: str) -> bool:
        return self._names.position(key) >= 0

    def names_in(self, places: NameIndex) -> frozenset[str]:
        """The target's names that are among these places or the candidates."""
        return frozenset(
            name for name in self._shares if max(places.position(name), self._candidates.position(name)) >= 0
        )

    def share(self, names: Iterable[str]) -> float:
        """The share of the target's weight at some of its names."""
        return sum(map(self._shares.__getitem__, names))

    @cached_property
    def _totals(self) -> Mapping[str, Any]:
        totals = totals_by_kind(self._target, lambda _: self._by_name, self._depth)
        if not isinstance(self._target, Profile):
            return totals
        spread = self._target.spread
        kinds = None if spread is None else spread.by_kind(lambda name: self._by_name.kind_at(name, self._depth))
        return Profile(totals, kinds)

    @cached_property
    def _kinds(self) -> _Kinds:
        return _Kinds(self._shares, self._by_name, self._depth)


class _Kinds:
    """The kinds of a target, and the places that count for them."""

    def __init__(self, shares: Mapping[str, float], taxonomy: Taxonomy, depth: int) -> None:
        self._depth = depth
        #: The name of each kind, by its node, and the heaviest kind below each node.
        self._at: dict[str, str] = {}
        self._below: dict[str, str] = {}
        for name in sorted(shares, key=lambda name: (-shares[name], name)):
            path = taxonomy.path(name)[:depth]
            kind = self._at.setdefault(path[-1], taxonomy.kind_at(name, depth))
            for above in path:
                self._below.setdefault(above, kind)

    def of(self, places: Iterable[str], taxonomy: Taxonomy) -> dict[str, str]:
        """The kind that each place counts for: the lowest at or above its own, down to the level.

        A place of which only a wider kind is known, such as one for work, counts for the heaviest kind below it. Places
        that count for none are left out.
        """
        kinds = {}
        for place in places:
            path = taxonomy.path(place)[: self._depth]
            found = next((self._at[node] for node in reversed(path) if node in self._at), None)
            found = found or (self._below.get(path[-1]) if path else None)
            if found is not None:
                kinds[place] = found
        return kinds


def totals_by_kind(
    weights: Mapping[str, Number], taxonomy_of: Callable[[str], Taxonomy], depth: int
) -> dict[str, Number]:
    """The weights of the kinds of place at a level of the taxonomy of each, counted from 1 at the top."""
    totals: dict[str, Number] = {}
    for location, weight in weights.items():
        kind = taxonomy_of(location).kind_at(location, depth)
        totals[kind] = totals.get(kind, 0) + weight
    return totals


def check_known(totals: Mapping[str, float]) -> None:
    """Raise if most of a target's weight is at places without a kind."""
    known = 1.0 - totals.get(UNKNOWN_KIND, 0.0) / sum(totals.values())
    if known < _LEAST_SHARE:
        raise TargetMismatch(
            f"only {100 * known:.0f}% of the target's weight is at places whose kind is known; give another target, "
            "set the kinds of its places with kinds, or set allow_mismatch to compare anyway",
            ("kinds", "allow_mismatch"),
        )
