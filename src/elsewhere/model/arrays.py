"""The array types that the layers share."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int32]

Number = TypeVar("Number", bound=np.generic)


#: Up to this many numbers, Python adds them up faster than NumPy does.
_FEW = 64
#: NumPy adds fewer numbers than this in their order, and more of them in another one.
_IN_ORDER = 8


def exact_sum(counts: Ints) -> int:
    """The sum of nonnegative counts, correct even if it exceeds 64 bits."""
    if len(counts) <= _FEW:
        return sum(counts.tolist())
    nearly = float(np.add.reduce(counts, dtype=np.float64))
    return int(nearly) if nearly < 2.0**52 else sum(counts.tolist())


def float_sum(numbers: Floats) -> float:
    """The sum with the rounding of NumPy, which takes longer than Python to add a few numbers."""
    if len(numbers) >= _IN_ORDER:
        return float(np.add.reduce(numbers))
    total = 0.0
    for number in numbers.tolist():  # `sum` rounds less from Python 3.12 on
        total += number
    return total
