"""All histograms, and the best of them: not an algorithm of the paper, but the definition of its problems.

1. Enumerate every way to spread the counts of H' over the union of the locations.
2. Remove those that violate a constraint, one constraint after the other.
3. Of the rest, take those with the best objective.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import DistanceLike
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.names import name_key
from elsewhere.model.question import Aim, Goal
from elsewhere.model.smoothing import SmoothedJS
from elsewhere.model.trees import KindDistance, TreeDistance
from elsewhere.paper.setting import Size, counts_to_add, prepare
from elsewhere.paper.terms import Node, Term, from_below, from_total, nodes, term, threshold

#: Objectives that are this close count as equal.
_TIE = 1e-12
_MOST_HISTOGRAMS = 10_000_000


@dataclass(frozen=True)
class BruteForce:
    """The best histograms and their objective."""

    #: The figure that is optimised; None if no histogram satisfies the constraints.
    objective: float | None
    #: The least quality loss of the optima; infinite if there are none.
    quality_loss: float
    #: All optima.
    histograms: list[Histogram]
    #: The least quality loss of the histograms that satisfy all but the limits on distances; infinite without any.
    least_quality_loss: float


def brute_force(
    goal: Goal,
    histogram: Histogram,
    *,
    target: TableLike | None = None,
    max_quality_loss: float = math.inf,
    max_distance: float | None = None,
    min_distance: float | None = None,
    aim: Aim | None = None,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size | int = "original",
    redistribute: int | None = None,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: Mapping[str, int] | None = None,
    upper: Mapping[str, int] | None = None,
    forbidden: Iterable[Histogram] = (),
    candidates: Iterable[str] = (),
) -> BruteForce:
    """Try every histogram, and return all the best ones for a goal within its constraints.

    The objectives of two optima differ by at most 1e-12 (before the root is taken, for l2). For avoid, if histograms at
    an infinite privacy distance exist, those of least quality loss are the best.

    Parameters
    ----------
    goal
        ``"hide"``, ``"resemble"`` or ``"avoid"``.
    histogram
        The history H.
    target
        The target H'' of resemble and avoid: a `Profile`, or nonnegative weights by location.
    max_quality_loss
        The limit on d_q(H, H'). Default: no limit.
    max_distance
        The greatest privacy distance allowed in resemble. Default: no limit.
    min_distance
        The least privacy distance allowed in avoid. Default: no limit.
    aim
        ``"least-loss"`` to minimise the quality loss in resemble and avoid. Default: the privacy distance is optimised.
    quality
        The distance d_q: its name, a `TreeDistance`, a `SmoothedJS`, or your own function of (original count, released
        count) for one location.
    privacy
        The distance d_p: its name, a `TreeDistance`, a `KindDistance`, a `SmoothedJS`, or your own function of (target
        count, released count) for one location.
    size
        The size of H' in resemble and avoid: ``"original"`` (the default), ``"target"``, or a number of visits.
    redistribute
        Number r of visits to add to the other locations in hide (SLH_r). Default: as many as are hidden.
    sensitive
        Names of locations whose counts become 0.
    visited_only
        If True, locations with count 0 stay at 0.
    lower
        The least count of each location, by name.
    upper
        The greatest count of each location, by name.
    forbidden
        Complete histograms that must not be returned.
    candidates
        Names of further locations that may receive visits.

    Raises
    ------
    InputError
        There are more than 10 million histograms, or a constraint names an unknown location.

    See Also
    --------
    elsewhere.hide, elsewhere.resemble, elsewhere.avoid : The fast solvers of the same problems.

    Examples
    --------
    >>> h = Histogram({"cafe": 4, "gym": 2, "clinic": 3})
    >>> [dict(best) for best in brute_force("hide", h, sensitive={"clinic"}, quality="l2").histograms]
    [{'cafe': 5, 'clinic': 0, 'gym': 4}, {'cafe': 6, 'clinic': 0, 'gym': 3}]
    """
    hidden = set(sensitive)
    q_term, p_term = _at_bins(quality), _at_bins(privacy)
    if goal == "hide":
        locations = sorted({*histogram, *candidates})
        removed = sum(histogram[location] for location in hidden)
        final_size = histogram.size - removed + counts_to_add(histogram, hidden, redistribute)
        q = term(q_term, histogram.size, final_size)
    elif target is None:
        raise InputError(f"{goal} needs a target")
    else:
        setting = prepare(histogram, target, max_quality_loss, q_term, p_term, size, candidates)
        locations, final_size, q = setting.locations, setting.size, setting.q
        if isinstance(privacy, KindDistance):  # the target's names are kinds, not locations
            locations = sorted({*histogram, *candidates})
    low, high = _bounds(locations, final_size, lower or {}, upper or {})
    original = np.array([histogram[location] for location in locations])
    is_sensitive = _marked(locations, hidden)

    # 1. Every histogram is a row of x.
    x = _compositions(final_size, len(locations))

    # 2. The constraints, except the limit on the quality loss.
    allowed = _without_sensitive(x, is_sensitive) & _within_bounds(x, low, high)
    allowed &= _not_forbidden(x, locations, forbidden)
    if visited_only:
        allowed &= _only_visited(x, original)
    if goal == "hide":
        allowed &= _only_received(x, original, high, is_sensitive)
    hidden_bins = is_sensitive if goal == "hide" else np.zeros_like(is_sensitive)
    q_total = _distances(quality, q, locations, original.tolist(), x, hidden_bins)
    if goal == "hide":
        minimised = q_total
    else:
        if isinstance(privacy, KindDistance):
            target_of = dict(zip(map(name_key, setting.locations), setting.target, strict=True))
            p_total = _totals_of_kinds(setting.p, privacy, locations, target_of, x)
        else:
            p_total = _distances(privacy, setting.p, locations, setting.target, x, np.zeros_like(is_sensitive))
        minimised = p_total if goal == "resemble" else -p_total
    allowed &= (q_total < math.inf) & (minimised < math.inf)
    least = from_total(quality, float(q_total[allowed].min())) if allowed.any() else math.inf

    # 3. The best within the limits.
    feasible = allowed & (q_total <= threshold(quality, max_quality_loss))
    if max_distance is not None:
        feasible &= p_total <= threshold(privacy, max_distance)
    if min_distance is not None:
        feasible &= p_total >= from_below(privacy, min_distance)
    by_loss = goal == "hide" or aim == "least-loss"
    if by_loss:
        minimised = q_total
    if not feasible.any():
        return BruteForce(None, math.inf, [], least)
    best = float(minimised[feasible].min())
    optimal = feasible & (minimised <= best + _TIE)
    best_q = float(q_total[optimal].min())
    if best == -math.inf:
        optimal &= q_total <= best_q + _TIE
    return BruteForce(
        objective=from_total(quality if by_loss else privacy, -best if goal == "avoid" and not by_loss else best),
        quality_loss=from_total(quality, best_q),
        histograms=[Histogram(zip(locations, row, strict=True)) for row in x[optimal].tolist()],
        least_quality_loss=least,
    )


def fewest_added(goal: Goal, histogram: Histogram, most: int, **asked: Any) -> tuple[int, BruteForce] | None:
    """Return the fewest visits that, added to a histogram, meet a privacy distance, and the best ways to add them.

    Try every number of visits up to `most`, from 0 on, and every way to add them. None if no number up to `most` does.

    Parameters
    ----------
    goal
        ``"resemble"`` or ``"avoid"``.
    histogram
        The history H, whose visits all stay.
    most
        The number of visits after which to give up.
    asked
        What else `brute_force` takes: the target, and `max_distance` or `min_distance`.

    See Also
    --------
    elsewhere.resemble, elsewhere.avoid : The fast solvers, with ``size="free"``.

    Examples
    --------
    >>> h = Histogram({"cafe": 4, "gym": 2})
    >>> added, best = fewest_added("resemble", h, 9, target={"cafe": 1, "gym": 1}, max_distance=0.01)
    >>> added, [dict(way) for way in best.histograms]
    (1, [{'cafe': 4, 'gym': 3}])
    """
    kept = {location: count for location, count in histogram.items() if count}
    for added in range(most + 1):
        found = brute_force(goal, histogram, size=histogram.size + added, lower=kept, **asked)
        if found.objective is not None:
            return added, found
    return None


def _without_sensitive(x: Ints, is_sensitive: Flags) -> Flags:
    return _in_every_bin((x == 0) | ~is_sensitive)


def _within_bounds(x: Ints, low: Ints, high: Ints) -> Flags:
    return _in_every_bin((low <= x) & (x <= high))


def _only_visited(x: Ints, original: Ints) -> Flags:
    return _in_every_bin((x == 0) | (original > 0))


def _only_received(x: Ints, original: Ints, high: Ints, is_sensitive: Flags) -> Flags:
    """In hide, a bin loses no counts, except those above its upper bound."""
    return _in_every_bin((x >= np.minimum(original, high)) | is_sensitive)


def _not_forbidden(x: Ints, locations: list[str], forbidden: Iterable[Histogram]) -> Flags:
    allowed = np.ones(len(x), dtype=np.bool_)
    for other in forbidden:
        row = [other[location] for location in locations]
        if sum(row) == other.size:  # otherwise it has counts at other locations
            allowed &= ~_in_every_bin(x == np.array(row))
    return allowed


def _in_every_bin(holds: Flags) -> Flags:
    return np.asarray(holds.all(axis=1))


def _at_bins(distance: DistanceLike) -> DistanceLike:
    """The underlying distance whose terms are added up."""
    if isinstance(distance, SmoothedJS):
        return "js"
    return distance.name if isinstance(distance, TreeDistance | KindDistance) else distance


def _distances(
    distance: DistanceLike, bin_term: Term, locations: list[str], reference: list[float], x: Ints, hidden: Flags
) -> Floats:
    """The distance of every histogram, without the root of l2."""
    if isinstance(distance, SmoothedJS):
        return _smoothed_totals(bin_term, distance, locations, reference, x)
    return _totals(bin_term, nodes(distance, locations), reference, x, hidden)


def _smoothed_totals(
    bin_term: Term, distance: SmoothedJS, locations: list[str], reference: list[float], x: Ints
) -> Floats:
    """The distance of every histogram to the reference, after smoothing both."""
    kernel = distance.kernel
    weights = [
        [
            float(kernel.get((i, j), kernel.get((j, i), i == j)) if isinstance(kernel, Mapping) else kernel(i, j))
            for j in locations
        ]
        for i in locations
    ]
    column_sums = [math.fsum(column) for column in zip(*weights, strict=True)]
    totals = np.zeros(len(x))
    for row in weights:
        shares = [weight / total for weight, total in zip(row, column_sums, strict=True)]
        r = math.fsum(share * count for share, count in zip(shares, reference, strict=True))
        totals += [bin_term(r, count) for count in (x @ np.array(shares)).tolist()]
    return totals


def _totals(node_term: Term, nodes: list[Node], reference: list[float], x: Ints, hidden: Flags) -> Floats:
    """The distance of every histogram: the sum over the nodes of the term of the counts below them.

    A node is left out if all visits below it are hidden and its term is infinite at 0.
    """
    totals = np.zeros(len(x))
    for weight, bins in nodes:
        r = math.fsum(reference[bin_] for bin_ in bins)
        below = x[:, bins].sum(axis=1)
        terms = np.array([node_term(r, count) for count in range(int(below.max(initial=0)) + 1)])
        visits_hidden = hidden[bins].any() and not any(reference[bin_] > 0 for bin_ in bins if not hidden[bin_])
        if visits_hidden and terms[0] == math.inf:
            continue
        totals += weight * terms[below]
    return totals


def _totals_of_kinds(
    kind_term: Term, distance: KindDistance, locations: list[str], target: Mapping[str, float], x: Ints
) -> Floats:
    """The distance of every histogram from a target of kinds: the sum over kinds of the term of their visits."""
    kind_of = {name_key(location): name_key(kind) for location, kind in distance.kinds.items()}
    kinds = [kind_of.get(name_key(location), name_key(location)) for location in locations]
    totals = np.zeros(len(x))
    for kind in {*kinds, *target}:
        visits = x[:, [other == kind for other in kinds]].sum(axis=1)
        terms = np.array([kind_term(target.get(kind, 0.0), count) for count in range(int(visits.max(initial=0)) + 1)])
        totals += terms[visits]
    return totals


@lru_cache(maxsize=256)
def _compositions(total: int, bins: int) -> Ints:
    """Every way to spread `total` counts over the bins, one per row in lexicographic order (stars and bars)."""
    rows = math.comb(total + bins - 1, bins - 1)
    if rows > _MOST_HISTOGRAMS:
        raise InputError(f"there are {rows} histograms of size {total} over {bins} locations, too many to try them all")
    bars = np.fromiter(chain.from_iterable(combinations(range(total + bins - 1), bins - 1)), dtype=np.int64)
    fenced = np.full((rows, bins + 1), -1, dtype=np.int64)
    fenced[:, 1:-1] = bars.reshape(rows, bins - 1)
    fenced[:, -1] = total + bins - 1
    x = np.diff(fenced, axis=1) - 1
    x.flags.writeable = False
    return x


def _marked(locations: list[str], names: Iterable[str]) -> Flags:
    for name in names:
        if name not in locations:
            raise InputError(f"a constraint names {name!r}, which is not among the locations")
    return np.array([location in names for location in locations])


def _bounds(
    locations: list[str], final_size: int, lower: Mapping[str, int], upper: Mapping[str, int]
) -> tuple[Ints, Ints]:
    _marked(locations, [*upper, *(location for location, count in lower.items() if count > 0)])
    low = np.array([lower.get(location, 0) for location in locations])
    high = np.array([upper.get(location, final_size) for location in locations])
    return low, high
