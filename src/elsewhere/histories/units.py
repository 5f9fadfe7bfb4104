"""Durations and lengths as people write them: ``5min``, ``1.5 h``, ``100m``, ``0.3 km``."""

from __future__ import annotations

import math
import re

from elsewhere.model.errors import InputError
from elsewhere.text import quote

_SECONDS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_METRES = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "mi": 1609.344}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*", re.ASCII | re.IGNORECASE)


def seconds(value: str | float, argument: str) -> float:
    """A duration: a number of seconds, or a text with a unit.

    >>> seconds("5min", "stay"), seconds("1.5 h", "stay"), seconds(90, "stay")
    (300.0, 5400.0, 90.0)
    """
    return _quantity(value, _SECONDS, argument, "a duration such as '5min'")


def metres(value: str | float, argument: str) -> float:
    """A length: a number of metres, or a text with a unit.

    >>> metres("100m", "radius"), metres("0.3 km", "radius"), metres(50, "radius")
    (100.0, 300.0, 50.0)
    """
    return _quantity(value, _METRES, argument, "a length such as '100m'")


def _quantity(value: str | float, units: dict[str, float], argument: str, wanted: str) -> float:
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found and found[2].lower() in units:
        number = float(found[1]) * units[found[2].lower()]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    else:
        known = ", ".join(units)
        raise InputError(f"{argument} is {quote(value)}; give {wanted} in one of the units {known}", (argument,))
    if not 0 < number < math.inf:
        raise InputError(f"{argument} is {quote(value)}; it must be positive", (argument,))
    return number
