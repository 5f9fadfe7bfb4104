"""Which columns of a table hold the locations, the counts and the users: one rule for single files, DuckDB and Spark.

It is the column that the caller names, or else the one with a known name. Two candidates are an error, not a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

from elsewhere.histories.coordinates import tells_position
from elsewhere.model.errors import InputError
from elsewhere.model.names import name_key
from elsewhere.text import closest, name_list, quote

#: Known names of the columns, in the form of `_key`. Names of an earlier line take precedence over later ones.
_KNOWN = {
    "location": (
        "location",
        "locationname place placename category categoryname venue venuename venuecategory site sitename poi poiname "
        "ort ortsname standort lieu endroit emplacement lugar sitio ubicación ubicacion luogo posizione localização "
        "localizacao plaats locatie plats miejsce место 場所 地点 地點 장소",
        "name",
    ),
    "count": (
        "count",
        "counts visits visitcount numvisits numberofvisits n weight times frequency freq total number "
        "num checkins checkincount anzahl besuche häufigkeit haeufigkeit nombre visites fréquence frequence número "
        "numero visitas cantidad frecuencia visite frequenza frequência frequencia quantidade contagem aantal bezoeken "
        "frequentie antal liczba количество 回数 件数 次数 次數 횟수",
    ),
    "user": (
        "user",
        "userid username uid person personid customer customerid member memberid benutzer benutzerid nutzer "
        "nutzerid utilisateur usuario usuário utente gebruiker 利用者 用户 用戶 사용자",
    ),
}
#: Known names of the columns with coordinates.
_COORDINATES = ("latitude lat", "longitude lon lng long")
#: Known names of the columns of a table of places, the most usual first.
_PLACE_NAMES = "name placename title label names.primary location place venue venuename"
_LATITUDES = "latitude lat y bbox.ymin"
_LONGITUDES = "longitude lon lng long x bbox.xmin"
_KINDS = "kind category categories.primary maincategory categoryname primarycategory amenity fclass type class shop"
#: Known names of columns with times.
_TIMES = (
    "time timestamp datetime date when trackedat recordedat loggedat createdat utctime utc gpstime timestampms "
    "epoch unixtime tst ts t zeit zeitstempel heure horodatage fecha hora data ora tijd 時刻 日時 时间"
)
#: Known names of columns with the minutes from UTC to local time.
_OFFSETS = "offset timezoneoffset"
_SEPARATORS = re.compile(r"[\s_-]+")

#: The number of rows of a text file that decide whether a column has numbers.
SAMPLE = 100


@dataclass(frozen=True)
class Columns:
    """The names of the columns that matter; None for what a table does not have."""

    names: Sequence[str]
    location: str
    count: str | None
    user: str | None
    #: Whether the caller named the column of counts.
    count_given: bool = False

    @property
    def coordinates(self) -> tuple[str, str] | None:
        """The columns with the latitude and the longitude, if there is one of each."""
        taken = (self.location, self.count, self.user)
        return coordinate_columns([name for name in self.names if name not in taken])

    @property
    def moments(self) -> list[str]:
        """The columns with the time of a visit: a time, or a date and a time of day, and the offset from UTC.

        Empty if no column has a known name for times; of several, the one with the most usual name is used.
        """
        free = [name for name in self.names if name not in (self.location, self.count, self.user)]
        times = time_columns(free)
        if not times:
            return []
        days = [name for name in free if _key(name) == "date" and name != times[0]]
        offsets = [name for name in free if _key(name) in _OFFSETS.split()]
        return [times[0], *days[:1], *offsets[:1]]

    def is_offset(self, name: str) -> bool:
        """Whether a column has the minutes from UTC to local time."""
        return _key(name) in _OFFSETS.split()

    def required_user(self) -> str:
        if self.user is None:
            raise _missing(self.names, "user")
        return self.user

    def notes(self, numeric: Iterable[str]) -> list[str]:
        """Notes about columns with numbers that are not read; none if the caller named the column of counts."""
        read = (self.location, self.count, self.user, *(self.coordinates or ()))
        ignored = [name for name in numeric if name not in read]
        if self.count_given or not ignored:
            return []
        several = len(ignored) > 1
        which = f"Ignored the numeric column{'s' if several else ''} {name_list(ignored)}"
        if self.count is not None:
            return [f"{which}: the counts are in {quote(self.count)}."]
        remedy = f"If {'one of them' if several else 'it'} holds counts, name it as the count column."
        return [f"{which}: every row counts as one visit. {remedy}"]


def find_columns(
    names: Sequence[str], *, location: str | None = None, count: str | None = None, user: str | None = None
) -> Columns:
    """The columns of a table that matter: the given ones, and for the others those with a known name."""
    given = {
        role: called(names, wanted)
        for role, wanted in (("location", location), ("count", count), ("user", user))
        if wanted is not None
    }
    found = {role: given[role] if role in given else _known(names, role, given.values()) for role in _KNOWN}
    where = found["location"]
    if where is None:
        raise _missing(names, "location")
    return Columns(names, where, found["count"], found["user"], count is not None)


def coordinate_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """The columns with the latitude and the longitude, if there is one of each."""
    latitude, longitude = ([name for name in names if _key(name) in known.split()] for known in _COORDINATES)
    return (latitude[0], longitude[0]) if len(latitude) == len(longitude) == 1 else None


class PositionColumns(NamedTuple):
    """The names of the columns of a table of positions; None for what it does not have."""

    latitude: str
    longitude: str
    time: str | None
    user: str | None


def find_positions(
    names: Sequence[str], location: str | None = None, user: str | None = None
) -> PositionColumns | None:
    """The columns of a table of positions without locations, or None if it is another table."""
    if location is not None or _known(names, "location") is not None:
        return None
    where = coordinate_columns(names)
    if where is None:
        return None
    times = time_columns(names)
    whose = _known(names, "user") if user is None else called(names, user)
    return PositionColumns(*where, times[0] if times else None, whose)


def time_columns(names: Iterable[str]) -> list[str]:
    """The columns with times, those with the most usual names first."""
    known = _TIMES.split()
    return [name for _, name in sorted((known.index(_key(name)), name) for name in names if _key(name) in known)]


class PlaceColumns(NamedTuple):
    """The names of the columns of a table of places."""

    name: str
    latitude: str
    longitude: str
    kind: str | None


def find_places(names: Sequence[str]) -> PlaceColumns:
    """The columns of a table of places: the names that people use, and those of Overture's files."""
    found: list[str | None] = []
    for what, known in (("name", _PLACE_NAMES), ("latitude", _LATITUDES), ("longitude", _LONGITUDES), ("", _KINDS)):
        ranks = sorted((known.split().index(_key(name)), name) for name in names if _key(name) in known.split())
        if not ranks and what:
            if tell_position(names):
                raise _missing(names, what)
            raise InputError(f"a table of places needs the column {what}; the columns are {name_list(names)}")
        found.append(ranks[0][1] if ranks else None)
    return PlaceColumns(found[0] or "", found[1] or "", found[2] or "", found[3])


