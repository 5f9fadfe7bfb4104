"""A frontier has what single calls return, to the last bit, except for the multipliers of its certificates."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.kernels.jit import interpreting
from elsewhere.model.problem import Problem
from elsewhere.model.question import Question
from elsewhere.searches import known_counts
from elsewhere.solvers import choices, exact, frontier, large, one_call
from elsewhere.solvers.knapsack import Limits, Solution
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


def attempted(problem: Problem, budgets: list[float]) -> list[Solution | None]:
    """What the search of many limits finds, from the largest budget to the smallest."""
    known = known_counts(problem.within(min(budgets)), Limits())
    totals = [problem.budget_at(budget) for budget in sorted(budgets, reverse=True)]
    return list(frontier.attempts(problem, known, totals, Limits()))


def optima(problem: Problem, budget: float) -> set[tuple[int, ...]]:
    """All best counts within a budget, by brute force; among bins that differ only in their name, larger ones first."""
    assert problem.privacy is not None
    sign = -1.0 if problem.goal == "avoid" else 1.0
    ranges = [range(low, high + 1) for low, high in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)]
    every = [np.array(counts) for counts in product(*ranges) if sum(counts) == problem.size]
    found = [
        (sign * problem.privacy.to_total(problem.privacy(counts.astype(np.float64))), counts)
        for counts in every
        if problem.quality.to_total(problem.quality_loss(counts)) <= problem.budget_at(budget)
    ]
    best = min(objective for objective, _ in found)
    near = 1e-13 + 1e-12 * abs(best)
    return {tuple(exact.ordered(problem, counts).tolist()) for objective, counts in found if objective <= best + near}


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_a_point_is_the_only_optimum_or_left(goal: Goal) -> None:
    """Many equal bins and equal targets, so that other histograms are often as good."""
    dice = random.Random(8)
    unique = answered = several = 0
    for _ in range(120):
        places, distances = dice.randint(2, 5), dice.choice([("js", "js"), ("js", "l2"), ("l2", "variational")])
        history = {name: dice.randint(0, 2) for name in "abcde"[:places]} | {"a": 2}
        target = {name: float(dice.randint(1, dice.choice([1, 2, 9]))) for name in "abcde"[:places]}
        budgets = [0.0, 0.02, 0.1, 0.3] if distances[0] == "js" else [0.0, 1.5, 2.0, 3.0]
        question = Question(goal, ew.Histogram(history), target, budgets[-1], None, *distances)
        for budget, solution in zip(budgets[::-1], attempted(question.problem, budgets), strict=True):
            best = optima(question.problem, budget)
            unique, answered, several = (
                unique + (len(best) == 1),
                answered + (solution is not None),
                several + (len(best) > 1),
            )
            assert solution is None or best == {tuple(solution.counts.tolist())}
    assert several > 20
    assert answered > 0.7 * unique


def person(dice: random.Random) -> dict[str, int]:
    """Few places often, many once or twice."""
    return {f"{at:02d}": 1 + int(dice.expovariate(0.15 * (1 + at / 4))) for at in range(dice.randint(10, 25))}


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_interpreted_and_compiled_are_the_same(goal: Goal) -> None:
    dice = random.Random(2)
    for _ in range(4):
        history = person(dice)
        target = {name: float(dice.randint(1, 3)) for name in history}
        problem = Question(goal, ew.Histogram(history), target, 0.05).problem
        compiled = attempted(problem, [0.05, 0.04, 0.01])
        with interpreting():
            interpreted = attempted(problem, [0.05, 0.04, 0.01])
        assert any(solution is not None for solution in compiled)
        assert repr(interpreted) == repr(compiled)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("limit", ["_WORK_PER_CALL", "_LABEL_WORK", "_COMPLETION_WORK", "_MOST_CHOICES", "_MOST_TAKEN"])
def test_limits_of_a_call(limit: str, goal: Goal) -> None:
    """A call does a bounded amount of work. What it leaves is found by others."""
    dice = random.Random(4)
    history = ew.Histogram(person(dice))
    target = {name: float(dice.randint(1, 3)) for name in history}
    instance, budgets = Instance(history, target), [0.005 * at for at in range(12)]
    with patch.object(frontier, limit, 1):
        problem = Question(goal, history, target, budgets[-1]).problem
        found = [solution is not None for solution in attempted(problem, budgets)]
        check_same(goal, instance, budgets)
    assert any(found) == (limit == "_WORK_PER_CALL")


def test_small_memory_leaves_all_points() -> None:
    problem = Question("resemble", ew.Histogram({"a": 7, "b": 2, "c": 3}), {"a": 1.0, "b": 2.0}, 0.05).problem
    limits = Limits(memory=100)
    assert list(frontier.attempts(problem, problem.original, [0.05, 0.01], limits)) == [None, None]


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy, replace])
def test_points_that_nobody_looked_at(copied: Callable[[ew.Sanitized], ew.Sanitized]) -> None:
    """The fields of a point are made when they are asked for; one cannot tell."""
    bob = ew.Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13})
    frugal = {"a": 10, "b": 8, "c": 6}

    def point() -> ew.Sanitized:
        return ew.frontier(bob, frugal, [0.01, 0.02])[1]

    expected = point()
    assert replace(expected, certificate=None) == replace(ew.resemble(bob, frugal, 0.02), certificate=None)
    assert copied(point()) == point() == expected
    assert vars(copied(point())).keys() == {field.name for field in fields(ew.Sanitized)}
    assert (repr(point()), hash(point())) == (repr(expected), hash(expected))
    assert point().question.max_quality_loss == point().question.problem.limit == 0.02
    with pytest.raises(AttributeError, match="'Sanitized' object has no attribute 'loss'"):
        getattr(point(), "loss")  # noqa: B009
