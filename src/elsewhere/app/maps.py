"""The map of a history: its places, and the land around them. Nothing comes from the network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from elsewhere.app.session import OpenHistory
from elsewhere.model.errors import InputError

#: The package with the land: a grid with this many cells per degree, starting in the north at the date line.
_PACKAGE, _FILE, _GRID = "global_land_mask", "globe_combined_mask_compressed.npz", "mask.npy"
_PER_DEGREE = 120
_ROWS, _COLUMNS = 180 * _PER_DEGREE, 360 * _PER_DEGREE
#: The most cells in the width or height of a map.
_FINEST = 240


class Window(NamedTuple):
    """The part of the world that a map shows, in degrees. The east may be beyond 180."""

    west: float
    south: float
    east: float
    north: float


def places(opened: OpenHistory) -> list[dict[str, Any]]:
    """The places that have coordinates."""
    histogram = opened.history.histogram
    found = ((name, opened.history.coordinates.get(name)) for name in histogram.locations)
    return [{"name": name, "latitude": at[0], "longitude": at[1]} for name, at in found if at is not None]


def window(west: str, south: str, east: str, north: str) -> Window:
    """The window that a query asks for."""
    try:
        asked = Window(float(west), float(south), float(east), float(north))
    except ValueError:
        raise InputError("west, south, east and north must be numbers") from None
    if not (all(map(math.isfinite, asked)) and asked.west < asked.east and asked.south < asked.north):
        raise InputError("the window must have a west, a south, an east and a north that are in order")
    if max(map(abs, asked)) > 1000:
        raise InputError("the window is larger than the world")
    return asked


@lru_cache(maxsize=16)
def land(asked: Window) -> dict[str, Any] | None:
    """The land in a window as a path of cells; None if the package that has it is not installed."""
    file = _file()
    if file is None:
        return None
    step = max(1, math.ceil(max(asked.east - asked.west, asked.north - asked.south) * _PER_DEGREE / _FINEST))
    top, bottom = (_PER_DEGREE * (90 - edge) for edge in (asked.north, asked.south))
    first, left = math.floor(top / step), math.floor(_PER_DEGREE * (180 + asked.west) / step)
    many = math.ceil(_PER_DEGREE * (asked.east - asked.west) / step) + 1
    columns = (step * (left + np.arange(many)) + step // 2) % _COLUMNS
    rows = [at for at in range(first, math.ceil(bottom / step) + 1) if 0 <= step * at + step // 2 < _ROWS]
    drawn = (
        f"M{begin} {at - first}h{end - begin}v1h{begin - end}z"
        for at, row in zip(rows, _cells(file, [step * at + step // 2 for at in rows]), strict=True)
        for begin, end in _runs(row[columns])
    )
    cell = step / _PER_DEGREE
    return {"west": cell * left - 180, "north": 90 - cell * first, "cell": cell, "path": "".join(drawn)}


def _file() -> Path | None:
    # Importing the package would unpack a gigabyte.
    found = find_spec(_PACKAGE)
    folder = None if found is None else found.submodule_search_locations
    path = Path(folder[0]) / _FILE if folder else None
    return path if path is not None and path.is_file() else None


def _cells(file: Path, rows: list[int]) -> Iterator[NDArray[np.bool_]]:
    """Rows of the grid in order, with only one in memory at a time; True is land."""
    with ZipFile(file) as packed, packed.open(_GRID) as grid:
        np.lib.format.read_magic(grid)
        np.lib.format.read_array_header_1_0(grid)
        begins = grid.tell()
        for row in rows:
            grid.seek(begins + row * _COLUMNS)
            yield np.frombuffer(grid.read(_COLUMNS), dtype=np.bool_) ^ True


def _runs(row: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where land begins and ends in a row."""
    edges = np.flatnonzero(np.diff(row.astype(np.int8), prepend=0, append=0)).tolist()
    return zip(edges[::2], edges[1::2], strict=True)
