"""Find stays in positions, and places in stays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsewhere.histories.tracks.points import Points
from elsewhere.kernels.first_answers import soonest
from elsewhere.model.arrays import Flags, Floats, Ints

#: Up to this many positions, interpreting is faster than loading the compiler.
_FEW = 20_000


@dataclass(frozen=True)
class Stays:
    """The starts and ends of stays, in seconds since 1970, and their middles, in degrees."""

    begins: Floats
    ends: Floats
    latitudes: Floats
    longitudes: Floats

    def __len__(self) -> int:
        return len(self.begins)

    def of(self, kept: Flags) -> Stays:
        """The stays that are kept."""
        return Stays(self.begins[kept], self.ends[kept], self.latitudes[kept], self.longitudes[kept])


def find_stays(points: Points, stay: float, radius: float, gap: float = math.inf) -> Stays:
    """The stays of at least `stay` seconds within `radius` metres of their first position.

    A stay ends with the first position outside, or with the track. After a pause of more than `gap` seconds the search
    starts again. The stays equal those of trackintel's ``generate_staypoints`` with ``include_last=True``.
    """
    from elsewhere.histories.tracks import kernels

    times, latitudes, longitudes = (_ready(column) for column in points)
    begins, ends = np.empty(len(times), dtype=np.int64), np.empty(len(times), dtype=np.int64)

    def find() -> tuple[int, Floats, Floats]:
        found = kernels.find_stays(times, latitudes, longitudes, float(stay), float(radius), float(gap), begins, ends)
        return found, *kernels.middles(latitudes, longitudes, begins[:found].copy(), ends[:found].copy())

    found, *middles = soonest(find, len(times) <= _FEW)
    begins, ends = begins[:found], ends[:found]
    return Stays(times[begins], times[np.minimum(ends, len(times) - 1)], *middles)


def same_place(latitudes: Floats, longitudes: Floats, reach: float) -> Ints:
    """The number of the place of each position: chains of positions at most `reach` metres apart are one place.

    This is DBSCAN with a minimum of one point. Places are numbered by their first position.
    """
    from elsewhere.histories.tracks import kernels

    if not len(latitudes):
        return np.empty(0, dtype=np.int64)
    # As points of the sphere, positions have no date line and no poles; near along it means near through it.
    sphere = on_sphere(latitudes, longitudes) * kernels.EARTH
    chord = 2 * kernels.EARTH * math.sin(min(reach / (2 * kernels.EARTH), math.pi / 2))
    grid = np.floor(sphere / (chord / math.sqrt(3) * (1 - 1e-9))).astype(np.int64)
    cells, cell_of = np.unique(grid, axis=0, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    order = np.argsort(cell_of, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(cell_of, minlength=len(cells))))).astype(np.int64)
    cells, sphere = np.ascontiguousarray(cells), sphere[order]
    component = soonest(lambda: kernels.connect(cells, starts, sphere, chord), len(latitudes) <= _FEW)[cell_of]
    _, first, number = np.unique(component, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number.reshape(-1)]


def on_sphere(latitudes: Floats, longitudes: Floats) -> Floats:
    """Positions in degrees as points of the unit sphere, one row each."""
    north, east = np.radians(latitudes), np.radians(longitudes)
    return np.column_stack((np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)))


def _ready(column: Floats) -> Floats:
    """Contiguous and writable, so that the kernel is compiled once."""
    return np.require(column, dtype=np.float64, requirements=["C", "W"])
