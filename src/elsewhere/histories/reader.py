"""What the readers have in common.

A table format opens a table, an export counts its visits itself, and a track format has positions over time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.documents import Document
from elsewhere.histories.options import Locations, Options
from elsewhere.histories.tables import Table
from elsewhere.histories.tracks.points import Track
from elsewhere.model.taxonomy import Types


class Reading(NamedTuple):
    """Counts by location, sentences for the person, what the export says about locations, and where they are."""

    counts: Mapping[str, int]
    notes: list[str]
    types: Types = MappingProxyType({})
    #: Each spot once, the first visit's first.
    spots: Mapping[str, Collection[Coordinates]] = MappingProxyType({})
    #: Hours at locations, where the file tells times.
    hours: Mapping[str, float] = MappingProxyType({})


#: What may be said about positions over time.
TRACK_OPTIONS = ("stay", "radius", "max_gap", "places", "keep_coordinates")


@dataclass(frozen=True)
class TableFormat:
    """A way to write a table."""

    name: str
    recognises: Callable[[Document], bool]
    open: Callable[[Document], AbstractContextManager[Table]]
    #: The columns that hold what a location can be, if the columns are always the same.
    locations: Mapping[Locations, str] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        columns = ("location_column", "count_column", "user_column", "user", *TRACK_OPTIONS)
        return ("locations", *columns) if self.locations else columns


@dataclass(frozen=True)
class Export:
    """What a service hands out, in one document or several."""

    name: str
    recognises: Callable[[Document], bool]
    read: Callable[[Sequence[Document], Options], Reading]
    #: What a location can be, the usual first.
    locations: tuple[Locations, ...] = ()
    #: Whether it may have positions instead of visits.
    has_positions: bool = False
    #: Whether it is written as a table.
    is_table: bool = False
    more_options: tuple[str, ...] = ()
    #: Counts the visits of each user, if it may have several.
    users: Callable[[Sequence[Document]], Mapping[str, int]] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        positions = TRACK_OPTIONS if self.has_positions else ()
        return (*(("locations",) if self.locations else ()), *positions, *self.more_options)


@dataclass(frozen=True)
class TrackFormat:
    """A way to write positions over time. Each document is a part of one person's track."""

    name: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document], Track]
    #: The longest pause within a stay, in seconds. Recorders are switched off; a phone that rests has nothing to say.
    usual_gap: float = math.inf
    locations: tuple[Locations, ...] = ()
    options: tuple[str, ...] = TRACK_OPTIONS
