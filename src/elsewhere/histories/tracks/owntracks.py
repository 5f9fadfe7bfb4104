"""OwnTracks: the recorder's ``.rec`` files (one message per line, after its time and topic), or plain messages."""

from __future__ import annotations

import re

from elsewhere.histories.coordinates import in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.json_text import parse_json
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Track, epoch
from elsewhere.model.errors import InputError

_LINE = re.compile(rb'(?:\d{4}-\d\d-\d\dT[\d:.]+Z\t[^\t\r\n]*\t\s*)?\{[^\r\n]*"_type"\s*:\s*"')


def _read(document: Document) -> Track:
    track = Track()
    with document.text() as text:
        for number, line in enumerate(text, 1):
            if not line.strip():
                continue
            try:
                message = parse_json(line[max(line.find("{"), 0) :])
            except InputError:
                raise InputError(f"line {number} is not a message of OwnTracks") from None
            if not isinstance(message, dict) or message.get("_type") != "location":
                continue
            if not track.is_inexact(message.get("acc")):
                track.add(epoch(message.get("tst")), in_degrees(message.get("lat"), message.get("lon")))
    return track


FORMAT = TrackFormat("owntracks", lambda document: bool(_LINE.match(document.beginning)), _read)
