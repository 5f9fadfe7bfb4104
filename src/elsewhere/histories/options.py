"""What a person may say about a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
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
