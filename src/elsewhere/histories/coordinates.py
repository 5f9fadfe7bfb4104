"""Where places are, in degrees, however a file writes it. It never gets into a release.

A value that is missing, broken or out of range is no coordinate; it is never a reason to refuse a file.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, TypeAlias

#: Latitude and longitude in degrees.
Coordinates: TypeAlias = tuple[float, float]
#: Where the visits to each location were, each spot once and the first visit's first.
Spots: TypeAlias = dict[str, dict[Coordinates, None]]

_PAIR = re.compile(r"\s*(?:geo:)?\s*([-+]?\d+(?:\.\d*)?)\s*°?\s*,\s*([-+]?\d+(?:\.\d*)?)\s*°?\s*(?:[,;?].*)?", re.ASCII)


def in_degrees(latitude: Any, longitude: Any) -> Coordinates | None:
    """Two numbers, or texts that say numbers, as coordinates.

    >>> in_degrees("12.34", -45.6), in_degrees(91, 0), in_degrees("north", 0)
    ((12.34, -45.6), None, None)
    """
    at = _number(latitude), _number(longitude)
    return at if abs(at[0]) <= 90 and abs(at[1]) <= 180 else None  # which is False for what is not a number


def in_e7(latitude: Any, longitude: Any) -> Coordinates | None:
    """Two numbers of ten millionths of a degree. Old exports of Google have negative ones without their sign.

    >>> in_e7(123400000, 2**32 - 456000000)
    (12.34, -45.6)
    """
    at = _number(latitude), _number(longitude)
    signed = (value - 2**32 if value >= 2**31 else value for value in at)
    return in_degrees(*(value / 1e7 for value in signed))


def in_text(text: Any) -> Coordinates | None:
    """A pair of numbers in one text, as phones write it.

    >>> in_text("12.34°, -45.6°"), in_text("geo:12.34,-45.6"), in_text("somewhere")
    ((12.34, -45.6), (12.34, -45.6), None)
    """
    found = _PAIR.fullmatch(text) if isinstance(text, str) else None
    return in_degrees(*found.groups()) if found else None


def add_spots(spots: Spots, location: str, *more: Coordinates | None) -> None:
    """Note where visits to a location were, as far as that is known."""
    for at in more:
        if at is not None:
            spots.setdefault(location, {})[at] = None


def _number(value: Any) -> float:
    """The number, or not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
