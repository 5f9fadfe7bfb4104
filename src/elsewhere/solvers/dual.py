"""The Lagrangian dual of choosing one value per bin, given a size and a budget.

Every bin i takes one of its values x at objective f_i(x) and cost g_i(x); the values must sum to `size` and the costs
to at most `budget`. For a cost multiplier lam >= 0 and a size multiplier mu,

    D(lam, mu) = sum_i min_x (f_i(x) + lam g_i(x) - mu x) - lam budget + mu size

is a lower bound on the least total objective. D is concave and piecewise linear, so in one dimension its maximum is
found by intersecting tangents; the two dimensions are nested. Bins with many values are handled by column generation:
the dual of a few values of each bin is maximised, and one pass over the rest finds the values that it lacks.
`maximise` does a bounded amount of work per call, so that the caller can check the clock in between.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.kernels.jit import items, kernel, part
from elsewhere.model.arrays import Flags, Floats, Ints

_CONVERGED = 1e-15
_STEPS = 200
# Roughly how many passes over the few values it takes to find their best multipliers.
_EVALUATIONS = 500
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# A cost multiplier beyond this, and this far beyond the first, is not searched for. The bound is still valid without
# it, only weaker.
_LARGEST = 1e30
_FAR = 1e6


@part
def _evaluate(start: Ints, value: Ints, f: Floats, g: Floats, lam: float, mu: float) -> tuple[float, float, float]:
    """The sum of the bins' minima, and the sums of the values and of the costs at the minima."""
    start, value, f, g = items(start), items(value), items(f), items(g)
    total = 0.0
    taken = 0.0  # integers, but their sum may exceed 64 bits
    cost = 0.0
    best = best_value = best_cost = 0.0
    bin_, next_ = 0, start[0]
    for e in range(len(f)):  # a single loop takes half the time of nested ones
        x, c = value[e], g[e]
        reduced = f[e] + lam * c - mu * x
        if e == next_:
            total += best
            taken += best_value
            cost += best_cost
            bin_ += 1
            next_ = start[bin_]
            best, best_value, best_cost = reduced, x, c
        elif reduced < best:
            best, best_value, best_cost = reduced, x, c
    return total + best, taken + best_value, cost + best_cost


@part
def _maximise_mu(
    start: Ints, value: Ints, f: Floats, g: Floats, size: int, lam: float, mu: float, step: float
) -> tuple[float, float, float]:
    """The best mu for a given lam, searched from `mu` in growing steps.

    Returns it with max D + lam budget, and the cost of the mixture of two solutions that has the wanted size. This
    cost minus the budget is the slope of max_mu D along lam.
    """
    total, taken, cost = _evaluate(start, value, f, g, lam, mu)
    left, left_dual, left_taken, left_cost = mu, total + mu * size, taken, cost
    right, right_dual, right_taken, right_cost = left, left_dual, left_taken, left_cost
    while right_taken < size and step < math.inf:
        left, left_dual, left_taken, left_cost = right, right_dual, right_taken, right_cost
        right += step
        step *= 4.0
        total, right_taken, right_cost = _evaluate(start, value, f, g, lam, right)
        right_dual = total + right * size
    while left_taken > size and step < math.inf:
        right, right_dual, right_taken, right_cost = left, left_dual, left_taken, left_cost
        left -= step
        step *= 4.0
        total, left_taken, left_cost = _evaluate(start, value, f, g, lam, left)
        left_dual = total + left * size
    for _ in range(_STEPS):
        up, down = float(size - left_taken), float(size - right_taken)
        if up <= 0.0 or down >= 0.0:
            break
        mu = (right_dual - left_dual + up * left - down * right) / (up - down)
        peak = left_dual + up * (mu - left)
        if not left < mu < right:
            break
        total, taken, cost = _evaluate(start, value, f, g, lam, mu)
        dual = total + mu * size
        if taken <= size:
            left, left_dual, left_taken, left_cost = mu, dual, taken, cost
        else:
            right, right_dual, right_taken, right_cost = mu, dual, taken, cost
        if dual >= peak - _CONVERGED * (1.0 + abs(peak)):
            break
    mixed = left_cost
    if left_taken != size and right_taken > left_taken:
        mixed += (size - left_taken) / (right_taken - left_taken) * (right_cost - left_cost)
    if left_taken == size or left_dual >= right_dual:
        return left, left_dual, mixed
    return right, right_dual, mixed


