"""The Foursquare check-ins of the TSMC2014 research files: eight columns between tabs, without their names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager

from elsewhere.histories.delimited import batches, chunks_of
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import Table

_COLUMNS = ["user", "venue_id", "category_id", "category", "latitude", "longitude", "offset", "time"]

_NUMBER = rb"-?[\d.]+(?:[eE]-?\d+)?"
_FIRST_LINE = re.compile(rb"(?:[^\t\r\n]+\t){4}" + _NUMBER + rb"\t" + _NUMBER + rb"\t-?\d+\t[^\t\r\n]+\r?(?:\n|$)")


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    with document.text() as text:
        rows = csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
        yield Table(_COLUMNS, lambda wanted: batches(chunks_of(rows), len(_COLUMNS), wanted), notes=document.notes)


FORMAT = TableFormat(
    "foursquare",
    lambda document: bool(_FIRST_LINE.match(document.head)),
    open_table,
    {"category": "category", "id": "venue_id"},
)
