"""From the rows of a table, however it is written, to counts by location.

A table is read batch by batch, and only in the columns that matter, so that its size is no matter.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

from elsewhere.histories.options import Options
from elsewhere.model.errors import InputError
from elsewhere.text import closest, name_list, quote

_LOCATION = ("location", "place", "category", "venue", "site")
_COUNT = ("count", "visits", "n", "weight")
_USER = ("user", "user_id", "userid")

#: The columns of a JSON object that maps names to anything.
MAPPING = ("location", "count")

_LARGEST = 2**63 - 1
_MOST = Decimal(sys.float_info.max)

Number = TypeVar("Number", int, float)


class Batch(NamedTuple):
    """Some rows of a table: a list for each column asked for, and where in the file a row is."""

    columns: list[list[Any]]
    where: Callable[[int], str]


class Table(NamedTuple):
    """The names of the columns, and how to get at those with the given numbers."""

    columns: Sequence[str]
    batches: Callable[[list[int]], Iterator[Batch]]


def count_visits(table: Table, options: Options, parse: Callable[[list[Any]], list[Number]]) -> dict[str, Number]:
    """The sum of the numbers of each location, over the rows of one user if there are users."""
    totals: dict[str, Number] = {}
    visits: Counter[str] = Counter()
    users: set[str] = set()
    for rows in _rows(table, options):
        if rows.users is not None:
            users.update(rows.users)
            if options.user is not None:
                rows = rows.of(options.user)
            elif len(users) > 1:
                raise InputError(f"it has the rows of several users; choose one with user, such as {_some(users)}")
        names = _names(rows.locations, rows.where, "location")
        if rows.counts is None:
            visits.update(names)
        else:
            for name, count in zip(names, _numbers(names, rows.counts, rows.where, parse), strict=True):
                totals[name] = totals.get(name, 0) + count
    if options.user is not None and options.user not in users:
        raise InputError(f"it has no user {quote(options.user)}, only {_some(users)}")
    for name, times in visits.items():
        totals[name] = totals.get(name, 0) + times
    return totals


def count_by_user(table: Table, options: Options) -> dict[str, Counter[str]]:
    """The counts of every user."""
    histories: dict[str, Counter[str]] = defaultdict(Counter)
    for rows in _rows(table, options):
        if rows.users is None:
            raise InputError(f"it has no user column; {_columns(table)}")
        names = _names(rows.locations, rows.where, "location")
        counts = repeat(1) if rows.counts is None else _numbers(names, rows.counts, rows.where, whole)
        for user, name, count in zip(rows.users, names, counts, strict=False):
            histories[user][name] += count
    return dict(histories)


def pairs(table: Table, key: str, value: str) -> dict[str, str]:
    """A column of names by another column of names, which has no name twice unless it means the same."""
    wanted = [0, 1] if table.columns is MAPPING else [_find(table, None, (name,)) for name in (key, value)]
    columns = [at for at in wanted if at is not None]
    if len(columns) < 2:
        raise InputError(f"it needs the columns {key} and {value}; {_columns(table)}")
    found: dict[str, str] = {}
    for (keys, values), where in table.batches(columns):
        for name, meant in zip(_names(keys, where, key), _names(values, where, value), strict=True):
            if found.setdefault(name, meant) != meant:
                raise InputError(f"it has two of {value} for {quote(name)}: {quote(found[name])} and {quote(meant)}")
    return found


def whole(values: list[Any]) -> list[int]:
    """The values as counts; ValueError with a clause that says what counts are if one is none."""
    if set(map(type, values)) == {str}:
        try:
            counts = list(map(int, values))
            if min(counts) >= 0 and max(counts) <= _LARGEST:
                return counts
        except ValueError:
            pass  # not all are plain integers
    return list(map(_whole, values))


def real(values: list[Any]) -> list[float]:
    """The values as weights; ValueError with a clause that says what weights are if one is none."""
    return [float(_decimal(value)) for value in values]


class _Rows(NamedTuple):
    """A batch with its columns found: what a row may have is None if the table has it not."""

    locations: list[Any]
    counts: list[Any] | None
    users: list[str] | None
    where: Callable[[int], str]

    def of(self, user: str) -> _Rows:
        chosen = [at for at, it in enumerate(self.users or ()) if it == user]
        counts = None if self.counts is None else [self.counts[at] for at in chosen]
        return _Rows([self.locations[at] for at in chosen], counts, None, lambda at: self.where(chosen[at]))


def _rows(table: Table, options: Options) -> Iterator[_Rows]:
    location = _find(table, options.location_column, _LOCATION)
    count = _find(table, options.count_column, _COUNT)
    user = _find(table, options.user_column, _USER)
    if location is None:
        raise InputError(f"it has no location column; {_columns(table)}, and location_column says which it is")
    if user is None and options.user is not None:
        raise InputError(f"it has no user column; {_columns(table)}, and user_column says which it is")
    asked = [location, count, user]
    for columns, where in table.batches([at for at in asked if at is not None]):
        found = iter(columns)
        locations, counts, users = (None if at is None else next(found) for at in asked)
        yield _Rows(locations or [], counts, None if users is None else _names(users, where, "user"), where)


def _find(table: Table, given: str | None, known: tuple[str, ...]) -> int | None:
    """The number of the column that was named, or that has a known name; the first known one goes before the others."""
    names = [str(name).strip().casefold() for name in table.columns]
    if given is not None:
        exact = [at for at, name in enumerate(table.columns) if name == given]
        found = exact or [at for at, name in enumerate(names) if name == str(given).strip().casefold()]
        if not found:
            raise InputError(f"it has no column {quote(given)}{closest(str(given), table.columns)}; {_columns(table)}")
    else:
        found = [at for at, name in enumerate(names) if name == known[0]]
        found = found or [at for at, name in enumerate(names) if name in known]
    if len(found) > 1:
        several = name_list([table.columns[at] for at in found])
        raise InputError(f"it has several columns for the {known[0]}, {several}; {known[0]}_column says which it is")
    return found[0] if found else None


def _columns(table: Table) -> str:
    return f"its columns are {name_list(table.columns)}"


def _some(users: Iterable[str]) -> str:
    return name_list(sorted(users), 5)


def _names(values: list[Any], where: Callable[[int], str], what: str) -> list[str]:
    try:
        if all(map(str.strip, set(values))):
            return values
    except TypeError:
        pass  # not all are strings
    return [_name(value, where, at, what) for at, value in enumerate(values)]


def _name(value: Any, where: Callable[[int], str], at: int, what: str) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{where(at)} has an empty {what}")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InputError(f"{where(at)} has the {what} {quote(value)}, which is not a name")
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
                told = f"{where(at)} gives {quote(names[at])} the count {quote(value)}"
                raise InputError(f"{told}; {error}") from None
        raise


def _whole(value: Any) -> int:
    number = _decimal(value)
    if number > _LARGEST:
        raise ValueError("counts are within 64 bits")
    if number != number.to_integral_value():
        raise ValueError("counts are whole numbers")
    return int(number)


def _decimal(value: Any) -> Decimal:
    """The number that a cell holds, without rounding."""
    if isinstance(value, list | tuple):  # which Decimal takes for a sign, digits and an exponent
        raise ValueError("counts are numbers")
    try:
        number = Decimal("NaN" if isinstance(value, bool) else value)
    except (InvalidOperation, TypeError, ValueError):
        raise ValueError("counts are numbers") from None
    if number.is_finite() and number < 0:
        raise ValueError("counts are not negative")
    if not number.is_finite() or number > _MOST:
        raise ValueError("counts are finite numbers")
    return number
