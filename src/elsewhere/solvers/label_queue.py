"""The extensions of labels to one partial size, in the order of cost: sorted lists, merged by a heap.

Each value that leads to the size has a list: the labels that it extends. Most of them would be dropped as soon as they
are looked at, so lists skip them: with few bins of many values each, that is nearly all the work. Skipping must not
change which labels are kept. Where two of them cost the same, their order in the heap decides, and that depends on
everything in it. Such a size is `tied`: the caller looks at it again, with `whole` lists.
"""

from __future__ import annotations

from typing import NamedTuple

from elsewhere.kernels.jit import kernel
from elsewhere.model.arrays import Floats, Ints

# Rows of a layer's labels.
COST_SO_FAR, OBJECTIVE_SO_FAR, BOUND = range(3)
# Labels closer than this, relative to the sums at hand, are the same to floating point.
SAME = 1e-16


class Tests(NamedTuple):
    """What a label must pass: its cost fits the budget, and its bounds are below a limit.

    The rest are the least cost, the least objective and the bound of what completes it.
    """

    lam: float
    budget: float
    cost_left: float
    objective_left: float
    rest: float


@kernel
def is_dropped(objective: float, cost: float, least: float, limit: float, tests: Tests) -> bool:
    """Whether a label within the budget is no better than one that costs no more, or cannot be below the limit."""
    return (
        objective >= least - SAME * (1.0 + abs(least))
        or objective + tests.lam * cost + tests.rest >= limit
        or objective + tests.objective_left >= limit
    )


@kernel
def promising(
    label: Floats, k: int, stop: int, g: float, f: float, before: float, least: float, limit: float, tests: Tests
) -> tuple[int, bool]:
    """The first of the labels k..stop that is kept if a value of cost g and objective f extends it, so far as is known.

    Also returns whether it costs the same as the label before it; `before` is the cost of the one before k.
    """
    while k < stop:
        cost, objective = label[COST_SO_FAR, k] + g, label[OBJECTIVE_SO_FAR, k] + f
        if cost + tests.cost_left > tests.budget:
            return stop, False
        if not is_dropped(objective, cost, least, limit, tests):
            return k, cost == before
        before = cost
        k += 1
    return stop, False


@kernel
def settle(key: Floats, head: Ints, stop: Ints, entry: Ints, lists: int, at: int) -> None:
    """Sink list `at` of the queue to where its next label, by cost and then objective, comes after its parent's."""
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
