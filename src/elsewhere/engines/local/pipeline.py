"""From grouped rows to parts: workers sanitize the users of some rows at a time, and results are written in order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from elsewhere.engines.arrow import Array, Batch, Table, pa, pc, to_numpy
from elsewhere.engines.columns import about_personal, about_since, bad_row
from elsewhere.engines.hiding import hides_at_once
from elsewhere.engines.local import grouping
from elsewhere.engines.local.folder import Checkpoint, Output
from elsewhere.engines.local.grouping import (
    BAD,
    BLOCK,
    BUCKET,
    NUMBER,
    Choices,
    Locations,
    Rows,
    block_bits,
    grouped,
    missing_continued,
    missing_users,
    number_of_users,
    sentences,
)
from elsewhere.engines.local.ordering import Room
from elsewhere.engines.local.workers import Workers, workers
from elsewhere.engines.names import check_corrected, check_found, check_named, check_target, compared_by_name
from elsewhere.engines.rows import whole_users
from elsewhere.engines.shared import BLOCK_USERS
from elsewhere.engines.targeting import on_arrays
from elsewhere.engines.users import EARLIER
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.text import quote

#: Rows per part, by default.
PART_ROWS = 1 << 20
#: Rows that a worker gets at a time. Single users take long if they need a search.
_PLAIN_ROWS, _TARGETED_ROWS, _SEARCHED_ROWS = 1 << 17, 1 << 14, 1 << 10
#: Seconds after which results that are not enough for a part are stored in a checkpoint.
_CHECKPOINT_SECONDS = 5.0


@dataclass
class Progress:
    """The progress of a batch, for display."""

    users: int = 0
    released: int = 0
    skipped_rows: int = 0
    #: Seconds of all runs up to the last part.
    seconds: float = 0.0
    #: The approximate number of all users.
    expected: int | None = None

    def totals(self) -> dict[str, Any]:
        figures = ("users", "released", "skipped_rows", "seconds")
        return {name: getattr(self, name) for name in figures}


@dataclass(frozen=True)
class Job:
    """The input of a batch, and its settings."""

    plan: Plan
    rows: Rows
    personal: Choices | None
    on_error: Literal["stop", "skip"]
    allow_unchanged: bool
    threads: int
    part_rows: int
    #: Whether there are only a few rows.
    few: bool
    #: Releases of an earlier batch.
    since: Rows | None = None

    @property
    def hides_at_once(self) -> bool:
        return hides_at_once(self.plan.policy)

    @property
    def chunk_rows(self) -> int:
        """The number of rows that a worker gets at a time."""
        at_once = _TARGETED_ROWS if on_arrays(self.plan.policy) else _SEARCHED_ROWS
        return min(_PLAIN_ROWS if self.hides_at_once else at_once, self.part_rows)

    @property
    def is_shared(self) -> bool:
        return self.plan.policy.mechanism == "shared"

    def cuts(self) -> str:
        """The settings that, besides the rows, decide the bytes of the parts."""
        return f"{grouping.BUCKET_BITS} {self.chunk_rows} {self.part_rows}" + (
            f" {BLOCK_USERS}" if self.is_shared else ""
        )

    def block_bits(self, connection: Any) -> int | None:
        """The number of leading bits of users' hashes that decide who may share a release; None without sharing."""
        return block_bits(connection, self.rows, BLOCK_USERS) if self.is_shared else None


def check_input(connection: Any, job: Job, locations: Locations) -> list[str]:
    """Raise if a sensitive name or the target matches nothing, unless that is allowed; return notes."""
    notes = job.rows.notes()
    if job.personal is not None:
        with about_personal():
            notes += missing_users(connection, job.rows, job.personal)
    if job.since is not None:
        with about_since():
            notes += missing_continued(connection, job.rows, job.since)
    if not job.allow_unchanged:
        check_named(job.plan, () if job.personal is None else job.personal.names)
        for check in (check_found, check_corrected):
            with closing(locations.names()) as names:
                check(job.plan, names)
    with closing(locations.names()) as names:
        check_target(job.plan, names)
    return notes


