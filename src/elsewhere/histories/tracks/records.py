"""Google Takeout's Records.json: the positions that a phone has sent, in ten millionths of a degree."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np

from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import WORST_ACCURACY, Track, epochs, numbers
from elsewhere.histories.tracks.streams import json_items
from elsewhere.model.arrays import Floats

_BATCH = 1 << 14

_KEY = re.compile(rb'"locations"\s*:\s*\[.*"(?:latitudeE7|timestampMs)"', re.DOTALL)


def _read(document: Document) -> Track:
    track, items = Track(), json_items(document, "locations")
    while some := list(islice(items, _BATCH)):
        accuracy, north, east = (
            numbers([item.get(key) for item in some]) for key in ("accuracy", "latitudeE7", "longitudeE7")
        )
        times = epochs([item.get("timestamp", item.get("timestampMs")) for item in some])
        exact = ~(accuracy > WORST_ACCURACY)
        track.inexact += int(len(some) - exact.sum())
        track.extend(times[exact], _degrees(north[exact]), _degrees(east[exact]))
    return track


def _degrees(e7: Floats) -> Floats:
    """Degrees. Old files have negative numbers without their sign."""
    return np.where(e7 >= 2**31, e7 - 2**32, e7) / 1e7


FORMAT = TrackFormat("records", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
