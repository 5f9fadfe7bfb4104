"""Words for messages: quoted values, plurals, lists of names and suggestions, each short enough for a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from reprlib import Repr

#: The most characters of somebody's data that a message may quote.
_LONGEST_QUOTE = 60
_LONGEST_REASON = 160

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = _LONGEST_QUOTE
_QUOTATION = re.compile(r"'[^']*'|\"[^\"]*\"")
#: White space, control characters, characters that change the direction of text, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


def quote(value: object) -> str:
    """The value as Python writes it, on one line and short enough for a sentence.

    >>> quote("clinic\\n"), len(quote("a" * 1000)), len(quote(["a" * 50] * 6))
    ("'clinic\\\\n'", 60, 60)
    """
    try:
        return _shortened(" ".join(_SHORT.repr(value).split()))
    except ValueError:  # an int with more digits than Python prints
        return f"a {type(value).__name__}"


def plural(count: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "visit"), plural(2000, "visit")
    ('1 visit', '2,000 visits')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def name_list(names: Sequence[str], most: int = 20) -> str:
    """The first names, quoted, and how many more there are."""
    more = len(names) - most
    return ", ".join(map(quote, islice(names, most))) + (f" and {more:,} more" if more > 0 else "")


def closest(name: str, known: Iterable[str]) -> str:
    """A clause that suggests the known name nearest to a misspelt one, or an empty text."""
    folded = {other.casefold(): other for other in known}
    matches = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {quote(folded[matches[0]])}?" if matches else ""


def as_sentence(clause: str) -> str:
    """A note or an error's message as a full sentence."""
    return f"{clause[:1].upper()}{clause[1:]}{'' if clause.endswith(('.', '?', '!')) else '.'}"


def one_line(error: object) -> str:
    """The message of another library, which may quote any length of a file, shortened for a sentence."""
    said = getattr(error, "strerror", None) or str(error)
    text = _QUOTATION.sub(lambda found: _shortened(found[0]), printable(said))
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def printable(name: str) -> str:
    """The name as one line that any terminal and picture can show.

    >>> printable("St. Mary\\x1b[31m\\n"), printable("\\u200b")
    ('St. Mary [31m', '(no name)')
    """
    return _UNPRINTABLE.sub(" ", name).strip() or "(no name)"


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_QUOTE:
        return text
    end = _LONGEST_QUOTE // 3
    return text[: _LONGEST_QUOTE - 3 - end] + "..." + text[-end:]
