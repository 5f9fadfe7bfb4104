"""Sanitize the histograms of many users under one policy: the kernel, and the engines that feed it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from elsewhere.engines.shortages import check_address_space, memory_errors
from elsewhere.extras import load
from elsewhere.model.errors import InputError
from elsewhere.policy import Policy
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.engines.local.pipeline import Progress
    from elsewhere.engines.request import TableLike
    from elsewhere.engines.result import BatchResult

#: The approximate number of bytes that a batch may use, by default.
MEMORY = 2**30
#: More threads are a mistake.
_MOST_THREADS = 1024


@memory_errors()
def batch(
    policy: Policy | str | os.PathLike[str],
    input: TableLike,  # noqa: A002
    output: str | os.PathLike[str] | None = None,
    *,
    engine: Literal["local", "spark"] = "local",
    master: str | None = None,
    report: str | os.PathLike[str] | None = None,
    personal: TableLike | None = None,
    user_column: str | None = None,
    location_column: str | None = None,
    count_column: str | None = None,
    rows_are_visits: bool = False,
    keys: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    part_rows: int | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
    min_released: float = 0.0,
    key_file: str | os.PathLike[str] | None = None,
    since: TableLike | None = None,
    threads: int | None = None,
    memory: int = MEMORY,
    progress: Callable[[Progress], None] | None = None,
) -> BatchResult:
    """Sanitize the histogram of every user in a table.

    Parameters
    ----------
    policy
        What every release must satisfy: a `Policy`, or its file.
    input
        A table with a user, a location and a count; without a count, each row is one visit. It can be a file, a folder
        or a pattern of Parquet, CSV or TSV files, also at an address of ``s3://``, ``gs://`` or ``az://``; an Arrow
        table, reader or dataset; a pandas or Polars frame; a DuckDB relation; or a Spark DataFrame, which runs on
        Spark.
    output
        The folder for the releases: Parquet parts with the columns user, location and count. ``_SUCCESS`` is written
        last. Rerunning resumes an interrupted batch. Default: write nothing, and return the tables in the result.
    engine
        ``"local"`` (DuckDB on this machine, the default) or ``"spark"``. With Spark, paths of tables and folders are
        Spark's, such as ``s3a://...``, and an unfinished folder is refused instead of resumed.
    master
        The Spark master. Default: as Spark is configured, or this machine.
    report
        The private folder with the outcome of every user. Default: the name of `output` with ``.private``.
    personal
        A table of users' own choices: a user column, and columns named like keys of the policy.
    user_column, location_column, count_column
        Names of the columns. Default: user, location, count or similar names. The output keeps the name of the user
        column.
    rows_are_visits
        If True, every row is one visit, even if there is a count column.
    keys
        Further columns, such as a month: each user gets a release for each of their values.
    partition_by
        Those of `keys` whose values become folders of the output, such as ``month=2026-01``.
    part_rows
        Approximate number of rows per part. Default: a million.
    on_error
        ``"stop"`` (the default) or ``"skip"``: what to do with rows without a user, a location or a valid count.
    allow_unchanged
        If True, a sensitive name may cover nothing. Otherwise `Unchanged` is raised if no user has a name of the
        policy, and a user who does not have one of their own names gets no release.
    min_released
        The share of users who must have a release, such as 0.99. With fewer, or none at all, `TooFewReleased` is
        raised, and there is no ``_SUCCESS``.
    key_file
        The file with the secret key, for ``method = "drawn"`` or ``mechanism = "shared"``. It must exist. Default:
        ``$ELSEWHERE_KEY``, or else your own key file. A user's draw depends on the key, the user's name and rows, and
        the policy.
    since
        The releases of an earlier batch: its folder, or any table that `input` may be, with the same keys. Each user's
        release continues the earlier one, so that no count falls. Users who cannot continue get none, and the outcome
        says why.
    threads, memory
        The number of cores, and roughly the number of bytes, that the local engine may use.
    progress
        A function that is called now and then with the progress.

    Returns
    -------
    BatchResult
        The private summary, a dictionary: how many users there were, how many got a release, why others did not, and
        how many users and visits each sensitive name hid. Its `releases` and `outcomes` are Arrow tables.
    """
    if engine not in ("local", "spark"):
        raise InputError(f"engine is {quote(engine)}; it must be 'local' or 'spark'", ("engine",))
    if engine == "spark":
        load("pyspark", "the engine needs PySpark", "spark")
    from elsewhere.engines.request import Request

    check_address_space()
    asked = Policy.load(policy) if isinstance(policy, str | os.PathLike) else policy
    request = Request(
        asked, input, output, report, personal, user_column, location_column, count_column, rows_are_visits,
        _listed("keys", keys), _listed("partition_by", partition_by), part_rows, on_error, allow_unchanged,
        min_released, key_file, since,
    )  # fmt: skip
    if engine == "spark" or type(input).__module__.partition(".")[0] == "pyspark":
        from elsewhere.engines.on_spark import run_batch as run_on_spark

        return run_on_spark(request, master)
    if master is not None:
        raise InputError(f"master is {quote(master)}, but the engine is 'local'; a master is for 'spark'", ("master",))
    from elsewhere.engines.local.batch import run_batch

    for name, value, most in (("threads", 1 if threads is None else threads, _MOST_THREADS), ("memory", memory, 2**62)):
        if not isinstance(value, int) or not 1 <= value <= most:
            raise InputError(f"{name} is {quote(value)}; it must be a whole number from 1 to {most:,}", (name,))
    return run_batch(request, threads or os.cpu_count() or 1, memory, progress)


def _listed(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns as a tuple. A plain string would otherwise be split into its letters."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument} is {quote(names)}; give a list of columns", (argument,))
    return tuple(names)
