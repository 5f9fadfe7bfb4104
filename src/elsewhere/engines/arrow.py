"""Apache Arrow, which has no type stubs: its modules, and aliases for its types."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from elsewhere.extras import load

pa: Any = load("pyarrow", "tables of many users need pyarrow", "batch")
pc: Any = import_module("pyarrow.compute")
pa_csv: Any = import_module("pyarrow.csv")
pa_fs: Any = import_module("pyarrow.fs")
pq: Any = import_module("pyarrow.parquet")

Array: TypeAlias = Any
Batch: TypeAlias = Any
Table: TypeAlias = Any
Schema: TypeAlias = Any
DataType: TypeAlias = Any
Field: TypeAlias = Any
FileSystem: TypeAlias = Any


def datasets() -> Any:
    """Arrow's module for tables of many files. It imports pandas, which takes a second, so it is loaded late."""
    return import_module("pyarrow.dataset")
