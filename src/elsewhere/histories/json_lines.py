"""Tables as JSON Lines: one object per line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import IO, Any

from elsewhere.histories.columns import SAMPLE, numeric_columns
from elsewhere.histories.documents import Document
from elsewhere.histories.json_text import parse_json
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import Batch, Table
from elsewhere.model.errors import InputError
from elsewhere.text import quote

_BATCH = 1 << 14


def _recognises(document: Document) -> bool:
    first, _, rest = document.beginning.partition(b"\n")
    if not (document.is_json and rest.lstrip().startswith(b"{")):
        return False
    try:
        return isinstance(parse_json(first), dict)
    except InputError:
        return False


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    with document.text() as text:
        rows = _rows(text)
        first = list(islice(rows, SAMPLE))
        if not first:
            raise InputError("it has no line with an object")
        names = list(dict.fromkeys(chain.from_iterable(row for _, row in first)))
        numeric = numeric_columns(names, [[row.get(name) for name in names] for _, row in first])
        yield Table(
            names, lambda wanted: _batches(chain(first, rows), [names[at] for at in wanted]), numeric, document.notes
        )


FORMAT = TableFormat("jsonl", _recognises, open_table)


def _rows(text: IO[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with the numbers of their lines; blank lines are skipped."""
    for line, content in enumerate(text, 1):
        if not content.strip():
            continue
        try:
            row = parse_json(content)
        except InputError as error:
            raise InputError(f"line {line}: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"line {line} is {quote(row)}, which is not an object")
        yield line, row


def _batches(rows: Iterator[tuple[int, dict[str, Any]]], names: list[str]) -> Iterator[Batch]:
    while chunk := list(islice(rows, _BATCH)):
        yield Batch([[row.get(name) for _, row in chunk] for name in names], partial(_where, chunk))


def _where(chunk: list[tuple[int, dict[str, Any]]], at: int) -> str:
    return f"line {chunk[at][0]}"
