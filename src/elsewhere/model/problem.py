"""A question as arrays: the history, the target and every constraint, over one union of locations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar, cast

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints, exact_sum, float_sum
from elsewhere.model.constraints import bounds_of, check_growth, forbidden_rows, sensitive_in, union_of, whole_number
from elsewhere.model.distances import DistanceLike, Measure, align, find_distance, slack
from elsewhere.model.errors import Infeasible, InputError
from elsewhere.model.histogram import Profile, TableLike, parse_weights
from elsewhere.model.names import NameIndex
from elsewhere.model.question import LARGEST_SIZE, Goal, Question, nonnegative
from elsewhere.model.smoothing import SmoothedJS
from elsewhere.model.trees import KindDistance, Tree, TreeDistance, tree_of_kinds, tree_over, with_kinds
from elsewhere.text import quote

OptionalMeasure = TypeVar("OptionalMeasure", Measure, None)

#: The rounding error of the part of a budget that is left for a bin, relative to the budget plus one.
ROOM = 1e-12
#: A privacy term is capped at this much beyond what is enough, relative to that plus one.
_HAIR = 1e-9


class Problem(NamedTuple):
    """Choose counts within lower..upper that sum to `size`, none of the `forbidden` rows.

    hide minimises the quality loss; resemble minimises and avoid maximises the privacy distance within `limit`.
    """

    goal: Goal
    names: NameIndex
    original: Ints
    size: int
    lower: Ints
    upper: Ints
    forbidden: Ints
    sensitive: Flags
    quality: Measure
    privacy: Measure | None
    limit: float
    #: Quality terms that are infinite because visits are hidden, and do not count (hide only).
    left_out: Flags

    @property
    def tree(self) -> Tree | None:
        """What a distance sums over, if one of them is over a taxonomy."""
        return self.quality.tree

    @property
    def is_location(self) -> Flags:
        """Which bins are locations; the others are the target's kinds, and receive nothing."""
        if self.quality.weight is None:
            return np.ones(len(self.original), np.bool_)
        flags: Flags = self.quality.weight[: len(self.original)] > 0.0
        return flags

    @property
    def smoothed(self) -> bool:
        """Whether a distance smooths the histograms first."""
        return self.quality.smoother is not None or (self.privacy is not None and self.privacy.smoother is not None)

    def without_tree(self) -> Problem:
        """The same problem as if all distances were flat; use it only for distances that are."""
        privacy = None if self.privacy is None else self.privacy._replace(tree=None, weight=None)
        left_out = self.left_out[: len(self.original)]
        return self._replace(quality=self.quality._replace(tree=None, weight=None), privacy=privacy, left_out=left_out)

    @property
    def locations(self) -> Sequence[str]:
        """The names of the bins, sorted."""
        return self.names.names

    @property
    def budget(self) -> float:
        """The limit on the sum of the quality terms."""
        return self.budget_at(self.limit)

    def budget_at(self, limit: float) -> float:
        """The budget for another limit on the quality loss, with nearly all of the slack (sums vary by rounding)."""
        return self.quality.to_total(limit + 0.999 * slack(limit))

    def within(self, limit: float) -> Problem:
        """The same problem with another limit on the quality loss."""
        return self._replace(limit=limit)

    def swapped(self, wanted: float) -> Problem:
        """The problem of least quality loss at a wanted privacy distance: resemble with its distances swapped.

        The quality loss is minimised like a privacy distance. The limit is on the privacy distance in resemble, and in
        avoid on how far that distance is from being large enough.
        """
        privacy = self.privacy
        assert privacy is not None
        if self.goal == "resemble":
            return self._replace(quality=privacy, privacy=self.quality, limit=wanted)
        target = privacy.to_total(max(0.0, wanted - 0.999 * slack(wanted)))
        budget = -1.0 if target == math.inf else -target
        # Slightly more than the wanted distance even if all other terms are minimal, so that rounding does not matter.
        enough = (1.0 + _HAIR) * (target + _negative_part(self)) + _HAIR
        distance = replace(privacy.distance, builtin=False, root=False, unbounded=False)
        farther = privacy._replace(distance=distance, enough=enough)
        limit = budget - 0.999 * slack(budget)  # `budget` adds it again
        return self._replace(goal="resemble", quality=farther, privacy=self.quality, limit=limit)

    def quality_loss(self, counts: Ints) -> float:
        """d_q(H, H')."""
        terms = self.quality.terms(counts.astype(np.float64))
        terms[self.left_out] = 0.0
        return self.quality.from_total(float(terms.sum()))

    def privacy_distance(self, counts: Ints) -> float | None:
        """d_p(H', H'')."""
        return None if self.privacy is None else self.privacy(counts.astype(np.float64))

    def is_forbidden(self, counts: Ints) -> bool:
        return len(self.forbidden) > 0 and bool((self.forbidden == counts).all(axis=1).any())

    def allows(self, counts: Ints) -> bool:
        """Whether the counts, which have the right size and satisfy the bounds, are otherwise allowed."""
        if self.is_forbidden(counts):
            return False
        # Bounds keep built-in distances finite, except if several bins together need a count; a user's function may
        # be infinite anywhere.
        if not self.quality.distance.builtin and self.quality_loss(counts) == math.inf:
            return False
        privacy = self.privacy
        if self.goal != "resemble" or privacy is None or not privacy.distance.unbounded:
            return True
        bounded = privacy.distance.builtin and self.tree is None
        return bounded or self.privacy_distance(counts) != math.inf

    def is_within(self, counts: Ints) -> bool:
        """Whether the counts satisfy every constraint except the limit on the quality loss."""
        return (
            exact_sum(counts) == self.size
            and np.count_nonzero((counts < self.lower) | (counts > self.upper)) == 0
            and self.allows(counts)
        )


