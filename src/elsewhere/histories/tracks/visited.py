"""The places that stays are at: how often, for how long, and which of them are home and work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.tracks.stays import Stays, on_sphere, same_place
from elsewhere.model.arrays import Floats, Ints

_HOUR, _DAY = 3600.0, 86400.0
#: Home is where most of the nights are, and work most of the working days, each in local time.
_NIGHT_FROM, _NIGHT_HOURS = 22, 8
_WORK_FROM, _WORK_HOURS = 9, 8
#: What is too little to tell either: fewer hours or visits.
_LEAST_HOURS, _LEAST_VISITS = 12.0, 3
#: The first of January 1970 was a Thursday.
_MONDAY = 3


@dataclass(frozen=True)
class Place:
    """A place, where it is, and what it seems to be: home, work, or nothing."""

    at: Coordinates
    visits: int
    hours: float
    role: str = ""


def find_places(stays: Stays, stay: float, reach: float) -> list[Place]:
    """The places of the stays, those with the most visits first.

    Stays at most `reach` metres apart are at one place. Two of them with less than `stay` seconds in between, in which
    there was no stay elsewhere, are one visit.
    """
    number = same_place(stays.latitudes, stays.longitudes, reach)
    many = int(number.max()) + 1 if len(number) else 0
    goes_on = np.zeros(len(stays), dtype=np.bool_)
    goes_on[1:] = (number[1:] == number[:-1]) & (stays.begins[1:] - stays.ends[:-1] < stay)
    visits = np.bincount(number[~goes_on], minlength=many)
    hours = _per_place(number, stays.ends - stays.begins, many)
    where = _middles(stays, number, many)
    roles = _roles(stays, number, visits)
    found = [
        Place((float(north), float(east)), int(times), float(long), roles.get(at, ""))
        for at, ((north, east), times, long) in enumerate(zip(where, visits, hours, strict=True))
    ]
    return sorted(found, key=lambda place: (-place.visits, -place.hours, place.at))


def _middles(stays: Stays, number: Ints, many: int) -> Floats:
    """The middle of each place in degrees, one row each."""
    points = on_sphere(stays.latitudes, stays.longitudes)
    x, y, z = (np.bincount(number, weights=points[:, axis], minlength=many) for axis in range(3))
    found: Floats = np.degrees(np.column_stack((np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x))))
    return found


def _roles(stays: Stays, number: Ints, visits: Ints) -> dict[int, str]:
    """Which place is home and which is work, if that can be told."""
    # The sun tells the local hour well enough, and needs no table of time zones.
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
