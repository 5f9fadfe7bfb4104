"""What a person may say about a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
