"""The public verbs: hide, resemble, avoid and frontier.

Each puts what it was given into a `Question` and leaves that to `elsewhere.solve`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from elsewhere.model.distances import DistanceLike
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import TableLike
from elsewhere.model.question import (
    MEMORY_LIMIT,
    BoundsLike,
    Method,
    Question,
    SearchLimits,
    Size,
    as_histogram,
    as_list,
    nonnegative,
)
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.text import quote


def hide(
    histogram: TableLike,
    sensitive: Iterable[str],
    quality: DistanceLike = "js",
    redistribute: int | None = None,
    *,
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
) -> Sanitized:
    r"""Leave no visit at a sensitive location, at the least possible loss of quality (SLH, the paper's section 3.2).

    .. math::
        \min_{H'} d_q(H, H') \quad \text{s.t.} \quad H'[i] = 0 \ (i \text{ sensitive}), \quad
        H'[i] \ge H[i] \ (\text{else}), \quad \sum_i H'[i] = N

    where H is the histogram and N its size. With `redistribute` = r the size is N - K + r, K being the number of
    sensitive visits (SLH_r): r = 0 just deletes them.

    Parameters
    ----------
    histogram
        H: a `Histogram` or anything that one is made from.
    sensitive
        The names of the locations to hide.
    quality
        d_q: the name of a distance or a function of (original count, count) for one bin.
    redistribute
        How many counts the other locations receive; by default as many as are hidden.
    visited_only
        Whether locations with count 0 stay at 0.
    lower, upper
        Bounds on the counts of single locations. An earlier release as `lower` keeps a series of releases consistent.
    forbidden
        Whole histograms that must not come out; the best other one does.
    candidates
        Locations that were never visited but may receive counts.
    time_limit, gap, memory_limit
        When to end a search early: seconds, absolute distance to the bound, bytes. Time counts from the moment that
        some histogram within the constraints is known, and is looked at every now and then.

    Returns
    -------
    Sanitized

    Notes
    -----
    Each next count goes where it costs least; of the places where it costs the same, to the one that received least so
    far, and of those to the one whose name sorts first.

    >>> alice = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> dict(hide(alice, sensitive={"g", "h"}).histogram)
    {'a': 9, 'b': 3, 'c': 4, 'd': 3, 'e': 16, 'f': 15}
    """
    from elsewhere.solve import solve

    return solve(
        Question(
            "hide",
            as_histogram(histogram),
            quality=quality,
            redistribute=redistribute,
            sensitive=sensitive,
            visited_only=visited_only,
            lower=lower,
            upper=upper,
            forbidden=forbidden,
            candidates=candidates,
            search=SearchLimits(time_limit, gap, memory_limit),
        )
    )


def resemble(
    histogram: TableLike,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    method: Method = "optimal",
    max_distance: float | None = None,
    size: Size = "original",
    *,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
) -> Sanitized:
    r"""Come as near to a wanted profile as a limit on the quality loss allows (TR, the paper's section 3.3).

    .. math:: \min_{H'} d_p(H', H'') \quad \text{s.t.} \quad d_q(H, H') \le \epsilon, \quad \sum_i H'[i] = N

    where H is the histogram, N its size, H'' the target scaled to N, and the limit on the quality loss is
    `max_quality_loss`. Limits are compared with a slack of 1e-12, and of the rounding of the limit itself where that is
    more.

    Parameters
    ----------
    histogram
        H: a `Histogram` or anything that one is made from.
    target
        H'': counts or other nonnegative weights by location, or a `Profile`.
    max_quality_loss
        The limit on d_q(H, H').
    quality, privacy
        d_q and d_p: the name of a distance or a function of (reference count, count) for one bin.
    method
        ``"optimal"`` (RO) or ``"heuristic"`` (RH).
    max_distance
        The privacy parameter c: a greater d_p(H', H'') is not acceptable.
    size
        The size of H': ``"original"`` or ``"target"``; the target is not scaled then.
    sensitive
        Locations whose counts become 0.
    visited_only, lower, upper, forbidden, candidates, time_limit, gap, memory_limit
        As in `hide`.

    Returns
    -------
    Sanitized

    Raises
    ------
    Infeasible
        No histogram keeps to the constraints; the least quality loss that would do is said.
    PrivacyNotMet
        The best one misses `max_distance`; it and the least quality loss that would do are said.

    Notes
    -----
    Locations are taken in the order of their names. Of equally good histograms the first found in that order comes
    out, and locations that nothing but their name tells apart get their counts in descending order.

    >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> r = resemble(bob, frugal, max_quality_loss=0.05)
    >>> dict(r.histogram), r.status, round(r.privacy_distance, 7)
    ({'a': 10, 'b': 6, 'c': 5, 'd': 2, 'e': 14, 'f': 5, 'g': 5, 'h': 3}, 'optimal', 0.0045983)
    """
    from elsewhere.solve import solve

    return solve(
        Question(
            "resemble",
            as_histogram(histogram),
            target,
            max_quality_loss,
            max_distance,
            quality,
            privacy,
            method,
            size,
            sensitive=sensitive,
            visited_only=visited_only,
            lower=lower,
            upper=upper,
            forbidden=forbidden,
            candidates=candidates,
            search=SearchLimits(time_limit, gap, memory_limit),
        )
    )


def avoid(
    histogram: TableLike,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    method: Method = "optimal",
    min_distance: float | None = None,
    size: Size = "original",
    *,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
) -> Sanitized:
    r"""Go as far from an unwanted profile as a limit on the quality loss allows (TA, the paper's section 3.4).

    .. math:: \max_{H'} d_p(H', H'') \quad \text{s.t.} \quad d_q(H, H') \le \epsilon, \quad \sum_i H'[i] = N

    The parameters are those of `resemble`, with the methods AO and AH, and `min_distance` in place of `max_distance`: a
    smaller d_p(H', H'') is not acceptable. An infinite privacy distance is the best there is; of the
    histograms that have it the one of least quality loss comes out.

    >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> r = avoid(bob, frugal, max_quality_loss=0.05, method="heuristic")
    >>> dict(r.histogram), r.status, round(r.privacy_distance, 7)
    ({'a': 4, 'c': 1, 'd': 3, 'e': 10, 'f': 18, 'g': 11, 'h': 3}, 'feasible', 0.2260447)
    """
    from elsewhere.solve import solve

    return solve(
        Question(
            "avoid",
            as_histogram(histogram),
            target,
            max_quality_loss,
            min_distance,
            quality,
            privacy,
            method,
            size,
            sensitive=sensitive,
            visited_only=visited_only,
            lower=lower,
            upper=upper,
            forbidden=forbidden,
            candidates=candidates,
            search=SearchLimits(time_limit, gap, memory_limit),
        )
    )


def frontier(
    histogram: TableLike,
    target: TableLike,
    budgets: Sequence[float],
    goal: Literal["resemble", "avoid"] = "resemble",
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
    *,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
) -> Frontier:
    """What each budget of quality loss buys: a `Sanitized` for each, in the order given.

    Each point is as good as what `resemble` or `avoid` gives for that budget; of equally good histograms it may be
    another one, because tables are shared and the multipliers of one budget are the first guess for the next.
    `time_limit` is for each point.

    >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> [round(r.privacy_distance, 4) for r in frontier(bob, frugal, [0.001, 0.01, 0.1])]
    [0.0711, 0.0364, 0.0]
    """
    from elsewhere.solve import solve_frontier

    if not isinstance(goal, str) or goal not in ("resemble", "avoid"):
        raise InputError(f"goal is {quote(goal)}; it is either 'resemble' or 'avoid'")
    limits = [nonnegative("budgets", budget) for budget in as_list("budgets", budgets, "quality losses")]
    question = Question(
        goal,
        as_histogram(histogram),
        target,
        max(limits, default=0.0),
        quality=quality,
        privacy=privacy,
        size=size,
        sensitive=sensitive,
        visited_only=visited_only,
        lower=lower,
        upper=upper,
        forbidden=forbidden,
        candidates=candidates,
        search=SearchLimits(time_limit, gap, memory_limit),
    )
    return solve_frontier(question, limits)
