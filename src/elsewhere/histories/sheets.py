"""Spreadsheets, .xlsx and .ods: the table on the first sheet. python-calamine reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any

from elsewhere.extras import load
from elsewhere.histories.columns import numeric_columns
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
    header = [str(value).strip() for value in numbered[0][1]]
    lines, rows = [line for line, _ in numbered[1:]], [row for _, row in numbered[1:]]

    def batches(wanted: list[int]) -> Iterator[Batch]:
        yield Batch([[_value(row[at]) for row in rows] for at in wanted], partial(_where, lines))

    yield Table(header, batches, numeric_columns(header, rows))


def _rows(document: Document) -> list[list[Any]]:
    """The cells of the first sheet; those that are empty are ""."""
    calamine = load("python_calamine", "spreadsheets need python-calamine, unless you save them as CSV", "sheets")
    with document.open() as file:
        content = file.read()
    try:
        rows: list[list[Any]] = calamine.load_workbook(BytesIO(content)).get_sheet_by_index(0).to_python()
    except Exception as error:  # it has many kinds of them, and each means that the file is broken
        raise InputError(f"it is not a valid spreadsheet ({one_line(error)})") from None
    return rows


def _value(value: Any) -> Any:
    """A cell. Spreadsheets know no whole numbers, but names and users may be some."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if value == "" else value


def _where(lines: list[int], at: int) -> str:
    return f"row {lines[at]}"


FORMAT = TableFormat("sheet", lambda document: document.head.startswith(ZIP), open_table)
