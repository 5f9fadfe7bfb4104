"""The Timeline that Google keeps on the phone: `semanticSegments` on Android, a bare list on the iPhone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import first_text, part
from elsewhere.text import plural, quote

_ANDROID = re.compile(rb'"(?:semanticSegments|rawSignals|userLocationProfile)"\s*:\s*[\[{]')
_IPHONE = re.compile(rb'^\[\s*\{[^}]*"(?:startTime|endTime|visit|activity|timelinePath|timelineMemory)"\s*:')


def _recognises(document: Document) -> bool:
    return document.is_json and bool(_ANDROID.search(document.beginning) or _IPHONE.search(document.beginning))


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    marks: dict[str, str] = {}
    inner = nowhere = 0
    for document in documents:
        for visit in _visits(document):
            place = part(visit, "topCandidate", dict) or {}
            location = first_text(place, "placeId", "placeID")
            if str(visit.get("hierarchyLevel") or 0) != "0":
                inner += 1
            elif location is None:
                nowhere += 1
            else:
                counts[location] += 1
                mark = (first_text(place, "semanticType") or "").removeprefix("INFERRED_").lower()
                if mark not in ("", "unknown"):
                    marks.setdefault(location, mark)
    return Reading(counts, _notes(marks, inner, nowhere))


def _visits(document: Document) -> Iterator[dict[str, Any]]:
    with document.named():
        content = document.json()
        segments = content if isinstance(content, list) else part(content, "semanticSegments", list) or ()
        for segment in segments:
            visit = part(segment, "visit", dict)
            if visit is not None:
                yield visit


def _notes(marks: dict[str, str], inner: int, nowhere: int) -> list[str]:
    notes = ["The phone gives ids instead of names; a table with the columns id and label can name them (labels)."]
    if marks:
        told = ", ".join(f"{quote(location)} is {mark}" for location, mark in sorted(marks.items())[:20])
        notes.append(f"The phone knows some of them: {told}.")
    if inner:
        notes.append(f"{plural(inner, 'visit')} within a visit to a larger place, not counted again.")
    if nowhere:
        notes.append(f"{plural(nowhere, 'visit')} left out: nothing says where.")
    return notes


EXPORT = Export("timeline", _recognises, _read, ("id",))
