"""Helpers for the JSON of an export, in which anything may be missing or have the wrong type."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from elsewhere.histories.documents import Document
from elsewhere.histories.unpacking import TooLarge
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

Kind = TypeVar("Kind")
Item = TypeVar("Item")

_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}


def part(whole: Any, key: str, kind: type[Kind]) -> Kind | None:
    """The value under a key of an object, or None if it is missing; raise if it has the wrong type."""
    if not isinstance(whole, dict):
        raise InputError(f"it has {quote(whole)} where an object with {key!r} should be")
    value = whole.get(key)
    if value is not None and not isinstance(value, kind):
        raise InputError(f"it has {quote(value)} under {key!r}, where {_KINDS[kind]} should be")
    return value


def first_text(whole: Any, *keys: str) -> str | None:
    """The first text under any of the keys that is not blank."""
    return next((text for key in keys if (text := part(whole, key, str)) and text.strip()), None)


def semantic_type(place: Any) -> str | None:
    """Google's guess for a place, such as home or work, in any of its notations.

    >>> semantic_type({"semanticType": "TYPE_HOME"}), semantic_type({"semanticType": "INFERRED_WORK"})
    ('home', 'work')
    >>> semantic_type({"semanticType": "UNKNOWN"})
    """
    text = (first_text(place, "semanticType") or "").lower().removeprefix("type_").removeprefix("inferred_")
    return None if text in ("", "unknown") else text


def instant(time: str | None) -> Hashable:
    """A moment in milliseconds or in ISO 8601, in one common form; None if it is neither.

    >>> instant("1678082400000") == instant("2023-03-06T06:00:00.000Z") == instant("2023-03-06T03:00:00-03:00")
    True
    """
    if time is None or not time.strip():
        return None
    try:
        return int(time)
    except ValueError:
        pass
    try:
        return round(1000 * datetime.fromisoformat(time).timestamp())
    except (ValueError, OverflowError, OSError):  # neither, or out of range
        return time


def add_type(types: dict[str, tuple[str, ...]], location: str, type_: str) -> None:
    """Record the type of a location; two places of one name may have different types."""
    known = types.get(location, ())
    if type_ not in known:
        types[location] = (*known, type_)


class Repeats:
    """Finds and counts repeated visits, as in two copies of one month."""

    def __init__(self) -> None:
        self.number = 0
        self._seen: set[Hashable] = set()

    def has(self, *identity: Hashable) -> bool:
        """Whether a visit is a repeat; a visit that lacks part of its identity never is."""
        if None in identity:
            return False
        repeated = identity in self._seen
        self._seen.add(identity)
        self.number += repeated
        return repeated


def items_of_all(
    documents: Sequence[Document], items: Callable[[Document], Iterable[Item]], notes: list[str]
) -> Iterator[Item]:
    """The items of all documents. A broken document gets a note, unless all are broken."""
    failures = []
    for document in documents:
        try:
            with document.named():
                found = list(items(document))
        except TooLarge:
            raise
        except InputError as error:
            failures.append(error)
            notes.append(f"Skipped a broken file: {one_line(error)}.")
        else:
            yield from found
    if len(failures) == len(documents):
        raise failures[0]
