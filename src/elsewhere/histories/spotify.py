"""What somebody played on Spotify: the history of a year, or the extended one. A location is an artist or a show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, first_text, items_of_all
from elsewhere.model.errors import InputError
from elsewhere.text import plural, quote

_KEY = re.compile(rb'^\[\s*\{[^{}\[\]]*"(?:msPlayed|ms_played)"\s*:')
#: The keys of the artist or show, in all forms of the file.
_NAMES = (
    "artistName",
    "podcastName",
    "authorName",
    "master_metadata_album_artist_name",
    "episode_show_name",
    "audiobook_title",
)
#: The keys of the title.
_TITLES = ("trackName", "episodeName", "spotify_track_uri", "spotify_episode_uri", "audiobook_chapter_uri")
#: Plays shorter than this many milliseconds do not count; Spotify does the same.
_LEAST = 30_000


class _Play(NamedTuple):
    """The artist or show, the title, the end of the play, and its milliseconds."""

    name: str | None
    title: str | None
    time: str | None
    long: float
    #: Whether it comes from the history of a year, whose times are rounded to minutes.
    is_yearly: bool


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    notes: list[str] = []
    short, unnamed, repeats = 0, 0, Repeats()
    both: Counter[tuple[str, float]] = Counter()
    for play in sorted(items_of_all(documents, _plays, notes), key=lambda play: play.is_yearly):
        if play.name is None:
            unnamed += 1
        elif play.long < _LEAST:
            short += 1
        elif not repeats.has(play.title, play.time, play.long):
            end = (play.time or "")[: len("2023-03-05 20:15")].replace("T", " "), play.long
            if play.is_yearly and both[end]:  # it is also in the extended history, which was read first
                both[end] -= 1
                repeats.number += 1
                continue
            both[end] += not play.is_yearly and play.time is not None
            counted = options.bin(play.name, _begin(play))
            if counted is not None:
                counts[counted] += 1
    if short:
        notes.append(f"Left out {plural(short, 'item')} that played for less than 30 s.")
    if unnamed:
        notes.append(f"Left out {plural(unnamed, 'item')} without an artist or a show.")
    if repeats.number:
        notes.append(f"Counted {plural(repeats.number, 'repeated item')} only once.")
    return Reading(counts, notes)


def _plays(document: Document) -> Iterator[_Play]:
    content = document.json()
    if not isinstance(content, list):
        raise InputError("it is not a list of what was played")
    for item in content:
        time = first_text(item, "ts", "endTime")
        # The history of a year has times without a zone, in UTC.
        moment = None if time is None else f"{time.rstrip('Zz')}Z"
        name, title = (first_text(item, *keys) for keys in (_NAMES, _TITLES))
        yield _Play(name, title, moment, _milliseconds(item), "msPlayed" in item)


def _begin(play: _Play) -> str | None:
    """The start of the play, if the end is a time.

    >>> _begin(_Play("Choir", "Vespers", "2023-03-06 00:01Z", 240000, True))
    '2023-03-05T23:57:00Z'
    """
    try:
        began = datetime.fromisoformat(play.time or "") - timedelta(milliseconds=play.long)
    except (ValueError, OverflowError):
        return play.time
    return f"{began.replace(tzinfo=None).isoformat()}Z"


def _milliseconds(item: dict[str, Any]) -> float:
    long = item.get("msPlayed", item.get("ms_played"))
    if isinstance(long, bool) or not isinstance(long, int | float):
        raise InputError(f"it has an item that played for {quote(long)} milliseconds, which is not a number")
    return long


EXPORT = Export("spotify", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
