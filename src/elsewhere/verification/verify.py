"""Check a release against the history that it was made from, without trusting the solvers."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from elsewhere.model.arrays import Ints, exact_sum
from elsewhere.model.distances import DistanceLike, over_taxonomy, slack
from elsewhere.model.errors import Infeasible
from elsewhere.model.histogram import Histogram, TableLike, TargetLike
from elsewhere.model.problem import Problem
from elsewhere.model.question import (
    DISTANCE_LIMITS,
    BoundsLike,
    Goal,
    Question,
    Size,
    as_histogram,
    as_list,
    meets_distance,
    nonnegative,
)
from elsewhere.model.result import Certificate, Sanitized
from elsewhere.model.taxonomy import Taxonomy, informed
from elsewhere.text import plural, quote
from elsewhere.verification.bounds import Multipliers, better_exists
from elsewhere.verification.exchanges import best_exchange, loss_after_exchanges
from elsewhere.verification.fewest import fewer_suffice
from elsewhere.verification.kind_bounds import KindMultipliers
from elsewhere.verification.smoothed_bounds import SmoothedView, better_smoothed
from elsewhere.verification.tree_bounds import TreeMultiplier, better_on_tree

#: The tolerance between a figure and the recomputed one, relative to its size plus one.
TOLERANCE = 1e-9


@dataclass
class Check:
    """The result of `verify`; `problems` has one sentence for each problem."""

    problems: list[str] = field(default_factory=list)
    quality_loss: float = math.nan
    privacy_distance: float | None = None
    #: The bound that the certificate's multipliers prove; None without a certificate.
    bound: float | None = None
    #: Whether the verifier's own search has proven the result optimal; None if it was not needed or gave up.
    optimal: bool | None = None

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def verify(
    histogram: TableLike,
    release: TableLike | Sanitized,
    *,
    target: TargetLike | None = None,
    max_quality_loss: float = math.inf,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    max_distance: float | None = None,
    min_distance: float | None = None,
    size: Size = "original",
    redistribute: int | None = None,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
) -> Check:
    """Check that a release satisfies everything that was asked of it. No solver takes part.

    Parameters
    ----------
    histogram
        The true history H: a `Histogram`, what `read` returns, or anything that `Histogram` accepts.
    release
        The histogram H' to check, or a whole `Sanitized`. For a `Sanitized`, the distances and the bound are
        recomputed, and if it claims to be optimal, a better histogram is searched for (with ``aim="least-loss"``, give
        its distance). Two claims are not checked: that ``aim="far"`` at an infinite distance has the least quality
        loss, and that a drawn release was drawn with the key, or from the spread, as it should be.
    target
        The target H'' of resemble or avoid. Default: None, the release is checked as one of hide.
    max_quality_loss
        The limit on d_q(H, H'). Default: no limit.
    quality
        The distance d_q: its name, a `TreeDistance`, a `SmoothedJS`, or your own function of (original count, released
        count) for one location.
    privacy
        The distance d_p: its name, a `TreeDistance`, a `KindDistance`, a `SmoothedJS`, or your own function of (target
        count, released count) for one location.
    max_distance
        The greatest privacy distance d_p(H', H'') allowed (resemble).
    min_distance
        The least privacy distance d_p(H', H'') allowed (avoid).
    size
        The size that the release must have: ``"original"`` (the default) or ``"target"``. ``"free"``, with the history
        as `lower`: any size. That of a `Sanitized` that claims to be optimal must be the least that meets the distance.
    redistribute
        Number of visits that the other locations received (hide). Default: as many as are hidden.
    sensitive
        Names of locations that must have no visits. Any spelling of a name matches, and so do patterns such as
        ``"*church*"``.
    visited_only
        If True, locations with count 0 must stay at 0.
    lower
        The least count of each location, by name or pattern.
    upper
        The greatest count of each location, by name or pattern.
    forbidden
        Complete histograms that the release must not equal.
    candidates
        Names of locations that are in neither the history nor the target but may have visits.
    taxonomy
        Measure the distances over this `Taxonomy`.
    levels
        The weights of the taxonomy's levels; see `TreeDistance`.

    Returns
    -------
    Check
        `ok` is True if nothing is wrong; `problems` has one sentence for each problem.

    Raises
    ------
    InputError
        An argument is not valid; the message names the value.

    See Also
    --------
    hide, resemble, avoid : Make the releases that this function checks.

    Examples
    --------
    >>> check = verify({"cafe": 7, "gym": 2}, {"cafe": 8, "gym": 1}, sensitive={"gym"})
    >>> check.ok, check.problems
    (False, ["1 visit is left at the sensitive location 'gym'"])
    """
    claims = release if isinstance(release, Sanitized) else None
    goal = _goal(target, claims, max_distance)
    taxonomy = informed(taxonomy, histogram)
    drawn = claims is not None and claims.question.method == "drawn"
    if claims is not None and drawn and claims.goal == "hide":  # visits may have gone to popular places
        candidates = [*as_list("candidates", candidates, "location names"), *claims.question.candidates]
    limit = {"resemble": max_distance, "avoid": min_distance}.get(goal)
    if claims is not None and drawn and limit is None:  # then the spread defines it
        limit = claims.question.distance_limit
    least_loss = claims is not None and claims.question.aim == "least-loss" and claims.goal == goal
    question = Question(
        goal,
        as_histogram(histogram),
        target,
        max_quality_loss,
        limit,
        over_taxonomy(quality, taxonomy, levels),
        over_taxonomy(privacy, taxonomy, levels),
        size=size,
        redistribute=redistribute,
        sensitive=sensitive,
        visited_only=visited_only,
        lower=lower,
        upper=upper,
        forbidden=forbidden,
        candidates=candidates,
        aim="least-loss" if least_loss else None,
    )
    check = check_release(question, release)
    if goal == "resemble" and min_distance is not None:
        _check_distance(check, "avoid", nonnegative("min_distance", min_distance))
    return check


def check_release(question: Question, release: TableLike | Sanitized) -> Check:
    """Check a release, or a whole result with its figures, against the question that it answers."""
    check = Check()
    claims = release if isinstance(release, Sanitized) else None
    given = claims.histogram if claims is not None else release
    released = given if isinstance(given, Histogram) else Histogram(given)
    try:
        if question.size == "free":
            question = question.adding(max(released.size - question.history.size, 0))
        problem = question.problem
    except Infeasible as error:
        check.problems.append(f"no release can satisfy the constraints: {error}")
        return check
    if claims is not None and claims.goal != question.goal:
        check.problems.append(f"the result is one of {claims.goal}, but it was checked as one of {question.goal}")
    counts = _counts(problem, released, check)
    _check_constraints(problem, counts, question.visited_only, check)
    check.quality_loss = problem.quality_loss(counts)
    check.privacy_distance = problem.privacy_distance(counts)
    if check.quality_loss > problem.limit + slack(problem.limit):
        check.problems.append(f"the quality loss is {check.quality_loss:.10g}, above the limit {problem.limit:.10g}")
    if question.distance_limit is not None:
        _check_distance(check, question.goal, question.distance_limit)
    if claims is not None:
        _check_claims(question, counts, claims, check)
        if question.size == "free" and claims.status == "optimal" and check.ok:
            _check_fewest(question, problem, check)
    return check


def _check_fewest(question: Question, problem: Problem, check: Check) -> None:
    """Check that as few visits as possible are added."""
    limit = question.distance_limit
    assert limit is not None
    sizes = range(exact_sum(problem.lower), problem.size)
    fewer = fewer_suffice(problem, limit, sizes, _tolerance(limit))
    if fewer is None:
        check.optimal = None
    elif fewer:
        added = plural(fewer - question.history.size, "added visit")
        check.problems.append(f"a release with only {added} meets {DISTANCE_LIMITS[question.goal]} {limit:.10g}")


def _goal(target: TargetLike | None, claims: Sanitized | None, max_distance: float | None) -> Goal:
    """The goal to check. A bare histogram may have an infinite distance to its target unless that is limited."""
    if target is None:
        return "hide"
    if claims is not None and claims.goal != "hide":
        return claims.goal
    return "avoid" if max_distance is None else "resemble"


def _counts(problem: Problem, released: Histogram, check: Check) -> Ints:
    """The release on the problem's locations; counts elsewhere are reported as a problem."""
    counts = np.zeros(len(problem.locations), dtype=np.int64)
    for location, count in released.items():
        at = problem.names.position(location)
        if at >= 0:
            counts[at] = count
        elif count:
            target = ", the target" if problem.is_location.all() else ""  # a target of kinds has no locations
            known = f"the history{target} or the candidates"
            check.problems.append(
                f"the release has {plural(count, 'visit')} at {quote(location)}, which is not in {known}"
            )
    return counts


def _check_constraints(problem: Problem, counts: Ints, visited_only: bool, check: Check) -> None:
    total = int(counts.sum())
    if total != problem.size:
        check.problems.append(f"the release has {plural(total, 'visit')} instead of {problem.size:,}")
    for at in np.flatnonzero((counts < problem.lower) | (counts > problem.upper)).tolist():
        location, count = problem.locations[at], int(counts[at])
        if problem.sensitive[at]:
            is_left = f"{plural(count, 'visit')} {'is' if count == 1 else 'are'} left"
            check.problems.append(f"{is_left} at the sensitive location {quote(location)}")
        elif visited_only and problem.original[at] == 0 and count:
            check.problems.append(
                f"the release has {plural(count, 'visit')} at {quote(location)}, which was never visited"
            )
        else:
            least, most = int(problem.lower[at]), int(problem.upper[at])
            check.problems.append(
                f"the release has {plural(count, 'visit')} at {quote(location)}; {least} to {most} are allowed"
            )
    if problem.is_forbidden(counts):
        check.problems.append("the release is one of the forbidden histograms")


def _check_distance(check: Check, goal: Goal, limit: float) -> None:
    reached = check.privacy_distance
    if reached is not None and not meets_distance(goal, reached, limit):
        side = "above" if goal == "resemble" else "below"
        check.problems.append(f"the privacy distance is {reached:.10g}, {side} {DISTANCE_LIMITS[goal]} {limit:.10g}")


def _check_claims(question: Question, counts: Ints, claims: Sanitized, check: Check) -> None:
    """Check the figures of a result: its distances, gap and bound and, if it claims so, that it is optimal."""
    problem, most = question.problem, math.inf
    objective = question.objective(check.quality_loss, check.privacy_distance)
    for name in ("quality_loss", "bound", "gap"):
        if not isinstance(getattr(claims, name), numbers.Real):
            check.problems.append(f"the {name} of the result is {quote(getattr(claims, name))}, which is not a number")
            return
    _compare("quality loss", claims.quality_loss, check.quality_loss, check)
    if claims.privacy_distance != check.privacy_distance:
        _compare("privacy distance", _or_nan(claims.privacy_distance), _or_nan(check.privacy_distance), check)
    claimed = question.objective(claims.quality_loss, claims.privacy_distance)
    _compare("gap", claims.gap, 0.0 if claims.bound == claimed else abs(claimed - claims.bound), check)
    sign = -1.0 if question.aim == "far" else 1.0
    if sign * (claims.bound - objective) > _tolerance(objective):
        check.problems.append(f"the bound {claims.bound:.10g} is wrong: the release itself reaches {objective:.10g}")
    if claims.status not in ("optimal", "feasible"):
        check.problems.append(f"the status is {quote(claims.status)}; it must be 'optimal' or 'feasible'")
    if claims.status == "optimal" and claims.gap > _tolerance(objective):
        check.problems.append(f"the result claims to be optimal, but its gap is {claims.gap:.10g}")
    if not math.isfinite(objective):
        return
    if question.aim == "least-loss":
        assert question.distance_limit is not None
        # No count of a better histogram costs more than the whole release. A drawn release may cost far more than the
        # bound, so the bound is used instead.
        least = claims.bound + _tolerance(claims.bound) if claims.question.method == "drawn" else math.inf
        most = problem.quality.to_total(max(0.0, min(objective, least)))
        problem = problem.swapped(question.distance_limit)
    if claims.certificate is not None:
        with np.errstate(all="ignore"):  # absurd multipliers give an absurd bound, which is reported as a problem
            if problem.smoothed:
                _check_smoothed_certificate(problem, claims, claims.certificate, objective, check)
            elif problem.tree is not None and problem.goal == "hide" and not len(problem.forbidden):
                _check_exchanges(problem, counts, claims, check)
            elif problem.tree is not None:
                _check_tree_certificate(problem, claims, claims.certificate, objective, sign, most, check)
            else:
                _check_certificate(problem, counts, claims, claims.certificate, sign, most, check)
    elif sign * (claims.bound - _trivial_bound(problem)) > _tolerance(claims.bound):
        if claims.status == "optimal":
            check.problems.append("the result claims to be optimal but has no certificate")
        else:
            check.problems.append(f"the bound {claims.bound:.10g} is not proven: the result has no certificate")


def _trivial_bound(problem: Problem) -> float:
    """The trivial bound: a built-in distance is not negative, and a convex term is greatest at an end."""
    measure = problem.privacy or problem.quality
    if problem.goal != "avoid":
        return 0.0 if measure.distance.builtin else -math.inf
    if not measure.distance.builtin:
        return math.inf
    ends = [measure.terms(end.astype(np.float64)) for end in (problem.lower, problem.upper)]
    return measure.from_total(float(np.maximum(*ends).sum()))


def _check_certificate(
    problem: Problem, counts: Ints, claims: Sanitized, certificate: Certificate, sign: float, most: float, check: Check
) -> None:
    """Check the bound that the multipliers prove, and claims beyond it."""
    for name, value in (("quality", certificate.quality_multiplier), ("size", certificate.size_multiplier)):
        if not math.isfinite(value) or (name == "quality" and value < 0.0):
            check.problems.append(f"the certificate has the invalid {name} multiplier {value!r}")
            return
    measure = problem.quality if problem.privacy is None else problem.privacy
    view = Multipliers(problem, certificate.quality_multiplier, certificate.size_multiplier, most)
    least = view.least(counts)
    dual = sign * view.dual_bound(least)
    rounding = TOLERANCE * 1e-3 * view.rounding(least)
    check.bound = measure.from_total(dual)
    # Compared before taking the root, if there is one: the root would magnify rounding errors near 0.
    bound, certified = measure.to_total(claims.bound), measure.to_total(certificate.bound)
    apart = (max(dual, 0.0) if measure.distance.root else dual) - certified
    # With fewer possible counts, the multipliers may prove more than the search needed.
    if not (abs(apart) if most == math.inf else -apart) <= _tolerance(dual) + rounding:
        check.problems.append(f"the certificate proves {check.bound:.10g}, not {certificate.bound:.10g}")
    if sign * ((dual if most == math.inf else certified) - bound) > _tolerance(dual) + rounding:
        check.problems.append(f"the bound {claims.bound:.10g} is weaker than the certificate's {check.bound:.10g}")
    if not check.problems:
        _say_whether_better(claims, better_exists(view, least, sign * bound, _tolerance(bound)), check)


def _check_tree_certificate(
    problem: Problem,
    claims: Sanitized,
    certificate: Certificate,
    objective: float,
    sign: float,
    most: float,
    check: Check,
) -> None:
    """Check the bound that the multiplier proves over a tree, and claims beyond it."""
    if not 0.0 <= certificate.quality_multiplier < math.inf:
        check.problems.append(f"the certificate has the invalid quality multiplier {certificate.quality_multiplier!r}")
        return
    measure = problem.quality if problem.privacy is None else problem.privacy
    bound, certified = sign * measure.to_total(claims.bound), sign * measure.to_total(certificate.bound)
    by_kind = KindMultipliers.of(problem, certificate.quality_multiplier)
    proven = math.nan if by_kind is None else by_kind.bound(sign * measure.to_total(objective))
    if by_kind is not None and certified <= proven + _tolerance(proven):
        check.bound = measure.from_total(sign * proven)
        better = None if check.problems else by_kind.better(bound, _tolerance(bound))
        if check.problems or better is not None:
            _say_whether_better(claims, better, check)
            return
    # The tree may prove what the totals of kinds do not prove or leave open.
    view = TreeMultiplier(problem, certificate.quality_multiplier, most)
    check.bound = measure.from_total(sign * view.bound)
    rounding = _tolerance(view.bound) + TOLERANCE * 1e-3 * view.rounding
    if certified > view.bound + rounding:
        check.problems.append(f"the certificate proves {check.bound:.10g}, not {certificate.bound:.10g}")
    if not check.problems:
        _say_whether_better(claims, better_on_tree(view, bound, _tolerance(bound)), check)


def _say_whether_better(claims: Sanitized, better: bool | None, check: Check) -> None:
    """Check the part of the bound that only a search has proven."""
    if better:
        check.problems.append(f"a histogram with a better objective than the bound {claims.bound:.10g} exists")
    if claims.status == "optimal":
        check.optimal = None if better is None else not better


def _check_smoothed_certificate(
    problem: Problem, claims: Sanitized, certificate: Certificate, objective: float, check: Check
) -> None:
    """Check the bound that a certificate of a smoothed distance proves, and claims beyond it."""
    measure = problem.privacy or problem.quality
    view = SmoothedView.of(problem, certificate, measure.to_total(objective))
    if view is None:
        check.problems.append("the certificate has an invalid multiplier, point or curvature")
        return
    proven = max(view.bound, 0.0)  # no distance is negative
    check.bound = measure.from_total(proven)
    if not measure.to_total(certificate.bound) <= proven + _tolerance(proven):
        check.problems.append(f"the certificate proves {check.bound:.10g}, not {certificate.bound:.10g}")
        return
    bound = measure.to_total(claims.bound)
    _say_whether_better(claims, better_smoothed(view, bound, _tolerance(bound)), check)


def _check_exchanges(problem: Problem, counts: Ints, claims: Sanitized, check: Check) -> None:
    """Check the least loss over a tree, without multipliers: it is optimal if moving one visit never lowers it."""
    move = best_exchange(problem, counts)
    check.optimal = move is None
    if move is not None and claims.status == "optimal":
        source, destination = (quote(problem.locations[at]) for at in move)
        check.problems.append(f"moving a visit from {source} to {destination} would lower the quality loss")
    elif claims.status != "optimal" and loss_after_exchanges(problem, counts) < claims.bound - _tolerance(claims.bound):
        check.problems.append(f"a histogram with a better objective than the bound {claims.bound:.10g} exists")


def _compare(what: str, claimed: float, true: float, check: Check) -> None:
    if not (claimed == true or abs(claimed - true) <= _tolerance(true)):
        check.problems.append(f"the {what} is {true:.10g}, not {claimed:.10g} as the result claims")


def _tolerance(value: float) -> float:
    return TOLERANCE * (1.0 + abs(value)) if math.isfinite(value) else 0.0


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
