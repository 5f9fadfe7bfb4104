"""The two compiled loops over many positions: find stays, and find which stays are at one place."""

from __future__ import annotations

import math

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Floats, Ints

#: The mean radius of the earth in metres.
EARTH = 6_371_000.0


@part
def distance(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Metres along the sphere between two positions in degrees (haversine)."""
    first, second = math.radians(latitude), math.radians(other_latitude)
    north = math.sin((second - first) / 2)
    east = math.sin((math.radians(other_longitude) - math.radians(longitude)) / 2)
    share = north * north + math.cos(first) * math.cos(second) * east * east
    return 2 * EARTH * math.asin(min(1.0, math.sqrt(share)))


@kernel
def find_stays(
    times: Floats,
    latitudes: Floats,
    longitudes: Floats,
    stay: float,
    radius: float,
    gap: float,
    begins: Ints,
    ends: Ints,
) -> int:
    """Fill in the starts and ends of stays, and return their number.

    Li et al. (2008), Mining user similarity based on location history: a stay begins with a position and ends with the
    first one that is at least `radius` away, if that is at least `stay` later. After a gap the search starts again.
    """
    found, start = 0, 0
    number = len(times)
    for at in range(1, number):
        if times[at] - times[at - 1] > gap:
            start = at
        elif distance(latitudes[start], longitudes[start], latitudes[at], longitudes[at]) >= radius:
            if times[at] - times[start] >= stay:
                begins[found], ends[found] = start, at
                found += 1
            start = at
    if number and times[number - 1] - times[start] >= stay:
        begins[found], ends[found] = start, number
        found += 1
    return found


@kernel
def middles(latitudes: Floats, longitudes: Floats, begins: Ints, ends: Ints) -> tuple[Floats, Floats]:
    """The mean of the positions of each stay in degrees, also across the date line."""
    north, east = np.empty(len(begins)), np.empty(len(begins))
    for stay in range(len(begins)):
        x, y, z = 0.0, 0.0, 0.0
        for at in range(begins[stay], ends[stay]):
            latitude, longitude = math.radians(latitudes[at]), math.radians(longitudes[at])
            x += math.cos(latitude) * math.cos(longitude)
            y += math.cos(latitude) * math.sin(longitude)
            z += math.sin(latitude)
        north[stay] = math.degrees(math.atan2(z, math.hypot(x, y)))
        east[stay] = math.degrees(math.atan2(y, x))
    return north, east


@kernel
def connect(cells: Ints, starts: Ints, positions: Floats, reach: float) -> Ints:
    """The component of each cell: cells are connected if positions in them are at most `reach` apart.

    `cells` has the three coordinates of each cell, sorted; the positions of a cell begin at `starts`. Positions within
    one cell are always close enough to each other.
    """
    number = len(cells)
    parent = np.arange(number)
    for cell in range(number):
        for x in range(3):
            for y in range(-2, 3):
                for z in range(-2, 3):
                    if x == 0 and (y < 0 or (y == 0 and z <= 0)):
                        continue  # this pair was checked from the other side
                    other = _find(cells, cells[cell, 0] + x, cells[cell, 1] + y, cells[cell, 2] + z)
                    if other < 0:
                        continue
                    mine, theirs = _root(parent, cell), _root(parent, other)
                    if mine != theirs and _touch(starts, positions, cell, other, reach):
                        parent[max(mine, theirs)] = min(mine, theirs)
    for cell in range(number):
        parent[cell] = _root(parent, cell)
    return parent


@part
def _find(cells: Ints, x: int, y: int, z: int) -> int:
    """The number of a cell, or -1."""
    low, high = 0, len(cells)
    while low < high:
        middle = (low + high) // 2
        a, b, c = cells[middle, 0], cells[middle, 1], cells[middle, 2]
        if a < x or (a == x and (b < y or (b == y and c < z))):
            low = middle + 1
        else:
            high = middle
    if low < len(cells) and cells[low, 0] == x and cells[low, 1] == y and cells[low, 2] == z:
        return low
    return -1


@part
def _root(parent: Ints, cell: int) -> int:
    while parent[cell] != cell:
        parent[cell] = parent[parent[cell]]
        cell = parent[cell]
    return cell


@part
def _touch(starts: Ints, positions: Floats, cell: int, other: int, reach: float) -> bool:
    for one in range(starts[cell], starts[cell + 1]):
        for two in range(starts[other], starts[other + 1]):
            x = positions[one, 0] - positions[two, 0]
            y = positions[one, 1] - positions[two, 1]
            z = positions[one, 2] - positions[two, 2]
            if x * x + y * y + z * z <= reach * reach:
                return True
    return False
