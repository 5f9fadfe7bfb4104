"""The shipped taxonomy: it also recognises locations by the words in their names, and it has presets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Protocol

from elsewhere.model.comparison import totals_by_kind
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.kinds import Kind, Matcher
from elsewhere.model.lexicon import PLACES, Lexicon
from elsewhere.model.names import name_key
from elsewhere.model.parts import place_of
from elsewhere.model.taxonomy import NO_KIND, PRESET, Taxonomy, Types
from elsewhere.model.taxonomy_files import parse_nodes
from elsewhere.text import quote

_PRESETS = {
    "all": "everything that the other presets cover",
    "addiction": "help with addiction to alcohol, drugs or gambling; cannabis shops",
    "adult-entertainment": "strip clubs, sex shops, brothels",
    "children": "places for children: schools, day care, playgrounds, toy shops",
    "debt": "debt and hardship: lenders, pawn shops, debt advice, job centers, food banks, welfare",
    "ethnic-origin": "racial or ethnic origin (GDPR Article 9): communities, consulates, help for migrants",
    "gambling": "casinos, betting shops, lotteries, race courses",
    "health": "health, with genetic and biometric data (GDPR Article 9): hospitals, doctors, pharmacies, care",
    "home": "homes",
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
    "work": "offices and other workplaces",
}

#: The preset that covers all other presets.
_ALL = "all"
#: Presets of places that everybody has: more visits to them reveal nothing.
_EVERYBODYS = ("home", "work")
#: The presets of kinds that are often sensitive.
SENSITIVE_PRESETS = tuple(preset for preset in _PRESETS if preset not in (_ALL, *_EVERYBODYS))


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

    def kind(self, name: str) -> Kind:
        """Return the kind of the place called `name`; known types take precedence over the name."""
        key = place_of(name_key(name))
        for type_ in chain.from_iterable(self._types.of(key)):
            if type_ == NO_KIND:
                return Kind(name, None, 0.0, "given as a place of no kind")
            if nodes := self._nodes_of_type(type_):
                return Kind(name, nodes[0], 0.98, f"given as {quote(type_)}")
        if nodes := self._by_key.get(key, ()):
            return Kind(name, nodes[0], 0.95, "the name of a kind")
        return replace(_matcher().kind(place_of(name)), name=name)

    def often_sensitive(self, names: Iterable[str]) -> frozenset[str]:
        """Return the locations whose kind is often sensitive: it is in a preset other than home and work."""
        return frozenset(name for name in names if not _often_sensitive().isdisjoint(self._nodes_of(name)))

    def _nodes_of_name(self, key: str) -> Collection[str]:
        if known := self._by_key.get(key):
            return known
        found = _matcher().find(key)
        return () if found is None else (found.node,)

    def _nodes_of_type(self, type_: str) -> tuple[str, ...]:
        """The nodes for a category, a type or a tag; for a tag with an unknown value, those of its key."""
        key = name_key(type_)
        if nodes := self._by_key.get(key):
            return nodes
        if "=" in key:
            return self._by_key.get(f"{key.partition('=')[0]}=yes", ())
        found = _matcher().find(key)
        return () if found is None else (found.node,)


@cache
def _matcher() -> Matcher:
    """The matcher of words. It is not part of the taxonomy, so that copies share it and pickles do not contain it."""
    shipped = Taxonomy.shipped()
    return Matcher(Lexicon(), shipped._upward, {below.id for _, below in shipped.tree(PRESET + _ALL)})


@cache
def _often_sensitive() -> frozenset[str]:
    shipped = Taxonomy.shipped()
    return frozenset(node.id for preset in SENSITIVE_PRESETS for _, node in shipped.tree(PRESET + preset))


class _History(Protocol):
    """The part of `History` that is needed here; that class is in a higher layer."""

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
        For each name in order: the `node` of the shipped taxonomy, or None if it is unknown; the `confidence`, roughly
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
    gym 0.98 given as 'gym'
    """
    if isinstance(names, str | bytes):
        raise InputError(f"names is {quote(names)}; give a collection of names", ("names",))
    if not isinstance(names, Iterable):
        types = names.types if types is None else types
        names = names.histogram.locations
    shipped = Taxonomy.shipped().with_types(types or {})
    found = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"names has {quote(name)}, which is not a string", ("names",))
        found.append(shipped.kind(name))
    return found


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
    shipped = Taxonomy.shipped().with_types(types or {})
    return Histogram(totals_by_kind(Histogram(getattr(history, "histogram", history)), lambda _: shipped, depth))
