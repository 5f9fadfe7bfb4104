"""The three formats of a taxonomy file: CSV, nested JSON and indented text."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

_COLUMNS = ("id", "name", "parent_id")

#: The most bytes of a taxonomy file.
_MOST_BYTES = 1 << 26
_MOST_NODES = 100_000


@dataclass(frozen=True)
class Node:
    """A kind of place."""

    id: str
    name: str
    #: The id of the node above; None at the top.
    parent: str | None = None
    aliases: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def read_nodes(path: str | os.PathLike[str]) -> list[Node]:
    """The nodes in a file of any of the three formats."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"the taxonomy {quote(path)} cannot be read: {one_line(error)}") from None
    return named_nodes(os.fspath(path), content)


def named_nodes(name: str, content: bytes) -> list[Node]:
    """The nodes in the content of a file; errors begin with the file's name."""
    try:
        return parse_nodes(content)
    except InputError as error:
        raise InputError(f"the taxonomy {name!r} {error}") from None


def parse_nodes(content: bytes) -> list[Node]:
    """The nodes in a file's content; the text of errors continues after the file's name."""
    if len(content) > _MOST_BYTES:
        raise InputError(f"is larger than {_MOST_BYTES >> 20} MiB")
    nodes = _nodes(content)
    if len(nodes) > _MOST_NODES:
        raise InputError(f"has {len(nodes):,} nodes; at most {_MOST_NODES:,} are read")
    return nodes


def _nodes(content: bytes) -> list[Node]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text: it has the byte {content[error.start]:#04x} at {error.start}") from None
    if "\0" in text:
        raise InputError(f"is not text: it has a zero byte at {text.index(chr(0))}")
    if not text.strip():
        raise InputError("is empty")
    if text.lstrip()[0] in "{[":
        return _from_json(text)
    # Any known column name means a table, so that a table with a wrong header is not read as indented text.
    header = text.lstrip().splitlines()[0]
    if len(cells := re.split(r"[,;\t]", header)) > 1 and {cell.strip(' "') for cell in cells} & {*_COLUMNS}:
        return _from_csv(text)
    return _from_text(text)


def _from_csv(text: str) -> list[Node]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    nodes: list[Node] = []
    header: list[str] = []
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            if not header:
                header = _checked_header(row)
            elif len(row) != len(header):
                raise InputError(f"has {len(row)} cells in line {reader.line_num}; the header has {len(header)}")
            else:
                nodes.append(_row_node(dict(zip(header, row, strict=True)), reader.line_num))
    except csv.Error as error:
        raise InputError(f"is not valid CSV in line {reader.line_num}: {error}") from None
    return nodes


def _checked_header(header: list[str]) -> list[str]:
    for column in _COLUMNS:
        if column not in header:
            raise InputError(
                f"has no column {column!r} in its header {quote(','.join(header))}; it needs id,name,parent_id"
            )
    for column in header:
        if header.count(column) > 1:
            raise InputError(f"has the column {column!r} more than once")
    return header


def _row_node(row: dict[str, str], line: int) -> Node:
    for column in ("id", "name"):
        if not row[column]:
            raise InputError(f"has no {column} in line {line}")
    return Node(
        row["id"], row["name"], row["parent_id"] or None, _split(row.get("aliases", "")), _split(row.get("groups", ""))
    )


def _split(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(";") if part.strip())


def _from_json(text: str) -> list[Node]:
    """The answer of Foursquare's API: nested categories."""
    try:
        top = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"is not valid JSON in line {error.lineno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"is not valid JSON: {error}") from None
    if isinstance(top, dict):
        top = top.get("response", top)
    if isinstance(top, dict):
        top = top.get("categories")
    nodes: list[Node] = []
    waiting: list[tuple[Any, str | None]] = [(item, None) for item in reversed(_listed(top, "at its top"))]
    while waiting:
        item, parent = waiting.pop()
        node = _json_node(item, parent)
        nodes.append(node)
        below = _listed(item.get("categories") or [], f"below {quote(node.name)}")
        waiting += [(child, node.id) for child in reversed(below)]
    return nodes


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"has {quote(value)} {where} instead of a list of categories")
    return value


def _json_node(item: Any, parent: str | None) -> Node:
    values = [item.get(key) for key in ("id", "name")] if isinstance(item, dict) else []
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    if len(texts) != 2:
        raise InputError(f"has a category without an id or a name: {quote(item)}")
    return Node(texts[0], texts[1], parent)


def _from_text(text: str) -> list[Node]:
    """One name per line; a line that is indented deeper than the one above is below it."""
    nodes: list[Node] = []
    path: list[tuple[str, str]] = []  # the indentation and name of the lines that may be above the current one
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        name = line.strip()
        if not name:
            continue
        indent = line[: len(line) - len(line.lstrip())]
        if path and not _is_deeper(indent, path[-1][0]):
            path = _above(indent, path, number, name)
        nodes.append(Node(name, name, path[-1][1] if path else None))
        path.append((indent, name))
    return nodes


def _is_deeper(indent: str, other: str) -> bool:
    return len(indent) > len(other) and indent.startswith(other)


def _above(indent: str, path: list[tuple[str, str]], number: int, name: str) -> list[tuple[str, str]]:
    """The part of the path above a line that is no deeper than the last one: up to the line indented as it is."""
    for depth, (known, _) in enumerate(path):
        if known == indent:
            return path[:depth]
    raise InputError(f"has an indentation in line {number} ({quote(name)}) that matches no line above")
