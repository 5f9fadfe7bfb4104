"""A question put precisely: the histogram, the target and every constraint, as arrays over one union of locations."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from elsewhere.model.arrays import Flags, Ints, exact_sum
from elsewhere.model.distances import DistanceLike, Measure, align, find_distance, slack
from elsewhere.model.errors import Infeasible, InputError
from elsewhere.model.histogram import Histogram, Profile, TableLike, find, parse_weights
from elsewhere.model.result import Goal, Question
from elsewhere.model.taxonomy import Selection
from elsewhere.text import closest, quote

Size: TypeAlias = Literal["original", "target"]
BoundsLike: TypeAlias = "Mapping[str, int] | None"


#: What rounding may hide of the room that a budget leaves a bin, relative to the budget plus one.
ROOM = 1e-12
#: The largest size that is worked with: sums of counts stay within 64 bits, whatever is added to them on the way.
LARGEST_SIZE = 4 * 10**18


class Constraints(NamedTuple):
    """What a caller may ask of the sanitized histogram beyond its goal, as it was given."""

    sensitive: Iterable[str] = ()
    visited_only: bool = False
    lower: BoundsLike = None
    upper: BoundsLike = None
    forbidden: Iterable[TableLike] = ()
    candidates: Iterable[str] = ()


class Problem(NamedTuple):
    """Choose counts within lower..upper that sum to `size`, none of the `forbidden` rows.

    hide minimises the quality loss; resemble minimises and avoid maximises the privacy distance within `limit`.
    """

    goal: Goal
    locations: tuple[str, ...]
    original: Ints
    size: int
    lower: Ints
    upper: Ints
    forbidden: Ints
    sensitive: Flags
    quality: Measure
    privacy: Measure | None
    limit: float
    #: Bins whose quality term is a constant infinity and does not count (hide only).
    left_out: Flags

    @property
    def budget(self) -> float:
        """The limit on the sum of the quality terms, with the slack of floating point (a hair less: sums vary)."""
        return self.quality.to_total(self.limit + 0.999 * slack(self.limit))

    def within(self, limit: float) -> Problem:
        """The same problem with another limit on the quality loss."""
        return self._replace(limit=limit)

    def quality_loss(self, counts: Ints) -> float:
        """d_q(H, H')."""
        terms = self.quality.terms(counts.astype(np.float64))
        terms[self.left_out] = 0.0
        return self.quality.from_total(float(terms.sum()))

    def privacy_distance(self, counts: Ints) -> float | None:
        """d_p(H', H'')."""
        return None if self.privacy is None else self.privacy(counts.astype(np.float64))

    @property
    def question(self) -> Question:
        """What was asked, without the mathematics."""
        target = None if self.privacy is None else self.privacy.reference
        return Question(self.locations, self.original, target, self.sensitive)

    def is_forbidden(self, counts: Ints) -> bool:
        return len(self.forbidden) > 0 and bool((self.forbidden == counts).all(axis=1).any())

    def allows(self, counts: Ints) -> bool:
        """Whether the counts, which keep to size and bounds, are not forbidden otherwise."""
        if self.is_forbidden(counts):
            return False
        # Bounds keep built-in distances finite; a function of the user's may be infinite anywhere.
        if not self.quality.distance.builtin and self.quality_loss(counts) == math.inf:
            return False
        own = self.goal == "resemble" and self.privacy is not None and not self.privacy.distance.builtin
        return not own or self.privacy_distance(counts) != math.inf

    def is_within(self, counts: Ints) -> bool:
        """Whether the counts keep to everything but the limit on the quality loss."""
        return (
            int(counts.sum()) == self.size
            and bool((counts >= self.lower).all() and (counts <= self.upper).all())
            and self.allows(counts)
        )


def hiding(histogram: Histogram, quality: DistanceLike, redistribute: int | None, constraints: Constraints) -> Problem:
    """The SLH problem, or SLH_r when `redistribute` is given: every bin but the sensitive ones may receive counts."""
    measure = find_distance(quality)
    locations, original = _union(histogram, (), constraints)
    sensitive = _sensitive(constraints, locations)
    hidden = int(original[sensitive].sum())
    received = hidden if redistribute is None else _whole_number("redistribute", redistribute)
    size = histogram.size - hidden + received
    if size == 0:
        raise InputError("nothing would be left: every visit is at a sensitive location and redistribute is 0")
    if size > LARGEST_SIZE:
        raise InputError(f"redistribute is {received}; with it the size would be above {LARGEST_SIZE:.0e}")
    lower, upper = _bounds(locations, original, size, sensitive, constraints)
    if received and not (upper > 0).any():
        raise InputError(
            f"nothing nonsensitive is there to receive the {received} sensitive counts; name candidates for them"
        )
    lower = np.maximum(lower, np.minimum(original, upper))
    reference = original.astype(np.float64)
    quality_measure = Measure(measure, reference, float(histogram.size), float(size))
    left_out = np.zeros_like(sensitive)
    if measure.unbounded:
        left_out = sensitive & np.isinf(quality_measure.terms(np.zeros(len(locations))))
    problem = Problem(
        "hide",
        locations,
        original,
        size,
        lower,
        upper,
        _forbidden(constraints, locations),
        sensitive,
        quality_measure,
        None,
        math.inf,
        left_out,
    )
    return _with_room(problem)


def targeting(
    goal: Goal,
    histogram: Histogram,
    target: TableLike,
    limit: float,
    quality: DistanceLike,
    privacy: DistanceLike,
    size: Size,
    constraints: Constraints,
) -> Problem:
    """The TR or TA problem, or its variant with the target's size."""
    quality_distance, privacy_distance = find_distance(quality), find_distance(privacy)
    limit = nonnegative("max_quality_loss", limit)
    target_locations, weights = parse_weights(target, "target")
    wanted = float(weights.sum())
    if not isinstance(size, str) or size not in ("original", "target"):
        raise InputError(f"size is {quote(size)}; it is either 'original' or 'target'")
    if size == "original":
        total = histogram.size
        # Counts that have the right size already stay as they are, to the last digit.
        weights = weights * (total / wanted) if total / wanted < math.inf else weights / wanted * total
        wanted = float(total)
    else:
        if isinstance(target, Profile):
            raise InputError("a profile has no size of its own; give size='original' or a target with counts")
        total = round(wanted)
        if abs(wanted - total) > 1e-9 or not 0 < total <= LARGEST_SIZE:
            raise InputError(
                f"the target's size is {wanted!r}; with size='target' it must be a whole number above 0, "
                f"at most {LARGEST_SIZE:.0e}"
            )
    locations, original = _union(histogram, target_locations, constraints)
    sensitive = _sensitive(constraints, locations)
    lower, upper = _bounds(locations, original, total, sensitive, constraints)
    problem = Problem(
        goal,
        locations,
        original,
        total,
        lower,
        upper,
        _forbidden(constraints, locations),
        sensitive,
        Measure(quality_distance, original.astype(np.float64), float(histogram.size), float(total)),
        Measure(privacy_distance, align(locations, target_locations, weights), wanted, float(total)),
        limit,
        np.zeros(len(locations), dtype=np.bool_),
    )
    return _with_room(problem)


def as_histogram(counts: TableLike) -> Histogram:
    """The user's histogram, with at least one visit in it."""
    histogram = counts if isinstance(counts, Histogram) else Histogram(counts)
    if histogram.size == 0:
        raise InputError("the histogram is empty: all its counts are 0")
    if histogram.size > LARGEST_SIZE:
        raise InputError(f"the histogram has {histogram.size} counts; at most {LARGEST_SIZE:.0e} can be worked with")
    return histogram


def nonnegative(name: str, value: Any) -> float:
    """A limit: a number that is neither negative nor NaN."""
    number = _as_float(value)
    if not number >= 0:
        raise InputError(f"{name} is {quote(value)}; it must be a number that is not negative")
    return number


def as_list(name: str, items: Iterable[Any], what: str) -> list[Any]:
    """The items of a collection, which a string is not."""
    try:
        if isinstance(items, str | bytes):
            raise TypeError
        return list(items)
    except TypeError:
        raise InputError(f"{name} is {quote(items)}; give a collection of {what}") from None


def _whole_number(name: str, value: Any) -> int:
    number = _as_float(value)
    if not (0 <= number < math.inf and number.is_integer()):
        raise InputError(f"{name} is {quote(value)}; it must be a whole number that is not negative")
    return int(value)


def _as_float(value: Any) -> float:
    """The value as a number, or NaN if it is none that floating point can hold."""
    try:
        return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan


def _names(name: str, names: Iterable[str]) -> list[str]:
    found: list[str] = as_list(name, names, "location names")
    for item in found if set(map(type, found)) - {str} else ():
        if not isinstance(item, str):
            raise InputError(f"{name} has the location {quote(item)}, which is not a string")
    return found


def _union(histogram: Histogram, others: Iterable[str], constraints: Constraints) -> tuple[tuple[str, ...], Ints]:
    new = {name for name in {*others, *_names("candidates", constraints.candidates)} if name not in histogram}
    if not new:
        return histogram.locations, histogram.counts.copy()  # writable: to compiled code another type than read-only
    locations = tuple(sorted([*histogram.locations, *new]))
    return locations, align(locations, histogram.locations, histogram.counts)


def _sensitive(constraints: Constraints, locations: tuple[str, ...]) -> Flags:
    names = _names("sensitive", constraints.sensitive)
    sensitive = np.zeros(len(locations), dtype=np.bool_)
    for name in names:
        at = find(locations, name)
        if at < 0 and isinstance(constraints.sensitive, Selection):
            continue
        if at < 0:
            raise InputError(f"the sensitive location {quote(name)} is not in the histogram{closest(name, locations)}")
        sensitive[at] = True
    return sensitive


def _bounds(
    locations: tuple[str, ...], original: Ints, size: int, sensitive: Flags, constraints: Constraints
) -> tuple[Ints, Ints]:
    if not isinstance(constraints.visited_only, bool | np.bool_):
        raise InputError(f"visited_only is {quote(constraints.visited_only)}; it is either True or False")
    lower = np.zeros(len(locations), dtype=np.int64)
    upper = np.full(len(locations), size, dtype=np.int64)
    for name, given, array in (("lower", constraints.lower, lower), ("upper", constraints.upper, upper)):
        if given is None:
            continue
        if not hasattr(given, "items"):
            raise InputError(f"{name} is {quote(given)}; give a mapping from locations to counts")
        for location, value in given.items():
            count = _whole_number(f"{name}[{quote(location)}]", value)
            at = find(locations, location)
            if at >= 0:
                array[at] = min(count, size + 1)
            elif count or name == "upper":
                raise InputError(
                    f"{name} names {quote(location)}, which is not in the histogram{closest(str(location), locations)}"
                )
    closed = sensitive | (original == 0) if constraints.visited_only else sensitive
    upper_given = {} if constraints.upper is None else constraints.upper
    for at in np.flatnonzero(lower > np.where(closed, 0, upper)).tolist() if constraints.lower is not None else ():
        why = "sensitive" if sensitive[at] else "never visited (visited_only)"
        most = f"0 because it is {why}" if closed[at] else f"its upper bound {upper[at]}"
        if closed[at] or locations[at] in upper_given:
            raise InputError(f"the lower bound {lower[at]} of {locations[at]!r} is above {most}")
    upper = np.minimum(upper, size)
    upper[closed] = 0
    return lower, upper


def _forbidden(constraints: Constraints, locations: tuple[str, ...]) -> Ints:
    rows = []
    for given in as_list("forbidden", constraints.forbidden, "histograms"):
        histogram = given if isinstance(given, Histogram) else Histogram(given)
        counts = {location: count for location, count in histogram.items() if count}
        row = [counts.pop(location, 0) for location in locations] if len(counts) <= len(locations) else []
        if row and not counts:
            rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(locations))