def _negative_part(problem: Problem) -> float:
    """The least possible sum of the negative privacy terms; only a user's function has negative terms."""
    privacy = problem.privacy
    assert privacy is not None
    if privacy.distance.builtin:
        return 0.0
    total = 0.0
    for bin_, (low, high) in enumerate(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)):
        terms = privacy.row(bin_, np.arange(low, high + 1, dtype=np.float64))
        total -= float(terms[np.isfinite(terms)].min(initial=0.0))
    return total


def problem_of(question: Question) -> Problem:
    """The question as arrays."""
    if question.goal == "hide":
        return _with_smoothing(_hiding(question), question.quality, None)
    return _with_smoothing(_targeting(question), question.quality, question.privacy)


def _hiding(question: Question) -> Problem:
    """The SLH problem, or SLH_r when `redistribute` is given: every bin but the sensitive ones may receive counts."""
    measure = find_distance(question.quality)
    limit = nonnegative("max_quality_loss", question.max_quality_loss)
    index, original = union_of(question, None)
    sensitive = sensitive_in(question, index)
    hidden = int(original[sensitive].sum())
    received = hidden if question.redistribute is None else whole_number("redistribute", question.redistribute)
    size = question.history.size - hidden + received
    if size == 0:
        raise Infeasible("every visit is sensitive and redistribute is 0, so nothing would be left", math.inf)
    if size > LARGEST_SIZE:
        raise InputError(
            f"redistribute is {quote(received)}, so the size would be above {LARGEST_SIZE:.0e}", ("redistribute",)
        )
    lower, upper = bounds_of(question, index, original, size, sensitive)
    if received and not (upper > 0).any():
        raise Infeasible("every visit is sensitive, so there is nowhere to move them; name candidates", math.inf)
    lower = np.maximum(lower, np.minimum(original, upper))
    check_growth(question, lower, size)
    quality = Measure(measure, original.astype(np.float64), float(question.history.size), float(size))
    quality, _ = _with_tree(question, index, quality, None)
    left_out = np.zeros(quality.length, dtype=np.bool_)
    if measure.unbounded:
        hidden_nodes = sensitive if quality.tree is None else quality.tree.sums(np.where(sensitive, 0, original)) == 0
        left_out = hidden_nodes & np.isinf(quality.terms(np.zeros(len(original))))
    forbidden = forbidden_rows(question, index)
    return _with_room(
        Problem("hide", index, original, size, lower, upper, forbidden, sensitive, quality, None, limit, left_out)
    )


