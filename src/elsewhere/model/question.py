"""A question: a history, a goal, and every limit and constraint. Solvers and checks all take a `Question`."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from elsewhere.model.distances import DistanceLike, slack
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, Profile, TableLike, TargetLike, as_target
from elsewhere.model.smoothing import SmoothedJS
from elsewhere.model.spread import Spread
from elsewhere.model.trees import KindDistance
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.model.keys import Key
    from elsewhere.model.problem import Problem

Goal: TypeAlias = Literal["hide", "resemble", "avoid"]
Method: TypeAlias = Literal["optimal", "heuristic", "drawn"]
Mechanism: TypeAlias = Literal["single", "shared"]
Size: TypeAlias = Literal["original", "target", "free"]
Aim: TypeAlias = Literal["near", "far", "least-loss"]
BoundsLike: TypeAlias = "Mapping[str, int] | None"

#: The largest size: intermediate sums of counts must stay within 64 bits.
LARGEST_SIZE = 4 * 10**18
#: The most visits to add if the size is free: this number, and this multiple of the history's size.
_MOST_ADDED, _MOST_TIMES = 10**6, 100
#: Bytes that a search may use by default.
MEMORY_LIMIT = 2**30
GOALS: tuple[Goal, ...] = ("hide", "resemble", "avoid")
SIZES: tuple[Size, ...] = ("original", "target", "free")
#: The methods of each goal.
METHODS: dict[str, tuple[Method, ...]] = {
    "hide": ("optimal", "drawn"),
    "resemble": ("optimal", "heuristic", "drawn"),
    "avoid": ("optimal", "heuristic", "drawn"),
}
#: The callers' names for the privacy parameter c.
DISTANCE_LIMITS = {"resemble": "max_distance", "avoid": "min_distance"}
#: What resemble and avoid optimise within a limit on the quality loss.
_DISTANCE_AIMS: dict[str, Aim] = {"resemble": "near", "avoid": "far"}


class SearchLimits(NamedTuple):
    """When to end a search early: seconds, absolute distance to the bound, bytes."""

    time_limit: float | None = None
    gap: float = 0.0
    memory_limit: int = MEMORY_LIMIT


NO_LIMITS = SearchLimits()


class Covered(dict[str, frozenset[str]]):
    """The locations that each sensitive name covers.

    `unknown` has a suggestion for each unknown name, and `empty_zones` the zones without a place of the history.
    """

    def __init__(self, covered: Iterable[tuple[str, frozenset[str]]]) -> None:
        super().__init__(covered)
        self.unknown: dict[str, str] = {}
        self.empty_zones: list[str] = []

    @property
    def locations(self) -> frozenset[str]:
        """All locations that are covered."""
        return frozenset().union(*self.values())

    def check_known(self) -> None:
        """Raise if a name is unknown, or a zone covers nothing: both may be misspelt."""
        for name, suggestion in self.unknown.items():
            raise InputError(f"the sensitive location {quote(name)} is not in the history{suggestion}")
        for name in self.empty_zones:
            raise InputError(f"the {name} covers no place of the history; correct it or leave it out")


@dataclass(frozen=True, eq=False)
class Question:
    """A history and every condition on its release. Names of locations may have any spelling, or be patterns."""

    goal: Goal
    history: Histogram
    #: H''; None in hide. An object with a profile counts as the profile.
    target: TargetLike | None = None
    max_quality_loss: float = math.inf
    #: The privacy parameter c: the greatest privacy distance allowed in resemble, the least in avoid.
    distance_limit: float | None = None
    quality: DistanceLike = "js"
    privacy: DistanceLike = "js"
    method: Method = "optimal"
    #: The history's size, the target's size, or with "free" the least size that meets `distance_limit`.
    size: Size = "original"
    redistribute: int | None = None
    sensitive: Iterable[str] | Covered = ()
    visited_only: bool = False
    lower: BoundsLike = None
    upper: BoundsLike = None
    forbidden: Iterable[TableLike] = ()
    candidates: Iterable[str] = ()
    search: SearchLimits = NO_LIMITS
    #: Locations whose counts must not rise, unless `lower` says so.
    not_raised: Iterable[str] = ()
    #: Locations of kinds that are often sensitive: the result says so if their counts rise.
    watched: Iterable[str] = ()
    #: Clauses on how the question was understood; they become notes of the result.
    notes: tuple[str, ...] = ()
    #: What is optimised: "near" or "far", the privacy distance; "least-loss", the quality loss that meets
    #: `distance_limit`. None in hide; else the default is the privacy distance.
    aim: Aim | None = None
    #: Weights by location that a drawn release follows besides the history; by default those of kinds of place.
    popularity: TableLike | None = None
    #: The secret key for draws or tie-breaking.
    key: Key | None = field(default=None, repr=False)
    #: With size="free": how many visits the release has beyond those of the history; None if it is not known yet.
    added: int | None = None
    _problem: Problem | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_size(self.history)
        _check_choice("goal", self.goal, GOALS)
        _check_choice("method", self.method, METHODS[self.goal])
        _check_choice("size", self.size, SIZES)
        check_popularity(self.goal, self.method, self.popularity)
        if self.distance_limit is not None:
            nonnegative(DISTANCE_LIMITS[self.goal], self.distance_limit)
        if self.target is not None:
            object.__setattr__(self, "target", as_target(self.target))
        if self.goal != "hide" and self.method == "drawn":
            self._prepare_draw()
        elif self.goal != "hide" and self.aim is None:
            object.__setattr__(self, "aim", _DISTANCE_AIMS[self.goal])
        if self.aim == "least-loss":
            if self.distance_limit is None:
                raise _no_distance(DISTANCE_LIMITS[self.goal])
            if self.method == "heuristic":
                raise InputError("method='heuristic' cannot search for the least quality loss", ("method",))
        if self.size == "free":
            from elsewhere.model.free_size import kept_visits

            object.__setattr__(self, "lower", kept_visits(self))
        nonnegative("gap", self.search.gap)
        nonnegative("memory_limit", self.search.memory_limit)
        if self.search.time_limit is not None:
            nonnegative("time_limit", self.search.time_limit)

    def _prepare_draw(self) -> None:
        """Check that a release can be drawn. The default privacy parameter is what all members of the spread meet.

        The objective of a drawn release is the quality loss.
        """
        if self.aim not in (None, "least-loss"):
            raise _drawn_aim()
        if self.max_quality_loss == math.inf:
            raise _unlimited_draw()
        for argument, distance in (("quality", self.quality), ("privacy", self.privacy)):
            if isinstance(distance, SmoothedJS):
                raise InputError("the method 'drawn' does not support a SmoothedJS; use 'js'", ("method", argument))
        spread, limit = self.spread, self.distance_limit
        if spread is None:
            raise InputError(
                "method='drawn' needs a target with a spread: a shipped profile, or one that 'elsewhere profile learn' "
                "or profiles.learn makes from the histories of its members",
                ("method", "target"),
            )
        if spread.privacy != (self.privacy.name if isinstance(self.privacy, KindDistance) else self.privacy):
            given = quote(self.privacy) if isinstance(self.privacy, str) else f"a {type(self.privacy).__name__}"
            raise InputError(
                f"privacy is {given}, but the distances of the target's members are by {spread.privacy!r}; "
                "method='drawn' needs the same",
                ("method", "privacy"),
            )
        name, whose = DISTANCE_LIMITS[self.goal], spread.distances if self.goal == "resemble" else spread.others
        if not whose:
            raise InputError(
                "avoid with method='drawn' needs a target whose spread has the distances of others; pass others to "
                "profiles.spread_of",
                ("method", "target"),
            )
        nearest, farthest = whose[0], whose[-1]
        if limit is None:
            limit = farthest if self.goal == "resemble" else nearest
        if self.goal == "resemble" and limit < nearest:
            raise InputError(
                f"{name} is {limit:.10g}, but no member of the profile is nearer than {nearest:.6g}", (name,)
            )
        if self.goal == "avoid" and limit > farthest:
            raise InputError(
                f"{name} is {limit:.10g}, but nobody is farther from the profile than {farthest:.6g}", (name,)
            )
        object.__setattr__(self, "distance_limit", limit)
        object.__setattr__(self, "aim", "least-loss")

    @property
    def released_size(self) -> int:
        """The size of the release unless it is the target's; the greatest allowed if it is free and still unknown."""
        if self.size != "free":
            return self.history.size
        most = _MOST_ADDED + _MOST_TIMES * self.history.size
        return min(self.history.size + (most if self.added is None else self.added), LARGEST_SIZE)

    def adding(self, added: int) -> Question:
        """The same question about releases with this many visits more than the history."""
        return replace(self, added=added)

    @property
    def spread(self) -> Spread | None:
        """The spread of the target's members, if it is a profile with one."""
        return self.target.spread if isinstance(self.target, Profile) else None

    @property
    def problem(self) -> Problem:
        """The question as arrays over one union of locations; raises if it is invalid or infeasible."""
        # Not a `cached_property`, which takes 2 µs: it makes a dictionary of all the fields, and Python 3.11 locks it.
        problem = self._problem
        if problem is None:
            problem = _arrays()(self)
            self._keep(problem)
        return problem

    def _keep(self, problem: Problem) -> Question:
        """This question, which now knows its arrays."""
        object.__setattr__(self, "_problem", problem)
        return self

    @cached_property
    def covered(self) -> Covered:
        """The locations that each sensitive name covers."""
        if isinstance(self.sensitive, Covered):
            return self.sensitive
        problem = self.problem
        found = ((name, problem.names.covered(name)) for name in self.sensitive)
        return Covered(
            (name, frozenset(problem.locations[at] for at in places if problem.sensitive[at])) for name, places in found
        )

    @property
    def hidden_visits(self) -> int:
        """The number of the history's visits at sensitive locations."""
        return int(self.problem.original[self.problem.sensitive].sum())

    def within(self, max_quality_loss: float, **search: Any) -> Question:
        """The same question with another limit on the quality loss, and perhaps other, valid limits on the search."""
        problem = self.problem.within(nonnegative("max_quality_loss", max_quality_loss))
        limits = self.search._replace(**search) if search else self.search
        other = object.__new__(Question)  # no checks: all other fields have passed them
        other.__dict__.update(self.__dict__, max_quality_loss=max_quality_loss, search=limits, _problem=problem)
        return other

    def in_time(self, seconds: float) -> Question:
        """The same question with another limit on the time of the search."""
        return replace(self, search=self.search._replace(time_limit=seconds))

    def wanting(self, distance_limit: float | None, aim: Aim | None) -> Question:
        """The same question with another privacy parameter and another aim."""
        return replace(self, distance_limit=distance_limit, aim=aim)._keep(self.problem)

    def undrawn(self, distance_limit: float | None = None, problem: Problem | None = None) -> Question:
        """The question of least quality loss behind a drawn release, perhaps with the drawn values."""
        limit = self.distance_limit if distance_limit is None else distance_limit
        other = replace(self, method="optimal", distance_limit=limit, key=None)
        return other._keep(self.problem if problem is None else problem)

    @property
    def minimises_loss(self) -> bool:
        """Whether the objective is the quality loss; else it is the privacy distance."""
        return self.goal == "hide" or self.aim == "least-loss"

    def objective(self, quality_loss: float, privacy_distance: float | None) -> float:
        """The figure that is optimised."""
        return quality_loss if self.minimises_loss or privacy_distance is None else privacy_distance

    def meets_distance(self, privacy_distance: float | None) -> bool:
        """Whether a release at this privacy distance is acceptable."""
        if self.distance_limit is None or privacy_distance is None:
            return True
        return bool(meets_distance(self.goal, privacy_distance, self.distance_limit))


