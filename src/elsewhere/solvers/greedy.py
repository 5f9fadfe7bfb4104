"""RH and AH, the paper's greedy heuristics, with the corrections that make them end (see `elsewhere.paper.heuristics`).

A move takes k counts from a source bin to a destination bin. Each step makes the move with the greatest gain in privacy
distance per loss of quality, until no move with a gain fits the quality budget. This is BestMove of the paper, except
that the best move of each pair of bins is remembered until one of the two changes or the budget forbids it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Flags, Floats, Indices, Ints

# Gains below this share of the terms that they are differences of count as rounding. Otherwise moves whose gains cancel
# exactly on paper could cycle.
_NOISE = 4.0 * float(np.finfo(np.float64).eps)


class Bins(NamedTuple):
    """The input of the moves: bin i has the values low[i], low[i] + 1, ... with terms at start[i]..start[i + 1]."""

    start: Ints
    low: Ints
    target: Floats
    privacy: Floats
    quality: Floats
    avoid: bool
    #: Whether the last bin stands for a difference in size: it costs nothing and only ever moves towards its target.
    virtual: bool
    #: Whether the quality terms are convex.
    convex: bool


class Climb(NamedTuple):
    """The state of the moves: the counts, what remains of the budget, and the best move of each pair of bins.

    The best ratio of each pair, its counts, and the best destination `to` of each source are valid unless one of the
    two bins has `changed`. In the beginning all have.
    """

    x: Ints
    changed: Flags
    ratio: Floats
    counts: Indices
    to: Ints
    remaining: float
    #: The next source to check, and the best source before it, or -1.
    source: int
    chosen: int
    #: Whether no move is left.
    done: bool


def beginning(x: Ints, remaining: float) -> Climb:
    """The state before the first move, from the counts x."""
    n = len(x)
    ratio, counts = np.zeros((n, n)), np.zeros((n, n), np.int32)
    return Climb(x.copy(), np.ones(n, np.bool_), ratio, counts, np.zeros(n, np.int64), remaining, 0, -1, False)


@part
def _is_source(x: int, target: float, avoid: bool, low: int) -> bool:
    if avoid:
        return low < x and x <= target
    return x > target


@part
def _is_destination(x: int, target: float, avoid: bool) -> bool:
    return x >= target if avoid else x < target


@part
def _greatest(ratios: Floats) -> int:
    """The index of the greatest ratio, the first of equals."""
    at = 0
    for j in range(1, len(ratios)):
        if ratios[j] > ratios[at]:
            at = j
    return at


@part
def _loss(at_i: int, at_j: int, k: int, q: Floats) -> float:
    """The quality loss of moving k counts between two bins at these indices of the tables."""
    return float((q[at_i - k] - q[at_i]) + (q[at_j + k] - q[at_j]))


@part
def _consider(
    at_i: int, least_i: int, at_j: int, most_j: int, p: Floats, q: Floats, sign: float, remaining: float, convex: bool
) -> tuple[float, int, int]:
    """The best ratio of gain to loss of a move between two bins that are at indices at_i and at_j of the tables.

    Also returns how many counts it moves, and how many moves were tried. With convex terms the loss grows with k once
    it exceeds the budget, so larger moves need not be tried.
    """
    best = 0.0
    best_k = 0
    tried = 0
    for k in range(1, min(at_i - least_i, most_j - at_j) + 1):
        tried += 1
        loss = _loss(at_i, at_j, k, q)
        if not (loss <= remaining and loss < math.inf):
            if convex and remaining >= 0.0:
                break
            continue
        gain = -sign * ((p[at_i - k] - p[at_i]) + (p[at_j + k] - p[at_j]))
        size = abs(p[at_i]) + abs(p[at_i - k]) + abs(p[at_j]) + abs(p[at_j + k])
        if gain > _NOISE * size or gain == math.inf:
            ratio = gain / loss if loss > 0.0 else math.inf
            if ratio > best:
                best = ratio
                best_k = k
    return best, best_k, tried


@kernel
def climb(bins: Bins, so_far: Climb, work: int) -> tuple[float, int, int, bool]:
    """Make the best moves, in place, until none is left or about `work` possible ones were compared.

    The moves do not depend on where a call ends. All counts on the way are within the budget. Returns the last fields
    of `Climb`, which are numbers.
    """
    x, changed, ratio, counts, to = so_far.x, so_far.changed, so_far.ratio, so_far.counts, so_far.to
    remaining, i, chosen = so_far.remaining, so_far.source, so_far.chosen
    start, low, target, p, q = bins.start, bins.low, bins.target, bins.privacy, bins.quality
    convex, sign = bins.convex, -1.0 if bins.avoid else 1.0
    n = len(x)
    place = start[:-1] + x - low
    source = np.zeros(n, np.bool_)
    destination = np.zeros(n, np.bool_)
    touched = np.empty(n, np.int64)
    while work > 0:
        number = 0
        for b in range(n):
            if changed[b]:
                touched[number] = b
                number += 1
            away = bins.avoid and not (bins.virtual and b == n - 1)
            source[b] = _is_source(x[b], target[b], away, low[b])
            destination[b] = _is_destination(x[b], target[b], away)
        while i < n and work > 0:
            if source[i]:
                anew = changed[i] or changed[to[i]]
                for at in range(n if changed[i] else number):
                    j = at if changed[i] else touched[at]
                    ratio[i, j] = 0.0
                    if destination[j] and i != j:
                        ratio[i, j], counts[i, j], tried = _consider(
                            place[i], start[i], place[j], start[j + 1] - 1, p, q, sign, remaining, convex
                        )
                        work -= tried
                    best = ratio[i, to[i]]
                    if ratio[i, j] > best or (ratio[i, j] == best and j < to[i]):
                        to[i] = j
                if anew:
                    to[i] = _greatest(ratio[i])
                    work -= n
                j = to[i]
                # A move that no longer fits the budget may fit it with fewer counts.
                while ratio[i, j] > 0.0 and not _loss(place[i], place[j], counts[i, j], q) <= remaining:
                    ratio[i, j], counts[i, j], tried = _consider(
                        place[i], start[i], place[j], start[j + 1] - 1, p, q, sign, remaining, convex
                    )
                    to[i] = _greatest(ratio[i])
                    j = to[i]
                    work -= tried + n
                if ratio[i, j] > 0.0 and (chosen < 0 or ratio[i, j] > ratio[chosen, to[chosen]]):
                    chosen = i
            work -= 1
            i += 1
        if i < n:
            break
        if chosen < 0:
            return remaining, 0, -1, True
        j = to[chosen]
        k = counts[chosen, j]
        loss = _loss(place[chosen], place[j], k, q)
        remaining -= loss
        x[chosen] -= k
        x[j] += k
        place[chosen] -= k
        place[j] += k
        changed[:] = loss < 0.0  # more budget, so moves that did not fit may fit now
        changed[chosen] = changed[j] = True
        i, chosen = 0, -1
    return remaining, i, chosen, False
