"""What a person may say about a file."""

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
    """What a person may say about a file; None where nothing was said."""

    locations: Locations | None = None
    location_column: str | None = None
    count_column: str | None = None
    user_column: str | None = None
    user: str | None = None
    #: Seconds of a stay, metres that it is within, and seconds of the longest pause in it.
    stay: float | None = None
    radius: float | None = None
    max_gap: float | None = None
    #: Places of the person's own that have names.
    places: Gazetteer | None = None
    #: Whether places without a name are called by their coordinates.
    keep_coordinates: bool | None = None
    #: Which visits count by their times, and in which bins.
    calendar: Calendar | None = None

    def bin(self, location: str, moment: Any, at: Coordinates | None = None, offset: Any = None) -> str | None:
        """What a visit counts as: the location, or a bin of it and of the time; None if it does not count."""
        return location if self.calendar is None else self.calendar.bin(location, moment, at, offset)