def run(
    connection: Any,
    job: Job,
    locations: Locations,
    output: Output,
    loaded: Future[Any] | None,
    room: Room,
    report: Callable[[Progress], None] | None = None,
) -> Progress:
    """Sanitize the users who are not in the output yet, bucket by bucket.

    `loaded` says when this process is ready. Grouped rows wait in `room` until they are sorted.
    """
    kept = output.checkpoints()
    progress = Progress(**output.totals)
    skipped = _Skipped(kept[-1].skipped if kept else progress.skipped_rows)
    after = kept[-1].last if kept else output.last
    with closing(locations.names()) as names:
        at_once = on_arrays(job.plan.policy) and compared_by_name(job.plan, names)
    with (
        workers(job.plan, job.allow_unchanged, job.rows.keys, job.threads, loaded, at_once, job.few) as pool,
        ThreadPoolExecutor(1) as writer,
        sentences(),
    ):
        if report is not None:
            progress.expected = number_of_users(connection, job.rows)
        bits = job.block_bits(connection)
        rows = _checked(grouped(connection, job.rows, job.personal, after, room, job.since), job, skipped)
        chunks = _chunks(rows, job, bits)
        parts = _Parts(output, skipped, writer, job.part_rows)
        for results, bucket, _ in kept:
            parts.add(results, bucket, kept=True)
        for results, bucket in _in_order(pool, chunks):
            parts.add(results, bucket)
            progress.users += len(results)
            if report is not None:
                report(progress)
        done = parts.finish()
    done.skipped_rows = skipped.until(None)
    return done


class _Parts:
    """Collects results into parts. A part is written while the next is made, and long waits lead to a checkpoint."""

    def __init__(self, output: Output, skipped: _Skipped, writer: Executor, part_rows: int) -> None:
        self._output, self._skipped, self._writer, self._part_rows = output, skipped, writer, part_rows
        self._done = Progress(**output.totals)
        self._writing: Future[None] | None = None
        self._waiting: list[Batch | Table] = []
        #: How many waiting results are stored in checkpoints already.
        self._kept = 0
        self._rows, self._bucket = 0, 0
        self._begin = self._last = time.monotonic()
        self._before = self._done.seconds

    def add(self, results: Batch | Table, bucket: int, *, kept: bool = False) -> None:
        """Add the results of all users up to a bucket, which may come from a checkpoint of an earlier run."""
        self._waiting.append(results)
        self._kept += kept
        self._rows += pc.sum(pc.list_value_length(results.column("location"))).as_py() or 0
        self._bucket = bucket
        if self._rows >= self._part_rows:
            self._finish_part()
        elif time.monotonic() - self._last > _CHECKPOINT_SECONDS and len(self._waiting) > self._kept:
            new = _joined(self._waiting[self._kept :])
            self._submit(self._output.write_checkpoint, Checkpoint(new, bucket, self._skipped.until(bucket)))
            self._kept = len(self._waiting)

    def finish(self) -> Progress:
        """Write the remaining results, and wait until everything is written."""
        if self._waiting:
            self._finish_part()
        self._wait()
        return self._done

    def _finish_part(self) -> None:
        self._submit(self._write, _joined(self._waiting), self._bucket)
        self._waiting, self._rows, self._kept = [], 0, 0

    def _submit(self, task: Callable[..., None], *given: Any) -> None:
        self._wait()
        self._last = time.monotonic()
        self._writing = self._writer.submit(task, *given)

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()

    def _write(self, table: Table, bucket: int) -> None:
        done = self._done
        done.skipped_rows = self._skipped.until(bucket)
        done.users += len(table)
        done.released += len(table) - table.column("location").null_count
        done.seconds = round(self._before + time.monotonic() - self._begin, 3)
        self._output.write_part(table, bucket, done.totals())


