"""When visits were: which of them count, and which part of the day or of the week each is in.

Everything is in the local time of the visit. What tells it is the first of these that there is: the offset that the
file gives, the time zone that the person gives, and the longitude of the place, at 15 degrees for an hour. A time that
says nothing about its zone is local as it is written. A moment of which nothing tells the place is in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.tracks.points import epoch
from elsewhere.model.errors import InputError
from elsewhere.model.parts import PARTS, part_at, with_part
from elsewhere.text import plural, quote

#: What bins of a history can be made of.
_BY = ("place", *PARTS)
#: How the research files of Foursquare write a time.
_FOURSQUARE = "%a %b %d %H:%M:%S %z %Y"
#: Seconds or smaller units; fewer digits are a date.
_NUMBER = re.compile(r"\s*-?\d{9,}(?:\.\d*)?\s*", re.ASCII)
_ARGUMENTS = ("start", "until", "by")


@dataclass
class Calendar:
    """Which visits count, and in which bins. It remembers what it was asked, for the notes."""

    start: datetime | None = None
    until: datetime | None = None
    by: Collection[str] = ()
    zone: tzinfo | None = None
    untimed: int = 0
    outside: int = 0
    in_utc: int = 0
    #: The first and the last visit that it was asked about.
    seen: list[datetime] = field(default_factory=list)

    def part(self, moment: Any, at: Coordinates | None = None, offset: Any = None, visits: int = 1) -> str | None:
        """The part of the day or the week that some visits are in, "" if bins are only places; None if none counts.

        A moment is a text, a number of seconds or smaller units since 1970, or a `datetime`; `offset` is in minutes.
        """
        local = self._local(moment, at, offset, visits)
        if local is None:
            self.untimed += visits
            return None
        self.seen = [min(local, *self.seen), max(local, *self.seen)] if self.seen else [local, local]
        if (self.start is not None and local < self.start) or (self.until is not None and local > self.until):
            self.outside += visits
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
        if not self.seen:
            raise InputError("it does not say when visits were, so start, until and by cannot be used", _ARGUMENTS)
        if not counted:
            first, last = (moment.date().isoformat() for moment in self.seen)
            raise InputError(
                f"it has no visit between start and until; its visits are from {first} to {last}", _ARGUMENTS
            )

    def notes(self) -> Iterator[str]:
        """Sentences for the person."""
        if self.outside:
            yield f"Left out {plural(self.outside, 'visit')} outside of the period."
        if self.untimed:
            yield f"Left out {plural(self.untimed, 'visit')} without a time."
        if self.in_utc:
            told = f"The times of {plural(self.in_utc, 'visit')} are in UTC, because nothing tells the local time."
            yield f"{told} To give it, set the time zone."

    def _local(self, moment: Any, at: Coordinates | None, offset: Any, visits: int) -> datetime | None:
        known = _parsed(moment)
        if known is None:
            return None
        minutes = offset if isinstance(offset, int | float) and abs(offset) < 1440 else None
        if known.tzinfo is None and minutes is None:
            return known
        shift = known.utcoffset() or timedelta()
        if shift:
            return known.replace(tzinfo=None)
        try:
            universal = known.replace(tzinfo=UTC)
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
    """What a person asks about times; None if that is nothing.

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
    except (KeyError, ValueError, OSError, TypeError):  # also if the machine has no list of them
        raise InputError(
            f"time_zone is {quote(name)}, which is not a known time zone; give one such as Europe/Berlin",
            ("time_zone",),
        ) from None


def _parsed(moment: Any) -> datetime | None:
    """A moment: with a zone if it says one, or if it is a number, which is always in UTC."""
    if isinstance(moment, datetime):
        return moment
    if isinstance(moment, date):
        return datetime.combine(moment, time.min)
    if isinstance(moment, bool):
        return None
    if isinstance(moment, str) and not _NUMBER.fullmatch(moment):
        text = moment.strip()
        for read in (datetime.fromisoformat, lambda it: datetime.strptime(it, _FOURSQUARE)):
            try:
                return read(text)
            except ValueError:
                pass
    try:
        seconds = epoch(float(moment))
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
