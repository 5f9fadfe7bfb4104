"""Drawn releases of resemble and avoid: the distance to meet is drawn from the spread of a profile.

For resemble, a distance tau is drawn from the distances of the profile's members, and a number m from the numbers of
its places that they visit. If the person has visited fewer than m of its places, the missing ones are drawn without
replacement, weighted by the shares of members who visit them. For avoid, tau is drawn from the distances of people who
are not members, and the release has only the person's own places. The release is then the one of least quality loss
that meets tau at these places.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from elsewhere.drawing import key_of
from elsewhere.model.arrays import Flags, Ints, exact_sum
from elsewhere.model.histogram import Profile
from elsewhere.model.keys import Key, Numbers
from elsewhere.model.problem import Problem
from elsewhere.model.question import Question
from elsewhere.model.spread import Spread
from elsewhere.model.trees import KindDistance, kinds_of

#: The most draws; if none is feasible, there is no release.
MOST_DRAWS = 15


class Draw(NamedTuple):
    """A privacy distance to meet, and the problem with other places closed."""

    distance: float
    problem: Problem

    @property
    def has_room(self) -> bool:
        """Whether the remaining places have room for all visits."""
        return exact_sum(self.problem.upper) >= self.problem.size


class _Places(NamedTuple):
    """The profile's place of each bin, and which of these places are visited or may be."""

    #: The number of the profile's place for each bin; -1 if there is none.
    place: Ints
    #: The bins that have visits, and may keep them.
    own: Flags
    #: The profile's places that are visited.
    had: frozenset[int]
    #: The profile's places that are not visited but may be.
    missing: tuple[int, ...]


def draws_near(question: Question, key: Key) -> Iterator[Draw]:
    """The draws for resemble, one after the other.

    The random numbers depend only on the key, the history and the goal; those of a place also on its name. So similar
    questions have similar draws, and nobody can average the draws by asking many questions.
    """
    profile, limit = question.target, question.distance_limit
    assert isinstance(profile, Profile)
    assert profile.spread is not None
    assert limit is not None
    places, own = _places(question, profile), key_of(question, key)
    for attempt in range(MOST_DRAWS):
        first, second = _chances(own.numbers("draw", attempt), 2)
        number = math.floor(drawn_from(profile.spread.places, second) + 0.5)
        added = _added(places, profile, profile.spread, number - len(places.had), own, attempt)
        distance = drawn_from(profile.spread.distances, first, most=limit)
        yield Draw(distance, _closed(question.problem, places, added))


def at_own_places(question: Question) -> Problem:
    """The problem of avoid without the profile's places that the person never visited."""
    assert isinstance(question.target, Profile)
    return _closed(question.problem, _places(question, question.target), ())


def distance_afar(question: Question, key: Key, most: float) -> float:
    """The distance for avoid, drawn from those that can be met; this equals drawing again until one can be met."""
    assert question.spread is not None
    assert question.distance_limit is not None
    (chance,) = _chances(key_of(question, key).numbers("draw", 0), 1)
    return drawn_from(question.spread.others, chance, question.distance_limit, most)


def drawn_from(quantiles: Sequence[float], chance: float, least: float = -math.inf, most: float = math.inf) -> float:
    """The quantile of a number from 0 to 1, interpolated between the given quantiles and restricted to a range.

    >>> drawn_from([0.0, 1.0, 4.0], 0.75), drawn_from([0.0, 1.0, 4.0], 0.75, most=1.0)
    (2.5, 0.75)
    """
    first, last = _share_below(quantiles, least, upto=False), _share_below(quantiles, most, upto=True)
    at = (first + (last - first) * chance) * (len(quantiles) - 1)
    step = min(int(at), len(quantiles) - 2)
    value = quantiles[step] + (at - step) * (quantiles[step + 1] - quantiles[step])
    return min(max(value, least), most)


def _chances(numbers: Numbers, how_many: int) -> list[float]:
    """The next random numbers from 0 to 1."""
    return [word / 2.0**53 for word in (numbers.words(how_many) >> np.uint64(11)).tolist()]


def _share_below(quantiles: Sequence[float], value: float, upto: bool) -> float:
    """The share of the values below a value, or up to it."""
    at = (bisect_right if upto else bisect_left)(quantiles, value)
    if at in (0, len(quantiles)):
        return float(at > 0)
    low, high = quantiles[at - 1], quantiles[at]
    return (at - 1 + (value - low) / (high - low)) / (len(quantiles) - 1)


def _places(question: Question, profile: Profile) -> _Places:
    problem = question.problem
    names = problem.names.keys
    if isinstance(question.privacy, KindDistance):
        names = kinds_of(question.privacy, problem.names)
    # A bin of a kind may count as a place of that kind, because its upper bound is 0.
    place = np.array([profile.index.position(name) for name in names], np.int64)
    own = (problem.original > 0) | (problem.lower > 0)
    own &= problem.upper > 0
    had = frozenset(place[own].tolist()) - {-1}
    possible = set(place[problem.upper > 0].tolist()) - {-1} - had
    return _Places(place, own, had, tuple(sorted(possible)))


def _added(places: _Places, profile: Profile, spread: Spread, number: int, own: Key, attempt: int) -> list[int]:
    """Some of the missing places, drawn one after the other by the shares of the members who visit them.

    Each place gets an exponentially distributed time with its share as the rate, and the places with the smallest times
    are drawn. This is equivalent, and adding or removing a place does not change the order of the others.
    """
    names = [profile.index.keys[at] for at in places.missing]
    waits = []
    for at, name, share in zip(places.missing, names, spread.shares(names), strict=True):
        word = int(own.numbers("place", attempt, name).words(1)[0])
        if share > 0.0:
            waits.append((-math.log((word + 0.5) / 2.0**64) / share, at))
    return [at for _, at in sorted(waits)[: max(0, number)]]


def _closed(problem: Problem, places: _Places, added: Sequence[int]) -> Problem:
    """The problem in which only the person's own places and the added ones of the profile receive visits."""
    open_ = places.own | np.isin(places.place, [-1, *places.had, *added])
    return problem._replace(upper=np.where(open_, problem.upper, 0))
