"""Checks of arguments."""

from __future__ import annotations

from numbers import Integral

from elsewhere.model.errors import InputError
from elsewhere.text import quote


def check_whole(name: str, value: object, least: int) -> None:
    """Raise unless the value is a whole number of at least `least`."""
    if not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is {quote(value)}; it must be a whole number, at least {least}", (name,))
