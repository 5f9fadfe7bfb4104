"""What may be chosen."""

from __future__ import annotations

from numbers import Integral

from elsewhere.model.errors import InputError
from elsewhere.text import quote


def check_whole(name: str, value: object, least: int) -> None:
    """Raise unless the choice is a whole number that is large enough."""
    if not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is {quote(value)}; it is a whole number from {least} on", (name,))
