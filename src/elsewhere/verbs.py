"""The public verbs: hide, resemble, avoid and frontier.

Each puts the question as a `Problem`, has a solver answer it, and makes a `Sanitized` of the answer. Numba is imported
with the solvers, on the first question.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeAlias, TypeVar

from elsewhere.model.arrays import Ints
from elsewhere.model.distances import SLACK, DistanceLike
from elsewhere.model.errors import Infeasible, InputError, PrivacyNotMet
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.problem import (
    BoundsLike,
    Constraints,
    Problem,
    Size,
    as_histogram,
    hiding,
    nonnegative,
    targeting,
)
from elsewhere.model.result import Certificate, Sanitized, Status

if TYPE_CHECKING:
    from elsewhere.solvers.exact import Space
    from elsewhere.solvers.knapsack import Limits, Solution

Method: TypeAlias = Literal["optimal", "heuristic"]
P = ParamSpec("P")
R = TypeVar("R")

#: Bytes that a search may take unless it is told otherwise.
MEMORY_LIMIT = 2**30


def _interruptible(verb: Callable[P, R]) -> Callable[P, R]:
    """Let Ctrl-C through: when it comes while a kernel returns, Numba makes a SystemError of it."""

    @wraps(verb)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except SystemError as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, KeyboardInterrupt):
                cause = cause.__cause__ or cause.__context__
            if cause is None:
                raise
        raise KeyboardInterrupt

    return wrapped


@_interruptible
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
        When to end a search early: seconds, absolute distance to the bound, bytes.

    Returns
    -------
    Sanitized

    Notes
    -----
    Each next count goes where it costs least; of the places where it costs the same, to the one that received least so
    far, and of those to the one whose name sorts first.

    >>> alice = Histogram(dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3))
    >>> dict(hide(alice, sensitive={"g", "h"}).histogram)
    {'a': 9, 'b': 3, 'c': 4, 'd': 3, 'e': 16, 'f': 15}
    """
    from elsewhere.solvers import exact

    constraints = Constraints(sensitive, visited_only, lower, upper, forbidden, candidates)
    problem = hiding(as_histogram(histogram), quality, redistribute, constraints)
    solution = exact.least_loss(problem, _limits(time_limit, gap, memory_limit, problem.quality.distance.root))
    if solution is None:
        raise Infeasible(
            "no histogram satisfies the constraints: all are forbidden or at an infinite distance", math.inf
        )
    return _sanitized(problem, solution)


@_interruptible
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
    `max_quality_loss`. Limits are compared with a slack of 1e-12.

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

    >>> bob = Histogram(dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3))
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> r = resemble(bob, frugal, max_quality_loss=0.05)
    >>> dict(r.histogram), r.status, round(r.privacy_distance, 7)
    ({'a': 10, 'b': 6, 'c': 5, 'd': 2, 'e': 14, 'f': 5, 'g': 5, 'h': 3}, 'optimal', 0.0045983)
    """
    constraints = Constraints(sensitive, visited_only, lower, upper, forbidden, candidates)
    wanted = None if max_distance is None else nonnegative("max_distance", max_distance)
    problem = targeting(
        "resemble", as_histogram(histogram), target, max_quality_loss, quality, privacy, size, constraints
    )
    return _answer(problem, method, wanted, time_limit, gap, memory_limit)


@_interruptible
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

    >>> bob = Histogram(dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3))
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> r = avoid(bob, frugal, max_quality_loss=0.05, method="heuristic")
    >>> dict(r.histogram), r.status, round(r.privacy_distance, 7)
    ({'a': 4, 'c': 1, 'd': 3, 'e': 10, 'f': 18, 'g': 11, 'h': 3}, 'feasible', 0.2260447)
    """
    constraints = Constraints(sensitive, visited_only, lower, upper, forbidden, candidates)
    wanted = None if min_distance is None else nonnegative("min_distance", min_distance)
    problem = targeting("avoid", as_histogram(histogram), target, max_quality_loss, quality, privacy, size, constraints)
    return _answer(problem, method, wanted, time_limit, gap, memory_limit)


@_interruptible
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
) -> list[Sanitized]:
    """What each budget of quality loss buys: a `Sanitized` for each, in the order given.

    Each point is what `resemble` or `avoid` gives for that budget; tables are shared and the multipliers of one
    budget are the first guess for the next. `time_limit` is for each point.

    >>> bob = Histogram(dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3))
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> [round(r.privacy_distance, 4) for r in frontier(bob, frugal, [0.001, 0.01, 0.1])]
    [0.0711, 0.0364, 0.0]
    """
    from elsewhere.solvers import exact

    if goal not in ("resemble", "avoid"):
        raise InputError(f"goal is {goal!r}; it is either 'resemble' or 'avoid'")
    constraints = Constraints(sensitive, visited_only, lower, upper, tuple(forbidden), candidates)
    limits = [nonnegative("a budget", budget) for budget in budgets]
    if not limits:
        return []
    history = as_histogram(histogram)
    widest = targeting(goal, history, target, max(limits), quality, privacy, size, constraints)
    tightest = widest.within(min(limits))
    root = widest.privacy is not None and widest.privacy.distance.root
    known = _known(tightest, _limits(time_limit, gap, memory_limit, root))
    space = exact.tabulate(widest, widest.budget, _limits(time_limit, gap, memory_limit, root))
    results: dict[float, Sanitized] = {}
    guess = (-1.0, 0.0)
    for limit in sorted(set(limits), reverse=True):
        problem = widest.within(limit)
        solution = exact.optimum(problem, space, known, _limits(time_limit, gap, memory_limit, root), guess)
        guess = (solution.cost_multiplier, solution.size_multiplier)
        results[limit] = _sanitized(problem, solution)
    return [results[limit] for limit in limits]


