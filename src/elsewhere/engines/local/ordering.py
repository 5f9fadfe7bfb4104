"""Sort rows by bucket, a small number. Rows that do not fit into memory wait in a temporary file.

DuckDB could sort them, too, but takes about twice as long: it compares rows, although counting is enough.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np

from elsewhere.engines.arrow import Batch, from_numpy, pa, to_numpy
from elsewhere.engines.local.spilling import no_room
from elsewhere.model.arrays import Ints

#: Rows that are sorted together: few enough for the cache of a processor.
RUN_ROWS = 1 << 17
#: Rows of a run that are read together, on average: enough that finding them takes no longer than sorting them.
_SLICE_ROWS = 1 << 7
#: Rows that are read between two releases of the file's pages, which would otherwise all count as memory in the end.
_MAPPED_ROWS = 1 << 20
#: The first bucket of each range. Whole ranges are read together.
_RANGES = np.arange(0, (1 << 16) + 1, 64)


class Room(NamedTuple):
    """Where rows may wait: some bytes of them in memory, and the others in a folder."""

    memory: int
    folder: Path


def by_bucket(batches: Iterable[Batch], bucket: str, room: Room) -> Iterator[Batch]:
    """The rows in the order of the column `bucket`, which has numbers of 16 bits."""
    with TemporaryFile(dir=room.folder) as file:
        runs = _Runs(file, room.memory)
        for batch in batches:
            run = _sorted(batch, bucket)
            runs.add(run, np.searchsorted(to_numpy(run.column(bucket)), _RANGES))
        for rows in runs.ranges():
            yield _sorted(rows, bucket)


def _sorted(batch: Batch, bucket: str) -> Batch:
    return batch.take(from_numpy(np.argsort(to_numpy(batch.column(bucket)), kind="stable")))


class _Runs:
    """Sorted batches, and where each range of buckets begins in them. The first are in memory, the others in a file."""

    def __init__(self, file: IO[bytes], memory: int) -> None:
        self._file, self._memory = file, memory
        self._writer: Any = None
        self._kept: list[Batch] = []
        self._starts: list[Ints] = []
        #: The number of rows before each range.
        self._before = np.zeros(len(_RANGES), np.int64)
        self._bytes = 0

    def add(self, run: Batch, starts: Ints) -> None:
        self._starts.append(starts.astype(np.int32))
        self._before += starts
        self._bytes += run.nbytes
        if self._bytes <= self._memory:
            self._kept.append(run)
            return
        try:
            self._writer = self._writer or pa.ipc.new_stream(self._file, run.schema)
            self._writer.write(run)
        except OSError:
            raise no_room() from None

    def ranges(self) -> Iterator[Batch]:
        """The rows of some ranges of buckets at a time, in the order of the ranges."""
        mapped = self._mapped()
        runs = self._kept if mapped is None else [*self._kept, *pa.ipc.open_stream(pa.py_buffer(mapped))]
        before, most = self._before, max(RUN_ROWS, _SLICE_ROWS * len(runs))
        first, read = 0, 0
        while before[first] < before[-1]:
            last = min(int(np.searchsorted(before, before[first] + most)), len(before) - 1)
            yield pa.concat_batches(
                [run.slice(at[first], at[last] - at[first]) for run, at in zip(runs, self._starts, strict=True)]
            )
            read += before[last] - before[first]
            if mapped is not None and read >= _MAPPED_ROWS and hasattr(mapped, "madvise"):  # not on Windows
                mapped.madvise(mmap.MADV_DONTNEED)
                read = 0
            first = last

    def _mapped(self) -> mmap.mmap | None:
        """The content of the file; None if nothing was written."""
        if self._writer is None:
            return None
        try:
            self._writer.close()
            self._file.flush()
        except OSError:
            raise no_room() from None
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