@kernel
def maximise_few(
    start: Ints,
    value: Ints,
    f: Floats,
    g: Floats,
    size: int,
    budget: float,
    lam: float,
    mu: float,
    step: float,
) -> tuple[float, float, float]:
    """The best lam and mu, searched from the given ones, and D there."""
    if budget == math.inf:
        mu, dual, _ = _maximise_mu(start, value, f, g, size, 0.0, mu, step)
        return 0.0, mu, dual
    factor = 1.1
    smallest, largest = lam * 1e-12, max(lam * _FAR, _LARGEST)
    mu, dual, cost = _maximise_mu(start, value, f, g, size, lam, mu, step)
    left, left_mu, left_dual, left_cost = lam, mu, dual - lam * budget, cost
    right, right_mu, right_dual, right_cost = left, left_mu, left_dual, left_cost
    while right_cost > budget and right < largest:
        left, left_mu, left_dual, left_cost = right, right_mu, right_dual, right_cost
        right *= factor
        factor = min(16.0, factor * factor)
        right_mu, dual, right_cost = _maximise_mu(start, value, f, g, size, right, right_mu, step * factor)
        right_dual = dual - right * budget
    while left_cost < budget and left > 0.0:
        right, right_mu, right_dual, right_cost = left, left_mu, left_dual, left_cost
        left = left / factor if left / factor > smallest else 0.0
        factor = min(16.0, factor * factor)
        left_mu, dual, left_cost = _maximise_mu(start, value, f, g, size, left, left_mu, step)
        left_dual = dual - left * budget
    for _ in range(_STEPS):
        up, down = left_cost - budget, right_cost - budget
        if up <= 0.0 or down >= 0.0:
            break
        lam = (right_dual - left_dual + up * left - down * right) / (up - down)
        peak = left_dual + up * (lam - left)
        if not left < lam < right:
            break
        mu = left_mu + (right_mu - left_mu) * (lam - left) / (right - left)
        mu, dual, cost = _maximise_mu(start, value, f, g, size, lam, mu, step * 0.01)
        dual -= lam * budget
        if cost > budget:
            left, left_mu, left_dual, left_cost = lam, mu, dual, cost
        else:
            right, right_mu, right_dual, right_cost = lam, mu, dual, cost
        if dual >= peak - _CONVERGED * (1.0 + abs(peak)):
            break
    if left_dual >= right_dual:
        return left, left_mu, left_dual
    return right, right_mu, right_dual


class Ascent(NamedTuple):
    """The state of the search for the maximum of D: the best multipliers so far, with the bound that they prove."""

    lam: float
    mu: float
    bound: float
    #: The values in use (none before the first call), their best multipliers, and the step.
    held: Flags
    next_lam: float
    next_mu: float
    step: float
    #: Whether the multipliers are optimal.
    done: bool


def beginning(lam: float, mu: float) -> Ascent:
    """The state before the first call, with a guess of the multipliers; lam < 0 means no guess."""
    return Ascent(0.0, 0.0, -math.inf, np.zeros(0, np.bool_), lam, mu, 0.0, False)


