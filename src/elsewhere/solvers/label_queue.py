"""The labels of one partial size in order of cost: sorted lists, merged by a heap.

Each value that leads to the size has a list of the labels that it extends. Most of these would be dropped as soon as
they are processed, so the lists skip them. With few bins that have many values each, this saves nearly all the work.

Skipping must not change which labels are kept. If two labels cost the same, their order in the heap decides, and that
depends on everything in the heap. The size is then `tied`, and `labels.advance` processes it again with whole lists.
"""

from __future__ import annotations

from typing import NamedTuple

from elsewhere.kernels.jit import part
from elsewhere.model.arrays import Floats, Ints

# Rows of a layer's labels.
COST_SO_FAR, OBJECTIVE_SO_FAR, BOUND = range(3)
# Labels closer than this, relative to their sums, count as equal because of rounding.
SAME = 1e-16


class Tests(NamedTuple):
    """The numbers by which labels of one size are tested.

    `cost_left` and `objective_left` are the least cost and the least objective of a completion. `rest` is what the
    Lagrangian bound of a solution adds to that of the label.
    """

    lam: float
    budget: float
    cost_left: float
    objective_left: float
    rest: float


@part
def is_dropped(objective: float, cost: float, least: float, limit: float, tests: Tests) -> bool:
    """Whether a label is no better than one that costs no more, or cannot lead to a solution below the limit."""
    return (
        objective >= least - SAME * (1.0 + abs(least))
        or objective + tests.lam * cost + tests.rest >= limit
        or objective + tests.objective_left >= limit
    )


@part
def promising(
    label: Floats, k: int, stop: int, g: float, f: float, before: float, least: float, limit: float, tests: Tests
) -> tuple[int, bool]:
    """The first of the labels k..stop that is not dropped if a value of cost g and objective f extends it.

    Returns `stop` if all are dropped. Also returns whether the label costs the same as the one before it; `before` is
    the cost of the one before k.
    """
    lam, budget, cost_left, objective_left, rest = tests
    least -= SAME * (1.0 + abs(least))  # NaN if there is no label yet: then the comparison below is false
    while k < stop:
        cost, objective = label[COST_SO_FAR, k] + g, label[OBJECTIVE_SO_FAR, k] + f
        if cost + cost_left > budget:
            return stop, False
        # `is_dropped`, written out: most labels end here, and interpreted calls take long.
        dropped = objective >= least or objective + lam * cost + rest >= limit or objective + objective_left >= limit
        if not dropped:
            return k, cost == before
        before = cost
        k += 1
    return stop, False


@part
def settle(key: Floats, head: Ints, stop: Ints, entry: Ints, lists: int, at: int) -> None:
    """Move list `at` down the queue until its next label, by cost and then objective, comes after its parent's."""
    while 2 * at + 1 < lists:
        child = 2 * at + 1
        if child + 1 < lists and (
            key[0, child + 1] < key[0, child]
            or (key[0, child + 1] == key[0, child] and key[1, child + 1] < key[1, child])
        ):
            child += 1
        if key[0, at] < key[0, child] or (key[0, at] == key[0, child] and key[1, at] <= key[1, child]):
            break
        key[0, at], key[0, child] = key[0, child], key[0, at]
        key[1, at], key[1, child] = key[1, child], key[1, at]
        head[at], head[child] = head[child], head[at]
        stop[at], stop[child] = stop[child], stop[at]
        entry[at], entry[child] = entry[child], entry[at]
        at = child
