"""What comes out of packed files, up to a limit."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

from elsewhere.model.errors import InputError

#: Nothing honest gets that many times larger, unless it is small.
_HIGHEST_RATIO = 200
_ALWAYS_UNPACKED = 1 << 24


class TooLarge(InputError):
    """There is more in a file than may be read; what there is must not pass for all of it."""


@dataclass
class Budget:
    """How much may still be unpacked."""

    left: int


class Unpacked(io.RawIOBase):
    """What comes out of a packed file, for as long as it is not more than anything honest."""

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
