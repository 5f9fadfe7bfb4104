"""Taxonomies: trees of kinds of place, used to choose sensitive locations by branch."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.names import NameIndex, is_pattern, matches, name_key
from elsewhere.model.parts import place_of
from elsewhere.model.taxonomy_files import Node, named_nodes, read_nodes
from elsewhere.text import closest, quote

if TYPE_CHECKING:
    from elsewhere.model.places import Places

#: A deeper tree is considered a mistake.
_DEEPEST = 100
#: The most names whose nodes are cached.
_MOST_REMEMBERED = 1 << 17
#: The prefix of the name of a preset.
PRESET = "preset:"

_Ids: TypeAlias = dict[str, tuple[str, ...]]
#: Known types of locations, from an export or a person: categories, types or tags, by name.
Types: TypeAlias = Mapping[str, Collection[str]]
#: The type of a location without a kind, whatever its name.
NO_KIND = "none"
#: The kind for visits to a place without a kind.
UNKNOWN_KIND = "Unknown"


class Selection(frozenset[str]):
    """Names of locations from a taxonomy. As `sensitive`, they need not all be in the histogram."""

    __slots__ = ()


class Placed(NamedTuple):
    """The locations at each node of a taxonomy, by the node's id; nodes without locations are left out."""

    own: dict[str, list[str]]
    #: At the node or anywhere below it.
    below: dict[str, list[str]]
    #: The locations that the taxonomy does not have.
    unknown: tuple[str, ...]


class Counts(NamedTuple):
    """The number of visits at each node of a taxonomy, by the node's id."""

    own: dict[str, int]
    #: At the node or anywhere below it; a location that matches several nodes there counts once.
    below: dict[str, int]
    #: The locations of the histogram that the taxonomy does not have.
    unknown: tuple[str, ...]


