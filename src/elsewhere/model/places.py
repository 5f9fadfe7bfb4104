"""The shipped taxonomy: it also knows a location by the words in its name, and says what its presets are for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from elsewhere.model.kinds import Kind, Matcher
from elsewhere.model.lexicon import PLACES, Lexicon
from elsewhere.model.names import name_key
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.model.taxonomy_files import parse_nodes
from elsewhere.text import quote

_PRESETS = {
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

class Places(Taxonomy):
    """The shipped taxonomy.

    >>> sorted(Places().select(["preset:religion"], among=["St. Brendan Church", "Zion Coffee Shop"]))
    ['St. Brendan Church']
    """

    def __init__(self) -> None:
        super().__init__(parse_nodes(PLACES.read_bytes()))

    @cached_property
    def _matcher(self) -> Matcher:
        sensitive = frozenset(below.id for at, node in self.tree() if node.groups for _, below in self._walk(node))
        return Matcher(Lexicon(), self._upward, sensitive)

    def kind(self, name: str, said: Iterable[str] = ()) -> Kind:
        """The kind of the place called `name`; `said` is what the export says about it, which counts more."""
        for type_ in said:
            if nodes := self._by_key.get(name_key(type_)):
                return Kind(name, nodes[0], 0.98, f"the export says {quote(type_)}")
        if nodes := super()._nodes_of(name):
            return Kind(name, nodes[0], 0.95, "it is the name of a kind")
        return self._matcher.kind(name)

    @property
    def presets(self) -> Mapping[str, str]:
        """The groups that ``select(["preset:..."])`` knows, each with a description."""
        return dict(_PRESETS)

    def _nodes_of(self, location: str) -> Collection[str]:
        if known := super()._nodes_of(location):
            return known
        node = self._matcher.kind(location).node
        return () if node is None else (node,)
