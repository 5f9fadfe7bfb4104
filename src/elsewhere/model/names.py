"""When two names mean one place: they are compared by one key, and a `*` stands for any characters.

The key of a name is its Unicode NFKC form without case and without invisible characters, its blanks trimmed and
collapsed. Wherever names meet (sensitive, spared, candidates, bounds, targets, taxonomies), their keys are compared.
The counts of names with one key are added up.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)

#: What a pattern such as ``*church*`` has in the place of any characters.
WILDCARD = "*"

#: Control characters that are no blanks, and what Unicode calls default ignorable: zero-width spaces, soft hyphens,
#: marks of direction, variation selectors, fillers.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
#: What keeps many names from being folded all at once: anything but visible ASCII and single blanks inside.
_UNUSUAL = re.compile(r"[^ -~\n]|  | \n|\n ")


def name_key(name: str) -> str:
    """What names are compared by.

    >>> name_key("  St.\\u00a0Mary's\\u200b  CLINIC ") == name_key("st. mary's clinic")
    True
    """
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    before = None
    while name != before:  # each step may undo another: what an invisible character kept apart may combine
        before = name
        name = unicodedata.normalize("NFKC", _INVISIBLE.sub("", unicodedata.normalize("NFKC", name)).casefold())
        name = " ".join(name.split())
    return name


def name_keys(names: Sequence[str]) -> list[str]:
    """The keys of many names, which is fast where they are plain."""
    text = "\n".join(names)
    if not _UNUSUAL.search(text) and not text.startswith(" ") and not text.endswith(" "):
        keys = text.lower().split("\n")
        if len(keys) == len(names):
            return keys
    return [name_key(name) for name in names]


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


def is_pattern(name: str) -> bool:
    """Whether the name stands for all names that it matches."""
    return WILDCARD in name


class NameIndex:
    """Names of places, found by any spelling and by patterns."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._by_key: Mapping[str, str] = dict(zip(reversed(name_keys(self.names)), reversed(self.names), strict=True))

    def find(self, name: str) -> str | None:
        """The known name of the same place, if there is one; of several spellings the first."""
        return self._by_key.get(name_key(name))

    def match(self, name: str) -> list[str]:
        """The known names that a name or a pattern means."""
        if not is_pattern(name):
            found = self.find(name)
            return [] if found is None else [found]
        pattern = re.compile(".*".join(map(re.escape, name_key(name).split(WILDCARD))), re.DOTALL)
        return [known for key, known in self._by_key.items() if pattern.fullmatch(key)]
