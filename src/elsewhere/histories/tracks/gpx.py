"""GPX: the positions of tracks, and waypoints, which name places. Routes are plans and do not count."""

from __future__ import annotations

import re

from elsewhere.histories.coordinates import Coordinates, in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Labelled, Track, epoch, name_of
from elsewhere.histories.tracks.streams import parse_xml

_ROOT = re.compile(rb"<(?:\w+:)?gpx[\s>]")


def _read(document: Document) -> Track:
    track = Track()
    at: Coordinates | None = None
    said: dict[str, str] = {}

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal at
        if element in ("trkpt", "wpt"):
            at = in_degrees(attributes.get("lat"), attributes.get("lon"))
            said.clear()

    def end(element: str, text: str) -> None:
        if element in ("time", "name", "type"):
            said[element] = text
        elif element == "trkpt":
            track.add(epoch(said.get("time")), at)
        elif element == "wpt" and at is not None:
            name, time = name_of(said.get("name")), epoch(said.get("time"))
            if name or time is None:
                track.places.append(Labelled(name, at, said.get("type", "")))
            else:
                track.add(time, at)

    parse_xml(document, start, end)
    return track


FORMAT = TrackFormat("gpx", lambda document: bool(_ROOT.search(document.beginning)), _read, 900.0)
