"""Turn the rows of a table of any format into counts by location.

A table is read in batches, and only the columns that matter, so it may have any size.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from itertools import repeat
from typing import Any, NamedTuple

from elsewhere.histories.calendar import Calendar
from elsewhere.histories.columns import Columns, called, called_if_any, find_columns
from elsewhere.histories.coordinates import Spots, add_spots, in_degrees
from elsewhere.histories.options import Options
from elsewhere.model.errors import InputError
from elsewhere.model.names import Number, merge_spellings
from elsewhere.text import name_list, quote

#: The columns of a JSON object that maps names to anything.
MAPPING = ("location", "count")

#: A time of the day without its date.
_OF_DAY = re.compile(r"\s*\d{1,2}(?::\d\d|\s*[ap]\.?m)", re.ASCII | re.IGNORECASE)

_LARGEST = 2**63 - 1
_MOST = Decimal(sys.float_info.max)


class Batch(NamedTuple):
    """Some rows of a table: one list per requested column, and a function that locates a row in the file."""

    columns: list[list[Any]]
    where: Callable[[int], str]


class Table(NamedTuple):
    """The names of the columns, and a function that reads the columns with given numbers."""

    columns: Sequence[str]
    batches: Callable[[list[int]], Iterator[Batch]]
    #: The names of the columns with numbers, unless the format defines each column.
    numeric: Sequence[str] = ()
    #: Notes about how the file was read.
    notes: Sequence[str] = ()


def columns_of(table: Table, options: Options) -> Columns:
    """The columns of the table that matter."""
    return find_columns(
        table.columns, location=options.location_column, count=options.count_column, user=options.user_column
    )


def count_visits(
    table: Table,
    options: Options,
    parse: Callable[[list[Any]], list[Number]],
    spots: Spots | None = None,
    users: set[str] | None = None,
) -> dict[str, Number]:
    """The sum of the numbers of each location, over the rows of one user if there are users.

    If `spots` is given, the coordinates of the rows of each location are added to it. If `users` is given, the users of
    the table are added to it, and the caller must check them.
    """
    totals: dict[str, Number] = {}
    visits: Counter[str] = Counter()
    own_users: set[str] = set()
    seen: set[tuple[str, tuple[Any, Any]]] = set()
    for rows in _rows(table, options, with_coordinates=spots is not None):
        if rows.users is not None:
            own_users.update(rows.users)
            check_several(options.user, own_users)
            if options.user is not None:
                rows = rows.of(options.user)
        names = names_in(rows.locations, rows.where, "location")
        counts = None if rows.counts is None else _numbers(names, rows.counts, rows.where, parse)
        where = rows.coordinates
        if options.calendar is not None:
            bins = _bins(names, rows, counts, options.calendar)
            names, where = list(bins.values()), [where[at] for at in bins] if where else []
            counts = None if counts is None else [counts[at] for at in bins]
        if spots is not None:
            _add_spots(spots, seen, names, where)
        if counts is None:
            visits.update(names)
        else:
            for name, count in zip(names, counts, strict=True):
                totals[name] = totals.get(name, 0) + count
    if users is None:
        check_user(options.user, own_users)
    else:
        users |= own_users
    for name, times in visits.items():
        totals[name] = totals.get(name, 0) + times
    return totals


def _bins(names: list[str], rows: _Rows, counts: Sequence[float] | None, calendar: Calendar) -> dict[int, str]:
    """The bins of the rows that count by their times, by row."""
    bins = {}
    for at, name in enumerate(names):
        moment, offset = rows.moments[at] if rows.moments else (None, None)
        spot = in_degrees(*rows.coordinates[at]) if rows.coordinates else None
        found = calendar.bin(name, moment, spot, offset, 1 if counts is None else int(counts[at]))
        if found is not None:
            bins[at] = found
    return bins


def _add_spots(
    spots: Spots, seen: set[tuple[str, tuple[Any, Any]]], names: list[str], coordinates: list[tuple[Any, Any]]
) -> None:
    """Record the coordinates of visits. Most rows repeat earlier ones, which are in `seen` and are not parsed again."""
    pairs: Iterable[tuple[str, tuple[Any, Any]]] = zip(names, coordinates, strict=False)
    try:
        if seen.issuperset(pairs):
            return
        pairs = dict.fromkeys(zip(names, coordinates, strict=False))
        seen.update(pairs)
    except TypeError:  # for example a list instead of a number
        pairs = zip(names, coordinates, strict=False)
    for name, at in pairs:
        add_spots(spots, name, in_degrees(*at))


def rows_of_user(values: list[Any], where: Callable[[int], str], users: set[str], wanted: str | None) -> list[int]:
    """The rows of the wanted user in a batch, given the column of users; all users are added to `users`."""
    told = names_in(values, where, "user")
    users.update(told)
    return [at for at, user in enumerate(told) if wanted in (None, user)]


def check_user(wanted: str | None, users: set[str]) -> None:
    """Raise unless all tables of a history have one user, or the wanted user is among them."""
    check_several(wanted, users)
    if wanted is not None and wanted not in users:
        raise InputError(f"it has no user {quote(wanted)}" + (f", only {_some(users)}" if users else ""))


def check_several(wanted: str | None, users: set[str]) -> None:
    """Raise if there are several users and none is wanted."""
    if wanted is None and len(users) > 1:
        raise InputError(f"it has the rows of several users; choose one with user, such as {_some(users)}", ("user",))


def count_by_user(table: Table, options: Options) -> dict[str, Counter[str]]:
    """The counts of every user; a place that is spelt in several ways has one name for all users."""
    columns_of(table, options).required_user()
    histories: dict[str, Counter[str]] = defaultdict(Counter)
    for rows in _rows(table, options):
        assert rows.users is not None
        names = names_in(rows.locations, rows.where, "location")
        counts = repeat(1) if rows.counts is None else _numbers(names, rows.counts, rows.where, whole)
        for user, name, count in zip(rows.users, names, counts, strict=False):
            histories[user][name] += count
    totals: Counter[str] = Counter()
    for history in histories.values():
        totals.update(history)
    _, spellings = merge_spellings(totals)
    commonest = {other: name for name, others in spellings.items() for other in others}
    for history in histories.values():
        for other in commonest.keys() & history.keys():
            history[commonest[other]] += history.pop(other)
    return dict(histories)


def text_rows(table: Table, key: str, value: str, optional: str) -> Iterator[tuple[str, str, str]]:
    """The texts in three columns, row by row. A blank text is "", except in the key, where it is an error.

    The optional column may be missing. A JSON object provides the first two columns.
    """
    columns: list[int | None] = [0, 1, None]
    if table.columns is not MAPPING:
        try:
            needed = [table.columns.index(called(table.columns, name)) for name in (key, value)]
        except InputError as error:
            raise InputError(f"it needs the columns {key} and {value}; {error}") from None
        more = called_if_any(table.columns, optional)
        columns = [*needed, None if more is None else table.columns.index(more)]
    for (keys, values, *others), where in table.batches([at for at in columns if at is not None]):
        last = _texts(others[0], where, optional) if others else repeat("")
        yield from zip(names_in(keys, where, key), _texts(values, where, value), last, strict=False)


def whole(values: list[Any]) -> list[int]:
    """The values as counts; a ValueError has a clause with the reason."""
    if set(map(type, values)) == {str}:
        try:
            counts = list(map(int, values))
            if min(counts) >= 0 and max(counts) <= _LARGEST:
                return counts
        except ValueError:
            pass  # not all are plain integers
    return list(map(_whole, values))


def real(values: list[Any]) -> list[float]:
    """The values as weights; a ValueError has a clause with the reason."""
    return [float(_decimal(value)) for value in values]


class _Rows(NamedTuple):
    """A batch with its columns assigned; a column that the table does not have is None."""

    locations: list[Any]
    counts: list[Any] | None
    users: list[str] | None
    #: The latitude and longitude of each row, unparsed.
    coordinates: list[tuple[Any, Any]]
    #: The time of each visit and the minutes from UTC to local time, unparsed.
    moments: list[tuple[Any, Any]]
    where: Callable[[int], str]

    def of(self, user: str) -> _Rows:
        chosen = [at for at, it in enumerate(self.users or ()) if it == user]
        counts = None if self.counts is None else [self.counts[at] for at in chosen]
        coordinates, moments = (
            [column[at] for at in chosen] if column else [] for column in (self.coordinates, self.moments)
        )
        locations = [self.locations[at] for at in chosen]
        return _Rows(locations, counts, None, coordinates, moments, lambda at: self.where(chosen[at]))


def _rows(table: Table, options: Options, *, with_coordinates: bool = False) -> Iterator[_Rows]:
    found = columns_of(table, options)
    if options.user is not None:
        found.required_user()
    at = (with_coordinates and found.coordinates) or ()
    moments = found.moments if options.calendar is not None else []
    asked = [name for name in (found.location, found.count, found.user, *at, *moments) if name is not None]
    for columns, where in table.batches([table.columns.index(name) for name in asked]):
        values = dict(zip(asked, columns, strict=True))
        counts = None if found.count is None else values[found.count]
        users = None if found.user is None else names_in(values[found.user], where, "user")
        coordinates = list(zip(*(values[name] for name in at), strict=True)) if at else []
        yield _Rows(values[found.location], counts, users, coordinates, _moments(found, moments, values), where)


def _moments(found: Columns, names: list[str], values: dict[str, list[Any]]) -> list[tuple[Any, Any]]:
    """The times of the visits of some rows, and the minutes from UTC to local time."""
    if not names:
        return []
    offsets = [values[name] for name in names if found.is_offset(name)]
    times, *days = (values[name] for name in names if not found.is_offset(name))
    moments = list(map(_joined, days[0], times)) if days else times
    return list(zip(moments, map(_minutes, offsets[0]) if offsets else repeat(None), strict=False))


def _joined(day: Any, moment: Any) -> Any:
    """A moment from a date and a time of day. A time without a date is useless; a date alone gives the day."""
    if _is_blank(day):
        return moment
    if _is_blank(moment):
        return day
    day = day.date() if isinstance(day, datetime) else day
    if isinstance(moment, time):  # a cell of a spreadsheet
        return f"{day} {moment.isoformat()}"
    is_of_day = isinstance(moment, str) and _OF_DAY.match(moment)
    return f"{day} {moment.strip().zfill(5)}" if is_of_day else moment


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _minutes(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _some(users: Iterable[str]) -> str:
    return name_list(sorted(users), 5)


def names_in(values: list[Any], where: Callable[[int], str], what: str) -> list[str]:
    """The values as names; a blank value or another type is an error."""
    try:
        if all(map(str.strip, set(values))):
            return values
    except TypeError:
        pass  # not all are strings
    return [_name(value, where, at, what) for at, value in enumerate(values)]


def _texts(values: list[Any], where: Callable[[int], str], what: str) -> list[str]:
    """The values as names, with "" for blank values."""
    return ["" if _is_blank(value) else _name(value, where, at, what) for at, value in enumerate(values)]


def _name(value: Any, where: Callable[[int], str], at: int, what: str) -> str:
    if _is_blank(value):
        raise InputError(f"{where(at)} has an empty {what}")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        shown = quote(str(value)) if isinstance(value, date | time) else quote(value)
        raise InputError(f"{where(at)} has the {what} {shown}, which is not a name")
    return value


def _numbers(
    names: list[str], values: list[Any], where: Callable[[int], str], parse: Callable[[list[Any]], list[Number]]
) -> list[Number]:
    try:
        return parse(values)
    except ValueError:
        for at, value in enumerate(values):
            try:
                parse([value])
            except ValueError as error:
                count = "no count" if value is None else f"the count {quote(value)}"
                told = f"{where(at)} gives {quote(names[at])} {count}"
                raise InputError(f"{told}; {error}") from None
        raise


def _whole(value: Any) -> int:
    number = _decimal(value)
    if number > _LARGEST:
        raise ValueError("counts must fit in 64 bits")
    if number != number.to_integral_value():
        raise ValueError("counts must be whole numbers")
    return int(number)


def _decimal(value: Any) -> Decimal:
    """The number in a cell, without rounding."""
    if isinstance(value, list | tuple):  # Decimal would read it as a sign, digits and an exponent
        raise ValueError("counts must be numbers")
    try:
        number = Decimal("NaN" if isinstance(value, bool) else value)
    except (InvalidOperation, TypeError, ValueError):
        raise ValueError("counts must be numbers") from None
    if number.is_finite() and number < 0:
        raise ValueError("counts must not be negative")
    if not number.is_finite() or number > _MOST:
        raise ValueError("counts must be finite numbers")
    return number
