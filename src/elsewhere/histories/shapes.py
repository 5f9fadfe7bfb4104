"""Looking into the JSON of an export, where anything may be missing or of another kind than it should be."""

from __future__ import annotations

from typing import Any, TypeVar

from elsewhere.model.errors import InputError
from elsewhere.text import quote

Kind = TypeVar("Kind")

_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}


def part(whole: Any, key: str, kind: type[Kind]) -> Kind | None:
    """What is under the key of an object, or None if nothing is there; an error if it is of another kind."""
    if not isinstance(whole, dict):
        raise InputError(f"it has {quote(whole)} where an object with {key!r} should be")
    value = whole.get(key)
    if value is not None and not isinstance(value, kind):
        raise InputError(f"it has {quote(value)} under {key!r}, where {_KINDS[kind]} should be")
    return value


def first_text(whole: Any, *keys: str) -> str | None:
    """The first text under any of the keys that is not blank."""
    return next((text for key in keys if (text := part(whole, key, str)) and text.strip()), None)
