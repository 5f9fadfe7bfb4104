"""RH and AH, the paper's greedy heuristics, with the corrections that make them end (see `elsewhere.paper.heuristics`).

A move takes k counts from a source bin to a destination bin. The move with the greatest gain in privacy distance per
loss of quality is made, as long as one that gains anything fits the quality budget. This is BestMove of the paper,
except that the best move of each pair of bins is remembered until one of the two changes or the budget forbids it.
"""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Indices, Ints
from elsewhere.solvers._jit import kernel

# Gains below this share of the terms that they are differences of are rounding, not gains: without it, moves whose
# gains cancel exactly on paper could go round in circles.
_NOISE = 4.0 * float(np.finfo(np.float64).eps)


@kernel
def _is_source(x: int, target: float, avoid: bool, low: int) -> bool:
    if avoid:
        return low < x and x <= target
    return x > target


@kernel
def _is_destination(x: int, target: float, avoid: bool) -> bool:
    return x >= target if avoid else x < target


@kernel
def _greatest(ratios: Floats) -> int:
    """Where the greatest ratio is, the first of equals."""
    at = 0
    for j in range(1, len(ratios)):
        if ratios[j] > ratios[at]:
            at = j
    return at


@kernel
def _loss(at_i: int, at_j: int, k: int, q: Floats) -> float:
    """What moving k counts between two bins at these places of the tables costs in quality."""
    return float((q[at_i - k] - q[at_i]) + (q[at_j + k] - q[at_j]))


@kernel
def _consider(
    at_i: int, least_i: int, at_j: int, most_j: int, p: Floats, q: Floats, sign: float, remaining: float, convex: bool
) -> tuple[float, int]:
    """The best ratio of gain to loss of a move between two bins that are at places at_i and at_j of the tables, and k.

    With convex terms the loss grows with k once it exceeds the budget, so that larger moves need not be tried.
    """
    best = 0.0
    best_k = 0
    for k in range(1, min(at_i - least_i, most_j - at_j) + 1):
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
    return best, best_k


@kernel
def climb(
    x: Ints,
    changed: Flags,
    ratio: Floats,
    counts: Indices,
    to: Ints,
    start: Ints,
    low: Ints,
    target: Floats,
    p: Floats,
    q: Floats,
    avoid: bool,
    virtual: bool,
    convex: bool,
    remaining: float,
    moves: int,
) -> tuple[bool, float]:
    """Make so many best moves, from x on and in x; say whether none is left, and what remains of the budget.

    Bin i has the values low[i], low[i] + 1, ... with terms at start[i]..start[i + 1]. With `virtual`, the last bin
    stands for a difference in size: it costs nothing and only ever moves towards its target. The best ratio of each
    pair of bins, its counts, and where `to` the ratio is greatest, are right unless one of the two bins has `changed`:
    all have in the beginning, and a call with the same arrays goes on where the last one stopped.
    """
    n = len(x)
    sign = -1.0 if avoid else 1.0
    place = start[:-1] + x - low
    source = np.zeros(n, np.bool_)
    destination = np.zeros(n, np.bool_)
    for _ in range(moves):
        for i in range(n):
            away = avoid and not (virtual and i == n - 1)
            source[i] = _is_source(x[i], target[i], away, low[i])
            destination[i] = _is_destination(x[i], target[i], away)
        chosen = -1
        everywhere, touched = np.arange(n), np.flatnonzero(changed)
        for i in range(n):
            if not source[i]:
                continue
            anew = changed[i] or changed[to[i]]
            for j in everywhere if changed[i] else touched:
                ratio[i, j] = 0.0
                if destination[j] and i != j:
                    ratio[i, j], counts[i, j] = _consider(
                        place[i], start[i], place[j], start[j + 1] - 1, p, q, sign, remaining, convex
                    )
                best = ratio[i, to[i]]
                if ratio[i, j] > best or (ratio[i, j] == best and j < to[i]):
                    to[i] = j
            if anew:
                to[i] = _greatest(ratio[i])
            j = to[i]
            # What does not fit the budget any more may do so with fewer counts.
            while ratio[i, j] > 0.0 and not _loss(place[i], place[j], counts[i, j], q) <= remaining:
                ratio[i, j], counts[i, j] = _consider(
                    place[i], start[i], place[j], start[j + 1] - 1, p, q, sign, remaining, convex
                )
                to[i] = _greatest(ratio[i])
                j = to[i]
            if ratio[i, j] > 0.0 and (chosen < 0 or ratio[i, j] > ratio[chosen, to[chosen]]):
                chosen = i
        if chosen < 0:
            return True, remaining
        j = to[chosen]
        k = counts[chosen, j]
        loss = _loss(place[chosen], place[j], k, q)
        remaining -= loss
        x[chosen] -= k
        x[j] += k
        place[chosen] -= k
        place[j] += k
        changed[:] = loss < 0.0  # more budget: moves that did not fit may do so now
        changed[chosen] = changed[j] = True
    return False, remaining
