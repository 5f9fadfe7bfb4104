"""Google Takeout's Records.json: the positions that a phone has sent, in ten millionths of a degree."""

from __future__ import annotations

import re

from elsewhere.histories.coordinates import in_e7
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Track, epoch
from elsewhere.histories.tracks.streams import json_items

_KEY = re.compile(rb'"locations"\s*:\s*\[.*"(?:latitudeE7|timestampMs)"', re.DOTALL)


def _read(document: Document) -> Track:
    track = Track()
    for item in json_items(document, "locations"):
        if track.is_inexact(item.get("accuracy")):
            continue
        time = item.get("timestamp")
        at = in_e7(item.get("latitudeE7"), item.get("longitudeE7"))
        track.add(epoch(item.get("timestampMs") if time is None else time), at)
    return track


FORMAT = TrackFormat("records", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
