"""A frontier has what single calls return, to the last bit, except for the multipliers of its certificates."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.solvers import choices, frontier, large, one_call
from elsewhere.verification.verify import check_release
from tests.support.instances import DISTANCES, Instance, bumpy, targetings
from tests.support.taxonomies import taxonomies

Goal = Literal["resemble", "avoid"]
_SETTINGS = settings(max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True)
_VERBS: dict[Goal, Callable[..., ew.Sanitized]] = {"resemble": ew.resemble, "avoid": ew.avoid}
_DISTANCE_LIMITS: dict[Goal, str] = {"resemble": "max_distance", "avoid": "min_distance"}
_PLACES = {"a": "Hotel", "b": "Hotel", "c": "Museum", "x": "Museum"}


def told(ask: Callable[[], Iterable[ew.Sanitized]]) -> Any:
    """All that is said about releases but their certificates, which are checked; or why there are none."""
    try:
        results = list(ask())
    except ew.ElsewhereError as error:
        return type(error), str(error)
    for result in results:
        assert check_release(result.question, result).problems == []
    return [(dict(result.histogram), replace(result, certificate=None)) for result in results]


def check_same(goal: Goal, instance: Instance, budgets: list[float], **asked: Any) -> None:
    """Compare the points with single calls; if some have no answer, the first error of these."""
    aim, target = asked.pop("aim", None), instance.target or {}
    limit = "max_quality_loss" if aim is None else _DISTANCE_LIMITS[goal]
    asked = {name: value for name, value in instance.asked.items() if name != "max_quality_loss"} | asked
    budgets = sorted(budgets)
    points = told(lambda: ew.frontier(instance.histogram, target, budgets, goal, aim=aim, **asked))
    alone = partial(_VERBS[goal], instance.histogram, target, aim=aim, **asked)
    assert points == told(lambda: (alone(**{limit: budget}) for budget in budgets))


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@_SETTINGS
@given(st.data())
def test_all_constraints_and_distances(goal: Goal, data: st.DataObject) -> None:
    quality = data.draw(st.sampled_from(DISTANCES))
    instance = data.draw(targetings(quality))
    asked: dict[str, Any] = {"quality": quality, "privacy": data.draw(st.sampled_from(DISTANCES))}
    match data.draw(st.sampled_from(["", "forbidden", "own", "taxonomy", "kinds", "least-loss"])):
        case "forbidden":
            asked["forbidden"] = [instance.histogram]
        case "own":
            asked[data.draw(st.sampled_from(["quality", "privacy"]))] = bumpy
        case "taxonomy":
            asked["taxonomy"] = data.draw(taxonomies())
        case "kinds":
            asked["privacy"] = ew.KindDistance(asked["privacy"], _PLACES)
            instance.target = {"Hotel": 2.0, "Museum": 1.0}
            instance.asked.pop("size", None)
        case "least-loss":
            asked["aim"] = "least-loss"
    most = instance.asked["max_quality_loss"]
    budgets = [most, *data.draw(st.lists(st.sampled_from([0.0, 0.003, 0.02, 0.1, 0.4, 1.0, 5.0]), max_size=4))]
    check_same(goal, instance, budgets, **asked)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_people_of_usual_sizes(goal: Goal) -> None:
    """More points than go into one call; and the same by the general path, whose tables are cut as well."""
    dice = random.Random(11)
    for _ in range(6):
        names = [f"{at:03d}" for at in dice.sample(range(60), dice.randint(10, 30))]
        history = {name: 1 + int(dice.expovariate(0.15 * (1 + at / 4))) for at, name in enumerate(names)}
        target = {f"{at:03d}": float(dice.randint(1, 40)) for at in range(0, 60, dice.randint(1, 3))}
        asked: dict[str, Any] = {"sensitive": dice.sample(names, dice.randint(0, 1))}
        instance, budgets = Instance(ew.Histogram(history), target, asked), [0.012 + 0.003 * at for at in range(12)]
        check_same(goal, instance, budgets)
        left = patch.object(frontier, "attempts", lambda problem, known, budgets, limits: [None] * len(budgets))
        alone = patch.object(one_call, "attempt", lambda problem, limits: None)
        with left, alone, patch.object(choices, "table", wraps=choices.table) as table:
            ew.frontier(instance.histogram, target, budgets, goal, **asked)
            assert table.call_count == 2  # one of quality and one of privacy, for all points
            check_same(goal, instance, budgets)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_too_many_counts_to_tabulate(goal: Goal) -> None:
    """Only the largest of these budgets leaves so many; the others go another way."""
    dice = random.Random(3)
    history = ew.Histogram({f"{at:02d}": dice.randint(1, 30_000) for at in range(12)})
    instance, budgets = Instance(history, dict.fromkeys(history, 1.0)), [1e-6, 0.0001, 0.05]
    with patch.object(large, "optimum", wraps=large.optimum) as search:
        check_same(goal, instance, budgets)
    assert search.call_count == 2  # once for the frontier, once alone
