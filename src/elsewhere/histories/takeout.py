"""Google Takeout, Semantic Location History: a file a month, with a `placeVisit` for every visit.

Candidates for where a visit may have been instead, and visits within a visit, are inside of it and do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import first_text, part
from elsewhere.text import name_list, plural

_KEY = re.compile(rb'"timelineObjects"\s*:\s*\[')


def _read(documents: Sequence[Document], options: Options) -> Reading:
    keys = ("placeId",) if options.locations == "id" else ("name", "address", "placeId")
    counts: Counter[str] = Counter()
    fallen_back: set[str] = set()
    nowhere = 0
    for document in documents:
        for place in _places(document):
            location = first_text(place, *keys)
            if location is None:
                nowhere += 1
                continue
            counts[location] += 1
            if first_text(place, keys[0]) is None:
                fallen_back.add(location)
    notes = []
    if fallen_back:
        told = name_list(sorted(fallen_back))
        notes.append(f"{plural(len(fallen_back), 'place')} without a name, called by address or id: {told}.")
    if nowhere:
        notes.append(f"{plural(nowhere, 'visit')} left out: nothing says where.")
    return Reading(counts, notes)


def _places(document: Document) -> Iterator[Any]:
    with document.named():
        for item in part(document.json(), "timelineObjects", list) or ():
            visit = part(item, "placeVisit", dict)
            if visit is not None:
                yield part(visit, "location", dict) or {}


EXPORT = Export(
    "takeout", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read, ("name", "id")
)
