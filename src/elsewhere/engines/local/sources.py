"""The tables that a batch can read: files on any file system, or a table in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from elsewhere.engines.arrow import DataType, Schema, datasets, pa
from elsewhere.engines.request import TableLike
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

#: Files with more bytes than this have more than a few rows, because hardly any row is longer than a kilobyte.
_LARGE = 1 << 21


class File(NamedTuple):
    """A file of a table, and the marks that change with it."""

    path: str
    size: int
    modified: int


def are_large(files: Sequence[File]) -> bool:
    """Whether files have so many bytes that they have more than a few rows."""
    return sum(file.size for file in files) > _LARGE


@dataclass(frozen=True)
class Source:
    """A table that DuckDB can read. Its columns are identified by position, because names may occur twice."""

    #: Its name in messages.
    shown: str
    schema: Schema
    #: SQL, or an Arrow object.
    table: Any
    files: tuple[File, ...] = ()
    #: Returns the files in their current state.
    files_now: Callable[[], tuple[File, ...]] = tuple
    #: Whether the rows can be read only once.
    once: bool = False
    #: The columns with numbers.
    numeric: tuple[str, ...] = ()

    @property
    def is_native(self) -> bool:
        """Whether DuckDB reads it by itself, and so each column on its own, and knows the number of rows."""
        return isinstance(self.table, str)

    def check_unchanged(self) -> None:
        """Raise if a file has changed since it was read."""
        for before, now in zip(self.files, self.files_now(), strict=True):
            if before != now:
                raise InputError(f"{quote(before.path)} changed while it was read; start again with a new output")

    def attach(self, connection: Any, name: str) -> str:
        """Register the table in DuckDB, with the columns c0, c1 and so on; return its name in SQL."""
        if isinstance(self.table, str):
            connection.execute(f"CREATE TEMP VIEW {name} AS FROM {self.table}")
        elif self.once:
            connection.register(f"{name}_stream", self.table)
            connection.execute(f"CREATE TEMP TABLE {name} AS FROM {name}_stream")
            connection.unregister(f"{name}_stream")
        else:
            connection.register(name, self.table)
        return f"{name} AS t({', '.join(f'c{at}' for at in range(len(self.schema)))})"


def open_source(
    given: TableLike, argument: str, *, released: bool = False, when_large: Callable[[], None] | None = None
) -> Source:
    """The table that an argument of a batch names. The output of a batch is accepted only with `released`.

    `when_large` is called before large files are read.
    """
    if isinstance(given, str | os.PathLike):
        from elsewhere.engines.local.table_files import open_files

        return open_files(given, argument, released, when_large)
    try:
        table = _as_arrow(given)
    except Exception as error:  # any library's error is possible
        raise InputError(f"{argument} cannot be read as a table: {one_line(error)}", (argument,)) from None
    if table is None:
        kinds = "a path, an Arrow table, reader or dataset, or a data frame"
        raise InputError(f"{argument} is {quote(given)}; give {kinds}", (argument,))
    numeric = tuple(field.name for field in table.schema if is_number(field.type))
    once = isinstance(table, pa.RecordBatchReader)
    return Source(argument, table.schema, table, once=once, numeric=numeric)


def _as_arrow(given: TableLike) -> Any:
    """An Arrow table, a dataset or, for a stream, a reader; None for anything else."""
    if isinstance(given, pa.Table | datasets().Dataset | pa.RecordBatchReader):
        return given
    home = type(given).__module__.partition(".")[0]
    if home == "pandas" and hasattr(given, "columns"):
        return pa.Table.from_pandas(given, preserve_index=False)
    if home == "polars" and hasattr(given, "collect_batches"):
        frames: Iterator[Any] = iter(given.collect_batches())
        first = next(frames, None)
        if first is None:
            return given.collect().to_arrow()
        return _read_on(first.to_arrow(), frames)
    if home in ("duckdb", "_duckdb") and hasattr(given, "to_arrow_reader"):
        return given.to_arrow_reader()
    if hasattr(given, "__arrow_c_array__") or home == "polars":
        return pa.table(given)
    if hasattr(given, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(given)
    return None


def _read_on(first: Any, frames: Iterator[Any]) -> Any:
    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for frame in frames:
            yield from frame.to_arrow().cast(first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def plain_type(kind: DataType) -> DataType:
    """The type of the values without their encoding."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number(kind: DataType) -> bool:
    kind = plain_type(kind)
    return bool(pa.types.is_integer(kind) or is_fraction(kind))


def is_fraction(kind: DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_text(kind: DataType) -> bool:
    is_kind = pa.types
    return bool(is_kind.is_string(kind) or is_kind.is_large_string(kind) or is_kind.is_string_view(kind))


def is_bytes(kind: DataType) -> bool:
    is_kind = pa.types
    return bool(
        is_kind.is_binary(kind)
        or is_kind.is_large_binary(kind)
        or is_kind.is_binary_view(kind)
        or is_kind.is_fixed_size_binary(kind)
    )


def check_scalar(name: str, kind: DataType) -> None:
    """Raise unless a column has scalar values with a unique text form."""
    value = plain_type(kind)
    types = pa.types
    too_long = types.is_decimal256(value) and value.precision > 38  # DuckDB would round it
    scalar = is_text(value) or is_bytes(value) or is_number(value) or types.is_boolean(value) or types.is_date(value)
    if too_long or (not scalar and not types.is_null(value)):
        raise InputError(
            f"the column {quote(name)} is of type {kind}; give text, a number, a date or a boolean in its place"
        )
