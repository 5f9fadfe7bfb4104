"""What somebody watched on YouTube: ``watch-history.json`` of Google Takeout. A location is a channel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, first_text, items_of_all, part
from elsewhere.model.errors import InputError
from elsewhere.text import plural

_KEY = re.compile(rb'^\[\s*\{\s*"header"\s*:\s*"YouTube')


class _Video(NamedTuple):
    """The channel of a video, if it is known, and its address with the time when it was watched."""

    channel: str | None
    url: str | None
    time: str | None
    is_ad: bool


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    notes: list[str] = []
    ads, unknown, repeats = 0, 0, Repeats()
    for video in items_of_all(documents, _videos, notes):
        if video.is_ad:
            ads += 1
        elif video.channel is None:
            unknown += 1
        elif not repeats.has(video.url, video.time):
            counted = options.bin(video.channel, video.time)
            if counted is not None:
                counts[counted] += 1
    for number, what, which in ((ads, "ad", "advertisements"), (unknown, "item", "searches or removed videos")):
        if number:
            notes.append(f"Left out {plural(number, what)}: {which}.")
    if repeats.number:
        notes.append(f"Counted {plural(repeats.number, 'repeated video')} only once.")
    return Reading(counts, notes)


def _videos(document: Document) -> Iterator[_Video]:
    content = document.json()
    if not isinstance(content, list):
        raise InputError("it is not a list of videos")
    for item in content:
        channels, details = (part(item, key, list) or [] for key in ("subtitles", "details"))
        is_ad = any(isinstance(detail, dict) and detail.get("name") == "From Google Ads" for detail in details)
        channel = first_text(channels[0], "name") if channels else None
        yield _Video(channel, first_text(item, "titleUrl"), first_text(item, "time"), is_ad)


EXPORT = Export("youtube", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
