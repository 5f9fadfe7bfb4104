"""Compare a history with a target: place by place, or by the totals of kinds of place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from elsewhere.model.errors import TargetMismatch
from elsewhere.model.histogram import Profile
from elsewhere.model.names import NameIndex
from elsewhere.model.taxonomy import UNKNOWN_KIND, Taxonomy

Number = TypeVar("Number", int, float)

#: If less than this share of a target matches, it is probably a mistake.
_LEAST_SHARE = 0.5 - 1e-9
#: Names of kinds that many people also give to their own places.
_EVERYBODYS = ("home", "work")


class Match(NamedTuple):
    """How the places of a history match those of a target."""

    #: What the history is compared with.
    target: Mapping[str, Any]
    #: The target's kind for each place; None if places match by name.
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
        #: The types of a place do not affect a kind with the same name.
        self._by_name = taxonomy.without_types()
        self._shares: dict[str, float] = {name: share for name, share in Profile(target).items() if share > 0.0}
        self._names = NameIndex(list(self._shares))
        #: Whether the target is one of kinds of place; it is one of places otherwise.
        self.is_of_kinds = all(self._by_name.path(name) for name in self._shares)

    def match(self, history: NameIndex) -> Match:
        """How a history with these places matches the target.

        A target of kinds is compared with the totals of kinds, unless most names in the history are also kinds.
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
        """Whether most names in a history are names of kinds, except home and work, which are also names of places."""
        return sum(self.votes(history)) >= 0

    def votes(self, places: NameIndex) -> list[int]:
        """The vote of each place: compare by name (1) or by kind (-1). The majority decides."""
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
    """The kinds of a target, and the places that belong to them."""

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
        """The target's kind for each place: the lowest at or above the place's own kind, down to the level.

        If only a broader kind of a place is known, such as work, the place counts for the heaviest kind below it.
        Places without a kind of the target are left out.
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
    """The weights by kind at a level of the taxonomy, counted from 1 at the top."""
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
