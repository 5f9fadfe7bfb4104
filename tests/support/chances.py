"""How often something is drawn, compared with how likely it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import TypeVar

Drawn = TypeVar("Drawn", bound=Hashable)

#: What chi-square exceeds with probability 1 in 1000, by degrees of freedom. Keys are fixed, so that no test is flaky.
CHI_SQUARE = {2: 13.8, 4: 18.5, 5: 20.5, 6: 22.5, 8: 26.1, 9: 27.9, 10: 29.6, 14: 36.1}


def key_number(at: int) -> bytes:
    return at.to_bytes(32, "big")


def chi_square(seen: Counter[Drawn], wanted: dict[Drawn, Fraction]) -> float:
    number = sum(seen.values())
    assert set(seen) <= set(wanted)
    return sum(float((seen[it] - share * number) ** 2 / (share * number)) for it, share in wanted.items())