@cache
def _arrays() -> Callable[[Question], Problem]:
    """`problem_of`, imported later, because its module imports this one; and only once, to save time."""
    from elsewhere.model.problem import problem_of

    return problem_of


def meets_distance(goal: Goal, privacy_distance: Any, limit: float) -> Any:
    """Whether a privacy distance, or each of an array of them, meets the privacy parameter c."""
    if goal == "avoid":
        return privacy_distance >= limit - slack(limit)
    return privacy_distance <= limit + slack(limit)


def chosen_aim(
    goal: Goal,
    max_quality_loss: float | None,
    distance_limit: float | None,
    aim: Any,
    method: Any = "optimal",
    size: Any = "original",
) -> Aim:
    """The aim of resemble or avoid, given the limits; raise if a required limit is missing."""
    aims = (_DISTANCE_AIMS[goal], "least-loss")
    if size == "free":
        check_free(goal, max_quality_loss, distance_limit, aim, method)
        return aims[0]
    if method == "drawn":
        if max_quality_loss is None:
            raise _unlimited_draw()
        if aim not in (None, "least-loss"):
            raise _drawn_aim()
        return "least-loss"
    if aim is None:
        aim = aims[max_quality_loss is None]
    if not isinstance(aim, str) or aim not in aims:
        raise InputError(f"aim is {quote(aim)}; for {goal} it must be one of {', '.join(map(repr, aims))}", ("aim",))
    limit = DISTANCE_LIMITS[goal]
    if aim == "least-loss" and distance_limit is None:
        if max_quality_loss is None:
            raise InputError(f"{goal} needs max_quality_loss or {limit}", ("max_quality_loss", limit))
        raise _no_distance(limit)
    if aim != "least-loss" and max_quality_loss is None:
        raise InputError(f"aim={aim!r} needs max_quality_loss", ("aim", "max_quality_loss"))
    return "least-loss" if aim == "least-loss" else _DISTANCE_AIMS[goal]


