"""Group and order the rows of a table of any size with DuckDB: one row per user and location."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from elsewhere.engines.arrow import Batch, DataType, pa, pc
from elsewhere.engines.columns import about_personal
from elsewhere.engines.local.interrupts import interruptible
from elsewhere.engines.local.ordering import RUN_ROWS, Room, by_bucket
from elsewhere.engines.local.sources import (
    Source,
    are_large,
    check_scalar,
    is_bytes,
    is_fraction,
    is_number,
    is_text,
    plain_type,
)
from elsewhere.engines.local.spilling import no_room
from elsewhere.engines.local.table_files import literal, unreadable
from elsewhere.engines.outcome import check_keys
from elsewhere.engines.plans import LISTS, check_choices
from elsewhere.engines.rows import is_list
from elsewhere.engines.users import EARLIER
from elsewhere.extras import load
from elsewhere.histories.columns import Columns, called, called_if_any, find_columns, find_user
from elsewhere.model.errors import InputError
from elsewhere.text import name_list, plural, quote

#: Half of what 16-bit codes can hold, because the number of names is known only approximately.
_FEW_NAMES = 1 << 15
#: A table with at most this many rows is answered before workers would be ready.
FEW_ROWS = 2000
#: Rows whose locations are read together.
_ROWS = 1 << 17
#: Names of internal columns, which no key may have. A bucket has the users whose hashes share a prefix: about fifteen
#: of a million users; of a billion, still few enough for the memory.
BUCKET, BAD, NUMBER = "__bucket", "__bad", "__rows"
#: Buckets whose users may share releases.
BLOCK = "__block"
BUCKET_BITS = 16
#: DuckDB's share of the memory, in eighths. The rest is for rows that wait to be sorted, and later for the workers.
_DUCKDB_SHARE = 7
#: The pattern of counts in text. Anything else, such as 1_000 or 0x1F, is not a count.
_NUMBER = r"\s*[+]?[0-9]+([.][0-9]*)?([eE][+]?[0-9]+)?\s*"
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Rows:
    """The rows of a source: the columns that matter, and the name of the table in SQL."""

    source: Source
    columns: Columns
    #: The column with the users, and further keys: each of their values has a release.
    keys: tuple[str, ...]
    table: str = ""

    @classmethod
    def of(cls, source: Source, keys: Sequence[str] = (), *, rows_are_visits: bool = False, **given: Any) -> Rows:
        """The given columns, and for the others the columns with a known name."""
        names = source.schema.names
        columns = find_columns(names, **given)
        if rows_are_visits:
            columns = replace(columns, count=None, count_given=True)
        whose = (columns.required_user(), *(called(names, key) for key in keys))
        check_keys(whose)
        found = cls(source, columns, whose)
        for name in (*whose, columns.location):
            check_scalar(name, found.type_of(name))
        if columns.count is not None:
            _check_count(columns.count, found.type_of(columns.count))
        return found

    def earlier(self, source: Source) -> Rows:
        """The rows of earlier releases, whose keys have the same names as those of these rows."""
        names = source.schema.names
        user = self.keys[0] if called_if_any(names, self.keys[0]) is not None else None
        found = Rows.of(source, self.keys[1:], user=user, location=called_if_any(names, "location"))
        if found.columns.count is None:
            raise InputError(
                f"earlier releases need counts, but none of the columns {name_list(names)} is known as counts"
            )
        return found

    def attached(self, connection: Any, name: str = "input") -> Rows:
        """The same rows, registered in DuckDB under a name."""
        with sentences():
            return replace(self, table=self.source.attach(connection, name))

    def type_of(self, name: str) -> DataType:
        return self.source.schema.field(self._at(name)).type

    def column(self, name: str) -> str:
        return f"c{self._at(name)}"

    def key(self, name: str) -> str:
        """The values of a key: integers unchanged, anything else as text."""
        whole = pa.types.is_integer(plain_type(self.type_of(name)))
        return self.column(name) if whole else self.text(name)

    def text(self, name: str) -> str:
        return _text(self.column(name), name, self.type_of(name))

    def text_or_number(self, name: str) -> str:
        return self.column(name) if is_number(self.type_of(name)) else self.text(name)

    def notes(self) -> list[str]:
        """Notes about columns of numbers that are not read."""
        return self.columns.notes([name for name in self.source.numeric if name not in self.keys])

    def _at(self, name: str) -> int:
        found: int = self.source.schema.names.index(name)
        return found


@dataclass(frozen=True)
class Choices:
    """A table of users' own choices: the column with the users, and those with choices."""

    source: Source
    user: str
    names: tuple[str, ...]
    table: str = ""

    @classmethod
    def of(cls, source: Source, user: str | None) -> Choices:
        names = source.schema.names
        key = find_user(names, user if user in names else None)
        choices = check_choices(names, besides=(key,))
        for name in (key, *choices):
            kind = source.schema.field(names.index(name)).type
            check_scalar(name, kind.value_type if name in LISTS and is_list(kind) else kind)
        return cls(source, key, tuple(choices))

    def attached(self, connection: Any) -> Choices:
        with sentences():
            return replace(self, table=self.source.attach(connection, "personal"))

    def content_hash(self, connection: Any) -> str:
        return _hash_of(connection, self.table, [self.column(name) for name in (self.user, *self.names)])

    def type_of(self, name: str) -> DataType:
        return self.source.schema.field(self.source.schema.names.index(name)).type

    def column(self, name: str) -> str:
        column, kind = f"c{self.source.schema.names.index(name)}", self.type_of(name)
        return column if is_list(kind) or is_number(kind) else _text(column, name, kind)


