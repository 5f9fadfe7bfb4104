"""What surrounds the answer: ties, limits, interruption."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from benchmarks.data import skewed, uniform
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.budgets import frontier_budgets
from elsewhere.model.question import Question
from tests.support.instances import DISTANCES, bumpy


@pytest.mark.parametrize("verb", ["hide", "resemble", "avoid"])
@settings(max_examples=60)
@given(data=st.data())
def test_order_of_the_input_does_not_matter(verb: str, data: st.DataObject) -> None:
    counts = {name: data.draw(st.integers(0, 3)) for name in "abcdefg"} | {"h": 2}
    target = {name: data.draw(st.integers(0, 2)) for name in "abcdefg"} | {"h": 1}
    quality = data.draw(st.sampled_from(DISTANCES))
    seed = data.draw(st.integers(0, 10**6))

    def shuffled(table: dict[str, int]) -> dict[str, int]:
        return dict(random.Random(seed).sample(list(table.items()), len(table)))

    def ask(history: dict[str, int], wanted: dict[str, int]) -> Any:
        try:
            if verb == "hide":
                return ew.hide(history, {"h"}, quality)
            return getattr(ew, verb)(history, wanted, 0.5, quality, "variational")
        except ew.ElsewhereError as error:
            return str(error)

    assert ask(counts, target) == ask(shuffled(counts), shuffled(target))


def test_ties_go_to_the_name_that_sorts_first() -> None:
    assert dict(ew.hide({"a": 4, "b": 4, "c": 4, "x": 1}, {"x"}).histogram) == {"a": 5, "b": 4, "c": 4}
    assert dict(ew.hide({"a": 4, "b": 4, "c": 4, "x": 4}, {"x"}, "variational").histogram) == {"a": 6, "b": 5, "c": 5}
    released = ew.resemble({"a": 5, "b": 5, "c": 2}, {"a": 1, "b": 1, "c": 1}, 0.02).histogram
    assert dict(released) == {"a": 5, "b": 4, "c": 3}


def test_gap_ends_the_search_early_and_honestly() -> None:
    history = skewed(80, 400, seed=1)
    best = ew.resemble(history, uniform(history), 0.01)
    rough = ew.resemble(history, uniform(history), 0.01, gap=0.01)
    assert best.privacy_distance is not None
    assert rough.privacy_distance is not None
    assert rough.gap <= 0.01
    assert rough.bound <= best.privacy_distance <= rough.privacy_distance
    assert rough.status == ("optimal" if rough.gap == 0 else "feasible")


@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"memory_limit": 200_000}])
def test_limits_end_the_search_early_and_honestly(limit: dict[str, Any]) -> None:
    history = skewed(40, 200, seed=6)
    result = ew.avoid(history, history, 0.02, **limit)
    assert result.status == "feasible"
    assert result.privacy_distance is not None
    assert result.gap == pytest.approx(result.bound - result.privacy_distance)
    assert result.gap > 0
    check = ew.verify(history, result, target=history, max_quality_loss=0.02)
    assert check.ok, check.problems


@pytest.mark.parametrize("verb", [ew.resemble, ew.avoid])
def test_tables_beyond_memory_narrow_the_search(verb: Callable[..., ew.Sanitized]) -> None:
    history = skewed(40, 5_000, seed=6)
    unchanged = ew.distance("js", uniform(history), history)
    best = verb(history, uniform(history), 0.02)
    narrow = verb(history, uniform(history), 0.02, memory_limit=100_000)
    assert narrow.status == "feasible"
    assert narrow.certificate is not None
    assert "memory limit" in narrow.notes[0]
    assert best.privacy_distance is not None
    assert narrow.privacy_distance is not None
    if verb is ew.resemble:
        assert narrow.bound <= best.privacy_distance <= narrow.privacy_distance < unchanged
    else:
        assert narrow.bound >= best.privacy_distance >= narrow.privacy_distance > unchanged
    assert ew.verify(history, narrow, target=uniform(history), max_quality_loss=0.02).ok


@pytest.mark.parametrize("early", [{"time_limit": 0.0}, {"gap": math.inf}])
@pytest.mark.parametrize("asked", [{"quality": bumpy}, {"forbidden": [{"a": 4, "b": 3}]}])
def test_an_early_end_is_no_infeasibility(early: dict[str, Any], asked: dict[str, Any]) -> None:
    history = {"a": 3, "b": 2, "x": 2}
    result, best = ew.hide(history, {"x"}, **asked, **early), ew.hide(history, {"x"}, **asked)
    assert result.histogram.size == 7
    assert result.bound <= best.quality_loss <= result.quality_loss


def test_infinite_distance_is_optimal_only_if_proven() -> None:
    asked = ({"l0": 5, "l1": 1, "l2": 2}, {"l0": 4, "l1": 2, "l2": 3}, 30.0, "pearson", "neyman")
    best = ew.avoid(*asked)
    assert (best.status, best.privacy_distance) == ("optimal", math.inf)
    assert best.quality_loss == pytest.approx(1.2)
    for memory_limit in (100, 200, 1000, 5000):
        narrow = ew.avoid(*asked, memory_limit=memory_limit)
        assert narrow.bound == math.inf
        assert narrow.status == "feasible" or narrow.quality_loss == best.quality_loss
    start = ew.avoid({"l0": 3, "l1": 0, "l2": 2}, {"l0": 3, "l1": 1, "l2": 4}, 0.1, "variational", "jeffreys",
                     memory_limit=165)  # fmt: skip
    assert (start.privacy_distance, start.bound, start.gap) == (math.inf, math.inf, 0.0)


def test_what_a_narrow_search_finds_best_is_certified() -> None:
    history, target = {"l0": 2, "l1": 2}, {"l0": 4, "l1": 4}
    result = ew.resemble(history, target, 5.0, memory_limit=100)
    assert result.status == "optimal"
    assert ew.verify(history, result, target=target, max_quality_loss=5.0).ok


def test_memory_may_be_too_small_to_say_what_would_do() -> None:
    history = skewed(40, 5_000, seed=6)
    with pytest.raises(ew.PrivacyNotMet, match="memory limit stopped the search") as error:
        ew.resemble(history, uniform(history), 0.01, max_distance=1e-9, memory_limit=2_000_000)
    assert math.isnan(error.value.needed_quality_loss)
    with pytest.raises(ew.InputError, match="pairs"):
        ew.resemble(skewed(400, 4000, seed=1), {"x": 1.0}, 0.01, method="heuristic", memory_limit=1_000_000)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which each look takes a second: a limit on time ends the same search at the same place everywhere."""
    monkeypatch.setattr("time.monotonic", partial(next, count(0.0)))


