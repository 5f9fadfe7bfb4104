"""Check the results of many users at once, in plain NumPy and without any solver code.

All constraints, figures and bounds are recomputed, for whole arrays of bins. The terms of `hide` are convex, so it is
optimal if moving a single count never lowers the loss. For resemble and avoid, the bound of the certificate's
multipliers is recomputed; the part of a bound that only a search has proven is not checked again. In avoid the cost of
a count is a difference of convex terms, and every count is looked at unless the shape of the difference is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elsewhere.model.arrays import Flags, Floats, Ints, Number
from elsewhere.model.distances import Distance, find_distance, slack
from elsewhere.model.problem import ROOM, Problem
from elsewhere.model.question import Goal, meets_distance
from elsewhere.model.result import Certificate, Sanitized
from elsewhere.verification.bounds import first_count
from elsewhere.verification.verify import TOLERANCE, check_release

#: The most counts of a user to check one by one in avoid. If a user has more, the certificate's bound is not checked.
_MOST_COUNTS = 1 << 20
#: The largest size whose counts are searched in avoid: rounding errors hide where the cost of a larger one falls.
_LARGEST_SEARCHED = 1 << 30
#: How many counts are checked together: few enough for the processor's cache.
_COUNTS_AT_ONCE = 1 << 13
#: From this size on, a single count is smaller than the rounding errors of the terms.
_LARGEST_COUNTED = 2.0**52
_EPSILON = float(np.finfo(np.float64).eps)
_NO_CERTIFICATE = Certificate(0.0, 0.0, math.nan)

#: Numbers of bins, or flags of those that are meant.
_Which: TypeAlias = Ints | Flags


class Bins(NamedTuple):
    """The bins of many users: those of user u are offset[u]:offset[u + 1], and there is at least one."""

    offset: Ints
    original: Ints
    released: Ints
    lower: Ints
    upper: Ints
    sensitive: Flags
    #: The size that the release of each user must have.
    size: Ints

    def of(self, users: Flags) -> Bins:
        """The bins of some users only."""
        if users.all():
            return self
        kept = np.repeat(users, np.diff(self.offset))
        offset = np.append(0, np.cumsum(np.diff(self.offset)[users]))
        return Bins(offset, self.original[kept], self.released[kept], self.lower[kept], self.upper[kept],
                    self.sensitive[kept], self.size[users])  # fmt: skip

    def total(self, values: NDArray[Number]) -> NDArray[Number]:
        """The sum of each user's values."""
        sums: NDArray[Number] = np.add.reduceat(values, self.offset[:-1])
        return sums

    def any(self, flags: Flags) -> Flags:
        """Whether a flag of the user is set."""
        return np.logical_or.reduceat(flags, self.offset[:-1])


class Limit(NamedTuple):
    """The limits of each user: quality loss, with some slack; the sum of its terms; privacy parameter, or NaN."""

    quality_loss: Floats
    budget: Floats
    distance: Floats


class Claims(NamedTuple):
    """The claims of results: one number per user each."""

    quality_loss: Floats
    privacy_distance: Floats
    bound: Floats
    gap: Floats
    optimal: Flags
    #: Whether there is a certificate: its multipliers of the quality loss and of the size, and its bound.
    certified: Flags
    cost: Floats
    price: Floats
    certified_bound: Floats


class Problems:
    """A sentence about the first problem of each user whose result is wrong."""

    def __init__(self, users: int) -> None:
        self._number = np.zeros(users, np.int64)
        self._sentences: list[str] = []

    def add(self, users: Flags, sentence: str) -> None:
        self._sentences.append(sentence)
        self._number[users & self.none] = len(self._sentences)

    @property
    def none(self) -> Flags:
        """The users without a problem so far."""
        flags: Flags = self._number == 0
        return flags

    def items(self) -> Iterator[tuple[int, str]]:
        """The number of each user whose result is wrong, and the problem."""
        for user in np.flatnonzero(self._number).tolist():
            yield user, self._sentences[self._number[user] - 1]


class _Function(Protocol):
    """A function of the count at each of some bins."""

    def terms(self, counts: Ints) -> Floats: ...
    def of(self, which: _Which) -> Self: ...


