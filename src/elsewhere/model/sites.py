"""The kinds of web sites. Their names are those in a browser's history: hosts without www."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from elsewhere.model.lexicon import Lexicon
from elsewhere.model.words import base
from elsewhere.text import quote

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
#: The part before the country in domains such as example.co.uk.
_SECOND_LEVEL = ("ac", "co", "com", "edu", "gob", "gouv", "gov", "go", "ne", "net", "nhs", "nom", "or", "org", "sch")
#: Parts of domains that indicate a kind by themselves; no ordinary word contains them.
_STEMS = {
    "adult_entertainment_venue": (
        "porn", "hentai", "xxx", "camgirl", "sexcam", "freesex", "livesex", "sexchat", "sexvideo", "sextube", "bdsm",
        "nudes", "milf",
    ),
    "brothel": ("escort", "bordell"),
    "adult_boutique": ("sexshop", "sextoy", "erotic", "erotik"),
    "lgbt_venue": ("lgbt", "lesbian", "queer", "gaytravel", "gaydating", "gaybar", "gayclub"),
    "gambling_venue": ("casino", "poker", "gambl", "onlineslot", "jackpot", "sportwetten", "roulette"),
    "abortion_clinic": ("abortion", "abtreibung", "schwangerschaftsabbruch"),
    "fertility_clinic": ("fertility", "kinderwunsch"),
    "sexual_health_clinic": ("stdtest", "stitest", "hivtest", "sexualhealth"),
    "payday_lender": ("payday",),
    "debt_advice_center": ("schuldner", "debtadvice", "debtrelief"),
}  # fmt: skip
_SHORTEST_PART = 6


class Site(NamedTuple):
    """The indication of a web site's kind."""

    node: str
    confidence: float
    reason: str


class _Told(Protocol):
    @property
    def node(self) -> str: ...

    @property
    def reason(self) -> str: ...


class Sites:
    """Finds the kinds of web sites.

    Parameters
    ----------
    lexicon
        The words, brands and web sites.
    of_words
        Returns the kind that the words of a text indicate.
    """

    def __init__(self, lexicon: Lexicon, of_words: Callable[[str], _Told | None]) -> None:
        self._lexicon = lexicon
        self._of_words = of_words
        self._stems = [(stem, node) for node, stems in _STEMS.items() for stem in stems]

    def find(self, key: str) -> Site | None:
        """The indication of the kind of the web site whose name has the `key`, if any."""
        parts = key.removeprefix("www.").split(".")
        for start in range(len(parts) - 1):
            if node := self._lexicon.sites.get(".".join(parts[start:])):
                return Site(node, 0.95, "a web site whose kind is known")
        label, *_, top = _telling(parts)
        words = label.split("-")
        if node := next((node for stem, node in self._stems if stem in label), None):
            return Site(node, 0.8, f"a part of the web site's name {quote(label)}")
        if found := self._of_words(" ".join([*words, top] if len(top) > 3 else words)):
            return Site(found.node, 0.75, found.reason)
        if node := next((node for word in words for node in self._edges(word)), None):
            return Site(node, 0.7, f"a part of the web site's name {quote(label)}")
        return None

    def _edges(self, word: str) -> Iterator[str]:
        """The nodes of long words at the end of a word, or at its start in languages that put them first."""
        runs = self._lexicon.runs
        for length in range(len(word), _SHORTEST_PART - 1, -1):
            if known := runs.get(base(word[-length:])):
                yield known.node
            if (known := runs.get(word[:length])) and known.place == "first":
                yield known.node


def is_host(key: str) -> bool:
    """Whether the key of a name is that of a web site."""
    return _HOST.fullmatch(key.removeprefix("www.")) is not None


def _telling(parts: list[str]) -> list[str]:
    """The label that the site's owner chose, and the labels above it."""
    end = len(parts) - 1
    if end > 1 and parts[end - 1] in _SECOND_LEVEL and len(parts[end]) == 2:
        end -= 1
    return parts[end - 1 :]
