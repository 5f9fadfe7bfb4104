"""The fewest added visits that meet a privacy distance equal brute force's, and no smaller size is skipped."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Literal

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import elsewhere as ew
from elsewhere.model.distances import slack
from elsewhere.model.question import Question
from elsewhere.paper import brute_force, fewest_added
from elsewhere.solvers import add_only, exact
from elsewhere.verification.fewest import fewer_suffice
from tests.support.instances import LOCATIONS

_QUICK = settings(max_examples=40, suppress_health_check=list(HealthCheck), derandomize=True, deadline=None)

Goal = Literal["resemble", "avoid"]
GOALS: tuple[Goal, ...] = ("resemble", "avoid")
LIMITS = {"resemble": "max_distance", "avoid": "min_distance"}
OF_SHARES = ("js", "jeffreys", "variational")
#: Visits that brute force adds at most.
MOST = 6


@st.composite
def questions(draw: st.DrawFn, goal: Goal, privacy: str) -> dict[str, Any]:
    """Arguments of a verb but for `lower` and `size`; the distance to meet is often that of some added visits."""
    locations = draw(st.lists(st.sampled_from(LOCATIONS), min_size=1, max_size=4, unique=True))
    history = ew.Histogram({name: draw(st.integers(0, 3)) for name in locations} | {locations[0]: 2})
    weight = st.one_of(st.integers(0, 6), st.floats(0.1, 6.0))
    target = {name: draw(weight) for name in draw(st.lists(st.sampled_from("abcdz"), min_size=1, unique=True))}
    target[min(target)] = max(1, target[min(target)])
    asked: dict[str, Any] = {"histogram": history, "target": target, "privacy": privacy, "candidates": ["x"]}
    if draw(st.integers(0, 2)) == 0:
        asked["privacy"] = ew.KindDistance(privacy, {"a": "k", "b": "k", "c": "z", "x": "z"})
        asked["target"] = {"k": 2, "z": draw(weight) + 1} | {name: draw(weight) for name in draw(st.sets(st.just("d")))}
    known = {*history, "x"} | (set() if isinstance(asked["privacy"], ew.KindDistance) else {*target})
    open_ = sorted(name for name in known if not history[name])
    asked["sensitive"] = draw(st.lists(st.sampled_from(open_), max_size=1)) if open_ else []
    asked["visited_only"] = draw(st.integers(0, 4)) == 0
    if draw(st.booleans()):
        capped = draw(st.lists(st.sampled_from(sorted(known)), max_size=2, unique=True))
        asked["upper"] = {name: history[name] + draw(st.integers(0, 3)) for name in capped}
    wanted = draw(st.sampled_from([0.0, 0.05, 0.2, 0.5, 0.8]))
    if draw(st.booleans()):
        size = history.size + draw(st.integers(0, 4))
        kept = {name: count for name, count in history.items() if count}
        reached = brute_force(goal, **asked, size=size, lower=kept)
        wanted = max(wanted if reached.objective is None else reached.objective, 0.0)
    return asked | {LIMITS[goal]: wanted}


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("privacy", OF_SHARES)
@given(data=st.data())
@_QUICK
def test_as_few_as_brute_force(goal: Goal, privacy: str, data: st.DataObject) -> None:
    asked = data.draw(questions(goal, privacy))
    truth = fewest_added(goal, most=MOST, **asked)
    asked |= {"size": "free", "lower": asked["histogram"]}
    verb = ew.resemble if goal == "resemble" else ew.avoid
    if truth is None:
        with suppress(ew.PrivacyNotMet, ew.Infeasible):
            assert sum(verb(**asked).added.values()) > MOST
        return
    added, best = truth
    result = verb(**asked)
    assert sum(result.added.values()) == result.histogram.size - asked["histogram"].size == added
    assert result.histogram in best.histograms
    assert result.status == "optimal"
    check = ew.verify(release=result, **asked)
    assert check.ok, check.problems


@st.composite
def sizes_to_search(draw: st.DrawFn) -> tuple[add_only.Sizes, Question]:
    """A question of tens of bins, most of them with small shares, so that whole counts matter."""
    n = draw(st.integers(2, 30))
    dice = np.random.default_rng(draw(st.integers(0, 10**6)))
    names = [f"p{at:02}" for at in range(n)]
    history = ew.Histogram(zip(names, (1, *dice.integers(0, 4, n - 1)), strict=True))
    target = dict(zip(names, (dice.random(n) ** 3 + 1e-3).tolist(), strict=True))
    upper = {name: history[name] + int(dice.integers(0, 9)) for name in names[: draw(st.integers(0, 2))]}
    wanted = draw(st.sampled_from([0.02, 0.1, 0.3]))
    privacy = draw(st.sampled_from(OF_SHARES))
    question = Question(
        "resemble", history, target, distance_limit=wanted, privacy=privacy, size="free", lower=history, upper=upper
    )
    return add_only.sizes(question.problem, wanted), question


@given(data=st.data())
@_QUICK
def test_no_size_is_skipped(data: st.DataObject) -> None:
    sizes, question = data.draw(sizes_to_search())
    limit = question.distance_limit
    assert limit is not None
    slow, end = sizes.first, min(sizes.first + 400, sizes.last + 1)
    while slow < end:
        counts, _ = sizes._nearest(slow)
        if sizes._terms(counts / slow).sum() <= limit + slack(limit):
            break
        slow += 1
    found, suffices = sizes.next_size(sizes.first)
    if slow == end:
        assert not suffices or found >= slow
        return
    assert (found, suffices) == (slow, True)
    problem = question.adding(slow - question.history.size).problem
    assert fewer_suffice(problem, limit, range(sizes.first, slow), 1e-9) == 0
    assert fewer_suffice(problem, limit, range(sizes.first, slow + 1), 1e-9) in (slow, None)


def test_a_release_with_more_visits_than_needed_is_noticed() -> None:
    history, target = {"a": 9, "b": 1}, {"a": 1, "b": 1}
    asked: dict[str, Any] = {"target": target, "max_distance": 0.01, "size": "free", "lower": history}
    best = ew.resemble(history, **asked)
    assert best.added == {"b": 5}
    wasteful = ew.resemble(history, **asked | {"lower": {"a": 9, "b": 7}})
    assert wasteful.added == {"b": 6}
    problems = ew.verify(history, wasteful, **asked).problems
    assert problems == ["a release with only 5 added visits meets max_distance 0.01"]
    lost = ew.verify(history, {"a": 8, "b": 7}, **asked).problems
    assert lost[0] == "the release has 8 visits at 'a'; 9 to 14 are allowed"


def test_many_bins_are_grouped_by_their_target() -> None:
    history = ew.Histogram({f"p{at:03}": 1 for at in range(600)})
    target = {f"p{at:03}": at + 1.0 for at in range(600)}
    question = Question("resemble", history, target, distance_limit=0.01, size="free", lower=history)
    sizes = add_only.sizes(question.problem, 0.01)
    counts, price = sizes._nearest(5000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_MANY_BINS", 10**9)
        alone, alone_price = sizes._nearest(5000)
    assert counts.tolist() == alone.tolist()
    assert price == alone_price


def test_what_cannot_be_reached_says_where_it_ends() -> None:
    history = {"cafe": 5, "clinic": 1}
    with pytest.raises(ew.PrivacyNotMet, match=r"tends to 0\.311278") as error:
        ew.resemble(history, {"cafe": 1, "zoo": 1}, max_distance=0.1, size="free", lower=history, sensitive=["zoo"])
    assert error.value.best.added == {}
    assert math.isinf(error.value.needed_quality_loss)


def test_the_history_may_be_enough_already() -> None:
    history = {"a": 5, "b": 5}
    result = ew.resemble(history, {"a": 1, "b": 1}, max_distance=0.1, size="free", lower=history)
    assert result.unchanged
    with pytest.raises(ew.Unchanged, match="no visit needs to be added"):
        result.check_changed()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lower": None}, "give the history as lower, too"),
        ({"lower": {"a": 4}}, "lower has 4 of the 5 at 'a'"),
        ({"max_distance": None}, "needs max_distance"),
        ({"max_quality_loss": 0.1}, "leave max_quality_loss out"),
        ({"aim": "least-loss"}, "leave aim out"),
        ({"method": "heuristic"}, "leave method out"),
        ({"privacy": "l2"}, "which compares counts"),
        ({"privacy": lambda r, x: abs(r - x)}, "privacy must be the name"),
        ({"forbidden": [{"a": 6}]}, "forbidden cannot"),
        ({"time_limit": 1.0}, "time_limit cannot"),
        ({"gap": 0.1}, "gap cannot"),
        ({"size": "any"}, "size is 'any'"),
    ],
)
def test_what_does_not_go_with_a_free_size(wrong: dict[str, Any], told: str) -> None:
    asked: dict[str, Any] = {"max_distance": 0.1, "size": "free", "lower": {"a": 5}} | wrong
    with pytest.raises(ew.InputError, match=told):
        ew.resemble({"a": 5}, {"a": 1, "b": 1}, **asked)


def test_visits_at_sensitive_places_stay() -> None:
    history = {"a": 5, "clinic": 1}
    with pytest.raises(ew.Infeasible, match="only adding visits cannot hide those at sensitive places: 'clinic'"):
        ew.resemble(history, {"a": 1}, max_distance=0.1, size="free", lower=history, sensitive=["clinic"])
