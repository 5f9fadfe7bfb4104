"""One histogram for two users: the counts of least total quality loss, and which pairs have a feasible one.

Both losses compare shares, so the two histories may have different sizes. The weighted sum of the losses is a sum of
convex functions of single counts, so it is minimal if no move of one visit from a bin to another lowers it. Equal
weights give the least total loss. If that breaks one of the two limits, other weights are tried. Each gives counts, and
a bound on the total of any counts.
"""

from __future__ import annotations

import math

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Flags, Floats, Ints

#: Distances of shares that are never infinite, by number.
KINDS = {"js": 0, "variational": 1}
#: The status of a pair: the least total satisfies both limits; some counts do; no counts do; or unknown.
LEAST, WITHIN, NONE, UNKNOWN = 0, 1, 2, 3

_GAIN = 1e-14
_WEIGHTS = 14


@kernel
def bounds(
    kind: int, offset: Ints, place: Ints, count: Ints, closed: Flags, first: Ints, second: Ints, limit: float
) -> Floats:
    """A lower bound on the total loss of each pair of one user of either kind; infinite if a limit must be broken.

    The square root of js, and variational itself, are metrics in each bin: t(a, x) + t(c, x) >= t(a, c) / 2 for js, and
    >= t(a, c) for variational. At a closed place x is 0, so the terms are known.
    """
    found = np.empty((len(first), len(second)))
    size = np.zeros(len(offset) - 1)
    lost = np.zeros(len(offset) - 1)
    for u in range(len(offset) - 1):
        for at in range(offset[u], offset[u + 1]):
            size[u] += count[at]
        for at in range(offset[u], offset[u + 1]):
            if closed[place[at]]:
                lost[u] += _term(kind, count[at] / size[u], 0.0)
    for i in range(len(first)):
        u = first[i]
        for j in range(len(second)):
            v = second[j]
            found[i, j] = _bound(kind, offset, place, count, closed, u, v, size, lost, limit)
    return found


@part
def _bound(
    kind: int, offset: Ints, place: Ints, count: Ints, closed: Flags, u: int, v: int,
    size: Floats, lost: Floats, limit: float,
) -> float:  # fmt: skip
    apart = 0.0
    i, j = offset[u], offset[v]
    while i < offset[u + 1] or j < offset[v + 1]:
        a = c = 0.0
        at_u = place[i] if i < offset[u + 1] else np.int64(2**62)
        at_v = place[j] if j < offset[v + 1] else np.int64(2**62)
        where = min(at_u, at_v)
        if at_u == where:
            a = count[i] / size[u]
            i += 1
        if at_v == where:
            c = count[j] / size[v]
            j += 1
        if not closed[where]:
            apart += _term(kind, a, c)
    room_u, room_v = limit - lost[u], limit - lost[v]
    if room_u < 0.0 or room_v < 0.0:
        return math.inf
    if kind == 0:
        if math.sqrt(apart) > math.sqrt(room_u) + math.sqrt(room_v) + 1e-9:
            return math.inf
        apart *= 0.5
    elif apart > room_u + room_v + 1e-9:
        return math.inf
    total: float = apart + lost[u] + lost[v]
    return total


@kernel
def weigh(
    kind: int, offset: Ints, place: Ints, count: Ints, closed: Flags, held: Flags, first: Ints, second: Ints,
    limit: float,
) -> tuple[Ints, Floats, Floats]:  # fmt: skip
    """The status of each pair, the total loss of the counts found, and a lower bound on any total loss."""
    state = np.empty(len(first), np.int64)
    total, lower = np.empty(len(first)), np.empty(len(first))
    for at in range(len(first)):
        a, c, most, size = _joined(offset, place, count, closed, held, first[at], second[at])[1:]
        state[at], lower[at], counts = release(kind, a, c, most, size, limit)
        loss_a, loss_c = losses(kind, a, c, counts)
        total[at] = loss_a + loss_c if state[at] <= WITHIN else math.inf
    return state, total, lower


@kernel
def joined(
    offset: Ints, place: Ints, count: Ints, closed: Flags, held: Flags, u: int, v: int
) -> tuple[Ints, Floats, Floats, Ints, int]:
    """The places of two users, their shares, the upper bounds of the release, and its size."""
    return _joined(offset, place, count, closed, held, u, v)


@part
def _joined(
    offset: Ints, place: Ints, count: Ints, closed: Flags, held: Flags, u: int, v: int
) -> tuple[Ints, Floats, Floats, Ints, int]:
    room = offset[u + 1] - offset[u] + offset[v + 1] - offset[v]
    places, most = np.empty(room, np.int64), np.empty(room, np.int64)
    a, c = np.zeros(room), np.zeros(room)
    size_u, size_v = count[offset[u] : offset[u + 1]].sum(), count[offset[v] : offset[v + 1]].sum()
    size = size_u // 2 + size_v // 2 + (size_u % 2 + size_v % 2 + 1) // 2
    n, i, j = 0, offset[u], offset[v]
    while i < offset[u + 1] or j < offset[v + 1]:
        at_u = place[i] if i < offset[u + 1] else np.int64(2**62)
        at_v = place[j] if j < offset[v + 1] else np.int64(2**62)
        where = min(at_u, at_v)
        of_u = of_v = 0
        if at_u == where:
            of_u = count[i]
            i += 1
        if at_v == where:
            of_v = count[j]
            j += 1
        places[n], a[n], c[n] = where, of_u / size_u, of_v / size_v
        most[n] = 0 if closed[where] else min(of_u, of_v) if held[where] else size
        n += 1
    return places[:n].copy(), a[:n].copy(), c[:n].copy(), most[:n].copy(), size


