"""The Timeline that Google keeps on the phone: `semanticSegments` on Android, a bare list on the iPhone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from elsewhere.histories.coordinates import Coordinates, Spots, add_spots, in_text
from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, first_text, instant, items_of_all, part, semantic_type
from elsewhere.histories.tracks.points import Track, epoch
from elsewhere.histories.tracks.reading import reading_of, with_names
from elsewhere.text import plural, quote

_ANDROID = re.compile(rb'"(?:semanticSegments|rawSignals|userLocationProfile)"\s*:\s*[\[{]')
_IPHONE = re.compile(rb'^\[\s*\{[^}]*"(?:startTime|endTime|visit|activity|timelinePath|timelineMemory)"\s*:')


def _recognises(document: Document) -> bool:
    beginning = document.beginning
    if not document.is_json or b'"msPlayed"' in beginning:  # Spotify's plays also have an end
        return False
    return bool(_ANDROID.search(beginning) or _IPHONE.search(beginning))


class _Visit(NamedTuple):
    """The place's id, if there is one, its type, and its coordinates."""

    location: str | None
    mark: str | None
    coordinates: Coordinates | None
    #: Whether it is a visit to a part of a place during a visit to the whole.
    is_inner: bool
    start: str | None
    identity: tuple[Hashable, ...]


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    marks: dict[str, str] = {}
    spots: Spots = {}
    types: dict[str, tuple[str, ...]] = {}
    inner, nowhere, is_visited = 0, 0, False
    repeats = Repeats()
    notes: list[str] = []
    for visit in items_of_all(documents, _visits, notes):
        if visit.is_inner:
            inner += 1
        elif visit.location is None:
            nowhere += 1
        elif not repeats.has(*visit.identity):
            is_visited = True
            location = options.bin(visit.location, visit.start, visit.coordinates)
            if location is None:
                continue
            counts[location] += 1
            if visit.mark is not None:
                marks.setdefault(visit.location, visit.mark)
                types[location] = (marks[visit.location],)
            add_spots(spots, location, visit.coordinates)
    if not is_visited:
        return _read_positions(documents, options)
    notes += _notes(marks, inner, nowhere, repeats.number)
    return with_names(Reading(counts, notes, types, spots), options)


def _read_positions(documents: Sequence[Document], options: Options) -> Reading:
    """The positions in a Timeline without visits: raw signals, and paths with a time for each point."""
    track = Track()
    for time, at, accuracy in items_of_all(documents, _positions, track.notes):
        if not track.is_inexact(accuracy):
            track.add(epoch(time), at)
    return reading_of(track, options)


def _positions(document: Document) -> Iterator[tuple[Any, Coordinates | None, Any]]:
    content = document.json()
    for signal in () if isinstance(content, list) else part(content, "rawSignals", list) or ():
        if found := part(signal, "position", dict):
            yield found.get("timestamp"), in_text(found.get("LatLng", found.get("latLng"))), found.get("accuracyMeters")
    for segment in content if isinstance(content, list) else part(content, "semanticSegments", list) or ():
        begin = epoch(first_text(segment, "startTime"))
        for point in part(segment, "timelinePath", list) or ():
            yield _time(point, begin), in_text(point.get("point")) if isinstance(point, dict) else None, None


def _time(point: Any, begin: float | None) -> Any:
    """The time of a point on a path: given on Android, and minutes after the start of the path on the iPhone."""
    if not isinstance(point, dict) or "time" in point or begin is None:
        return point.get("time") if isinstance(point, dict) else None
    try:
        return begin + 60 * float(point.get("durationMinutesOffsetFromStartTime") or 0)
    except (TypeError, ValueError):
        return None


def _visits(document: Document) -> Iterator[_Visit]:
    content = document.json()
    for segment in content if isinstance(content, list) else part(content, "semanticSegments", list) or ():
        visit = part(segment, "visit", dict)
        if visit is None:
            continue
        place = part(visit, "topCandidate", dict) or {}
        location = first_text(place, "placeId", "placeID")
        start, end = (first_text(segment, key) for key in ("startTime", "endTime"))
        is_inner = str(visit.get("hierarchyLevel") or 0) != "0"
        yield _Visit(
            location,
            semantic_type(place),
            _coordinates(place),
            is_inner,
            start,
            (location, instant(start), instant(end)),
        )


def _coordinates(place: dict[str, Any]) -> Coordinates | None:
    """The coordinates of a place: under their own key on Android, and a plain text on the iPhone."""
    at = place.get("placeLocation")
    return in_text(at.get("latLng") if isinstance(at, dict) else at)


def _notes(marks: dict[str, str], inner: int, nowhere: int, repeated: int) -> list[str]:
    notes = ["The phone gives ids instead of names. To name them, add labels: a table with the columns id and label."]
    if marks:
        told = ", ".join(f"{quote(location)} is {mark}" for location, mark in sorted(marks.items())[:20])
        notes.append(f"The phone knows some of them: {told}.")
    if inner:
        notes.append(f"Left out {plural(inner, 'visit')} within a visit to a larger place.")
    if nowhere:
        notes.append(f"Left out {plural(nowhere, 'visit')} without a place.")
    if repeated:
        notes.append(f"Counted {plural(repeated, 'repeated visit')} only once.")
    return notes


EXPORT = Export("timeline", _recognises, _read, ("id",), has_positions=True)
