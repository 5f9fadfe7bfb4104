"""The shipped taxonomy: it also knows a location by the words in its name, and says what its presets are for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from importlib.resources import files

from elsewhere.model.names import name_key
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.model.taxonomy_files import parse_nodes

_PRESETS = {
    "addiction": "help with addiction to alcohol, drugs or gambling; cannabis shops",
    "adult-entertainment": "strip clubs, sex shops, brothels",
    "children": "where one goes with or for children: schools, day care, playgrounds, toy shops",
    "debt": "debt and hardship: lenders, pawn shops, debt advice, job centers, food banks, welfare",
    "ethnic-origin": "racial or ethnic origin (GDPR Article 9): communities, consulates, help for migrants",
    "gambling": "casinos, betting shops, lotteries, race courses",
    "health": "health, with genetic and biometric data (GDPR Article 9): hospitals, doctors, pharmacies, care",
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
}

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['\u2019]s\b")


class Places(Taxonomy):
    """The shipped taxonomy.

    >>> sorted(Places().select(["preset:religion"], among=["St. Brendan Church", "Zion Coffee Shop"]))
    ['St. Brendan Church']
    """

    def __init__(self) -> None:
        super().__init__(parse_nodes(files("elsewhere").joinpath("data", "places.csv").read_bytes()))
        #: The runs of words that mean a node, with the ids of their nodes.
        self._runs: dict[tuple[str, ...], set[str]] = {}
        #: How many words the longest run has that begins with a word.
        self._longest: dict[str, int] = {}
        for _, node in self.tree():
            for run in map(tuple, map(_words, (node.name, *node.aliases))):
                self._runs.setdefault(run, set()).add(node.id)
                self._longest[run[0]] = max(len(run), self._longest.get(run[0], 0))

    @property
    def presets(self) -> Mapping[str, str]:
        """The groups that ``select(["preset:..."])`` knows, each with a description."""
        return dict(_PRESETS)

    def _nodes_of(self, location: str) -> Collection[str]:
        """The nodes that the location's name has in it as a run of whole words, if it is not itself one's name.

        A run inside a longer one does not count: an animal hospital is no hospital.
        """
        if known := super()._nodes_of(location):
            return known
        words = _words(location)
        found: set[str] = set()
        if self._longest.keys().isdisjoint(words):
            return found
        covered = 0
        for start, word in enumerate(words):
            furthest = min(start + self._longest.get(word, 0), len(words))
            for end in range(furthest, max(start, covered), -1):
                if nodes := self._runs.get(tuple(words[start:end])):
                    found |= nodes
                    covered = end
                    break
        return found


def _words(name: str) -> list[str]:
    """The words of a name without case, accents and plural."""
    text = name_key(name)
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    if "'" in text or "\u2019" in text:
        text = _POSSESSIVE.sub("s", text)
    return [_singular(word) if word[-1] == "s" else word for word in _WORD.findall(text)]


def _singular(word: str) -> str:
    if len(word) <= 3 or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]
