"""Swarm's check-ins: the files of the export, which have names, or answers of the API, which also have categories.

Visits that Swarm detected by itself (`visits.json`) are not check-ins and do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from elsewhere.histories.coordinates import Coordinates, Spots, add_spots, in_degrees, tells_position
from elsewhere.histories.documents import Document
from elsewhere.histories.options import Locations, Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, add_type, first_text, items_of_all, part
from elsewhere.model.errors import InputError
from elsewhere.text import name_list, plural

_ITEMS, _CHECKIN = re.compile(rb'"items"\s*:\s*\['), re.compile(rb'"type"\s*:\s*"checkin"')

#: A venue, its coordinates, the time of the visit, and the minutes from UTC to local time.
_Place: TypeAlias = tuple[dict[str, Any], Coordinates | None, Any, Any]


def _recognises(document: Document) -> bool:
    return document.is_json and bool(_ITEMS.search(document.beginning) and _CHECKIN.search(document.beginning))


def _read(documents: Sequence[Document], options: Options) -> Reading:
    notes: list[str] = []
    venues, nowhere, again = _venues(documents, notes)
    categorised = any(_location(venue, "category") for venue, *_ in venues)
    if options.locations == "category" and not categorised:
        told = "these check-ins have no categories; add them with labels"
        raise InputError(told, ("labels",))
    wanted = options.locations or ("category" if categorised else "name")
    counts: Counter[str] = Counter()
    types: dict[str, tuple[str, ...]] = {}
    spots: Spots = {}
    fallen_back: set[str] = set()
    for venue, at, moment, offset in venues:
        location = _location(venue, wanted)
        if location is None:
            location = _location(venue, "name") or _location(venue, "id")
            if location is None:
                nowhere += 1
                continue
            fallen_back.add(location)
        counted = options.bin(location, moment, at, offset)
        if counted is None:
            continue
        counts[counted] += 1
        if category := _location(venue, "category"):
            add_type(types, counted, category)
        add_spots(spots, counted, at)
    if fallen_back:
        told = name_list(sorted(fallen_back))
        notes.append(f"{plural(len(fallen_back), 'venue')} without a {wanted}, listed by name or id: {told}.")
    if nowhere:
        notes.append(f"Left out {plural(nowhere, 'check-in')} without a venue.")
    if again:
        notes.append(f"Counted {plural(again, 'repeated check-in')} only once.")
    return Reading(counts, notes, types, spots)


def _venues(documents: Sequence[Document], notes: list[str]) -> tuple[list[_Place], int, int]:
    """The venues of the check-ins, the number of check-ins without one, and the number of repeats."""
    venues, nowhere, repeats = list[_Place](), 0, Repeats()
    for id_, venue, at, moment, offset in items_of_all(documents, _checkins, notes):
        if repeats.has(id_):
            continue
        if venue is None:
            nowhere += 1
        else:
            venues.append((venue, at, moment, offset))
    return venues, nowhere, repeats.number


def _checkins(document: Document) -> Iterator[tuple[str | None, dict[str, Any] | None, Coordinates | None, Any, Any]]:
    """Ids with venues, their coordinates, and the time of the visit: in UTC, with the minutes to local time."""
    content = document.json()
    answer = part(content, "response", dict)
    for item in part(content if answer is None else part(answer, "checkins", dict) or {}, "items", list) or ():
        id_, venue = first_text(item, "id"), part(item, "venue", dict)
        at = _coordinates((venue or {}).get("location")) or _coordinates(item)
        created = item.get("createdAt")
        moment = f"{created.rstrip('Zz')}Z" if isinstance(created, str) else created
        yield id_, venue, at, moment, item.get("timeZoneOffset")


def _coordinates(place: Any) -> Coordinates | None:
    return in_degrees(place.get("lat"), place.get("lng")) if isinstance(place, dict) else None


def _location(venue: dict[str, Any], wanted: Locations) -> str | None:
    if wanted != "category":
        text = first_text(venue, wanted)
        return None if text is None or tells_position(text) else text
    categories = part(venue, "categories", list) or []
    primary = [it for it in categories if isinstance(it, dict) and it.get("primary")]
    return next((name for it in primary + categories if (name := first_text(it, "name"))), None)


EXPORT = Export("swarm", _recognises, _read, ("category", "name", "id"))
