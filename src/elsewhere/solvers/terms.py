"""One bin's term of each built-in distance, compiled, and the kernels that evaluate it.

`term` repeats the formulas of ``elsewhere.model.distances`` for single numbers. The kernels here use that every
built-in term is convex in x: `allocate` spreads counts at the least total, `ranges` finds the values of a bin that fit
a budget, `fill` tabulates them for the search, and `least_reduced` bounds those without tables.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from elsewhere.kernels.jit import items, kernel, part
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.problem import ROOM

JS, JEFFREYS, VARIATIONAL, SQUARED_L2, PEARSON, NEYMAN = range(6)
_HALF_PER_LN2 = 0.5 / math.log(2.0)
# In ranges up to this long, counts are checked one by one; differences below this share are rounding.
_SCANNED = 16
_FLAT = 1e-15
# The most ranges of a bin that are searched for its counts near the least.
_LOOKS = 1 << 9
# The table of logarithms has those of the numbers below this. The series is for numbers from `_FEW` on.
_TABULATED = 1 << 13
_FEW = 4
# Slots for recent bins, whose results are reused: many bins have the same count, and logarithms take long.
_SLOTS = 64


@part
def term(kind: int, r: float, x: float, r_size: float, x_size: float) -> float:
    """Distance of a bin with count x out of x_size from the reference count r out of r_size."""
    if kind == SQUARED_L2:
        return (x - r) * (x - r)
    if kind == PEARSON:
        if r == 0.0:
            return 0.0 if x == 0.0 else math.inf
        return (x - r) * (x - r) / r
    if kind == NEYMAN:
        if x == 0.0:
            return 0.0 if r == 0.0 else math.inf
        return (x - r) * (x - r) / x
    a = r / r_size
    b = x / x_size
    if kind == VARIATIONAL:
        return abs(a - b)
    if kind == JEFFREYS:
        if a == b:
            return 0.0
        if a == 0.0 or b == 0.0:
            return math.inf
        return (a - b) * math.log(a / b)
    if a == 0.0 or b == 0.0:
        return 0.5 * (a + b)
    skew = (b - a) / (a + b)
    if abs(skew) < 0.5:  # accurate to the last digits if the two logarithms nearly cancel
        return max(0.0, _HALF_PER_LN2 * (a * math.log1p(-skew) + b * math.log1p(skew)))
    return _HALF_PER_LN2 * (a * math.log(2.0 * a / (a + b)) + b * math.log(2.0 * b / (a + b)))


@part
def marginal(kind: int, r: float, x: float, r_size: float, x_size: float) -> float:
    """The cost of one more count: term(x + 1) - term(x), both of which are finite.

    This is a closed form. The difference of two large terms would lose the digits that distinguish bins. Costs that are
    equal on paper would differ, and rounding instead of the documented rule would break ties.
    """
    if kind == SQUARED_L2:
        return 2.0 * (x - r) + 1.0
    if kind == PEARSON:
        return (2.0 * (x - r) + 1.0) / r
    if kind == NEYMAN:
        return 1.0 - r * r / (x * (x + 1.0)) if r > 0.0 else 1.0
    a = r / r_size
    b = x / x_size
    one = 1.0 / x_size
    if kind == VARIATIONAL:
        peak = r * (x_size / r_size)
        if x >= peak:
            return one
        if x + 1.0 <= peak:
            return -one
        return abs(a - (b + one)) - abs(a - b)
    if kind == JEFFREYS:
        return -one * math.log(a / (b + one)) - (a - b) * math.log1p(one / b) if r > 0.0 else 0.0
    if r == 0.0:
        return 0.5 * one
    whole = one * math.log(2.0 * (b + one) / (a + b + one)) - (a + b) * math.log1p(one / (a + b))
    return _HALF_PER_LN2 * (whole + b * math.log1p(one / b) if x > 0.0 else whole)


@part
def _count_at(kind: int, r: float, x: int, low: int, high: int, r_size: float, x_size: float, price: float) -> int:
    """The largest count in low..high whose last unit costs at most `price`, searched from x outwards."""
    step = 1
    if x < high and marginal(kind, r, float(x), r_size, x_size) <= price:
        low = x + 1
        while low < high and marginal(kind, r, float(min(high, low + step) - 1), r_size, x_size) <= price:
            low = min(high, low + step)
            step *= 2
        high = min(high, low + step)
    else:
        high = x
        while high > low and marginal(kind, r, float(max(low, high - step)), r_size, x_size) > price:
            high = max(low, high - step)
            step *= 2
        low = max(low, high - step)
    while low < high:
        middle = (low + high + 1) // 2
        if marginal(kind, r, float(middle - 1), r_size, x_size) <= price:
            low = middle
        else:
            high = middle - 1
    return low


@part
def _precedes(a: int, b: int, cost: Floats, added: Ints) -> bool:
    """The greedy order of groups: cost of the next count, then counts added so far, then position."""
    if cost[a] != cost[b]:
        return bool(cost[a] < cost[b])
    if added[a] != added[b]:
        return bool(added[a] < added[b])
    return a < b


@part
def _sift_down(heap: Ints, length: int, at: int, cost: Floats, added: Ints) -> None:
    item = heap[at]
    while 2 * at + 1 < length:
        child = 2 * at + 1
        if child + 1 < length and _precedes(heap[child + 1], heap[child], cost, added):
            child += 1
        if _precedes(item, heap[child], cost, added):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item


@part
def _sift_up(heap: Ints, at: int, cost: Floats, added: Ints) -> None:
    item = heap[at]
    while at > 0 and _precedes(item, heap[(at - 1) // 2], cost, added):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


@part
def _bulk(kind: int, r: Floats, low: Ints, high: Ints, copies: Ints, r_size: float, x_size: float, total: int) -> Ints:
    """A prefix of the greedy order that leaves few single steps, about two per group.

    Bisection finds two prices: buying every unit up to the first stays within `total`, up to the second does not, and
    few units lie between. If many units cost exactly the same, those of the bins that were given least come first, so
    the level of such units is bisected as well.
    """
    groups = len(r)
    x = low.copy()
    spent = 0
    for i in range(groups):
        spent += low[i] * copies[i]
    few = 2 * groups
    if total - spent <= few:
        return x
    scale = total / spent if spent > 0 else 2.0
    # Large bins are the best estimate of the cost of a count if all bins grow in proportion.
    price = 0.0
    weight = 1e-300
    for i in range(groups):
        if low[i] < high[i]:
            guess = min(high[i] - 1, max(low[i], int(low[i] * scale)))
            price += marginal(kind, r[i], float(guess), r_size, x_size) * (float(low[i]) * copies[i])
            weight += float(low[i]) * copies[i]
    price /= weight
    below, above = x, high.copy()
    below_held = above_held = float(spent)
    below_price, above_price = -math.inf, math.inf
    width = max(abs(price), 1e-300) * 1e-3
    share = 0.5
    for _ in range(2000):
        at = np.empty_like(below)
        left = total
        held = 0.0
        for i in range(groups):
            if below[i] == above[i]:
                at[i] = below[i]
            else:
                middle = int(low[i] * scale)
                if below_price > -math.inf and above_price < math.inf:
                    middle = below[i] + int(share * (above[i] - below[i]))
                middle = min(above[i], max(below[i], middle))
                at[i] = _count_at(kind, r[i], middle, below[i], above[i], r_size, x_size, price)
            left = left - at[i] * copies[i] if left >= 0 and at[i] <= left // copies[i] else -1
            held += float(at[i]) * copies[i]
        if left >= 0:
            below, below_held, below_price = at, held, price
        else:
            above, above_held, above_price = at, held, price
        between = 0.0
        for i in range(groups):
            between += float(above[i] - below[i])
        if between <= few or 0 <= left <= few:
            return below
        if above_price == math.inf:
            price += width
            width *= 4.0
            if not price < 1e300:
                return below
        elif below_price == -math.inf:
            price -= width
            width *= 4.0
            if not price > -1e300:
                break
        else:
            middle_price = 0.5 * (below_price + above_price)
            if not below_price < middle_price < above_price:
                break
            share = 0.5
            if above_held > below_held:
                share = min(0.9, max(0.1, (total - below_held) / (above_held - below_held)))
            price = below_price + share * (above_price - below_price)
            if not below_price < price < above_price:
                price = middle_price
    floor, ceiling = 0, total - spent
    while floor < ceiling:
        level = (floor + ceiling) // 2 + 1
        left = total
        for i in range(groups):
            filled = min(above[i], max(below[i], low[i] + level))
            left = left - filled * copies[i] if left >= 0 and filled <= left // copies[i] else -1
        if left >= 0:
            floor = level
        else:
            ceiling = level - 1
    for i in range(groups):
        below[i] = min(above[i], max(below[i], low[i] + floor))
    return below


@kernel
def allocate(
    kind: int, r: Floats, low: Ints, high: Ints, copies: Ints, r_size: float, x_size: float, total: int
) -> tuple[Ints, Ints, int, float]:
    """Spread `total` counts over groups of equal bins so that the sum of terms is least.

    Each next count goes to the bin where it costs least; ties go to the bin that was given least so far. Returns the
    counts of a bin of each group; the last step if it must be split, as the groups that tie for it and the number of
    counts left for their bins; and the price of the last count, which is a size multiplier that proves optimality.
    """
    x = _bulk(kind, r, low, high, copies, r_size, x_size, total)
    left = total
    cost = np.empty(len(r))
    added = np.empty(len(r), np.int64)
    heap = np.empty(len(r), np.int64)
    length = 0
    for i in range(len(r)):
        left -= x[i] * copies[i]
        added[i] = x[i] - low[i]
        if x[i] < high[i]:
            cost[i] = marginal(kind, r[i], float(x[i]), r_size, x_size)
            heap[length] = i
            length += 1
    for at in range(length // 2 - 1, -1, -1):
        _sift_down(heap, length, at, cost, added)
    tied = np.empty(len(r), np.int64)
    price = cost[heap[0]] if length > 0 else 0.0
    while left > 0 and length > 0:
        ties = 0
        wanted = 0
        first = heap[0]
        price = cost[first]
        while length > 0 and cost[heap[0]] == price and added[heap[0]] == added[first]:
            tied[ties] = heap[0]
            wanted += copies[heap[0]]
            ties += 1
            length -= 1
            heap[0] = heap[length]
            _sift_down(heap, length, 0, cost, added)
        if wanted > left:
            return x, tied[:ties], left, price
        left -= wanted
        for t in range(ties):
            i = tied[t]
            x[i] += 1
            added[i] += 1
            if x[i] < high[i]:
                cost[i] = marginal(kind, r[i], float(x[i]), r_size, x_size)
                heap[length] = i
                _sift_up(heap, length, cost, added)
                length += 1
    if length == 0:
        for i in range(len(r)):
            if x[i] > low[i]:
                price = max(price, marginal(kind, r[i], float(x[i] - 1), r_size, x_size))
    return x, tied[:0], 0, price


@part
def _furthest(kind: int, r: float, x: int, end: int, r_size: float, x_size: float, room: float) -> int:
    """The count furthest from x towards `end` whose term is at most `room`; x itself is assumed to fit."""
    way = 1 if end >= x else -1
    step = 1
    fits, length = 0, abs(end - x)
    while fits < length and term(kind, r, float(x + way * min(length, fits + step)), r_size, x_size) <= room:
        fits = min(length, fits + step)
        step *= 2
    misses = min(length + 1, fits + step)
    while misses - fits > 1:
        middle = (fits + misses) // 2
        if term(kind, r, float(x + way * middle), r_size, x_size) <= room:
            fits = middle
        else:
            misses = middle
    return x + way * fits


@kernel
def total(kind: int, r: Floats, x: Ints, r_size: float, x_size: float) -> float:
    """The sum of the terms of one count per bin."""
    sum_ = 0.0
    for i in range(len(r)):
        sum_ += term(kind, r[i], float(x[i]), r_size, x_size)
    return sum_


@kernel
def totals(kind: int, r: Floats, x: Ints, r_size: float, x_size: float, sums: Floats) -> None:
    """Put the sum of each row of counts into `sums`, equal to `total` to the last bit.

    Rows that follow each other hardly differ, so a term is computed again only if the count has changed.
    """
    r, x, sums = items(r), items(x), items(sums)
    latest = items(np.empty(len(r)))
    for row in range(len(sums)):
        sum_ = 0.0
        for i in range(len(r)):
            if row == 0 or x[row, i] != x[row - 1, i]:
                latest[i] = term(kind, r[i], float(x[row, i]), r_size, x_size)
            sum_ += latest[i]
        sums[row] = sum_


@kernel
def hide_many(
    kind: int, offset: Ints, original: Ints, least: Ints, most: Ints, closed: Flags, redistribute: int, released: Ints,
    loss: Floats,
) -> None:  # fmt: skip
    """hide for many users, each as `allocate` does it for one: user u has the bins offset[u]..offset[u + 1].

    The bins of a user are sorted by name. Closed bins become 0, and the others get between `least` and `most`, which
    must be feasible. If `most` is empty there is no upper bound, and `least` is not below the original counts. A
    negative `redistribute` stands for the counts of the closed bins. The counts go into `released` and their loss into
    `loss`, which is NaN if no bin can receive the counts.
    """
    for u in range(len(offset) - 1):
        first, last = offset[u], offset[u + 1]
        size = 0
        hidden = 0
        for i in range(first, last):
            size += original[i]
            if closed[i]:
                hidden += original[i]
        received = hidden if redistribute < 0 else redistribute
        after = size - hidden + received
        if len(most) == 0 and hidden == 0 and received == 0 and size > 0:
            released[first:last] = original[first:last]
            loss[u] = 0.0
            continue
        r = original[first:last].astype(np.float64)
        low = np.where(closed[first:last], 0, least[first:last])
        high = np.where(closed[first:last], 0, after)
        if len(most) > 0:
            high = np.minimum(high, most[first:last])
        if after == 0 or high.max() == 0:
            released[first:last] = 0
            loss[u] = math.nan
            continue
        x, tied, left, _ = allocate(kind, r, low, high, np.ones(len(r), np.int64), float(size), float(after), after)
        tied = np.sort(tied)
        for t in range(left):
            x[tied[t]] += 1
        released[first:last] = x
        loss[u] = 0.0
        for i in range(last - first):
            cost = term(kind, r[i], float(x[i]), float(size), float(after))
            if not (closed[first + i] and cost == math.inf):
                loss[u] += cost


@kernel
def ranges(
    kind: int, weight: Floats, r: Floats, low: Ints, high: Ints, r_size: float, x_size: float, budget: float
) -> tuple[Ints, Ints]:
    """The counts of each bin that fit the budget when every other bin is at its best: the least, and how many.

    Each term has a weight; a bin of weight 0 may have any count.
    """
    n = len(r)
    best = np.empty(n, np.int64)
    least = np.empty(n)
    alike = np.empty(n, np.int64)  # an earlier bin with the same result, or the bin itself
    latest = np.empty(_SLOTS, np.int64)
    latest[:] = -1
    for i in range(n):
        slot = int(r[i]) % _SLOTS
        j = latest[slot]
        if j >= 0 and r[j] == r[i] and low[j] == low[i] and high[j] == high[i] and weight[j] == weight[i]:
            alike[i], best[i], least[i] = j, best[j], least[j]
            continue
        alike[i] = latest[slot] = i
        peak = r[i] * (x_size / r_size) if kind <= VARIATIONAL else r[i]
        below = min(high[i], max(low[i], int(peak)))
        above = min(high[i], max(low[i], int(peak) + 1))
        cost_below = term(kind, r[i], float(below), r_size, x_size)
        cost_above = term(kind, r[i], float(above), r_size, x_size)
        best[i] = below if cost_below <= cost_above else above
        least[i] = weight[i] * min(cost_below, cost_above) if weight[i] > 0.0 else 0.0
    sum_ = 0.0
    for i in range(n):
        sum_ += least[i]
    spare = budget - sum_ + ROOM * (1.0 + abs(budget))
    new_low = np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    for i in range(n):
        if alike[i] < i:
            new_low[i], number[i] = new_low[alike[i]], number[alike[i]]
            continue
        room = (spare + least[i]) / weight[i] if weight[i] > 0.0 else math.inf
        new_low[i] = _furthest(kind, r[i], best[i], low[i], r_size, x_size, room)
        number[i] = 1 + _furthest(kind, r[i], best[i], high[i], r_size, x_size, room) - new_low[i]
    return new_low, number


class Logarithms(NamedTuple):
    """k log k and log(k / 2) of the whole numbers k below `_TABULATED`; 0 for k = 0."""

    product: Floats
    half: Floats


@cache
def logarithms() -> Logarithms:
    """The table for `fill`, whose entries do not depend on whether kernels are compiled."""
    numbers = range(1, _TABULATED)
    return Logarithms(
        np.array([0.0, *(k * math.log(k) for k in numbers)]), np.array([0.0, *(math.log(0.5 * k) for k in numbers)])
    )


@part
def _fill_js(r: float, x: int, r_size: float, x_size: float, logs: Logarithms, row: Floats) -> None:
    """Put the terms of js at x, x + 1, ... into the row, to about 1e-15, with hardly any logarithm.

    With a = r x_size / r_size, the term is a log a + x log x - (a + x) log((a + x) / 2), up to a factor. The logarithms
    of whole numbers are in the table. Let m be the whole number nearest to a + x. Unless m is small, a few terms of a
    series are enough for log((a + x) / m).
    """
    k = 0
    if x == 0:
        row[0] = 0.5 * r / r_size
        if len(row) == 1:
            return
        k = 1
    a, scale = r * (x_size / r_size), _HALF_PER_LN2 / x_size
    whole = int(a + 0.5)
    rest = a - whole
    product = logs.product[whole] if rest == 0.0 else a * math.log(a)
    while k < len(row) and rest != 0.0 and whole + x + k < _FEW:
        both = a + x + k
        row[k] = max(0.0, scale * (product + logs.product[x + k] - both * math.log(0.5 * both)))
        k += 1
    row, x = row[k:], x + k
    own, middle = logs.product[x : x + len(row)], logs.half[whole + x : whole + x + len(row)]
    if rest == 0.0:
        for k in range(len(row)):
            row[k] = max(0.0, scale * (product + own[k] - (whole + x + k) * middle[k]))
        return
    for k in range(len(row)):
        m = whole + x + k
        share = rest / (2.0 * m + rest)
        s = share * share
        log = middle[k] + share * (2.0 + s * (2 / 3 + s * (2 / 5 + s * (2 / 7 + s * (2 / 9 + s * (2 / 11))))))
        row[k] = max(0.0, scale * (product + own[k] - (m + rest) * log))


@kernel
def fill(
    kind: int, r: Floats, low: Ints, start: Ints, r_size: float, x_size: float, logs: Logarithms, first: int, last: int,
    table: Floats,
) -> None:  # fmt: skip
    """Put the terms of the values at first..last into the table.

    Bin i has the values low[i], low[i] + 1, ... at start[i]..start[i + 1].
    """
    r, low, start, table = items(r), items(low), items(start), items(table)
    logs = Logarithms(items(logs.product), items(logs.half))
    i, after = 0, len(r)
    while after - i > 1:
        middle = (i + after) // 2
        if start[middle] <= first:
            i = middle
        else:
            after = middle
    while i < len(r) and start[i] < last:
        begin, end, zero = max(first, start[i]), min(last, start[i + 1]), start[i] - low[i]
        if kind == JS and r[i] > 0.0:
            # Which terms are computed in this way depends on their counts alone: a wider table has the same terms.
            middle = min(end, zero + _TABULATED - min(_TABULATED, int(r[i] * (x_size / r_size)) + 2))
            if begin < middle:
                _fill_js(r[i], begin - zero, r_size, x_size, logs, table[begin:middle])
                begin = middle
        for e in range(begin, end):
            table[e] = term(kind, r[i], float(e - zero), r_size, x_size)
        i += 1


class Lagrangian(NamedTuple):
    """The share of the count x of a bin in the dual bound: sign * p(x) + lam * q(x) - mu * x.

    p and q are the privacy and quality terms, of these kinds, references and sizes of the reference; sign is 1 for
    resemble and -1 for avoid.
    """

    p_kind: int
    p_reference: Floats
    p_size: float
    q_kind: int
    q_reference: Floats
    q_size: float
    x_size: float
    sign: float
    lam: float
    mu: float


# The shape of a bin's share over a range of counts, as far as it is known.
_BENT, _CONVEX, _CONCAVE = range(3)
# The parameters of a bin's share: the two kinds, each with reference and reference's size, the size, sign, lam and mu.
_Share: TypeAlias = tuple[int, float, float, int, float, float, float, float, float, float]


@part
def _share(of: _Share, x: int) -> float:
    """sign * p(x) + lam * q(x) - mu * x."""
    p_kind, p_r, p_size, q_kind, q_r, q_size, x_size, sign, lam, mu = of
    cost = lam * term(q_kind, q_r, float(x), q_size, x_size) - mu * x
    return float(cost + sign * term(p_kind, p_r, float(x), p_size, x_size))


@part
def _bend(kind: int, r: float, x: float, r_size: float, x_size: float) -> float:
    """The second derivative of a term at x, without the kink of `variational`, up to a factor that x alone decides.

    From one reference to another, its ratio only rises or only falls with x.
    """
    if kind == SQUARED_L2:
        return 1.0
    if r == 0.0 or kind == VARIATIONAL:
        return 0.0
    if kind == PEARSON:
        return 1.0 / r
    if kind == NEYMAN:
        return r * r
    a = r / r_size
    b = x / x_size
    return a + b if kind == JEFFREYS else a / (a + b)


@part
def _curvature(kind: int, r: float, x: float, r_size: float, x_size: float) -> float:
    """The second derivative of a term at x, without the kink of `variational`; it never increases with x."""
    bend = _bend(kind, r, x, r_size, x_size)
    if bend == 0.0 or kind in (SQUARED_L2, PEARSON):
        return 2.0 * bend
    if x == 0.0:
        return math.inf
    if kind == NEYMAN:
        return 2.0 * bend / x / x / x
    return (bend / x if kind == JEFFREYS else _HALF_PER_LN2 * bend / x_size) / x


@part
def _kinked(kind: int, r: float, a: int, b: int, r_size: float, x_size: float) -> bool:
    return kind == VARIATIONAL and a < r * (x_size / r_size) < b


@part
def _bend_alike(p_kind: int, q_kind: int) -> bool:
    """Whether the bends of both distances lack the same factor: they are the same, or their terms are parabolas."""
    quadratic = p_kind in (SQUARED_L2, PEARSON) and q_kind in (SQUARED_L2, PEARSON)
    return quadratic or (p_kind == q_kind and p_kind != VARIATIONAL)


@part
def _is_convex_at(of: _Share, x: int) -> bool:
    """Whether the share of avoid is convex at x, if both distances bend alike. This changes at most once."""
    p_kind, p_r, p_size, q_kind, q_r, q_size, x_size, _, lam, _ = of
    return lam * _bend(q_kind, q_r, float(x), q_size, x_size) >= _bend(p_kind, p_r, float(x), p_size, x_size)


@part
def _shape(of: _Share, a: int, b: int) -> int:
    """The shape of the share over the counts a..b."""
    p_kind, p_r, p_size, q_kind, q_r, q_size, x_size, sign, lam, _ = of
    if sign > 0.0:
        return _CONVEX
    if _bend_alike(p_kind, q_kind):
        at_first = _is_convex_at(of, a)
        return _BENT if at_first != _is_convex_at(of, b) else _CONVEX if at_first else _CONCAVE
    if not _kinked(p_kind, p_r, a, b, p_size, x_size):
        most = _curvature(p_kind, p_r, float(a), p_size, x_size)
        if lam * _curvature(q_kind, q_r, float(b), q_size, x_size) >= (1.0 + _FLAT) * most:
            return _CONVEX
    if not _kinked(q_kind, q_r, a, b, q_size, x_size):
        least = _curvature(p_kind, p_r, float(b), p_size, x_size)
        if (1.0 + _FLAT) * lam * _curvature(q_kind, q_r, float(a), q_size, x_size) <= least:
            return _CONCAVE
    return _BENT


@part
def _first_rise(of: _Share, p_weight: float, q_weight: float, mu: float, low: int, high: int) -> int:
    """Where the convex function p_weight * p(x) + q_weight * q(x) - mu * x is least in low..high."""
    p_kind, p_r, p_size, q_kind, q_r, q_size, x_size, _, _, _ = of
    while low < high:
        middle = low + (high - low) // 2
        rise = -mu
        if p_weight != 0.0:
            rise += p_weight * marginal(p_kind, p_r, float(middle), p_size, x_size)
        if q_weight != 0.0:
            rise += q_weight * marginal(q_kind, q_r, float(middle), q_size, x_size)
        if rise >= 0.0:
            high = middle
        else:
            low = middle + 1
    return low


@part
def _lowest(of: _Share, a: int, b: int) -> int:
    """Where a share that is convex over a..b is least."""
    p_kind, p_r, p_size, q_kind, q_r, q_size, _, sign, lam, mu = of
    if sign < 0.0 and p_kind == q_kind and p_r == q_r and p_size == q_size:
        return _first_rise(of, 0.0, lam - 1.0, mu, a, b)
    return _first_rise(of, sign, lam, mu, a, b)


@part
def _highest(of: _Share, a: int, b: int) -> int:
    """Where a share that is concave over a..b is greatest."""
    p_kind, p_r, p_size, q_kind, q_r, q_size, _, sign, lam, mu = of
    if p_kind == q_kind and p_r == q_r and p_size == q_size:
        return _first_rise(of, 0.0, 1.0 - lam, -mu, a, b)
    return _first_rise(of, -sign, -lam, -mu, a, b)


@part
def _cut(of: _Share, a: int, b: int) -> tuple[int, int, float]:
    """Where to cut a range over which the share of avoid is neither convex nor concave, and a lower bound on the share.

    Returns the end of the first range and the beginning of the second. If both distances bend alike, one range is
    convex and the other concave. Otherwise, p never exceeds its chord, so replacing p by the chord gives a convex
    function that bounds the share.
    """
    p_kind, p_r, p_size, q_kind, q_r, q_size, x_size, _, lam, mu = of
    if _bend_alike(p_kind, q_kind):
        at_first = _is_convex_at(of, a)
        while b - a > 1:
            middle = a + (b - a) // 2
            if _is_convex_at(of, middle) == at_first:
                a = middle
            else:
                b = middle
        return a, b, -math.inf
    p_a, p_b = term(p_kind, p_r, float(a), p_size, x_size), term(p_kind, p_r, float(b), p_size, x_size)
    slope = (p_b - p_a) / (b - a)
    m = _first_rise(of, 0.0, lam, mu + slope, a, b)
    bound = lam * term(q_kind, q_r, float(m), q_size, x_size) - mu * m - (p_a + slope * (m - a))
    m = min(max(m, a + (b - a) // 4), b - (b - a) // 4)
    return m, m, bound


@kernel
def least_reduced(terms: Lagrangian, low: Ints, high: Ints, first: int, work: int, least: Floats, at: Ints) -> int:
    """Put the least share of each bin into `least`, from bin `first` on, until about `work` terms were computed.

    Returns the bin to continue with; `at` gets the counts of the minima. In resemble the share of a bin is convex. In
    avoid it may be neither convex nor concave. Then the counts are cut into ranges, until each range is convex or
    concave, or its bound is no less than the minimum so far.
    """
    p_reference, q_reference = terms.p_reference, terms.q_reference
    begin = np.empty(256, np.int64)
    end = np.empty(256, np.int64)
    i = first
    while i < len(low) and work > 0:
        of = (
            terms.p_kind, p_reference[i], terms.p_size, terms.q_kind, q_reference[i], terms.q_size,
            terms.x_size, terms.sign, terms.lam, terms.mu,
        )  # fmt: skip
        at[i] = low[i]
        best = _share(of, low[i])
        other = _share(of, high[i])
        if other < best:
            at[i], best = high[i], other
        floor = math.inf
        begin[0], end[0] = low[i], high[i]
        ranges = 1
        while ranges > 0 and work > 0:
            ranges -= 1
            a, b = begin[ranges], end[ranges]
            shape = _shape(of, a, b)
            work -= 8
            if shape == _CONCAVE:
                continue  # the minimum is at an end, and both ends have been checked
            if shape == _CONVEX:
                m = _lowest(of, a, b)
                work -= 64
                other = _share(of, m)
                if other < best:
                    at[i], best = m, other
                continue
            if b - a <= _SCANNED:
                for x in range(a + 1, b):
                    other = _share(of, x)
                    if other < best:
                        at[i], best = x, other
                work -= 2 * (b - a)
                continue
            cut, after, bound = _cut(of, a, b)
            work -= 64
            for x in (cut, after):
                other = _share(of, x)
                if other < best:
                    at[i], best = x, other
            if bound >= best - _FLAT * (1.0 + abs(best) + abs(terms.mu) * b):
                floor = min(floor, bound)
                continue
            begin[ranges], end[ranges], begin[ranges + 1], end[ranges + 1] = a, cut, after, b
            ranges += 2
        if ranges > 0:
            break
        least[i] = min(best, floor)
        i += 1
    return i


@part
def _edge(of: _Share, inside: int, outside: int, limit: float) -> int:
    """The count furthest from `inside` towards `outside` up to which the share is within the limit."""
    if _share(of, outside) <= limit:
        return outside
    while abs(outside - inside) > 1:
        middle = inside + (outside - inside) // 2
        if _share(of, middle) <= limit:
            inside = middle
        else:
            outside = middle
    return inside


@part
def _join(i: int, first: int, last: int, begin: Ints, end: Ints, hole_begin: Ints, hole_end: Ints) -> None:
    """Add the counts first..last of bin i to those before them."""
    if end[i] >= begin[i] and first - end[i] > hole_end[i] - hole_begin[i]:
        hole_begin[i], hole_end[i] = end[i], first
    begin[i] = min(begin[i], first)
    end[i] = max(end[i], last)


@kernel
def near_least(
    terms: Lagrangian, low: Ints, high: Ints, limit: Floats, begin: Ints, end: Ints, hole_begin: Ints, hole_end: Ints
) -> None:
    """Find the counts of each bin whose share is at most `limit`: the first and the last go into `begin` and `end`.

    The widest range between them without such counts goes into `hole_begin` and `hole_end`; if these are equal, it is
    empty. If a bin has no such count, its end is before its beginning. A range that would take too long is included as
    a whole.
    """
    p_reference, q_reference = terms.p_reference, terms.q_reference
    left = np.empty(256, np.int64)
    right = np.empty(256, np.int64)
    for i in range(len(low)):
        of = (
            terms.p_kind, p_reference[i], terms.p_size, terms.q_kind, q_reference[i], terms.q_size,
            terms.x_size, terms.sign, terms.lam, terms.mu,
        )  # fmt: skip
        begin[i], end[i] = high[i] + 1, low[i] - 1
        hole_begin[i] = hole_end[i] = low[i]
        left[0], right[0] = low[i], high[i]
        ranges, looks = 1, 0
        while ranges > 0:
            ranges -= 1
            looks += 1
            a, b = left[ranges], right[ranges]
            first, last = a, b
            shape = _shape(of, a, b)
            if looks > _LOOKS:
                last, ranges = high[i], 0
            elif shape == _CONVEX:
                m = _lowest(of, a, b)
                if _share(of, m) > limit[i]:
                    continue
                first, last = _edge(of, m, a, limit[i]), _edge(of, m, b, limit[i])
            elif shape == _CONCAVE:
                m = _highest(of, a, b)
                if _share(of, m) > limit[i]:
                    if _share(of, a) <= limit[i]:
                        _join(i, a, _edge(of, a, m, limit[i]), begin, end, hole_begin, hole_end)
                    if _share(of, b) > limit[i]:
                        continue
                    first = _edge(of, b, m, limit[i])
            elif b - a <= _SCANNED:
                while first <= last and _share(of, first) > limit[i]:
                    first += 1
                while first <= last and _share(of, last) > limit[i]:
                    last -= 1
                if first > last:
                    continue
            else:
                cut, after, bound = _cut(of, a, b)
                if bound <= limit[i]:  # the lower range comes first
                    left[ranges], right[ranges], left[ranges + 1], right[ranges + 1] = after, b, a, cut
                    ranges += 2
                continue
            _join(i, first, last, begin, end, hole_begin, hole_end)


@kernel
def terms_of(kind: int, r: Floats, bins: Ints, x: Ints, r_size: float, x_size: float) -> Floats:
    """The terms of single counts: x[k] in the bin bins[k]."""
    found = np.empty(len(x))
    for k in range(len(x)):
        found[k] = term(kind, r[bins[k]], float(x[k]), r_size, x_size)
    return found


class Nodes(NamedTuple):
    """A tree: the first nodes are the bins, parents come after their children, and the last node is the root.

    The root is its own parent and has no term. The children of a node form a tournament tree: that of node v is at the
    indices base[v]..base[v + 1], its winner is at base[v] + 1, and child c enters it at slot[c].
    """

    kind: int
    parent: Ints
    weight: Floats
    reference: Floats
    reference_size: float
    size: float
    base: Ints
    slot: Ints


class Greedy(NamedTuple):
    """The state of `give`: counts of the nodes, counts added to the bins, and a bin with its cost at each index."""

    x: Ints
    added: Ints
    cost: Floats
    who: Ints


@part
def _play(a: int, b: int, into: int, cost: Floats, who: Ints, added: Ints) -> None:
    """Put the winner of two indices into a third: least cost, then fewest counts added so far, then first bin."""
    first, second = who[a], who[b]
    wins = cost[a] < cost[b]
    if cost[a] == cost[b]:
        wins = first < second if added[first] == added[second] else added[first] < added[second]
    at = a if wins else b
    cost[into], who[into] = cost[at], who[at]


@kernel
def give(nodes: Nodes, low: Ints, high: Ints, so_far: Greedy, steps: int) -> None:
    """Give each of the next `steps` counts to the bin where it costs least, summed over the bin and the nodes above it.

    That sum is laminar convex in the counts. So the result is the best of its size, if `low` has the least counts. Ties
    go to the bin that was given least so far. `so_far` is changed in place; before the first call its arrays are zero.
    """
    kind, parent, weight, r, base, slot = (
        nodes.kind,
        nodes.parent,
        nodes.weight,
        nodes.reference,
        nodes.base,
        nodes.slot,
    )
    r_size, size = nodes.reference_size, nodes.size
    x, added, cost, who = so_far.x, so_far.added, so_far.cost, so_far.who
    root = len(parent) - 1
    bins = len(low)
    if x[root] == 0:
        x[:bins] = low
        for v in range(root):
            x[parent[v]] += x[v]
    for v in range(root + 1):
        top = base[v]
        for at in range((base[v + 1] - top) // 2 - 1, 0, -1):
            _play(top + 2 * at, top + 2 * at + 1, top + at, cost, who, added)
        if v < root:
            sum_ = cost[top + 1] if v >= bins else 0.0 if x[v] < high[v] else math.inf
            if weight[v] > 0.0 and sum_ < math.inf:
                sum_ += weight[v] * marginal(kind, r[v], float(x[v]), r_size, size)
            cost[slot[v]], who[slot[v]] = sum_, who[top + 1] if v >= bins else v
    for _ in range(steps):
        given = who[base[root] + 1]
        added[given] += 1
        x[root] += 1
        v = best = given
        sum_ = 0.0 if x[v] + 1 < high[v] else math.inf
        while v != root:
            x[v] += 1
            if weight[v] > 0.0 and sum_ < math.inf:
                sum_ += weight[v] * marginal(kind, r[v], float(x[v]), r_size, size)
            cost[slot[v]], who[slot[v]] = sum_, best
            top = base[parent[v]]
            at = (slot[v] - top) // 2
            while at > 0:
                _play(top + 2 * at, top + 2 * at + 1, top + at, cost, who, added)
                at //= 2
            sum_, best = cost[top + 1], who[top + 1]
            v = parent[v]
