"""Check a release file: it must have what a release may have, and not a byte more."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from elsewhere.extras import load_parquet
from elsewhere.files import read_bounded
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.release_files import encode, release_format
from elsewhere.text import name_list, one_line, quote

#: The most bytes of a release.
_MOST_BYTES = 2**32
_COLUMNS = ["location", "count"]
_MAGIC = b"PAR1"
#: Arrow's name in the files that it writes.
_WRITER = re.compile(r"parquet-cpp-arrow version \d+\.\d+\.\d+")


class ReleaseFile(NamedTuple):
    """The histogram in a release file, and one sentence per problem with the file."""

    histogram: Histogram
    problems: list[str]


def read_release(path: str | os.PathLike[str]) -> ReleaseFile:
    """The release in a file; ``"-"`` is standard input."""
    release_format(path)  # refuse a file name that no release can have before reading anything
    try:
        content = _content(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{quote(os.fspath(path))} is not a release: {one_line(error)}") from None
    return parse_release(path, content)


def parse_release(path: str | os.PathLike[str], content: bytes) -> ReleaseFile:
    """The release in the `content` of the file `path`."""
    form = release_format(path)
    try:
        columns, rows, problems = _READERS[form](content)
        if not columns:
            raise InputError("it is empty")
        if columns[:2] != _COLUMNS:
            raise InputError(f"its columns are {name_list(columns)} instead of 'location', 'count'")
        histogram = Histogram([(location, _count(location, count)) for location, count in rows])
    except (InputError, ValueError, RecursionError, csv.Error) as error:
        raise InputError(f"{quote(os.fspath(path))} is not a release: {one_line(error)}") from None
    problems = [*problems, *_problems(columns, rows)]
    # Arrow's bytes differ between versions, so they are not compared; everything that a file may hide was checked.
    if not problems and form != ".parquet" and encode(path, histogram.items()) != content:
        problems.append("the file's bytes differ from those of a release; check quotes, blanks, line ends and encoding")
    return ReleaseFile(histogram, problems)


def _content(path: str | os.PathLike[str]) -> bytes:
    if os.fspath(path) != "-":
        return read_bounded(Path(path), _MOST_BYTES)
    return sys.stdin.buffer.read(_MOST_BYTES)


def _problems(columns: list[str], rows: list[tuple[Any, Any]]) -> Iterable[str]:
    if len(columns) > 2:
        yield f"the file has more columns than location and count: {name_list(columns[2:])}"
    empty = [location for location, count in rows if _count(location, count) == 0]
    if empty:
        yield f"the file has a count of 0, which reveals that the place is in the history: {name_list(empty, 5)}"
    for before, after in pairwise(location for location, _ in rows):
        if before > after:
            yield f"the rows are not sorted by location: {quote(after)} comes after {quote(before)}"
            return


def _count(location: Any, count: Any) -> int:
    if isinstance(count, str) and count.isascii() and count.isdigit():
        return int(count)
    if type(count) is not int or count < 0:
        raise InputError(
            f"the count of {quote(location)} is {quote(count)}; it must be a whole number that is not negative"
        )
    return count


def _read_csv(content: bytes) -> tuple[list[str], list[tuple[Any, Any]], list[str]]:
    lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))
    header = lines[0] if lines else []
    rows = []
    for line in filter(None, lines[1:]):
        if len(line) != len(header):
            raise InputError(f"a row has {len(line)} values instead of {len(header)}: {quote(line)}")
        rows.append((line[0], line[1]))
    return header, rows, []


def _read_json(content: bytes) -> tuple[list[str], list[tuple[Any, Any]], list[str]]:
    items = json.loads(content.decode("utf-8-sig"))
    if not isinstance(items, list) or not all(isinstance(item, dict) and item.keys() >= {*_COLUMNS} for item in items):
        raise InputError("it is not a list of objects with the keys 'location' and 'count'")
    others = list(dict.fromkeys(key for item in items for key in item if key not in _COLUMNS))
    return [*_COLUMNS, *others], [(item["location"], item["count"]) for item in items], []


def _read_parquet(content: bytes) -> tuple[list[str], list[tuple[Any, Any]], list[str]]:
    arrow, parquet = load_parquet()
    try:
        with parquet.ParquetFile(io.BytesIO(content), read_dictionary=["location"]) as file:
            table, metadata = file.read(), file.metadata
    except (arrow.ArrowException, OSError, KeyError) as error:
        raise InputError(f"it is not Parquet with locations and counts ({one_line(error)})") from None
    problems = _hidden_bytes(content, metadata)
    if metadata.metadata:
        keys = sorted(key.decode("utf-8", "replace") for key in metadata.metadata)
        problems.append(f"the file has metadata: {name_list(keys)}")
    chunks = [metadata.row_group(at).column(column) for at in range(metadata.num_row_groups)
              for column in range(metadata.num_columns)]  # fmt: skip
    if any(chunk.is_stats_set for chunk in chunks):
        problems.append("the file has statistics about its columns")
    names: list[str] = table.column_names
    if names[:2] != _COLUMNS:
        return names, [], problems
    location = table.column("location")
    for chunk in location.chunks if arrow.types.is_dictionary(location.type) else ():
        unused = set(chunk.dictionary.to_pylist()).difference(chunk.to_pylist())
        if unused:
            problems.append(f"the file has names that are in no row: {name_list(sorted(unused), 5)}")
    return names, list(zip(location.to_pylist(), table.column("count").to_pylist(), strict=True)), problems


def _hidden_bytes(content: bytes, metadata: Any) -> list[str]:
    """Check for hidden content in a Parquet file: bytes outside its columns, and an unknown writer."""
    problems = []
    if not _WRITER.fullmatch(metadata.created_by or ""):
        problems.append(f"the file was written by {quote(metadata.created_by)}, not by elsewhere")
    end = len(_MAGIC)
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            first = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            if first != end:
                problems.append("the file has bytes that belong to no column")
                return problems
            end = first + chunk.total_compressed_size
    footer = int.from_bytes(content[-len(_MAGIC) - 4 : -len(_MAGIC)], "little")
    if end + footer + 4 + len(_MAGIC) != len(content):
        problems.append("the file has bytes that belong to no column")
    return problems


_READERS = {".csv": _read_csv, ".json": _read_json, ".parquet": _read_parquet}
