"""Tables as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TableFormat
from elsewhere.histories.tables import Batch, Table
from elsewhere.model.errors import InputError
from elsewhere.text import one_line

_BATCH = 1 << 16


@contextmanager
def open_table(document: Document) -> Iterator[Table]:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")  # heavy, and seldom needed
    try:
        with document.open() as source, parquet.ParquetFile(source) as file:
            schema = file.schema_arrow
            types = arrow.types
            tests = (types.is_integer, types.is_floating, types.is_decimal)
            numeric = [field.name for field in schema if any(test(field.type) for test in tests)]
            yield Table(schema.names, lambda wanted: _batches(file, [schema.names[at] for at in wanted]), numeric)
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(f"it is not valid Parquet ({one_line(error)})") from None


FORMAT = TableFormat("parquet", lambda document: document.head.startswith(b"PAR1"), open_table)


def _batches(file: Any, names: list[str]) -> Iterator[Batch]:
    first = 1
    for batch in file.iter_batches(batch_size=_BATCH, columns=names):
        yield Batch([batch.column(name).to_pylist() for name in names], partial(_where, first))
        first += batch.num_rows


def _where(first: int, at: int) -> str:
    return f"row {first + at}"
