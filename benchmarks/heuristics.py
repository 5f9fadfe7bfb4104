"""RH and AH: compiled against their literal twins."""

from __future__ import annotations

from collections.abc import Iterator

import elsewhere as ew
from benchmarks.data import skewed, uniform
from benchmarks.measure import Row, best_of, duration, timed
from elsewhere.paper import ah, rh


def measure() -> Iterator[Row]:
    history = skewed(100, 500, seed=1)
    target = uniform(history)
    for name, verb, literal in (("RH", ew.resemble, rh), ("AH", ew.avoid, ah)):
        result = verb(history, target, 0.05, method="heuristic")
        ours = best_of(50, verb, history, target, 0.05, method="heuristic")
        rival, twin = timed(literal, history, target, 0.05)
        same = result.histogram == twin
        ratio = rival / ours
        yield Row(f"{name}, n = 100, N = 500, budget 0.05, against its loops", duration(ours), duration(rival),
                  f"{ratio:,.0f}", ">= 500, same answer", ratio >= 500 and same)  # fmt: skip
