"""RH and AH, the paper's greedy heuristics, with the corrections that make them end (see `elsewhere.paper.heuristics`).

A move takes k counts from a source bin to a destination bin. The move with the greatest gain in privacy distance per
loss of quality is made, as long as one that gains anything fits the quality budget. This is BestMove of the paper,
except that the best move from each source is remembered until one of its bins changes or the budget forbids it.
"""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers._jit import kernel

# Gains below this share of the terms that they are differences of are rounding, not gains: without it, moves whose
# gains cancel exactly on paper could go round in circles.
_NOISE = 4.0 * float(np.finfo(np.float64).eps)
# Rows of what is known of the best move from each source: gain per loss, destination, number of counts, quality loss.
_RATIO, _TO, _COUNTS, _LOSS = range(4)


@kernel
def _is_source(x: int, target: float, avoid: bool, low: int) -> bool:
    if avoid:
        return low < x and x <= target
    return x > target


@kernel
def _is_destination(x: int, target: float, avoid: bool) -> bool:
    return x >= target if avoid else x < target


@kernel
def _consider(
    i: int, j: int, x: Ints, start: Ints, low: Ints, p: Floats, q: Floats, sign: float, remaining: float, best: Floats
) -> None:
    """Note the best move from bin i to bin j in row i of `best` if it beats what is there, or ties with a later bin."""
    at_i, at_j = start[i] + x[i] - low[i], start[j] + x[j] - low[j]
    most = min(x[i] - low[i], start[j + 1] - 1 - at_j)
    for k in range(1, most + 1):
        gain = -sign * ((p[at_i - k] - p[at_i]) + (p[at_j + k] - p[at_j]))
        loss = (q[at_i - k] - q[at_i]) + (q[at_j + k] - q[at_j])
        size = abs(p[at_i]) + abs(p[at_i - k]) + abs(p[at_j]) + abs(p[at_j + k])
        if not loss <= remaining or not (gain > _NOISE * size or gain == math.inf):
            continue
        ratio = gain / loss if loss > 0.0 else math.inf
        if ratio > best[i, _RATIO] or (ratio == best[i, _RATIO] and j < best[i, _TO]):
            best[i, _RATIO], best[i, _TO], best[i, _COUNTS], best[i, _LOSS] = ratio, j, k, loss


@kernel
def climb(
    x: Ints, start: Ints, low: Ints, target: Floats, p: Floats, q: Floats, avoid: bool, virtual: bool, remaining: float
) -> Ints:
    """Make the best move until none is left; x is where to start from.

    Bin i has the values low[i], low[i] + 1, ... with terms at start[i]..start[i + 1]. With `virtual`, the last bin
    stands for a difference in size: it costs nothing and only ever moves towards its target.
    """
    n = len(x)
    x = x.copy()
    sign = -1.0 if avoid else 1.0
    best = np.zeros((n, 4))
    stale = np.ones(n, np.bool_)
    changed_a = changed_b = -1
    while True:
        chosen = -1
        for i in range(n):
            if not _is_source(x[i], target[i], avoid and not (virtual and i == n - 1), low[i]):
                best[i, _RATIO] = 0.0
                stale[i] = True
                continue
            to = int(best[i, _TO])
            again = stale[i] or best[i, _LOSS] > remaining
            again = again or (best[i, _RATIO] > 0.0 and to in (changed_a, changed_b))
            if again:
                best[i, _RATIO] = 0.0
                best[i, _LOSS] = -math.inf
                stale[i] = False
            for j in range(n):
                if (
                    j != i
                    and (again or j in (changed_a, changed_b))
                    and _is_destination(x[j], target[j], avoid and not (virtual and j == n - 1))
                ):
                    _consider(i, j, x, start, low, p, q, sign, remaining, best)
            if best[i, _RATIO] > 0.0 and (chosen < 0 or best[i, _RATIO] > best[chosen, _RATIO]):
                chosen = i
        if chosen < 0:
            return x
        to, k = int(best[chosen, _TO]), int(best[chosen, _COUNTS])
        remaining -= best[chosen, _LOSS]
        if best[chosen, _LOSS] < 0.0:
            stale[:] = True  # more budget: moves that did not fit may do so now
        x[chosen] -= k
        x[to] += k
        changed_a, changed_b = chosen, to
        stale[chosen] = stale[to] = True
