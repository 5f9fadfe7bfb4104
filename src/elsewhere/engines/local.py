"""The engine for one machine: DuckDB groups and sorts the rows, whatever their size, and the kernel does the rest."""

from __future__ import annotations

import os
import shutil
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from glob import glob
from importlib import import_module
from importlib.metadata import version
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Literal

import numpy as np

from elsewhere.engines.arrow import Array, Batch, Table, pa, pc
from elsewhere.engines.columns import COLUMNS, complaint, find_column, kind_of
from elsewhere.engines.folder import Output
from elsewhere.engines.kernel import PERSONAL, Plans, is_plain, sanitize_users
from elsewhere.engines.users import whole_users
from elsewhere.files import passing_folder
from elsewhere.model.errors import InputError, quoted
from elsewhere.policy import Plan
from elsewhere.release.report import PRIVATE

#: Rows of a part, and of what a worker gets at a time: a user of its own takes long if there is anything to search.
_PART_ROWS = 1 << 20
_PLAIN_ROWS, _SEARCHED_ROWS = 1 << 17, 1 << 12
#: A part of what fits into the numbers that DuckDB has for it, since it is known by and large only.
_FEW_NAMES = 1 << 15
#: A column of our own. A bucket has the users whose hashes begin alike: with a million users some fifteen, with a
#: billion few enough to be held.
_BUCKET = "bucket"
_BUCKET_BITS = 16
_LOADED = "elsewhere.engines.loaded"
#: Of the memory, in eighths; the rest is for what is worked on.
_DUCKDB_SHARE = 7
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
_NUMBER = ("FLOAT", "DOUBLE", "DECIMAL", "VARCHAR")


@dataclass(frozen=True)
class Source:
    """Files of one kind, and the columns of them that matter."""

    files: tuple[str, ...]
    user_column: str | None = None
    location_column: str | None = None
    count_column: str | None = None

    @classmethod
    def at(cls, path: str | os.PathLike[str], **columns: str | None) -> Source:
        """The files at a path: a file, a folder of them, or a pattern."""
        files = _files(os.fspath(path))
        if len({kind_of(file) for file in files}) > 1:
            raise InputError(f"{quoted(os.fspath(path))} has files of more than one kind")
        return cls(tuple(files), **columns)

    def fingerprint(self) -> list[tuple[str, int, int]]:
        """What tells whether the files have changed."""
        stats = [(file, Path(file).stat()) for file in self.files]
        return [(os.path.realpath(file), stat.st_size, stat.st_mtime_ns) for file, stat in stats]

    def table(self) -> str:
        """The files as a table of SQL."""
        listed = "[" + ", ".join(_literal(file) for file in self.files) + "]"
        if kind_of(self.files[0]) == "parquet":
            return f"read_parquet({listed})"
        delimiter = ", delim = '\t'" if kind_of(self.files[0]) == "tsv" else ""
        return f"read_csv({listed}, header = true, all_varchar = true{delimiter})"


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


def run(
    plan: Plan,
    source: Source,
    output: Output,
    *,
    personal: Source | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    threads: int = 1,
    memory: int,
    report: Callable[[Progress], None] | None = None,
) -> Progress:
    """Sanitize the users of the source that are not in the output yet, bucket by bucket."""
    progress = Progress(**output.journal["totals"])
    skipped = _Skipped(progress.skipped_rows)
    with _connection(output.private, threads, memory) as connection, _workers(plan, threads) as (pool, rows):
        with _sentences():
            if report is not None:
                progress.expected = _number_of_users(connection, source)
            batches = _grouped(connection, source, personal, output.journal["last"], rows)
        checked = _checked(batches, on_error, skipped)
        tables = _parts(_in_order(pool, whole_users(checked, rows, together=_BUCKET)))
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


def summarised(output: Output) -> dict[str, Any]:
    """The totals of all outcomes, and the reasons why users got no release."""
    duckdb = import_module("duckdb")
    progress = Progress(**output.journal["totals"])
    summary: dict[str, Any] = {"private": PRIVATE, **progress.totals()}
    summary["without_release"] = progress.users - progress.released
    # One thread adds figures up in one order.
    with duckdb.connect(config={"threads": 1}) as connection, _sentences():
        files = "[" + ", ".join(_literal(str(file)) for file in output.outcomes()) + "]"
        if output.outcomes():
            found = connection.sql(
                "SELECT avg(quality_loss), median(quality_loss), max(quality_loss), avg(privacy_distance), "
                f"median(privacy_distance), max(gap) FROM read_parquet({files}) WHERE status <> 'none'"
            ).fetchall()[0]
            names = ("mean_quality_loss", "median_quality_loss", "largest_quality_loss", "mean_privacy_distance",
                     "median_privacy_distance", "largest_gap")  # fmt: skip
            summary |= dict(zip(names, found, strict=True))
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
        self._of = np.zeros(1 << _BUCKET_BITS, np.int64)

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