class _Measure(NamedTuple):
    """A distance at every bin: from each bin's reference to any count there."""

    distance: Distance
    reference: Floats
    reference_size: Floats
    size: Floats

    def terms(self, counts: Ints) -> Floats:
        return self.distance.terms(self.reference, counts.astype(np.float64), self.reference_size, self.size)

    def bends(self, counts: Ints) -> Floats:
        assert self.distance.bend is not None
        return self.distance.bend(self.reference, counts.astype(np.float64), self.reference_size, self.size)

    def of(self, which: _Which) -> _Measure:
        return _Measure(self.distance, self.reference[which], self.reference_size[which], self.size[which])


class _Measures(NamedTuple):
    """The limited measure, the optimised measure, and the sign: -1 if it is maximised."""

    quality: _Measure
    privacy: _Measure
    sign: float


class _Terms(NamedTuple):
    """Both terms of every bin's released count."""

    quality: Floats
    privacy: Floats


class _Fixed(NamedTuple):
    """Sums over the bins of each user that have only one possible count."""

    quality: Floats
    privacy: Floats
    counts: Ints


class _Cost(NamedTuple):
    """The share of each bin in the dual bound: f + lambda q - mu x, with the multipliers of the bin's user."""

    quality: _Measure
    privacy: _Measure
    sign: float
    quality_multiplier: Floats
    size_multiplier: Floats

    def terms(self, counts: Ints) -> Floats:
        distances = self.sign * self.privacy.terms(counts) + self.quality_multiplier * self.quality.terms(counts)
        return distances - self.size_multiplier * counts

    def of(self, which: _Which) -> _Cost:
        quality, privacy = self.quality.of(which), self.privacy.of(which)
        return _Cost(quality, privacy, self.sign, self.quality_multiplier[which], self.size_multiplier[which])

    def is_convex_at(self, counts: Ints) -> Flags:
        """Where the second derivative of the cost is positive, if both distances are the same and have a bend."""
        convex: Flags = self.quality_multiplier * self.quality.bends(counts) >= -self.sign * self.privacy.bends(counts)
        return convex


def check_hidden(bins: Bins, distance: Distance, quality_loss: Floats) -> Problems:
    """Check releases of hide that all claim to be optimal, with no constraint but to hide or to continue earlier ones.

    The `lower` of a bin is the original count, or that of an earlier release if it is larger. The `upper` of a
    sensitive bin is 0.
    """
    problems = Problems(len(bins.size))
    _check_constraints(bins, problems)
    before = bins.total(bins.original)
    changed = bins.any(bins.released != bins.original) | (bins.size != before)
    # A built-in distance between equal histograms is 0, and none is negative.
    problems.add(~changed & (quality_loss != 0.0), "the quality loss is wrong")
    if changed.any():
        some = bins.of(changed)
        measure = _quality(some, distance, before[changed])
        terms = _hide_terms(some, measure)
        loss = _distance(some, distance, terms)
        wrong, worse = np.zeros_like(changed), np.zeros_like(changed)
        wrong[changed] = _differs(quality_loss[changed], loss)
        worse[changed] = ~_is_least(some, measure, terms)
        problems.add(wrong, "the quality loss is wrong")
        problems.add(worse, "a better release exists")
    return problems


def check_results(results: Sequence[Sanitized]) -> dict[int, str]:
    """Check results of one goal, each against its question; return the problems by number of the result.

    Results whose distances sum over a tree, or with the least quality loss at a privacy distance, are checked one by
    one.
    """
    found: dict[int, str] = {}
    flat = []
    for at, result in enumerate(results):
        if result.question.problem.tree is None and result.question.aim != "least-loss":
            flat.append(at)
        elif not (check := check_release(result.question, result)).ok:
            found[at] = check.problems[0]
    if flat:
        found |= {flat[at]: problem for at, problem in _check_flat([results[at] for at in flat]).items()}
    return found


def check_targeted(
    goal: Goal, bins: Bins, distances: tuple[Distance, Distance], target: Floats, target_size: Floats, limit: Limit,
    claims: Claims,
) -> Problems:  # fmt: skip
    """Check releases of resemble or avoid without forbidden histograms; `target` has the scaled weight of each bin.

    The distances are those of quality and privacy.
    """
    found = Problems(len(bins.size))
    _check_constraints(bins, found)
    quality = _quality(bins, distances[0], bins.total(bins.original))
    length = np.diff(bins.offset)
    sizes = (np.repeat(size.astype(np.float64), length) for size in (target_size, bins.size))
    _check_distances(goal, bins, _Measures(quality, _Measure(distances[1], target, *sizes), _sign(goal)), limit, claims,
                     found)  # fmt: skip
    return found


