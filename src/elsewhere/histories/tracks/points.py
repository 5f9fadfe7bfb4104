"""The content of a file of positions, as plain arrays. It stays in memory, out of messages and releases."""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from elsewhere.histories.coordinates import Coordinates, tells_position
from elsewhere.model.arrays import Floats

#: Positions less accurate than this many metres, such as those of a distant mast, are left out.
WORST_ACCURACY = 200.0

_UTC = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?[Zz]?", re.ASCII)

#: Seconds since 1970 that a track may have. Larger numbers are milliseconds, microseconds or nanoseconds.
_LATEST = 2**33


class Labelled(NamedTuple):
    """A place that a file names, and perhaps what kind of place it is."""

    name: str
    #: None if the file has no coordinates for it.
    at: Coordinates | None
    kind: str = ""
    #: The start of a visit to it, as written in the file.
    time: Any = None


class Points(NamedTuple):
    """Positions in the order of their times: seconds since 1970 in UTC, degrees."""

    times: Floats
    latitudes: Floats
    longitudes: Floats


@dataclass
class Track:
    """Everything in a file about where somebody was.

    If a file has visits, its positions are ignored. Places without a time are names for the places of a track. In a
    file that has nothing else, each of them is one visit.
    """

    visits: list[Labelled] = field(default_factory=list)
    places: list[Labelled] = field(default_factory=list)
    #: Notes for the person.
    notes: list[str] = field(default_factory=list)
    #: The numbers of positions without a time or coordinates, and of those that are too inaccurate.
    incomplete: int = 0
    inexact: int = 0
    _times: array[float] = field(default_factory=lambda: array("d"))
    _latitudes: array[float] = field(default_factory=lambda: array("d"))
    _longitudes: array[float] = field(default_factory=lambda: array("d"))

    def __len__(self) -> int:
        return len(self._times)

    def is_inexact(self, accuracy: Any) -> bool:
        """Whether a position with that accuracy in metres is left out; a value that is not a number is ignored."""
        inexact = isinstance(accuracy, int | float) and accuracy > WORST_ACCURACY
        self.inexact += inexact
        return inexact

    def add(self, time: float | None, at: Coordinates | None) -> None:
        """Add a position if it is valid."""
        if time is None or at is None:
            self.incomplete += 1
            return
        self._times.append(time)
        self._latitudes.append(at[0])
        self._longitudes.append(at[1])

    def extend(self, times: Floats, latitudes: Floats, longitudes: Floats) -> None:
        """Add many positions; those that are NaN or out of range are left out."""
        # Comparisons with NaN are false.
        valid = np.isfinite(times) & (np.abs(latitudes) <= 90) & (np.abs(longitudes) <= 180)
        self.incomplete += int(valid.size - valid.sum())
        for mine, new in zip(self._arrays, (times, latitudes, longitudes), strict=True):
            mine.frombytes(new[valid].tobytes())

    def points(self) -> Points:
        """The positions in the order of their times, each once."""
        columns = [np.frombuffer(column, dtype=np.float64) if column else np.empty(0) for column in self._arrays]
        if np.any(columns[0][1:] < columns[0][:-1]):
            order = np.argsort(columns[0], kind="stable")
            columns = [column[order] for column in columns]
        again = np.ones(max(len(columns[0]) - 1, 0), dtype=np.bool_)
        for column in columns:
            again &= column[1:] == column[:-1]
        if again.any():
            kept = np.concatenate(([True], ~again))
            columns = [column[kept] for column in columns]
        return Points(*columns)

    def merge(self, other: Track) -> None:
        """Add everything in another file of the same person."""
        self.visits += other.visits
        self.places += other.places
        self.notes += other.notes
        self.incomplete += other.incomplete
        self.inexact += other.inexact
        for mine, theirs in zip(self._arrays, other._arrays, strict=True):
            mine.extend(theirs)

    @property
    def _arrays(self) -> tuple[array[float], array[float], array[float]]:
        return self._times, self._latitudes, self._longitudes


def name_of(text: Any) -> str:
    """A name for a place, or "" if there is none. A text with a position is refused: it would get into a release.

    >>> name_of(" Blue Lantern "), name_of("12.34, -45.67"), name_of(None)
    ('Blue Lantern', '', '')
    """
    return text.strip() if isinstance(text, str) and not tells_position(text) else ""


def epoch(time: Any) -> float | None:
    """Seconds since 1970, from a number of seconds, milliseconds or smaller units, or from ISO 8601 (UTC by default).

    >>> epoch("1970-01-02T00:00:00Z"), epoch("1970-01-02 01:00+01:00"), epoch(86400), epoch("1678082400000"), epoch("?")
    (86400.0, 86400.0, 86400.0, 1678082400.0, None)
    """
    if isinstance(time, bool) or time is None:
        return None
    if isinstance(time, datetime):
        moment = time
    else:
        try:
            number = float(time)
        except (TypeError, ValueError, OverflowError):
            pass
        else:
            return _scaled(number)
        try:
            moment = datetime.fromisoformat(str(time).strip())
        except ValueError:
            return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def epochs(times: list[Any]) -> Floats:
    """`epoch` for many values; NaN if a value is not a time.

    >>> epochs(["1970-01-02T00:00:00Z", "1970-01-02 00:00:00.5Z"]), epochs([86400, "1970-01-02 01:00+01:00", None])
    (array([86400. , 86400.5]), array([86400., 86400.,    nan]))
    """
    kinds = set(map(type, times))
    if kinds <= {int, float}:
        numbers = np.array(times, dtype=np.float64)
        if not len(numbers) or np.nanmax(np.abs(numbers)) < _LATEST:
            return numbers
    # NumPy parses texts of the usual form in one go, if their zone is UTC.
    elif kinds == {str} and all(map(_UTC.fullmatch, times)):
        try:
            return np.array([time.rstrip("Zz") for time in times], dtype="datetime64[us]").astype(np.float64) / 1e6
        except ValueError:
            pass  # such as the 30th of February
    return np.array([float("nan") if (time := epoch(it)) is None else time for it in times], dtype=np.float64)


def numbers(values: list[Any]) -> Floats:
    """Numbers, or texts that are numbers; anything else becomes NaN.

    >>> numbers([12.34, "-45.6", None]), numbers(["north", {}])
    (array([ 12.34, -45.6 ,    nan]), array([nan, nan]))
    """
    try:
        return np.array(values, dtype=np.float64).reshape(len(values))
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(value) for value in values], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _scaled(number: float) -> float | None:
    for unit in (1.0, 1e3, 1e6, 1e9):
        if abs(number) < _LATEST * unit:
            return number / unit
    return None