@kernel
def release(kind: int, a: Floats, c: Floats, most: Ints, size: int, limit: float) -> tuple[int, float, Ints]:
    """The status of a pair, a lower bound on its total loss, and the best counts found.

    Swapping the users does not change the result: weights are binary fractions, and the two terms of a bin are added.
    """
    counts = _start(a, c, most, size)
    if counts.sum() > size or not _fill(kind, a, c, most, size, 0.5, counts):
        return NONE, math.inf, counts
    loss_a, loss_c = losses(kind, a, c, counts)
    lower = loss_a + loss_c
    if loss_a <= limit and loss_c <= limit:
        return LEAST, lower, counts
    if lower > 2.0 * limit:
        return NONE, math.inf, counts
    breaks_a = loss_a > limit
    # The weight of the loss that was too large, from a half up to 1.
    low, high = 0.5, 1.0
    best, best_total = counts.copy(), math.inf
    for _ in range(_WEIGHTS):
        weight = 0.5 * (low + high)
        _fill(kind, a, c, most, size, weight if breaks_a else 1.0 - weight, counts)
        loss_a, loss_c = losses(kind, a, c, counts)
        great, other = (loss_a, loss_c) if breaks_a else (loss_c, loss_a)
        weighted = weight * great + (1.0 - weight) * other
        if weighted > limit + _GAIN:
            return NONE, math.inf, counts
        # A bound for all counts within the limit, with the multiplier (2 weight - 1) / (1 - weight) of the limit.
        lower = max(lower, (weighted - (2.0 * weight - 1.0) * limit) / (1.0 - weight))
        if great > limit:
            low = weight
            continue
        if other <= limit and great + other < best_total:
            best, best_total = counts.copy(), great + other
        high = weight
    return (WITHIN if best_total < math.inf else UNKNOWN), lower, best


@kernel
def losses(kind: int, a: Floats, c: Floats, counts: Ints) -> tuple[float, float]:
    """The quality losses of two users with the given shares."""
    size, loss_a, loss_c = max(counts.sum(), 1), 0.0, 0.0
    for i in range(len(a)):
        x = counts[i] / size
        loss_a += _term(kind, a[i], x)
        loss_c += _term(kind, c[i], x)
    return loss_a, loss_c


@part
def _start(a: Floats, c: Floats, most: Ints, size: int) -> Ints:
    """Counts between the two histories, rounded down."""
    counts, total = np.zeros(len(a), np.int64), 0.0
    for i in range(len(a)):
        if most[i] > 0 and a[i] + c[i] > 0.0:
            total += a[i] + c[i]
    for i in range(len(a)):
        if most[i] > 0 and a[i] + c[i] > 0.0:
            counts[i] = min(most[i], np.int64(size * ((a[i] + c[i]) / total) * (1.0 - 1e-15)))
    return counts


@part
def _fill(kind: int, a: Floats, c: Floats, most: Ints, size: int, weight: float, counts: Ints) -> bool:
    """Place the rest of the size, then move visits to where they cost less until no move helps; in place.

    Steps are large first, and single visits last. Returns whether the bounds leave room for the size.
    """
    n = len(a)
    left = size - counts.sum()
    step = 1
    while step < size // max(4 * n, 1):
        step *= 2
    up, down = np.empty(n), np.empty(n)
    while step:
        for i in range(n):
            _steps(kind, a, c, most, size, weight, counts, step, i, up, down)
        while True:
            to = 0
            for i in range(1, n):
                if up[i] < up[to]:
                    to = i
            if left >= step:
                if up[to] == math.inf:
                    break
                left -= step
            else:
                source = 0
                for i in range(1, n):
                    if down[i] > down[source]:
                        source = i
                if not down[source] - up[to] > _GAIN or source == to:
                    break
                counts[source] -= step
                _steps(kind, a, c, most, size, weight, counts, step, source, up, down)
            counts[to] += step
            _steps(kind, a, c, most, size, weight, counts, step, to, up, down)
        step //= 2
    return bool(left == 0)


@part
def _steps(
    kind: int, a: Floats, c: Floats, most: Ints, size: int, weight: float, counts: Ints, step: int, i: int,
    up: Floats, down: Floats,
) -> None:  # fmt: skip
    """The cost of a step up at each bin, and the saving of a step down."""
    x = counts[i]
    here = weight * _term(kind, a[i], x / size) + (1.0 - weight) * _term(kind, c[i], x / size)
    up[i], down[i] = math.inf, -math.inf
    if x + step <= most[i]:
        y = (x + step) / size
        up[i] = weight * _term(kind, a[i], y) + (1.0 - weight) * _term(kind, c[i], y) - here
    if x >= step:
        y = (x - step) / size
        down[i] = here - weight * _term(kind, a[i], y) - (1.0 - weight) * _term(kind, c[i], y)


@part
def _term(kind: int, a: float, b: float) -> float:
    if kind == 1:
        return abs(a - b)
    if a == 0.0 or b == 0.0:
        return 0.5 * (a + b)
    middle = 0.5 * (a + b)
    return max(0.5 * (a * math.log2(a / middle) + b * math.log2(b / middle)), 0.0)


@kernel
def terms(kind: int, a: Floats, b: Floats) -> Floats:
    """The terms for shares a in a history and b in a release."""
    found = np.empty(len(a))
    for i in range(len(a)):
        found[i] = _term(kind, a[i], b[i])
    return found
