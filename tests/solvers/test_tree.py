"""Distances over a taxonomy: the optimum equals brute force's, for all distances, trees, weights and constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import elsewhere as ew
from elsewhere.model.distances import DistanceLike
from elsewhere.model.taxonomy_files import Node
from elsewhere.paper import brute_force
from elsewhere.paper.terms import nodes, term
from tests.support.instances import DISTANCES, Instance, bumpy, hidings, targetings, wild
from tests.support.taxonomies import taxonomies, tree_distances

_QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))


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
@settings(_QUICK, max_examples=12)
@given(data=st.data())
def test_every_pair_of_distances(quality: str, privacy: str, goal: Goal, data: st.DataObject) -> None:
    taxonomy = data.draw(taxonomies())
    asked: dict[str, Any] = {"quality": quality, "privacy": privacy}
    for role in data.draw(st.sampled_from([("quality",), ("privacy",), ("quality", "privacy")])):
        asked[role] = data.draw(tree_distances(asked[role], taxonomy))
    check_against_brute_force(goal, data.draw(targetings(quality)), **asked)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_forbidden_histograms(goal: Goal, data: st.DataObject) -> None:
    instance = data.draw(targetings("js"))
    distance = data.draw(tree_distances("js", data.draw(taxonomies())))
    forbidden: list[ew.Histogram] = []
    for _ in range(data.draw(st.integers(1, 3))):
        asked = {**instance.asked, "forbidden": forbidden, "quality": distance, "privacy": distance}
        forbidden += brute_force(goal, instance.histogram, target=instance.target, **asked).histograms[:2]
    check_against_brute_force(goal, instance, forbidden=forbidden, quality=distance, privacy=distance)


@settings(_QUICK, max_examples=80)
@given(data=st.data())
def test_forbidden_in_hide(data: st.DataObject) -> None:
    instance = data.draw(hidings())
    quality = data.draw(tree_distances(data.draw(st.sampled_from(DISTANCES)), data.draw(taxonomies())))
    asked = {**instance.asked, "quality": quality}
    if instance.histogram.size == sum(instance.histogram[name] for name in asked["sensitive"]):
        return
    asked["forbidden"] = brute_force("hide", instance.histogram, **asked).histograms[:3]
    truth = brute_force("hide", instance.histogram, **asked)
    if truth.objective is None:
        with pytest.raises(ew.Infeasible):
            ew.hide(instance.histogram, **asked)
        return
    result = ew.hide(instance.histogram, **asked)
    assert result.quality_loss == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    assert ew.verify(instance.histogram, result, **asked).ok


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("role", ["quality", "privacy"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_users_own_function_beside_a_tree(role: str, goal: Goal, data: st.DataObject) -> None:
    other = "privacy" if role == "quality" else "quality"
    function = data.draw(st.sampled_from([bumpy, wild]))
    tree = data.draw(tree_distances(data.draw(st.sampled_from(DISTANCES)), data.draw(taxonomies())))
    check_against_brute_force(goal, data.draw(targetings("pearson")), **{role: function, other: tree})


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_least_quality_loss_that_meets_a_distance(goal: Goal, data: st.DataObject) -> None:
    instance = data.draw(targetings("js"))
    distance = data.draw(tree_distances("js", data.draw(taxonomies())))
    asked = {**instance.asked, "max_quality_loss": 0.02, "quality": distance, "privacy": distance}
    truth = brute_force(goal, instance.histogram, target=instance.target, **asked)
    wanted = data.draw(st.sampled_from([0.05, 0.3, 0.7]))
    if truth.objective is None or (truth.objective <= wanted) == (goal == "resemble"):
        return
    verb, limit = (ew.resemble, "max_distance") if goal == "resemble" else (ew.avoid, "min_distance")
    assert instance.target is not None
    with pytest.raises(ew.PrivacyNotMet) as error:
        verb(instance.histogram, instance.target, **{**asked, limit: wanted})
    needed = error.value.needed_quality_loss
    for loss, met in ((needed + 1e-9, needed < math.inf), (min(needed, 9.0) - 1e-9, False)):
        asked["max_quality_loss"] = min(loss, 9.0)
        best = brute_force(goal, instance.histogram, target=instance.target, **asked).objective
        reached = best is not None and (best <= wanted + 1e-9 if goal == "resemble" else best >= wanted - 1e-9)
        assert reached == met


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("flat", ["neither", "quality", "privacy"])
def test_agrees_with_an_integer_program(flat: str, goal: Goal) -> None:
    """HiGHS on the same sums, at a size that brute force cannot reach."""
    rng = np.random.default_rng(5)
    names = [f"{kind}{at}" for kind in "abc" for at in range(4)]
    kinds = ew.Taxonomy([*(Node(kind, kind) for kind in "abc"), *(Node(name, name, name[0]) for name in names)])
    history = ew.Histogram(dict(zip(names, rng.integers(0, 9, len(names)).tolist(), strict=True)))
    target = dict(zip(names, rng.random(len(names)).tolist(), strict=True))
    tree = ew.TreeDistance("js", kinds, (0.5, 0.5))
    distances: dict[str, Any] = {role: "js" if role == flat else tree for role in ("quality", "privacy")}
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(history, target, 0.04, **distances)
    assert result.status == "optimal"
    assert result.privacy_distance == pytest.approx(integer_program(goal, history, target, 0.04, **distances), abs=1e-6)
    check = ew.verify(history, result, target=target, max_quality_loss=0.04, **distances)
    assert check.ok, check.problems
    assert check.optimal
    wrong = replace(result, bound=result.bound + (0.01 if goal == "resemble" else -0.01), gap=0.01, status="feasible")
    assert not ew.verify(history, wrong, target=target, max_quality_loss=0.04, **distances).ok


def integer_program(
    goal: Goal,
    history: ew.Histogram,
    target: dict[str, float],
    limit: float,
    quality: DistanceLike,
    privacy: DistanceLike,
) -> float:
    """The best privacy distance, by a binary variable for each count of each node."""
    size, scale = history.size, history.size / sum(target.values())
    names = sorted(history)
    sums: dict[tuple[int, ...], list[float]] = {(at,): [0.0, 0.0] for at in range(len(names))}
    for role, distance in enumerate((quality, privacy)):
        for weight, below in nodes(distance, names):
            sums.setdefault(tuple(below), [0.0, 0.0])[role] += weight
    js = term("js", size, size)
    columns, objective, cost = [], [], []
    for bins, (q_weight, p_weight) in sums.items():
        r, t = sum(history[names[at]] for at in bins), sum(target[names[at]] for at in bins) * scale
        for x in range(size + 1):
            columns.append((bins, x))
            cost.append(q_weight * js(r, x))
            objective.append(p_weight * js(t, x) * (1 if goal == "resemble" else -1))
    rows, low = [], []
    for bins in sums:  # one count a node, which is the sum of its bins
        rows.append([float(column == bins) for column, _ in columns])
        low.append(1.0)
        if len(bins) > 1:
            rows.append(
                [x * (float(column == bins) - float(len(column) == 1 and column[0] in bins)) for column, x in columns]
            )
            low.append(0.0)
    rows.append([x * float(len(column) == 1) for column, x in columns])
    low.append(float(size))
    constraints = [LinearConstraint(np.array(rows), low, low), LinearConstraint(np.array([cost]), -np.inf, limit)]
    found = milp(
        objective, integrality=np.ones(len(columns), np.int64), bounds=Bounds(0, 1), constraints=constraints,
        options={"mip_rel_gap": 1e-9},
    )  # fmt: skip
    assert found.fun is not None
    return abs(float(found.fun))


def test_frontier_and_limits() -> None:
    kinds = ew.Taxonomy.parse("kinds.txt", b"Food\n  Bar\n    Pub\n  Cafe\nArts\n  Cinema\n  Museum\n")
    history = {"Bar": 19, "Pub": 5, "Cafe": 27, "Cinema": 6, "Museum": 14, "Zoo": 8}
    target = {"Bar": 1, "Museum": 3, "Opera": 2}
    for budget, point in zip(
        [0.3, 0.01, 0.1], ew.frontier(history, target, [0.3, 0.01, 0.1], taxonomy=kinds), strict=True
    ):
        alone = ew.resemble(history, target, budget, taxonomy=kinds)
        assert point.privacy_distance == pytest.approx(alone.privacy_distance, abs=1e-12)
        assert point.status == "optimal"
    narrow = ew.resemble(history, target, 0.1, taxonomy=kinds, memory_limit=20_000)
    assert narrow.status == "feasible"
    assert "memory limit" in narrow.notes[0]
    assert ew.verify(history, narrow, target=target, max_quality_loss=0.1, taxonomy=kinds).ok


@pytest.mark.compiled
def test_farthest_from_oneself_is_near_the_bound() -> None:
    """Subset sum in disguise: every release at the limit is as good as any other, and few are."""
    kinds = ew.Taxonomy(
        [*(Node(kind, kind) for kind in "abc"), *(Node(f"{k}{i}", f"{k}{i}", k) for k in "abc" for i in range(5))]
    )
    history = {f"{k}{i}": 3 + 5 * i + ord(k) % 7 for k in "abc" for i in range(5)}
    result = ew.avoid(history, history, 0.05, taxonomy=kinds, gap=5e-5)
    assert result.privacy_distance == pytest.approx(0.05, rel=1e-3)
    assert result.bound == pytest.approx(0.05, rel=1e-6)
    assert ew.verify(history, result, target=history, max_quality_loss=0.05, taxonomy=kinds).ok


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"levels": [1.0]}, "levels is given without a taxonomy"),
        ({"taxonomy": "places.csv"}, "taxonomy is 'places.csv'; it must be a Taxonomy"),
        ({"levels": [1, 1, 1]}, "levels has 3 weights, but the taxonomy has 2 levels"),
        ({"levels": [1, -1]}, r"levels is \[1, -1\]; give a weight of at least 0 for each level"),
        ({"levels": [1, 0]}, "the last of levels is 0"),
        ({"quality": lambda r, x: abs(r - x)}, "a function of your own cannot be used over a taxonomy"),
        ({"quality": "jss"}, "unknown distance 'jss'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    kinds = ew.Taxonomy.parse("kinds.txt", b"Food\n  Bar\n")
    if message != "levels is given without a taxonomy":
        arguments = {"taxonomy": kinds, **arguments}
    with pytest.raises(ew.InputError, match=message):
        ew.hide({"Bar": 2, "Cafe": 1}, ["Bar"], **arguments)
