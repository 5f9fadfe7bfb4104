"""Names for places, without any network: the nearest place in the person's own table, or in the file itself."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.tracks.points import Labelled
from elsewhere.histories.tracks.stays import on_sphere

#: Metres in a degree of latitude, rounded down so that no place is missed.
_DEGREE = 111_000.0
_EARTH = 6_371_000.0


class Gazetteer:
    """Places with names, found by their coordinates."""

    def __init__(self, places: Iterable[Labelled]) -> None:
        self._places = [place for place in places if place.name and place.at is not None]
        at = np.array([place.at for place in self._places], dtype=np.float64).reshape(-1, 2)
        # Sorted by latitude, places that may be near are neighbours.
        self._order = np.argsort(at[:, 0], kind="stable")
        self._latitudes = at[self._order, 0]
        self._longitudes = at[self._order, 1]

    def __len__(self) -> int:
        return len(self._places)

    def nearest(self, at: Coordinates, radius: float) -> Labelled | None:
        """The nearest place within `radius` metres; of several at one spot the first by name."""
        if not self._places:
            return None
        margin = radius / _DEGREE
        low, high = np.searchsorted(self._latitudes, [at[0] - margin, at[0] + margin])
        if low == high:
            return None
        near = on_sphere(self._latitudes[low:high], self._longitudes[low:high])
        chords = np.linalg.norm(near - on_sphere(np.array([at[0]]), np.array([at[1]])), axis=1)
        metres = 2 * _EARTH * np.arcsin(np.minimum(chords / 2, 1))
        least = metres.min()
        if least > radius:
            return None
        tied = self._order[low:high][metres == least]
        which: list[int] = tied.tolist()
        return min((self._places[at] for at in which), key=lambda place: (place.name, place.kind))
