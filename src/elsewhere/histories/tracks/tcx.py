"""TCX, Garmin's training files: positions with times. Points without a position, as of a treadmill, do not count."""

from __future__ import annotations

import re

from elsewhere.histories.coordinates import in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Track, epoch
from elsewhere.histories.tracks.streams import parse_xml

_ROOT = re.compile(rb"<(?:\w+:)?TrainingCenterDatabase[\s>]")


def _read(document: Document) -> Track:
    track = Track()
    said: dict[str, str] = {}

    def start(element: str, _: dict[str, str]) -> None:
        if element == "Trackpoint":
            said.clear()

    def end(element: str, text: str) -> None:
        if element in ("Time", "LatitudeDegrees", "LongitudeDegrees"):
            said[element] = text
        elif element == "Trackpoint" and "LatitudeDegrees" in said:
            at = in_degrees(said["LatitudeDegrees"], said.get("LongitudeDegrees"))
            track.add(epoch(said.get("Time")), at)

    parse_xml(document, start, end)
    return track


FORMAT = TrackFormat("tcx", lambda document: bool(_ROOT.search(document.beginning)), _read, 900.0)
