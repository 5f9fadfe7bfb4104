"""Histograms and profiles: counts, or weights, by location.

Both keep their locations sorted by name. So results do not depend on the order of the input, and a release does not
reveal it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import compress, pairwise
from typing import Any, Protocol, SupportsFloat, TypeAlias, cast

import numpy as np

from elsewhere.model.arrays import Floats, Ints, exact_sum, float_sum
from elsewhere.model.errors import InputError
from elsewhere.model.names import NameIndex, merge_spellings
from elsewhere.model.spread import Spread
from elsewhere.text import name_list, quote


class SupportsItems(Protocol):
    """A mapping from locations to numbers, or anything else with ``items()``, such as a pandas Series."""

    def items(self) -> Iterable[tuple[Hashable, Any]]: ...


class HasHistogram(Protocol):
    """Anything with a histogram, such as the `History` that `read` returns."""

    @property
    def histogram(self) -> Histogram: ...


class HasProfile(Protocol):
    """Anything with a profile, such as the `StoredProfile` that `profiles.stored` returns."""

    @property
    def profile(self) -> Profile: ...


#: Mappings, pandas Series, iterables of pairs, and what `read` returns.
TableLike: TypeAlias = SupportsItems | Iterable[tuple[str, SupportsFloat]] | HasHistogram
#: The same, and profiles with their labels.
TargetLike: TypeAlias = TableLike | HasProfile

_LARGEST = np.iinfo(np.int64).max
#: Weights with a sum below this have a finite sum in any order.
_LARGEST_SUM = 1e280


class SupportsColumns(Protocol):
    """A data frame: columns by name."""

    def __getitem__(self, name: str, /) -> Any: ...


class _Table(Mapping[str, Any]):
    """Locations sorted by name, each with a number."""

    __slots__ = ("_index", "_locations", "_numbers")

    _locations: tuple[str, ...]
    _numbers: np.ndarray[Any, Any]
    _index: NameIndex

    @property
    def locations(self) -> tuple[str, ...]:
        """The names of the bins, sorted."""
        return self._locations

    @property
    def length(self) -> int:
        """The number of bins, n."""
        return len(self._locations)

    @property
    def index(self) -> NameIndex:
        """The locations, to be found by any spelling."""
        try:
            return self._index
        except AttributeError:
            self._index = NameIndex(self._locations)
            return self._index

    def __getitem__(self, location: str) -> Any:
        at = self._find(location)
        return self._numbers[at].item() if at >= 0 else self._numbers.dtype.type(0).item()

    def get(self, location: str, default: Any = None) -> Any:
        at = self._find(location)
        return self._numbers[at].item() if at >= 0 else default

    def __contains__(self, location: object) -> bool:
        return self._find(location) >= 0

    def _find(self, location: object) -> int:
        """The index of the location among the sorted ones, by any spelling; -1 if it is missing."""
        if not isinstance(location, str):
            return -1
        at = bisect_left(self._locations, location)
        if at < len(self._locations) and self._locations[at] == location:
            return at
        return self.index.position(location)

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
        self._numbers.flags.writeable = False  # a copied or unpickled array is writable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


class Histogram(_Table):
    """How often a person visited each location: nonnegative integer counts by location.

    A histogram is an immutable mapping, sorted by location. A location that it does not have counts as 0. A location
    with count 0 is still a bin: `hide`, `resemble` and `avoid` may give it visits.

    Names are compared by one key: case, surrounding and repeated blanks, invisible characters and Unicode forms do not
    matter. Spellings of one place are one location. Their counts are added under the most common spelling, and every
    spelling finds it.

    Parameters
    ----------
    counts
        A mapping from locations to counts, pairs of location and count, a `collections.Counter`, a pandas Series, what
        `read` returns, or another histogram.

    Raises
    ------
    InputError
        A name is not a string, or a count is not a nonnegative whole number.

    See Also
    --------
    Histogram.from_visits : Count a list of visits.
    Histogram.from_frame : Read columns of a data frame.
    read : Find the histogram in a file.

    Examples
    --------
    >>> h = Histogram({"gym": 2, "cafe": 7})
    >>> h.size, h.length, h.locations
    (9, 2, ('cafe', 'gym'))
    >>> h["cafe"], h["CAFE "], h["nowhere"]
    (7, 7, 0)
    >>> h == Histogram({"cafe": 7, "gym": 2, "museum": 0})
    True
    """

    __slots__ = ("_size", "_spellings")

    _size: int
    _spellings: dict[str, tuple[str, ...]]

    def __init__(self, counts: TableLike) -> None:
        locations, values = _parse(counts, "histogram")
        numbers = _whole(locations, values)
        self._locations, self._numbers, self._index, self._spellings = _sorted(locations, numbers, "histogram")
        self._size = exact_sum(self._numbers)
        if self._size > _LARGEST:
            raise InputError(f"the counts of the histogram sum to {self._size}, which does not fit in 64 bits")
        self._numbers.flags.writeable = False

    @classmethod
    def _of(cls, locations: tuple[str, ...], counts: Ints, size: int) -> Histogram:
        """The positive counts of arrays that are known to be sound, sorted by location and of this size."""
        if np.count_nonzero(counts) < len(counts):
            locations, counts = tuple(compress(locations, counts.tolist())), counts[counts.nonzero()]
        histogram = cls.__new__(cls)
        histogram._locations = locations
        histogram._numbers = np.ascontiguousarray(counts, dtype=np.int64)
        histogram._numbers.setflags(write=False)
        histogram._size = size
        histogram._spellings = {}
        return histogram

    @classmethod
    def from_visits(cls, visits: Iterable[str]) -> Histogram:
        """Count `visits`: a list, a pandas Series or any other iterable of names, one for each visit.

        >>> dict(Histogram.from_visits(["cafe", "gym", "cafe"]))
        {'cafe': 2, 'gym': 1}
        """
        if isinstance(visits, str | bytes) or not isinstance(visits, Iterable):
            raise InputError(f"visits is {quote(visits)}; give an iterable of names, one for each visit")
        return cls(Counter(visits))

    @classmethod
    def from_frame(cls, frame: SupportsColumns, location: str, count: str | None = None) -> Histogram:
        """Read a histogram from one or two columns of a data frame (pandas, Polars, Arrow).

        Parameters
        ----------
        frame
            The data frame: anything whose columns are ``frame[name]``.
        location
            The column with the names of the locations; the counts of equal names are added.
        count
            The column with the counts. Default: None, one row per visit.

        >>> dict(Histogram.from_frame({"place": ["cafe", "gym", "cafe"], "n": [2, 1, 3]}, "place", "n"))
        {'cafe': 5, 'gym': 1}
        """
        names = _column(frame, location)
        if count is None:
            return cls.from_visits(names)
        totals: dict[str, int] = {}
        for name, value in zip(names, _column(frame, count), strict=True):
            totals[name] = totals.get(name, 0) + _count(name, value)
        return cls(totals)

    @property
    def spellings(self) -> Mapping[str, tuple[str, ...]]:
        """The other spellings whose counts were added to a location, by location."""
        return self._spellings

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

    A profile is an immutable mapping, sorted by location, whose weights sum to 1. Any spelling of a name finds it.

    Parameters
    ----------
    weights
        Anything that `Histogram` accepts, with any nonnegative numbers; they are scaled to sum to 1.
    spread
        How members of the profile differ, for ``method="drawn"``. Default: that of `weights`, if it is a profile.

    See Also
    --------
    profiles : Shipped profiles, and how to learn your own.

    Examples
    --------
    >>> Profile({"museum": 3, "hotel": 1})["museum"]
    0.75
    """

    __slots__ = ("_spread",)

    _spread: Spread | None

    def __init__(self, weights: TargetLike, spread: Spread | None = None) -> None:
        table = as_target(weights)
        self._index, numbers = parse_weights(table, "profile")
        self._locations, self._numbers = tuple(self._index.names), numbers / numbers.sum()
        self._numbers.flags.writeable = False
        self._spread = table.spread if spread is None and isinstance(table, Profile) else spread
        if self._spread is not None:
            self._spread.check_places(self._index)

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        return self._spread == other._spread if same is True and isinstance(other, Profile) else same

    __hash__ = _Table.__hash__

    @property
    def spread(self) -> Spread | None:
        """How members of the profile differ from it; None if that is not known."""
        return self._spread

    @property
    def weights(self) -> Floats:
        """The shares in the order of `locations`, read-only. They sum to 1."""
        return self._numbers


