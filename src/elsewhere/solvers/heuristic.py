"""RH and AH on a problem: where to start from, and what to do when the sizes of histogram and target differ."""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Ints
from elsewhere.model.problem import Problem
from elsewhere.solvers import greedy
from elsewhere.solvers.choices import Choices, tabulate
from elsewhere.solvers.knapsack import Limits, SearchGaveUp

_BYTES_PER_PAIR = 12
#: Moves that are compared between two looks at the clock.
_WORK_PER_CALL = 5_000_000


def heuristic(problem: Problem, choices: Choices, known: Ints, limits: Limits) -> Ints:
    """Counts within all constraints that greedy moves lead to, until time is up, from `known`, which are such counts.

    If the histogram has to change its size, the difference is one more, virtual bin that costs nothing, and moves start
    from the histogram itself; should they not settle that bin, they start from `known` after all.
    """
    original = problem.original
    missing = problem.size - int(original.sum())
    if missing and (original >= problem.lower).all() and (original <= problem.upper).all():
        around = None if limits.deadline == math.inf else original
        counts = _climb(problem, tabulate(problem, math.inf, limits, around), original, missing, limits)
        if problem.is_within(counts) and problem.quality_loss(counts) <= problem.limit:
            return counts
    counts = _climb(problem, choices, known, 0, limits)
    return known if problem.is_forbidden(counts) else counts


def _climb(problem: Problem, choices: Choices, begin: Ints, missing: int, limits: Limits) -> Ints:
    assert problem.privacy is not None
    start, low, target = choices.start, choices.low, problem.privacy.reference
    quality, privacy = choices.quality, choices.privacy
    if missing:
        begin = np.append(begin, max(missing, 0))
        start = np.append(start, start[-1] + abs(missing) + 1)
        low = np.append(low, 0)
        target = np.append(target, float(max(-missing, 0)))
        nothing = np.zeros(abs(missing) + 1)
        quality, privacy = np.append(quality, nothing), np.append(privacy, nothing)
    n = len(begin)
    if n * n * _BYTES_PER_PAIR > limits.memory:
        raise SearchGaveUp(
            f"the heuristic would have to compare {n * n:.3g} pairs, more than memory_limit={limits.memory} bytes hold"
        )
    bins = greedy.Bins(
        start, low, target, privacy, quality, problem.goal == "avoid", missing != 0, problem.quality.distance.builtin
    )
    climb = greedy.beginning(begin, problem.budget - float(quality[start[:-1] + begin - low].sum()))
    while not climb.done and not limits.passed:
        # The kernel changes the arrays in place and returns the rest.
        climb = greedy.Climb(*climb[:5], *greedy.climb(bins, climb, _WORK_PER_CALL))
    return climb.x[: len(problem.original)]
