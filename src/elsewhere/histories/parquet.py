"""Tables as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from elsewhere.extras import load_parquet
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import Batch, Table
from elsewhere.model.errors import InputError
from elsewhere.text import one_line

_BATCH = 1 << 16


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    arrow, parquet = load_parquet()
    try:
        with document.open() as source, parquet.ParquetFile(source) as file:
            schema = file.schema_arrow
            types = arrow.types
            tests = (types.is_integer, types.is_floating, types.is_decimal)
            numeric = [field.name for field in schema if any(test(field.type) for test in tests)]
            names = [leaf for field in schema for leaf in _leaves(field, types.is_struct)]
            yield Table(names, lambda wanted: _batches(file, [names[at] for at in wanted]), numeric)
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(f"it is not valid Parquet ({one_line(error)})") from None


FORMAT = TableFormat("parquet", lambda document: document.head.startswith(b"PAR1"), open_table)


def _leaves(field: Any, is_struct: Callable[[Any], bool]) -> list[str]:
    """The name of a column, or those of its parts, such as ``names.primary``."""
    if not is_struct(field.type):
        return [field.name]
    return [field.name, *(f"{field.name}.{part.name}" for part in field.type)]


def _batches(file: Any, names: list[str]) -> Iterator[Batch]:
    first = 1
    for batch in file.iter_batches(batch_size=_BATCH, columns=names):
        yield Batch([_column(batch, name).to_pylist() for name in names], partial(_where, first))
        first += batch.num_rows


def _column(batch: Any, name: str) -> Any:
    """A column, or a part of one."""
    if name in batch.schema.names:
        return batch.column(name)
    whole, _, part = name.partition(".")
    return import_module("pyarrow.compute").struct_field(batch.column(whole), part)


def _where(first: int, at: int) -> str:
    return f"row {first + at}"
