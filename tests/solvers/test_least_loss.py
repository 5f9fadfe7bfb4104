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
from elsewhere.budgets import frontier_budgets
from elsewhere.paper import brute_force
from elsewhere.solve import solve_frontier
from tests.support.instances import DISTANCES, bumpy, histograms, targetings, wild
from tests.support.taxonomies import taxonomies, tree_distances

_QUICK = settings(max_examples=12, suppress_health_check=list(HealthCheck))

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


@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_smoothed_distances(data: st.DataObject) -> None:
    smoothed = ew.SmoothedJS({("a", "b"): 0.5, ("b", "c"): 0.2})
    distances = data.draw(st.sampled_from([("js", smoothed), (smoothed, "js"), (smoothed, smoothed)]))
    asked = data.draw(questions("resemble", *distances))
    truth = brute_force("resemble", **asked, aim="least-loss")
    if truth.objective is None:
        with pytest.raises((ew.Infeasible, ew.PrivacyNotMet)):
            solve("resemble", asked)
        return
    result = solve("resemble", asked)
    assert result.quality_loss == pytest.approx(truth.objective, abs=1e-9)
    assert result.question.meets_distance(result.privacy_distance)
    found = check(asked, result)
    assert found.ok, found.problems


BOB = {"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3}
FRUGAL = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
KINDS = dict.fromkeys("abc", "Shop") | dict.fromkeys("de", "Bar") | dict.fromkeys("fgh", "Office")
AT_WORK = {"Shop": 3, "Bar": 1, "Office": 6}


@pytest.mark.parametrize(
    ("goal", "target", "privacy", "wanted"),
    [
        ("resemble", FRUGAL, "js", 0.03),
        ("avoid", FRUGAL, "js", 0.2),
        ("avoid", FRUGAL, "pearson", math.inf),
        ("resemble", AT_WORK, ew.KindDistance("js", KINDS), 0.01),
        ("avoid", AT_WORK, ew.KindDistance("l2", KINDS), 40.0),
    ],
)
def test_it_is_the_loss_that_an_error_asks_for(goal: Goal, target: Any, privacy: Any, wanted: float) -> None:
    verb = ew.resemble if goal == "resemble" else ew.avoid
    asked: dict[str, Any] = {"privacy": privacy, LIMITS[goal]: wanted}
    if wanted == math.inf:
        asked["candidates"] = ["x"]  # where the target has nothing
    result = verb(BOB, target, **asked)
    assert result.quality_loss > 1e-4
    assert result.question.aim == "least-loss"
    assert verb(BOB, target, result.quality_loss, aim="least-loss", **asked).histogram == result.histogram
    for aim in (None, "least-loss"):
        with pytest.raises(ew.PrivacyNotMet) as error:
            verb(BOB, target, 1e-4, **{**asked, "aim": aim})
        assert error.value.needed_quality_loss == pytest.approx(result.quality_loss, abs=1e-9)
        assert error.value.best.question.aim != "least-loss"


@pytest.mark.parametrize("goal", GOALS)
def test_frontier(goal: Goal) -> None:
    wanted = [0.02, 0.06, 0.0] if goal == "resemble" else [0.1, 0.3, 0.2]
    points = ew.frontier(BOB, FRUGAL, wanted, goal, aim="least-loss")
    for limit, point in zip(wanted, points, strict=True):
        alone = solve(goal, {"histogram": BOB, "target": FRUGAL, LIMITS[goal]: limit})
        assert point.quality_loss == alone.quality_loss
        assert point.status == "optimal"
    assert points.budgets == tuple(wanted)
    assert f"privacy distance at {'most' if goal == 'resemble' else 'least'}" in str(points._repr_html_())
    question = points[0].question
    budgets = frontier_budgets(question)
    losses = [point.quality_loss for point in solve_frontier(question, budgets)]
    assert losses[0] == 0.0
    assert losses == sorted(losses)


def test_a_long_history_within_little_memory_or_time() -> None:
    history = {f"l{at:02}": at * at for at in range(60)}
    target = {f"l{at:02}": 60 - at for at in range(60)}
    asked: dict[str, Any] = {"histogram": history, "target": target, "max_distance": 0.1}
    best = solve("resemble", asked)
    assert best.status == "optimal"
    with pytest.raises(ew.InputError, match="memory_limit=1000 bytes"):
        solve("resemble", asked, memory_limit=1000)
    quick = solve("resemble", asked, time_limit=0.0)
    assert quick.quality_loss >= best.quality_loss >= quick.bound
    assert check(asked, quick).ok
    with pytest.raises(
        ew.PrivacyNotMet, match=r"a quality loss of at most .* would meet it; the search for the least one was stopped"
    ):
        solve("resemble", {**asked, "max_quality_loss": best.quality_loss - 1e-3}, time_limit=0.0)
