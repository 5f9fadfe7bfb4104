"""Bins of a place and a part of the day or of the week, such as ``Clinic · evening``.

A constraint or a kind that is given by the name of a place applies to all its bins.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

#: Six hours each, from midnight.
DAYPARTS = ("night", "morning", "afternoon", "evening")
_DAYS = ("weekday", "weekend")
#: What can be part of a bin besides the place.
PARTS = ("daypart", "weekend")

_SEPARATOR = " · "
_NAMES = frozenset((*DAYPARTS, *_DAYS, *(f"{day} {part}" for day in _DAYS for part in DAYPARTS)))


def part_at(moment: datetime, by: Collection[str]) -> str:
    """The part of the day, of the week or of both that a moment in local time is in.

    >>> part_at(datetime(2023, 3, 6, 18), ["daypart"]), part_at(datetime(2023, 3, 5, 5, 59), ["weekend", "daypart"])
    ('evening', 'weekend night')
    """
    day, part = _DAYS[moment.weekday() >= 5], DAYPARTS[moment.hour // 6]
    return " ".join(name for kind, name in (("weekend", day), ("daypart", part)) if kind in by)


def with_part(place: str, part: str) -> str:
    """The name of a bin; that of the place itself if there is no part."""
    return f"{place}{_SEPARATOR}{part}" if part else place


def split(name: str) -> tuple[str, str]:
    """The place and the part of a bin; the part of a place is "".

    >>> split("Clinic · weekend evening"), split("Clinic · evening"), split("Bar · None")
    (('Clinic', 'weekend evening'), ('Clinic', 'evening'), ('Bar · None', ''))
    """
    place, _, part = name.rpartition(_SEPARATOR)
    return (place, part) if place and part in _NAMES else (name, "")


def place_of(name: str) -> str:
    """The place of a bin, or the name itself if it is a place."""
    return split(name)[0] if _SEPARATOR in name else name
