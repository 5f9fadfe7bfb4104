"""Optimal equals brute force: for every pair of distances, both goals, both sizes and all constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.paper import brute_force
from tests.support.instances import DISTANCES, Instance, bumpy, hidings, targetings, wild

_QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))
_THOROUGH = settings(_QUICK, max_examples=300)
Goal = Literal["resemble", "avoid"]


def ask(goal: Goal, instance: Instance, **asked: Any) -> ew.Sanitized:
    verb = ew.resemble if goal == "resemble" else ew.avoid
    assert instance.target is not None
    return verb(instance.histogram, instance.target, **instance.asked, **asked)


def best(goal: Goal, instance: Instance, **asked: Any) -> Any:
    return brute_force(goal, instance.histogram, target=instance.target, **instance.asked, **asked)


def check_against_brute_force(goal: Goal, instance: Instance, **asked: Any) -> None:
    truth = best(goal, instance, **asked)
    if truth.objective is None:
        with pytest.raises(ew.Infeasible) as error:
            ask(goal, instance, **asked)
        assert error.value.needed_quality_loss == pytest.approx(truth.least_quality_loss, abs=1e-9)
        return
    result = ask(goal, instance, **asked)
    assert result.privacy_distance == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    assert result.gap == 0
    if truth.objective == math.inf:
        assert result.quality_loss == pytest.approx(truth.quality_loss, abs=1e-9)
    check = ew.verify(instance.histogram, result, target=instance.target, **instance.asked, **asked)
    assert check.ok, check.problems
    for early in ({"gap": 0.1}, {"time_limit": 0.0}):
        rough = ask(goal, instance, **asked, **early)
        assert rough.bound <= truth.objective + 1e-9 if goal == "resemble" else rough.bound >= truth.objective - 1e-9
        assert ew.verify(instance.histogram, rough, target=instance.target, **instance.asked, **asked).ok
    heuristic = ask(goal, instance, **asked, method="heuristic")
    assert ew.verify(instance.histogram, heuristic, target=instance.target, **instance.asked, **asked).ok
    worse = heuristic.privacy_distance
    assert worse is not None
    assert worse >= truth.objective - 1e-9 if goal == "resemble" else worse <= truth.objective + 1e-9


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", DISTANCES)
@pytest.mark.parametrize("quality", DISTANCES)
@_QUICK
@given(st.data())
def test_every_pair_of_distances(quality: str, privacy: str, goal: Goal, data: st.DataObject) -> None:
    check_against_brute_force(goal, data.draw(targetings(quality)), quality=quality, privacy=privacy)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("role", ["quality", "privacy", "both"])
@pytest.mark.parametrize("function", [bumpy, wild])
@settings(_QUICK, max_examples=100)
@given(data=st.data())
def test_users_own_function(
    function: Callable[[float, int], float], role: str, goal: Goal, data: st.DataObject
) -> None:
    own = {"quality": function, "privacy": function} if role == "both" else {role: function}
    check_against_brute_force(goal, data.draw(targetings("pearson")), **own)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@_THOROUGH
@given(st.data())
def test_forbidden_histograms(goal: Goal, data: st.DataObject) -> None:
    instance = data.draw(targetings("js"))
    forbidden: list[ew.Histogram] = []
    for _ in range(data.draw(st.integers(1, 3))):
        truth = best(goal, instance, forbidden=forbidden)
        forbidden += truth.histograms[:2]
    instance.asked["forbidden"] = forbidden
    check_against_brute_force(goal, instance)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", ["js", "jeffreys", "l2", "pearson"])
@_QUICK
@given(st.data())
def test_privacy_parameter(privacy: str, goal: Goal, data: st.DataObject) -> None:
    """Whatever c is asked for: it is met, or the least quality loss that would meet it is said."""
    instance = data.draw(targetings("js"))
    instance.asked["max_quality_loss"] = 0.02
    truth = best(goal, instance, privacy=privacy)
    if truth.objective is None:
        return
    wanted = data.draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 2.0, math.inf]))
    name = "max_distance" if goal == "resemble" else "min_distance"
    met = truth.objective <= wanted + 1e-12 if goal == "resemble" else truth.objective >= wanted - 1e-12
    if met:
        assert ask(goal, instance, privacy=privacy, **{name: wanted}).status == "optimal"
        return
    with pytest.raises(ew.PrivacyNotMet) as error:
        ask(goal, instance, privacy=privacy, **{name: wanted})
    assert error.value.best.privacy_distance == pytest.approx(truth.objective, abs=1e-9)
    needed = error.value.needed_quality_loss

    def reached(limit: float) -> float | None:
        instance.asked["max_quality_loss"] = limit
        found = best(goal, instance, privacy=privacy).objective
        return None if found is None else (found if goal == "resemble" else -found)

    signed = wanted + 1e-9 if goal == "resemble" else -wanted + 1e-9
    if needed < math.inf:
        enough = reached(needed)
        assert enough is not None
        assert enough <= signed
        less = reached(needed - 1e-9)
        assert less is None or less > signed - 2e-9
    else:
        most = reached(1e9)
        assert most is None or most > signed - 2e-9


@pytest.mark.parametrize("quality", [*DISTANCES, bumpy, wild])
@settings(_QUICK, max_examples=150)
@given(data=st.data())
def test_hide(quality: str | Callable[[float, int], float], data: st.DataObject) -> None:
    instance = data.draw(hidings())
    asked = {**instance.asked, "quality": quality}
    left = instance.histogram.size - sum(instance.histogram[name] for name in asked["sensitive"])
    if left + asked.get("redistribute", 1) == 0:
        return
    truth = brute_force("hide", instance.histogram, **asked)
    if data.draw(st.booleans()):
        asked["forbidden"] = truth.histograms[:2]
        truth = brute_force("hide", instance.histogram, **asked)
    if truth.objective is None:
        with pytest.raises((ew.Infeasible, ew.InputError)):
            ew.hide(instance.histogram, **asked)
        return
    result = ew.hide(instance.histogram, **asked)
    assert result.quality_loss == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    check = ew.verify(instance.histogram, result, **asked)
    assert check.ok, check.problems


def test_a_single_choice_far_above_the_dual_bound() -> None:
    """The bound is 0 and the choice at 10^6: what decides is the rounding error of the larger."""
    bounds = {"gym": 1}

    def odd(_: float, x: int) -> float:
        return 1e6 * (x % 2)

    found = ew.resemble({"home": 10, "gym": 2}, {"home": 1, "gym": 1}, 1e9, odd, lower=bounds, upper=bounds)
    assert (dict(found.histogram), found.status) == ({"gym": 1, "home": 11}, "optimal")