@kernel
def maximise(
    start: Ints, low: Ints, f: Floats, g: Floats, size: int, budget: float, known: Ints, work: int, so_far: Ascent
) -> tuple[float, float, float, Flags, float, float, float, bool]:
    """Continue towards the lam and mu that maximise D over whole tables, until about `work` values were visited.

    Bin i has the values low[i], low[i] + 1, ... with objective and cost at start[i]..start[i + 1]; an infinite
    objective marks a value that is not allowed. `known` is a feasible choice, or empty. With a finite budget one is
    required: otherwise the first few values may allow none, and D has no maximum. Returns the fields of `Ascent`.
    """
    start, low, f, g = items(start), items(low), items(f), items(g)
    n = len(start) - 1
    held, lam, mu, step = so_far.held, so_far.next_lam, so_far.next_mu, so_far.step
    best_lam, best_mu, best = so_far.lam, so_far.mu, so_far.bound
    if len(held) == 0:
        held = np.zeros(len(f), np.bool_)
        is_held = items(held)
        least_sum = 0.0
        f_span = 0.0
        g_span = 0.0
        steps = 0
        for i in range(n):
            first = last = -1
            least_f = least_g = -1
            for e in range(start[i], start[i + 1]):
                if f[e] < math.inf:
                    if first < 0:
                        first = least_f = least_g = e
                    last = e
                    if f[e] < f[least_f]:
                        least_f = e
                    if g[e] < g[least_g]:
                        least_g = e
            for e in (first, last, least_f, least_g):
                is_held[e] = True
            if len(known) > 0:
                is_held[start[i] + known[i] - low[i]] = True
            least_sum += f[least_f]
            f_span += abs(f[last] - f[least_f]) + abs(f[first] - f[least_f])
            g_span += abs(g[last] - g[least_g]) + abs(g[first] - g[least_g])
            steps += last - first
        if lam < 0.0:
            lam = f_span / g_span if g_span > 0.0 and f_span > 0.0 else 1.0
        step = max(1e-300, 0.05 * f_span / max(1, steps))
        best = least_sum - _ROUNDING * abs(least_sum)
        work -= len(f)
    is_held = items(held)
    # Bins with a single value only shift the size, the budget and D, so only the other bins take part.
    free = fixed_value = 0
    fixed_f = fixed_g = 0.0
    for i in range(n):
        if start[i + 1] - start[i] > 1:
            free += 1
        else:
            fixed_value += low[i]
            fixed_f += f[start[i]]
            fixed_g += g[start[i]]
    done = False
    while not done and work > 0:
        lam = max(lam, 1e-9)
        few = free - n
        for e in range(len(f)):
            few += is_held[e]
        few_start = np.zeros(free + 1, np.int64)
        few_value = np.empty(few, np.int64)
        few_f = np.empty(few)
        few_g = np.empty(few)
        k = bin_ = 0
        for i in range(n):
            if start[i + 1] - start[i] == 1:
                continue
            for e in range(start[i], start[i + 1]):
                if is_held[e]:
                    few_value[k] = low[i] + e - start[i]
                    few_f[k] = f[e]
                    few_g[k] = g[e]
                    k += 1
            bin_ += 1
            few_start[bin_] = k
        lam, mu, hoped = maximise_few(
            few_start, few_value, few_f, few_g, size - fixed_value, budget - fixed_g, lam, mu, step
        )
        hoped += fixed_f
        total = 0.0
        rounding = abs(mu) * size
        lacking = False
        for i in range(n):
            least = math.inf
            at = start[i]
            for e in range(start[i], start[i + 1]):
                reduced = f[e] + lam * g[e] - mu * (e - start[i])
                if reduced < least:
                    least = reduced
                    at = e
            total += least - mu * low[i]
            rounding += abs(least) + abs(mu) * low[i]
            if not is_held[at]:
                for e in range(max(start[i], at - 1), min(start[i + 1], at + 2)):
                    if f[e] < math.inf and not is_held[e]:
                        is_held[e] = lacking = True
        dual = total + mu * size
        if lam > 0.0:
            dual -= lam * budget
            rounding += lam * abs(budget)
        dual -= _ROUNDING * rounding  # so that the bound holds despite rounding
        if dual > best:
            best_lam, best_mu, best = lam, mu, dual
        done = not lacking or dual >= hoped - _CONVERGED * (1.0 + abs(hoped))
        work -= 3 * len(f) + _EVALUATIONS * few
    return best_lam, best_mu, best, held, lam, mu, step, done