def _answer(
    problem: Problem, method: Method, wanted: float | None, time_limit: float | None, gap: float, memory_limit: int
) -> Sanitized:
    """Solve resemble or avoid, and refuse what misses the wanted privacy distance."""
    from elsewhere.solvers import exact
    from elsewhere.solvers.heuristic import heuristic

    assert problem.privacy is not None
    limits = _limits(time_limit, gap, memory_limit, problem.privacy.distance.root)
    if method not in ("optimal", "heuristic"):
        raise InputError(f"method is {method!r}; it is either 'optimal' or 'heuristic'")
    known = _known(problem, limits)
    space = exact.tabulate(problem, problem.budget, limits)
    if method == "optimal":
        best = _sanitized(problem, exact.optimum(problem, space, known, limits))
    else:
        best = _greedy(problem, heuristic(problem, space, known, limits), space, limits)
    if wanted is not None:
        _check_privacy(problem, best, wanted, limits)
    return best


def _greedy(problem: Problem, counts: Ints, space: Space, limits: Limits) -> Sanitized:
    """The heuristic's counts, with the dual bound to tell how far they may be from the best."""
    from elsewhere.solvers import exact

    return _sanitized(problem, exact.bounded(problem, space, counts), proven=False)


def _known(problem: Problem, limits: Limits) -> Ints:
    """Counts within all constraints to start from: the original, or else those of least quality loss."""
    from elsewhere.solvers import exact

    # At a built-in distance the original, if it has the right size, has no loss at all.
    if problem.is_within(problem.original) and (
        problem.quality.distance.builtin or problem.quality_loss(problem.original) <= problem.limit
    ):
        return problem.original
    solution = exact.least_loss(problem, limits.without_deadline())
    if solution is None:
        raise Infeasible(
            "no histogram satisfies the constraints: all are forbidden or at an infinite distance", math.inf
        )
    needed = problem.quality_loss(solution.counts)
    if needed > problem.limit + SLACK:
        raise Infeasible(
            f"no histogram within the constraints has a quality loss of at most {problem.limit:.10g}; "
            f"the least that one has is {needed:.10g}",
            needed,
        )
    return solution.counts


def _check_privacy(problem: Problem, best: Sanitized, wanted: float, limits: Limits) -> None:
    from elsewhere.solvers import exact

    reached = best.privacy_distance
    assert reached is not None
    if problem.goal == "resemble":
        if reached <= wanted + SLACK:
            return
        side, name = "above", "max_distance"
    else:
        if reached >= wanted - SLACK:
            return
        side, name = "below", "min_distance"
    needed = exact.needed_loss(problem, wanted, limits.without_deadline())
    found = "best" if best.status == "optimal" else "best found"
    remedy = f"a quality loss of {needed:.10g} would meet it" if needed < math.inf else "no quality loss would meet it"
    raise PrivacyNotMet(
        f"the {found} privacy distance at a quality loss of at most {problem.limit:.10g} is {reached:.10g}, "
        f"{side} {name} {wanted:.10g}; {remedy}",
        best,
        needed,
    )


def _sanitized(problem: Problem, solution: Solution, proven: bool = True) -> Sanitized:
    """The result that a solution amounts to, in the terms of its distances."""
    from elsewhere.solvers import exact

    quality_loss, privacy_distance = problem.quality.shown(solution.objective), None
    if problem.goal != "hide":
        quality_loss, privacy_distance = exact.figures(problem, solution.counts)
    measure, objective = problem.quality, quality_loss
    if problem.privacy is not None and privacy_distance is not None:
        measure, objective = problem.privacy, privacy_distance
    sign = -1.0 if problem.goal == "avoid" else 1.0
    optimal = proven and solution.closed
    bound = objective if optimal else measure.shown(sign * solution.bound)
    status: Status = "optimal" if optimal else "feasible"
    certificate = None
    if abs(solution.dual_bound) < math.inf:
        certificate = Certificate(
            solution.cost_multiplier, solution.size_multiplier, measure.shown(sign * solution.dual_bound)
        )
    notes: tuple[str, ...] = ()
    if problem.left_out.any():
        notes = (f"the quality loss leaves out the sensitive locations: {measure.distance.name} is infinite there",)
    return Sanitized(
        problem.goal,
        Histogram._of(problem.locations, solution.counts),
        quality_loss,
        privacy_distance,
        bound,
        0.0 if objective == bound else abs(objective - bound),
        status,
        certificate,
        notes,
    )


def _limits(time_limit: float | None, gap: float, memory_limit: int, root: bool) -> Limits:
    from elsewhere.solvers.knapsack import Limits

    gap = nonnegative("gap", gap)
    deadline = math.inf if time_limit is None else time.monotonic() + nonnegative("time_limit", time_limit)
    # For a root, sqrt(a) - sqrt(b) <= sqrt(a - b): the sums below it are held to the square of the gap.
    return Limits(gap * gap if root else gap, deadline, int(nonnegative("memory_limit", memory_limit)))
