"""Limits in hard cases: by how much searches exceed `time_limit`, and how soon Ctrl-C ends them."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import elsewhere as ew
from benchmarks.data import skewed, uniform
from benchmarks.measure import Row, duration, timed

_TIME_LIMITS = (0.0, 0.1, 0.5, 2.0)
_MOST_OVER = 0.3
_MOST_TO_CTRL_C = 1.0
_POINTS = 3
#: Seconds into a search at which it is interrupted.
_MOMENTS = (0.1, 0.5, 1.0, 2.0, 4.0)


def bumpy(reference: float, count: int) -> float:
    """A user's function that is not convex."""
    return math.sqrt(abs(reference - count)) + (0.25 if count % 2 else 0.0)


def _reversed(history: ew.Histogram) -> dict[str, int]:
    return dict(zip(history.locations, reversed(history.counts.tolist()), strict=True))


def _larger(history: ew.Histogram, times: float) -> dict[str, int]:
    return {location: max(1, round(times * count)) for location, count in _reversed(history).items()}


def cases() -> dict[str, Callable[..., object]]:
    """Hard questions, by name; each takes the limits as keyword arguments."""
    wide, long, usual = skewed(200, 1_000_000, seed=1), skewed(2_000, 50_000, seed=2), skewed(60, 600, seed=7)
    counts, few = skewed(50, 20_000, seed=3), skewed(20, 1_000, seed=4)
    found: dict[str, Callable[..., object]] = {}

    def add(name: str, verb: Callable[..., object], *args: Any, **asked: Any) -> None:
        found[name] = lambda **limits: verb(*args, **asked, **limits)

    for history in (wide, long):
        shape = f"n = {history.length:,}, N = {history.size:,}"
        sensitive = history.locations[:5]
        for verb in (ew.resemble, ew.avoid):
            add(f"{verb.__name__}, {shape}", verb, history, _reversed(history), 0.05)
            add(f"{verb.__name__}, {shape}, heuristic", verb, history, _reversed(history), 0.05, method="heuristic")
        add(f"resemble, {shape}, forbidden", ew.resemble, history, uniform(history), 0.05,
            forbidden=_neighbours(history, 200))  # fmt: skip
        add(f"resemble, {shape}, sensitive", ew.resemble, history, uniform(history), 0.3, sensitive=sensitive)
        add(f"avoid oneself, {shape}", ew.avoid, history, history, 0.05)
        add(f"hide, {shape}, forbidden", ew.hide, history, sensitive, forbidden=[ew.hide(history, sensitive).histogram])
    add("avoid oneself, n = 60, N = 600", ew.avoid, usual, usual, 0.05, memory_limit=2**33)
    for history in (counts, few):
        name = f"own function, n = {history.length}, N = {history.size:,}"
        add(f"resemble, {name}", ew.resemble, history, uniform(history), 500.0, bumpy)
        add(f"avoid, {name} for both", ew.avoid, history, uniform(history), 500.0, bumpy, bumpy)
        add(f"resemble, {name}, sensitive", ew.resemble, history, uniform(history), 5000.0, bumpy,
            sensitive=history.locations[:3])  # fmt: skip
        add(f"hide, {name}", ew.hide, history, history.locations[:3], bumpy)
    for times in (0.01, 20.0):
        add(f"resemble, size of a target {times:g} times as large", ew.resemble, counts, _larger(counts, times), 0.4,
            size="target")  # fmt: skip
        add(f"avoid, size of a target {times:g} times as large, heuristic", ew.avoid, counts, _larger(counts, times),
            0.4, size="target", method="heuristic")  # fmt: skip
    add("resemble, privacy not met", _advised, ew.resemble, wide, _reversed(wide), 0.01, max_distance=0.001)
    add("avoid, privacy not met", _advised, ew.avoid, counts, _reversed(counts), 0.001, min_distance=0.95)
    add("avoid at an infinite distance", ew.avoid, counts, _reversed(counts), 1e6, "squared-l2", "jeffreys")
    add("frontier of avoiding oneself, n = 60, N = 600", _frontier, usual)
    return found


def _neighbours(history: ew.Histogram, number: int) -> list[ew.Histogram]:
    """The history itself, and others that differ from it in one visit."""
    first, *others = history.locations[: number + 1]
    moved = ({**history, first: history[first] - 1, other: history[other] + 1} for other in others)
    return [history, *map(ew.Histogram, moved)]


def _advised(verb: Callable[..., object], *args: Any, **asked: Any) -> None:
    with suppress(ew.PrivacyNotMet):
        verb(*args, **asked)


def _frontier(history: ew.Histogram, time_limit: float | None = None) -> None:
    """Some points that share the time limit."""
    budgets = [0.02 * (at + 1) for at in range(_POINTS)]
    each = None if time_limit is None else time_limit / _POINTS
    ew.frontier(history, history, budgets, "avoid", time_limit=each, memory_limit=2**33)


def measure() -> Iterator[Row]:
    questions = cases()
    for question in questions.values():
        question(time_limit=0.0)  # compiles, and allocates memory
    for limit in _TIME_LIMITS:
        over = {name: timed(question, time_limit=limit)[0] - limit for name, question in questions.items()}
        worst = max(over, key=over.__getitem__)
        yield Row(f"time limit of {limit:g} s in {len(over)} hard cases, the worst: {worst}",
                  f"{duration(max(over[worst], 0.0))} over", "", "", f"<= {_MOST_OVER} s over",
                  over[worst] <= _MOST_OVER)  # fmt: skip
    slowest = {name: max(_until_interrupted(question, moment) for moment in _MOMENTS)
               for name, question in questions.items()}  # fmt: skip
    worst = max(slowest, key=slowest.__getitem__)
    yield Row(f"Ctrl-C in {len(slowest)} hard cases, the worst: {worst}", duration(slowest[worst]), "", "",
              f"<= {_MOST_TO_CTRL_C} s", slowest[worst] <= _MOST_TO_CTRL_C)  # fmt: skip


def _until_interrupted(question: Callable[..., object], moment: float) -> float:
    """Seconds from a Ctrl-C to the end of the search; 0 if the search ends before."""
    sent = [math.inf]

    def interrupt() -> None:
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(moment, interrupt)
    try:
        timer.start()
        question()
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    return 0.0