def _in_order(pool: Executor, chunks: Iterator[Table]) -> Iterator[tuple[Batch, int]]:
    """The results of the chunks and the last bucket of each; a few are worked on at the same time."""
    running: deque[tuple[Future[Batch], int]] = deque()
    ahead = 2 * pool._max_workers  # type: ignore[attr-defined]
    for rows in chunks:
        running.append((pool.submit(_answered, rows), rows.column(_BUCKET)[-1].as_py()))
        if len(running) > ahead:
            first, bucket = running.popleft()
            yield first.result(), bucket
    for result, bucket in running:
        yield result.result(), bucket


@contextmanager
def _workers(plan: Plan, threads: int) -> Iterator[tuple[Executor, int]]:
    """What answers, and how many rows at a time.

    Without a search nearly all the work is in kernels, which let other threads run; a search is led by Python, which
    does not, so that it takes processes.
    """
    if is_plain(plan.policy) or threads == 1:
        pool: Executor = ThreadPoolExecutor(threads, initializer=_prepare, initargs=(plan,))
    else:
        context = get_context("forkserver")
        context.set_forkserver_preload(["elsewhere.ready", _LOADED])
        pool = ProcessPoolExecutor(threads, context, _prepare_process, (plan,))
    with pool:
        for _ in range(threads):  # they get ready while the rows are grouped
            pool.submit(import_module, _LOADED)
        yield pool, _PLAIN_ROWS if is_plain(plan.policy) else _SEARCHED_ROWS


#: What a worker, which is a thread or the only one of its process, keeps.
_KEPT = threading.local()


def _prepare(plan: Plan) -> None:
    _KEPT.plans = Plans(plan)


def _prepare_process(plan: Plan) -> None:
    _prepare(plan)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose batch was killed would wait for its next task for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _answered(rows: Table) -> Batch:
    return sanitize_users(_KEPT.plans, rows.drop_columns([_BUCKET]))


@contextmanager
def _connection(private: Path, threads: int, memory: int) -> Iterator[Any]:
    """DuckDB, which may spill what does not fit, into a folder that nobody else can read and that does not stay."""
    duckdb = import_module("duckdb")
    for left in private.glob("spill-*"):  # by a machine that went down
        shutil.rmtree(left, ignore_errors=True)
    settings = {
        "threads": threads,
        "memory_limit": f"{memory * _DUCKDB_SHARE // 8}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
    }
    with (
        passing_folder("spill", private) as spill,
        closing(duckdb.connect(config={**settings, "temp_directory": str(spill)})) as connection,
        _sentences(),
    ):
        yield connection


@contextmanager
def _sentences() -> Iterator[None]:
    """What DuckDB has to complain about, in one sentence."""
    duckdb = import_module("duckdb")
    try:
        yield
    except duckdb.OutOfMemoryException:
        places = "neither into the memory that may be taken nor onto the disk of the private report"
        raise InputError(f"the rows fit {places}; give it more of either") from None
    except duckdb.Error as error:
        text = str(error).partition("\n\n")[0]
        raise InputError(f"the input cannot be read: {' '.join(text.split())}") from None


def versions() -> dict[str, str]:
    """Of what the bytes of the output depend on: programs, and how parts are cut."""
    programs = {name: version(name) for name in ("elsewhere", "duckdb", "pyarrow")}
    return {**programs, "parts": f"{_BUCKET_BITS} {_PLAIN_ROWS} {_SEARCHED_ROWS} {_PART_ROWS}"}


def _number_of_users(connection: Any, source: Source) -> int:
    column = _name(find_column(_described(connection, source), "user", source.user_column))
    return int(connection.sql(f"SELECT approx_count_distinct({column}) FROM {source.table()}").fetchall()[0][0])


