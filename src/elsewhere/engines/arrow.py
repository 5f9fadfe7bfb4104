"""Apache Arrow, which has no type stubs: its modules, aliases for its types, and conversions from and to NumPy.

`pa.array`, `pa.scalar` and `to_numpy` import pandas if it is installed, which takes half a second of processor time.
The functions here use buffers instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elsewhere.extras import load
from elsewhere.model.arrays import Flags

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
    """Arrow's module for tables of many files. It imports pandas, which takes a second, so it is loaded late.

    A command leaves pandas out (`extras.leave_out_unused`).
    """
    return import_module("pyarrow.dataset")


def to_numpy(numbers: Array) -> NDArray[Any]:
    """The numbers of an array or of a chunked column without nulls."""
    if not isinstance(numbers, pa.ChunkedArray):
        return np.from_dlpack(numbers)
    parts = [np.from_dlpack(chunk) for chunk in numbers.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, numbers.type.to_pandas_dtype())])


def from_numpy(values: NDArray[Any], missing: Flags | None = None) -> Array:
    """An array of numbers or flags, with nulls where they are missing."""
    kind, content = pa.from_numpy_dtype(values.dtype), _bits(values) if values.dtype == np.bool_ else values
    known = None if missing is None else pa.py_buffer(_bits(~missing))
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(np.ascontiguousarray(content))])


def _bits(flags: Flags) -> NDArray[np.uint8]:
    return np.packbits(flags, bitorder="little")


def from_texts(texts: Sequence[str | None]) -> Array:
    """An array of texts, with nulls for None. Each distinct text is encoded once."""
    number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    encoded = [(text or "").encode() for text in number]
    end = np.cumsum([0, *map(len, encoded)])
    assert end[-1] < 2**31, "more text than an array of Arrow's holds"
    known = _bits(np.array([text is not None for text in number], np.bool_))
    buffers = [pa.py_buffer(content) for content in (known, end.astype(np.int32), b"".join(encoded))]
    different = pa.Array.from_buffers(pa.string(), len(number), buffers)
    if len(number) == len(texts):
        return different
    return different.take(from_numpy(np.fromiter(map(number.__getitem__, texts), np.int32, len(texts))))
