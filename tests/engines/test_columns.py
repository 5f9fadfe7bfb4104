"""One reading of tables: a single file, DuckDB and Spark take the same columns, or refuse for the same reason."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import elsewhere as ew
from elsewhere.engines.local import grouping
from elsewhere.engines.local.ordering import Room
from elsewhere.engines.local.sources import open_source
from tests.support.java import java_version

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
duckdb: Any = import_module("duckdb")

#: Headers with marks on the columns that must be taken: @ for the user, ! for the location, # for the count, ~ for
#: coordinates, which are no counts.
TAKEN = """
user@,location!,count#
user@,location!
location!,user@,dwell
count#,location!,user@,dwell,speed
USER@,Location!,COUNT#
 user @, location !, count #
user_id@,place!,visits#
User ID@,Place Name!,Number of Visits#
user-id@,place-name!,num-visits#
userId@,placeName!,visitCount#
uid@,venue!,n#
person@,venue_name!,times#
customer_id@,category!,frequency#
member@,site!,freq#
username@,poi!,total#
user@,name!,number#
user@,name,place!,num#
user@,name,category!
user@,location!,place,category,venue
user@,location!,weight#
user@,location!,count#,weight,visits
user@,user_id,username,location!
user@,location!,checkins#
user@,location!,counts#
Benutzer@,Ort!,Anzahl#
Nutzer@,Standort!,Besuche#
user@,Ort!,Häufigkeit#
user@,Ort!,HAEUFIGKEIT#
utilisateur@,lieu!,nombre#
user@,endroit!,visites#
user@,lieu!,fréquence#
usuario@,lugar!,cantidad#
user@,sitio!,visitas#
user@,ubicación!,frecuencia#
user@,lugar!,número#
utente@,luogo!,visite#
gebruiker@,plaats!,aantal#
user@,locatie!,bezoeken#
user@,場所!,回数#
user@,\uff4c\uff4f\uff43ation!,count#
user@,\u200blocation\u200b!,count#
user@,location!,count of stars,county,counter
user@,location!,latitude~,longitude~,time
"""

REFUSED = {
    "user,place,category,count": "several columns could be the location: 'place', 'category'; choose one with",
    "user,location,visits,times": "several columns could be the count: 'visits', 'times'; choose one with count_column",
    "user,location,n,weight": "several columns could be the count: 'n', 'weight'; choose one with count_column",
    "user_id,uid,location": "several columns could be the user: 'user_id', 'uid'; choose one with user_column",
    "user,location,location": "several columns could be the location: 'location', 'location'; choose one with",
    "user,Location,location": "several columns could be the location: 'Location', 'location'; choose one with",
    "user,location,count,Count": "several columns could be the count: 'count', 'Count'; choose one with count_column",
    "user,where,count": "no location column is known; choose one of 'user', 'where', 'count' with location_column",
    "who,location,count": "no user column is known; choose one of 'who', 'location', 'count' with user_column",
    "a,b": "no location column is known; choose one of 'a', 'b' with location_column",
}

Outcome = tuple[dict[str, dict[str, int]], list[str]] | str


class Case(NamedTuple):
    """A table of one user with two equal rows; what is not to be taken holds sevens."""

    columns: list[str]
    cells: list[str]
    #: The histories and the notes, or the reason of the refusal.
    expected: Outcome


def cases() -> Iterator[Case]:
    values = {"@": "ann", "!": "cafe", "#": "3", "~": "7"}
    for header in TAKEN.strip("\n").splitlines():
        columns = header.split(",")
        ignored = [name for name in columns if name[-1] not in values]
        counts = [name[:-1] for name in columns if name.endswith("#")]
        notes = [] if not ignored else [note(ignored, counts)]
        names = [name.rstrip("@!#~") for name in columns]
        cells = [values.get(name[-1], "7") for name in columns]
        yield Case(names, cells, ({"ann": {"cafe": 6 if counts else 2}}, notes))
    for header, reason in REFUSED.items():
        yield Case(header.split(","), ["1"] * len(header.split(",")), reason)


def note(ignored: list[str], counts: list[str]) -> str:
    which = f"Ignored the numeric column{'s' * (len(ignored) > 1)} {', '.join(map(repr, ignored))}"
    if counts:
        return f"{which}: the counts are in {counts[0]!r}."
    which += ": every row counts as one visit."
    return f"{which} If {'one of them' if len(ignored) > 1 else 'it'} holds counts, name it as the count column."


CASES = list(cases())
#: What is between the values of a text, and how its name ends.
TEXTS = [(",", "csv"), (";", "csv"), ("|", "csv"), ("\t", "tsv")]


def files(case: Case, folder: Path) -> list[Path]:
    """The table, as text and, if names are there once, as Parquet."""
    at = CASES.index(case)
    delimiter, ending = TEXTS[at % len(TEXTS)]
    text = folder / f"{at}.{ending}"
    with text.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([case.columns, case.cells, case.cells])
    if len({name.casefold() for name in case.columns}) < len(case.columns):
        return [text]
    typed = [int(cell) if cell.isdigit() else cell for cell in case.cells]
    pq.write_table(
        pa.table({name: [cell] * 2 for name, cell in zip(case.columns, typed, strict=True)}), folder / f"{at}.parquet"
    )
    return [text, folder / f"{at}.parquet"]


def outcome(read: Callable[[Path], Outcome], path: Path) -> Outcome:
    try:
        return read(path)
    except ew.InputError as error:
        return str(error)


def as_single_file(path: Path) -> Outcome:
    return {user: dict(counts) for user, counts in ew.read_users(path).items()}, list(ew.read(path).notes)


def with_duckdb(path: Path) -> Outcome:
    with closing(duckdb.connect()) as connection:
        rows = grouping.Rows.of(open_source(path, "input")).attached(connection)
        (batch,) = grouping.grouped(connection, rows, None, None, Room(1 << 20, path.parent))
        user = rows.keys[0]
        return {row[user]: {row["location"]: row["count"]} for row in batch.to_pylist()}, rows.notes()


def agrees(found: Outcome, case: Case) -> bool:
    return case.expected in found if isinstance(case.expected, str) else found == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: ",".join(case.columns))
def test_the_same_columns(case: Case, tmp_path: Path) -> None:
    for path in files(case, tmp_path):
        for read in (as_single_file, with_duckdb):
            found = outcome(read, path)
            assert agrees(found, case), (read.__name__, path.suffix, found)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(java_version() < 17, reason="no JDK 17 is found")
def test_the_same_columns_with_spark(tmp_path: Path) -> None:
    from elsewhere.engines.spark import files as tables
    from elsewhere.engines.spark import rows, session

    running = session.builder("local[1]").getOrCreate()

    def with_spark(path: Path) -> Outcome:
        table = tables.file_table(running, str(path))
        roles = rows.find_roles(table, user=None, location=None, count=None, rows_are_visits=False, keys=())
        found = rows.rows_of(table, roles).collect()
        total = sum(row["count"] for row in found)
        return {row[0]: {row["location"]: total} for row in found}, roles.columns.notes(table.numeric)

    try:
        for at, case in enumerate(CASES):
            for path in files(case, tmp_path)[: 1 if at % 5 else 2]:
                found = outcome(with_spark, path)
                assert agrees(found, case), (path.suffix, case.columns, found)
    finally:
        running.stop()
