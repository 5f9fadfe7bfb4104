"""Tables as text: perhaps a line of column names, then lines of values between commas, tabs, semicolons or bars."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Protocol, TypeAlias

from elsewhere.histories.columns import (
    coordinate_columns,
    names_without_header,
    numeric_columns,
    tell_position,
    without_header_note,
)
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import Batch, Table
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, plural, quote

#: Rows in a batch: enough to keep the loops in C, few enough for the processor's cache.
_BATCH = 1 << 9

_LINE_END = re.compile(r"\r\n|\r|\n")


#: Some rows, and the number of the line before them.
Chunk: TypeAlias = tuple[int, list[list[str]]]


class Rows(Protocol):
    """The interface of a csv reader."""

    @property
    def line_num(self) -> int: ...

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def recognises(document: Document) -> bool:
    """Any text may be a table; the column names decide later."""
    return b"\0" not in document.head or document.is_utf16


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    with document.text() as text:
        head = codecs.getincrementaldecoder(document.encoding)().decode(document.head)
        rows = csv.reader(text, delimiter=guess_delimiter(head), strict=True)
        header = _first(rows)
        if not header:
            raise InputError("it has no header line with the names of its columns")
        begin, chunks, notes = rows.line_num, chunks_of(rows), document.notes
        first = next(chunks, (begin, []))
        if names := names_without_header(header, first[1]):
            header, first = names, (max(begin - 1, 0), [header, *first[1]])
            notes = [*notes, without_header_note(names)]
        numeric = numeric_columns(header, first[1])
        quoted = coordinate_columns(header) is None and not tell_position(header)
        yield Table(header, lambda wanted: batches(chain([first], chunks), len(header), wanted, quoted), numeric, notes)


def batches(chunks: Iterable[Chunk], width: int, wanted: list[int], quoted: bool = True) -> Iterator[Batch]:
    """The wanted columns of rows that have `width` values each; blank lines are skipped.

    Rows with positions are not `quoted` in messages.
    """
    for line, chunk in chunks:
        where = partial(_line, chunk, line)
        whole = chunk if all(chunk) else [row for row in chunk if row]
        if set(map(len, whole)) - {width}:
            at, row = next((at, row) for at, row in enumerate(whole) if len(row) != width)
            told = f"{where(at)} has {plural(len(row), 'value')}, but the table has {plural(width, 'column')}"
            raise InputError(f"{told}: {quote(row)}" if quoted else told)
        yield Batch([list(map(itemgetter(at), whole)) for at in wanted], where)


def chunks_of(rows: Rows) -> Iterator[Chunk]:
    """The rows in chunks."""
    while True:
        line = rows.line_num
        try:
            chunk = list(islice(rows, _BATCH))
        except csv.Error as error:
            raise InputError(f"line {rows.line_num} cannot be read ({one_line(error)})") from None
        if not chunk:
            return
        yield line, chunk


def guess_delimiter(head: str) -> str:
    """The delimiter that splits the line of column names into most pieces."""
    pieces = {}
    for delimiter in "\t;|,":
        try:
            pieces[delimiter] = len(_first(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter, strict=True)))
        except InputError:
            pieces[delimiter] = 0
    best = max(pieces, key=pieces.__getitem__)
    return best if pieces[best] > 1 else ","


FORMAT = TableFormat("csv", recognises, open_table)


def _first(rows: Rows) -> list[str]:
    """The first row that is not blank."""
    try:
        return next((row for row in rows if any(map(str.strip, row))), [])
    except csv.Error as error:
        raise InputError(f"line {rows.line_num} cannot be read ({one_line(error)})") from None


def _line(chunk: list[list[str]], before: int, at: int) -> str:
    """The number of the line on which row `at` of the chunk ends, not counting blank rows."""
    line = before
    for row in chunk:
        line += 1 + sum(len(_LINE_END.findall(value)) for value in row)
        at -= bool(row)
        if at < 0:
            break
    return f"line {line}"
