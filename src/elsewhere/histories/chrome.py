"""The history of Chrome in Google Takeout, ``History.json``: addresses with times. A location is a site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from elsewhere.histories.browser import left_out, site_of
from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, items_of_all, part
from elsewhere.text import plural

_KEY = re.compile(rb'"Browser History"\s*:\s*\[')


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    notes: list[str] = []
    nowhere, repeats = 0, Repeats()
    for url, moment in items_of_all(documents, _visits, notes):
        site = site_of(url)
        if not site:
            nowhere += 1
        elif not repeats.has(url, moment):
            counted = options.bin(site, moment)
            if counted is not None:
                counts[counted] += 1
    notes += left_out(nowhere)
    if repeats.number:
        notes.append(f"Counted {plural(repeats.number, 'repeated visit')} only once.")
    return Reading(counts, notes)


def _visits(document: Document) -> Iterator[tuple[str | None, Any]]:
    """Addresses, and when they were visited in microseconds since 1970."""
    for item in part(document.json(), "Browser History", list) or ():
        moment = item.get("time_usec") if isinstance(item, dict) else None
        yield part(item, "url", str), moment if isinstance(moment, int | float) else None


EXPORT = Export("chrome", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