def _check_flat(results: Sequence[Sanitized]) -> Problems:
    """Check results with the same distances, all at once."""
    found, goal = Problems(len(results)), results[0].goal
    asked = [result.question.problem for result in results]
    bins = _bins(results, asked, found)
    _check_constraints(bins, found)
    released = np.split(bins.released, bins.offset[1:-1])
    barred = [problem.is_forbidden(counts) for problem, counts in zip(asked, released, strict=True)]
    found.add(np.array(barred), "it is one of the forbidden histograms")
    quality = _quality(bins, find_distance(results[0].question.quality), bins.total(bins.original))
    wanted = [result.question.distance_limit for result in results]
    limit = Limit(
        np.array([problem.limit + slack(problem.limit) for problem in asked]),
        np.array([problem.budget for problem in asked]),
        np.array([math.nan if at is None else at for at in wanted]),
    )
    claims = _claims(results)
    if goal != "hide":
        _check_distances(goal, bins, _Measures(quality, _privacy(bins, asked), _sign(goal)), limit, claims, found)
        return found
    terms = _hide_terms(bins, quality)
    loss = _check_loss(bins, quality.distance, terms, limit, claims, found)
    _check_claims(claims, claims.quality_loss, loss, 1.0, found)
    free = np.array([len(problem.forbidden) == 0 for problem in asked])
    found.add(claims.optimal & free & ~_is_least(bins, quality, terms), "a better release exists")
    return found


def _check_loss(bins: Bins, distance: Distance, terms: Floats, limit: Limit, claims: Claims, found: Problems) -> Floats:
    """The quality loss of each user, compared with the claim and with the limit."""
    loss = _distance(bins, distance, terms)
    found.add(_differs(claims.quality_loss, loss), "the quality loss is wrong")
    found.add(loss > limit.quality_loss, "the quality loss is above the limit")
    return loss


def _check_distances(
    goal: Goal, bins: Bins, measures: _Measures, limit: Limit, claims: Claims, found: Problems
) -> None:
    """Check both distances of resemble or avoid, the claims about them, and the certificates."""
    quality, privacy = measures.quality, measures.privacy
    terms = _Terms(_changed_terms(bins, quality), privacy.terms(bins.released))
    _check_loss(bins, quality.distance, terms.quality, limit, claims, found)
    reached = _distance(bins, privacy.distance, terms.privacy)
    found.add(_differs(claims.privacy_distance, reached), "the privacy distance is wrong")
    if not np.isnan(limit.distance).all():
        wanted = zip(reached.tolist(), limit.distance.tolist(), strict=True)
        missed = [not (math.isnan(most) or meets_distance(goal, at, most)) for at, most in wanted]
        found.add(np.array(missed), "the wanted privacy distance is missed")
    _check_claims(claims, claims.privacy_distance, reached, measures.sign, found)
    with np.errstate(all="ignore"):  # absurd multipliers give an absurd bound, which is reported as a problem
        _check_certificates(claims, limit.budget, bins, measures, terms, found)


def _sign(goal: Goal) -> float:
    return -1.0 if goal == "avoid" else 1.0


def _claims(results: Sequence[Sanitized]) -> Claims:
    certificates = [result.certificate or _NO_CERTIFICATE for result in results]
    cost, price, certified = np.array([(c.quality_multiplier, c.size_multiplier, c.bound) for c in certificates]).T
    loss, distance, bound, gap = (
        np.array([getattr(result, name) for result in results], np.float64)
        for name in ("quality_loss", "privacy_distance", "bound", "gap")
    )
    optimal = np.array([result.status == "optimal" for result in results])
    proven = np.array([result.certificate is not None for result in results])
    return Claims(loss, distance, bound, gap, optimal, proven, cost, price, certified)


