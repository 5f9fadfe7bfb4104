"""Unpack files up to a limit."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

from elsewhere.model.errors import InputError

#: The largest ratio of unpacked to packed size, except for small files.
_HIGHEST_RATIO = 200
_ALWAYS_UNPACKED = 1 << 24


class TooLarge(InputError):
    """A file has more content than allowed; a truncated read must not pass for all of it."""


@dataclass
class Budget:
    """The number of bytes that may still be unpacked."""

    left: int


class Unpacked(io.RawIOBase):
    """The content of a packed file; raises if it exceeds the limits."""

    def __init__(self, files: Sequence[io.BufferedIOBase | BinaryIO | IO[bytes]], size: int, budget: Budget) -> None:
        """Reads the first of the files, and closes them all."""
        self._files, self._budget = files, budget
        self._left = _ALWAYS_UNPACKED + _HIGHEST_RATIO * size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._files[0].read(len(buffer))
        self._left -= len(content)
        self._budget.left -= len(content)
        if min(self._left, self._budget.left) < 0:
            raise TooLarge("it is far too large when unpacked")
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()
