"""KML, also in a KMZ: tracks, points with a time, and points with a time span, which are visits.

Points without any time are named places. Lines without times, such as the paths in Google's old Timeline, do not count.
"""

from __future__ import annotations

import re

from elsewhere.histories.coordinates import Coordinates, in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Labelled, Track, epoch, name_of
from elsewhere.histories.tracks.streams import parse_xml

_ROOT = re.compile(rb"<(?:\w+:)?kml[\s>]")


class _Placemarks:
    """Collects the elements of one placemark after the other."""

    def __init__(self) -> None:
        self.track = Track()
        self._path: list[str] = []
        self._said: dict[str, str] = {}
        self._at: Coordinates | None = None
        self._times: list[float | None] = []
        self._positions: list[Coordinates | None] = []

    def start(self, element: str, _: dict[str, str]) -> None:
        self._path.append(element)
        if element == "Placemark":
            self._said, self._at = {}, None
        elif element == "Track":
            self._times, self._positions = [], []

    def end(self, element: str, text: str) -> None:
        self._path.pop()
        inside = self._path[-1] if self._path else ""
        if inside == "Track":
            if element == "when":
                self._times.append(epoch(text))
            elif element == "coord":
                self._positions.append(_position(text.split()))
        elif element in ("begin", "end", "when") or (element == "name" and inside == "Placemark"):
            self._said[element] = text
        elif element == "coordinates" and inside == "Point":
            self._at = _position(text.split(","))
        elif element == "Track":
            for time, at in zip(self._times, self._positions, strict=False):
                self.track.add(time, at)
            self.track.incomplete += abs(len(self._times) - len(self._positions))
        elif element == "Placemark" and self._at is not None:
            self._add(self._at, name_of(self._said.get("name")))

    def _add(self, at: Coordinates, name: str) -> None:
        if "begin" in self._said or "end" in self._said:
            self.track.visits.append(Labelled(name, at, time=self._said.get("begin", self._said.get("end"))))
        elif "when" in self._said:
            self.track.add(epoch(self._said["when"]), at)
        else:
            self.track.places.append(Labelled(name, at))


def _position(parts: list[str]) -> Coordinates | None:
    return in_degrees(parts[1], parts[0]) if len(parts) >= 2 else None


def _read(document: Document) -> Track:
    found = _Placemarks()
    parse_xml(document, found.start, found.end)
    return found.track


FORMAT = TrackFormat("kml", lambda document: bool(_ROOT.search(document.beginning)), _read, 900.0)