class Taxonomy:
    """A tree of kinds of place.

    Read one with `load`, or use the one that comes with this package: `shipped`.

    Parameters
    ----------
    nodes
        The nodes; each names its parent by id.

    Examples
    --------
    >>> places = Taxonomy([Node("m", "Medical Center"), Node("h", "Hospital", "m"), Node("c", "Cafe")])
    >>> sorted(places.select(["Medical Center"]))
    ['Hospital', 'Medical Center']
    >>> sorted(places.select(["m"], among={"hospital": 3, "cafe": 7}))
    ['hospital']
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        listed = list(nodes)
        self._by_id = {node.id: node for node in listed}
        self._children: dict[str | None, list[Node]] = {}
        for node in listed:
            self._children.setdefault(node.parent, []).append(node)
        _check(listed, self._by_id, self._children)
        self._by_key = _by_key(listed)
        self._types = _Types()
        #: A cache of the nodes of names; only copies have it, for as long as they are used.
        self._remembered: dict[str, Collection[str]] | None = None

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Taxonomy:
        """Read the taxonomy in the file at `path`.

        It is CSV (``id,name,parent_id``), Foursquare's nested JSON, or indented text.
        """
        return Taxonomy(read_nodes(path))

    @staticmethod
    def parse(name: str, content: bytes) -> Taxonomy:
        """Read a taxonomy from the `content` of a file; `name` is its name in errors."""
        return Taxonomy(named_nodes(name, content))

    @staticmethod
    @cache
    def shipped() -> Places:
        """Return the taxonomy of everyday places that comes with this package, with its presets."""
        from elsewhere.model.places import Places

        return Places()

    @property
    def presets(self) -> Mapping[str, str]:
        """The groups that ``select(["preset:..."])`` accepts, each with a description."""
        groups: dict[str, list[str]] = {}
        for _, node in self.tree():
            for group in node.groups:
                groups.setdefault(group, []).append(node.name)
        return {group: ", ".join(groups[group]) for group in sorted(groups)}

    def with_types(self, types: Types, *, patterns: bool = False) -> Self:
        """Return a copy that knows more about locations: what an export or a person says about them.

        Parameters
        ----------
        types
            Categories, types or tags by location, such as `History.types`. Names match in any spelling. Where the
            taxonomy has such types, they count and the name of the location does not. The type ``"none"`` means that
            the location has no kind. What was said before counts more.
        patterns
            Whether names with a ``*`` are patterns. Default: False, because an export may have any name.

        >>> places = Taxonomy.shipped().with_types({"Iron Works": ["gym"]})
        >>> sorted(places.select(["Sports"], among=["Iron Works"]))
        ['Iron Works']
        """
        other = copy(self)
        other._types, other._remembered = self._types.extended(types, patterns), {}
        return other

    def without_types(self) -> Self:
        """Return a copy that uses only names."""
        other = copy(self)
        other._types, other._remembered = _Types(), {}
        return other

    def select(self, nodes: Collection[str], among: Iterable[str] | None = None) -> Selection:
        """Return the names of everything at or below some nodes, or of the locations in `among` that belong there.

        Parameters
        ----------
        nodes
            Nodes by id, name (in any spelling) or alias, patterns such as ``"*church*"`` for their names, or presets
            such as ``"preset:health"``. A name that several nodes share selects all of them.
        among
            Names of locations, for example a `Histogram`. They are looked up in the same way; the shipped taxonomy also
            recognises words in a name. Locations that the taxonomy does not have are not selected. Default: return the
            names and aliases of the nodes, as the taxonomy spells them.

        Returns
        -------
        Selection
            A set of names for the argument `sensitive` of the verbs. Names that the history does not have are ignored
            there.

        Raises
        ------
        InputError
            The taxonomy has no such node or preset.

        See Also
        --------
        Taxonomy.with_types : Let what an export says about a location count more than its name.
        """
        chosen = {below.id for top in self._meant(nodes) for _, below in self._walk(top)}
        if among is None:
            spellings = ((node.name, *node.aliases) for node in map(self._by_id.__getitem__, chosen))
            return Selection(chain.from_iterable(spellings))
        return Selection(name for name in _names("among", among) if not chosen.isdisjoint(self._nodes_of(name)))

    def knows(self, name: str) -> bool:
        """Return whether `select` would find a node or a preset called `name`."""
        if name.startswith(PRESET):
            return name.removeprefix(PRESET) in self.presets
        return bool(self._find(name) or (is_pattern(name) and self._node_names.positions(name)))

    def tree(self, node: str | None = None) -> Iterator[tuple[int, Node]]:
        """Iterate over the nodes with their depths, parents before children; only from `node` down if it is given."""
        tops = self._children[None] if node is None else self._meant([node])
        return chain.from_iterable(map(self._walk, tops))

    def counts(self, histogram: TableLike) -> Counts:
        """Return how many visits of `histogram` are at each node, and how many are at or below it."""
        visits = histogram if isinstance(histogram, Histogram) else Histogram(histogram)
        placed, counts = self.placed(visits), dict(visits)
        own, below = (
            {at: sum(map(counts.__getitem__, locations.get(at, ()))) for at in self._by_id}
            for locations in (placed.own, placed.below)
        )
        return Counts(own, below, placed.unknown)

    def placed(self, locations: Iterable[str]) -> Placed:
        """Return which of `locations` are at each node, and which are at or below it. One can be at several nodes."""
        own: dict[str, list[str]] = {}
        below: dict[str, list[str]] = {}
        unknown = []
        for location in locations:
            found = self._nodes_of(location)
            if not found:
                unknown.append(location)
            for at in found:
                own.setdefault(at, []).append(location)
            for at in set(chain.from_iterable(map(self._upward, found))):
                below.setdefault(at, []).append(location)
        return Placed(own, below, tuple(unknown))

    @cached_property
    def depth(self) -> int:
        """The number of levels."""
        return 1 + max(depth for depth, _ in self.tree())

    def path(self, location: str) -> tuple[str, ...]:
        """Return the ids of the nodes from the top down to the one that `location` is at.

        A location that can be at several nodes is put at the lowest node above them all. The path is empty if there is
        no such node, or if the taxonomy does not have the location.
        """
        paths = [tuple(self._upward(at))[::-1] for at in self._nodes_of(location)]
        if len(paths) < 2:
            return paths[0] if paths else ()
        alike = takewhile(lambda nodes: len(set(nodes)) == 1, zip(*paths, strict=False))
        return tuple(nodes[0] for nodes in alike)

    def kind_at(self, location: str, depth: int) -> str:
        """Return the name of the node above `location` at the level `depth`, counted from 1 at the top.

        A location above that level is at its own node. One that the taxonomy does not have is ``"Unknown"``.
        """
        path = self.path(location)
        return self._by_id[path[min(depth, len(path)) - 1]].name if path else UNKNOWN_KIND

    def node(self, name: str) -> Node | None:
        """Return the node whose id, name (in any spelling) or alias is `name`, or None if there is none."""
        found = self._find(name)
        return self._by_id[next(iter(found))] if found else None

    def known_kinds(self, names: NameIndex) -> set[str]:
        """Return the keys of those of `names` that are kinds: nodes with others below them, or of the shipped taxonomy.

        Other nodes of your own taxonomy may be places.
        """
        shipped = Taxonomy.shipped()
        return {
            key
            for key in names.keys
            if key in self._by_key
            and (key in shipped._by_key or any(node in self._children for node in self._by_key[key]))
        }

    def _meant(self, names: Collection[str]) -> list[Node]:
        """The nodes and presets with the given names."""
        return [node for name in _names("nodes", names) for node in self._named(name)]

    def _named(self, name: str) -> list[Node]:
        if name.startswith(PRESET):
            group = name.removeprefix(PRESET)
            carriers = [node for node in self._by_id.values() if group in node.groups]
            if not carriers:
                known = ", ".join(self.presets) or "none"
                raise InputError(f"the taxonomy has no preset {quote(group)}; its presets are {known}")
            return carriers
        found = self._find(name)
        if not found and is_pattern(name):
            found = [at for match in self._node_names.match(name) for at in self._find(match)]
        if not found:
            raise InputError(
                f"{quote(name)} is not in the taxonomy{closest(name, [*self._by_key, *self._node_names.names])}"
            )
        return [self._by_id[at] for at in found]

    def _find(self, name: str) -> Collection[str]:
        """The nodes with exactly that id, else with that id or name in any spelling, else with that alias."""
        return (name,) if name in self._by_id else self._by_key.get(name_key(name), ())

    @cached_property
    def _node_names(self) -> NameIndex:
        return NameIndex([node.name for node in self._by_id.values()])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_remembered": None if self._remembered is None else {}}

    def _nodes_of(self, location: str) -> Collection[str]:
        """The ids of all nodes that a location may belong to, to be safe."""
        if self._remembered is None:
            return self._find_nodes(location)
        nodes = self._remembered.get(location)
        if nodes is None:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            nodes = self._remembered[location] = self._find_nodes(location)
        return nodes

    def _find_nodes(self, location: str) -> Collection[str]:
        """The nodes of a location: by its known types if the taxonomy has them, else by its name."""
        whole = name_key(location)
        key = place_of(whole)
        for said in self._types.of(key):
            if NO_KIND in said:
                return ()
            # Return everything that a place may be, to be safe: two venues may have one name.
            if nodes := dict.fromkeys(chain.from_iterable(map(self._nodes_of_type, said))):
                return tuple(nodes)
        # A user's own taxonomy may contain the bins of place and time themselves.
        return self._by_key.get(whole) or self._nodes_of_name(key)

    def _nodes_of_type(self, type_: str) -> Collection[str]:
        return self._by_key.get(name_key(type_), ())

    def _nodes_of_name(self, key: str) -> Collection[str]:
        return self._by_key.get(key, ())

    def _walk(self, top: Node) -> Iterator[tuple[int, Node]]:
        waiting = [(0, top)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, child) for child in reversed(self._children.get(node.id, []))]

    def _upward(self, at: str | None) -> Iterator[str]:
        while at is not None:
            yield at
            at = self._by_id[at].parent


def informed(taxonomy: Taxonomy | None, history: object) -> Taxonomy | None:
    """The taxonomy with the types that the export of a `History` gives, if it is one."""
    types = getattr(history, "types", None)
    return taxonomy.with_types(types) if isinstance(taxonomy, Taxonomy) and types else taxonomy


class _Types:
    """Known types of locations, by the keys of their names and by patterns; the first types take precedence."""

    def __init__(self, layers: tuple[tuple[Types, Types], ...] = ()) -> None:
        self._layers = layers

    def extended(self, types: Types, patterns: bool) -> _Types:
        by_key: dict[str, Collection[str]] = {}
        matching: dict[str, Collection[str]] = {}
        for name, said in types.items():
            where = matching if patterns and is_pattern(name) else by_key
            key = place_of(name_key(name))
            where[key] = (*where.get(key, ()), *said)
        return _Types((*self._layers, (by_key, matching)) if types else self._layers)

    def of(self, key: str) -> Iterator[Collection[str]]:
        """The types of the location whose name has the key, in order of precedence."""
        for by_key, patterns in self._layers:
            if key in by_key:
                yield by_key[key]
            else:
                yield from (said for pattern, said in patterns.items() if matches(key, pattern))


def _check(listed: list[Node], by_id: Mapping[str, Node], children: Mapping[str | None, list[Node]]) -> None:
    """Raise unless the nodes make a tree."""
    if not listed:
        raise InputError("the taxonomy has no nodes")
    seen: set[str] = set()
    for node in listed:
        if node.id in seen:
            raise InputError(f"the taxonomy has the id {quote(node.id)} more than once")
        seen.add(node.id)
        if node.parent is not None and node.parent not in by_id:
            raise InputError(f"the taxonomy puts {quote(node.id)} below {quote(node.parent)}, which it does not have")
    level = children.get(None, [])
    for _ in range(_DEEPEST):
        seen.difference_update(node.id for node in level)
        level = [child for node in level for child in children.get(node.id, ())]
    if level:
        raise InputError(f"the taxonomy is more than {_DEEPEST} levels deep at {quote(level[0].name)}")
    for node in listed:
        if node.id in seen:
            raise InputError(f"the taxonomy has a cycle: the parents of {quote(node.id)} never end")


def _by_key(listed: list[Node]) -> _Ids:
    """Map the keys of ids and names, or else of aliases, to the ids of nodes."""
    names: _Ids = {}
    aliases: _Ids = {}
    for node in listed:
        for way, spellings in ((names, (node.id, node.name)), (aliases, node.aliases)):
            for key in set(map(name_key, spellings)):
                way[key] = (*way.get(key, ()), node.id)
    return aliases | names


def _names(what: str, names: Iterable[str]) -> Iterable[str]:
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"{what} is {quote(names)}; give a collection of names")
    listed = list(names)
    for name in listed:
        if not isinstance(name, str):
            raise InputError(f"{what} has {quote(name)}, which is not a string")
    return listed