def check_free(goal: Goal, max_quality_loss: float | None, distance_limit: float | None, aim: Any, method: Any) -> None:
    """Raise if the question has options that a free size does not support."""
    limit = DISTANCE_LIMITS[goal]
    if distance_limit is None:
        raise InputError(f"a free size needs {limit}, the privacy distance to meet", (limit,))
    for name, given in (
        ("max_quality_loss", max_quality_loss),
        ("aim", None if aim == _DISTANCE_AIMS[goal] else aim),
        ("method", None if method == "optimal" else method),
    ):
        if given is not None:
            raise InputError(
                f"{name} is {quote(given)}, but with a free size only the fewest added visits are searched for; "
                f"leave {name} out",
                (name,),
            )


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {quote(value)}; it must be one of {', '.join(map(repr, choices))}", (name,))


def check_popularity(goal: str, method: str, popularity: object) -> None:
    """Raise if there are weights of popularity but nothing is drawn."""
    if popularity is not None and method != "drawn":
        raise InputError("popularity is for the method 'drawn' only", ("popularity",))
    if popularity is not None and goal != "hide":
        raise InputError(f"popularity is for hide, not for {goal}", ("popularity",))


def _unlimited_draw() -> InputError:
    return InputError(
        "method='drawn' needs max_quality_loss: a draw may cost any loss up to it",
        ("method", "max_quality_loss"),
    )


