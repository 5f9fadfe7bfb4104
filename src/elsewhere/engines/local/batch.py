"""A batch on one machine, from the request to the result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from elsewhere.engines.columns import about_personal, about_since
from elsewhere.engines.listing import folder_columns
from elsewhere.engines.local.folder import Output, check_outside, output_places
from elsewhere.engines.local.grouping import (
    Choices,
    Locations,
    Rows,
    connected,
    content_hash,
    has_few_rows,
    room_beside_duckdb,
)
from elsewhere.engines.local.interrupts import saying_what_is_written
from elsewhere.engines.local.pipeline import PART_ROWS, Job, Progress, check_input, run, versions
from elsewhere.engines.local.sources import Source, open_source
from elsewhere.engines.local.spilling import remove_left, spill_folder
from elsewhere.engines.local.summary import summarised
from elsewhere.engines.local.workers import loading
from elsewhere.engines.request import Request
from elsewhere.engines.result import BatchResult
from elsewhere.engines.summary import check_released, lineage, said_once
from elsewhere.files import temporary_directory


def run_batch(
    request: Request, threads: int, memory: int, progress: Callable[[Progress], None] | None = None
) -> BatchResult:
    """Run the batch, and return the summary with the tables."""
    if request.output is not None:
        return _into_folder(request, threads, memory, progress)
    with temporary_directory("elsewhere-batch") as folder:
        result = _into_folder(replace(request, output=folder / "releases"), threads, memory, progress)
        return result.loaded()


def _into_folder(
    request: Request, threads: int, memory: int, progress: Callable[[Progress], None] | None
) -> BatchResult:
    assert request.output is not None
    plan = request.plan()
    folder, report = output_places(request.output, request.report)
    for argument, place in (("output", folder), ("report", report)):
        check_outside(argument, place, request.input)
        check_outside(argument, place, request.since, "the earlier releases")
    with loading(plan, threads) as loads:
        # A single thread gains nothing by loading early.
        source = open_source(request.input, "input", when_large=loads.import_modules if threads > 1 else None)
        rows = Rows.of(source, request.keys, rows_are_visits=request.rows_are_visits, **request.columns)
        partition_by = folder_columns(source.schema.names, request.partition_by)
        with about_personal():
            personal = None
            if request.personal is not None:
                personal = Choices.of(open_source(request.personal, "personal"), request.user_column)
        with about_since():
            since = None if request.since is None else rows.earlier(open_source(request.since, "since", released=True))
        beside = folder.folder if folder.is_local else None
        with spill_folder(beside) as spill, connected(spill, threads, memory) as connection:
            rows = rows.attached(connection)
            if personal is not None:
                personal = personal.attached(connection)
            if since is not None:
                since = since.attached(connection, "since")
            job = Job(plan, rows, personal, request.on_error, request.allow_unchanged, threads,
                      request.part_rows or PART_ROWS, has_few_rows(connection, rows), since)  # fmt: skip
            locations = Locations(connection, rows)
            notes = check_input(connection, job, locations)
            output = Output(folder, report, _question(connection, request, job), partition_by)
            with closing(output), saying_what_is_written(lambda: len(output.records)):
                remove_left(beside, spill)
                if not output.done:
                    # Kernels are loaded while DuckDB groups rows. Before that, they would delay this thread.
                    loaded = None if job.few else loads.begin()
                    room = room_beside_duckdb(spill, memory)
                    done = run(connection, job, locations, output, loaded, room, progress)
                    output.finish(_summary(connection, request, job, output, done, notes))
                # The required share may differ from the earlier run.
                check_released(output.summary(), request.min_released)
                return BatchResult(output.summary(), folder, report)


def _summary(
    connection: Any, request: Request, job: Job, output: Output, done: Progress, notes: list[str]
) -> dict[str, Any]:
    """The summary of a batch whose parts are all written; raise if they must not be used."""
    summary = summarised(connection, done, output, request.policy)
    summary |= said_once(job.plan, notes, request.since is not None)
    read = [{"file": file.path, "bytes": file.size} for file in job.rows.source.files]
    summary["lineage"] = lineage(request.policy, read, done.users, done.seconds)
    check_released(summary, request.min_released)
    for rows in (job.rows, job.since):
        if rows is not None:
            rows.source.check_unchanged()
    return summary


def _question(connection: Any, request: Request, job: Job) -> dict[str, Any]:
    """Everything that the releases depend on. A folder is only resumed with the same question."""
    rows, personal, since = job.rows, job.personal, job.since
    return {
        "policy": request.policy.fingerprint(),
        "key": job.plan.key_fingerprint(),
        "input": _fingerprint(rows.source) or content_hash(connection, rows),
        "columns": [rows.keys, rows.columns.location, rows.columns.count],
        "personal": personal and (_fingerprint(personal.source) or personal.content_hash(connection)),
        "since": since and (_fingerprint(since.source) or content_hash(connection, since)),
        "choices": [request.on_error, request.allow_unchanged, request.partition_by],
        "cuts": job.cuts(),
        "versions": versions(),
    }


def _fingerprint(source: Source) -> list[tuple[str, int, int]]:
    """A fingerprint that changes if the files do; empty for a table that is not in files."""
    return [(file.path, file.size, file.modified) for file in source.files]