def _with_room(problem: Problem) -> Problem:
    """The problem without the counts that have an infinite term, if its bounds then have room for the size."""
    if problem.quality.distance.unbounded:
        problem = _without_infinite(problem, problem.quality)
    if problem.goal == "resemble" and problem.privacy is not None and problem.privacy.distance.unbounded:
        problem = _without_infinite(problem, problem.privacy)
    least, most = exact_sum(problem.lower), exact_sum(problem.upper)
    if least > problem.size:
        raise Infeasible(
            f"the sanitized histogram has {problem.size} counts, but its locations need at least {least}", math.inf
        )
    if most < problem.size:
        raise Infeasible(
            f"the sanitized histogram has {problem.size} counts, but its locations can hold only {most}", math.inf
        )
    return problem


def _without_infinite(problem: Problem, measure: Measure) -> Problem:
    """Bounds that leave out the counts at an infinite distance; a function of the user's is left to the search.

    A built-in term is infinite, if at all, at 0 alone or everywhere but at 0.
    """
    if not measure.distance.builtin:
        return problem
    n = len(problem.locations)
    at_zero = np.isinf(measure.terms(np.zeros(n))) & ~problem.left_out
    lower = np.where(at_zero, np.maximum(problem.lower, 1), problem.lower)
    upper = np.where(np.isinf(measure.terms(np.ones(n))), 0, problem.upper)
    for at in np.flatnonzero(lower > upper).tolist():
        raise Infeasible(
            f"no count is allowed at {problem.locations[at]!r}: the distances are infinite for all within its bounds",
            math.inf,
        )
    return problem._replace(lower=lower, upper=upper)