def _chunks(rows: Iterable[Batch], job: Job, bits: int | None) -> Iterator[Table]:
    """The rows of whole buckets, some at a time. Users who may share a release are in the same chunk."""
    if bits is None:
        yield from whole_users(rows, (BUCKET,), job.chunk_rows)
        return
    # The end of a block must depend only on the users' names, not on the number of their rows.
    with_block = (_with_block(batch, grouping.BUCKET_BITS - bits) for batch in rows)
    for chunk in whole_users(with_block, (BLOCK,), 1):
        yield chunk.drop_columns([BLOCK])


def _with_block(batch: Batch, shift: int) -> Batch:
    """The rows with the block that their bucket is in."""
    bucket = batch.column(BUCKET).cast(pa.int64())
    return batch.append_column(BLOCK, pc.shift_right(bucket, pa.scalar(shift, pa.int64())))


def _joined(results: list[Batch | Table]) -> Table:
    tables = [one if isinstance(one, pa.Table) else pa.Table.from_batches([one]) for one in results]
    return pa.concat_tables(tables)


class _Skipped:
    """The number of skipped rows by bucket. Rows are read ahead, and after a kill the unwritten ones are read again."""

    def __init__(self, before: int) -> None:
        self._before = before
        self._of = np.zeros(1 << grouping.BUCKET_BITS, np.int64)

    def add(self, buckets: Array, numbers: Array) -> None:
        np.add.at(self._of, to_numpy(buckets), to_numpy(numbers))

    def until(self, bucket: int | None) -> int:
        """The number for all buckets up to this one; None means all buckets."""
        return self._before + int(self._of[: None if bucket is None else bucket + 1].sum())


def _in_order(pool: Workers, chunks: Iterator[Table]) -> Iterator[tuple[Batch, int]]:
    """The results of the chunks in order, with the last bucket of each; a few chunks are processed in parallel."""
    running: deque[tuple[Future[Batch], int]] = deque()
    for rows in chunks:
        running.append((pool.submit(rows.drop_columns([BUCKET])), rows.column(BUCKET)[-1].as_py()))
        if len(running) > 2 * pool.number:
            first, bucket = running.popleft()
            yield first.result(), bucket
    for result, bucket in running:
        yield result.result(), bucket


def versions() -> dict[str, str]:
    """The versions of the libraries that the bytes of the output depend on."""
    return {name: version(name) for name in ("elsewhere", "duckdb", "pyarrow")}


def _checked(batches: Iterable[Batch], job: Job, skipped: _Skipped) -> Iterator[Batch]:
    """The valid rows; the others are counted, or end the run."""
    needed = (*job.rows.keys, "location")
    for batch in batches:
        count = batch.column("count")
        if BAD not in batch.schema.names:  # without counts, no row can be bad
            batch = batch.append_column(BAD, pa.nulls(len(batch), pa.int64())).append_column(NUMBER, count)
        bad = batch.column(BAD)
        missing = [name for name in needed if batch.column(name).null_count]
        if missing or (bad.null_count == 0 and (to_numpy(bad) > 0).any()):
            without = pa.array(np.zeros(len(batch), np.bool_))
            for name in missing:
                without = pc.or_(without, batch.column(name).is_null())
            bad = bad.fill_null(0)
            if EARLIER in batch.schema.names:  # without them a count could fall
                _refuse_earlier(batch.filter(pc.and_(batch.column(EARLIER), pc.or_(without, pc.greater(bad, 0)))))
            if job.on_error == "stop":
                first = batch.filter(pc.or_(without, pc.greater(bad, 0))).slice(0, 1).to_pylist()[0]
                raise bad_row(first, job.rows.keys, first[NUMBER])
            skipped.add(batch.column(BUCKET), pc.if_else(without, batch.column(NUMBER), bad))
            batch = batch.filter(pc.and_(pc.invert(without), count.is_valid()))
        yield batch.drop_columns([BAD, NUMBER])


def _refuse_earlier(bad: Batch) -> None:
    for row in bad.slice(0, 1).to_pylist():
        told = f"since: the release of the user {quote(row[bad.schema.names[0]])} has a row"
        raise InputError(f"{told} without a location or a whole count from 0 up", ("since",))
