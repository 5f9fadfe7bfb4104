"""Large files piece by piece: the items of a list in JSON, and the elements of XML.

Neither quotes its content, because a message must not contain a position.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat

from elsewhere.histories.documents import Document
from elsewhere.model.errors import InputError

_CHUNK = 1 << 20
#: Limits on the length of an item or a text, and on the nesting, which no real file reaches.
_LONGEST_ITEM = 1 << 24
_LONGEST_TEXT = 1 << 16
_DEEPEST = 200

_BETWEEN = re.compile(r"[\s,]*")


def json_items(document: Document, key: str) -> Iterator[dict[str, Any]]:
    """The objects in the list that is under the key, one after the other."""
    with (
        document.open() as file,
        io.TextIOWrapper(file, json.detect_encoding(document.head[:4]), newline="") as text,
    ):
        try:
            yield from _items(text, re.compile(rf'"{key}"\s*:\s*\['))
        except UnicodeDecodeError as error:
            raise InputError(f"it is not valid {error.encoding} text") from None
        except RecursionError:
            raise InputError("its JSON is nested too deeply") from None


def _items(text: io.TextIOWrapper, opening: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    buffer, found = "", None
    while found is None:
        chunk = text.read(_CHUNK)
        if not chunk:
            raise InputError("it is not valid JSON (its list of items does not begin)")
        buffer = buffer[-_LONGEST_TEXT:] + chunk
        found = opening.search(buffer)
    decode, at, item = json.JSONDecoder(parse_constant=_constant).raw_decode, found.end(), 0
    while True:
        at = _BETWEEN.match(buffer, at).end()  # type: ignore[union-attr]
        if buffer[at : at + 1] == "]":
            break
        try:
            value, after = decode(buffer, at)
        except ValueError:
            chunk = text.read(_CHUNK)
            if not chunk or len(buffer) - at > _LONGEST_ITEM:
                raise InputError(f"it is not valid JSON (item {item + 1} of its list is broken)") from None
            buffer, at = buffer[at:] + chunk, 0
            continue
        at, item = after, item + 1
        if not isinstance(value, dict):
            raise InputError(f"item {item} of its list is not an object")
        yield value
    rest = buffer[at + 1 :]
    while chunk := text.read(_CHUNK):
        rest = rest[-_LONGEST_TEXT:] + chunk
    if not rest.rstrip().endswith("}"):
        raise InputError("it is not valid JSON (its end is missing)")


def _constant(name: str) -> None:
    """Accept NaN and the like: they are not coordinates, but no reason to refuse a file."""


def parse_xml(
    document: Document, on_start: Callable[[str, dict[str, str]], None], on_end: Callable[[str, str], None]
) -> None:
    """Report the elements of a document, by their names without namespaces, with their text.

    A document type declaration is refused: its entities could make a small file huge or read other files.
    """
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    text: list[str] = []
    depth, length = 0, 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, length
        depth, length = depth + 1, 0
        if depth > _DEEPEST:
            raise InputError("its XML is nested too deeply")
        text.clear()
        on_start(name.rpartition("}")[2], attributes)

    def end(name: str) -> None:
        nonlocal depth, length
        on_end(name.rpartition("}")[2], "".join(text).strip() if length <= _LONGEST_TEXT else "")
        depth, length = depth - 1, 0
        text.clear()

    def data(characters: str) -> None:
        nonlocal length
        length += len(characters)
        if length <= _LONGEST_TEXT:
            text.append(characters)

    def refuse(*_: object) -> None:
        raise InputError("its XML has a document type, which is not allowed; remove the line with <!DOCTYPE")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        with document.open() as file:
            content = file.read(_CHUNK).lstrip()  # Strava has blanks before the declaration
            while content:
                parser.Parse(content, False)
                content = file.read(_CHUNK)
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        told = f"{expat.errors.messages[error.code]}, line {error.lineno}"
        raise InputError(f"it is not valid XML ({told})") from None
    except (LookupError, UnicodeDecodeError):
        raise InputError("it is not valid XML (unknown encoding)") from None
