"""The words, brands and web sites that indicate kinds of place: lists by others, and our own that corrects them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from itertools import filterfalse
from typing import NamedTuple

from elsewhere.model.words import is_unspaced, words

_DATA = files("elsewhere").joinpath("data")
#: Our own list: the nodes of the shipped taxonomy. Their `heads` come first in a name, and compounds end with `ends`.
PLACES = _DATA.joinpath("places.csv")
#: Nodes whose names are words of many other names, such as Steak House.
_WHOLE_NAMES = ("home", "work", "society", "justice", "service", "kosher_and_halal_food_shop")


#: The number of letters by which ends of compounds are looked up; none is shorter.
TAIL = 3
#: The number of letters by which beginnings of brands are looked up; some brands are shorter.
OPENING = 5


class Word(NamedTuple):
    """The meaning of a run of words."""

    node: str
    #: Its position if it says what the place is: `first` (Iglesia de San Juan), `last` (St John's Church), `any`.
    place: str


class Lexicon:
    """Runs of words with their meanings; ends of compounds; words of scripts without blanks; brands; web sites.

    The lists of brands and web sites are read when they are first needed.
    """

    def __init__(self) -> None:
        self.runs: dict[str, Word] = {}
        self.ends: dict[str, str] = {}
        for node, place, phrases in _rows("kinds.tsv"):
            if place == "end":
                self.ends.update(dict.fromkeys(phrases, node))
            else:
                self.runs.update(dict.fromkeys(phrases, Word(node, place)))
        for row in csv.DictReader(io.StringIO(PLACES.read_text(encoding="utf-8"))):
            self._correct(row)
        #: The lengths of words of scripts without blanks, by their first two letters, the longest first.
        self.inside: dict[str, list[int]] = {}
        for phrase in filter(is_unspaced, filterfalse(str.isascii, self.runs)):
            self.inside.setdefault(phrase[:2], []).append(len(phrase))
        for letters, lengths in self.inside.items():
            self.inside[letters] = sorted(set(lengths), reverse=True)
        #: The ends of compounds by their last letters, the longest first.
        self.tails: dict[str, tuple[str, ...]] = {}
        for end in sorted(self.ends, key=len, reverse=True):
            self.tails[end[-TAIL:]] = (*self.tails.get(end[-TAIL:], ()), end)
        #: For the first word of runs of several words: the length of the longest run, and the possible next words.
        self.longest: dict[str, int] = {}
        self.later: set[str] = set()
        for phrase in self.runs:
            if " " in phrase:
                first, *later = phrase.split(" ")
                self.longest[first] = max(self.longest.get(first, 0), len(later) + 1)
                self.later.update(later)

    def _correct(self, row: dict[str, str]) -> None:
        """Apply our own list to a node."""
        node = row["id"]
        for phrase in () if node in _WHOLE_NAMES else _phrases(f"{row['name']};{row['aliases']}"):
            known = self.runs.get(phrase)
            self.runs[phrase] = Word(node, known.place if known else "any")
            if phrase in self.ends:
                self.ends[phrase] = node
        for phrase in _phrases(row["heads"]):
            known = self.runs.get(phrase)
            self.runs[phrase] = Word(node, "any" if known and known.place != "first" else "first")
        for phrase in _phrases(row["ends"]):
            self.ends[phrase] = node
            self.runs.setdefault(phrase, Word(node, "first"))

    @cached_property
    def brands(self) -> dict[str, str]:
        """The nodes of brands, by their names without blanks."""
        return {name: node for node, _, names in _rows("brands.tsv") for name in names}

    @cached_property
    def openings(self) -> set[str]:
        """The first letters of brands. Most names begin otherwise, so checking them first is faster."""
        return {name[:OPENING] for name in self.brands}

    @cached_property
    def sites(self) -> dict[str, str]:
        """The nodes of web sites: those of brands, and our own list."""
        own = csv.DictReader(io.StringIO(_DATA.joinpath("sites.csv").read_text(encoding="utf-8")))
        kept = {site: node for node, _, sites in _rows("sites.tsv") for site in sites}
        return kept | {site: row["node"] for row in own for site in row["sites"].split(";")}


def _phrases(cell: str) -> list[str]:
    return [" ".join(words(part)) for part in cell.split(";") if part]


def _rows(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Nodes, the position of the words if the list gives one, and the words."""
    text = _DATA.joinpath("words", name).read_text(encoding="utf-8")
    for line in text.splitlines():
        node, *place, found = line.split("\t")
        yield node, "".join(place), found.split("|")