def _grouped(connection: Any, source: Source, personal: Source | None, after: int | None, rows: int) -> Iterable[Batch]:
    """One row a location of a user, and the users of a bucket together.

    If there is a column of counts, how many rows went into a count, and how many of them are bad.
    """
    columns = _described(connection, source)
    user, location, count = (find_column(columns, name, getattr(source, f"{name}_column")) for name in COLUMNS)
    user_sql = _name(user) if columns[user] in _WHOLE else f"nullif(CAST({_name(user)} AS VARCHAR), '')"
    location_sql = _encoded(connection, source, f"CAST({_name(location)} AS VARCHAR)")
    counted = "count(*) AS count" if count is None else _sum(_name(count), columns[count])
    condition = "" if after is None else f"WHERE {_bucket(user_sql)} > {after}"
    query = (
        f'SELECT {user_sql} AS "user", {location_sql} AS location, {counted} '
        f"FROM {source.table()} {condition} GROUP BY ALL"
    )
    chosen = ""
    if personal is not None:
        mine = _described(connection, personal)
        key = find_column(mine, "user", personal.user_column)
        _check_once(connection, personal, key)
        own = [name for name in mine if name in PERSONAL]
        chosen = "".join(f", own.{_name(name)}" for name in own)
        query = (
            f"SELECT grouped.*{chosen} FROM ({query}) grouped LEFT JOIN {personal.table()} own "
            f'ON grouped."user" = CAST(own.{_name(key)} AS {"BIGINT" if columns[user] in _WHOLE else "VARCHAR"})'
        )
    # By bucket: a few short numbers are sorted in a fraction of the time that users take.
    ordered = f"SELECT *, {_bucket(_name('user'))} AS {_BUCKET} FROM ({query}) ORDER BY {_BUCKET}"
    batches: Iterable[Batch] = connection.sql(ordered).to_arrow_reader(rows)
    return batches


def _encoded(connection: Any, source: Source, text: str) -> str:
    """The location as a number that has a name: less to group, to sort and to hand over.

    That is where names are few and columns can be read on their own; else it is text. The empty name is none.
    """
    few = f"SELECT approx_count_distinct({text}) FROM {source.table()}"
    if kind_of(source.files[0]) != "parquet" or connection.sql(few).fetchall()[0][0] > _FEW_NAMES:
        return f"nullif({text}, '')"
    names = f"SELECT DISTINCT {text} FROM {source.table()} WHERE {text} <> '' ORDER BY 1"
    connection.execute(f"CREATE TYPE place AS ENUM ({names})")
    return f"TRY_CAST({text} AS place)"


def _check_once(connection: Any, personal: Source, key: str) -> None:
    """A user with two rows of choices would get the counts of both."""
    twice = connection.sql(
        f"SELECT {_name(key)} FROM {personal.table()} GROUP BY 1 HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
    ).fetchall()
    if twice:
        raise InputError(f"the user {quoted(twice[0][0])} has more than one row of choices of their own")


def _sum(name: str, type_: str) -> str:
    """The sum of the counts that are some, the number of those that are not, and of all."""
    if type_ not in _WHOLE and not type_.startswith(_NUMBER):
        raise InputError(f"the column {name} is of type {type_}; counts are whole numbers")
    whole = f"TRY_CAST({name} AS BIGINT)"
    same = "" if type_ in _WHOLE else f" AND {whole} = TRY_CAST({name} AS DOUBLE)"
    good = f"({whole} >= 0{same}) IS TRUE"
    return (
        f"CAST(sum({whole}) FILTER (WHERE {good}) AS BIGINT) AS count, "
        f"count(*) FILTER (WHERE NOT {good}) AS bad, count(*) AS rows"
    )


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
                raise InputError(complaint(first))
            skipped.add(batch.column(_BUCKET), pc.if_else(missing, batch.column("rows"), bad))
            batch = batch.filter(pc.and_(pc.invert(missing), count.is_valid()))
        yield batch.drop_columns(["bad", "rows"])


def _described(connection: Any, source: Source) -> dict[str, str]:
    with _sentences():
        rows = connection.sql(f"DESCRIBE SELECT * FROM {source.table()}").fetchall()
    return {name: type_ for name, type_, *_ in rows}


def _files(path: str) -> list[str]:
    if Path(path).is_dir():
        found = sorted(map(str, Path(path).rglob("*")))
    else:
        found = [path] if Path(path).exists() else sorted(glob(path, recursive=True))  # noqa: PTH207 (of any path)
    files = [file for file in found if Path(file).is_file() and not Path(file).name.startswith((".", "_"))]
    if not files:
        raise InputError(f"there is no file at {quoted(path)}")
    return files


def _bucket(user: str) -> str:
    return f"CAST(hash({user}) >> {64 - _BUCKET_BITS} AS USMALLINT)"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
