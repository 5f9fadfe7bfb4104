"""Overland: what the app sends, a list of GeoJSON features under ``locations``."""

from __future__ import annotations

import re

from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.geojson import position
from elsewhere.histories.tracks.points import Track, epoch
from elsewhere.histories.tracks.streams import json_items

_KEY = re.compile(rb'"locations"\s*:\s*\[\s*\{.*"geometry"\s*:', re.DOTALL)


def _read(document: Document) -> Track:
    track = Track()
    for item in json_items(document, "locations"):
        geometry, said = (part if isinstance(part := item.get(key), dict) else {} for key in ("geometry", "properties"))
        if not track.is_inexact(said.get("horizontal_accuracy")):
            track.add(epoch(said.get("timestamp")), position(geometry.get("coordinates")))
    return track


FORMAT = TrackFormat("overland", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