def as_target(target: TargetLike) -> TableLike:
    """The profile of an object that has one, or else the table itself."""
    profile = getattr(target, "profile", None)
    # A pandas Series also has its labels as attributes.
    return profile if profile is not None and isinstance(profile, Profile) else cast(TableLike, target)


def parse_weights(weights: TableLike, what: str, known: NameIndex | None = None) -> tuple[NameIndex, Floats]:
    """Locations sorted by name and their nonnegative, finite weights, which do not sum to 0.

    If the names are those of `known`, an index of distinct places, it is returned instead of a new one, to save time.
    """
    if type(weights) is not dict and isinstance(weights, _Table):
        index, numbers = weights.index, weights._numbers.astype(np.float64)
        total = float_sum(numbers)
    elif (
        known is not None and type(weights) is dict and weights and tuple(weights) == known.names
    ):  # valid names, and sorted
        index, (numbers, total) = known, _real(weights, list(weights.values()), what)
    else:
        names, values = _parse(weights, what)
        numbers, total = _real(names, values, what)
        _, numbers, index, _ = _sorted(names, numbers, what, known)
    if not 0.0 < total < math.inf:
        raise InputError(f"the weights of the {what} sum to {total!r}; the sum must be positive and finite")
    return index, numbers


def _real(locations: Iterable[str], values: list[Any], what: str) -> tuple[Floats, float]:
    """The weights as float64, and their sum; raise an error that names the first invalid one."""
    if set(map(type, values)) <= {float, int}:
        try:
            # For a few numbers Python is much faster than NumPy. A NaN makes the sum one.
            if min(values) >= 0 and (total := float(sum(values))) < _LARGEST_SUM:
                return np.array(values, dtype=np.float64), total
        except OverflowError:  # an integer above the largest float
            pass
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
                f"the {what} gives {quote(location)} the weight {quote(value)}; weights must be finite and not negative"
            )
    weights = np.array(numbers)
    with np.errstate(over="ignore"):
        return weights, float(weights.sum())


