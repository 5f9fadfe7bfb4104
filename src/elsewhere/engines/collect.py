"""Turn the rows of many users, in any order, into the bins of each user."""

from __future__ import annotations

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Ints


@kernel
def collect_bins(user: Ints, location: Ints, counts: Ints, users: int) -> tuple[Ints, Ints, Ints, Ints, bool]:
    """Group rows in any order by user, and sort the bins of each user by location.

    Returns where each user's bins begin and end, the first row of each user, the locations and counts, and whether any
    user has a location more than once.
    """
    offset = np.zeros(users + 1, np.int64)
    for u in user:
        offset[u + 1] += 1
    offset = np.cumsum(offset)
    end = offset[:-1].copy()
    first = np.empty(users, np.int64)
    locations, numbers = np.empty_like(location), np.empty_like(counts)
    for i in range(len(user)):
        u = user[i]
        if end[u] == offset[u]:
            first[u] = i
        locations[end[u]], numbers[end[u]] = location[i], counts[i]
        end[u] += 1
    return offset, first, locations, numbers, _sort_bins(offset, locations, numbers)


@part
def _sort_bins(offset: Ints, location: Ints, counts: Ints) -> bool:
    """Sort the bins of each user by location; return whether any user has a location more than once."""
    repeated = False
    for u in range(len(offset) - 1):
        first, last = offset[u], offset[u + 1]
        if last - first > 64:
            order = np.argsort(location[first:last])
            location[first:last] = location[first:last][order]
            counts[first:last] = counts[first:last][order]
        else:
            for i in range(first + 1, last):
                where, count = location[i], counts[i]
                j = i
                while j > first and location[j - 1] > where:
                    location[j] = location[j - 1]
                    counts[j] = counts[j - 1]
                    j -= 1
                location[j], counts[j] = where, count
        for i in range(first + 1, last):
            repeated |= location[i - 1] == location[i]
    return repeated
