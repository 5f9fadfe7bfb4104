"""The reading options of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from elsewhere.histories.calendar import Calendar
    from elsewhere.histories.coordinates import Coordinates
    from elsewhere.histories.tracks.gazetteer import Gazetteer

#: What a location of an export is.
Locations: TypeAlias = Literal["name", "category", "id"]


@dataclass(frozen=True)
class Options:
    """The reading options of a file; None means not given."""

    locations: Locations | None = None
    location_column: str | None = None
    count_column: str | None = None
    user_column: str | None = None
    user: str | None = None
    #: The shortest stay in seconds, its radius in metres, and the longest pause in it in seconds.
    stay: float | None = None
    radius: float | None = None
    max_gap: float | None = None
    #: The person's own places with names.
    places: Gazetteer | None = None
    #: Whether places without a name are called by their coordinates.
    keep_coordinates: bool | None = None
    #: Which visits count by their times, and in which bins.
    calendar: Calendar | None = None

    def bin(self, location: str, moment: Any, at: Coordinates | None = None, offset: Any = None) -> str | None:
        """The bin of a visit: the location, perhaps with a part of the day or week; None if it does not count."""
        return location if self.calendar is None else self.calendar.bin(location, moment, at, offset)
