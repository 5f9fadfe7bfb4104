"""The times of visits: which visits count, and which part of the day or week each is in.

All times are local times of the visit. The offset from UTC comes from the file, else from the time zone that the person
gives, else from the longitude of the place (15 degrees per hour), else it is 0. A time without a zone is already local.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.tracks.points import epoch
from elsewhere.model.errors import InputError
from elsewhere.model.parts import PARTS, part_at, with_part
from elsewhere.text import plural, quote

#: The kinds of bins that a history can have.
_BY = ("place", *PARTS)
#: The format of times in the research files of Foursquare.
_FOURSQUARE = "%a %b %d %H:%M:%S %z %Y"
#: Seconds or smaller units; fewer digits are a date.
_NUMBER = re.compile(r"\s*-?\d{9,}(?:\.\d*)?\s*", re.ASCII)
#: A number below this (1980 in seconds) is not a moment but a year, an hour, or a day number of a spreadsheet.
_EARLIEST = 315_532_800
#: A text in ISO 8601 with a time of day is longer than this.
_LONGEST_DAY = 10
#: An explicit offset of 0 means that the time is local. "Z" only means that the moment is in UTC.
_OFFSET_0 = re.compile(r"\+00(?::?00){0,2}$", re.ASCII)
_UNIVERSAL = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z")
_YEAR_FIRST = re.compile(
    r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})"
    r"(?:[T\s]\s*(\d{1,2})(?::(\d\d)(?::(\d\d)(?:\.\d*)?)?)?(?:\s*(?P<half>[ap])\.?m\.?)?)?",
    re.ASCII | re.IGNORECASE,
)
_ARGUMENTS = ("start", "until", "by")


class _Moment(NamedTuple):
    """The time of a visit, as far as a value gives it."""

    at: datetime
    #: Whether it is only a day.
    is_day: bool = False
    #: Whether it includes the offset from UTC.
    has_offset: bool = False


@dataclass
class Calendar:
    """Decides which visits count, and in which bins. It records what it has seen, for the notes."""

    start: datetime | None = None
    until: datetime | None = None
    by: Collection[str] = ()
    zone: tzinfo | None = None
    untimed: int = 0
    #: Visits with an unreadable time, and visits with only a day if the bins need a time; and the first value of each.
    unread: int = 0
    on_days: int = 0
    examples: dict[str, str] = field(default_factory=dict)
    outside: int = 0
    in_utc: int = 0
    #: The first and the last visit that it has seen.
    seen: list[datetime] = field(default_factory=list)

    def part(self, moment: Any, at: Coordinates | None = None, offset: Any = None, visits: int = 1) -> str | None:
        """The part of the day or week of some visits, "" if bins are only places; None if they do not count.

        A moment is a text, a number of seconds or smaller units since 1970, or a `datetime`; `offset` is in minutes.
        """
        if _is_blank(moment):
            self.untimed += visits
            return None
        known = _read(moment)
        local = None if known is None else self._local(known, at, offset, visits)
        if known is None or local is None:
            self.unread += visits
            self.examples.setdefault("unread", _shown(moment))
            return None
        self.seen = [min(local, *self.seen), max(local, *self.seen)] if self.seen else [local, local]
        if (self.start is not None and local < self.start) or (self.until is not None and local > self.until):
            self.outside += visits
            return None
        if known.is_day and "daypart" in self.by:
            self.on_days += visits
            self.examples.setdefault("day", _shown(moment))
            return None
        return part_at(local, self.by)

    def bin(
        self, location: str, moment: Any, at: Coordinates | None = None, offset: Any = None, visits: int = 1
    ) -> str | None:
        """The bin of some visits to a location; None if they do not count."""
        part = self.part(moment, at, offset, visits)
        return None if part is None else with_part(location, part)

    def check(self, counted: bool) -> None:
        """Raise if there are no times at all, or if no visit is `counted`."""
        if not self.seen and self.unread:
            raise InputError(
                f"its times are in a style that is not read, such as {self.examples['unread']}; write them as "
                "2023-03-31 or 2023-03-31T18:00"
            )
        if not self.seen:
            raise InputError("it does not say when visits were, so start, until and by cannot be used", _ARGUMENTS)
        if not counted and self.on_days:
            raise InputError(
                f"its dates have no time of the day, such as {self.examples['day']}, so by cannot have daypart; "
                "place,weekend would do",
                ("by",),
            )
        if not counted:
            first, last = (moment.date().isoformat() for moment in self.seen)
            raise InputError(
                f"it has no visit between start and until; its visits are from {first} to {last}", _ARGUMENTS
            )

    def notes(self) -> Iterator[str]:
        """Notes for the person."""
        if self.outside:
            yield f"Left out {plural(self.outside, 'visit')} outside of the period."
        if self.untimed:
            yield f"Left out {plural(self.untimed, 'visit')} without a time."
        if self.unread:
            style = f"a time in a style that is not read, such as {self.examples['unread']}"
            yield f"Left out {plural(self.unread, 'visit')} with {style}."
        if self.on_days:
            day = f"a date and no time of the day, such as {self.examples['day']}"
            yield f"Left out {plural(self.on_days, 'visit')} with {day}."
        if self.in_utc:
            told = f"The times of {plural(self.in_utc, 'visit')} are in UTC, because nothing tells the local time."
            yield f"{told} To give it, set the time zone."

    def _local(self, known: _Moment, at: Coordinates | None, offset: Any, visits: int) -> datetime | None:
        minutes = offset if isinstance(offset, int | float) and abs(offset) < 1440 else None
        as_written = known.at.replace(tzinfo=None)
        if known.is_day or (known.at.tzinfo is None and minutes is None):
            return as_written
        # A separate column of minutes beside a moment in UTC takes precedence over an offset of 0.
        if known.has_offset and (known.at.utcoffset() or minutes is None):
            return as_written
        try:
            universal = as_written.replace(tzinfo=UTC)
            if minutes is not None:
                return (universal + timedelta(minutes=minutes)).replace(tzinfo=None)
            if self.zone is not None:
                return universal.astimezone(self.zone).replace(tzinfo=None)
            if at is None:
                self.in_utc += visits
            return (universal + timedelta(hours=0 if at is None else round(at[1] / 15))).replace(tzinfo=None)
        except OverflowError:
            return None


def calendar_of(
    start: str | date | None, until: str | date | None, by: str | Collection[str] | None, zone: str | None
) -> Calendar | None:
    """The calendar for a person's options about times; None without such options.

    >>> calendar_of("2023-03-01", "2023-03-31", "place,daypart", None)  # doctest: +ELLIPSIS
    Calendar(start=datetime.datetime(2023, 3, 1, 0, 0), until=datetime.datetime(2023, 3, 31, 23, 59, 59, 999999), ...
    """
    parts = _parts(by)
    if start is None and until is None and not parts:
        if zone is not None:
            raise InputError("time_zone has no effect without start, until or by", ("time_zone", *_ARGUMENTS))
        return None
    bounds = _bound("start", start, time.min), _bound("until", until, time.max)
    if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
        raise InputError(f"start is {quote(str(start))}, which is after until, {quote(str(until))}", _ARGUMENTS)
    return Calendar(*bounds, parts, None if zone is None else _zone(zone))


def _parts(by: str | Collection[str] | None) -> tuple[str, ...]:
    if by is None:
        return ()
    names = [name.strip() for name in by.split(",")] if isinstance(by, str) else list(by)
    if "place" not in names or len(set(names)) < len(names) or not set(names) <= set(_BY):
        shown = by if isinstance(by, str) else ",".join(map(str, by))
        raise InputError(f"by is {quote(shown)}; give place, place,daypart, place,weekend or all three", ("by",))
    return tuple(name for name in PARTS if name in names)


def _bound(argument: str, given: str | date | None, whole_day: time) -> datetime | None:
    """A moment in local time; a date is the whole day."""
    if given is None or isinstance(given, datetime):
        moment = given
    elif isinstance(given, date):
        return datetime.combine(given, whole_day)
    else:
        try:
            return datetime.combine(date.fromisoformat(given), whole_day)
        except (TypeError, ValueError):
            pass
        try:
            moment = datetime.fromisoformat(given)
        except (TypeError, ValueError):
            raise InputError(
                f"{argument} is {quote(given)}; give a date such as 2023-03-31 or a time such as 2023-03-31T18:00",
                (argument,),
            ) from None
    if moment is not None and moment.tzinfo is not None:
        raise InputError(f"{argument} is {quote(str(given))}; give a local time, without a time zone", (argument,))
    return moment


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):  # also if the machine has no time zone database
        raise InputError(
            f"time_zone is {quote(name)}, which is not a known time zone; give one such as Europe/Berlin",
            ("time_zone",),
        ) from None


def _read(moment: Any) -> _Moment | None:
    """Parse a moment; None if it is none, or if it is ambiguous."""
    if isinstance(moment, datetime):
        return _Moment(moment, has_offset=moment.tzinfo is not None and str(moment.tzinfo) not in _UNIVERSAL)
    if isinstance(moment, date):
        return _Moment(datetime.combine(moment, time.min), is_day=True)
    if isinstance(moment, bool):
        return None
    if isinstance(moment, str) and not _NUMBER.fullmatch(moment):
        return _text(moment.strip())
    try:
        seconds = epoch(float(moment))
        if seconds is None or seconds < _EARLIEST:
            return None
        return _Moment(datetime.fromtimestamp(seconds, UTC))
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _text(text: str) -> _Moment | None:
    try:
        moment = datetime.fromisoformat(text)
        return _Moment(moment, len(text) <= _LONGEST_DAY, bool(moment.utcoffset() or _OFFSET_0.search(text)))
    except ValueError:
        pass
    try:
        return _Moment(datetime.strptime(text, _FOURSQUARE))
    except ValueError:
        return _year_first(text)


def _year_first(text: str) -> _Moment | None:
    """A moment as spreadsheets write it. It must begin with the year, because otherwise day and month are ambiguous.

    >>> _year_first("2023-3-4 6:30 PM"), _year_first("3/4/2023")
    (_Moment(at=datetime.datetime(2023, 3, 4, 18, 30), is_day=False, has_offset=False), None)
    """
    found = _YEAR_FIRST.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(1, 3, 4, 5, 6, 7))
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (found["half"] in "pP")
    try:
        return _Moment(datetime(year, month, day, hour, minute, second), is_day=found[5] is None)
    except ValueError:
        return None


def _is_blank(moment: Any) -> bool:
    return moment is None or moment != moment or (isinstance(moment, str) and not moment.strip())


def _shown(moment: Any) -> str:
    """A moment as an example in a sentence."""
    return quote(moment if isinstance(moment, str | int | float) else str(moment))
