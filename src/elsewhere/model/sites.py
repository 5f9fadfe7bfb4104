"""The kinds of web sites, whose names are those of a browser's history: hosts without www."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from elsewhere.model.lexicon import Lexicon

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
#: What comes before the country in domains such as example.co.uk.
_SECOND_LEVEL = frozenset("ac co com edu gob gouv gov go ne net nhs nom or org sch".split())
#: Parts of domains that tell by themselves, with no ordinary word that has them inside.
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


class Sites:
    """Finds the kinds of web sites.

    Parameters
    ----------
    lexicon
        The words, brands and web sites.
    of_words
        The node that the words of a name mean, and why.
    """

    def __init__(self, lexicon: Lexicon, of_words: Callable[[str], tuple[str, str] | None]) -> None:
        self._lexicon = lexicon
        self._of_words = of_words
        self._stems = [(stem, node) for node, stems in _STEMS.items() for stem in stems]

    def find(self, name: str) -> tuple[str, float, str] | None:
        """The node of a web site, how sure that is, and why; None if the name is no web site or nothing tells."""
        host = name.strip().lower().removeprefix("www.")
        if not _HOST.fullmatch(host):
            return None
        parts = host.split(".")
        for start in range(len(parts) - 1):
            if node := self._lexicon.sites.get(".".join(parts[start:])):
                return node, 0.95, "a web site whose kind is known"
        label, *_, top = _telling(parts)
        if node := next((node for stem, node in self._stems if stem in label), None):
            return node, 0.8, f"a part of the web site's name {label!r}"
        if found := self._of_words(" ".join([*label.split("-"), top] if len(top) > 3 else label.split("-"))):
            return found[0], 0.75, found[1]
        for part in (label, *(parts[:-2] if len(parts) > 2 else ())):
            if node := next(self._edges(part), None):
                return node, 0.7, f"a part of the web site's name {part!r}"
        return None

    def _edges(self, label: str) -> Iterator[str]:
        """The nodes of words that a label ends with, or begins with in languages that put them first."""
        for word in label.split("-"):
            for length in range(len(word), _SHORTEST_PART - 1, -1):
                for form in (word[-length:], word[-length:].removesuffix("s")):
                    known = self._lexicon.runs.get(form)
                    if known and len(form) >= _SHORTEST_PART:
                        yield known.node
                head = self._lexicon.runs.get(word[:length])
                if head and head.place == "first":
                    yield head.node


def _telling(parts: list[str]) -> list[str]:
    """The label that somebody chose, and the labels above it."""
    end = len(parts) - 1
    if end > 1 and parts[end - 1] in _SECOND_LEVEL and len(parts[end]) == 2:
        end -= 1
    return parts[end - 1 :]