def names_without_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The columns of a table without a header, given its first lines; None if that is not clear.

    It is clear if the first line has no known name and the lines have either a single column whose first name occurs
    again, or a name and a count each. A year may be the header of a column.
    """
    if _has_known(first) or any(len(row) not in (0, len(first)) for row in rows):
        return []
    if len(first) == 1:
        return ["location"] if first in rows else []
    numeric = numeric_columns(["0", "1"], [first, *rows]) if len(first) == 2 else []
    if len(numeric) != 1 or first[int(numeric[0])].strip() in map(str, range(1900, 2100)):
        return []
    return ["count", "location"] if numeric == ["0"] else ["location", "count"]


def without_header_note(names: Sequence[str]) -> str:
    """A note about a table that is read without a header."""
    return f"The table has no header, so its columns were read as {' and '.join(names)}."


def find_user(names: Sequence[str], user: str | None = None) -> str:
    """The column with the users of a table that may have no locations."""
    found = _known(names, "user") if user is None else called(names, user)
    if found is None:
        raise _missing(names, "user")
    return found


def called(names: Sequence[str], wanted: str) -> str:
    """The column with that name, or the only one with a similar spelling."""
    found = called_if_any(names, wanted)
    if found is None:
        if tell_position(names):
            raise InputError(f"no column is called {quote(wanted)}: the first line has numbers instead of names")
        told = f"no column is called {quote(wanted)}; the columns are {name_list(names)}"
        raise InputError(f"{told}{closest(str(wanted), names)}")
    return found


def called_if_any(names: Sequence[str], wanted: str) -> str | None:
    """The column with that name, or the only one with a similar spelling, or None."""
    found = [name for name in names if name == wanted] or [name for name in names if _key(name) == _key(wanted)]
    if len(found) > 1:
        raise InputError(f"several columns are called {quote(wanted)}: {name_list(found)}; rename all but one")
    return found[0] if found else None


def numeric_columns(names: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The columns whose first rows have only numbers, texts that are numbers, or gaps."""
    sample = [row for row in islice(rows, SAMPLE) if len(row) == len(names)]
    return [name for at, name in enumerate(names) if _are_numbers(row[at] for row in sample)]


def _known(names: Sequence[str], role: str, taken: Collection[str] = ()) -> str | None:
    for known in map(str.split, _KNOWN[role]):
        found = [name for name in names if _key(name) in known and name not in taken]
        if len(found) > 1:
            argument = f"{role}_column"
            told = f"several columns could be the {role}: {name_list(found)}"
            raise InputError(f"{told}; choose one with {argument}", (argument,))
        if found:
            return found[0]
    return None


def tell_position(names: Iterable[str]) -> bool:
    """Whether the first line of a table may contain a position, so that no message may quote it."""
    texts = list(map(str, names))
    return not _has_known(texts) and (sum(map(_is_number, texts)) > 1 or any(map(tells_position, texts)))


def _missing(names: Sequence[str], role: str) -> InputError:
    if not names:
        return InputError("the table has no columns")
    if tell_position(names):
        told = f"no {role} column is known: the first line has numbers instead of the names of columns"
        return InputError(f"{told}; add a first line such as location,count or latitude,longitude,time")
    argument = f"{role}_column"
    told = f"no {role} column is known; choose one of {name_list(names)} with {argument}"
    if role == "location" and not _has_known(names):
        told += ", or add a first line with the names of the columns if there is none"
    return InputError(told, (argument,))


def _has_known(names: Iterable[str]) -> bool:
    """Whether any of the names is a known name of a column."""
    lines = (*(line for lines in _KNOWN.values() for line in lines), *_COORDINATES, _TIMES, "id label kind")
    known = " ".join(lines).split()
    return any(_key(name) in known for name in names)


def _key(name: str) -> str:
    """The form in which names of columns are compared.

    >>> _key("User ID") == _key("user_id") == _key("userid")
    True
    """
    return _SEPARATORS.sub("", name_key(str(name)))


def _are_numbers(values: Iterable[object]) -> bool:
    present = [value for value in values if value is not None and not (isinstance(value, str) and not value.strip())]
    return bool(present) and all(map(_is_number, present))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return False
    try:
        return math.isfinite(float(value))
    except (ValueError, OverflowError):
        return isinstance(value, int)  # an integer too large for a float
