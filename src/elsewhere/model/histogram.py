"""Histograms and profiles: how often, or with what weight, at which location.

Both keep their locations sorted by name. Whatever order the input came in, everything computed from it is the
same, and a release shows nothing of that order.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress, pairwise
from typing import Any, TypeAlias

import numpy as np

from elsewhere.model.arrays import Floats, Ints, exact_sum
from elsewhere.model.errors import InputError
from elsewhere.text import quote

#: Mappings, iterables of pairs, and whatever else has ``items()``, such as a pandas Series.
TableLike: TypeAlias = "Mapping[str, Any] | Iterable[tuple[str, Any]] | Any"

_LARGEST = np.iinfo(np.int64).max


class _Table(Mapping[str, Any]):
    """Locations sorted by name, each with a number."""

    __slots__ = ("_locations", "_numbers")

    _locations: tuple[str, ...]
    _numbers: np.ndarray[Any, Any]

    @property
    def locations(self) -> tuple[str, ...]:
        """The names of the bins, sorted."""
        return self._locations

    @property
    def length(self) -> int:
        """The number of bins, n."""
        return len(self._locations)

    def __getitem__(self, location: str) -> Any:
        at = find(self._locations, location)
        return self._numbers[at].item() if at >= 0 else self._numbers.dtype.type(0).item()

    def get(self, location: str, default: Any = None) -> Any:
        at = find(self._locations, location)
        return self._numbers[at].item() if at >= 0 else default

    def __contains__(self, location: object) -> bool:
        return find(self._locations, location) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._locations)

    def __len__(self) -> int:
        return len(self._locations)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._positive() == other._positive()

    def __hash__(self) -> int:
        return hash(tuple(self._positive().items()))

    def _positive(self) -> dict[str, Any]:
        return {location: number for location, number in self.items() if number}

    def items(self) -> Any:
        return dict(zip(self._locations, self._numbers.tolist(), strict=True)).items()

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        self._numbers.flags.writeable = False  # a copy or an unpickled array is not

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


class Histogram(_Table):
    """How often a person was where: locations with nonnegative integer counts, never changed once made.

    Made from a mapping, an iterable of pairs, a `collections.Counter`, a pandas Series or another histogram.
    A location with count 0 is a bin as well: it may receive counts.

    >>> h = Histogram({"gym": 2, "cafe": 7})
    >>> h.size, h.length, h.locations
    (9, 2, ('cafe', 'gym'))
    >>> h["cafe"], h["nowhere"]
    (7, 0)
    >>> h == Histogram({"cafe": 7, "gym": 2, "museum": 0})
    True
    """

    __slots__ = ("_size",)

    _size: int

    def __init__(self, counts: TableLike) -> None:
        locations, values = _parse(counts, "histogram")
        numbers = _whole(locations, values)
        self._locations, self._numbers = _sorted(locations, numbers, "histogram")
        self._size = exact_sum(self._numbers)
        if self._size > _LARGEST:
            raise InputError(f"the counts of the histogram sum to {self._size}, which is beyond 64 bits")
        self._numbers.flags.writeable = False

    @classmethod
    def _of(cls, locations: tuple[str, ...], counts: Ints) -> Histogram:
        """The positive counts of arrays that are known to be sound and sorted by location."""
        positive = counts > 0
        if not positive.all():
            locations, counts = tuple(compress(locations, positive.tolist())), counts[positive]
        histogram = cls.__new__(cls)
        histogram._locations = locations
        histogram._numbers = np.ascontiguousarray(counts, dtype=np.int64)
        histogram._numbers.flags.writeable = False
        histogram._size = int(counts.sum())
        return histogram

    @property
    def counts(self) -> Ints:
        """The counts in the order of `locations`, read-only."""
        return self._numbers

    @property
    def size(self) -> int:
        """The sum of the counts, N."""
        return self._size


class Profile(_Table):
    """A probability distribution over locations, for example of the visits of a typical tourist.

    Made like a `Histogram`, from any nonnegative numbers; they are scaled to sum to 1.

    >>> Profile({"museum": 3, "hotel": 1})["museum"]
    0.75
    """

    __slots__ = ()

    def __init__(self, weights: TableLike) -> None:
        locations, numbers = parse_weights(weights, "profile")
        self._locations, self._numbers = locations, numbers / numbers.sum()
        self._numbers.flags.writeable = False

    @property
    def weights(self) -> Floats:
        """The shares in the order of `locations`, read-only; they sum to 1."""
        return self._numbers


def parse_weights(weights: TableLike, what: str) -> tuple[tuple[str, ...], Floats]:
    """Locations sorted by name and their nonnegative, finite weights, which do not sum to 0."""
    if isinstance(weights, _Table):
        locations, numbers = weights.locations, weights._numbers.astype(np.float64)
    else:
        names, values = _parse(weights, what)
        locations, numbers = _sorted(names, _real(names, values, what), what)
    with np.errstate(over="ignore"):
        total = float(numbers.sum())
    if not 0 < total < math.inf:
        raise InputError(f"the weights of the {what} sum to {total!r}; the sum must be positive and finite")
    return locations, numbers


def _real(locations: list[str], values: list[Any], what: str) -> Floats:
    """The weights as float64, or an error that names the first that is none."""
    numbers = []
    for location, value in zip(locations, values, strict=True):
        if not _is_number(value):
            raise InputError(f"the {what} gives {quote(location)} the weight {quote(value)}, which is not a number")
        try:
            numbers.append(float(value))
        except OverflowError:
            numbers.append(math.inf)
        if not 0 <= numbers[-1] < math.inf:
            raise InputError(
                f"the {what} gives {quote(location)} the weight {quote(value)}; weights are finite and not negative"
            )
    return np.array(numbers)


def _parse(table: TableLike, what: str) -> tuple[list[str], list[Any]]:
    if isinstance(table, str | bytes):
        raise InputError(f"the {what} is {quote(table)}; give a mapping from locations to numbers")
    try:
        pairs = table.items() if hasattr(table, "items") else table
        rows = [(location, value) for location, value in pairs]
    except (TypeError, ValueError):
        kind = type(table).__name__
        raise InputError(f"the {what} is a {kind}; give a mapping or pairs of location and number") from None
    if not rows:
        raise InputError(f"the {what} is empty: it has no location at all")
    locations = [location for location, _ in rows]
    if set(map(type, locations)) != {str} and not all(isinstance(location, str) for location in locations):
        odd = next(location for location in locations if not isinstance(location, str))
        raise InputError(f"the {what} has the location {quote(odd)}, which is not a string")
    return locations, [value for _, value in rows]


def _sorted(
    locations: list[str], numbers: np.ndarray[Any, Any], what: str
) -> tuple[tuple[str, ...], np.ndarray[Any, Any]]:
    names = sorted(locations)
    if names != locations:
        order = sorted(range(len(locations)), key=locations.__getitem__)
        numbers = numbers[order]
    if len(set(names)) < len(names):
        twice = next(a for a, b in pairwise(names) if a == b)
        raise InputError(f"the {what} has the location {quote(twice)} more than once")
    return tuple(names), numbers


def _whole(locations: list[str], values: list[Any]) -> Ints:
    """The counts as int64, or an error that names the first that is none."""
    if set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= _LARGEST:
        return np.array(values, dtype=np.int64)
    counts = []
    for location, value in zip(locations, values, strict=True):
        wrong = _why_no_count(value)
        if wrong:
            raise InputError(f"the histogram gives {quote(location)} the count {quote(value)}{wrong}")
        counts.append(int(value))
    return np.array(counts, dtype=np.int64)


def _why_no_count(value: Any) -> str:
    if not _is_number(value):
        return ", which is not a number"
    if not isinstance(value, int) and not math.isfinite(value):
        return "; counts are finite"
    if value != int(value):
        return "; counts are whole numbers"
    if value < 0:
        return "; counts are not negative"
    return ", which is beyond 64 bits" if value > _LARGEST else ""


def _is_number(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    except OverflowError:
        pass
    return True


def find(locations: tuple[str, ...], name: object) -> int:
    """The place of the name among sorted locations; -1 if it is not there."""
    at = bisect_left(locations, name) if isinstance(name, str) else len(locations)
    return at if at < len(locations) and locations[at] == name else -1
