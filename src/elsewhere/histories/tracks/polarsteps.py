"""Polarsteps: the steps of a trip (``trip.json``), which are visits, or its positions (``locations.json``)."""

from __future__ import annotations

import re

from elsewhere.histories.coordinates import in_degrees
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import TrackFormat
from elsewhere.histories.tracks.points import Labelled, Track, epoch, name_of
from elsewhere.histories.tracks.streams import json_items

_STEPS = re.compile(rb'"all_steps"\s*:\s*\[')
_LOCATIONS = re.compile(rb'"locations"\s*:\s*\[\s*\{[^{}]*"(?:lat|lon)"\s*:')


def _read(document: Document) -> Track:
    track = Track()
    if _LOCATIONS.search(document.beginning):
        for item in json_items(document, "locations"):
            track.add(epoch(item.get("time")), in_degrees(item.get("lat"), item.get("lon")))
        return track
    for step in json_items(document, "all_steps"):
        place = step.get("location")
        place = place if isinstance(place, dict) else {}
        at = in_degrees(place.get("lat"), place.get("lon"))
        name = next(filter(None, (name_of(place.get("name")), name_of(step.get("display_name")))), "")
        if name or at is not None:
            track.visits.append(Labelled(name, at, time=step.get("start_time")))
        else:
            track.incomplete += 1
    return track


def _recognises(document: Document) -> bool:
    beginning = document.beginning
    return document.is_json and bool(_STEPS.search(beginning) or _LOCATIONS.search(beginning))


FORMAT = TrackFormat("polarsteps", _recognises, _read)
