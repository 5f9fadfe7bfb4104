"""One compiled call gives what the general path gives, to the last bit, or leaves the question to it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.kernels.jit import kernel_over
from elsewhere.model.arrays import Floats
from elsewhere.solvers import one_call
from tests.support.instances import DISTANCES, Instance, targetings

Goal = Literal["resemble", "avoid"]
_SETTINGS = settings(max_examples=40, suppress_health_check=list(HealthCheck))


class Calls:
    """Counts the questions that one call answers."""

    def __init__(self) -> None:
        self.attempt, self.asked, self.answered = one_call.attempt, 0, 0

    def __call__(self, *asked: Any) -> Any:
        found = self.attempt(*asked)
        self.asked += 1
        self.answered += found is not None
        return found


def answer(goal: Goal, instance: Instance, **asked: Any) -> Any:
    """All that is said about an instance."""
    verb = ew.resemble if goal == "resemble" else ew.avoid
    assert instance.target is not None
    try:
        result = verb(instance.histogram, instance.target, **instance.asked, **asked)
    except ew.ElsewhereError as error:
        return type(error), str(error)
    return dict(result.histogram), result, result.certificate


def check_same(goal: Goal, instance: Instance, calls: Calls, **asked: Any) -> None:
    with patch.object(one_call, "attempt", calls):
        found = answer(goal, instance, **asked)
    with patch.object(one_call, "attempt", return_value=None):
        assert found == answer(goal, instance, **asked)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", DISTANCES)
@pytest.mark.parametrize("quality", DISTANCES)
def test_every_pair_of_distances(quality: str, privacy: str, goal: Goal) -> None:
    calls = Calls()

    @_SETTINGS
    @given(targetings(quality))
    def compare(instance: Instance) -> None:
        check_same(goal, instance, calls, quality=quality, privacy=privacy)

    compare()
    assert calls.answered > 0  # else there would be nothing to compare: avoid at an infinite distance is another search


def person(dice: random.Random, places: int) -> dict[str, int]:
    """Few places often, many once or twice."""
    names = [f"{at:03d}" for at in dice.sample(range(200), places)]
    return {name: 1 + int(dice.expovariate(0.15 * (1 + at / 4))) for at, name in enumerate(names)}


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_people_of_usual_sizes(goal: Goal) -> None:
    """With bins that stay at 0 among the others, ties, sums of more than 128 numbers, and several rounds of search."""
    dice, calls = random.Random(7), Calls()
    for _ in range(60):
        histogram = ew.Histogram(person(dice, dice.randint(5, 40)))
        target: dict[str, float] = dict.fromkeys(histogram.locations, 1.0)
        if dice.random() < 0.6:
            target = {f"{at:03d}": float(dice.randint(1, 40)) for at in range(0, 200, dice.randint(1, 3))}
        asked: dict[str, Any] = {"max_quality_loss": dice.choice([0.002, 0.01, 0.05])}
        asked["visited_only"] = dice.random() < 0.5
        if dice.random() < 0.3:
            asked["sensitive"] = dice.sample(histogram.locations, 2)
        elif dice.random() < 0.3:
            asked["upper"] = {name: histogram[name] + 1 for name in dice.sample(histogram.locations, 2)}
        check_same(goal, Instance(histogram, target, asked), calls, memory_limit=2**22)
    assert calls.answered > calls.asked / 2


@kernel_over(one_call)
def compiled_sum(x: Floats) -> float:
    return one_call.numpy_sum(x)


@given(st.integers(0, 1200), st.integers(0, 2**32))
def test_sums_are_those_of_numpy(number: int, seed: int) -> None:
    x = np.random.default_rng(seed).lognormal(0.0, 3.0, number)
    assert one_call.numpy_sum(x) == compiled_sum(x) == x.sum()


def test_what_needs_more_room_is_left_to_the_general_path() -> None:
    many = {f"{at:04d}": 1 + at % 50 for at in range(3000)}
    with patch.object(one_call, "attempt", calls := Calls()):
        assert ew.resemble(many, dict.fromkeys(many, 1.0), 0.001, gap=0.01).status
        ew.resemble(many, dict.fromkeys(many, 1.0), 0.05, time_limit=0.0)
    assert (calls.asked, calls.answered) == (2, 0)


@pytest.mark.slow
def test_a_change_of_a_called_kernel_voids_the_cache(tmp_path: Path) -> None:
    """Numba looks at a kernel's own file only; a stale one would go on with the old code, without a word."""
    package = Path(ew.__file__).parent
    shutil.copytree(package, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from elsewhere.kernels import first_answers; from elsewhere.solvers import one_call; import elsewhere as ew; "
        "first_answers.compile_at_once(); loss = ew.resemble({'a': 7, 'b': 2}, {'b': 1}, 0.05).quality_loss; "
        "print(loss, len(one_call._answer.compiled.stats.cache_misses))"
    )

    def run() -> list[str]:
        environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        return done.stdout.split()

    loss, compiled = run()
    assert compiled == "1"
    assert run() == [loss, "0"]
    kernels = tmp_path / "elsewhere" / "solvers" / "terms.py"
    kernels.write_text(kernels.read_text().replace("sum_ += term(kind", "sum_ += 2.0 * term(kind"))
    assert run() == [str(2 * float(loss)), "1"]
