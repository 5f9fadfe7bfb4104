"""The engine for one machine: DuckDB groups the rows, workers sanitize the users, and parts are written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from elsewhere.engines import grouping
from elsewhere.engines.arrow import Array, Batch, Table, pa, pc
from elsewhere.engines.columns import bad_row
from elsewhere.engines.folder import Output
from elsewhere.engines.grouping import (
    BUCKET,
    Source,
    choices_of,
    column_notes,
    columns_of,
    connected,
    grouped,
    literal,
    locations,
    number_of_users,
    reading,
    sentences,
)
from elsewhere.engines.kernel import FAILED_CHECK, is_plain
from elsewhere.engines.names import MOST_NAMES, check_found, check_named, hidden_by_name
from elsewhere.engines.rows import whole_users
from elsewhere.engines.workers import Workers, workers
from elsewhere.output.report import PRIVATE
from elsewhere.policy import Plan

#: Rows of a part, and of what a worker gets at a time: a user of its own takes long if there is anything to search.
_PART_ROWS = 1 << 20
_PLAIN_ROWS, _SEARCHED_ROWS = 1 << 17, 1 << 12


@dataclass
class Progress:
    """How far a batch is; handed to whoever shows it."""

    users: int = 0
    released: int = 0
    skipped_rows: int = 0
    #: About how many users there will be.
    expected: int | None = None

    def totals(self) -> dict[str, int]:
        return {"users": self.users, "released": self.released, "skipped_rows": self.skipped_rows}


def check_input(
    plan: Plan, source: Source, personal: Source | None, allow_unchanged: bool, threads: int, memory: int
) -> None:
    """Raise if columns are missing or, unless that is allowed, if a sensitive name of the policy covers nothing."""
    with reading(threads, memory) as connection:
        columns_of(connection, source).required_user()
        own = [] if personal is None else choices_of(connection, personal)[1]
        if not allow_unchanged:
            check_named(plan, own)
            check_found(plan, locations(connection, source))


def run(
    plan: Plan,
    source: Source,
    output: Output,
    *,
    personal: Source | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
    threads: int = 1,
    memory: int,
    report: Callable[[Progress], None] | None = None,
) -> Progress:
    """Sanitize the users of the source that are not in the output yet, bucket by bucket."""
    progress = Progress(**output.journal["totals"])
    skipped = _Skipped(progress.skipped_rows)
    rows = _PLAIN_ROWS if is_plain(plan.policy) else _SEARCHED_ROWS
    with (
        connected(output.private, threads, memory) as connection,
        workers(plan, allow_unchanged, threads) as pool,
    ):
        with sentences():
            output.journal["notes"] = column_notes(connection, source)
            if report is not None:
                progress.expected = number_of_users(connection, source)
            batches = grouped(connection, source, personal, output.journal["last"], rows)
        checked = _checked(batches, on_error, skipped)
        tables = _parts(_in_order(pool, whole_users(checked, (BUCKET,), rows)))
        # One part is written while the next one is made.
        writing: Future[None] | None = None
        with ThreadPoolExecutor(1) as writer:
            for part, (table, bucket) in enumerate(tables, output.journal["parts"]):
                if writing is not None:
                    writing.result()
                writing = writer.submit(_write, output, part, table, bucket, progress, skipped)
                if report is not None:
                    report(progress)
        if writing is not None:
            writing.result()
    progress.skipped_rows = skipped.until(None)
    output.journal["totals"] = progress.totals()
    return progress


def summarised(output: Output, names: Sequence[str]) -> dict[str, Any]:
    """The totals of all outcomes, what each of the sensitive names hid, and why users got no release."""
    duckdb = import_module("duckdb")
    progress = Progress(**output.journal["totals"])
    summary: dict[str, Any] = {"private": PRIVATE, **progress.totals()}
    summary["without_release"] = progress.users - progress.released
    summary |= {"failed_checks": 0, "merged_spellings": 0, "hidden": hidden_by_name(names, ())}
    summary["notes"] = output.journal["notes"]
    # One thread adds figures up in one order.
    with duckdb.connect(config={"threads": 1}) as connection, sentences():
        files = "[" + ", ".join(literal(str(file)) for file in output.outcomes()) + "]"
        if output.outcomes():
            found = connection.sql(
                "SELECT avg(quality_loss), median(quality_loss), max(quality_loss), avg(privacy_distance), "
                f"median(privacy_distance), max(gap) FROM read_parquet({files}) WHERE status <> 'none'"
            ).fetchall()[0]
            figures = ("mean_quality_loss", "median_quality_loss", "largest_quality_loss", "mean_privacy_distance",
                     "median_privacy_distance", "largest_gap")  # fmt: skip
            summary |= dict(zip(figures, found, strict=True))
            summary["failed_checks"], summary["merged_spellings"] = connection.sql(
                f"SELECT count(*) FILTER (WHERE starts_with(reason, {literal(FAILED_CHECK)})), "
                f"sum(merged_spellings) FROM read_parquet({files})"
            ).fetchall()[0]
            entries = f"SELECT unnest(map_entries(hidden)) AS entry FROM read_parquet({files}) WHERE status <> 'none'"
            by_name = connection.sql(
                f"SELECT entry.key, count(*), sum(entry.value) FROM ({entries}) WHERE entry.value > 0 "
                f"GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT {MOST_NAMES + len(names)}"
            ).fetchall()
            summary["hidden"] = hidden_by_name(names, by_name)
            # Figures in a reason are the user's; the same reason with other figures is the same reason.
            summary["reasons"] = dict(
                connection.sql(
                    r"SELECT regexp_replace(reason, '[0-9][0-9.e+-]*', '#', 'g') AS why, count(*) "
                    f"FROM read_parquet({files}) WHERE reason IS NOT NULL GROUP BY why ORDER BY 2 DESC, 1 LIMIT 100"
                ).fetchall()
            )
    return summary


def _parts(results: Iterable[tuple[Batch, int]]) -> Iterator[tuple[Table, int]]:
    """Results of some buckets, and the last of those: a part each."""
    waiting: list[Batch] = []
    rows = 0
    for batch, bucket in results:
        waiting.append(batch)
        rows += len(batch.column("location").values)
        if rows >= _PART_ROWS:
            yield pa.Table.from_batches(waiting), bucket
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting), bucket


class _Skipped:
    """How many rows were left out, by bucket: rows are read ahead, and after a kill those not yet written once more."""

    def __init__(self, before: int) -> None:
        self._before = before
        self._of = np.zeros(1 << grouping.BUCKET_BITS, np.int64)

    def add(self, buckets: Array, numbers: Array) -> None:
        np.add.at(self._of, buckets.to_numpy(), numbers.to_numpy())

    def until(self, bucket: int | None) -> int:
        """Those of all buckets up to this one; None for all."""
        return self._before + int(self._of[: None if bucket is None else bucket + 1].sum())


def _write(output: Output, part: int, table: Table, bucket: int, progress: Progress, skipped: _Skipped) -> None:
    output.write_part(part, table)
    progress.skipped_rows = skipped.until(bucket)
    progress.users += len(table)
    progress.released += len(table) - table.column("location").null_count
    output.record(part, bucket, progress.totals())


def _in_order(pool: Workers, chunks: Iterator[Table]) -> Iterator[tuple[Batch, int]]:
    """The results of the chunks and the last bucket of each; a few are worked on at the same time."""
    running: deque[tuple[Future[Batch], int]] = deque()
    for rows in chunks:
        running.append((pool.submit(rows.drop_columns([BUCKET])), rows.column(BUCKET)[-1].as_py()))
        if len(running) > 2 * pool.number:
            first, bucket = running.popleft()
            yield first.result(), bucket
    for result, bucket in running:
        yield result.result(), bucket


def versions() -> dict[str, str]:
    """Of what the bytes of the output depend on: programs, and how parts are cut."""
    programs = {name: version(name) for name in ("elsewhere", "duckdb", "pyarrow")}
    return {**programs, "parts": f"{grouping.BUCKET_BITS} {_PLAIN_ROWS} {_SEARCHED_ROWS} {_PART_ROWS}"}


def _checked(batches: Iterable[Batch], on_error: str, skipped: _Skipped) -> Iterator[Batch]:
    """The rows that make sense; the others are counted, or end the run."""
    for batch in batches:
        user, location, count = (batch.column(at) for at in range(3))
        if "bad" not in batch.schema.names:  # visits are what they are
            batch = batch.append_column("rows", count).append_column("bad", pa.nulls(len(batch), pa.int64()))
        bad = batch.column("bad")
        if user.null_count or location.null_count or (bad.null_count == 0 and pc.any(pc.greater(bad, 0)).as_py()):
            missing = pc.or_(user.is_null(), location.is_null())
            bad = bad.fill_null(0)
            if on_error == "stop":
                first = batch.filter(pc.or_(missing, pc.greater(bad, 0))).slice(0, 1).to_pylist()[0]
                raise bad_row(first)
            skipped.add(batch.column(BUCKET), pc.if_else(missing, batch.column("rows"), bad))
            batch = batch.filter(pc.and_(pc.invert(missing), count.is_valid()))
        yield batch.drop_columns(["bad", "rows"])
