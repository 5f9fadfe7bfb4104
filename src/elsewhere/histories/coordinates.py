"""Parse coordinates in degrees, in any notation. They never get into a release.

A value that is missing, broken or out of range is ignored; it is never a reason to refuse a file.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any, TypeAlias
from urllib.parse import unquote

#: Latitude and longitude in degrees.
Coordinates: TypeAlias = tuple[float, float]
#: The spots of the visits to each location, each once, starting with that of the first visit.
Spots: TypeAlias = dict[str, dict[Coordinates, None]]

_PAIR = re.compile(r"\s*(?:geo:)?\s*([-+]?\d+(?:\.\d*)?)\s*°?\s*,\s*([-+]?\d+(?:\.\d*)?)\s*°?\s*(?:[,;?].*)?", re.ASCII)

#: A number of degrees with a fraction, whose decimal sign may be a comma.
_DEGREES = r"(?<![\d.,])[-+]?\d{1,3}(?:\.\d{2,}|,\d{4,})(?!\.?\d)"
#: Two such numbers: adjacent except for signs and directions, or precise and close together in the text.
_DECIMALS = re.compile(
    rf"({_DEGREES})[\W_]{{0,6}}[NSEWO]?[\W_]{{1,6}}[NSEWO]?[\W_]{{0,6}}({_DEGREES})"
    r"|(?<![\d.,])([-+]?\d{1,3}\.\d{3,})\D{1,20}?([-+]?\d{1,3}\.\d{3,})(?!\d)",
    re.IGNORECASE,
)
#: The letters and digits of a plus code.
_CODE = "[23456789CFGHJMPQRVWX]"
#: Other notations of a position: degrees and minutes, degrees with directions, a plus code, what3words, the military
#: grid, and addresses of online maps.
_POSITIONS = (
    re.compile(r"\d\s*°\s*\d{1,2}(?:[.,]\d+)?\s*(?:[^\w\s]|[NSEWO]\b)", re.IGNORECASE),
    re.compile(r"\d\s*°\s*[NS]\b.{0,20}\d\s*°\s*[EWO]\b", re.IGNORECASE),
    re.compile(r"\b[NS]\s*\d{1,3}[\s°:-]+\d{1,2}(?!\d).{0,10}[EWO]\s*\d", re.IGNORECASE),
    re.compile(
        r"\b\d{1,3}[\s:-]\d{1,2}(?:[\s:-]\d{1,2}(?:[.,]\d+)?|[.,]\d+)\s*[NS]\b.{0,20}\d\s*[EWO]\b", re.IGNORECASE
    ),
    re.compile(rf"(?<!\w)(?:{_CODE}{{2}}){{2,4}}0{{0,6}}\+(?:{_CODE}{{2,7}})?(?!\w)", re.IGNORECASE),
    re.compile(r"(?:///|what3words\.com/|w3w\.co/)\w+\.\w+\.\w+", re.IGNORECASE),
    re.compile(r"\b\d{1,2}[C-HJ-NP-X]\s?[A-HJ-NP-Z]{2}(?:\s?\d{2,5}){2}\b"),
    re.compile(r"\bgeo:\s*[-+]?\d|!3d[-+]?\d+\.\d+!4d", re.IGNORECASE),
)
#: Two numbers and nothing else.
_TWO_NUMBERS = re.compile(r"\W*\d{1,3}\.\d+[\s°,;/|:]+[-+]?\d{1,3}\.\d+\W*")


def in_degrees(latitude: Any, longitude: Any) -> Coordinates | None:
    """Two numbers, or texts that are numbers, as coordinates.

    >>> in_degrees("12.34", -45.6), in_degrees(91, 0), in_degrees("north", 0)
    ((12.34, -45.6), None, None)
    """
    at = _number(latitude), _number(longitude)
    return at if abs(at[0]) <= 90 and abs(at[1]) <= 180 else None  # False for NaN


def in_e7(latitude: Any, longitude: Any) -> Coordinates | None:
    """Two numbers in ten millionths of a degree. Old exports of Google wrap negative ones to 32 bits without a sign.

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


def tells_position(text: str) -> bool:
    """Whether a text contains a position, in any notation. When in doubt, it does.

    >>> [tells_position(text) for text in ("Dropped pin (12.34, -45.67)", "67V28GRH+2W", "12°20'24\\"N 45°40'12\\"W")]
    [True, True, True]
    >>> [tells_position(text) for text in ("Blue Lantern", "24/7", "Pier 39, Gate 4.5", "450 S 900 E")]
    [False, False, False, False]
    """
    plain = unicodedata.normalize("NFKC", unquote(text).replace("\u2212", "-").replace("º", "°"))
    if in_text(plain) or _TWO_NUMBERS.fullmatch(plain) or any(form.search(plain) for form in _POSITIONS):
        return True
    for found in _DECIMALS.finditer(plain):
        one, other = (abs(float(number.replace(",", "."))) for number in found.groups() if number)
        if max(one, other) <= 180 and min(one, other) <= 90:
            return True
    return False


def add_spots(spots: Spots, location: str, *more: Coordinates | None) -> None:
    """Record the spots of visits to a location, as far as they are known."""
    for at in more:
        if at is not None:
            spots.setdefault(location, {})[at] = None


def _number(value: Any) -> float:
    """The number, or NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
