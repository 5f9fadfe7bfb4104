"""Counts that are looked at by the range cost what they cost one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from benchmarks.data import skewed, uniform
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.model.question import Question
from elsewhere.verification import bounds
from tests.support.instances import DISTANCES

#: A limit on the quality loss that leaves many counts, by distance.
LIMITS = {"js": 0.3, "jeffreys": 2.0, "variational": 0.8, "l2": 60, "squared-l2": 3000, "pearson": 90, "neyman": 90}
Goal = Literal["resemble", "avoid"]


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_as_one_by_one(goal: Goal, data: st.DataObject) -> None:
    quality, privacy = (data.draw(st.sampled_from(DISTANCES)) for _ in range(2))
    counts, weights = (data.draw(st.lists(st.integers(0, 90), min_size=4, max_size=4)) for _ in range(2))
    history, target = (dict(zip("abcd", [1 + many[0], *many[1:]], strict=True)) for many in (counts, weights))
    question = Question(goal, ew.Histogram(history), target, LIMITS[quality], None, quality, privacy)
    try:
        problem = question.problem
    except ew.Infeasible:
        reject()
    lam = data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
    mu = data.draw(st.sampled_from([-1.0, -0.01, 0.0, 0.01, 1.0]))
    one_by_one, by_range = (bounds.Multipliers(problem, lam, mu) for _ in range(2))
    rows = [(x, f + lam * q - mu * x) for x, f, q in map(one_by_one.row, range(4))]
    assume(all(len(x) for x, _ in rows))  # else every histogram is at an infinite distance
    expected = np.array([cost.min() for _, cost in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "_TABULATED", 0)
        assert by_range.least(problem.original) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        gap = data.draw(st.sampled_from([0.0, 0.01, 1.0]))
        by_range.narrow(expected + gap)
    for bin_, (x, cost) in enumerate(rows):
        cheap = x[cost <= expected[bin_] + gap - 1e-9 * (1.0 + abs(expected[bin_]))]
        assert ((by_range.low[bin_] <= cheap) & (cheap <= by_range.high[bin_])).all()


@pytest.mark.compiled
@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_long_histories_are_proven_again(goal: Goal) -> None:
    history = skewed(8, 10**9, seed=1)
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(history, uniform(history), 0.05)
    check = ew.verify(history, result, target=uniform(history), max_quality_loss=0.05)
    assert check.ok, check.problems
    assert check.bound == pytest.approx(result.bound, rel=1e-6)
    assert result.certificate is not None
    for shift in (-1e-6, 1e-6):
        boast = replace(result, certificate=replace(result.certificate, bound=result.certificate.bound + shift))
        check = ew.verify(history, boast, target=uniform(history), max_quality_loss=0.05)
        assert "the certificate proves" in check.problems[0]
