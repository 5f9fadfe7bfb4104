"""The least quality loss that meets a privacy distance equals brute force's, and its proof holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import elsewhere as ew
from elsewhere.paper import brute_force
from tests.support.instances import DISTANCES, bumpy, histograms, targetings, wild
from tests.support.taxonomies import taxonomies, tree_distances

_QUICK = settings(max_examples=12, suppress_health_check=list(HealthCheck), derandomize=True)

Goal = Literal["resemble", "avoid"]
GOALS: tuple[Goal, ...] = ("resemble", "avoid")
LIMITS = {"resemble": "max_distance", "avoid": "min_distance"}
WANTED = (0.0, 0.02, 0.1, 0.3, 0.7, 2.0, 12.0, math.inf)


@st.composite
def questions(draw: st.DrawFn, goal: Goal, quality: Any, privacy: Any) -> dict[str, Any]:
    """Arguments of a verb; the distance to meet is often that of some histogram, and half have both limits."""
    flat = quality if isinstance(quality, str) else getattr(quality, "name", "pearson")
    instance = draw(targetings(flat))
    asked: dict[str, Any] = {**instance.asked, "histogram": instance.histogram, "target": instance.target}
    asked |= {"quality": quality, "privacy": privacy}
    if draw(st.booleans()):
        del asked["max_quality_loss"]
    wanted = draw(st.sampled_from(WANTED))
    if draw(st.booleans()):
        reached = brute_force(goal, **{**asked, "max_quality_loss": draw(st.sampled_from([0.05, 0.5, 2.0, math.inf]))})
        wanted = max(wanted if reached.objective is None else reached.objective, 0.0)
    asked[LIMITS[goal]] = wanted
    return asked


def solve(goal: Goal, asked: dict[str, Any], **more: Any) -> ew.Sanitized:
    return (ew.resemble if goal == "resemble" else ew.avoid)(aim="least-loss", **asked, **more)


def check(asked: dict[str, Any], result: ew.Sanitized) -> Any:
    return ew.verify(release=result, **asked)


def check_against_brute_force(goal: Goal, asked: dict[str, Any]) -> None:
    truth = brute_force(goal, **asked, aim="least-loss")
    if truth.objective is None:
        nearest = brute_force(goal, **{name: value for name, value in asked.items() if name != LIMITS[goal]})
        if nearest.objective is None:
            with pytest.raises(ew.Infeasible):
                solve(goal, asked)
            return
        with pytest.raises(ew.PrivacyNotMet) as error:
            solve(goal, asked)
        assert error.value.best.privacy_distance == pytest.approx(nearest.objective, abs=1e-9)
        without = brute_force(goal, **{**asked, "max_quality_loss": math.inf}, aim="least-loss").objective
        needed = error.value.needed_quality_loss
        assert needed == (math.inf if without is None else pytest.approx(without, abs=1e-9))
        return
    result = solve(goal, asked)
    assert result.quality_loss == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    assert result.gap == 0
    assert result.objective == result.quality_loss == result.bound
    assert result.question.meets_distance(result.privacy_distance)
    found = check(asked, result)
    assert found.ok, found.problems
    # Without time, some counts are found, but perhaps none within a limit on the quality loss.
    free = {name: value for name, value in asked.items() if name != "max_quality_loss"}
    for question, early in ((asked, {"gap": 0.1}), (free, {"time_limit": 0.0})):
        rough = solve(goal, question, **early)
        assert rough.bound <= truth.objective + 1e-9
        assert rough.quality_loss >= truth.objective - 1e-9
        found = check(question, rough)
        assert found.ok, found.problems
    # What is claimed beyond the truth is found out.
    if truth.objective > 1e-6:
        better = replace(result, bound=result.bound + 1e-3, gap=1e-3)
        assert not check(asked, better).ok
    assert result.certificate is not None
    stronger = replace(result.certificate, bound=check(asked, result).bound + 1e-3)
    assert not check(asked, replace(result, certificate=stronger)).ok


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("privacy", DISTANCES)
@pytest.mark.parametrize("quality", DISTANCES)
@_QUICK
@given(st.data())
def test_every_pair_of_distances(quality: str, privacy: str, goal: Goal, data: st.DataObject) -> None:
    check_against_brute_force(goal, data.draw(questions(goal, quality, privacy)))


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("role", ["quality", "privacy", "both"])
@pytest.mark.parametrize("function", [bumpy, wild])
@settings(_QUICK, max_examples=50)
@given(data=st.data())
def test_users_own_function(
    function: Callable[[float, int], float], role: str, goal: Goal, data: st.DataObject
) -> None:
    own = {"quality": "js", "privacy": "js"} | (
        {"quality": function, "privacy": function} if role == "both" else {role: function}
    )
    check_against_brute_force(goal, data.draw(questions(goal, **own)))


@pytest.mark.parametrize("goal", GOALS)
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_forbidden_histograms(goal: Goal, data: st.DataObject) -> None:
    asked = data.draw(questions(goal, "js", data.draw(st.sampled_from(DISTANCES))))
    for _ in range(data.draw(st.integers(1, 3))):
        truth = brute_force(goal, **asked, aim="least-loss")
        asked["forbidden"] = [*asked.get("forbidden", ()), *truth.histograms[:2]]
    check_against_brute_force(goal, asked)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("over", ["quality", "privacy", "both"])
@settings(_QUICK, max_examples=50)
@given(data=st.data())
def test_over_a_taxonomy(over: str, goal: Goal, data: st.DataObject) -> None:
    taxonomy = data.draw(taxonomies())
    distances: dict[str, Any] = {role: data.draw(st.sampled_from(DISTANCES)) for role in ("quality", "privacy")}
    for role in distances if over == "both" else [over]:
        distances[role] = data.draw(tree_distances(distances[role], taxonomy))
    asked = data.draw(questions(goal, **distances))
    if data.draw(st.booleans()):
        asked["forbidden"] = brute_force(goal, **asked, aim="least-loss").histograms[:2]
    check_against_brute_force(goal, asked)


@pytest.mark.parametrize("goal", GOALS)
@settings(_QUICK, max_examples=80)
@given(data=st.data())
def test_target_of_kinds(goal: Goal, data: st.DataObject) -> None:
    kinds = data.draw(st.dictionaries(st.sampled_from("abcdx"), st.sampled_from(["k", "l", "a"])))
    quality = data.draw(st.sampled_from([*DISTANCES, bumpy]))
    histogram, target = (
        data.draw(histograms()),
        data.draw(st.dictionaries(st.sampled_from(["k", "l", "a", "b"]), st.integers(1, 6), min_size=1)),
    )
    asked: dict[str, Any] = {"histogram": histogram, "target": target, "quality": quality, "candidates": ["x"]}
    asked["privacy"] = ew.KindDistance(data.draw(st.sampled_from(DISTANCES)), kinds)
    asked[LIMITS[goal]] = data.draw(st.sampled_from(WANTED))
    if data.draw(st.integers(0, 3)) == 0:
        asked["forbidden"] = brute_force(goal, **asked, aim="least-loss").histograms[:2]
    check_against_brute_force(goal, asked)
