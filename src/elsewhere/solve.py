"""From a question to its answer: choose a solver, and turn its solution into a result.

The solvers are imported here, and so only on the first question.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from elsewhere import drawing, drawing_targets
from elsewhere.kernels.first_answers import PATIENCE, soonest
from elsewhere.model.arrays import Ints
from elsewhere.model.distances import align, find_distance, slack
from elsewhere.model.errors import ElsewhereError, Infeasible, InputError, PrivacyNotMet
from elsewhere.model.histogram import Histogram
from elsewhere.model.keys import Key
from elsewhere.model.names import spelling_note
from elsewhere.model.problem import Problem
from elsewhere.model.question import DISTANCE_LIMITS, Question
from elsewhere.model.result import Certificate, Frontier, Sanitized, Status
from elsewhere.searches import (
    AnyChoices,
    above_limit,
    approximate,
    known_counts,
    least_loss,
    least_loss_by_key,
    nothing_left,
    required_loss_of,
    searched,
    tabulated,
)
from elsewhere.solvers import add_only, exact, frontier, kind_totals, one_call, smooth_exact, tree_exact
from elsewhere.solvers.choices import Shortage
from elsewhere.solvers.knapsack import Limits, OutOfTime, SearchGaveUp, Solution, nothing_found
from elsewhere.solvers.required_loss import unproven
from elsewhere.text import name_list

#: A gain below this, relative to the objective plus one, is rounding.
_NOTICEABLE = 1e-9
#: The seconds for advice on what would meet a privacy distance, even if the search has used up its time.
_ADVICE_SECONDS = 0.1
#: Advice is needed to 1e-9, and the rest of the gap is left to rounding. It gets a part of the answer's memory, and so
#: of its time.
_ADVICE_GAP = 1e-10
_ADVICE_SHARE = 8
#: The most bins and visits of a small question.
_FEW_BINS, _FEW_VISITS = 300, 5000

P = ParamSpec("P")
R = TypeVar("R")


def interruptible(answer: Callable[P, R]) -> Callable[P, R]:
    """Restore Ctrl-C: if it arrives while a kernel returns, Numba turns it into a SystemError."""

    @wraps(answer)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return answer(*args, **kwargs)
        except SystemError as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, KeyboardInterrupt):
                cause = cause.__cause__ or cause.__context__
            if cause is None:
                raise
        raise KeyboardInterrupt

    return wrapped


@interruptible
def solve(question: Question, explain: bool = True) -> Sanitized:
    """The best release; raise if it misses the wanted privacy distance. With `explain`, the error has advice."""
    return soonest(lambda: _solve(question, explain), _is_small(question))


def _is_small(question: Question) -> bool:
    """Whether a question may be interpreted. One with a short time limit may not, unless it needs no search."""
    problem, limit = question.problem, question.search.time_limit
    in_time = limit is None or limit == 0.0 or limit > PATIENCE
    size = question.history.size if question.size == "free" else problem.size
    return in_time and len(problem.original) <= _FEW_BINS and size <= _FEW_VISITS


def _solve(question: Question, explain: bool) -> Sanitized:
    problem = question.problem
    limits = _limits(question)
    if question.goal == "hide":
        return _hidden(question, problem, limits)
    if question.method == "drawn":
        return _drawn_to_meet(question, limits)
    if question.size == "free":
        return _fewest_added(question, limits)
    if question.aim == "least-loss":
        return _just_enough(question, limits)
    if problem.smoothed:
        best = _smoothed(question, problem, known_counts(problem, limits), limits)
        if not question.meets_distance(best.privacy_distance):
            raise _privacy_not_met(question, best, "a larger max_quality_loss may meet it", math.nan)
        return best
    best = _nearest(question, limits) if question.method == "heuristic" else _best(question, limits)
    if not question.meets_distance(best.privacy_distance):
        raise _privacy_not_met(question, best, *(_advice(question, limits) if explain else ("", math.nan)))
    return best


def _best(question: Question, limits: Limits) -> Sanitized:
    """The best privacy distance within the limit on the quality loss: in one call if possible, else by a search."""
    problem = question.problem
    if (solution := one_call.attempt(problem, limits)) is not None:
        return _sanitized(question, problem, solution)
    known = known_counts(problem, limits)
    choices = tabulated(problem, limits, known)
    return _sanitized(question, problem, searched(problem, choices, known, limits), choices.short_of)


def _nearest(question: Question, limits: Limits) -> Sanitized:
    """The result of the heuristic."""
    problem = question.problem
    known = known_counts(problem, limits)
    choices = tabulated(problem, limits, known)
    return _sanitized(question, problem, approximate(problem, choices, known, limits), choices.short_of, proven=False)


@interruptible
def solve_frontier(
    question: Question, budgets: Sequence[float], on_point: Callable[[Sanitized], None] | None = None
) -> Frontier:
    """The answers for many budgets; the question has the largest as its limit.

    Each answer has the counts of `solve` for its budget; the multipliers of its certificate may be others. For the
    least quality loss, the budgets are privacy distances to meet. `on_point` is called with each point when it is
    found, from the largest budget on. If a search was ended, its point may be improved and reported again. A question
    that is not small also repeats points.
    """
    return soonest(lambda: _solve_frontier(question, budgets, on_point), _is_small(question))


def _solve_frontier(
    question: Question, budgets: Sequence[float], on_point: Callable[[Sanitized], None] | None
) -> Frontier:
    if question.aim == "least-loss":
        least = {wanted: solve(question.wanting(wanted, "least-loss")) for wanted in sorted(set(budgets))}
        return Frontier([least[wanted] for wanted in budgets], budgets)
    problem = question.problem
    if not budgets:
        return Frontier([], [])
    limits = _limits(question)
    known = known_counts(problem.within(min(budgets)), limits)
    if problem.smoothed:
        found: dict[float, Sanitized] = {}
        for budget in sorted(set(budgets)):
            point = _smoothed(question.within(budget), problem.within(budget), known, _limits(question))
            known = align(problem.names, point.histogram.index, point.histogram.counts)
            found[budget] = point
        return Frontier([found[budget] for budget in budgets], budgets)
    solutions: dict[float, Solution] = {}
    short_of: dict[float, Shortage] = {}
    choices: AnyChoices | None = None
    falling = sorted(set(budgets), reverse=True)
    at_once = frontier.attempts(problem, known, [problem.budget_at(budget) for budget in falling], limits)
    for budget, solution in zip(falling, at_once, strict=True):
        if solution is None:
            solution = one_call.attempt(problem.within(budget), limits)
        if solution is None:
            limits, tighter = _limits(question), problem.within(budget)
            choices = tabulated(tighter, limits, known, wider=choices)
            solution, short_of[budget] = searched(tighter, choices, known, limits), choices.short_of
        solutions[budget] = solution
        if on_point is not None:
            on_point(_point(question, budget, solution, short_of.get(budget, "")))
    if short_of:  # only these searches may have been ended
        # A larger budget allows everything that a smaller one does, so an ended search must not return a worse point.
        for budget in reversed(falling):
            if not solutions[budget].closed:
                solutions[budget] = exact.better(problem, solutions[budget], known)
            known = solutions[budget].counts
    points = {
        budget: _point(question, budget, solution, short_of.get(budget, "")) for budget, solution in solutions.items()
    }
    return Frontier([points[budget] for budget in budgets], budgets)


def find_better(question: Question, quality_loss: float, privacy_distance: float | None) -> Sanitized | None:
    """A release whose objective is better than these figures, if the search finds one."""
    try:
        best = solve(question, explain=False)
    except ElsewhereError:  # the search found nothing
        return None
    reached, found = question.objective(quality_loss, privacy_distance), best.objective
    gain = found - reached if question.aim == "far" else reached - found
    return best if gain > _NOTICEABLE * (1.0 + abs(found)) else None


def _hidden(question: Question, problem: Problem, limits: Limits) -> Sanitized:
    """The release of least quality loss, or a drawn one whose loss is compared with it."""
    drawn = question.method == "drawn"
    if problem.smoothed:
        if drawn:
            raise InputError(
                "the method 'drawn' does not support a SmoothedJS; use 'js' or a TreeDistance", ("method",)
            )
        best = _smoothed(question, problem.within(math.inf), None, limits)
    else:
        solution = least_loss(problem, limits) if drawn else least_loss_by_key(problem, limits, question.key)
        if solution is None:
            raise nothing_left()
        best = _sanitized(question, problem, solution)
    if best.quality_loss > problem.limit + slack(problem.limit):
        raise above_limit(problem, best.quality_loss, proven=best.status == "optimal")
    return drawing.drawn(question, best) if drawn else best


def _smoothed(question: Question, problem: Problem, known: Ints | None, limits: Limits) -> Sanitized:
    """The answer for a distance that couples the bins; its certificate also has a point and a curvature."""
    optimal = question.method == "optimal"
    solution, point, curvature = smooth_exact.optimum(problem, known, limits, search=optimal)
    found = _sanitized(question, question.problem, solution, proven=optimal)
    if found.certificate is None:
        return found
    certificate = replace(found.certificate, point=tuple(point.tolist()), curvature=tuple(curvature.tolist()))
    return replace(found, certificate=certificate)


def _just_enough(question: Question, limits: Limits) -> Sanitized:
    """The release of least quality loss that meets the privacy parameter."""
    problem = question.problem
    result = _least_smoothed(question, limits) if problem.smoothed else _least_separable(question, limits)
    if result is None:
        raise _privacy_not_met(question, _without_limit(question), "no quality loss would meet it", math.inf)
    if result.quality_loss <= problem.limit + slack(problem.limit):
        return result
    if result.status != "optimal" and question.search.gap:  # the gap may hide a release within the limit
        return _just_enough(replace(question, search=question.search._replace(gap=0.0)), limits._replace(gap=0.0))
    nearest = _without_limit(question)
    if question.meets_distance(nearest.privacy_distance):  # the search for the least loss was ended early
        counts = align(problem.names, nearest.histogram.index, nearest.histogram.counts)
        return _sanitized(question, problem, unproven(problem, counts))
    raise _privacy_not_met(question, nearest, *_enough(result.quality_loss, result.status == "optimal"))


def _fewest_added(question: Question, limits: Limits) -> Sanitized:
    """The best release among those with the fewest added visits that meet the privacy parameter."""
    assert question.distance_limit is not None
    sizes = add_only.sizes(question.problem, question.distance_limit)
    size, proven, best = sizes.first, True, None
    while True:
        size, may_suffice = sizes.next_size(size)
        if not may_suffice:
            best = best or _best_adding(question, sizes, sizes.first, limits)
            raise _not_reached(question, best, size - 1 - question.history.size, sizes.limit_case)
        best = _best_adding(question, sizes, size, limits)
        if question.meets_distance(best.privacy_distance):
            return best if proven else _maybe_more_than_needed(best)
        proven = proven and best.status == "optimal"
        size += 1


def _best_adding(question: Question, sizes: add_only.Sizes, size: int, limits: Limits) -> Sanitized:
    """The best release of a size."""
    question = question.adding(size - question.history.size)
    problem, solution = question.problem, sizes.best_at(size)
    if solution is None:
        return _best(question, limits)
    if problem.tree is None:
        return _sanitized(question, problem, solution._replace(counts=exact.ordered(problem, solution.counts)))
    solution = kind_totals.split(problem, solution)
    return _sanitized(question, problem, solution._replace(counts=tree_exact.ordered(problem, solution.counts)))


def _maybe_more_than_needed(found: Sanitized) -> Sanitized:
    note = "the search was stopped, so it may have missed a release with fewer added visits"
    return replace(found, status="feasible", notes=(*found.notes, note))


def _not_reached(question: Question, best: Sanitized, added: int, limit_case: float) -> PrivacyNotMet:
    """The error for a distance that no number of added visits is known to reach."""
    wanted, name = question.distance_limit, DISTANCE_LIMITS[question.goal]
    side = "above" if question.goal == "resemble" else "below"
    told = f"no release with up to {added:,} added visits meets {name} {wanted:.10g}"
    if math.isnan(limit_case):
        return PrivacyNotMet(f"{told}: there is no place that may have any number of visits", best, math.inf)
    if question.goal == "resemble":
        remedy = f"with ever more visits at the places that may have them, the distance tends to {limit_case:.6g}"
    else:
        remedy = f"with ever more visits at one place, the distance tends to {limit_case:.6g} at most"
    return PrivacyNotMet(f"{told}, and all are {side} it: {remedy}", best, math.inf)


def _drawn_to_meet(question: Question, limits: Limits) -> Sanitized:
    """The release of least quality loss that meets a drawn distance at drawn places.

    Its bound is that of the least quality loss that meets the privacy parameter at any places.
    """
    problem, key = question.problem, question.key or Key.own()
    best = _just_enough(question.undrawn(), limits)
    needed, tried = math.inf, 0
    for tried, draw in enumerate(_draws(question, key), 1):  # noqa: B007
        try:
            found = _least_separable(question.undrawn(draw.distance, draw.problem), limits)
        except Infeasible:  # forbidden histograms leave nothing at these places
            continue
        if found is not None and found.quality_loss <= problem.limit + slack(problem.limit):
            return _as_drawn(question, best, found, key)
        needed = min(needed, math.inf if found is None else found.quality_loss)
    draws = "the draw cannot be met" if tried == 1 else f"none of {tried} draws can be met"
    remedy = f"it takes at least {needed:.10g}" if needed < math.inf else "no quality loss would meet it"
    raise PrivacyNotMet(f"{draws} at a quality loss of at most {problem.limit:.10g}; {remedy}", best, needed)


def _draws(question: Question, key: Key) -> Iterator[drawing_targets.Draw]:
    """The draws for a release; the first that can be met within the limit on the quality loss is used."""
    if question.goal == "resemble":
        yield from (draw for draw in drawing_targets.draws_near(question, key) if draw.has_room)
        return
    limit, problem = question.distance_limit, drawing_targets.at_own_places(question)
    assert limit is not None
    if not drawing_targets.Draw(limit, problem).has_room:
        return
    farthest = solve(question.undrawn(problem=problem).wanting(None, None)).privacy_distance
    assert farthest is not None
    # If no distance can be met, the error gives the loss for the nearest one.
    distance = drawing_targets.distance_afar(question, key, farthest) if question.meets_distance(farthest) else limit
    yield drawing_targets.Draw(distance, problem)


def _as_drawn(question: Question, best: Sanitized, found: Sanitized, key: Key) -> Sanitized:
    """A drawn release, with the proof of the best one."""
    bound = min(best.bound, found.quality_loss)
    notes = [*found.notes, *key.notes]
    if found.status != "optimal":
        notes.append("a limit ended the search: the quality loss may not be the least that meets the draw")
    if question.spread is not None and question.spread.merged:
        notes.append("the target's spread is of single places; the spread of their kinds was estimated from it")
    return replace(
        found,
        bound=bound,
        gap=found.quality_loss - bound,
        status="feasible",
        certificate=best.certificate,
        notes=tuple(notes),
        question=question,
    )


def _least_separable(question: Question, limits: Limits) -> Sanitized | None:
    """The release of least quality loss that meets the privacy parameter, ignoring the limit; None if none does."""
    problem, wanted = question.problem, question.distance_limit
    assert wanted is not None
    least = problem.quality.to_total(problem.quality_loss(known_counts(problem.within(math.inf), limits)))
    try:
        solution = required_loss_of(problem, wanted, limits, least)
    except OutOfTime:  # accept any feasible counts
        solution = required_loss_of(problem, wanted, Limits(math.inf, math.inf, limits.memory), least)
    return None if solution is None else _sanitized(question, problem, solution)


def _least_smoothed(question: Question, limits: Limits) -> Sanitized | None:
    """The same for a distance that couples the bins: this is resemble with its distances swapped."""
    assert question.distance_limit is not None
    swapped = question.problem.swapped(question.distance_limit)
    start = smooth_exact.least_loss(swapped, limits._replace(gap=0.0)).solution
    if not question.meets_distance(swapped.quality_loss(start.counts)):
        if start.closed or start.bound > swapped.budget:
            return None
        raise nothing_found(limits)
    return _smoothed(question, swapped, start.counts, limits)


def _without_limit(question: Question) -> Sanitized:
    """The best privacy distance within the limit on the quality loss, even if it misses the wanted one."""
    return solve(question.wanting(None, None))


def _enough(loss: float, proven: bool) -> tuple[str, float]:
    """A quality loss that would meet the privacy parameter, in words and as a number."""
    if proven:
        return f"a quality loss of {loss:.10g} would meet it", loss
    return f"a quality loss of at most {loss:.10g} would meet it; the search for the least one was stopped", loss


def _advice(question: Question, limits: Limits) -> tuple[str, float]:
    """What quality loss would meet the privacy parameter, in words and as a number."""
    problem, wanted = question.problem, question.distance_limit
    assert wanted is not None
    limits = limits.ending_in(max(limits.seconds, _ADVICE_SECONDS))
    limits = limits._replace(gap=_ADVICE_GAP, memory=limits.memory // _ADVICE_SHARE)
    try:
        found = required_loss_of(problem, wanted, limits, problem.budget)
    except SearchGaveUp as error:
        short_of = "time" if isinstance(error, OutOfTime) else "memory"
        return f"the {short_of} limit stopped the search for a quality loss that would meet it", math.nan
    if found is None:
        return "no quality loss would meet it", math.inf
    return _enough(problem.quality_loss(found.counts), found.objective - found.bound <= 2.0 * _ADVICE_GAP)


def _privacy_not_met(question: Question, best: Sanitized, remedy: str, needed: float) -> PrivacyNotMet:
    reached, wanted = best.privacy_distance, question.distance_limit
    side = "above" if question.goal == "resemble" else "below"
    found = "best" if best.status == "optimal" else "best found"
    limit = question.max_quality_loss
    within = f" at a quality loss of at most {limit:.10g}" if limit < math.inf else ""
    sentence = f"the {found} privacy distance{within} is {reached:.10g}, {side} {_named_limit(question)} {wanted:.10g}"
    return PrivacyNotMet(f"{sentence}; {remedy}" if remedy else sentence, best, needed)


def _named_limit(question: Question) -> str:
    """The name of the limit on the privacy distance; a default limit comes from the profile's spread."""
    spread, wanted = question.spread, question.distance_limit
    if spread is not None and question.goal == "resemble" and wanted == spread.distances[-1]:
        return "that of the farthest member,"
    if spread is not None and question.goal == "avoid" and spread.others and wanted == spread.others[0]:
        return "that of the nearest nonmember,"
    return DISTANCE_LIMITS[question.goal]


