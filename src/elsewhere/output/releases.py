"""Releases on the disk: positive counts by location, sorted by name, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.text import quote


def release_form(path: str | os.PathLike[str]) -> Callable[[Histogram], bytes]:
    """How a release at that path is put into bytes; standard output, "-", gets CSV."""
    ending = ".csv" if os.fspath(path) == "-" else Path(path).suffix.lower()
    if ending not in _FORMS:
        raise InputError(f"a release's path ends in {', '.join(_FORMS)}; {quote(os.fspath(path))} does not")
    return _FORMS[ending]


def _rows(histogram: Histogram) -> list[tuple[str, int]]:
    """Location and count. A row with a count of 0 would tell that the location is one of the history."""
    return [(location, count) for location, count in histogram.items() if count]


def _csv(histogram: Histogram) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("location", "count"))
    writer.writerows(_rows(histogram))
    return _encoded(text.getvalue())


def _json(histogram: Histogram) -> bytes:
    rows = (
        json.dumps({"location": location, "count": count}, ensure_ascii=False) for location, count in _rows(histogram)
    )
    return _encoded("[\n" + ",\n".join(rows) + "\n]\n")


def _parquet(histogram: Histogram) -> bytes:
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")  # heavy, and seldom needed
    _encoded("".join(histogram))
    rows = _rows(histogram)
    schema = pa.schema(
        [pa.field("location", pa.string(), nullable=False), pa.field("count", pa.int64(), nullable=False)]
    )
    columns = [[location for location, _ in rows], [count for _, count in rows]]
    table = pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )
    content = io.BytesIO()
    # Without the Arrow schema and statistics there is nothing in the file but the two columns.
    pq.write_table(table, content, store_schema=False, write_statistics=False)
    return content.getvalue()


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        odd = quote(text[error.start : error.end])
        raise InputError(f"a location has the character {odd}, which no file can hold") from None


_FORMS = {".csv": _csv, ".json": _json, ".parquet": _parquet}
