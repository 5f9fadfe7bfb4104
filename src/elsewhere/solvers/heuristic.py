"""RH and AH on a problem: where to start, and what to do if the sizes of histogram and target differ.

If there are too many counts to tabulate, moves are of many counts at first, then of fewer, and of single counts last.
"""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Ints
from elsewhere.model.problem import Problem
from elsewhere.solvers import greedy, terms
from elsewhere.solvers.choices import KINDS, Choices, tabulate, values_within
from elsewhere.solvers.knapsack import Effort, Limits, SearchGaveUp

_BYTES_PER_PAIR = 12
#: Moves that are compared between two checks of the clock.
_WORK_PER_CALL = 5_000_000
#: How many moves can be compared in the time that a search takes for a label.
_MOVES_PER_LABEL = 15.0
#: If there are many values: how many values of a bin are considered on either side, the factor by which moves become
#: smaller, and the share of the budget that all but the smallest moves may use.
_GRID = 1024
_REFINED = 2
_SHARE = 0.5


def heuristic(problem: Problem, choices: Choices, known: Ints, limits: Limits, effort: Effort) -> Ints:
    """Feasible counts that greedy moves reach from the feasible counts `known`, until time is up or the effort spent.

    If the size must change, the difference is one more, virtual bin that costs nothing, and moves start from the
    histogram itself. If they do not empty that bin, they start again from `known`.
    """
    original = problem.original
    missing = problem.size - int(original.sum())
    if missing and (original >= problem.lower).all() and (original <= problem.upper).all():
        around = None if limits.deadline == math.inf else original
        counts = _climb(problem, tabulate(problem, math.inf, limits, around), original, missing, limits, effort)
        if problem.is_within(counts) and problem.quality_loss(counts) <= problem.limit:
            return counts
    counts = _climb(problem, choices, known, 0, limits, effort)
    return known if problem.is_forbidden(counts) else counts


def _climb(problem: Problem, choices: Choices, begin: Ints, missing: int, limits: Limits, effort: Effort) -> Ints:
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
    bins = greedy.Bins(
        start, low, target, privacy, quality, problem.goal == "avoid", missing != 0, problem.quality.distance.builtin
    )
    return _best_moves(bins, begin, problem.budget, limits, effort)[: len(problem.original)]


def _best_moves(bins: greedy.Bins, begin: Ints, budget: float, limits: Limits, effort: Effort) -> Ints:
    """The counts that the best moves reach."""
    n = len(begin)
    if n * n * _BYTES_PER_PAIR > limits.memory:
        raise SearchGaveUp(
            f"the heuristic would have to compare {n * n:.3g} pairs, more than memory_limit={limits.memory} bytes hold"
        )
    climb = greedy.beginning(begin, budget - float(bins.quality[bins.start[:-1] + begin - bins.low].sum()))
    while not climb.done and not effort.spent and not limits.passed:
        # The kernel changes the arrays in place and returns the rest.
        climb = greedy.Climb(*climb[:5], *greedy.climb(bins, climb, _WORK_PER_CALL))
        effort.spend(_WORK_PER_CALL / _MOVES_PER_LABEL)
    return climb.x


def in_steps(problem: Problem, known: Ints, limits: Limits, effort: Effort) -> Ints:
    """Counts that greedy moves reach from `known`: first moves of many counts, then of fewer, and of one last.

    For flat problems with built-in distances. The values of a bin lie on a grid, whose unit is the smallest move. Moves
    of many counts may use only a part of the budget, because they cannot touch small bins, which need the rest.
    """
    assert problem.privacy is not None
    low, number = values_within(problem, problem.budget)
    high, counts, unit = low + number - 1, known, 1
    while int(number.max()) > _GRID * unit:
        unit *= _REFINED
    while not effort.spent and not limits.passed:
        below = np.minimum((counts - low) // unit, _GRID)
        number = below + np.minimum((high - counts) // unit, _GRID) + 1
        start = np.zeros(len(low) + 1, np.int64)
        np.cumsum(number, out=start[1:])
        which, base = np.repeat(np.arange(len(low)), number), counts - unit * below
        values = base[which] + unit * (np.arange(start[-1]) - start[which])
        privacy, quality = (
            terms.terms_of(KINDS[of.distance.name], of.reference, which, values, of.reference_size, of.size)
            for of in (problem.privacy, problem.quality)
        )
        bins = greedy.Bins(
            start, np.zeros_like(low), (problem.privacy.reference - base) / unit, privacy, quality,
            problem.goal == "avoid", False, True,
        )  # fmt: skip
        used = float(quality[start[:-1] + below].sum())
        share = 1.0 if unit == 1 else _SHARE
        counts = base + unit * _best_moves(bins, below, used + share * (problem.budget - used), limits, effort)
        if unit == 1:
            break
        unit //= _REFINED
    return known if problem.is_forbidden(counts) else counts