def _sanitized(
    question: Question,
    problem: Problem,
    solution: Solution,
    short_of: Shortage = "",
    proven: bool = True,
) -> Sanitized:
    """Turn a solution into a result, on the scale of its distances."""
    return _reported(question, problem, solution, _figures(problem, solution), short_of, proven)


def _point(question: Question, budget: float, solution: Solution, short_of: Shortage) -> Sanitized:
    """The result for one budget of a frontier. Little of it is made now: most points are only looked at on a curve."""
    figures = _figures(question.problem, solution)
    # Unlike a function in this one, a `partial` has no cells, which would take longer than all the rest.
    return Sanitized._unfinished(*figures, partial(_finished, question, budget, solution, figures, short_of))


def _finished(
    question: Question, budget: float, solution: Solution, figures: tuple[float, float | None], short_of: Shortage
) -> Sanitized:
    """All that there is to say about a point."""
    return _reported(question.within(budget), question.problem, solution, figures, short_of)


def _reported(
    question: Question,
    problem: Problem,
    solution: Solution,
    figures: tuple[float, float | None],
    short_of: Shortage,
    proven: bool = True,
) -> Sanitized:
    """The result of a solution whose quality loss and privacy distance are known."""
    quality_loss, privacy_distance = figures
    objective, measure = quality_loss, problem.quality
    if not question.minimises_loss and problem.privacy is not None and privacy_distance is not None:
        objective, measure = privacy_distance, problem.privacy
    sign = -1.0 if question.aim == "far" else 1.0
    optimal = proven and solution.closed
    bound = objective if optimal else measure.from_total(sign * solution.bound)
    status: Status = "optimal" if optimal else "feasible"
    certificate = None
    if abs(solution.dual_bound) < math.inf:
        certificate = Certificate(
            solution.cost_multiplier, solution.size_multiplier, measure.from_total(sign * solution.dual_bound)
        )
    notes = [spelling_note(question.history.spellings)] if question.history.spellings else []
    notes += question.notes
    if question.watched and (risen := _risen(question, problem, solution.counts)):
        notes.append(f"warning: the release adds visits to places of often sensitive kinds: {name_list(risen)}")
    if problem.goal == "hide" and problem.left_out.any():
        notes.append(f"the quality loss leaves out the sensitive locations: {measure.distance.name} is infinite there")
    if short_of:
        notes.append(f"the {short_of} limit restricted the search to counts near its start")
    return Sanitized(
        problem.goal,
        Histogram._of(tuple(problem.locations), solution.counts, problem.size),
        quality_loss,
        privacy_distance,
        bound,
        0.0 if objective == bound else abs(objective - bound),
        status,
        certificate,
        tuple(notes),
        question,
    )


def _figures(problem: Problem, solution: Solution) -> tuple[float, float | None]:
    """The quality loss and the privacy distance of a solution."""
    if problem.goal == "hide":
        return problem.quality.from_total(solution.objective), None
    if problem.privacy is None or math.isnan(solution.quality_total):
        return exact.figures(problem, solution.counts)
    distance = -solution.objective if problem.goal == "avoid" else solution.objective
    return problem.quality.from_total(solution.quality_total), problem.privacy.from_total(distance)


def _risen(question: Question, problem: Problem, counts: Ints) -> list[str]:
    """The places of often sensitive kinds at which the release has more visits than the history."""
    watched = [at for name in question.watched for at in problem.names.positions(name)]
    return sorted(problem.locations[at] for at in watched if counts[at] > problem.original[at])


def _limits(question: Question) -> Limits:
    search = question.search
    deadline = math.inf if search.time_limit is None else time.monotonic() + search.time_limit
    # With a root, sqrt(a) - sqrt(b) <= sqrt(a - b), so the limit on the sums is the square of the gap.
    root = find_distance(question.quality if question.minimises_loss else question.privacy).root
    return Limits(search.gap**2 if root else float(search.gap), deadline, int(min(search.memory_limit, 2.0**62)))
