"""Parts of the values, searched one after the other, have the optimum of the whole: against a look at every choice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.kernels.jit import interpreting
from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers import branches, knapsack, one_call
from elsewhere.solvers.knapsack import Best, Limits, Solution, Tables, improve


@contextmanager
def always_split(parts: int = 200) -> Iterator[None]:
    """Split at any barrier, at once and up to so many parts."""
    with (
        patch.object(branches, "_FIRST_TRY", 0.0),
        patch.object(branches, "_HIGH", 0.0),
        patch.object(branches, "_MOST_FORKS", 100),
        patch.object(branches, "_MOST_PARTS", parts),
    ):
        yield


def two_minima(dice: np.random.Generator, bins: int, values: int) -> tuple[Tables, Ints]:
    """Bins that are best at either end of their values, some of which are not allowed; and counts to start from."""
    x = np.arange(values)
    known = dice.integers(0, values, bins)
    target = dice.random((bins, 1)) * values
    objective = -np.square(x - target) * dice.uniform(0.5, 2.0, (bins, 1))
    objective[dice.random((bins, values)) < 0.1] = math.inf
    objective[np.arange(bins), known] = -dice.random(bins)
    cost = np.square(x - known[:, np.newaxis]) * dice.uniform(0.5, 2.0, (bins, 1))
    return Tables(np.arange(bins + 1) * values, dice.integers(0, 5, bins), objective.ravel(), cost.ravel()), known


def every_choice(tables: Tables, values: int) -> tuple[Ints, Floats, Floats]:
    """All choices of entries, with their objectives and costs."""
    bins = len(tables.low)
    choices = np.array(list(product(range(values), repeat=bins)))
    entries = choices + tables.start[:-1]
    return choices + tables.low, tables.objective[entries].sum(axis=1), tables.cost[entries].sum(axis=1)


def solved(tables: Tables, known: Ints, budget: float, forbidden: Ints) -> Solution:
    size = int(known.sum())
    found = branches.solve(tables, size, budget, known=known, forbidden=forbidden, limits=Limits())
    assert found is not None
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), bins=st.integers(2, 5), forbid=st.booleans(), parts=st.sampled_from([1, 3, 200]))
def test_all_parts_together_have_the_optimum(seed: int, bins: int, forbid: bool, parts: int) -> None:
    values = 6
    dice = np.random.default_rng(seed)
    tables, known = two_minima(dice, bins, values)
    known = known + tables.low
    budget = float(dice.uniform(0.0, 12.0 * bins))
    counts, objectives, costs = every_choice(tables, values)
    allowed = (counts.sum(axis=1) == known.sum()) & (costs <= budget) & (objectives < math.inf)
    counts, objectives = counts[allowed], objectives[allowed]
    forbidden = np.zeros((0, bins), np.int64)
    best = counts[objectives.argmin()]
    if forbid and not np.array_equal(best, known):
        forbidden = best[np.newaxis]
        others = (counts != best).any(axis=1)
        counts, objectives = counts[others], objectives[others]
    with always_split(parts):
        found = solved(tables, known, budget, forbidden)
        with interpreting():
            interpreted = solved(tables, known, budget, forbidden)
    assert found.objective == pytest.approx(objectives.min(), rel=1e-12, abs=1e-12)
    assert any(np.array_equal(found.counts, choice) for choice in counts)
    assert found.closed
    assert found.dual_bound <= found.objective + 1e-9
    assert repr(interpreted) == repr(found)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), work=st.sampled_from([0.0, 20.0, 60.0, 200.0]))
def test_an_ended_search_has_a_bound_that_holds(seed: int, work: float) -> None:
    values, bins = 6, 5
    dice = np.random.default_rng(seed)
    tables, known = two_minima(dice, bins, values)
    known = known + tables.low
    counts, objectives, costs = every_choice(tables, values)
    optimum = objectives[(counts.sum(axis=1) == known.sum()) & (costs <= 20.0)].min()
    with always_split(), patch("elsewhere.solvers.knapsack._MOST_WORK", work):
        found = solved(tables, known, 20.0, np.zeros((0, bins), np.int64))
    assert found.bound <= optimum + 1e-9
    assert found.objective >= optimum - 1e-9


def test_what_the_first_rounds_prove_is_kept() -> None:
    proven: list[Best] = []

    def recorded(*given: Any) -> Best:
        proven.append(improve(*given))
        return proven[-1]

    better = 0
    for seed in range(100):
        proven.clear()
        dice = np.random.default_rng(seed)
        tables, known = two_minima(dice, 7, 8)
        known = known + tables.low
        with (
            patch.object(branches, "_FIRST_TRY", 100.0),
            patch("elsewhere.solvers.knapsack._MOST_WORK", 0.0),
            patch.object(branches, "improve", recorded),
        ):
            found = solved(tables, known, 40.0, np.zeros((0, 7), np.int64))
        assert found.bound == proven[0].bound
        better += found.bound > found.dual_bound + 1e-6
    assert better > 0


def test_a_first_try_is_no_less_than_one_call() -> None:
    """So a question that one call answers has the same answer here, even if the optimum is not the only one.

    The labels are as many by definition, and the completions have to be.
    """
    assert knapsack._SUMS_PER_LABEL * branches._FIRST_TRY >= one_call._COMPLETION_WORK


def test_a_search_ends_at_the_same_place_however_much_a_call_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of interpreted kernels do less. This question has two optima: the release depends on where searches end."""

    def ask() -> ew.Sanitized:
        history = {"a": 468, "b": 256, "c": 256}
        return ew.avoid(history, history, 0.16373435156554567, "variational", "l2", visited_only=True)

    compiled = ask()
    assert compiled.status == "optimal"
    with interpreting():
        assert ask() == compiled
    for constant, work in (("_COMPLETION_WORK", 10_000), ("_LABEL_WORK", 1_000)):
        monkeypatch.setattr(knapsack, constant, work)
    assert ask() == compiled


def test_without_memory_nothing_is_split() -> None:
    tables, known = two_minima(np.random.default_rng(3), 5, 6)
    known, forbidden = known + tables.low, np.zeros((0, 5), np.int64)
    with always_split(), patch.object(branches, "_halves", wraps=branches._halves) as halves:
        expected = solved(tables, known, 20.0, forbidden)
        assert halves.call_count > 0
        halves.reset_mock()
        size, limits = int(known.sum()), Limits(memory=60_000)
        found = branches.solve(tables, size, 20.0, known=known, forbidden=forbidden, limits=limits)
        assert halves.call_count == 0
    assert found is not None
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)


def test_two_places_that_may_take_visits_from_each_other() -> None:
    """Preloading asks this question, too, so that the kernels of the parts are compiled."""
    history = ew.Histogram({"a": 1200, "b": 1200, "c": 10, "d": 20})
    target = dict.fromkeys("abcd", 1.0) | {"e": 100.0}
    with patch.object(branches, "_halves", wraps=branches._halves) as halves:
        split = ew.avoid(history, target, 0.05, visited_only=True)
        assert halves.call_count > 0
    with patch.object(branches, "_MOST_FORKS", 0):
        whole = ew.avoid(history, target, 0.05, visited_only=True)
    assert split.status == whole.status == "optimal"
    assert split.privacy_distance == pytest.approx(whole.privacy_distance, rel=1e-12)
    assert ew.verify(history, split, target=target, max_quality_loss=0.05, visited_only=True).ok
