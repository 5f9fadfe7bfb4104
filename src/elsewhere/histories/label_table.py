"""The table that `elsewhere labels` writes: every location of a history with its guessed kind and a link to a map.

A person fills in the names of locations that are only ids, corrects the kinds, and passes the table as labels.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING
from urllib.parse import quote

from elsewhere.histories.labels import Labels, escaped
from elsewhere.histories.options import Locations
from elsewhere.histories.reading import relabelled
from elsewhere.histories.tracks.reading import UNNAMED
from elsewhere.model.names import NameIndex
from elsewhere.model.places import kinds
from elsewhere.model.taxonomy import NO_KIND, Taxonomy

if TYPE_CHECKING:
    from elsewhere.histories.history import History

#: Ids of Google, as in its exports.
_GOOGLE_ID = re.compile(r"(?:ChIJ[\w-]{16}|GhIJ[\w-]{16}|E[g-j][\w-]{26})[\w-]*", re.ASCII)
#: Ids of Foursquare and others: hexadecimal digits, with hyphens in a UUID, or only a number.
_OTHER_ID = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+", re.IGNORECASE)
#: Formats whose locations are sites, and formats with artists, films and channels, which are on no map.
_SITES, _MEDIA = ("browser", "chrome"), ("youtube", "spotify", "netflix")
#: Places of a track that have a number instead of a name.
_NUMBERED = re.compile(rf"{UNNAMED} [1-9][0-9]*")


@dataclass(frozen=True)
class LabelRow:
    """A location, what is known about it, and where to look it up."""

    id: str
    label: str
    kind: str
    count: int
    reason: str
    map: str


@dataclass(frozen=True)
class LabelTable:
    """The rows, those with the highest counts first."""

    rows: tuple[LabelRow, ...]

    @property
    def with_kind(self) -> int:
        """The number of locations with a kind."""
        return sum(row.kind not in ("", NO_KIND) for row in self.rows)

    @property
    def without_label(self) -> int:
        """The number of locations that are only ids and have no label yet."""
        return sum(not row.label for row in self.rows)

    def encode(self) -> bytes:
        """The table as CSV, in which no cell is a formula."""
        rows = [tuple(column.name for column in fields(LabelRow)), *map(astuple, self.rows)]
        return "".join(f"{_line(row)}\n" for row in rows).encode()


def label_table(history: History, labels: Labels | None = None, locations: Locations | None = None) -> LabelTable:
    """Return the table of the locations of a history.

    Parameters
    ----------
    history
        The history as it was read, without labels.
    labels
        Labels that the locations have already. Default: none.
    locations
        The option `locations` of `read`. With ``"id"``, no location is a name.
    """
    known = labels or Labels({})
    labelled = relabelled(history, known)
    index = NameIndex(labelled.histogram.locations)
    found = {kind.name: kind for kind in kinds(labelled)}
    names = {node.id: node.name for _, node in Taxonomy.shipped().tree()}
    rows = []
    for location, count in history.histogram.items():
        said = known.of(location)
        guess = found[index.find(said.label or location) or location]
        kind, reason = names.get(guess.node or "", ""), guess.reason if guess.node else ""
        if said.kind:
            kind, reason = said.kind, "your labels"
        is_id = locations == "id" or _is_id(location, history.format) or _is_unnamed(location, history.coordinates)
        # A CSV cell cannot have a null byte. Another invisible character means the same spelling.
        id_ = location.replace("\0", "\u200b")
        label = said.label or ("" if is_id or id_ != location else location)
        rows.append(LabelRow(id_, label, kind, count, reason, _link(history, location, is_id)))
    return LabelTable(tuple(sorted(rows, key=lambda row: (-row.count, row.id))))


def _line(cells: Iterable[str | int]) -> str:
    """A line of CSV without its ending. With an ending of two characters, the module quotes cells with either."""
    text = io.StringIO()
    safe = (escaped(cell) if isinstance(cell, str) else cell for cell in cells)
    csv.writer(text, lineterminator="\r\n").writerow(safe)
    return text.getvalue().removesuffix("\r\n")


def _is_unnamed(location: str, coordinates: Collection[str]) -> bool:
    """Whether a location is a place of a track that has a number instead of a name."""
    return location in coordinates and bool(_NUMBERED.fullmatch(location))


def _is_id(location: str, form: str) -> bool:
    if form in ("timeline", *_SITES, *_MEDIA):
        return form == "timeline"
    return bool(_GOOGLE_ID.fullmatch(location) or _OTHER_ID.fullmatch(location))


def _link(history: History, location: str, is_id: bool) -> str:
    """A link to a map for a location; "" if it is on no map."""
    if history.format in _MEDIA:
        return ""
    if history.format in _SITES:
        return f"https://[{location}]" if ":" in location else f"https://{quote(location)}"
    if at := history.coordinates.get(location):
        latitude, longitude = (f"{degrees:.7f}".rstrip("0").rstrip(".") for degrees in at)
        return f"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}#map=18/{latitude}/{longitude}"
    if is_id and (history.format in ("takeout", "timeline") or _GOOGLE_ID.fullmatch(location)):
        return f"https://www.google.com/maps/place/?q=place_id:{quote(location, safe='')}"
    return f"https://www.openstreetmap.org/search?query={quote(location, safe='')}"