def _bins(results: Sequence[Sanitized], asked: Sequence[Problem], found: Problems) -> Bins:
    """The bins of the problems, one after the other, with the released counts; a count elsewhere is a problem."""
    released: list[int] = []
    for at, (result, problem) in enumerate(zip(results, asked, strict=True)):
        given = dict(zip(result.histogram.locations, result.histogram.counts.tolist(), strict=True))
        released.extend(given.pop(name, 0) for name in problem.locations)
        if given:
            found.add(np.arange(len(results)) == at, "it has a location that is not in the question")
    columns = zip(*((p.original, p.lower, p.upper, p.sensitive) for p in asked), strict=True)
    original, lower, upper, sensitive = map(np.concatenate, columns)
    offset = np.append(0, np.cumsum([len(problem.original) for problem in asked]))
    size = np.array([problem.size for problem in asked], np.int64)
    return Bins(offset, original, np.array(released, np.int64), lower, upper, sensitive, size)


def _check_constraints(bins: Bins, problems: Problems) -> None:
    problems.add(bins.total(bins.released) != bins.size, "it has the wrong number of counts")
    problems.add(bins.any(bins.sensitive & (bins.released != 0)), "a visit to a sensitive location is left")
    outside = (bins.released < bins.lower) | (bins.released > bins.upper)
    problems.add(bins.any(outside), "a count is outside its bounds")


def _quality(bins: Bins, distance: Distance, original_size: Ints) -> _Measure:
    length = np.diff(bins.offset)
    sizes = (np.repeat(size.astype(np.float64), length) for size in (original_size, bins.size))
    return _Measure(distance, bins.original.astype(np.float64), *sizes)


def _privacy(bins: Bins, asked: Sequence[Problem]) -> _Measure:
    measures = [problem.privacy for problem in asked if problem.privacy is not None]
    length = np.diff(bins.offset)
    reference = np.concatenate([measure.reference for measure in measures])
    reference_size = np.repeat([measure.reference_size for measure in measures], length)
    return _Measure(measures[0].distance, reference, reference_size, np.repeat(bins.size.astype(np.float64), length))


def _hide_terms(bins: Bins, measure: _Measure) -> Floats:
    """The quality terms of hide; a term that is infinite because a location is sensitive does not count."""
    terms = _changed_terms(bins, measure)
    terms[bins.sensitive & np.isinf(terms)] = 0.0
    return terms


def _changed_terms(bins: Bins, measure: _Measure) -> Floats:
    """The quality terms. If neither count nor size has changed, the term of a built-in distance is 0."""
    if not measure.distance.builtin:
        return measure.terms(bins.released)
    changed = np.flatnonzero((bins.released != bins.original) | (measure.reference_size != measure.size))
    terms = np.zeros(len(bins.original))
    terms[changed] = measure.of(changed).terms(bins.released[changed])
    return terms


def _distance(bins: Bins, distance: Distance, terms: Floats) -> Floats:
    total = bins.total(terms)
    return np.sqrt(np.maximum(total, 0.0)) if distance.root else total


def _is_least(bins: Bins, measure: _Measure, terms: Floats) -> Flags:
    """Whether no single count costs less elsewhere, which makes the sum of convex terms minimal."""
    grows, shrinks = np.flatnonzero(bins.released < bins.upper), np.flatnonzero(bins.released > bins.lower)
    costs, saves = np.full(len(terms), math.inf), np.full(len(terms), -math.inf)
    with np.errstate(invalid="ignore"):
        costs[grows] = measure.of(grows).terms(bins.released[grows] + 1) - terms[grows]
        saves[shrinks] = terms[shrinks] - measure.of(shrinks).terms(bins.released[shrinks] - 1)
        gain = np.maximum.reduceat(saves, bins.offset[:-1]) - np.minimum.reduceat(costs, bins.offset[:-1])
    # Even if all movable counts gained this much, it would be within rounding.
    moves = np.maximum(bins.size - bins.total(bins.lower), 1)
    rounding = 8.0 * _EPSILON * (1.0 + np.maximum.reduceat(terms, bins.offset[:-1]))
    allowed = TOLERANCE * (1.0 + bins.total(terms)) / moves + rounding
    return ~(gain > np.where(bins.size > _LARGEST_COUNTED, math.inf, allowed))


