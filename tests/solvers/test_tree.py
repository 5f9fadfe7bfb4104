"""Distances over a taxonomy: the optimum equals brute force's, for all distances, trees, weights and constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.paper import brute_force
from tests.support.instances import DISTANCES, Instance, hidings, targetings
from tests.support.taxonomies import taxonomies, tree_distances

_QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("name", DISTANCES)
@settings(_QUICK, max_examples=150)
@given(data=st.data())
def test_hide(name: str, data: st.DataObject) -> None:
    instance = data.draw(hidings())
    asked = {**instance.asked, "quality": data.draw(tree_distances(name, data.draw(taxonomies())))}
    left = instance.histogram.size - sum(instance.histogram[name] for name in asked["sensitive"])
    if left + asked.get("redistribute", 1) == 0:
        return
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
    assert check.optimal


@pytest.mark.parametrize("name", DISTANCES)
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_one_level_is_the_flat_distance(name: str, data: st.DataObject) -> None:
    """Also where locations tie: the same rule decides."""
    instance, taxonomy = data.draw(hidings()), data.draw(taxonomies())
    asked = {**instance.asked, "quality": name}
    try:
        flat = ew.hide(instance.histogram, **asked)
    except ew.ElsewhereError as error:
        with pytest.raises(type(error)):
            ew.hide(instance.histogram, **asked, taxonomy=taxonomy, levels=[1.0])
        return
    assert ew.hide(instance.histogram, **asked, taxonomy=taxonomy, levels=[1.0]).histogram == flat.histogram


@pytest.mark.parametrize("name", DISTANCES)
def test_a_worse_release_is_found_out(name: str) -> None:
    kinds = ew.Taxonomy.parse("kinds.txt", b"Food\n  Bar\n    Pub\n  Cafe\nArts\n  Cinema\n  Museum\n")
    history = {"Bar": 9, "Pub": 5, "Cafe": 7, "Cinema": 6, "Museum": 4, "Zoo": 8}
    asked: dict[str, Any] = {"sensitive": ["Pub"], "quality": ew.TreeDistance(name, kinds)}
    result = ew.hide(history, **asked)
    assert ew.verify(history, result, **asked).optimal
    worse = ew.Histogram({**history, "Pub": 0, "Zoo": 13})
    loss = ew.verify(history, worse, **asked).quality_loss
    claimed = replace(result, histogram=worse, quality_loss=loss, bound=loss)
    problems = ew.verify(history, claimed, **asked).problems
    assert problems == ["moving a visit from 'Zoo' to 'Bar' would lower the quality loss"]


Goal = Literal["resemble", "avoid"]


def check_against_brute_force(goal: Goal, instance: Instance, **asked: Any) -> None:
    verb = ew.resemble if goal == "resemble" else ew.avoid
    asked = {**instance.asked, **asked}
    assert instance.target is not None
    truth = brute_force(goal, instance.histogram, target=instance.target, **asked)
    if truth.objective is None:
        with pytest.raises(ew.Infeasible) as error:
            verb(instance.histogram, instance.target, **asked)
        assert error.value.needed_quality_loss == pytest.approx(truth.least_quality_loss, abs=1e-9)
        return
    result = verb(instance.histogram, instance.target, **asked)
    assert result.privacy_distance == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    if truth.objective == math.inf:
        assert result.quality_loss == pytest.approx(truth.quality_loss, abs=1e-9)
    check = ew.verify(instance.histogram, result, target=instance.target, **asked)
    assert check.ok, check.problems
    for early in ({"gap": 0.1}, {"time_limit": 0.0}, {"method": "heuristic"}):
        rough = verb(instance.histogram, instance.target, **asked, **early)
        assert rough.bound <= truth.objective + 1e-9 if goal == "resemble" else rough.bound >= truth.objective - 1e-9
        assert ew.verify(instance.histogram, rough, target=instance.target, **asked).ok


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", DISTANCES)
@pytest.mark.parametrize("quality", DISTANCES)
@settings(_QUICK, max_examples=20)
@given(data=st.data())
def test_every_pair_of_distances(quality: str, privacy: str, goal: Goal, data: st.DataObject) -> None:
    taxonomy = data.draw(taxonomies())
    asked: dict[str, Any] = {"quality": quality, "privacy": privacy}
    for role in data.draw(st.sampled_from([("quality",), ("privacy",), ("quality", "privacy")])):
        asked[role] = data.draw(tree_distances(asked[role], taxonomy))
    check_against_brute_force(goal, data.draw(targetings(quality)), **asked)
