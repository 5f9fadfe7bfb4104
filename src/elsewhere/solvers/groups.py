"""Group equal bins, so that allocating millions of bins takes as long as thousands."""

from __future__ import annotations

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Ints


@kernel
def group(r: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    """Put equal bins into groups: each bin's group, each group's first bin, and each group's number of bins.

    Histograms have few distinct counts, at most about the square root of twice their size, so a hash table in the
    processor's cache is faster than sorting. Its number of slots is a power of two. Most bins have a small count and no
    upper bound; their groups are looked up by that count.
    """
    n = len(r)
    member = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    copies = np.zeros(n, np.int64)
    slots = np.full(1024, -1, np.int64)
    free = np.full(1 << 14, -1, np.int64)
    top = high[0]
    for i in range(n):
        top = max(top, high[i])
    groups = 0
    for i in range(n):
        plain = 0 <= r[i] < len(free) and low[i] == r[i] and high[i] == top
        at = 0
        if plain:
            known = free[r[i]]
        else:
            if 2 * groups >= len(slots):
                slots = np.full(4 * len(slots), -1, np.int64)
                for k in range(groups):
                    j = first[k]
                    at = _slot(r[j], low[j], high[j], len(slots))
                    while slots[at] >= 0:
                        at = (at + 1) & (len(slots) - 1)
                    slots[at] = k
            at = _slot(r[i], low[i], high[i], len(slots))
            known = slots[at]
            while known >= 0 and not (
                r[first[known]] == r[i] and low[first[known]] == low[i] and high[first[known]] == high[i]
            ):
                at = (at + 1) & (len(slots) - 1)
                known = slots[at]
        if known < 0:
            known = groups
            if plain:
                free[r[i]] = groups
            else:
                slots[at] = groups
            first[groups] = i
            groups += 1
        member[i] = known
        copies[known] += 1
    return member, first[:groups].copy(), copies[:groups].copy()


@part
def _slot(r: int, low: int, high: int, slots: int) -> int:
    mixed = ((r * 31 + low) * 31 + high) * 0x9E3779B97F4A7C1
    return (mixed ^ (mixed >> 29)) & (slots - 1)
