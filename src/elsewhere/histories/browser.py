"""The history of a browser: Firefox's `places.sqlite`, or `History` of Chrome, Chromium, Edge, Brave and the like.

A location is a site: the host of an address without its www. The browser may be running, so nothing is written to its
folder and no lock is taken. A database without pending changes is read in place. If SQLite must first merge a log, the
database is copied to a private folder, which is removed at once. A database in memory stays there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, plural

if TYPE_CHECKING:
    from sqlite3 import Connection

_QUERIES = {
    "moz_historyvisits": "SELECT url, COUNT(*), {} FROM moz_historyvisits JOIN moz_places ON moz_places.id = place_id",
    "visits": "SELECT urls.url, COUNT(*), {} FROM visits JOIN urls ON urls.id = visits.url",
}
#: The SQL for the time of a visit, in seconds since 1970. Chrome counts microseconds from 1601.
_TIMES = {"moz_historyvisits": "visit_date / 1e6", "visits": "visit_time / 1e6 - 11644473600"}

#: The files in which SQLite keeps pending changes.
_LOGS = ("-wal", "-journal")

#: The bytes of a database's header that say whether it uses a write-ahead log.
_VERSIONS = slice(18, 20)
_THROUGH_A_LOG = b"\2\2"

_TRIES = 5

#: An address, the number of visits to it, and their time if it is needed.
_Visits: TypeAlias = tuple[object, int, float | None]


def _read(documents: Sequence[Document], options: Options) -> Reading:
    path = documents[0].path
    counts: Counter[str] = Counter()
    calendar, elsewhere = options.calendar, 0
    timed = calendar is not None
    for url, times, moment in (
        _visits_in_memory(documents[0], timed) if path is None else _visits(path.resolve(), timed)
    ):
        site: str | None = site_of(url)
        if not site:
            elsewhere += times
            continue
        if calendar is not None:
            site = calendar.bin(site, moment, visits=times)
        if site is not None:
            counts[site] += times
    notes = left_out(elsewhere)
    if path is None and documents[0].head[_VERSIONS] == _THROUGH_A_LOG:
        notes.append("If the browser was running, its newest visits are missing: close it, and load the file again.")
    return Reading(counts, notes)


def _visits_in_memory(document: Document, timed: bool) -> list[_Visits]:
    import sqlite3

    with document.open() as file:
        content = bytearray(file.read())
    # A database that is written through a log says so in its header; without the log it is read as it stands.
    content[_VERSIONS] = b"\1\1"
    with _sound(), closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(content))
        return _query(database, timed)


def _visits(path: Path, timed: bool) -> list[_Visits]:
    """Addresses with the numbers of visits to them, from one consistent state of the database."""
    for _ in range(_TRIES):
        before = _stamps(path)
        visits, failure = None, None
        try:
            with _at_rest(path) as address:
                visits = _query_at(address, timed)
        except (InputError, FileNotFoundError) as error:
            failure = error
        if _stamps(path) != before:
            continue  # the browser wrote meanwhile, so the data may be inconsistent
        if failure is not None:
            raise failure
        return visits or []
    raise InputError("the browser keeps writing to it; close the browser and try again")


def _stamps(path: Path) -> list[tuple[int, int] | None]:
    """Time stamps that change whenever the database or one of its logs is written."""
    stamps: list[tuple[int, int] | None] = []
    for file in (path, *_logs(path)):
        try:
            stamps.append((file.stat().st_mtime_ns, file.stat().st_size))
        except FileNotFoundError:
            stamps.append(None)
    return stamps


def _logs(path: Path) -> list[Path]:
    return [path.with_name(path.name + log) for log in _LOGS]


@contextmanager
def _at_rest(path: Path) -> Iterator[str]:
    """The URI of a database that nobody writes to and that has no pending changes."""
    logs = [log for log in _logs(path) if log.is_file() and log.stat().st_size]
    if not logs:
        yield path.as_uri() + "?immutable=1"
        return
    import shutil

    from elsewhere.files import temporary_directory

    with temporary_directory("elsewhere") as folder:
        for file in (path, *logs):
            shutil.copyfile(file, folder / file.name)
        yield (folder / path.name).as_uri()


def _query_at(address: str, timed: bool) -> list[_Visits]:
    import sqlite3

    with _sound(), closing(sqlite3.connect(address, uri=True)) as database:
        return _query(database, timed)


def _query(database: Connection, timed: bool) -> list[_Visits]:
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA temp_store = MEMORY")  # temporary data must not reach the disk
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    known = [query.format(_TIMES[table] if timed else "NULL") for table, query in _QUERIES.items() if table in tables]
    if not known:
        raise InputError("it is a database, but not the history of Firefox, Chrome or a related browser")
    return database.execute(f"{known[0]} GROUP BY 1, 3").fetchall()


@contextmanager
def _sound() -> Iterator[None]:
    """Turn any error of a database into one sentence."""
    import sqlite3

    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise InputError(f"it is not a valid database ({one_line(error)})") from None


def site_of(url: object) -> str:
    """The host of a web address without its www; empty if it is not a web address."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    return (host or "").removeprefix("www.")


def left_out(elsewhere: int) -> list[str]:
    """A sentence about visits that are not to sites, if there are any."""
    return [f"Left out {plural(elsewhere, 'visit')} to addresses that are not web sites."] if elsewhere else []


EXPORT = Export("browser", lambda document: document.head.startswith(b"SQLite format 3\0"), _read)