@pytest.mark.compiled
@pytest.mark.usefixtures("looks")
def test_advice_is_given_even_if_time_ends_the_search() -> None:
    history = skewed(30, 500, seed=3)
    dice = random.Random(5)
    target = {location: dice.random() ** 3 for location in history.locations}
    with pytest.raises(ew.PrivacyNotMet, match=r"a quality loss of at most [\d.]+ would meet it; the search") as error:
        ew.avoid(history, target, 0.001, min_distance=0.95, time_limit=50)
    enough = ew.avoid(history, target, error.value.needed_quality_loss, method="heuristic", time_limit=0.0)
    assert enough.status == "feasible"
    with pytest.raises(ew.PrivacyNotMet) as proven:
        ew.avoid(history, target, 0.001, min_distance=0.9)
    met = ew.avoid(history, target, proven.value.needed_quality_loss, min_distance=0.9)
    assert met.quality_loss == pytest.approx(proven.value.needed_quality_loss, abs=1e-9)


@pytest.mark.compiled
@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("seconds", [10, 15, 25, 40])
def test_ended_by_time_it_is_no_worse_than_the_heuristic(seconds: int) -> None:
    history = skewed(60, 600, seed=7)
    quick = ew.avoid(history, history, 0.05, method="heuristic")
    ended = ew.avoid(history, history, 0.05, time_limit=seconds)
    assert ended.status == "feasible"
    assert ended.privacy_distance is not None
    assert quick.privacy_distance is not None
    assert ended.privacy_distance >= quick.privacy_distance > 0.0499


def test_a_larger_budget_buys_no_less_even_if_time_ends_the_search() -> None:
    history = skewed(60, 600, seed=7)
    target = dict(zip(history.locations, reversed(history.counts.tolist()), strict=True))
    for limit in (0.0, 0.01, 0.05):
        points = ew.frontier(history, target, [0.05 * at for at in range(8)], goal="avoid", time_limit=limit)
        distances = [point.privacy_distance or 0.0 for point in points]
        assert distances == sorted(distances)
        assert all(point.quality_loss <= budget + 1e-12 for point, budget in zip(points, points.budgets, strict=True))


@pytest.mark.parametrize("privacy", ["js", "variational", "l2", "jeffreys"])
def test_the_curve_of_avoid_ends_where_hardly_anything_is_left_to_gain(privacy: str) -> None:
    history = skewed(20, 100, seed=3)
    target = dict(list(history.items())[:5])
    budgets = frontier_budgets(Question("avoid", history, target, 0.0, privacy=privacy))
    last, most = ew.frontier(history, target, [budgets[-1], 1.0], "avoid", privacy=privacy)
    assert last.privacy_distance is not None
    assert most.privacy_distance is not None
    assert last.privacy_distance >= 0.98 * most.privacy_distance
    assert budgets == sorted(budgets)


def test_subset_sum_in_disguise_is_given_up_when_near_enough() -> None:
    history = skewed(100, 5000, seed=3)
    result = ew.avoid(history, history, 0.05)
    assert result.gap <= 1e-6 * 0.05


def test_frontier_is_monotone() -> None:
    history = skewed(40, 200, seed=8)
    budgets = [0.0, 0.001, 0.005, 0.02, 0.1, 0.5]
    reached = [point.privacy_distance or 0.0 for point in ew.frontier(history, uniform(history), budgets)]
    assert reached == sorted(reached, reverse=True)
    reached = [point.privacy_distance or 0.0 for point in ew.frontier(history, uniform(history), budgets, "avoid")]
    assert reached == sorted(reached)
    with pytest.raises(ew.Infeasible) as error:
        ew.frontier(history, uniform(history), budgets, sensitive=[history.locations[0]])
    assert 0 < error.value.needed_quality_loss < 1
