"""Tables as JSON: an object of counts, a list of names, a list of rows, or an object of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from elsewhere.histories.columns import numeric_columns
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import MAPPING, Batch, Table
from elsewhere.model.errors import InputError
from elsewhere.text import quote


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    content = document.json()
    if isinstance(content, dict) and isinstance(content.get("location"), str):
        content = [content]
    if isinstance(content, dict) and content and all(isinstance(column, list) for column in content.values()):
        yield _of_columns(list(content), list(content.values()))
    elif isinstance(content, dict):
        yield _of_columns(MAPPING, [list(content), list(content.values())])
    elif isinstance(content, list) and not any(isinstance(item, dict) for item in content):
        yield _of_columns(["location"], [content])
    elif isinstance(content, list):
        yield _of_rows(content)
    else:
        raise InputError(f"it is the JSON value {quote(content)}; a table must be an object or a list")


def _of_rows(rows: list[Any]) -> Table:
    for at, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"item {at + 1} is {quote(row)}, but other items are objects")
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    return _of_columns(names, [[row.get(name) for row in rows] for name in names])


def _of_columns(names: Sequence[str], columns: list[list[Any]]) -> Table:
    if len(set(map(len, columns))) > 1:
        lengths = ", ".join(f"{quote(name)} {len(column)}" for name, column in zip(names, columns, strict=True))
        raise InputError(f"its columns differ in length: {lengths}")
    numeric = numeric_columns(names, zip(*columns, strict=True))
    return Table(
        names, lambda wanted: iter([Batch([columns[at] for at in wanted], lambda at: f"item {at + 1}")]), numeric
    )


FORMAT = TableFormat("json", lambda document: document.is_json, open_table)
