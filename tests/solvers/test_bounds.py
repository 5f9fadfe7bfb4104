"""The bound of a search that saw only some values: it holds for all of them, and other code than computed it agrees."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from benchmarks.data import skewed
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.model.distances import slack
from elsewhere.paper.terms import term
from tests.support.instances import DISTANCES

#: A limit on the quality loss that leaves many counts, by distance.
LIMITS = {"js": 0.03, "jeffreys": 0.2, "variational": 0.3, "l2": 60, "squared-l2": 3000, "pearson": 90, "neyman": 90}


def brute_force_bound(
    goal: str, history: ew.Histogram, target: dict[str, float], quality: str, privacy: str, certificate: ew.Certificate
) -> float:
    """The least of every bin over every count that fits the budget, one by one."""
    size, weight = history.size, sum(target.values())
    limit = LIMITS[quality] + 0.999 * slack(LIMITS[quality])
    budget = limit * limit if quality == "l2" else limit
    sign = -1.0 if goal == "avoid" else 1.0
    q_term, p_term, counts = term(quality, size, size), term(privacy, size, size), range(size + 1)
    q = [[q_term(history[name], x) for x in counts] for name in history]
    p = [[p_term(target[name] * size / weight, x) for x in counts] for name in history]
    spare = budget - sum(map(min, q))
    total = certificate.size_multiplier * size - certificate.quality_multiplier * budget
    for qualities, privacies in zip(q, p, strict=True):
        total += min(
            sign * f + certificate.quality_multiplier * g - certificate.size_multiplier * x
            for x, (f, g) in enumerate(zip(privacies, qualities, strict=True))
            if g <= spare + min(qualities) and math.isfinite(f)
        )
    return math.sqrt(max(sign * total, 0.0)) if privacy == "l2" else sign * total


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("quality", DISTANCES)
@settings(max_examples=25)
@given(data=st.data())
def test_bound_holds_for_all_values(quality: str, goal: Literal["resemble", "avoid"], data: st.DataObject) -> None:
    bounded = ("js", "variational", "l2", "squared-l2")  # in avoid nothing bounds the others
    privacy = data.draw(st.sampled_from(DISTANCES if goal == "resemble" else bounded))
    history = skewed(data.draw(st.integers(2, 8)), 300, data.draw(st.integers(0, 99)))
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).dirichlet(np.ones(history.length))
    target = dict(zip(history.locations, weights.tolist(), strict=True))
    if data.draw(st.booleans()):
        target = {name: float(count) for name, count in history.items()}
    verb = ew.resemble if goal == "resemble" else ew.avoid
    method: Literal["optimal", "heuristic"] = data.draw(st.sampled_from(["optimal", "heuristic"]))
    narrow = verb(history, target, LIMITS[quality], quality, privacy, method, memory_limit=history.length * 33 * 8)
    assert "memory limit" in narrow.notes[0]
    assert narrow.certificate is not None
    expected = brute_force_bound(goal, history, target, quality, privacy, narrow.certificate)
    assert narrow.certificate.bound == pytest.approx(expected, rel=1e-9, abs=1e-9 if privacy != "l2" else 1e-4)
    asked = {"target": target, "max_quality_loss": LIMITS[quality], "quality": quality, "privacy": privacy}
    check = ew.verify(history, narrow, **asked)  # type: ignore[arg-type]
    assert check.ok, check.problems
    better = narrow.certificate.bound + (0.1 if goal == "resemble" else -0.1) * (1 + abs(narrow.certificate.bound))
    sabotaged = replace(narrow, certificate=replace(narrow.certificate, bound=better))
    assert not ew.verify(history, sabotaged, **asked).ok  # type: ignore[arg-type]


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", ["js", "variational", "squared-l2"])
def test_bound_over_very_many_values(privacy: str, goal: str) -> None:
    """Too many to look at one by one in the solver; verify does so all the same."""
    history = skewed(12, 200_000, seed=1)
    target = dict(zip(history.locations, reversed(history.counts.tolist()), strict=True))
    verb = ew.resemble if goal == "resemble" else ew.avoid
    narrow = verb(history, target, 0.05, "js", privacy, memory_limit=100_000)
    assert narrow.certificate is not None
    check = ew.verify(history, narrow, target=target, max_quality_loss=0.05, privacy=privacy)
    assert check.ok, check.problems