def _targeting(question: Question) -> Problem:
    """The TR or TA problem, or its variant with the target's size."""
    quality_distance, privacy_distance = find_distance(question.quality), find_distance(question.privacy)
    limit = nonnegative("max_quality_loss", question.max_quality_loss)
    if question.target is None:
        raise InputError(f"{question.goal} needs a target", ("target",))
    target, weights = parse_weights(cast(TableLike, question.target), "target", question.history.index)
    weights, wanted, size = _sized(question, weights)
    of_kinds = isinstance(question.privacy, KindDistance)
    index, original = union_of(question, None if of_kinds else target)
    sensitive = sensitive_in(question, index)
    lower, upper = bounds_of(question, index, original, size, sensitive)
    check_growth(question, lower, size)
    forbidden = forbidden_rows(question, index)
    if of_kinds:
        locations = index
        index, target = with_kinds(locations, target)
        original, lower, upper = (align(index, locations, of) for of in (original, lower, upper))
        sensitive = align(index, locations, sensitive.astype(np.int64)) > 0
        forbidden = align(index, locations, forbidden.T).T.copy()
    quality = Measure(quality_distance, original.astype(np.float64), float(question.history.size), float(size))
    privacy = Measure(privacy_distance, align(index, target, weights), wanted, float(size))
    quality, privacy = _with_tree(question, index, quality, privacy)
    left_out = np.zeros(quality.length, dtype=np.bool_)
    return _with_room(
        Problem(
            question.goal, index, original, size, lower, upper, forbidden, sensitive, quality, privacy, limit, left_out
        ),
        smaller_too=question.size == "free" and question.added is None,
    )


def _with_tree(
    question: Question, index: NameIndex, quality: Measure, privacy: OptionalMeasure
) -> tuple[Measure, OptionalMeasure]:
    """The measures with the tree that they share, if one of them is over a taxonomy or of kinds."""
    if isinstance(question.quality, str) and isinstance(question.privacy, str):
        return quality, privacy
    asked = [question.quality] if privacy is None else [question.quality, question.privacy]
    over = [distance if isinstance(distance, TreeDistance) else None for distance in asked]
    if isinstance(question.quality, KindDistance):
        raise InputError("quality is a KindDistance; only the privacy distance can be one", ("quality",))
    if isinstance(asked[-1], KindDistance):
        if over[0] is not None:
            raise InputError(
                "quality is a TreeDistance and privacy a KindDistance; the two cannot be combined",
                ("quality", "privacy"),
            )
        tree, weights = tree_of_kinds(index, asked[-1])
    elif any(over):
        tree, weights = tree_over(index.names, over)
    else:
        return quality, privacy
    quality = quality._replace(tree=tree, weight=weights[0])
    return quality, None if privacy is None else privacy._replace(tree=tree, weight=weights[1])


def _with_smoothing(problem: Problem, quality: DistanceLike, privacy: DistanceLike | None) -> Problem:
    """The problem with the matrices of its smoothed distances, if it has any; then other distances must be smooth."""
    if not isinstance(quality, SmoothedJS) and not isinstance(privacy, SmoothedJS):
        return problem
    if problem.goal == "avoid":
        raise InputError("avoid does not support a SmoothedJS; use 'js' or a TreeDistance")
    if len(problem.forbidden):
        raise InputError("forbidden is not supported with a SmoothedJS", ("forbidden",))
    for distance in (quality, privacy):
        smooth = (
            distance is None
            or isinstance(distance, SmoothedJS)
            or (isinstance(distance, str) and distance != "variational")
        )
        if not smooth:
            raise InputError(
                f"a SmoothedJS cannot be combined with {quote(distance)}; combine it with another SmoothedJS, 'js', "
                "'jeffreys', 'l2', 'squared-l2', 'pearson' or 'neyman'"
            )
    measures = [
        measure
        if not isinstance(distance, SmoothedJS)
        else measure._replace(smoother=distance.matrix(problem.locations))
        for distance, measure in ((quality, problem.quality), (privacy, problem.privacy))
        if distance is not None and measure is not None
    ]
    return problem._replace(quality=measures[0], privacy=measures[1] if privacy is not None else None)


