"""Targets of kinds: the optimum equals brute force's, for all distances and constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import elsewhere as ew
from elsewhere.budgets import frontier_budgets
from elsewhere.model.question import Question
from elsewhere.paper import brute_force
from tests.support.instances import DISTANCES, bumpy, kind_targetings, wild

_QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))

Goal = Literal["resemble", "avoid"]

PLACES = {"Adlon": "Hotel", "Sacher": "Hotel", "Ritz": "Hotel", "Louvre": "Museum", "Prado": "Museum", "Zoo": "Park"}
HISTORY = {"Adlon": 9, "Sacher": 2, "Ritz": 0, "Louvre": 5, "Prado": 4, "Zoo": 3, "Home": 12}


def check_against_brute_force(goal: Goal, privacy: str, asked: dict[str, Any]) -> None:
    verb = ew.resemble if goal == "resemble" else ew.avoid
    asked = {**asked, "privacy": ew.KindDistance(privacy, asked["kinds"])}
    del asked["kinds"]
    truth = brute_force(goal, **asked)
    if truth.objective is None:
        with pytest.raises(ew.Infeasible) as error:
            verb(**asked)
        assert error.value.needed_quality_loss == pytest.approx(truth.least_quality_loss, abs=1e-9)
        return
    result = verb(**asked)
    assert result.privacy_distance == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    assert set(result.histogram) <= {*asked["histogram"], *asked["candidates"]}
    if truth.objective == math.inf:
        assert result.quality_loss == pytest.approx(truth.quality_loss, abs=1e-9)
    question = {name: value for name, value in asked.items() if name != "histogram"}
    check = ew.verify(asked["histogram"], result, **question)
    assert check.ok, check.problems
    scale = result.histogram.size / sum(asked["target"].values())
    scaled = {kind: number * scale for kind, number in asked["target"].items()}
    assert result.privacy_distance == pytest.approx(ew.distance(asked["privacy"], scaled, result.histogram))
    limits: list[dict[str, Any]] = [{"gap": 0.1}, {"time_limit": 0.0}, {"method": "heuristic"}]
    for early in limits:
        rough = verb(**asked, **early)
        assert rough.bound <= truth.objective + 1e-9 if goal == "resemble" else rough.bound >= truth.objective - 1e-9
        assert ew.verify(asked["histogram"], rough, **question).ok


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", DISTANCES)
@pytest.mark.parametrize("quality", DISTANCES)
@settings(_QUICK, max_examples=15)
@given(data=st.data())
def test_every_pair_of_distances(quality: str, privacy: str, goal: Goal, data: st.DataObject) -> None:
    check_against_brute_force(goal, privacy, data.draw(kind_targetings(quality)))


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_forbidden_histograms(goal: Goal, data: st.DataObject) -> None:
    asked, name = data.draw(kind_targetings("js")), data.draw(st.sampled_from(DISTANCES))
    forbidden: list[ew.Histogram] = []
    for _ in range(data.draw(st.integers(1, 3))):
        given_ = {name: value for name, value in asked.items() if name != "kinds"}
        privacy = ew.KindDistance(name, asked["kinds"])
        forbidden += brute_force(goal, **given_, privacy=privacy, forbidden=forbidden).histograms[:2]
    check_against_brute_force(goal, name, {**asked, "forbidden": forbidden})


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_users_own_quality_function(goal: Goal, data: st.DataObject) -> None:
    asked = {**data.draw(kind_targetings("pearson")), "quality": data.draw(st.sampled_from([bumpy, wild]))}
    check_against_brute_force(goal, data.draw(st.sampled_from(DISTANCES)), asked)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_ranges_that_are_narrowed_to_values_that_are_not_allowed(goal: Goal) -> None:
    asked: dict[str, Any] = {
        "histogram": ew.Histogram({"a": 1, "b": 2, "c": 3}), "target": {"a": 1}, "visited_only": True,
        "max_quality_loss": 0.0, "quality": wild, "kinds": {}, "candidates": [],
    }  # fmt: skip
    check_against_brute_force(goal, "js", asked)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_least_quality_loss_that_meets_a_distance(goal: Goal, data: st.DataObject) -> None:
    asked = {**data.draw(kind_targetings("js")), "max_quality_loss": 0.02}
    asked["privacy"] = ew.KindDistance(data.draw(st.sampled_from(["js", "neyman"])), asked.pop("kinds"))
    wanted = data.draw(st.sampled_from([0.05, 0.3, 0.7]))
    truth = brute_force(goal, **asked)
    if truth.objective is None or (truth.objective <= wanted) == (goal == "resemble"):
        return
    verb, limit = (ew.resemble, "max_distance") if goal == "resemble" else (ew.avoid, "min_distance")
    with pytest.raises(ew.PrivacyNotMet) as error:
        verb(**{**asked, limit: wanted})
    needed = error.value.needed_quality_loss
    for loss, met in ((needed + 1e-9, needed < math.inf), (min(needed, 9.0) - 1e-9, False)):
        best = brute_force(goal, **{**asked, "max_quality_loss": min(loss, 9.0)}).objective
        reached = best is not None and (best <= wanted + 1e-9 if goal == "resemble" else best >= wanted - 1e-9)
        assert reached == met


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("name", DISTANCES)
def test_what_is_claimed_is_checked(name: str, goal: Goal) -> None:
    asked: dict[str, Any] = {"target": {"Hotel": 3, "Museum": 5, "Park": 2, "Home": 1}, "max_quality_loss": 0.03}
    asked["privacy"] = ew.KindDistance(name, PLACES)
    result = (ew.resemble if goal == "resemble" else ew.avoid)(HISTORY, **asked)
    check = ew.verify(HISTORY, result, **asked)
    assert check.ok, check.problems
    if math.isinf(check.privacy_distance or 0.0):
        return
    assert check.optimal
    distance = ew.verify(HISTORY, HISTORY, **asked).privacy_distance
    assert distance is not None
    worse = replace(
        result, histogram=ew.Histogram(HISTORY), quality_loss=0.0, privacy_distance=distance, bound=distance, gap=0.0
    )
    assert "a histogram with a better objective" in ew.verify(HISTORY, worse, **asked).problems[0]
    assert result.certificate is not None
    assert check.bound is not None
    better = replace(result.certificate, bound=check.bound * (1.01 if goal == "resemble" else 0.99))
    assert "the certificate proves" in ew.verify(HISTORY, replace(result, certificate=better), **asked).problems[0]


def test_within_a_kind_the_least_quality_loss() -> None:
    """Of all releases that are as near to the target, one of those that split the kinds as the history does."""
    privacy = ew.KindDistance("js", PLACES)
    target = {"Hotel": 20, "Museum": 11, "Park": 4}
    result = ew.resemble(HISTORY, target, 1.0, privacy=privacy, candidates=["Tate"])
    assert result.privacy_distance == 0.0
    assert dict(result.histogram) == {"Adlon": 16, "Sacher": 4, "Louvre": 6, "Prado": 5, "Zoo": 4}
    backwards = ew.KindDistance("js", dict(reversed(PLACES.items())))
    again = ew.resemble(
        dict(reversed(HISTORY.items())), dict(reversed(target.items())), 1.0, privacy=backwards, candidates=["Tate"]
    )
    assert again.histogram == result.histogram


def test_names_match_by_any_spelling_and_a_kind_may_be_the_name_of_a_place() -> None:
    kinds = {"hotel  ADLON": "hotels", "Hotels": "Motel", "zoo": "Park"}
    history = {"Hotel Adlon": 5, "HOTELS": 2, "Zoo": 3}
    by_kind = ew.KindDistance("squared-l2", kinds)
    assert ew.distance(by_kind, {"Hotels": 6, "park": 1}, history) == (6 - 5) ** 2 + (1 - 3) ** 2 + 2**2
    released = ew.resemble(history, {"Hotels": 6, "park": 1, "Motel": 3}, 1.0, privacy=by_kind).histogram
    assert dict(released) == {"HOTELS": 3, "Hotel Adlon": 6, "Zoo": 1}


def test_a_kind_is_no_place() -> None:
    asked: dict[str, Any] = {"target": {"Hotel": 3, "Cinema": 1}, "privacy": ew.KindDistance("js", PLACES)}
    with pytest.raises(ew.InputError, match="'Hotel' is not in the histogram"):
        ew.resemble(HISTORY, max_quality_loss=0.1, sensitive=["Hotel"], **asked)
    with pytest.raises(ew.InputError, match="lower names 'Cinema', which is not in the histogram"):
        ew.resemble(HISTORY, max_quality_loss=0.1, lower={"Cinema": 1}, **asked)
    result = ew.resemble(HISTORY, max_quality_loss=1.0, sensitive=["*o*"], lower={"*i*": 1}, **asked)
    assert result.question.covered["*o*"] == {"Adlon", "Home", "Louvre", "Prado", "Zoo"}
    at_kind = {**result.histogram, "Sacher": result.histogram["Sacher"] - 1, "Hotel": 1}
    problems = ew.verify(HISTORY, at_kind, **asked).problems
    assert "the release has 1 visit at 'Hotel', which is not in the history or the candidates" in problems
    rows = result.changes().all_rows()
    assert {row.location for row in rows} == set(HISTORY)
    assert {row.target for row in rows} == {None}


def test_no_visit_of_a_kind_is_possible() -> None:
    kinds = ew.KindDistance("neyman", PLACES)
    impossible: list[tuple[dict[str, int], dict[str, Any], str]] = [
        ({"Hotel": 3, "Cinema": 1}, {}, "no visit of the kind 'Cinema' is possible, and without one the distance is"),
        ({"Hotel": 3, "Park": 1}, {"sensitive": ["Zoo"]}, "no visit of the kind 'Park' is possible"),
        ({"Museum": 3, "Home": 1}, {"upper": {"Louvre": 0, "Prado": 0}}, "no visit of the kind 'Museum' is possible"),
    ]
    for target, more, message in impossible:
        with pytest.raises(ew.Infeasible, match=message) as error:
            ew.resemble(HISTORY, target, 1.0, "variational", kinds, **more)
        assert error.value.needed_quality_loss == math.inf
        assert ew.avoid(HISTORY, target, 1.0, "variational", kinds, **more).privacy_distance == math.inf
    with pytest.raises(ew.Infeasible, match="the release has 2 visits, but its locations must hold at least 3"):
        ew.resemble({"Adlon": 2, "Ritz": 0, "Louvre": 0, "Prado": 0, "Zoo": 0}, {"Hotel": 1, "Museum": 1, "Park": 1},
                    9.0, "variational", kinds)  # fmt: skip
    with pytest.raises(
        ew.Infeasible, match="no count is possible at 'Zoo': within its bounds the distance is infinite"
    ):
        ew.resemble(HISTORY, {"Hotel": 1}, 9.0, privacy=ew.KindDistance("pearson", PLACES), lower={"Zoo": 1})


def test_frontier() -> None:
    target, privacy = {"Hotel": 3, "Museum": 5, "Park": 2, "Opera": 1}, ew.KindDistance("js", PLACES)
    question = Question("resemble", ew.Histogram(HISTORY), target, privacy=privacy)
    budgets = frontier_budgets(question)
    points = ew.frontier(HISTORY, target, budgets, privacy=privacy)
    for budget, point in list(zip(budgets, points, strict=True))[::7]:
        alone = ew.resemble(HISTORY, target, budget, privacy=privacy)
        assert point.privacy_distance == pytest.approx(alone.privacy_distance, abs=1e-12)
        assert point.status == "optimal"
    assert points[-1].histogram == ew.resemble(HISTORY, target, 1.0, privacy=privacy).histogram


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_too_little_memory(goal: Goal) -> None:
    """Then only some counts are looked at, and the bound says so."""
    asked: dict[str, Any] = {"target": {"Hotel": 300, "Museum": 50, "Home": 4}, "max_quality_loss": 0.2}
    asked["privacy"] = ew.KindDistance("js", PLACES)
    history = {location: 50 * count for location, count in HISTORY.items()}
    verb = ew.resemble if goal == "resemble" else ew.avoid
    best, narrow = verb(history, **asked), verb(history, **asked, memory_limit=20_000)
    assert narrow.status == "feasible"
    assert "memory limit" in narrow.notes[0]
    assert narrow.bound <= best.bound if goal == "resemble" else narrow.bound >= best.bound
    assert ew.verify(history, narrow, **asked).ok


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quality": ew.KindDistance("js", PLACES)}, "quality is a KindDistance; only the privacy distance can be one"),
        ({"quality": ew.TreeDistance("js", ew.Taxonomy.parse("kinds.txt", b"Hotel\n  Adlon\n"))},
         "quality is a TreeDistance and privacy a KindDistance; the two cannot be combined"),
        ({"taxonomy": ew.Taxonomy.parse("kinds.txt", b"Hotel\n  Adlon\n")}, "a KindDistance cannot be used over a tax"),
    ],
)  # fmt: skip
def test_bad_combinations(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ew.InputError, match=message):
        ew.resemble(HISTORY, {"Hotel": 1}, 0.1, privacy=ew.KindDistance("js", PLACES), **arguments)


def test_quality_of_hide() -> None:
    with pytest.raises(ew.InputError, match="quality is a KindDistance"):
        ew.hide(HISTORY, ["Zoo"], quality=ew.KindDistance("js", PLACES))


@pytest.mark.parametrize(
    ("name", "kinds", "message"),
    [
        ("jss", PLACES, "unknown distance 'jss'"),
        (abs, PLACES, "a distance of kinds needs the name of a distance"),
        ("js", ["Adlon"], r"kinds is \['Adlon'\]; give a mapping from locations to kinds"),
        ("js", {"Adlon": 3}, "kinds has the kind 3, which is not a name"),
        ("js", {4: "Hotel"}, "kinds has the location 4, which is not a name"),
        ("js", {"Zoo": "Park", "zoo": "Animals"}, "kinds has two kinds for 'zoo': 'Park' and 'Animals'"),
    ],
)
def test_bad_kinds(name: Any, kinds: Any, message: str) -> None:
    with pytest.raises(ew.InputError, match=message):
        ew.KindDistance(name, kinds)