def _drawn_aim() -> InputError:
    return InputError("method='drawn' always minimises the quality loss; leave aim out", ("aim",))


def _no_distance(limit: str) -> InputError:
    return InputError(f"aim='least-loss' needs {limit}, the privacy distance to meet", ("aim", limit))


def as_histogram(counts: TableLike) -> Histogram:
    """Convert any accepted form of a histogram."""
    given = counts if isinstance(counts, Histogram) else getattr(counts, "histogram", counts)
    return given if isinstance(given, Histogram) else Histogram(counts)


def check_size(histogram: Histogram) -> None:
    """Raise unless there is at least one visit, and no more than the largest size."""
    if histogram.size == 0:
        raise InputError("the histogram is empty: all its counts are 0")
    if histogram.size > LARGEST_SIZE:
        raise InputError(f"the histogram has {histogram.size} visits; at most {LARGEST_SIZE:.0e} are supported")


def nonnegative(name: str, value: Any) -> float:
    """A limit: a number that is neither negative nor NaN."""
    number = as_float(value)
    if not number >= 0:
        raise InputError(f"{name} is {quote(value)}; it must be a number that is not negative", (name,))
    return number


def as_float(value: Any) -> float:
    """The value as a float, or NaN if that is not possible."""
    if type(value) is float:
        return value
    try:
        # The usual case first, because `isinstance` with an abstract class is slow.
        is_number = type(value) is int or (isinstance(value, numbers.Real) and not isinstance(value, bool))
        return float(value) if is_number else math.nan
    except OverflowError:
        return math.nan


def as_list(name: str, items: Iterable[Any], what: str) -> list[Any]:
    """The items of a collection; a string is an error."""
    try:
        if isinstance(items, (str, bytes)):  # a tuple of types is faster than their union
            raise TypeError
        return list(items)
    except TypeError:
        raise InputError(f"{name} is {quote(items)}; give a collection of {what}", (name,)) from None
