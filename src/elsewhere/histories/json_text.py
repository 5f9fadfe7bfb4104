"""Strict JSON: no duplicate keys, no NaN."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn

from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote


def parse_json(text: bytes | str, on_progress: Callable[[int], None] | None = None) -> Any:
    """The value of a strict JSON text: no duplicate keys, no NaN."""
    try:
        text = text.decode(json.detect_encoding(text)) if isinstance(text, bytes) else text
        return (_JSON if on_progress is None else _decoder_with_progress(on_progress, text)).decode(text)
    except InputError:
        raise
    except RecursionError:
        raise InputError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"it is not valid JSON ({one_line(error)})") from None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) < len(members):
        twice, _ = Counter(key for key, _ in members).most_common(1)[0]
        raise InputError(f"its JSON has the key {quote(twice)} twice in one object")
    return made


def _constant(name: str) -> NoReturn:
    raise InputError(f"its JSON has the value {name}, which is not a number")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def _decoder_with_progress(on_progress: Callable[[int], None], text: str) -> json.JSONDecoder:
    """A decoder that reports its progress: each object counts as an equal part of the text."""
    share = len(text) // max(text.count("{"), 1)

    def plural(members: list[tuple[str, Any]]) -> dict[str, Any]:
        on_progress(share)
        return _object(members)

    return json.JSONDecoder(object_pairs_hook=plural, parse_constant=_constant)
