"""What a history and a target have in common: they are compared place by place, or by the totals of kinds of place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from elsewhere.model.errors import TargetMismatch
from elsewhere.model.histogram import Profile, TableLike
from elsewhere.model.names import NameIndex
from elsewhere.model.taxonomy import UNKNOWN_KIND, Taxonomy

Number = TypeVar("Number", int, float)

#: A target of which less than this share matches is taken for a mistake.
_LEAST_SHARE = 0.5


class Match(NamedTuple):
    """What the places of a history have to do with those of a target."""

    #: The kind of the target that a place counts for, by place; None if places match by name alone.
    kinds: Mapping[str, str] | None
    #: The share of the target's weight that has a counterpart.
    share: float

    def check(self) -> None:
        """Raise if hardly anything matches."""
        if self.share >= _LEAST_SHARE:
            return
        share = f"only {100 * self.share:.0f}% of the target's weight is at"
        if self.kinds is None:
            raise TargetMismatch(
                f"{share} places that the history has; give a target with the same names or with kinds of place"
            )
        raise TargetMismatch(
            f"{share} kinds of place that the history has; set by to 'kind', add candidates of the missing kinds, or "
            "choose another target",
            ("by", "candidates"),
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
    """

    def __init__(self, target: TableLike, candidates: Iterable[str], taxonomy: Taxonomy) -> None:
        self._weights: dict[str, float] = {name: weight for name, weight in Profile(target).items() if weight > 0.0}
        self._candidates, self._taxonomy = NameIndex(list(candidates)), taxonomy
        #: Whether the target is one of kinds of place; it is one of places otherwise.
        self.is_of_kinds = all(taxonomy.node(name) is not None for name in self._weights)

    def match(self, history: NameIndex) -> Match:
        """What a history with these places has to do with the target.

        A target of kinds is compared with the totals of kinds, unless most names in the history are those of kinds,
        too.
        """
        if self.is_of_kinds and 2 * self._taxonomy.number_known(history) >= len(history.names):
            return Match(None, 1.0)
        if not self.is_of_kinds:
            return Match(None, self.share(self.names_in(history)))
        places = history.union(self._candidates)
        kinds = _kinds(places.names, self._weights, self._taxonomy)
        found = NameIndex([kinds.get(name, name) for name in places.names])
        return Match(kinds, self.share(name for name in self._weights if found.position(kinds.get(name, name)) >= 0))

    def names_in(self, places: NameIndex) -> frozenset[str]:
        """The target's names that are among these places or the candidates."""
        return frozenset(
            name for name in self._weights if max(places.position(name), self._candidates.position(name)) >= 0
        )

    def share(self, names: Iterable[str]) -> float:
        """The share of the target's weight at some of its names."""
        return sum(map(self._weights.__getitem__, names))


def _kinds(places: Iterable[str], weights: Mapping[str, float], taxonomy: Taxonomy) -> dict[str, str]:
    """The target's kind that each place counts for: the lowest at or above its own.

    A place of which only a wider kind is known, such as one for work, counts for the heaviest kind of the target below
    it. Others are kinds of their own.
    """
    at: dict[str, str] = {}
    below: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for name in sorted(weights, key=lambda name: (-weights[name], name)):
        node = taxonomy.node(name)
        assert node is not None
        # Two names of one kind count together.
        if at.setdefault(node.id, name) != name:
            kinds[name] = at[node.id]
        for above in taxonomy.path(name):
            below.setdefault(above, name)
    for place in places:
        path = taxonomy.path(place)
        found = next((at[node] for node in reversed(path) if node in at), below.get(path[-1]) if path else None)
        if found is not None:
            kinds.setdefault(place, found)
    return kinds


def totals_by_kind(weights: Mapping[str, Number], taxonomy: Taxonomy, depth: int) -> dict[str, Number]:
    """The weights of the kinds of place at a level of the taxonomy, counted from 1 at the top."""
    totals: dict[str, Number] = {}
    for location, weight in weights.items():
        kind = taxonomy.kind_at(location, depth)
        totals[kind] = totals.get(kind, 0) + weight
    return totals


def check_known(totals: Mapping[str, float]) -> None:
    """Raise if most of a target's weight is at places without a kind."""
    known = 1.0 - totals.get(UNKNOWN_KIND, 0.0) / sum(totals.values())
    if known < _LEAST_SHARE:
        raise TargetMismatch(
            f"only {100 * known:.0f}% of the target's weight is at places whose kind is known; give another target, or "
            "say with kinds what its places are",
            ("kinds",),
        )
