"""Large sizes and hard shapes by family: the worst time, gap and memory of each. Each family has its own process.

The last rows compare many limits at once with a single one.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

import elsewhere as ew
from benchmarks.data import skewed, uniform, users
from benchmarks.measure import Row, duration, timed

_VERBS: dict[Literal["resemble", "avoid"], Callable[..., ew.Sanitized]] = {"resemble": ew.resemble, "avoid": ew.avoid}
_BUDGETS = (0.005, 0.05)
_SIZES = (10**4, 10**5, 10**6, 10**7)
_GAP = 1e-6
_POINTS = 50
_ASK = "from benchmarks import shapes; shapes.report({!r})"


class Shape(NamedTuple):
    """A hard question: its name, its size, and the call that asks it."""

    name: str
    size: int
    ask: Callable[[], ew.Sanitized]


class Family(NamedTuple):
    """Similar shapes, and the goals for each: seconds, GiB, and the relative gap if it must be small."""

    shapes: Callable[[], Iterator[Shape]]
    seconds: float
    gap: float | None = _GAP
    memory: float = 1.25  # the default limit of 1 GiB on the search, and the program itself


def _histogram(counts: list[int]) -> ew.Histogram:
    return ew.Histogram({f"{at:06d}": count for at, count in enumerate(counts)})


def _reversed(history: ew.Histogram) -> dict[str, int]:
    return dict(zip(history.locations, reversed(history.counts.tolist()), strict=True))


def _shape(
    verb: Literal["resemble", "avoid"], history: ew.Histogram, target: dict[str, float], *args: object, **asked: object
) -> Shape:
    name = f"{verb}, n = {history.length:,}, N = {history.size:.0e}, {', '.join(map(str, args))}"
    return Shape(name, history.size, lambda: _VERBS[verb](history, target, *args, **asked))


def _large(**asked: object) -> Iterator[Shape]:
    for size in _SIZES if not asked else (10**6,):
        history = skewed(200, size, seed=1)
        for verb in _VERBS:
            for budget in _BUDGETS:
                for privacy in ("js", "l2", "pearson"):
                    yield _shape(verb, history, uniform(history), budget, "js", privacy, **asked)


def _heuristic() -> Iterator[Shape]:
    yield from _large(method="heuristic")


def _wide() -> Iterator[Shape]:
    history = skewed(100_000, 10**7, seed=1)
    for verb in _VERBS:
        yield _shape(verb, history, uniform(history), 0.05)


def _huge() -> Iterator[Shape]:
    for size in (10**9, 4 * 10**18):
        for n in (3, 8):
            history = _histogram([size // 2, size // 3, *[size // 6 // (n - 2)] * (n - 2)])
            for verb in _VERBS:
                for distance in ("js", "l2", "pearson"):
                    limit = 0.01 if distance == "js" else 0.01 * history.size
                    yield _shape(verb, history, uniform(history), limit, distance, distance)


def _oneself() -> Iterator[Shape]:
    for n, size in ((50, 10**5), (150, 20_000), (60, 600)):
        history = skewed(n, size, seed=1)
        for budget in _BUDGETS:
            yield _shape("avoid", history, {name: float(count) for name, count in history.items()}, budget)
    # Shares that are scaled again differ from the counts in the last digit.
    for size in (10**10, 10**16):
        history = skewed(12, size, seed=3)
        yield _shape("avoid", history, {name: count / history.size for name, count in history.items()}, 0.05)


def _equal() -> Iterator[Shape]:
    for n in (20, 40, 80):
        history = _histogram([11] * n)
        for budget in _BUDGETS:
            yield _shape("avoid", history, uniform(history), budget, "js", "pearson")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        history = skewed(40, 200, seed)
        target = dict(zip(history.locations, map(float, rng.integers(1, 12, 40)), strict=True))
        yield _shape("avoid", history, target, 50.0, "neyman", "squared-l2", size="target")


def _elsewhere() -> Iterator[Shape]:
    """Few places with many visits, and a target that is mostly at other places."""
    for counts in (
        [182, 112, 267, 119, 300, 38, 232],
        [820, 865, 1347, 1553, 728],
        [180, 121, 296, 124, 113, 120, 216],
    ):
        history = _histogram(counts)
        target = uniform(history) | {f"x{at}": 1.0 for at in range(250 - len(counts))}
        for privacy in ("js", "l2"):
            yield _shape("avoid", history, target, 0.05, "js", privacy, visited_only=True)


def _skewed() -> Iterator[Shape]:
    for n, size in ((100, 2_000), (150, 20_000)):
        history = skewed(n, size, seed=2)
        target = {name: float(count) for name, count in _reversed(history).items()}
        for verb in _VERBS:
            for privacy in ("neyman", "jeffreys"):
                for budget in _BUDGETS:
                    yield _shape(verb, history, target, budget, "js", privacy)


FAMILIES = {
    "n = 200, N from 10^4 to 10^7": Family(_large, 2.0),
    "n = 200, N = 10^6, heuristic": Family(_heuristic, 1.0, None),
    "n = 100,000, N = 10^7": Family(_wide, 30.0),
    "sizes of 10^9 and 4 * 10^18": Family(_huge, 10.0),
    "avoid oneself": Family(_oneself, 10.0),
    "many equal counts": Family(_equal, 10.0, None),
    "few places, a target elsewhere": Family(_elsewhere, 10.0, None),
    "skewed counts, mixed distances": Family(_skewed, 10.0, None),
}


def report(name: str) -> None:
    """Ask all shapes of a family and print the results, one line each, and the peak memory at the end."""
    history = skewed(10, 70_000, seed=1)
    for verb in _VERBS.values():
        for method in ("optimal", "heuristic"):
            verb(history, uniform(history), 0.05, method=method)  # compiles
    for shape in FAMILIES[name].shapes():
        seconds, result = timed(shape.ask)
        distance = result.privacy_distance or 0.0
        gap = 0.0 if result.gap == 0.0 else result.gap / (distance or 1.0)
        print(json.dumps([shape.name, shape.size, seconds, gap, result.status]), flush=True)
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20))


def measure() -> Iterator[Row]:
    for name, family in FAMILIES.items():
        done = subprocess.run([sys.executable, "-c", _ASK.format(name)], capture_output=True, text=True, check=True)
        *lines, memory = (json.loads(line) for line in done.stdout.splitlines())
        slowest, widest = max(lines, key=lambda line: line[2]), max(lines, key=lambda line: line[3])
        proven = sum(line[4] == "optimal" for line in lines)
        goal = f"<= {family.seconds:g} s, <= {family.memory} GiB" + (f", gap <= {_GAP:g}" if family.gap else "")
        yield Row(f"{len(lines)} hard shapes, {name}: {proven} proven optimal; the slowest: {slowest[0]}",
                  f"{duration(slowest[2])}, largest relative gap {widest[3]:.1g}, {memory:.2f} GiB", "", "", goal,
                  slowest[2] <= family.seconds and memory <= family.memory
                  and (family.gap is None or widest[3] <= family.gap))  # fmt: skip
        if family.shapes is _large:
            yield _growth(lines)
    yield from _frontier()


def _frontier() -> Iterator[Row]:
    """Many limits at once against one of them (the mean of a few), in processor time."""
    budgets = np.linspace(0.001, 0.05, _POINTS).tolist()
    members, _ = users("nyc")
    for history, who in (
        (sorted(members, key=lambda member: member.length)[len(members) // 2], "the median user of NYC"),
        (skewed(200, 10**4, seed=1), "n = 200, N = 10^4"),
    ):
        for verb, ask in _VERBS.items():
            ask(history, uniform(history), 0.01)  # compiles
            ew.frontier(history, uniform(history), budgets[:2], verb)
            one = float(np.mean([_processor(ask, history, uniform(history), each) for each in budgets[::7]]))
            many = _processor(ew.frontier, history, uniform(history), budgets, verb)
            yield Row(f"frontier of {_POINTS} points against one, {verb}, {who}", duration(many), duration(one),
                      f"{many / one:.1f}", "<= 10 times", many <= 10.0 * one)  # fmt: skip


def _processor(function: Callable[..., object], *args: object) -> float:
    """The least processor time of three runs, in seconds."""
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        function(*args)
        seconds.append(time.process_time() - begin)
    return min(seconds)


def _growth(lines: list[tuple[str, int, float, float, str]]) -> Row:
    """How the mean time grows with the size."""
    means = [np.mean([line[2] for line in lines if abs(line[1] / size - 1.0) < 0.1]) for size in _SIZES]
    exponent = float(np.polyfit(np.log(_SIZES), np.log(means), 1)[0])
    grown = ", ".join(duration(float(mean)) for mean in means)
    return Row("the same, in the mean, as N grows from 10^4 to 10^7", grown, "", f"exponent {exponent:.2f}", "<= 0.6",
               exponent <= 0.6)  # fmt: skip
