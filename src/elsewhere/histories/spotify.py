"""What somebody played on Spotify: the history of a year, or the extended one. A location is an artist or a show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, first_text, items_of_all
from elsewhere.model.errors import InputError
from elsewhere.text import plural, quote

_KEY = re.compile(rb'^\[\s*\{[^{}\[\]]*"(?:msPlayed|ms_played)"\s*:')
#: Who is played, in all forms of the file.
_NAMES = (
    "artistName",
    "podcastName",
    "authorName",
    "master_metadata_album_artist_name",
    "episode_show_name",
    "audiobook_title",
)
#: What is played.
_TITLES = ("trackName", "episodeName", "spotify_track_uri", "spotify_episode_uri", "audiobook_chapter_uri")
#: What is played for less than this many milliseconds does not count, for Spotify either.
_LEAST = 30_000


class _Play(NamedTuple):
    """Who is played, what, when that ended, and for how many milliseconds."""

    name: str | None
    title: str | None
    time: str | None
    long: float


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    notes: list[str] = []
    short, unnamed, repeats = 0, 0, Repeats()
    for play in items_of_all(documents, _plays, notes):
        if play.name is None:
            unnamed += 1
        elif play.long < _LEAST:
            short += 1
        elif not repeats.has(play.title, play.time, play.long):
            counted = options.bin(play.name, play.time)
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
        yield _Play(first_text(item, *_NAMES), first_text(item, *_TITLES), moment, _milliseconds(item))


def _milliseconds(item: dict[str, Any]) -> float:
    long = item.get("msPlayed", item.get("ms_played"))
    if isinstance(long, bool) or not isinstance(long, int | float):
        raise InputError(f"it has an item that played for {quote(long)} milliseconds, which is not a number")
    return long


EXPORT = Export("spotify", lambda document: document.is_json and bool(_KEY.search(document.beginning)), _read)
