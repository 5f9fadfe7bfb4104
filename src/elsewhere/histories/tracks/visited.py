"""The places of stays: how often and how long they were visited, and which of them are home and work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.tracks.stays import Stays, on_sphere, same_place
from elsewhere.model.arrays import Flags, Floats, Ints

_HOUR, _DAY = 3600.0, 86400.0
#: Home has most hours of the night, and work most working hours, in local time.
_NIGHT_FROM, _NIGHT_HOURS = 22, 8
_WORK_FROM, _WORK_HOURS = 9, 8
#: The least hours and visits for home or work.
_LEAST_HOURS, _LEAST_VISITS = 12.0, 3
#: The first of January 1970 was a Thursday.
_MONDAY = 3


@dataclass(frozen=True)
class Place:
    """A place, its coordinates, and its role: home, work, or none."""

    at: Coordinates
    visits: int
    hours: float
    role: str = ""
    #: Visits and hours in each part of the day or the week; "" if there are no parts.
    parts: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    #: The coordinates of its stays.
    spots: tuple[Coordinates, ...] = ()


#: Returns the part of the day or week of a visit with that start and place, or None if it does not count.
PartOf: TypeAlias = Callable[[float, Coordinates], str | None]


def find_places(stays: Stays, stay: float, reach: float, part_of: PartOf | None = None) -> list[Place]:
    """The places of the stays, those with the most visits first.

    Stays at most `reach` metres apart are at one place. Two such stays are one visit if less than `stay` seconds, and
    no stay elsewhere, lie between them.
    """
    number = same_place(stays.latitudes, stays.longitudes, reach)
    goes_on = np.zeros(len(stays), dtype=np.bool_)
    goes_on[1:] = (number[1:] == number[:-1]) & (stays.begins[1:] - stays.ends[:-1] < stay)
    visit = np.cumsum(~goes_on) - 1
    parts: list[str | None] = [""] * int(len(stays) - goes_on.sum())
    if part_of is not None:
        first = stays.of(~goes_on)
        spots = zip(first.latitudes.tolist(), first.longitudes.tolist(), strict=True)
        parts = list(map(part_of, first.begins.tolist(), spots))
        kept = np.array([part is not None for part in parts], dtype=np.bool_)[visit]
        stays, number, goes_on, visit = stays.of(kept), number[kept], goes_on[kept], visit[kept]
        _, number = np.unique(number, return_inverse=True)
    return _places(stays, number, goes_on, [parts[at] or "" for at in visit.tolist()])


def _places(stays: Stays, number: Ints, goes_on: Flags, parts: list[str]) -> list[Place]:
    """The places of stays, given each stay's place, whether it continues a visit, and its part of the day or week."""
    many = int(number.max()) + 1 if len(number) else 0
    visits = np.bincount(number[~goes_on], minlength=many)
    where = _middles(stays, number, many)
    roles = _roles(stays, number, visits)
    hours: list[dict[str, tuple[int, float]]] = [{} for _ in range(many)]
    spots: list[dict[Coordinates, None]] = [{} for _ in range(many)]
    columns = (number, ~goes_on, (stays.ends - stays.begins) / _HOUR, stays.latitudes, stays.longitudes)
    for part, at, is_new, long, north, east in zip(parts, *(column.tolist() for column in columns), strict=True):
        before = hours[at].get(part, (0, 0.0))
        hours[at][part] = (before[0] + is_new, before[1] + long)
        spots[at][north, east] = None
    found = [
        Place(
            (float(north), float(east)),
            int(visits[at]),
            sum(long for _, long in hours[at].values()),
            roles.get(at, ""),
            hours[at],
            tuple(spots[at]),
        )
        for at, (north, east) in enumerate(where)
    ]
    return sorted(found, key=lambda place: (-place.visits, -place.hours, place.at))


def _middles(stays: Stays, number: Ints, many: int) -> Floats:
    """The middle of each place in degrees, one row each."""
    points = on_sphere(stays.latitudes, stays.longitudes)
    x, y, z = (np.bincount(number, weights=points[:, axis], minlength=many) for axis in range(3))
    found: Floats = np.degrees(np.column_stack((np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x))))
    return found


def _roles(stays: Stays, number: Ints, visits: Ints) -> dict[int, str]:
    """Which place is home and which is work, if there is enough data."""
    # Solar time is close enough to local time, and needs no table of time zones.
    solar = 240 * stays.longitudes
    begins, ends = stays.begins + solar, stays.ends + solar
    nights = _per_place(number, _nights(ends) - _nights(begins), len(visits))
    days = _per_place(number, _working(ends) - _working(begins), len(visits))
    roles: dict[int, str] = {}
    for role, hours in (("home", nights), ("work", days)):
        hours[[visits[at] < _LEAST_VISITS or at in roles for at in range(len(visits))]] = 0
        if len(hours) and hours.max() >= _LEAST_HOURS:
            roles[int(hours.argmax())] = role
    return roles


def _per_place(number: Ints, seconds: Floats, many: int) -> Floats:
    return np.bincount(number, weights=seconds, minlength=many) / _HOUR


def _nights(local: Floats) -> Floats:
    """The seconds of night before each moment."""
    days, rest = np.divmod(local - _NIGHT_FROM * _HOUR, _DAY)
    return _NIGHT_HOURS * _HOUR * days + np.minimum(rest, _NIGHT_HOURS * _HOUR)


def _working(local: Floats) -> Floats:
    """The seconds of working hours, Monday to Friday, before each moment."""
    days, rest = np.divmod(local, _DAY)
    weeks, day = np.divmod(days + _MONDAY, 7)
    today = np.clip(rest - _WORK_FROM * _HOUR, 0, _WORK_HOURS * _HOUR) * (day < 5)
    return _WORK_HOURS * _HOUR * (5 * weeks + np.minimum(day, 5)) + today
