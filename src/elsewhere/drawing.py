"""Drawn releases of hide: each hidden visit goes to a random place, chosen with a secret key.

A visit goes to place i with probability 0.8 h_i + 0.2 g_i, where h are the person's own shares of the places that may
receive visits, and g is the popularity of these places. The visits are independent, so their counts have a multinomial
distribution. Constraints (upper bounds, forbidden histograms, a limit on the quality loss) are conditions on it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, combinations_with_replacement
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Ints, exact_sum
from elsewhere.model.distances import align, slack
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.keys import Key, Numbers
from elsewhere.model.names import NameIndex
from elsewhere.model.problem import Problem
from elsewhere.model.question import Question
from elsewhere.model.result import Sanitized
from elsewhere.popularity import popularity_of

#: The weight of the person's own shares in a draw.
OWN_SHARE = 0.8
#: The most visits that are drawn.
MOST_VISITS = 10**7
#: The most complete draws until one satisfies all conditions, and roughly the most visits in all of them.
_TRIES = 1000
_TRIED_VISITS = 1 << 21
#: All possible histograms are listed if they have at most this many counts and visits in total.
_LISTED = 200_000
#: How often a random walk redraws each visit, and its most steps.
_ROUNDS = 30
_STEPS = 100_000
#: Probabilities are integer multiples of this unit, so that they are the same on every machine.
_UNIT = 2.0**-40
_CHUNK = 1 << 20


class Drawn(NamedTuple):
    """Drawn counts, and whether the draw is exact or an approximation by a random walk."""

    counts: Ints
    exact: bool


class _Urn(NamedTuple):
    """The bins that may receive a visit, in the order of their keys, and their weights."""

    bins: Ints
    weights: tuple[int, ...]
    visits: int


def drawn(question: Question, best: Sanitized) -> Sanitized:
    """A drawn release instead of the best one. The proof of the best one shows how much more it costs."""
    problem, key = question.problem, question.key or Key.own()
    counts, exact = draw(question, key, align(problem.names, best.histogram.index, best.histogram.counts))
    loss = problem.quality_loss(counts)
    bound = min(best.bound, loss)
    notes = list(best.notes)
    if not exact:
        notes.append("few draws satisfy all limits, so visits were redrawn one by one; this only approximates a draw")
    notes += key.notes
    return replace(
        best,
        histogram=Histogram._of(tuple(problem.locations), counts, problem.size),
        quality_loss=loss,
        bound=bound,
        gap=loss - bound,
        status="feasible",
        notes=tuple(notes),
    )


def keyed_order(names: NameIndex, key: Key) -> Ints:
    """The places in a secret order that depends on the key, and that does not change if others are added."""
    numbers = [int(key.numbers("ties", name).words(1)[0]) for name in names.keys]
    return np.array(sorted(range(len(numbers)), key=numbers.__getitem__), np.int64)


def draw(question: Question, key: Key, least: Ints) -> Drawn:
    """Draw counts for a question of hide; `least` are the counts of least loss, which satisfy all conditions.

    The random numbers depend only on the key and the history. So similar questions have similar draws, and nobody can
    average the draws by asking many questions.
    """
    problem = question.problem
    urn = _urn(question)
    own = key_of(question, key)

    def allowed(counts: Ints) -> bool:
        within = bool((counts <= problem.upper).all()) and problem.allows(counts)
        return within and problem.quality_loss(counts) <= problem.limit + slack(problem.limit)

    if urn.visits == 0:
        return Drawn(problem.lower.copy(), exact=True)
    for attempt in range(max(1, min(_TRIES, _TRIED_VISITS // urn.visits))):
        counts = problem.lower + _thrown(urn, own.numbers("draw", attempt), len(problem.lower))
        if allowed(counts):
            return Drawn(counts, exact=True)
    ways = math.comb(urn.visits + len(urn.bins) - 1, urn.visits)
    if ways * (urn.visits + len(problem.lower)) <= _LISTED:
        return Drawn(_chosen(problem, urn, own.numbers("list"), allowed), exact=True)
    return Drawn(_walked(problem, urn, own.numbers("walk"), allowed, least), exact=False)


def key_of(question: Question, key: Key) -> Key:
    """The key for one history and goal; the spelling and order of places do not matter."""
    history = question.history
    counts = zip(history.index.keys, history.counts.tolist(), strict=True)
    return key.derived(
        question.goal, *chain.from_iterable((name, str(count)) for name, count in sorted(counts) if count)
    )


def _urn(question: Question) -> _Urn:
    problem = question.problem
    visits = problem.size - exact_sum(problem.lower)
    if visits > MOST_VISITS:
        raise InputError(
            f"{visits:,} visits would have to be drawn; at most {MOST_VISITS:,} are supported", ("method",)
        )
    bins = sorted(np.flatnonzero(problem.upper > problem.lower).tolist(), key=problem.names.keys.__getitem__)
    popularity = popularity_of(NameIndex([problem.locations[at] for at in bins]), question.popularity)
    return _Urn(np.array(bins, np.int64), mixture(problem.original[bins].tolist(), popularity), visits)


def mixture(own: Sequence[int], popularity: Sequence[float | None]) -> tuple[int, ...]:
    """The probabilities of places in units of `_UNIT`, from the person's own counts and the popularity.

    A place with unknown popularity keeps the person's own share; otherwise the few known places would stand out. If no
    place has a popularity, all visited places have the same. No probability is 0, because constraints may leave a visit
    nowhere else to go.

    >>> [round(weight / 2**40, 3) for weight in mixture([3, 1, 0], [0.0, 5.0, 5.0])]
    [0.6, 0.3, 0.1]
    >>> [round(weight / 2**40, 3) for weight in mixture([2, 1, 1, 0], [None, 1.0, 3.0, None])]
    [0.5, 0.225, 0.275, 0.0]
    """
    shares = _shares(own)
    kept = [h if weight is None else 0.0 for h, weight in zip(shares, popularity, strict=True)]
    weights = [weight or 0.0 for weight in popularity]
    if not any(weights) and not any(kept):
        weights = [float(count > 0) for count in own] if any(own) else [1.0] * len(own)
    left = max(0.0, 1.0 - math.fsum(kept))
    parts = zip(shares, kept, _shares(weights), strict=True)
    return tuple(max(1, round((OWN_SHARE * h + (1.0 - OWN_SHARE) * (k + left * g)) / _UNIT)) for h, k, g in parts)


def _shares(weights: Sequence[float]) -> list[float]:
    total = math.fsum(weights) or 1.0
    return [weight / total for weight in weights]


def _thrown(urn: _Urn, numbers: Numbers, length: int) -> Ints:
    """The number of visits that each bin receives at random, without conditions."""
    ends, received = np.cumsum(np.array(urn.weights, np.int64)), np.zeros(length, np.int64)
    for first in range(0, urn.visits, _CHUNK):
        places = np.searchsorted(ends, numbers.below(int(ends[-1]), min(_CHUNK, urn.visits - first)), side="right")
        received += np.bincount(urn.bins[places], minlength=length)
    return received


def _chosen(problem: Problem, urn: _Urn, numbers: Numbers, allowed: Callable[[Ints], bool]) -> Ints:
    """One of all allowed counts, with the exact probabilities of the conditional multinomial distribution."""
    possible: list[Ints] = []
    ends: list[int] = []
    total = 0
    for places in combinations_with_replacement(range(len(urn.bins)), urn.visits):
        counts = problem.lower.copy()
        np.add.at(counts, urn.bins[list(places)], 1)
        if allowed(counts):
            ways = math.factorial(urn.visits)
            for place, number in Counter(places).items():
                ways = ways // math.factorial(number) * urn.weights[place] ** number
            total += ways
            possible.append(counts)
            ends.append(total)
    return possible[bisect_right(ends, numbers.large_below(total))]


def _walked(problem: Problem, urn: _Urn, numbers: Numbers, allowed: Callable[[Ints], bool], least: Ints) -> Ints:
    """Counts after a random walk from the least loss, which redraws one visit at a time and keeps all conditions.

    With the number of steps, its distribution tends to that of an exact draw.
    """
    counts = least.copy()
    steps = min(_STEPS, _ROUNDS * urn.visits)
    ends = np.cumsum(np.array(urn.weights, np.int64))
    destinations = urn.bins[np.searchsorted(ends, numbers.below(int(ends[-1]), steps), side="right")]
    for visit, to in zip(numbers.below(urn.visits, steps).tolist(), destinations.tolist(), strict=True):
        received = np.cumsum(counts - problem.lower)
        source = int(np.searchsorted(received, visit, side="right"))
        if source == to:
            continue
        counts[source] -= 1
        counts[to] += 1
        if not allowed(counts):
            counts[source] += 1
            counts[to] -= 1
    return counts
