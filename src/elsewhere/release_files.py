"""The bytes of a release: positive counts by location, sorted by name, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from elsewhere.extras import load_parquet
from elsewhere.model.errors import InputError
from elsewhere.text import quote

Rows: TypeAlias = list[tuple[str, int]]


def encode(path: str | os.PathLike[str], counts: Iterable[tuple[str, int]]) -> bytes:
    """The content of a release for that path; standard output, "-", gets CSV.

    There are no rows with a count of 0, because they would reveal locations of the history.
    """
    return _ENCODERS[release_format(path)](sorted((location, count) for location, count in counts if count))


def release_format(path: str | os.PathLike[str]) -> str:
    """The suffix of a release's path, which decides the format."""
    ending = ".csv" if os.fspath(path) == "-" else Path(path).suffix.lower()
    if ending not in _ENCODERS:
        raise InputError(f"the path of a release is {quote(os.fspath(path))}; it must end in .csv, .json or .parquet")
    return ending


def _csv(rows: Rows) -> bytes:
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    # Before Python 3.13 a carriage return is not quoted, so a reader would see the end of a row.
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    plain.writerow(("location", "count"))
    for row in rows:
        (quoting if "\r" in row[0] else plain).writerow(row)
    return _utf8(text.getvalue())


def _json(rows: Rows) -> bytes:
    lines = (json.dumps({"location": location, "count": count}, ensure_ascii=False) for location, count in rows)
    return _utf8("[\n" + ",\n".join(lines) + "\n]\n")


def _parquet(rows: Rows) -> bytes:
    pa, pq = load_parquet()
    locations, counts = [location for location, _ in rows], [count for _, count in rows]
    _utf8("".join(locations))
    schema = pa.schema(
        [pa.field("location", pa.string(), nullable=False), pa.field("count", pa.int64(), nullable=False)]
    )
    table = pa.Table.from_arrays(
        [pa.array(locations, schema.field(0).type), pa.array(counts, schema.field(1).type)], schema=schema
    )
    content = io.BytesIO()
    # Without the Arrow schema and statistics, the file has nothing but the two columns.
    pq.write_table(table, content, store_schema=False, write_statistics=False)
    return content.getvalue()


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        odd = quote(text[error.start : error.end])
        raise InputError(f"a location has the character {odd}, which cannot be written to a file") from None


_ENCODERS = {".csv": _csv, ".json": _json, ".parquet": _parquet}
