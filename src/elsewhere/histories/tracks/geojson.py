"""GeoJSON: points with a name, such as Google's Saved Places, points with a time, and lines with a time per point."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from elsewhere.histories.coordinates import Coordinates, in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Labelled, Track, epoch, name_of
from elsewhere.histories.tracks.streams import json_items

_KEY = re.compile(rb'"type"\s*:\s*"Feature(?:Collection)?"')

_NAMES = ("name", "title", "place name", "business name")
_TIMES = ("time", "timestamp", "datetime", "date_time", "tracked_at", "when", "tst", "date")
_LINE_TIMES = ("coordtimes", "times", "timestamps")
_KINDS = ("category", "kind", "amenity", "shop", "class")


def _read(document: Document) -> Track:
    track = Track()
    for feature in json_items(document, "features"):
        geometry, said = (_folded(feature.get(key)) for key in ("geometry", "properties"))
        if geometry.get("type") == "Point":
            _add_point(track, position(geometry.get("coordinates")), said)
        elif geometry.get("type") == "LineString":
            _add_line(track, geometry.get("coordinates"), said)
    return track


def _add_point(track: Track, at: Coordinates | None, said: dict[str, Any]) -> None:
    place = _folded(said.get("location"))
    name = next(filter(None, (name_of(part.get(key)) for part in (place, said) for key in _NAMES)), "")
    if name:
        # For some places Google has only a name, and puts them at the coordinates 0, 0.
        track.places.append(Labelled(name, None if at == (0, 0) else at, _text(said, _KINDS)))
    elif place or "google maps url" in said:
        track.places += [Labelled("", at)] * (at is not None)  # saved at an unknown time
    elif (time := next((said[key] for key in _TIMES if said.get(key) is not None), None)) is not None:
        if not track.is_inexact(said.get("accuracy", said.get("horizontal_accuracy"))):
            track.add(epoch(time), at)
    elif at is not None:
        track.places.append(Labelled("", at, _text(said, _KINDS)))


def _add_line(track: Track, coordinates: Any, said: dict[str, Any]) -> None:
    properties = _folded(said.get("coordinateproperties"))
    times = next((part[key] for part in (said, properties) for key in _LINE_TIMES if key in part), None)
    if isinstance(times, list) and isinstance(coordinates, list):
        for time, at in zip(times, coordinates, strict=False):
            track.add(epoch(time), position(at))


def position(coordinates: Any) -> Coordinates | None:
    """The coordinates of a geometry, which has the longitude first."""
    if not isinstance(coordinates, list) or len(coordinates) < 2:
        return None
    return in_degrees(coordinates[1], coordinates[0])


def _folded(part: Any) -> dict[str, Any]:
    """An object with its keys in lower case, or an empty one."""
    return {key.lower(): value for key, value in part.items()} if isinstance(part, dict) else {}


def _text(said: dict[str, Any], keys: Iterable[str]) -> str:
    return next((said[key].strip() for key in keys if isinstance(said.get(key), str)), "")


FORMAT = TrackFormat("geojson", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
