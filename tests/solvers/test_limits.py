"""Hard questions end by themselves: with an honest answer when time is up, and on Ctrl-C or when they are cancelled.

How soon is measured by ``python -m benchmarks limits``; the bounds on time here only catch what hangs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.data import skewed, uniform
from benchmarks.limits import cases

import elsewhere as ew
from elsewhere.kernels.cancellation import cancellable
from elsewhere.solvers import bounds, branches, choices, heuristic, knapsack, large
from tests.support.instances import bumpy

HARD = (
    "resemble, n = 200, N = 1,000,000",
    "avoid, n = 200, N = 1,000,000, heuristic",
    "avoid oneself, n = 60, N = 600",
    "avoid, own function, n = 50, N = 20,000 for both",
    "hide, own function, n = 50, N = 20,000",
    "resemble, n = 2,000, N = 50,000, forbidden",
    "frontier of avoiding oneself, n = 60, N = 600",
)
_ASK = """
import sys
from benchmarks.limits import cases
question = cases()[sys.argv[1]]
question(time_limit=0.0)
try:
    print("begins", flush=True)
    while True:
        question()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("name", HARD[2:])  # the first two are over before
def test_ctrl_c_ends_a_search(name: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _ASK, name], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    assert (out, process.returncode) == ("interrupted\n", 0)


class Cancelled(Exception):
    """Nobody waits any more."""


@pytest.mark.compiled
@pytest.mark.parametrize("name", HARD)
def test_a_search_can_be_cancelled(name: str) -> None:
    """At any of the first looks at the clock, whatever the search is at then."""
    question = cases()[name]
    for looks in (1, 3, 10):
        left = [looks]

        def look(left: list[int] = left) -> None:
            left[0] -= 1
            if not left[0]:
                raise Cancelled

        with pytest.raises(Cancelled), cancellable(look):
            question()


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_tables_beyond_the_time_limit_narrow_the_search(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "_FIRST_TERMS", 200)
    monkeypatch.setattr(choices, "_LEAST_SECONDS", 0.0)
    history = skewed(20, 2_000, seed=1)
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(history, uniform(history), 0.05, time_limit=0.0)
    assert "time limit" in result.notes[0]
    assert result.status == "feasible"
    assert result.certificate is not None
    check = ew.verify(history, result, target=uniform(history), max_quality_loss=0.05)
    assert check.ok, check.problems


def test_what_needs_no_certificate_is_optimal_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No distance is below 0, however little time there was for tables."""
    monkeypatch.setattr(choices, "_LEAST_SECONDS", 0.0)
    history, target = {"a": 4, "c": 4}, {"a": 1.0, "c": 1.0}
    asked: dict[str, Any] = {"max_quality_loss": 1.0, "quality": bumpy}
    result = ew.resemble(history, target, **asked, time_limit=0.0)
    assert (result.status, result.privacy_distance, result.certificate) == ("optimal", 0.0, None)
    assert ew.verify(history, result, target=target, **asked).ok
    moved = replace(result, histogram=ew.Histogram({"a": 5, "c": 3}))
    assert not ew.verify(history, moved, target=target, **asked).ok


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_looking_at_the_clock_more_often_changes_nothing(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verb = ew.resemble if goal == "resemble" else ew.avoid

    def ask() -> list[ew.Sanitized]:
        history = skewed(25, 150, seed=2)
        target = dict(zip(history.locations, range(25), strict=True))
        return [
            verb(history, target, 0.02),
            verb(history, target, 0.02, method="heuristic"),
            verb(history, target, 0.02, forbidden=[history, verb(history, target, 0.02).histogram]),
            verb(history, target, 0.02, memory_limit=20_000),
            verb(history, history, 0.02, memory_limit=200_000),
            verb(history, target, 0.3, size="target", method="heuristic"),
        ]

    seldom = ask()
    for module, constant in (
        (choices, "_TERMS_PER_CALL"), (knapsack, "_DUAL_WORK"), (knapsack, "_COMPLETION_WORK"),
        (knapsack, "_LABEL_WORK"), (heuristic, "_WORK_PER_CALL"), (bounds, "_WORK_PER_CALL"),
    ):  # fmt: skip
        monkeypatch.setattr(module, constant, 1)
    assert ask() == seldom


@pytest.mark.compiled
@pytest.mark.parametrize(("n", "size"), [(30, 2_000), (10, 200_000)])
def test_an_ended_search_is_no_worse_than_the_heuristic(n: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels hardly dominate each other here, with tables or without, so the search ends with few counts moved."""
    for module, work in ((knapsack, "_MOST_WORK"), (branches, "_FIRST_TRY"), (large, "_LAST_TRY")):
        monkeypatch.setattr(module, work, 0.0)
    history = skewed(n, size, seed=5)
    asked: dict[str, Any] = {"max_quality_loss": 0.05 * size, "quality": "neyman", "privacy": "squared-l2"}
    ended = ew.avoid(history, history, **asked)
    greedy = ew.avoid(history, history, **asked, method="heuristic")
    assert ended.status == "feasible"
    assert ended.objective >= greedy.objective
    assert ew.verify(history, ended, target=history, **asked).ok
