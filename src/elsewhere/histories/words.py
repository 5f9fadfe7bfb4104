"""Words for sentences."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def short(value: Any) -> str:
    """The value as Python writes it, of a length that fits in a sentence."""
    return _SHORT.repr(value)


def listed(names: Sequence[str], most: int = 20) -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(map(short, islice(names, most))) + (f" and {more} more" if more > 0 else "")


def counted(number: int, thing: str) -> str:
    """The number with its noun.

    >>> counted(1, "visit"), counted(2, "visit")
    ('1 visit', '2 visits')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def reason(error: Exception) -> str:
    """What another library says is wrong, which may quote anything, fit for a sentence."""
    return "".join(letter if letter.isprintable() else " " for letter in str(error))[:200]
