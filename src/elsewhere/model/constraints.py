"""The constraints of a question as arrays over one union of locations: sensitive places, bounds, forbidden rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from itertools import compress
from typing import Any

import numpy as np

from elsewhere.model.arrays import Flags, Ints, exact_sum
from elsewhere.model.distances import align
from elsewhere.model.errors import Infeasible, InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex, is_pattern, name_key
from elsewhere.model.question import Covered, Question, as_float, as_list
from elsewhere.model.taxonomy import Selection
from elsewhere.text import closest, name_list, plural, quote


def union_of(question: Question, target: NameIndex | None) -> tuple[NameIndex, Ints]:
    """The locations of history, candidates, earlier release and target; different spellings of a place count once."""
    history = question.history
    candidates = _names("candidates", question.candidates)
    for name in candidates:
        if not name_key(name):
            raise InputError("candidates has an empty name", ("candidates",))
        if is_pattern(name):
            raise InputError(f"candidates has the pattern {quote(name)}; name each candidate", ("candidates",))
    index = history.index.union(NameIndex(candidates)) if candidates else history.index
    if question.lower is not None and (earlier := visited_in(question.lower)):
        index = index.union(NameIndex(earlier))
    if target is not None:
        index = index.union(target)
    if index is history.index:
        return index, history.counts.copy()  # writable, because read-only is another type for compiled code
    return index, align(index, history.index, history.counts)


def visited_in(earlier: object) -> list[str]:
    """The places with visits in an earlier release, if `lower` is one."""
    return [*compress(earlier.locations, earlier.counts.tolist())] if isinstance(earlier, Histogram) else []


def sensitive_in(question: Question, index: NameIndex) -> Flags:
    """Which locations are sensitive."""
    given = question.sensitive
    if isinstance(given, Covered):
        given = Selection(name for locations in given.values() for name in locations)
    sensitive = np.zeros(len(index.names), dtype=np.bool_)
    for name in _names("sensitive", given):
        at = index.covered(name)
        if not at and not isinstance(given, Selection):
            where = "matches nothing" if is_pattern(name) else "is not"
            kind = "pattern" if is_pattern(name) else "location"
            raise InputError(f"the sensitive {kind} {quote(name)} {where} in the histogram{closest(name, index.names)}")
        sensitive[at] = True
    return sensitive


def bounds_of(question: Question, index: NameIndex, original: Ints, size: int, sensitive: Flags) -> tuple[Ints, Ints]:
    """The least and the greatest count of every location."""
    if not isinstance(question.visited_only, (bool, np.bool_)):
        raise InputError(f"visited_only is {quote(question.visited_only)}; it must be True or False", ("visited_only",))
    lower, upper = _least_counts(question, index, size), np.empty(len(original), dtype=np.int64)
    upper.fill(size)
    bounds = bound_by_place("upper", question.upper, index, min)
    for at, count in bounds.items():
        upper[at] = min(count, size + 1)
    closed = sensitive | (original == 0) if question.visited_only else sensitive
    if question.lower is not None:
        _check_least(question, index, original, lower, upper, closed, sensitive, bounds)
    if bounds:
        upper = np.minimum(upper, size)
    if not_raised := [at for name in question.not_raised for at in index.positions(name)]:
        upper[not_raised] = np.minimum(upper, np.maximum(original, lower))[not_raised]
    upper[closed] = 0
    if question.size == "free":  # the visits that may be added
        upper = np.minimum(upper, lower + max(size - exact_sum(lower), 0))
    return lower, upper


def _least_counts(question: Question, index: NameIndex, size: int) -> Ints:
    """The lower bounds, or the counts of an earlier release. Its names are places, never patterns."""
    lower, earlier = np.zeros(len(index.names), dtype=np.int64), question.lower
    if earlier is not None and isinstance(earlier, Histogram):
        visited = np.flatnonzero(earlier.counts)
        places = np.array(index.positions_of(earlier.index), dtype=np.int64)[visited]
        lower[places] = np.minimum(earlier.counts[visited], size + 1)
        return lower
    for at, count in bound_by_place("lower", earlier, index, max).items():
        lower[at] = min(count, size + 1)
    return lower


def _check_least(
    question: Question,
    index: NameIndex,
    original: Ints,
    lower: Ints,
    upper: Ints,
    closed: Flags,
    sensitive: Flags,
    bounds: Container[int],
) -> None:
    """Raise if the lower bound of a location is above its upper one; `bounds` has the locations with an upper bound."""
    earlier, free = isinstance(question.lower, Histogram), question.size == "free"
    if earlier and (closed & (lower > 0)).any():
        raise _not_kept(index, lower, closed, sensitive, free)
    for at in np.flatnonzero(lower > np.where(closed, 0, upper)).tolist():
        why = "is sensitive" if sensitive[at] else "was never visited (visited_only)"
        wrong = f"cannot be met: the location {why}" if closed[at] else f"is above its upper bound {upper[at]}"
        what = "the earlier release's count" if earlier else "the lower bound"
        what = "the history's count" if free and lower[at] == original[at] else what
        if closed[at] or at in bounds:
            raise InputError(f"{what} {lower[at]} of {quote(index.names[at])} {wrong}")


def _not_kept(index: NameIndex, lower: Ints, closed: Flags, sensitive: Flags, only_adds: bool) -> Infeasible:
    """The error for visits of an earlier release at places that may have none now."""
    lost = np.flatnonzero(closed & (lower > 0))
    if sensitive[lost].any():
        lost = lost[sensitive[lost]]
        if only_adds:
            places = name_list([index.names[at] for at in lost.tolist()], 5)
            return Infeasible(f"only adding visits cannot hide those at sensitive places: {places}", math.inf)
        why, remedy = "are sensitive now", "spare them, or leave out the earlier release"
    else:
        why, remedy = "were never visited", "leave out visited_only to keep them"
    places = name_list([index.names[at] for at in lost.tolist()], 5)
    return Infeasible(f"the earlier release has visits at places that {why}: {places}; {remedy}", math.inf)


def check_growth(question: Question, lower: Ints, size: int) -> None:
    """Raise if there is no room for an earlier release. A history that only grows always has room."""
    earlier = question.lower
    if earlier is None or not isinstance(earlier, Histogram) or (needed := exact_sum(lower)) <= size:
        return
    if earlier.size > size:
        told = f"the earlier release has {plural(earlier.size, 'visit')}, and this one would have only {size}"
        raise Infeasible(f"{told}: the history has not grown since", math.inf)
    told = f"the earlier release and the history need {needed} visits together, and this one would have only {size}"
    raise Infeasible(f"{told}: the history has lost visits since, or redistribute is too small", math.inf)


def bound_by_place(name: str, given: Any, index: NameIndex, stricter: Callable[[int, int], int]) -> dict[int, int]:
    """The bound of each named place. A name takes precedence over a pattern, and of two patterns the stricter holds."""
    if given is None:
        return {}
    if not hasattr(given, "items"):
        raise InputError(f"{name} is {quote(given)}; give a mapping from locations to counts", (name,))
    named: dict[int, int] = {}
    matched: dict[int, int] = {}
    for location, value in given.items():
        count = whole_number(f"{name}[{quote(location)}]", value)
        places = index.positions(location) if isinstance(location, str) else []
        if not places and (count or name == "upper"):
            raise InputError(
                f"{name} names {quote(location)}, which is not in the histogram{closest(str(location), index.names)}",
                (name,),
            )
        found = matched if places and is_pattern(location) else named
        for at in places:
            if found is named and named.get(at, count) != count:
                raise InputError(f"{name} has two bounds for {quote(index.names[at])}: {named[at]} and {count}")
            found[at] = stricter(count, found.get(at, count))
    return matched | named


def forbidden_rows(question: Question, index: NameIndex) -> Ints:
    """The forbidden histograms without visits at other locations, one row each."""
    rows = []
    for given in as_list("forbidden", question.forbidden, "histograms"):
        histogram = given if isinstance(given, Histogram) else Histogram(given)
        visited = histogram.counts > 0
        places = np.array(index.positions_of(histogram.index))[visited]
        if (places >= 0).all():
            row = np.zeros(len(index.names), dtype=np.int64)
            row[places] = histogram.counts[visited]
            rows.append(row)
    return np.array(rows, dtype=np.int64) if rows else np.zeros((0, len(index.names)), dtype=np.int64)


def _names(name: str, names: Iterable[str]) -> list[str]:
    found: list[str] = as_list(name, names, "location names")
    for item in found if found and set(map(type, found)) - {str} else ():
        if not isinstance(item, str):
            raise InputError(f"{name} has the location {quote(item)}, which is not a string", (name,))
    return found


def whole_number(name: str, value: Any) -> int:
    """A count that a caller gives."""
    number = as_float(value)
    if not (0 <= number < math.inf and number.is_integer()):
        raise InputError(f"{name} is {quote(value)}; it must be a whole number that is not negative", (name,))
    return int(value)