def _sized(question: Question, weights: Floats) -> tuple[Floats, float, int]:
    """The target's scaled weights, their sum, and the size of the release."""
    total = float_sum(weights)
    if question.size != "target":
        size = question.released_size
        # Weights that already have the right sum stay unchanged, to the last digit.
        scaled = weights * (size / total) if size / total < math.inf else weights / total * size
        return scaled, float(size), size
    if isinstance(question.target, Profile):
        raise InputError("a profile has only shares; give size='original' or a target with counts", ("size",))
    size = round(total)
    if abs(total - size) > 1e-9 or not 0 < size <= LARGEST_SIZE:
        raise InputError(
            f"size='target' needs a target whose counts sum to a whole number from 1 to {LARGEST_SIZE:.0e}; "
            f"they sum to {total!r}",
            ("size",),
        )
    return weights, total, size


def _with_room(problem: Problem, smaller_too: bool = False) -> Problem:
    """The problem without counts that have an infinite term, if its bounds then have room for the size.

    If it also covers smaller sizes, this is not required.
    """
    if problem.quality.distance.unbounded:
        problem = _without_infinite(problem, problem.quality)
    if problem.goal == "resemble" and problem.privacy is not None and problem.privacy.distance.unbounded:
        problem = _without_infinite(problem, problem.privacy)
    least, most = exact_sum(problem.lower) + _needed_together(problem), exact_sum(problem.upper)
    if least > problem.size:
        raise Infeasible(
            f"the release has {problem.size} visits, but its locations must hold at least {least}", math.inf
        )
    if most < problem.size and not smaller_too:
        raise Infeasible(f"the release has {problem.size} visits, but its locations may hold at most {most}", math.inf)
    return problem


def _without_infinite(problem: Problem, measure: Measure) -> Problem:
    """Bounds without counts at an infinite distance; for a user's function, the search handles these.

    A built-in term is infinite only at 0, or everywhere except at 0, or nowhere.
    """
    if not measure.distance.builtin:
        return problem
    n = len(problem.locations)
    at_zero = np.isinf(measure.terms(np.zeros(n))) & ~problem.left_out
    lower = np.where(at_zero[:n], np.maximum(problem.lower, 1), problem.lower)
    upper = np.where(np.isinf(measure.terms(np.ones(n))[:n]), 0, problem.upper)
    if measure.tree is not None:
        _bound_below(measure, at_zero, lower, upper)
    is_location = problem.is_location
    for at in np.flatnonzero(lower > upper).tolist():
        name = quote(problem.locations[at])
        wrong = f"no count is possible at {name}: within its bounds"
        if not is_location[at]:
            wrong = f"no visit of the kind {name} is possible, and without one"
        raise Infeasible(f"{wrong} the distance is infinite", math.inf)
    return problem._replace(lower=lower, upper=upper)


def _bound_below(measure: Measure, at_zero: Flags, lower: Ints, upper: Ints) -> None:
    """Narrow the bounds of the bins below each node whose term is infinite at 0 (`at_zero`), or everywhere but at 0.

    In the first case some bin needs a count. Which one is known only if no other bin may have any.
    """
    tree = measure.tree
    assert tree is not None
    inner = np.arange(tree.bins, len(tree.parent))
    at_one = np.isinf(measure.node_terms(inner, np.ones(len(inner))))
    spans = [tree.order[first:last] for first, last in zip(tree.first.tolist(), tree.last.tolist(), strict=True)]
    for node in np.flatnonzero(at_one).tolist():
        upper[spans[node]] = 0
    for node in np.flatnonzero(at_zero[tree.bins :]).tolist():
        may = spans[node][upper[spans[node]] > 0]
        if len(may) == 0:  # infeasible; the error names the target's kind
            may = spans[node][measure.reference[spans[node]] > 0.0]
        if len(may) == 1:
            lower[may] = np.maximum(lower[may], 1)


def _needed_together(problem: Problem) -> int:
    """The counts that bins need beyond their lower bounds, because their term is infinite if all of them have none."""
    measure = problem.privacy
    if problem.goal != "resemble" or measure is None or not measure.distance.builtin or measure.tree is None:
        return 0
    return int(np.isinf(measure.terms(problem.lower.astype(np.float64)))[measure.tree.bins :].sum())
