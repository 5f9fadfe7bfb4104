"""Rows of files of any size, grouped and ordered by DuckDB: one for each location of a user."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import Any

from elsewhere.engines.arrow import Batch, pc
from elsewhere.engines.columns import about_personal, kind_of
from elsewhere.engines.interrupts import interruptible
from elsewhere.engines.plans import PERSONAL
from elsewhere.files import temporary_directory
from elsewhere.histories.columns import SAMPLE, Columns, find_columns, find_user, numeric_columns
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

#: A part of what fits into the numbers that DuckDB has for it, since it is known by and large only.
_FEW_NAMES = 1 << 15
#: Rows whose locations are looked at together.
_ROWS = 1 << 17
#: A column of our own. A bucket has the users whose hashes begin alike: with a million users some fifteen, with a
#: billion few enough to be held.
BUCKET = "bucket"
BUCKET_BITS = 16
#: Of the memory, in eighths; the rest is for what is worked on.
_DUCKDB_SHARE = 7
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
_FRACTION = ("FLOAT", "DOUBLE", "DECIMAL")
_NUMBER = (*_FRACTION, "VARCHAR")


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
            raise InputError(f"{quote(os.fspath(path))} has files of more than one kind")
        return cls(tuple(files), **columns)

    def fingerprint(self) -> list[tuple[str, int, int]]:
        """What tells whether the files have changed."""
        stats = [(file, Path(file).stat()) for file in self.files]
        return [(os.path.realpath(file), stat.st_size, stat.st_mtime_ns) for file, stat in stats]

    def table(self) -> str:
        """The files as a table of SQL."""
        listed = "[" + ", ".join(literal(file) for file in self.files) + "]"
        return f"read_parquet({listed})" if self.is_parquet else f"read_csv({listed}, header = true, {self._text})"

    def header(self) -> str:
        """The first text file as a table of SQL whose first row has the names of the columns."""
        # Read by several threads, the first row may be any.
        return f"read_csv({literal(self.files[0])}, header = false, parallel = false, {self._text})"

    @property
    def is_parquet(self) -> bool:
        return kind_of(self.files[0]) == "parquet"

    @property
    def _text(self) -> str:
        return "all_varchar = true" + (", delim = '\t'" if kind_of(self.files[0]) == "tsv" else "")


@contextmanager
def connected(private: Path, threads: int, memory: int) -> Iterator[Any]:
    """DuckDB, which may spill what does not fit, into a folder that nobody else can read and that does not stay."""
    for left in private.glob("spill-*"):  # by a machine that went down
        shutil.rmtree(left, ignore_errors=True)
    with temporary_directory("spill", private) as spill, reading(threads, memory, str(spill)) as connection:
        yield connection


@contextmanager
def reading(threads: int, memory: int, spill: str = "") -> Iterator[Any]:
    """DuckDB, which without a folder for it spills nothing."""
    settings = {
        "threads": threads,
        "memory_limit": f"{memory * _DUCKDB_SHARE // 8}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
        "temp_directory": spill,
    }
    with sentences(), interruptible(partial(_duckdb().connect, config=settings)) as connection:
        connection.execute("SET enable_progress_bar = false")  # where Python looks interactive, DuckDB prints one
        yield connection


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ModuleNotFoundError:
        raise InputError("the local engine needs DuckDB; install it with: pip install 'elsewhere[batch]'") from None


@contextmanager
def sentences() -> Iterator[None]:
    """What DuckDB has to complain about, in one sentence."""
    duckdb = _duckdb()
    try:
        yield
    except duckdb.OutOfMemoryException:
        places = "neither into the memory that may be taken nor onto the disk of the private report"
        raise InputError(f"the rows fit {places}; give it more of either") from None
    except duckdb.Error as error:
        text = str(error).partition("\n\n")[0]
        raise InputError(f"the table cannot be read: {one_line(text)}") from None


def number_of_users(connection: Any, source: Source) -> int:
    column = _name(columns_of(connection, source).required_user())
    return int(connection.sql(f"SELECT approx_count_distinct({column}) FROM {source.table()}").fetchall()[0][0])


def choices_of(connection: Any, personal: Source) -> tuple[str, list[str]]:
    """The column with the users of a table of their own choices, and the columns with choices."""
    with about_personal():
        names = [*_described(connection, personal)]
        return find_user(names, personal.user_column), [name for name in names if name in PERSONAL]


def locations(connection: Any, source: Source) -> Iterator[list[str]]:
    """The different names of locations in some rows at a time; a name may come again."""
    column = _name(columns_of(connection, source).location)
    with sentences():
        rows = connection.sql(f"SELECT CAST({column} AS VARCHAR) AS location FROM {source.table()}")
        for batch in rows.to_arrow_reader(_ROWS):
            yield pc.unique(batch.column(0)).drop_null().to_pylist()


def grouped(connection: Any, source: Source, personal: Source | None, after: int | None, rows: int) -> Iterable[Batch]:
    """One row a location of a user, and the users of a bucket together.

    If there is a column of counts, how many rows went into a count, and how many of them are bad.
    """
    columns, found = _described(connection, source), columns_of(connection, source)
    user, location, count = found.required_user(), found.location, found.count
    user_sql = _name(user) if columns[user] in _WHOLE else f"nullif(CAST({_name(user)} AS VARCHAR), '')"
    location_sql = _encoded(connection, source, f"CAST({_name(location)} AS VARCHAR)")
    counted = "count(*) AS count" if count is None else _sum(_name(count), columns[count])
    condition = "" if after is None else f"WHERE {_bucket(user_sql)} > {after}"
    query = (
        f'SELECT {user_sql} AS "user", {location_sql} AS location, {counted} '
        f"FROM {source.table()} {condition} GROUP BY ALL"
    )
    if personal is not None:
        key, own = choices_of(connection, personal)
        with about_personal():
            _check_once(connection, personal, key)
        chosen = "".join(f", own.{_name(name)}" for name in own)
        query = (
            f"SELECT grouped.*{chosen} FROM ({query}) grouped LEFT JOIN {personal.table()} own "
            f'ON grouped."user" = CAST(own.{_name(key)} AS {"BIGINT" if columns[user] in _WHOLE else "VARCHAR"})'
        )
    # By bucket: a few short numbers are sorted in a fraction of the time that users take.
    ordered = f"SELECT *, {_bucket(_name('user'))} AS {BUCKET} FROM ({query}) ORDER BY {BUCKET}"
    batches: Iterable[Batch] = connection.sql(ordered).to_arrow_reader(rows)
    return batches


def column_notes(connection: Any, source: Source) -> list[str]:
    """Sentences for the person about columns of numbers that are not read."""
    columns = _described(connection, source)
    if source.is_parquet:
        numeric = [name for name, type_ in columns.items() if type_ in _WHOLE or type_.startswith(_FRACTION)]
    else:
        with sentences():
            rows = connection.sql(f"SELECT * FROM {source.table()} LIMIT {SAMPLE}").fetchall()
        numeric = numeric_columns([*columns], rows)
    return columns_of(connection, source).notes(numeric)


def columns_of(connection: Any, source: Source) -> Columns:
    """The columns that matter."""
    given = {"user": source.user_column, "location": source.location_column, "count": source.count_column}
    names = [*_described(connection, source)]
    if not source.is_parquet:
        # DuckDB renames the second of two columns of one name; which of them is meant, the header itself leaves open.
        with sentences():
            header = connection.sql(f"SELECT * FROM {source.header()} LIMIT 1").fetchall()
        find_columns([name or "" for name in header[0]] if header else names, **given)
    return find_columns(names, **given)


def _encoded(connection: Any, source: Source, text: str) -> str:
    """The location as a number that has a name: less to group, to sort and to hand over.

    That is where names are few and columns can be read on their own; else it is text. The empty name is none.
    """
    few = f"SELECT approx_count_distinct({text}) FROM {source.table()}"
    if not source.is_parquet or connection.sql(few).fetchall()[0][0] > _FEW_NAMES:
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
        raise InputError(f"the user {quote(twice[0][0])} has more than one row of choices of their own")


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


def _described(connection: Any, source: Source) -> dict[str, str]:
    with sentences():
        rows = connection.sql(f"DESCRIBE SELECT * FROM {source.table()}").fetchall()
    return {name: type_ for name, type_, *_ in rows}


def _files(path: str) -> list[str]:
    if Path(path).is_dir():
        found = sorted(map(str, Path(path).rglob("*")))
    else:
        found = [path] if Path(path).exists() else sorted(glob(path, recursive=True))  # noqa: PTH207 (of any path)
    files = [file for file in found if Path(file).is_file() and not Path(file).name.startswith((".", "_"))]
    if not files:
        raise InputError(f"there is no file at {quote(path)}")
    return files


def _bucket(user: str) -> str:
    return f"CAST(hash({user}) >> {64 - BUCKET_BITS} AS USMALLINT)"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
