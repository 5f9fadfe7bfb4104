"""Tables of files: Parquet, CSV or TSV, on this machine or in an object store."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import escape, glob
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from elsewhere.engines.arrow import Schema, datasets, pa, pa_csv, pa_fs, pq
from elsewhere.engines.listing import (
    SUCCESS,
    check_one_schema,
    earlier_release,
    one_kind,
    partition_names,
    table_files,
    unfinished,
)
from elsewhere.engines.local.quotes import check_quotes
from elsewhere.engines.local.sources import File, Source, are_large, is_number, is_text, plain_type
from elsewhere.engines.stores import Location, locate, store_errors
from elsewhere.histories.columns import SAMPLE, numeric_columns
from elsewhere.histories.delimited import guess_delimiter
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

#: Bytes of text that DuckDB and Arrow read at a time. No row may be longer.
_BLOCK = 1 << 22
#: Up to this many bytes of text are kept in memory, because each query would read and parse them again.
_FEW_BYTES = 1 << 25
#: Bytes of text that are read to find the header and the first rows.
_HEAD = 1 << 20
_WILD = re.compile(r"[*?[]")
_PART = re.compile(r"part-\d{5}\.parquet")


@dataclass(frozen=True)
class Found:
    """The files of a table: their folder, and the path of each file from there."""

    place: Location
    folder: str
    names: Sequence[str]
    infos: Sequence[Any]

    @property
    def paths(self) -> list[str]:
        return [info.path for info in self.infos]

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(File(self._address(info.path), info.size, info.mtime_ns or 0) for info in self.infos)

    def files_now(self) -> tuple[File, ...]:
        """The same files in their current state."""
        return replace(self, infos=self.place.filesystem.get_file_info(self.paths)).files

    @property
    def partitions(self) -> list[list[str]]:
        """For each file, the columns whose values are in its folder names."""
        return [partition_names(name) for name in self.names]

    def shown(self, path: str) -> str:
        """A file as the caller would write it."""
        if self.place.is_local and not Path(self.place.shown).is_absolute():
            return os.path.relpath(path)
        return self._address(path)

    def _address(self, path: str) -> str:
        return path if self.place.is_local else f"{self.place.shown.partition('://')[0]}://{path}"


def open_files(
    given: str | os.PathLike[str],
    argument: str,
    released: bool = False,
    when_large: Callable[[], None] | None = None,
) -> Source:
    """The table at a path or an address: a file, a folder or a pattern. `released` says whether a batch wrote it.

    `when_large` is called before files are read that certainly have many rows.
    """
    place = locate(given, argument)
    with store_errors(place.shown):
        found = _find(place)
        if released:
            _check_finished(place)
    if when_large is not None and are_large(found.files):
        when_large()
    return _parquet(found, released) if one_kind(place.shown, found.names) == "parquet" else _text(found)


def _check_finished(place: Location) -> None:
    """Raise if a folder of releases lacks the file that a batch writes last."""
    folder, success = place.filesystem.get_file_info([place.path, f"{place.path}/{SUCCESS}"])
    if folder.type == pa_fs.FileType.Directory and success.type == pa_fs.FileType.NotFound:
        raise unfinished(place.shown)


def _find(place: Location) -> Found:
    path = os.path.abspath(place.path) if place.is_local else place.path  # noqa: PTH100 (keeps links)
    info = place.filesystem.get_file_info(path)
    if info.type == pa_fs.FileType.File:
        folder, _, name = path.rpartition("/")
        return Found(place, folder, [name], [info])
    if info.type == pa_fs.FileType.Directory:
        return _below(place, path, _listed(place, path))
    wild = _WILD.search(path)
    if wild is None:
        raise InputError(f"there is no file at {quote(place.shown)}")
    folder = path[: wild.start()].rpartition("/")[0]
    return _below(place, folder, _matching(place, path, folder))


def _below(place: Location, folder: str, infos: Sequence[Any]) -> Found:
    by_name = {info.path[len(folder) + 1 :]: info for info in infos}
    names = table_files(place.shown, by_name)
    if place.is_local:  # links may lead to one file by several paths
        names = [*{os.path.realpath(by_name[name].path): name for name in reversed(names)}.values()][::-1]
    return Found(place, folder, names, [by_name[name] for name in names])


def _listed(place: Location, folder: str) -> list[Any]:
    found = place.filesystem.get_file_info(pa_fs.FileSelector(folder, allow_not_found=True, recursive=True))
    broken = (path for path in Path(folder).rglob("*") if path.is_symlink() and not path.exists())
    for path in broken if place.is_local else ():  # Arrow skips broken links
        raise InputError(f"{quote(str(path))} is a link that leads nowhere")
    return [info for info in found if info.type == pa_fs.FileType.File]


def _matching(place: Location, pattern: str, folder: str) -> list[Any]:
    """The files whose names match, and the files below folders whose names match."""
    if place.is_local:
        found = place.filesystem.get_file_info(glob(pattern, recursive=True))  # noqa: PTH207 (of any path)
        folders = [info.path for info in found if info.type == pa_fs.FileType.Directory]
        below = [info for each in folders for info in _listed(place, each)]
        files = [info for info in found if info.type == pa_fs.FileType.File]
        return [*{info.path: info for info in (*files, *below)}.values()]
    wanted = re.compile(f"{_regular(pattern)}(/.*)?")
    return [info for info in _listed(place, folder) if wanted.fullmatch(info.path)]


def _regular(pattern: str) -> str:
    """A pattern of paths as a regular expression: only ** crosses slashes."""
    parts = re.split(r"(\*\*/?|\*|\?|\[[^]]+\])", pattern)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        wild.get(part) or (part.replace("[!", "[^") if at % 2 else re.escape(part)) for at, part in enumerate(parts)
    )


def _parquet(found: Found, released: bool) -> Source:
    schemas = []
    for name, path in zip(found.names, found.paths, strict=True):
        with _reading(found.shown(path)), found.place.filesystem.open_input_file(path) as file:
            parquet = pq.ParquetFile(file)
            if not released and _PART.fullmatch(Path(name).name) and _is_release(parquet):
                raise earlier_release(found.place.shown)
            schemas.append(parquet.schema_arrow.remove_metadata())
    schema, same = _one_schema(found, schemas)
    numeric = tuple(field.name for field in schema if is_number(field.type))
    # DuckDB would also read columns from folders above the input, and treat a backslash as an escape.
    if found.place.is_local and not found.partitions[0] and not any("\\" in path for path in found.paths):
        listed = ", ".join(literal(escape(path)) for path in found.paths)
        table: Any = f"read_parquet([{listed}], hive_partitioning = false, union_by_name = {str(not same).lower()})"
    else:
        table = _dataset(found, datasets().ParquetFileFormat(), schema)
    return Source(found.place.shown, schema, table, found.files, found.files_now, numeric=numeric)


def _is_release(parquet: Any) -> bool:
    """Whether a batch wrote this part. Other programs write metadata and statistics, which a release does not have."""
    metadata = parquet.metadata
    if parquet.schema_arrow.names[-2:] != ["location", "count"] or metadata.metadata or not metadata.num_row_groups:
        return False
    group = metadata.row_group(0)
    return not any(group.column(at).is_stats_set for at in range(group.num_columns))


def _one_schema(found: Found, schemas: Sequence[Schema]) -> tuple[Schema, bool]:
    """The columns of all files, those of their folders last, and whether their types agree."""
    shown = [found.shown(path) for path in found.paths]
    names = [[*schema.names, *more] for schema, more in zip(schemas, found.partitions, strict=True)]
    check_one_schema(zip(shown, names, strict=True))
    _check_partitions(found, schemas[0].names)
    for file, schema in zip(shown, schemas, strict=True):
        for one, other in zip(schemas[0], schema, strict=True):
            if _kind(one.type) != _kind(other.type):
                types = f"{one.type} in {quote(shown[0])} and {other.type} in {quote(file)}"
                raise InputError(f"two files disagree on the column {quote(one.name)}: it is {types}")
    schema = schemas[0]
    if any(other != schema for other in schemas):
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    for name in found.partitions[0]:
        schema = schema.append(pa.field(name, pa.string()))
    return schema, all(other == schemas[0] for other in schemas)


def _check_partitions(found: Found, columns: Sequence[str]) -> None:
    """Raise if a folder name has a column that the file or another folder also has."""
    for at, name in enumerate(found.partitions[0]):
        if name in (*columns, *found.partitions[0][:at]):
            told = f"the column {quote(name)} is both in the files and in the names of their folders"
            raise InputError(f"{told}: {quote(found.shown(found.paths[0]))}")


def _kind(type_: Any) -> str:
    """The kind of type that columns of one name must share: numbers of different widths agree."""
    kind = plain_type(type_)
    if is_text(kind):
        return "text"
    if pa.types.is_unsigned_integer(kind):
        return "unsigned integer"
    return "integer" if pa.types.is_integer(kind) else str(kind)


def _dataset(found: Found, file_format: Any, schema: Schema) -> Any:
    partitions = pa.schema([(name, pa.string()) for name in found.partitions[0]])
    return datasets().dataset(
        found.paths, schema, file_format, filesystem=found.place.filesystem,
        partitioning=datasets().partitioning(partitions, flavor="hive") if len(partitions) else None,
        partition_base_dir=found.folder,
    )  # fmt: skip


class _Head(NamedTuple):
    """The beginning of a text table: its delimiter, its header, the number of rows before it, and some rows."""

    delimiter: str
    header: list[str]
    skipped: int
    rows: list[list[str]]


def _text(found: Found) -> Source:
    heads = [_head(found, path) for path in found.paths]
    shown, size = [found.shown(path) for path in found.paths], 0
    for head, path, file in zip(heads, found.paths, shown, strict=True):
        with _reading(file), found.place.filesystem.open_input_stream(path) as stream:
            size += check_quotes(stream, head.delimiter, file)
    names = [[*head.header, *more] for head, more in zip(heads, found.partitions, strict=True)]
    check_one_schema(zip(shown, names, strict=True))
    _check_partitions(found, heads[0].header)
    for head, file in zip(heads, shown, strict=True):
        if (head.delimiter, head.skipped) != (heads[0].delimiter, heads[0].skipped):
            raise InputError(
                f"two files have different delimiters or byte order marks: {quote(shown[0])} and {quote(file)}"
            )
    columns = [f"c{at}" for at in range(len(heads[0].header))]
    # Only the delimiter is guessed: a guessed quote, escape or comment character would change values.
    file_format = datasets().CsvFileFormat(
        pa_csv.ParseOptions(delimiter=heads[0].delimiter, newlines_in_values=True),
        read_options=pa_csv.ReadOptions(column_names=columns, skip_rows_after_names=heads[0].skipped,
                                        block_size=_BLOCK),
        convert_options=pa_csv.ConvertOptions(column_types={name: pa.string() for name in columns},
                                              strings_can_be_null=False),
    )  # fmt: skip
    read = pa.schema([(name, pa.string()) for name in [*columns, *found.partitions[0]]])
    schema = pa.schema([(name, pa.string()) for name in names[0]])
    numeric = tuple(numeric_columns(heads[0].header, heads[0].rows))
    table = _dataset(found, file_format, read)
    if size <= _FEW_BYTES:
        with _readable():
            table = table.to_table()
    return Source(found.place.shown, schema, table, found.files, found.files_now, numeric=numeric)


def _head(found: Found, path: str) -> _Head:
    shown = found.shown(path)
    with _reading(shown), found.place.filesystem.open_input_stream(path) as stream:
        content = stream.read(_HEAD)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(content, final=len(content) < _HEAD)
    except UnicodeDecodeError:
        raise InputError(f"{quote(shown)} is not UTF-8 text; convert it first") from None
    delimiter = "\t" if one_kind(shown, [path]) == "tsv" else guess_delimiter(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    skipped, sample = 0, list[list[str]]()
    with suppress(csv.Error, StopIteration):  # a truncated row or a long value ends the sample
        while not any(map(str.strip, header)):
            header = next(rows)
            skipped += 1
        sample.extend(islice((row for row in rows if row), SAMPLE))
    if not any(map(str.strip, header)):
        raise InputError(f"{quote(shown)} has no header line with the names of its columns")
    return _Head(delimiter, header, skipped, sample)


@contextmanager
def _readable() -> Iterator[None]:
    """Turn Arrow's errors about the rows of a table into one sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise unreadable(str(error)) from None


def unreadable(cause: str) -> InputError:
    """The error for rows that cannot be read. Arrow and DuckDB say before the cause what each was doing."""
    cause = cause.rpartition("Invalid: ")[2].removeprefix("Invalid Input Error: ")
    return InputError(f"the table cannot be read: {one_line(cause)}")


@contextmanager
def _reading(shown: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"the table cannot be read: {quote(shown)}: {one_line(str(error))}") from None


def literal(text: str) -> str:
    """The text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