def _parse(table: TableLike, what: str) -> tuple[list[str], list[Any]]:
    if isinstance(table, (str, bytes)):
        raise InputError(f"the {what} is {quote(table)}; give a mapping from locations to numbers")
    given: Any = table.histogram if hasattr(table, "histogram") and not hasattr(table, "items") else table
    locations, values = _columns(given, table, what)
    if not locations:
        raise InputError(f"the {what} is empty: it has no locations")
    if set(map(type, locations)) != {str} and not all(isinstance(location, str) for location in locations):
        odd = next(location for location in locations if not isinstance(location, str))
        raise InputError(f"the {what} has the location {quote(odd)}, which is not a string")
    return locations, values


def _columns(given: Any, table: TableLike, what: str) -> tuple[list[Any], list[Any]]:
    """The locations and the numbers of a mapping or of pairs."""
    if type(given) is dict:
        return list(given), list(given.values())
    try:
        rows = [(location, value) for location, value in (given.items() if hasattr(given, "items") else given)]
    except (TypeError, ValueError):
        kind = type(table).__name__
        raise InputError(f"the {what} is a {kind}; give a mapping or pairs of location and number") from None
    return [location for location, _ in rows], [value for _, value in rows]


def _sorted(
    locations: list[str], numbers: np.ndarray[Any, Any], what: str, known: NameIndex | None = None
) -> tuple[tuple[str, ...], np.ndarray[Any, Any], NameIndex, dict[str, tuple[str, ...]]]:
    """Locations by name with their numbers, their index, and the spellings that were merged into them."""
    names = sorted(locations)
    if names != locations:
        order = sorted(range(len(locations)), key=locations.__getitem__)
        numbers = numbers[order]
    if known is not None and known.names == (same := tuple(names)):
        return same, numbers, known, {}
    if len(set(names)) < len(names):
        twice = next(a for a, b in pairwise(names) if a == b)
        raise InputError(f"the {what} has the location {quote(twice)} more than once")
    index = NameIndex(tuple(names))
    spellings: dict[str, tuple[str, ...]] = {}
    if not index.distinct:
        merged, spellings = merge_spellings(dict(zip(names, numbers.tolist(), strict=True)))
        names = sorted(merged)
        numbers = np.array([merged[name] for name in names], dtype=numbers.dtype)
        index = NameIndex(tuple(names))
    return tuple(names), numbers, index, spellings


def _column(frame: SupportsColumns, name: str) -> list[Any]:
    try:
        column = frame[name]
    except Exception:  # each data frame library raises its own error for a missing column
        known = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
        listed = f"; it has {name_list(known)}" if known and all(isinstance(it, str) for it in known) else ""
        raise InputError(f"the frame has no column {quote(name)}{listed}") from None
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _whole(locations: list[str], values: list[Any]) -> Ints:
    """The counts as int64; raise an error that names the first invalid one."""
    if set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= _LARGEST:
        return np.array(values, dtype=np.int64)
    counts = [_count(location, value) for location, value in zip(locations, values, strict=True)]
    return np.array(counts, dtype=np.int64)


def _count(location: object, value: Any) -> int:
    wrong = _why_no_count(value)
    if wrong:
        raise InputError(f"the histogram gives {quote(location)} the count {quote(value)}{wrong}")
    return int(value)


def _why_no_count(value: Any) -> str:
    if not _is_number(value):
        return ", which is not a number"
    if not isinstance(value, int) and not math.isfinite(value):
        return "; counts must be finite"
    if value != int(value):
        return "; counts must be whole numbers"
    if value < 0:
        return "; counts must not be negative"
    return ", which does not fit in 64 bits" if value > _LARGEST else ""


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
