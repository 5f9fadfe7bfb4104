"""Many users' histograms under one policy: the kernel that sanitizes them, and the engines that feed it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from elsewhere.engines.shortages import memory_errors
from elsewhere.model.errors import InputError
from elsewhere.policy import Policy
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.engines.pipeline import Progress
    from elsewhere.engines.result import BatchResult
    from elsewhere.engines.sources import TableLike

#: Bytes that a batch may take, by and large, unless it is told otherwise.
MEMORY = 2**30


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
    threads: int | None = None,
    memory: int = MEMORY,
    progress: Callable[[Progress], None] | None = None,
) -> BatchResult:
    """Sanitize the histogram of every user in a table.

    Parameters
    ----------
    policy
        What is asked of every release: a `Policy`, or its file.
    input
        A table with a user, a location and, unless a row is a visit, a count: a file, a folder or a pattern of Parquet,
        CSV or TSV files, also at an address of ``s3://``, ``gs://`` or ``az://``; an Arrow table, reader or dataset; a
        pandas or Polars frame; a DuckDB relation; or a Spark DataFrame, which goes to Spark.
    output
        The folder of the releases: Parquet parts with the columns user, location and count, and ``_SUCCESS`` once all
        is there. The same call again resumes a batch that was interrupted. Without it nothing is written, and the
        result has the tables.
    engine
        ``"local"`` (DuckDB on this machine) or ``"spark"``, for which the paths of tables and folders are Spark's, such
        as ``s3a://...``, and a folder that was begun is not finished but refused.
    master
        Where Spark runs, as Spark writes it; by default where it is configured to, or else on this machine.
    report
        The private folder with the outcome of every user; by default it is called like `output` with ``.private``.
    personal
        A table with choices of users' own: a column for the user, and columns called like keys of the policy.
    user_column, location_column, count_column
        What the columns are called, if not user, location and count. The output keeps the name of the user column.
    rows_are_visits
        Whether every row is one visit, even if there is a column of counts.
    keys
        Further columns, such as a month: there is a release for each user and each of their values.
    partition_by
        Those of `keys` whose values become folders of the output, such as ``month=2026-01``.
    part_rows
        About how many rows a part has; a million by default.
    on_error
        Whether a row that makes no sense ends it or is left out.
    allow_unchanged
        Whether a sensitive name may cover nothing: one of the policy that no user has, or one of a user's own that
        this user does not have. Otherwise `Unchanged` is raised, or the user gets no release.
    min_released
        The share of users who must have a release, such as 0.99. With fewer, or none at all, `TooFewReleased` is
        raised and there is no ``_SUCCESS``.
    threads, memory
        How many cores and, by and large, how many bytes the local engine takes.
    progress
        Is told how far it is, now and then.

    Returns
    -------
    BatchResult
        The private summary, a dictionary: how many users there were, how many got a release, why others did not, and
        how many users and visits each sensitive name hid. Its `releases` and `outcomes` are Arrow tables.
    """
    from elsewhere.engines.request import Request

    if engine not in ("local", "spark"):
        raise InputError(f"engine is {quote(engine)}; it is 'local' or 'spark'", ("engine",))
    request = Request(
        policy if isinstance(policy, Policy) else Policy.load(policy), input, output, report, personal, user_column,
        location_column, count_column, rows_are_visits, tuple(keys), tuple(partition_by), part_rows, on_error,
        allow_unchanged, min_released,
    )  # fmt: skip
    if engine == "spark" or type(input).__module__.partition(".")[0] == "pyspark":
        from elsewhere.engines.on_spark import run_batch as run_on_spark

        return run_on_spark(request, master)
    if master is not None:
        raise InputError(f"master is {quote(master)}, but the engine is 'local'; a master is for 'spark'", ("master",))
    if find_spec("duckdb") is None:
        raise InputError("the local engine needs DuckDB; install it with: pip install 'elsewhere[batch]'")
    from elsewhere.engines.local import run_batch

    return run_batch(request, threads or os.cpu_count() or 1, memory, progress)
