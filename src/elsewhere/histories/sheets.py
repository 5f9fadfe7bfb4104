"""Spreadsheets, .xlsx and .ods: the table on the first sheet. python-calamine reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any

from elsewhere.extras import load
from elsewhere.histories.columns import SAMPLE, names_without_header, numeric_columns, without_header_note
from elsewhere.histories.documents import ZIP, Document
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import Batch, Table
from elsewhere.model.errors import InputError
from elsewhere.text import one_line


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    numbered = [(line, row) for line, row in enumerate(_rows(document), 1) if any(value != "" for value in row)]
    if not numbered:
        raise InputError("its first sheet is empty")
    lines, rows = [line for line, _ in numbered], [[_value(value) for value in row] for _, row in numbered]
    header, *texts = ([_text(value) for value in row] for row in rows[: SAMPLE + 1])
    notes = []
    if names := names_without_header(header, texts):
        header, notes = names, [without_header_note(names)]
    else:
        lines, rows = lines[1:], rows[1:]

    def batches(wanted: list[int]) -> Iterator[Batch]:
        yield Batch([[row[at] for row in rows] for at in wanted], partial(_where, lines))

    yield Table(header, batches, numeric_columns(header, rows), notes)


def _rows(document: Document) -> list[list[Any]]:
    """The cells of the first sheet; empty cells are ""."""
    calamine = load("python_calamine", "spreadsheets need python-calamine, unless you save them as CSV", "sheets")
    with document.open() as file:
        content = file.read()
    try:
        rows: list[list[Any]] = calamine.load_workbook(BytesIO(content)).get_sheet_by_index(0).to_python()
    except Exception as error:  # the library has many error types, and each means that the file is broken
        raise InputError(f"it is not a valid spreadsheet ({one_line(error)})") from None
    return rows


def _value(value: Any) -> Any:
    """A cell. Spreadsheets have no integers, but names and users may be integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if value == "" else value


def _text(value: Any) -> str:
    """A cell of a line that may be the header."""
    return "" if value is None else str(value).strip()


def _where(lines: list[int], at: int) -> str:
    return f"row {lines[at]}"


FORMAT = TableFormat("sheet", lambda document: document.head.startswith(ZIP), open_table)
