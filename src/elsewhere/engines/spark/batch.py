"""A batch on Spark from files, or a DataFrame, to the two folders of its output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, TypeAlias

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from elsewhere.engines.columns import about_personal, about_since
from elsewhere.engines.names import SUGGESTED, check_named, not_found
from elsewhere.engines.spark.checks import CHECK
from elsewhere.engines.spark.files import Table, exists, file_table, frame_table
from elsewhere.engines.spark.frames import batch_frame, checked_results, key_names, outcomes, releases, users_alone
from elsewhere.engines.spark.paths import check_apart, check_outside, escaped
from elsewhere.engines.spark.rows import Roles, check_partitions, find_roles, missing_continued, rows_of
from elsewhere.engines.spark.session import sentences, session_at
from elsewhere.engines.spark.summary import summarised
from elsewhere.engines.summary import lineage, said_once
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.text import quote

_Path: TypeAlias = str | os.PathLike[str]
# On a plain file system, Spark would otherwise leave a checksum file beside each part.
_RELEASE = {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
_PRIVATE = {**_RELEASE, "fs.permissions.umask-mode": "077"}


@dataclass(frozen=True)
class _Folders:
    """The folders of the releases and of the private report."""

    releases: str
    private: str

    @classmethod
    def of(cls, output: _Path, report: _Path | None) -> _Folders:
        folder = os.fspath(output).rstrip("/")
        private = f"{folder}.private" if report is None else os.fspath(report).rstrip("/")
        check_apart(folder, private)
        return cls(folder, private)

    def check_new(self, spark: SparkSession) -> None:
        for path in (self.releases, self.private):
            if exists(spark, escaped(path)):
                raise InputError(f"{quote(path)} exists already; name a new folder")


def run(
    plan: Plan,
    source: _Path | DataFrame,
    output: _Path,
    *,
    report: _Path | None = None,
    master: str | None = None,
    personal: _Path | DataFrame | None = None,
    since: _Path | DataFrame | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
    user: str | None = None,
    location: str | None = None,
    count: str | None = None,
    rows_are_visits: bool = False,
    keys: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    accept: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Sanitize the users of a DataFrame, or of the files at a path, and write the releases to a folder.

    Paths are Spark's, on any file system that it supports. A DataFrame brings its own session. Nothing is written
    before all rows have been read and validated. With `partition_by`, some of the `keys`, the output has a folder for
    each of their values. `accept` is called with the private summary before the releases are written, and may raise.
    The other arguments are those of `sanitize`. Returns the private summary.
    """
    start = monotonic()
    folders = _Folders.of(output, report)
    frame = next((given for given in (source, personal, since) if isinstance(given, DataFrame)), None)
    with sentences(), session_at(master, frame) as spark:
        folders.check_new(spark)
        table = _table(spark, source)
        if table.folder is not None:
            check_outside(folders.releases, table.folder)
            check_outside(folders.private, table.folder)
        with about_personal():
            own = None if personal is None else _table(spark, personal)
        with about_since():
            earlier = None if since is None else _table(spark, since, released=True)
            if earlier is not None and earlier.folder is not None:
                check_outside(folders.releases, earlier.folder)
        roles = find_roles(table, user=user, location=location, count=count, rows_are_visits=rows_are_visits, keys=keys)
        check_partitions(partition_by, roles.keys)
        if not allow_unchanged:
            check_named(plan, () if own is None else own.columns)
        missing = [] if earlier is None else missing_continued(rows_of(table, roles), roles, earlier)
        results = checked_results(
            table, roles, plan, personal=own, since=earlier, user=user, allow_unchanged=allow_unchanged
        )
        results = results.persist(StorageLevel.DISK_ONLY)
        try:
            names = () if allow_unchanged else plan.policy.sensitive
            known: dict[str, Any] = {"skipped_rows": _checked(results, table, roles, plan, on_error, names)}
            known |= said_once(plan, roles.columns.notes(table.numeric) + missing, since is not None)
            users = users_alone(results)
            summary = _write_private(users, folders.private, plan, table, start, known)
            if accept is not None:
                accept(summary)
            _write_releases(users, folders.releases, partition_by)
        finally:
            results.unpersist()
        return summary


def _table(spark: SparkSession, source: _Path | DataFrame, *, released: bool = False) -> Table:
    if isinstance(source, DataFrame):
        return frame_table(batch_frame(source))
    return file_table(spark, os.fspath(source), released=released)


def _checked(results: DataFrame, table: Table, roles: Roles, plan: Plan, on_error: str, names: Sequence[str]) -> int:
    """The number of invalid rows; raise if the input is invalid. This computes the results."""
    found = results.filter(sql.isnotnull(CHECK)).select(f"{CHECK}.*").collect()
    if problems := sorted(row["problem"] for row in found if row["problem"] is not None):
        raise InputError(problems[0])
    bad = sorted(row["bad"] for row in found if row["bad"] is not None)
    if bad and on_error == "stop":
        raise InputError(bad[0], ("on_error",))
    matched = {name for row in found for name in row["names"]}
    for name in names:
        if name not in matched:
            places = rows_of(table, roles).select("location").dropna().distinct().limit(SUGGESTED).collect()
            raise not_found(plan, name, [row["location"] for row in places])
    if found and plan.expects_target:
        plan.check_target({name for row in found for name in row["target"]})
    return sum(row["skipped"] for row in found)


def _write_private(
    users: DataFrame, private: str, plan: Plan, table: Table, start: float, known: dict[str, Any]
) -> dict[str, Any]:
    """Write the outcomes and the summary; return the summary."""
    spark = users.sparkSession
    outcomes(users).write.options(compression="zstd", **_PRIVATE).parquet(f"{private}/outcomes")
    summary = summarised(spark.read.parquet(escaped(f"{private}/outcomes")), plan.policy) | known
    summary["lineage"] = lineage(plan.policy, table.lineage, summary["users"], monotonic() - start)
    text = spark.createDataFrame([(json.dumps(summary, ensure_ascii=False),)], "value string")
    text.coalesce(1).write.options(**_PRIVATE).text(f"{private}/summary")
    return summary


def _write_releases(users: DataFrame, folder: str, partition_by: Sequence[str]) -> None:
    """Write the releases after everything else: their _SUCCESS says that the batch is complete."""
    found = releases(users)
    if partition_by:
        others = [name for name in key_names(users) if name not in partition_by]
        found = found.sortWithinPartitions(*partition_by, *others, "location")
    found.write.options(compression="zstd", **_RELEASE).parquet(folder, partitionBy=[*partition_by] or None)