def _check_claims(claims: Claims, claimed: Floats, objective: Floats, sign: float, problems: Problems) -> None:
    """Check the bound and the gap, as far as they need no proof."""
    bound, gap = claims.bound, claims.gap
    with np.errstate(invalid="ignore"):
        apart = np.where(bound == claimed, 0.0, np.abs(claimed - bound))
        problems.add(_differs(gap, apart), "the gap is wrong")
        problems.add(sign * (bound - objective) > _tolerance(objective), "the bound is better than it can be")
    problems.add(claims.optimal & (gap > _tolerance(objective)), "it claims to be optimal but has a gap")


def _check_certificates(
    claims: Claims, budget: Floats, bins: Bins, measures: _Measures, terms: _Terms, problems: Problems
) -> None:
    """Check the bound that the multipliers prove, and claims beyond it; an infinite distance needs no bound."""
    finite, without = np.isfinite(claims.privacy_distance), ~claims.certified
    bound, root = claims.bound, measures.privacy.distance.root
    if without.any():
        beyond = measures.sign * (bound - _trivial_bound(bins, measures)) > _tolerance(bound)
        problems.add(finite & without & beyond & claims.optimal, "it claims to be optimal but has no certificate")
        problems.add(finite & without & beyond, "the bound is not proven")
    cost, price, certified = claims.cost, claims.price, claims.certified_bound
    sound = np.isfinite(cost) & np.isfinite(price) & (cost >= 0.0)
    problems.add(finite & ~without & ~sound, "the certificate's multipliers are invalid")
    checked = np.flatnonzero(finite & ~without & problems.none)
    if not len(checked):
        return
    lagrangian = _Lagrangian(bins, measures, terms, cost, price, budget, checked)
    dual, rounding = lagrangian.bound()
    dual, allowed = measures.sign * dual, _tolerance(dual) + TOLERANCE * 1e-3 * rounding
    # Compared before taking the root, if there is one: the root would magnify rounding errors near 0.
    bound, certified = (value[checked] ** 2 if root else value[checked] for value in (bound, certified))
    apart = np.abs((np.maximum(dual, 0.0) if root else dual) - certified)
    wrong, weak = np.zeros_like(finite), np.zeros_like(finite)
    wrong[checked] = ~((apart <= allowed) & np.isfinite(dual)) & ~lagrangian.too_wide
    weak[checked] = (measures.sign * (dual - bound) > allowed) & ~lagrangian.too_wide
    problems.add(wrong, "the certificate does not prove its bound")
    problems.add(weak, "the bound is weaker than the certificate's")


def _trivial_bound(bins: Bins, measures: _Measures) -> Floats:
    """The trivial bound: a built-in distance is not negative, and a convex term is greatest at an end."""
    if measures.sign > 0.0:
        return np.zeros(len(bins.size))
    ends = np.maximum(measures.privacy.terms(bins.lower), measures.privacy.terms(bins.upper))
    return _distance(bins, measures.privacy.distance, ends)


