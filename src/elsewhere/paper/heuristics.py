"""RH (Resemblance Heuristic) and AH (Avoidance Heuristic): Section 'Heuristics for Target Resemblance ...'.

Input: histogram H, target histogram H'', privacy distance function d_p, quality distance function d_q, quality
threshold. Output: sanitized histogram H'.

1. 2.   SrcBins <- {i such that H[i] > H''[i]},  DstBins <- {i such that H[i] < H''[i]}
3. 4.   H' <- H,  remaining budget <- quality threshold
5.      while SrcBins is not empty
6.          (H', delta d_q) <- BestMove(H', H'', SrcBins, DstBins, remaining budget)
7. 8.       if there is no move: break
9.          remaining budget <- remaining budget - delta d_q
10. 11.     update SrcBins, DstBins as in 1 and 2, for H'
12.     return H'

AH is the same with SrcBins = {i such that 0 < H'[i] <= H''[i]} and DstBins = {i such that H'[i] >= H''[i]}.

BestMove:

1. 2. 3.   MaxRatio <- 0, no move
4. 5. 6.   for each source i, for each destination j other than i, for each k in 1..H'[i], all in increasing order
7. 8. 9.       try to move k counts from bin i to bin j
10. 11.        delta d_p, delta d_q <- what that changes
12. - 15.      if the ratio is larger than MaxRatio and delta d_q is within the remaining budget: the best move so far
16. 17.    return the best move

Where the paper is corrected, or made precise:

- The paper takes the absolute value of delta d_p, so it may move away from its goal and back for ever. Here a move must
  gain: lower d_p in RH, raise it in AH. A gain within the rounding errors of its terms does not count, so that RH also
  ends in floating point.
- A move with delta d_q <= 0 has an infinite ratio. A move with delta d_q *equal* to the remaining budget is allowed.
- Terms may be infinite, and floating-point arithmetic handles this. Making a privacy term infinite is an infinite gain
  in AH and an infinite loss in RH; making it finite again is the opposite. If it stays infinite, the gain is NaN
  (infinity - infinity), and there is no move. A move that makes a quality term infinite is not made either: its ratio
  is 0 or NaN.
- Moves never change the size of H'. If H' must have the target's size, the difference is one more, virtual bin, the
  last: a source that holds the missing counts until it is empty, or a destination for the surplus until it is full. Its
  terms are always 0. The shares of real bins are those of the final size from the start.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from elsewhere.model.distances import DistanceLike
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.paper.setting import Setting, Size, prepare

#: The term of a bin with a count.
Terms: TypeAlias = Callable[[int, int], float]

_ROUNDING = 4 * sys.float_info.epsilon


class Move(NamedTuple):
    """Take k counts from bin i to bin j; it changes the sum of the quality terms by `delta_q`."""

    i: int
    j: int
    k: int
    delta_q: float


def rh(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
) -> Histogram | None:
    """Move a histogram greedily towards a target, within the maximum quality loss (RH, for TR).

    Parameters
    ----------
    histogram
        The history H.
    target
        The target H'': a `Profile`, or nonnegative weights by location.
    max_quality_loss
        The limit on d_q(H, H').
    quality
        The distance d_q: its name, or your own function of (original count, released count) for one location.
    privacy
        The distance d_p: its name, or your own function of (target count, released count) for one location.
    size
        The size of H': ``"original"`` (the default) or ``"target"``.

    Returns
    -------
    Histogram or None
        None if the moves end before the histogram has the right size, a quality loss within the limit and a finite
        privacy distance: the paper's heuristic found nothing. `elsewhere.resemble` then starts from the histogram of
        least quality loss.

    See Also
    --------
    ro : The optimal algorithm.
    rh_tabulated : The same moves, several times as fast.

    Examples
    --------
    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> target = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
    >>> dict(rh(h, target, 0.05))
    {'a': 10, 'b': 6, 'c': 5, 'd': 2, 'e': 13, 'f': 6, 'g': 5, 'h': 3}
    """
    return _greedy(prepare(histogram, target, max_quality_loss, quality, privacy, size), sign=1)


def rh_tabulated(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
) -> Histogram | None:
    """Make the moves of `rh`, but compute the terms of a bin with some count only once.

    The paper's runtimes are closer to those of such a program. In `rh` the formulas of distances take most of the time.

    Parameters
    ----------
    histogram, target, max_quality_loss, quality, privacy, size
        As in `rh`.

    Returns
    -------
    Histogram or None
        What `rh` returns.

    See Also
    --------
    rh : The pseudocode to the letter.

    Examples
    --------
    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> target = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
    >>> dict(rh_tabulated(h, target, 0.05))
    {'a': 10, 'b': 6, 'c': 5, 'd': 2, 'e': 13, 'f': 6, 'g': 5, 'h': 3}
    """
    setting = prepare(histogram, target, max_quality_loss, quality, privacy, size)
    return _greedy(setting, sign=1, once=cache)


def ah(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
) -> Histogram | None:
    """Move a histogram greedily away from a target, within the maximum quality loss (AH, for TA).

    Parameters
    ----------
    histogram
        The history H.
    target
        The target H'': a `Profile`, or nonnegative weights by location.
    max_quality_loss
        The limit on d_q(H, H').
    quality
        The distance d_q: its name, or your own function of (original count, released count) for one location.
    privacy
        The distance d_p: its name, or your own function of (target count, released count) for one location.
    size
        The size of H': ``"original"`` (the default) or ``"target"``.

    Returns
    -------
    Histogram or None
        None if the moves end before the histogram has the right size and a quality loss within the limit.

    See Also
    --------
    ao : The optimal algorithm.

    Examples
    --------
    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> target = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
    >>> dict(ah(h, target, 0.05))
    {'a': 4, 'b': 0, 'c': 1, 'd': 3, 'e': 10, 'f': 18, 'g': 11, 'h': 3}
    """
    return _greedy(prepare(histogram, target, max_quality_loss, quality, privacy, size), sign=-1)


def _greedy(setting: Setting, sign: int, once: Callable[[Terms], Terms] = lambda terms: terms) -> Histogram | None:
    n, missing = len(setting.locations), setting.size - sum(setting.original)

    @once
    def p(i: int, x: int) -> float:
        return setting.p(setting.target[i], x) if i < n else 0.0

    @once
    def q(i: int, x: int) -> float:
        return setting.q(setting.original[i], x) if i < n else 0.0

    def total(term: Terms) -> float:
        return sum(term(i, count) for i, count in enumerate(counts))

    counts = list(setting.original)  # step 3
    if missing:
        counts.append(max(0, missing))
    remaining = setting.threshold - total(q)  # step 4

    sources, destinations = _bins(counts, setting.target, missing, sign)  # steps 1 and 2
    while sources:  # step 5
        room = math.inf if missing >= 0 else -missing - counts[n]
        move = best_move(counts, p, q, sources, destinations, remaining, sign, room)  # step 6
        if move is None:  # steps 7 and 8
            break
        counts[move.i] -= move.k
        counts[move.j] += move.k
        remaining -= move.delta_q  # step 9
        sources, destinations = _bins(counts, setting.target, missing, sign)  # steps 10 and 11

    settled = not missing or counts[n] == max(0, -missing)
    within = total(q) <= setting.threshold and total(q) < math.inf
    resembles = sign < 0 or total(p) < math.inf
    return setting.histogram(counts[:n]) if settled and within and resembles else None  # step 12


def best_move(
    counts: list[int],
    p: Terms,
    q: Terms,
    sources: list[int],
    destinations: list[int],
    remaining: float,
    sign: int,
    room: float = math.inf,
) -> Move | None:
    """BestMove: return the move with the largest ratio of privacy gain to quality loss, or None. Ties go to the first.

    Parameters
    ----------
    counts
        The counts of the bins.
    p
        The privacy terms: ``p(i, x)`` is the term of bin i with count x.
    q
        The quality terms: ``q(i, x)`` is the term of bin i with count x.
    sources
        The bins that counts may be taken from, in order.
    destinations
        The bins that counts may be moved to, in order.
    remaining
        The remaining budget: the most that a move may add to the sum of the quality terms.
    sign
        1 to lower the privacy distance, -1 to raise it.
    room
        The most counts that the last bin may still receive. Default: no limit.
    """
    best, max_ratio = None, 0.0  # steps 1 to 3
    for i in sources:  # step 4
        p_i_old, q_i_old = p(i, counts[i]), q(i, counts[i])
        for j in destinations:  # step 5
            if j == i:
                continue
            p_j_old, q_j_old = p(j, counts[j]), q(j, counts[j])
            for k in range(1, counts[i] + 1):  # step 6
                if j == len(counts) - 1 and k > room:
                    break
                p_i_new, q_i_new = p(i, counts[i] - k), q(i, counts[i] - k)  # steps 7 to 9
                p_j_new, q_j_new = p(j, counts[j] + k), q(j, counts[j] + k)
                gain = -sign * ((p_i_new - p_i_old) + (p_j_new - p_j_old))  # step 10
                noise = _ROUNDING * (abs(p_i_old) + abs(p_i_new) + abs(p_j_old) + abs(p_j_new))
                if not (gain > noise or gain == math.inf):
                    continue
                delta_q = (q_i_new - q_i_old) + (q_j_new - q_j_old)  # step 11
                ratio = gain / delta_q if delta_q > 0.0 else math.inf
                if ratio > max_ratio and delta_q <= remaining:  # steps 12 to 15
                    best, max_ratio = Move(i, j, k, delta_q), ratio
    return best  # steps 16 and 17


def _bins(counts: list[int], target: list[float], missing: int, sign: int) -> tuple[list[int], list[int]]:
    """SrcBins and DstBins. Real bins come first; the virtual one, if any, is the last."""
    n = len(target)
    if sign > 0:
        sources = [i for i in range(n) if counts[i] > target[i]]
        destinations = [i for i in range(n) if counts[i] < target[i]]
    else:
        sources = [i for i in range(n) if 0 < counts[i] <= target[i]]
        destinations = [i for i in range(n) if counts[i] >= target[i]]
    if missing > 0 and counts[n] > 0:
        sources.append(n)
    if missing < 0 and counts[n] < -missing:
        destinations.append(n)
    return sources, destinations
