"""Many users' histograms under one policy: the kernel that sanitizes them, and the engines that feed it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from elsewhere.engines.shortages import memory_errors
from elsewhere.model.errors import InputError
from elsewhere.policy import Policy
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.engines.local import Progress

#: Bytes that a batch may take, by and large, unless it is told otherwise.
MEMORY = 2**30


@memory_errors()
def batch(
    policy: Policy | str | os.PathLike[str],
    input: str | os.PathLike[str],  # noqa: A002
    output: str | os.PathLike[str],
    *,
    engine: Literal["local", "spark"] = "local",
    master: str | None = None,
    report: str | os.PathLike[str] | None = None,
    personal: str | os.PathLike[str] | None = None,
    user_column: str | None = None,
    location_column: str | None = None,
    count_column: str | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Sanitize the histogram of every user in a table, and write the releases to a folder.

    Parameters
    ----------
    policy
        What is asked of every release: a `Policy`, or its file.
    input
        A file, a folder or a pattern of Parquet, CSV or TSV files with a user, a location and, unless a row is a
        visit, a count.
    output
        The folder of the releases: Parquet parts with the columns user, location and count, and ``_SUCCESS`` once all
        is there. The same call again resumes a batch that was interrupted.
    engine
        ``"local"`` (DuckDB on this machine) or ``"spark"``, for which the paths of tables and folders are Spark's, such
        as ``s3://...``, and a folder that was begun is not finished but refused.
    master
        Where Spark runs, as Spark writes it; by default where it is configured to, or else on this machine.
    report
        The private folder with the outcome of every user; by default it is called like `output` with ``.private``.
    personal
        A table with choices of users' own: a column for the user, and columns called like keys of the policy.
    user_column, location_column, count_column
        What the columns are called, if not user, location and count.
    on_error
        Whether a row that makes no sense ends it or is left out.
    allow_unchanged
        Whether a sensitive name may cover nothing: one of the policy that no user has, or one of a user's own that
        this user does not have. Otherwise `Unchanged` is raised, or the user gets no release.
    threads, memory
        How many cores and, by and large, how many bytes the local engine takes.
    progress
        Is told how far it is, now and then.

    Returns
    -------
    dict
        The private summary: how many users there were, how many got a release, why others did not, and how many users
        and visits each sensitive name hid.
    """
    from elsewhere.engines.columns import about_personal
    from elsewhere.engines.folder import Output, private_folder
    from elsewhere.engines.grouping import Source
    from elsewhere.engines.interrupts import saying_what_is_written
    from elsewhere.engines.local import check_input, run, summarised, versions

    if engine == "local" and find_spec("duckdb") is None:
        raise InputError("the local engine needs DuckDB; install it with: pip install 'elsewhere[batch]'")
    if engine not in ("local", "spark"):
        raise InputError(f"engine is {quote(engine)}; it is 'local' or 'spark'")
    if engine == "local" and master is not None:
        raise InputError(f"master is {quote(master)}, but the engine is 'local'; a master is for 'spark'")
    if on_error not in ("stop", "skip"):
        raise InputError(f"on_error is {quote(on_error)}; it is 'stop' or 'skip'")
    asked = policy if isinstance(policy, Policy) else Policy.load(policy)
    plan, private = asked.plan(), private_folder(output, report)
    if engine == "spark":
        from elsewhere.engines import spark

        return spark.run(plan, input, output, report=report, master=master, personal=personal, on_error=on_error,
                         allow_unchanged=allow_unchanged, user=user_column, location=location_column,
                         count=count_column)  # fmt: skip
    columns = {"user_column": user_column, "location_column": location_column, "count_column": count_column}
    source = Source.at(input, **columns)
    with about_personal():
        own = None if personal is None else Source.at(personal, user_column=user_column)
    threads = threads or os.cpu_count() or 1
    check_input(plan, source, own, allow_unchanged, threads, memory)
    question = {"policy": asked.fingerprint(), "input": source.fingerprint(), "columns": columns, "on_error": on_error,
                "allow_unchanged": allow_unchanged,
                "personal": own and own.fingerprint(), "versions": versions()}  # fmt: skip
    destination = Output(Path(output), private, question)
    with closing(destination), saying_what_is_written(lambda: destination.journal["parts"]):
        if not destination.done:
            run(plan, source, destination, personal=own, on_error=on_error, allow_unchanged=allow_unchanged,
                threads=threads, memory=memory, report=progress)  # fmt: skip
            destination.finish(summarised(destination, asked.sensitive))
        return destination.summary()