class _Lagrangian:
    """What each count of each bin of some users adds to the bound that their multipliers prove.

    Equal bins of a user are computed once, and bins with only one possible count are added separately.
    """

    def __init__(
        self, bins: Bins, measures: _Measures, terms: _Terms, cost: Floats, price: Floats, budget: Floats, users: Ints
    ) -> None:
        self.cost, self.price, self.budget, self.size = cost[users], price[users], budget[users], bins.size[users]
        self.sign = measures.sign
        fixed = bins.lower == bins.upper
        #: The sums of the terms and the counts of bins with only one possible count, which they have.
        self.fixed = _Fixed(*(bins.total(np.where(fixed, it, 0))[users] for it in (*terms, bins.released)))
        number = np.full(len(bins.size), -1)
        number[users] = np.arange(len(users))
        user = np.repeat(number, np.diff(bins.offset))
        at = np.flatnonzero(~fixed & (user >= 0))
        columns = (bins.original[at], measures.privacy.reference[at], bins.lower[at], bins.upper[at], user[at])
        order = np.argsort(_mixed(columns))
        differs = np.zeros(len(at), np.bool_)
        for column in columns:
            differs[1:] |= np.diff(column[order]) != 0
        differs[:1] = True
        first = np.flatnonzero(differs)
        self.copies = np.diff(np.append(first, len(at)))
        at = at[order[first]]
        self.user = user[at]
        self.low, self.high, self.start = bins.lower[at], bins.upper[at], bins.released[at]
        quality, privacy = measures.quality.of(at), measures.privacy.of(at)
        self.costs = _Cost(quality, privacy, self.sign, self.cost[self.user], self.price[self.user])
        self.nearest, self.room = self._room()
        self.too_wide = np.zeros(len(users), np.bool_)

    def bound(self) -> tuple[Floats, Floats]:
        """The bound of each user on the minimised sum, and the magnitude of the numbers in it.

        The bounds of users who are `too_wide` mean nothing, because computing them would take too long.
        """
        least = np.empty(len(self.low))
        for which, least_values in self._shapes():
            if len(which):
                least[which] = least_values(which)
        fixed, movable = self.fixed, self.size - self.fixed.counts
        spent = np.where(self.cost > 0.0, self.cost * (self.budget - fixed.quality), 0.0)
        bound = self._total(least) + self.sign * fixed.privacy - spent + self.price * movable
        magnitude = self._total(np.abs(least)) + fixed.privacy + np.abs(spent) + np.abs(self.price) * self.size
        return bound, magnitude

    def _shapes(self) -> Iterator[tuple[Ints, Callable[[Ints], Floats]]]:
        """The bins whose costs are of one shape, and the function that finds their least values."""
        if self.sign > 0.0:
            yield np.arange(len(self.low)), partial(self._least, _lowest)
            return
        quality, privacy = self.costs.quality.distance, self.costs.privacy.distance
        bent = (self.size <= _LARGEST_SEARCHED)[self.user] & (quality == privacy and quality.bend is not None)
        others = np.flatnonzero(~bent)
        linear = self._is_linear(others)
        yield np.flatnonzero(bent), partial(self._least, _lowest_bent)
        yield others[linear], partial(self._least, _lowest)
        yield others[~linear], self._least_of_all

    def _room(self) -> tuple[Ints, Floats]:
        """The counts of least quality loss, and the most that a bin may cost if all others have these counts."""
        quality = self.costs.quality
        scale = quality.size / quality.reference_size
        nearest = np.clip(quality.reference.astype(np.int64), self.low, self.high)
        if (scale != 1.0).any():  # otherwise the original has distance 0, and the nearest count is best
            nearest = _lowest(quality, (quality.reference * scale).astype(np.int64), self.low, self.high)
        least = quality.terms(nearest)
        spare = self.budget - self._total(least) - self.fixed.quality + ROOM * (1.0 + np.abs(self.budget))
        return nearest, spare[self.user] + least

    def _total(self, values: Floats) -> Floats:
        return _sums(self.user, values * self.copies, len(self.cost))

    def _is_linear(self, which: Ints) -> Flags:
        """Where the privacy term is linear, so that its negative is also convex: at locations that the target lacks."""
        low, high, privacy = self.low[which], self.high[which], self.costs.privacy.of(which)
        middle = low + (high - low) // 2
        first, between, last = (privacy.terms(x) for x in (low, middle, high))
        part = (middle - low) / np.maximum(high - low, 1)
        # A convex term that touches its chord in between is linear.
        linear: Flags = np.abs(first + part * (last - first) - between) <= 4.0 * _EPSILON * (first + last)
        return linear

    def _least(self, lowest: Callable[[_Cost, Ints, Ints, Ints], Ints], which: Ints) -> Floats:
        """The least value of each bin within the budget; without it, it is usually at the same count."""
        costs, start = self.costs.of(which), self.start[which]
        counts = lowest(costs, start, self.low[which], self.high[which])
        beyond = np.flatnonzero(costs.quality.terms(counts) > self.room[which])
        if len(beyond):
            counts[beyond] = lowest(costs.of(beyond), start[beyond], *self._within_budget(which[beyond]))
        return costs.terms(counts)

    def _least_of_all(self, which: Ints) -> Floats:
        """The least value of each bin over every count that fits the budget."""
        low, high = self._within_budget(which)
        width = high - low + 1
        self.too_wide = np.bincount(self.user[which], width, len(self.cost)) > _MOST_COUNTS
        width[self.too_wide[self.user[which]]] = 1
        least, end = np.empty(len(low)), np.cumsum(width)
        begin = 0
        while begin < len(low):
            before = end[begin] - width[begin]
            stop = max(begin + 1, int(np.searchsorted(end, before + _COUNTS_AT_ONCE, "right")))
            some = np.repeat(np.arange(begin, stop), width[begin:stop])
            first = end[begin:stop] - width[begin:stop] - before
            counts = low[some] + np.arange(len(some)) - first[some - begin]
            costs = self.costs.of(which[some])
            value = costs.terms(counts)
            value[(costs.quality.terms(counts) > self.room[which[some]]) | ~np.isfinite(value)] = math.inf
            least[begin:stop] = np.minimum.reduceat(value, first)
            begin = stop
        return least

    def _within_budget(self, which: Ints) -> tuple[Ints, Ints]:
        """The first and the last count of some bins that fit the budget when all others are nearest."""
        low, nearest, high, room = self.low[which], self.nearest[which], self.high[which], self.room[which]
        quality = self.costs.quality.of(which)
        return (
            first_count(low, nearest, lambda x: quality.terms(x) <= room),
            first_count(nearest, high, lambda x: quality.terms(np.minimum(x + 1, high)) > room),
        )


