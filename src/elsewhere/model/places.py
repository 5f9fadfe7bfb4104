"""The shipped taxonomy: it also knows a location by the words in its name, and says what its presets are for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.kinds import Kind, Matcher
from elsewhere.model.lexicon import PLACES, Lexicon
from elsewhere.model.names import name_key
from elsewhere.model.taxonomy import Taxonomy, Types
from elsewhere.model.taxonomy_files import parse_nodes
from elsewhere.text import quote

_PRESETS = {
    "all": "everything that another preset covers",
    "addiction": "help with addiction to alcohol, drugs or gambling; cannabis shops",
    "adult-entertainment": "strip clubs, sex shops, brothels",
    "children": "where one goes with or for children: schools, day care, playgrounds, toy shops",
    "debt": "debt and hardship: lenders, pawn shops, debt advice, job centers, food banks, welfare",
    "ethnic-origin": "racial or ethnic origin (GDPR Article 9): communities, consulates, help for migrants",
    "gambling": "casinos, betting shops, lotteries, race courses",
    "health": "health, with genetic and biometric data (GDPR Article 9): hospitals, doctors, pharmacies, care",
    "home": "where somebody lives",
    "immigration": "embassies, visa and immigration offices, asylum",
    "justice": "courts, police, prisons, probation (GDPR Article 10)",
    "legal-aid": "lawyers, notaries, legal advice",
    "mental-health": "psychiatry, psychotherapy, counselling, addiction treatment (part of health)",
    "politics": "political opinions (GDPR Article 9): parties, campaigns, polling places, protest",
    "religion": "religious or philosophical beliefs (GDPR Article 9): worship, religious schools and shops, lodges",
    "reproductive-health": "fertility, pregnancy, birth, contraception, sexual health (part of health)",
    "sex-life": "sex life and sexual orientation (GDPR Article 9): LGBT venues, sexual health, adult entertainment",
    "shelters": "shelters for the homeless, for women, for youths and for refugees",
    "trade-union": "trade union membership (GDPR Article 9)",
    "work": "offices and other places where one works",
}

#: The preset of everything that a preset covers.
_ALL = "all"


class Places(Taxonomy):
    """The shipped taxonomy.

    >>> sorted(Places().select(["preset:religion"], among=["St. Brendan Church", "Zion Coffee Shop"]))
    ['St. Brendan Church']
    """

    def __init__(self) -> None:
        nodes = parse_nodes(PLACES.read_bytes())
        super().__init__(replace(node, groups=(*node.groups, _ALL)) if node.groups else node for node in nodes)

    @property
    def presets(self) -> Mapping[str, str]:
        """The groups that ``select(["preset:..."])`` knows, each with a description."""
        return dict(_PRESETS)

    def kind(self, name: str, said: Iterable[str] = ()) -> Kind:
        """Return the kind of the place called `name`; what an export says about it counts more than the name."""
        for type_ in said:
            if nodes := self._nodes_of_type(type_):
                return Kind(name, nodes[0], 0.98, f"the export says {quote(type_)}")
        if nodes := self._by_key.get(name_key(name), ()):
            return Kind(name, nodes[0], 0.95, "the name of a kind")
        return self._matcher.kind(name)

    def name_above(self, node: str, depth: int) -> str:
        """Return the name of the node at a level, counted from 1 at the top, above a node; its own if it is higher."""
        path = [*self._upward(node)][::-1]
        return self._by_id[path[min(depth, len(path)) - 1]].name

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(Lexicon(), self._upward, {below.id for _, below in self.tree(f"preset:{_ALL}")})

    def _nodes_of(self, location: str, said: Iterable[str] = ()) -> Collection[str]:
        for type_ in said:
            if nodes := self._nodes_of_type(type_):
                return nodes
        key = name_key(location)
        if known := self._by_key.get(key):
            return known
        found = self._matcher.find(key)
        return () if found is None else (found.node,)

    def _nodes_of_type(self, type_: str) -> tuple[str, ...]:
        """The nodes that a category, a type or a tag means; of a tag with an unknown value what its key tells."""
        key = name_key(type_)
        if nodes := self._by_key.get(key):
            return nodes
        if "=" in key:
            return self._by_key.get(f"{key.partition('=')[0]}=yes", ())
        found = self._matcher.find(key)
        return () if found is None else (found.node,)


class _History(Protocol):
    """What is needed of a `History`, which is read in a layer above."""

    @property
    def histogram(self) -> Histogram: ...

    @property
    def types(self) -> Types: ...


def kinds(names: Iterable[str] | _History, types: Types | None = None) -> list[Kind]:
    """Return what kind of place each name means.

    Parameters
    ----------
    names
        The names, or a `History`, whose names and types are taken.
    types
        What an export says about the places, by name: categories of Foursquare, types of Google, or tags of
        OpenStreetMap such as ``"amenity=hospital"``. A type that the shipped taxonomy has counts more than the name.
        Default: the types of the `History`; none if names are given.

    Returns
    -------
    list of Kind
        For each name in order: the `node` of the shipped taxonomy, or None if nothing tells; the `confidence`, about
        the share of such findings that are right; and the `reason`.

    Raises
    ------
    InputError
        A name is not a string, or `names` is one.

    See Also
    --------
    Taxonomy.select : Choose the locations below a node or of a preset.

    Examples
    --------
    >>> for kind in kinds(["Café Morgenrot", "Klinikum Nord", "Iron Works"], {"Iron Works": ["gym"]}):
    ...     print(kind.node, kind.confidence, kind.reason)
    cafe 0.9 the word 'cafe'
    hospital 0.9 the word 'klinikum'
    gym 0.98 the export says 'gym'
    """
    if isinstance(names, str | bytes):
        raise InputError(f"names is {quote(names)}; give a collection of names", ("names",))
    if not isinstance(names, Iterable):
        types = names.types if types is None else types
        names = names.histogram.locations
    shipped = _shipped()
    found = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"names has {quote(name)}, which is not a string", ("names",))
        found.append(shipped.kind(name, (types or {}).get(name, ())))
    return found


#: What visits to a place without a kind count as.
UNKNOWN_KIND = "Unknown"


def by_kind(history: TableLike, depth: int = 2, types: Types | None = None) -> Histogram:
    """Return a history of kinds of place, from one of names.

    Every location counts for its kind at a level of the shipped taxonomy, so that it can be compared with a profile of
    kinds. Visits to places whose kind nothing tells count as ``"Unknown"``, so the size stays the same.

    Parameters
    ----------
    history
        Anything that `Histogram` accepts, or a `History`.
    depth
        The level, counted from 1 at the top. A kind above it stands for itself.
    types
        What an export says about the places, as for `kinds`. Default: the types of the `History`.

    Raises
    ------
    InputError
        `history` is not a histogram, or `depth` is not a whole number from 1 up.

    See Also
    --------
    kinds : The kind of each place, how sure that is, and why.

    Examples
    --------
    >>> dict(by_kind({"Klinikum Nord": 2, "Café Morgenrot": 3, "Charing Cross": 1}, depth=1))
    {'Food and drink': 3, 'Health care': 2, 'Unknown': 1}
    """
    if type(depth) is not int or depth < 1:
        raise InputError(f"depth is {quote(depth)}; it must be a whole number from 1 up", ("depth",))
    types = getattr(history, "types", None) if types is None else types
    histogram, shipped = Histogram(getattr(history, "histogram", history)), _shipped()
    counts: dict[str, int] = {}
    for found, count in zip(kinds(histogram.locations, types), histogram.counts.tolist(), strict=True):
        name = UNKNOWN_KIND if found.node is None else shipped.name_above(found.node, depth)
        counts[name] = counts.get(name, 0) + count
    return Histogram(counts)


def _shipped() -> Places:
    shipped = Taxonomy.shipped()
    assert isinstance(shipped, Places)
    return shipped