def room_beside_duckdb(spill: Path, memory: int) -> Room:
    """Where rows may wait that DuckDB has grouped."""
    return Room(memory - memory * _DUCKDB_SHARE // 8, spill)


@contextmanager
def connected(spill: Path, threads: int, memory: int) -> Iterator[Any]:
    """A connection to DuckDB that may spill rows to a folder."""
    settings = {
        "threads": threads,
        "memory_limit": f"{memory * _DUCKDB_SHARE // 8}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
        "temp_directory": str(spill),
    }
    with opened(settings) as connection:
        yield connection


@contextmanager
def opened(settings: Mapping[str, Any]) -> Iterator[Any]:
    """A connection to DuckDB with some settings, one-sentence errors and no progress bar."""
    with sentences(), interruptible(partial(_duckdb().connect, config=dict(settings))) as connection:
        with suppress(_duckdb().Error):  # a notebook without widgets has no progress bar to switch off
            connection.execute("SET enable_progress_bar = false")  # it would print to standard output
        yield connection


def _duckdb() -> Any:
    return load("duckdb", "the local engine needs DuckDB", "batch")


@contextmanager
def sentences() -> Iterator[None]:
    """Turn DuckDB's errors into one sentence."""
    duckdb = _duckdb()
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise no_room() from None
    except duckdb.Error as error:
        text = str(error).strip()  # Arrow's message comes through DuckDB
        raise unreadable(text.splitlines()[-1] if "Traceback" in text else text.partition("\n\n")[0]) from None


def number_of_users(connection: Any, rows: Rows) -> int:
    found = connection.sql(f"SELECT approx_count_distinct({rows.column(rows.keys[0])}) FROM {rows.table}").fetchall()
    return int(found[0][0])


def block_bits(connection: Any, rows: Rows, users: int) -> int:
    """The number of leading bits of a hash that gives blocks of about this many users."""
    with sentences():
        query = f"SELECT count(DISTINCT {rows.column(rows.keys[0])}) FROM {rows.table}"
        number: int = connection.sql(query).fetchall()[0][0]
    return min(BUCKET_BITS, max(0, (-(-number // users) - 1).bit_length()))


def content_hash(connection: Any, rows: Rows) -> str:
    """A hash of a table that is not in files. It does not depend on the order of the rows."""
    names = [*rows.keys, rows.columns.location, *([rows.columns.count] if rows.columns.count else [])]
    return _hash_of(connection, rows.table, [*map(rows.column, names)])


def _hash_of(connection: Any, table: str, columns: Sequence[str]) -> str:
    with sentences():
        found = connection.sql(f"SELECT count(*), sum(hash({', '.join(columns)})) FROM {table}").fetchall()
    return str(found[0])


def has_few_rows(connection: Any, rows: Rows) -> bool:
    """Whether a table is so small that it is answered before workers would be ready."""
    if are_large(rows.source.files):
        return False
    with sentences():
        found = connection.sql(f"SELECT 1 FROM {rows.table} LIMIT {FEW_ROWS + 1}").fetchall()
    return len(found) <= FEW_ROWS


class Locations:
    """The names of the locations of a table. Usually the first ones are enough, and these are read only once."""

    def __init__(self, connection: Any, rows: Rows) -> None:
        self._connection, self._rows = connection, rows
        self._first: list[str] | None = None

    def names(self) -> Generator[list[str], None, None]:
        """The distinct names, some rows at a time; a name may appear again.

        Close the iterator if you do not need all of them: until then DuckDB accepts no other query.
        """
        if self._first is not None:
            yield self._first
        rows = self._rows
        with sentences():
            found = self._connection.sql(f"SELECT {rows.text(rows.columns.location)} AS location FROM {rows.table}")
            for batch in found.to_arrow_reader(_ROWS):
                names = pc.unique(batch.column(0)).drop_null().to_pylist()
                if self._first is None:
                    self._first = names
                yield names


def grouped(
    connection: Any, rows: Rows, personal: Choices | None, after: int | None, room: Room, since: Rows | None = None
) -> Iterable[Batch]:
    """One row per user and location, in the order of buckets, some rows at a time.

    The columns keep their names in the input, except the location and the count. If there is a column of counts, two
    more columns have the number of rows of each count, and the number of bad rows among them. Rows of earlier releases,
    if there are any, are marked by the column `EARLIER`.
    """
    count, names = rows.columns.count, [*rows.keys, "location", "count"]
    keys = [rows.key(name) for name in rows.keys]
    places = _encoded(connection, [rows] if since is None else [rows, since])
    counted = _visits(connection, rows) if count is None else _sum(rows.column(count), rows.type_of(count))
    if since is not None:
        counted += f"{', 0 AS bad, count(*) AS number' if count is None else ''}, false AS earlier"
    query = _grouping(rows, keys, places[0], counted, after)
    if since is not None:
        query += f" UNION ALL {_continued(connection, rows, since, places[1], after)}"
    names += [] if count is None and since is None else [BAD, NUMBER]
    names += [] if since is None else [EARLIER]
    if personal is not None:
        with about_personal():
            query = _joined(connection, query, personal, rows.type_of(rows.keys[0]))
        names += personal.names
    found = connection.sql(f"SELECT *, {_bucket('k0')} AS bucket FROM ({query})").to_arrow_reader(RUN_ROWS)
    yield from by_bucket((batch.rename_columns([*names, BUCKET]) for batch in found), BUCKET, room)


def _grouping(rows: Rows, keys: Sequence[str], place: str, counted: str, after: int | None, known: str = "") -> str:
    chosen = ", ".join(f"{key} AS k{at}" for at, key in enumerate(keys))
    conditions = [*([known] if known else []), *([] if after is None else [f"{_bucket(keys[0])} > {after}"])]
    condition = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {chosen}, {place} AS place, {counted} FROM {rows.table} {condition} GROUP BY ALL"


def _continued(connection: Any, rows: Rows, since: Rows, place: str, after: int | None) -> str:
    """The rows of earlier releases in the same columns; rows whose key cannot be in the input are dropped."""
    count = since.columns.count
    assert count is not None
    types = connection.sql(f"SELECT {', '.join(map(rows.key, rows.keys))} FROM {rows.table} LIMIT 0").types
    # A key of another type would fall into another bucket.
    keys = [f"TRY_CAST({key} AS {type_})" for key, type_ in zip(_keys_alike(rows, since), types, strict=True)]
    known = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    counted = f"{_sum(since.column(count), since.type_of(count))}, true AS earlier"
    return _grouping(since, keys, place, counted, after, known)


def _keys_alike(rows: Rows, since: Rows) -> list[str]:
    """The keys of earlier releases, in the types of the input."""
    pairs = zip(rows.keys, since.keys, strict=True)
    return [_alike(since.text_or_number(own), since.type_of(own), rows.type_of(name)) for name, own in pairs]


def missing_continued(connection: Any, rows: Rows, since: Rows) -> list[str]:
    """A note about users with an earlier release who are not in the input; raise if that is true of all."""
    users = f"(SELECT DISTINCT {_keys_alike(rows, since)[0]} AS u, {since.text(since.keys[0])} AS t FROM {since.table})"
    return _missing(connection, rows, users, "u", "with an earlier release")


def missing_users(connection: Any, rows: Rows, personal: Choices) -> list[str]:
    """A note about users with choices of their own who are not in the input; raise if that is true of all."""
    key = _comparable(personal, rows.type_of(rows.keys[0]))
    return _missing(connection, rows, personal.table, key, "with personal choices")


def _missing(connection: Any, rows: Rows, table: str, key: str, which: str) -> list[str]:
    known = f"SELECT DISTINCT {rows.key(rows.keys[0])} AS k FROM {rows.table}"
    query = f"SELECT count(*), count(known.k) FROM {table} LEFT JOIN ({known}) known ON known.k = {key}"
    with sentences():
        users, found = connection.sql(query).fetchall()[0]
    if users and not found:
        raise InputError("none of its users is in the input; write users the same way in both")
    if found == users:
        return []
    missing = users - found
    return [f"{plural(missing, 'user')} {which} {'is' if missing == 1 else 'are'} not in the input."]


def _joined(connection: Any, query: str, personal: Choices, user_type: DataType) -> str:
    """The query with one more column for each of the users' own choices."""
    key = _comparable(personal, user_type)
    users = f"SELECT {key} AS k FROM {personal.table}"
    repeated = f"SELECT k FROM ({users}) WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1 ORDER BY k LIMIT 1"
    twice = connection.sql(repeated).fetchall()
    if twice:  # they would get the counts of both
        raise InputError(f"the user {quote(twice[0][0])} has more than one row of personal choices")
    chosen = [f"{personal.column(name)} AS p{at}" for at, name in enumerate(personal.names)]
    own = f"SELECT {', '.join([f'{key} AS k', *chosen])} FROM {personal.table}"
    columns = "".join(f", own.p{at}" for at in range(len(chosen)))
    return f"SELECT grouped.*{columns} FROM ({query}) grouped LEFT JOIN ({own}) own ON grouped.k0 = own.k"


def _comparable(personal: Choices, user_type: DataType) -> str:
    """The users of a personal table, in the type of the input."""
    return _alike(personal.column(personal.user), personal.type_of(personal.user), user_type)


def _alike(key: str, given: DataType, wanted: DataType) -> str:
    """The values of a column converted to another type; null if that type cannot hold them."""
    kind = plain_type(wanted)
    if not pa.types.is_integer(kind):
        return f"CAST({key} AS VARCHAR)"
    number = f"TRY_CAST({key} AS {'UBIGINT' if pa.types.is_unsigned_integer(kind) else 'BIGINT'})"
    # DuckDB would round 1.4 to 1, which is another user.
    as_given = "DOUBLE" if is_fraction(given) else "VARCHAR"
    return f"CASE WHEN CAST({number} AS {as_given}) = CAST({key} AS {as_given}) THEN {number} END"


def _encoded(connection: Any, tables: Sequence[Rows]) -> list[str]:
    """Encode the locations of some tables as numbers, which are faster to group, sort and pass on than text.

    This is done if there are few names and columns can be read separately. Otherwise locations stay text.
    """
    texts, native = [rows.text(rows.columns.location) for rows in tables], True
    for rows, text in zip(tables, texts, strict=True):
        few = f"SELECT approx_count_distinct({text}) FROM {rows.table}"
        native = native and rows.source.is_native and connection.sql(few).fetchall()[0][0] <= _FEW_NAMES
    if not native:
        return texts
    pairs = zip(tables, texts, strict=True)
    names = " UNION ".join(f"SELECT {text} AS name FROM {rows.table} WHERE {text} IS NOT NULL" for rows, text in pairs)
    connection.execute(f"CREATE TYPE place AS ENUM (SELECT DISTINCT name FROM ({names}) ORDER BY 1)")
    return [f"TRY_CAST({text} AS place)" for text in texts]


def _text(column: str, name: str, kind: DataType) -> str:
    """The values of a column as text. The empty text becomes null, and bytes must be UTF-8."""
    if not is_bytes(plain_type(kind)):
        return f"nullif(CAST({column} AS VARCHAR), '')"
    why = literal(f"the column {quote(name)} has bytes that are not UTF-8 text")
    decoded = f"TRY(decode({column}))"
    return f"nullif(CASE WHEN {decoded} IS NULL AND {column} IS NOT NULL THEN error({why}) ELSE {decoded} END, '')"


def _check_count(name: str, kind: DataType) -> None:
    plain = plain_type(kind)
    if not is_number(plain) and not is_text(plain) and not pa.types.is_null(plain):
        raise InputError(f"the column {quote(name)} is of type {kind}; counts are whole numbers")


def _visits(connection: Any, rows: Rows) -> str:
    """The number of rows, in half the bytes if no larger one is possible: there is less to sort and to hand over."""
    if rows.source.is_native and connection.sql(f"SELECT count(*) FROM {rows.table}").fetchall()[0][0] < 2**32:
        return "CAST(count(*) AS UINTEGER) AS counted"
    return "count(*) AS counted"


def _sum(column: str, kind: DataType) -> str:
    """The sum of the valid counts, the number of invalid ones, and the number of all."""
    whole, plain = f"TRY_CAST({column} AS BIGINT)", plain_type(kind)
    good = f"{whole} >= 0"
    if is_fraction(plain):
        good += f" AND {whole} = TRY_CAST({column} AS DOUBLE)"
    if is_text(plain):
        # Nearly every count is written like this. Only the others need the pattern, which takes longer than the sum.
        usual = f"CAST({whole} AS VARCHAR) = CAST({column} AS VARCHAR)"
        fits = f"{whole} = TRY_CAST({column} AS DOUBLE) AND regexp_full_match({column}, {literal(_NUMBER)})"
        good = f"CASE WHEN {usual} THEN {good} ELSE {good} AND {fits} END"
    good = f"({good}) IS TRUE"
    total = f"sum({whole}) FILTER (WHERE {good})"
    # If a sum overflows, the user is refused for the size anyway.
    return (
        f"CAST(CASE WHEN {total} > {_LARGEST} THEN {_LARGEST} ELSE {total} END AS BIGINT) AS counted, "
        f"count(*) FILTER (WHERE NOT {good}) AS bad, count(*) AS number"
    )


def _bucket(user: str) -> str:
    return f"CAST(hash({user}) >> {64 - BUCKET_BITS} AS USMALLINT)"