def _sums(user: Ints, values: Floats, users: int) -> Floats:
    """The sum of each user's values; a user may have none."""
    return np.bincount(user, values, users).astype(np.float64)


def _mixed(columns: Sequence[Ints | Floats]) -> NDArray[np.uint64]:
    """A hash of each row of some columns."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed


def _lowest(function: _Function, start: Ints, low: Ints, high: Ints) -> Ints:
    """The count in low..high at which each bin's convex function is least, searched from `start`."""
    found = np.clip(start, low, high)
    here = function.terms(found)
    ahead = function.terms(np.minimum(found + 1, high)) < here
    moving = np.flatnonzero(ahead | (function.terms(np.maximum(found - 1, low)) < here))
    if len(moving):
        end = np.where(ahead, high, low)[moving]
        found[moving] = _lowest_towards(function.of(moving), found[moving], end)
    return found


def _lowest_towards(function: _Function, start: Ints, end: Ints) -> Ints:
    """The count at which each bin's convex function is least, if it falls from `start` towards `end`."""
    most, direction = np.abs(end - start), np.sign(end - start)

    def after(steps: Ints) -> Ints:
        counts: Ints = start + direction * steps
        return counts

    def is_least(steps: Ints) -> Flags:
        least: Flags = function.terms(after(np.minimum(steps + 1, most))) >= function.terms(after(steps))
        return least

    # The steps double, because few are enough for nearly all bins.
    first, last = np.ones_like(most), np.ones_like(most)
    while not (found := is_least(last) | (last == most)).all():
        first, last = np.where(found, first, last + 1), np.where(found, last, np.minimum(2 * last, most))
    return after(first_count(first, last, is_least))


def _lowest_bent(costs: _Cost, start: Ints, low: Ints, high: Ints) -> Ints:
    """The count in low..high at which each bin's cost is least, if both distances are the same and have a bend.

    The ratio of the bends only rises or only falls, so the cost is convex up to some count and concave from there on,
    or the other way round. The convex part is searched from `start`, and the concave part is least at an end.
    """
    ends_convex = costs.is_convex_at(high)
    turning = np.flatnonzero(costs.is_convex_at(low) != ends_convex)
    some, wanted = costs.of(turning), ends_convex[turning]
    turn = low.copy()
    turn[turning] = first_count(low[turning], high[turning], lambda x: some.is_convex_at(x) == wanted)
    before = np.maximum(turn - 1, low)
    counts = _lowest(costs, start, np.where(ends_convex, turn, low), np.where(ends_convex, high, before))
    bent = np.flatnonzero(~ends_convex | (turn > low))
    if len(bent):
        ends = np.where(ends_convex, low, turn), np.where(ends_convex, before, high)
        choices = np.array([x[bent] for x in (counts, *ends)])
        best = np.argmin([costs.of(bent).terms(x) for x in choices], axis=0)
        counts[bent] = choices[best, np.arange(len(bent))]
    return counts


def _differs(claimed: Floats, true: Floats) -> Flags:
    with np.errstate(invalid="ignore"):
        same: Flags = (claimed == true) | (np.abs(claimed - true) <= _tolerance(true))
    return ~same


def _tolerance(value: Floats) -> Floats:
    return np.where(np.isfinite(value), TOLERANCE * (1.0 + np.abs(value)), 0.0)
