"""The interfaces of the readers.

A table format opens a table, an export counts its own visits, and a track format has positions over time.
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
    """Counts by location, notes, what the export says about locations, and their coordinates."""

    counts: Mapping[str, int]
    notes: list[str]
    types: Types = MappingProxyType({})
    #: Each spot once, starting with that of the first visit.
    spots: Mapping[str, Collection[Coordinates]] = MappingProxyType({})
    #: Hours at locations, where the file tells times.
    hours: Mapping[str, float] = MappingProxyType({})


#: The options for positions over time.
TRACK_OPTIONS = ("stay", "radius", "max_gap", "places", "keep_coordinates")


@dataclass(frozen=True)
class TableFormat:
    """A way to write a table."""

    name: str
    recognises: Callable[[Document], bool]
    open: Callable[[Document], AbstractContextManager[Table]]
    #: The columns for each kind of location, if the columns are always the same.
    locations: Mapping[Locations, str] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        columns = ("location_column", "count_column", "user_column", "user", *TRACK_OPTIONS)
        return ("locations", *columns) if self.locations else columns


@dataclass(frozen=True)
class Export:
    """The export of a service, in one or several documents."""

    name: str
    recognises: Callable[[Document], bool]
    read: Callable[[Sequence[Document], Options], Reading]
    #: The possible kinds of location, the default first.
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
    #: The longest pause within a stay, in seconds. Recorders get switched off, but a resting phone just sends nothing.
    usual_gap: float = math.inf
    locations: tuple[Locations, ...] = ()
    options: tuple[str, ...] = TRACK_OPTIONS
