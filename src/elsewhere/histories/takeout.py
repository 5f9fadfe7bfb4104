"""Google Takeout, Semantic Location History: one file per month, with a `placeVisit` for every visit.

A `placeVisit` may contain alternative places and visits within the visit. These do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from elsewhere.histories.coordinates import Coordinates, Spots, add_spots, in_e7, tells_position
from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, add_type, first_text, instant, items_of_all, part, semantic_type
from elsewhere.text import name_list, plural

_KEY = re.compile(rb'"timelineObjects"\s*:\s*\[')


class _Visit(NamedTuple):
    """The name of the place, if it has one, its type, its coordinates, and the identity of the visit."""

    location: str | None
    is_named: bool
    type: str | None
    coordinates: Coordinates | None
    start: str | None
    identity: tuple[Hashable, ...]


def _read(documents: Sequence[Document], options: Options) -> Reading:
    keys = ("placeId",) if options.locations == "id" else ("name", "address", "placeId")
    counts: Counter[str] = Counter()
    fallen_back: set[str] = set()
    types: dict[str, tuple[str, ...]] = {}
    spots: Spots = {}
    nowhere, repeats = 0, Repeats()
    notes: list[str] = []
    for visit in items_of_all(documents, partial(_visits, keys), notes):
        if visit.location is None:
            nowhere += 1
        elif not repeats.has(*visit.identity):
            location = options.bin(visit.location, visit.start, visit.coordinates)
            if location is None:
                continue
            counts[location] += 1
            if visit.type is not None:
                add_type(types, location, visit.type)
            add_spots(spots, location, visit.coordinates)
            if not visit.is_named:
                fallen_back.add(visit.location)
    if fallen_back:
        told = name_list(sorted(fallen_back))
        notes.append(f"{plural(len(fallen_back), 'place')} without a name, listed by address or id: {told}.")
    if nowhere:
        notes.append(f"Left out {plural(nowhere, 'visit')} without a place.")
    if repeats.number:
        notes.append(f"Counted {plural(repeats.number, 'repeated visit')} only once.")
    return Reading(counts, notes, types, spots)


def _visits(keys: tuple[str, ...], document: Document) -> Iterator[_Visit]:
    for item in part(document.json(), "timelineObjects", list) or ():
        visit = part(item, "placeVisit", dict)
        if visit is None:
            continue
        place, duration = (part(visit, key, dict) or {} for key in ("location", "duration"))
        # An address may contain a position, which must not get into a release.
        names = (first_text(place, key) for key in keys)
        location = next((name for name in names if name is not None and not tells_position(name)), None)
        # Google has used two forms of times.
        start, end = (first_text(duration, f"{it}Timestamp", f"{it}TimestampMs") for it in ("start", "end"))
        identity = (first_text(place, "placeId") or location, instant(start), instant(end))
        is_named = location == first_text(place, keys[0])
        at = in_e7(place.get("latitudeE7"), place.get("longitudeE7"))
        yield _Visit(location, is_named, semantic_type(place), at, start, identity)


EXPORT = Export(
    "takeout", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read, ("name", "id")
)
