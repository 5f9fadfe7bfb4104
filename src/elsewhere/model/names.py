"""Compare names of places: two names mean one place if their keys are equal. A `*` stands for any characters.

The key of a name is its Unicode NFKC form without case and invisible characters, with blanks trimmed and collapsed.
Every comparison of names uses keys: sensitive, spared, candidates, bounds, targets, taxonomies. The counts of names
with the same key are added up.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from elsewhere.model.parts import place_of
from elsewhere.text import name_list, plural, quote

Number = TypeVar("Number", int, float)

#: The wildcard in a pattern such as ``*church*``.
WILDCARD = "*"

#: Control characters other than blanks, and Unicode's default ignorable characters: zero-width spaces, soft hyphens,
#: marks of direction, variation selectors, fillers.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
#: ASCII, and letters that folding changes only in case: Latin, Cyrillic, Hebrew, Arabic, Japanese, Chinese, Korean.
_LETTERS = (
    " -~\u00c0-\u012f\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0400-\u0481\u05d0-\u05ea\u0621-\u063a\u0641-\u064a"
    "\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
#: Characters that are folded in another way.
_UNUSUAL = re.compile(f"[^{_LETTERS}]")


def name_key(name: str) -> str:
    """The key by which names are compared.

    >>> name_key("  St.\\u00a0Mary's\\u200b  CLINIC ") == name_key("st. mary's clinic")
    True
    """
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    if not _UNUSUAL.search(name):
        return " ".join(name.casefold().split())
    before = None
    while name != before:  # repeated, because characters that an invisible one kept apart may combine
        before = name
        name = unicodedata.normalize("NFKC", _INVISIBLE.sub("", unicodedata.normalize("NFKC", name)).casefold())
        name = " ".join(name.split())
    return name


def name_keys(names: Sequence[str]) -> list[str]:
    """The keys of many names; this is fast for plain names."""
    characters = "".join(names)
    # For ASCII both tests are equivalent, but the first is much faster.
    if not (characters.isprintable() if characters.isascii() else not _UNUSUAL.search(characters)):
        return [name_key(name) for name in names]
    text = "\n".join(["", *names, ""]).casefold()
    keys = text.split("\n")[1:-1]
    needless_blanks = "  " in text or "\n " in text or " \n" in text
    return [" ".join(key.split()) for key in keys] if needless_blanks else keys


def merge_spellings(counts: Mapping[str, Number]) -> tuple[dict[str, Number], dict[str, tuple[str, ...]]]:
    """The counts with one name for each place, and the other spellings of every name that has some.

    The name is the commonest spelling: the one with the highest count, or of equals the one that sorts first.

    >>> merge_spellings({"clinic": 2, "Clinic": 3, "gym": 1})
    ({'Clinic': 5, 'gym': 1}, {'Clinic': ('clinic',)})
    """
    names = list(counts)
    keys = name_keys(names)
    merged, others = dict(counts), {}
    if len(set(keys)) < len(names):
        repeated = {key for key, times in Counter(keys).items() if times > 1}
        spellings: dict[str, list[str]] = defaultdict(list)
        for key, name in zip(keys, names, strict=True):
            if key in repeated:
                spellings[key].append(name)
        for group in spellings.values():
            commonest, *rest = sorted(group, key=lambda name: (-counts[name], name))
            merged[commonest] = sum(map(merged.pop, rest), start=counts[commonest])
            others[commonest] = tuple(rest)
    return merged, others


def spelling_note(others: Mapping[str, Sequence[str]]) -> str:
    """A clause on the spellings that were merged, by the name that they were merged under.

    >>> spelling_note({"Clinic": ("clinic", "clinic ")})
    "counted 3 spellings of 1 place together: 'Clinic' (also 'clinic', 'clinic ')"
    """
    number = sum(1 + len(rest) for rest in others.values())
    places = [f"{quote(name)} (also {name_list(others[name], 5)})" for name in sorted(others)]
    more = f" and {len(places) - 5:,} more" if len(places) > 5 else ""
    together = f"counted {plural(number, 'spelling')} of {plural(len(places), 'place')} together"
    return f"{together}: {', '.join(places[:5])}{more}"


def is_pattern(name: str) -> bool:
    """Whether the name stands for all names that it matches."""
    return WILDCARD in name


class NameIndex:
    """An index of names of places, by any spelling and by patterns."""

    def __init__(self, names: Sequence[str], keys: Sequence[str] | None = None) -> None:
        self.names = names
        self.keys = keys = name_keys(names) if keys is None else keys
        self._first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
        #: The other spellings of a place, if names of many people are put together.
        self._others: dict[str, list[int]] = {}
        if len(self._first) < len(keys):
            for at, key in enumerate(keys):
                if self._first[key] != at:
                    self._others.setdefault(key, []).append(at)

    @property
    def distinct(self) -> bool:
        """Whether no two names are spellings of one place."""
        return not self._others

    def position(self, name: str) -> int:
        """The position of the place, by its first spelling; -1 if it is missing."""
        return self._first.get(name_key(name), -1)

    def positions(self, name: str) -> list[int]:
        """The positions of the places that a name or a pattern matches, in all spellings."""
        if not is_pattern(name):
            key = name_key(name)
            return [self._first[key], *self._others.get(key, ())] if key in self._first else []
        pattern = name_key(name)
        found = [key for key in self._first if matches(key, pattern)]
        return sorted(at for key in found for at in (self._first[key], *self._others.get(key, ())))

    def union(self, other: NameIndex) -> NameIndex:
        """The known places and those of others, sorted; a place that is known keeps its name."""
        if other is self:
            return self
        new = {key: name for key, name in zip(other.keys, other.names, strict=True) if key not in self._first}
        if not new:
            return self
        pairs = sorted([*zip(self.names, self.keys, strict=True), *((name, key) for key, name in new.items())])
        return NameIndex(tuple(name for name, _ in pairs), [key for _, key in pairs])

    def positions_of(self, other: NameIndex) -> list[int]:
        """The positions of the places of another index; -1 for missing ones."""
        return [self._first.get(key, -1) for key in other.keys]

    def find(self, name: str) -> str | None:
        """The known name of the same place, if there is one."""
        at = self.position(name)
        return None if at < 0 else self.names[at]

    def match(self, name: str) -> list[str]:
        """The known names that a name or a pattern matches."""
        return [self.names[at] for at in self.positions(name)]

    def covered(self, name: str) -> list[int]:
        """The positions of the places that a name or a pattern matches, with all their bins of place and time."""
        found, key = self.positions(name), name_key(name)
        if not self._bins:
            return found
        places = [place for place in self._bins if matches(place, key)] if is_pattern(name) else [key]
        return sorted({*found, *(at for place in places for at in self._bins.get(place, ()))})

    @cached_property
    def _bins(self) -> dict[str, list[int]]:
        """The positions of the bins of place and time, by the key of the place."""
        bins: dict[str, list[int]] = {}
        for at, key in enumerate(self.keys):
            if (place := place_of(key)) != key:
                bins.setdefault(place, []).append(at)
        return bins


def matches(key: str, pattern: str) -> bool:
    """Whether the key of a name matches the key of a pattern."""
    first, *middle, last = pattern.split(WILDCARD)
    if not key.startswith(first) or not key.endswith(last) or len(key) < len(first) + len(last):
        return False
    at, end = len(first), len(key) - len(last)
    for part in middle:
        at = key.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
