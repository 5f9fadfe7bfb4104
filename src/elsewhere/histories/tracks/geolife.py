"""GeoLife's ``.plt`` files: six lines of head, then latitude, longitude, 0, altitude, day number, date and time."""

from __future__ import annotations

import re
from itertools import islice

from elsewhere.histories.coordinates import in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Track, epoch
from elsewhere.model.errors import InputError

_HEAD = re.compile(rb"(?:Geolife trajectory|OziExplorer Track Point File[^\r\n]*)\r?\n", re.IGNORECASE)
_HEAD_LINES = 6


def _read(document: Document) -> Track:
    track = Track()
    with document.text() as text:
        for number, line in enumerate(islice(text, _HEAD_LINES, None), _HEAD_LINES + 1):
            if not line.strip():
                continue
            parts = line.split(",")
            if len(parts) != 7:
                raise InputError(f"line {number} has {len(parts)} values instead of 7")
            track.add(epoch(f"{parts[5].strip()} {parts[6].strip()}"), in_degrees(parts[0], parts[1]))
    return track


FORMAT = TrackFormat("geolife", lambda document: bool(_HEAD.match(document.beginning)), _read, 900.0)
