"""Rows of the table, and the stopwatch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One line: what was measured, the two sides, their ratio, and the goal if there is one."""

    what: str
    ours: str
    rival: str = ""
    ratio: str = ""
    goal: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        met = "" if self.met is None else ("yes" if self.met else "**no**")
        return f"| {self.what} | {self.ours} | {self.rival} | {self.ratio} | {self.goal} | {met} |"


def timed(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[float, T]:
    """The seconds and the result of a call."""
    begin = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - begin, result


def best_of(times: int, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> float:
    """The least seconds of several runs, which is the least disturbed run."""
    return min(timed(function, *args, **kwargs)[0] for _ in range(times))


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
