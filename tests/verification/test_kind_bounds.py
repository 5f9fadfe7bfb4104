"""Totals of kinds prove what the tree proves, and the check says the same either way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.verification.kind_bounds import KindMultipliers
from elsewhere.verification.tree_bounds import TreeMultiplier, better_on_tree
from elsewhere.verification.verify import Check, check_release
from tests.support.instances import DISTANCES, kind_targetings

Goal = Literal["resemble", "avoid"]
_SETTINGS = settings(max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True)
_TOLERANCE = 1e-9


@st.composite
def optima(draw: st.DrawFn, goal: Goal) -> ew.Sanitized | None:
    """The best release for a target of kinds; None if there is none, or at an infinite distance."""
    asked: dict[str, Any] = draw(kind_targetings(draw(st.sampled_from(DISTANCES))))
    asked["privacy"] = ew.KindDistance(draw(st.sampled_from(DISTANCES)), asked.pop("kinds"))
    try:
        result = (ew.resemble if goal == "resemble" else ew.avoid)(**asked)
    except ew.Infeasible:
        return None
    return result if math.isfinite(result.bound) and result.certificate is not None else None


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@_SETTINGS
@given(st.data())
def test_bounds_are_those_of_the_tree(goal: Goal, data: st.DataObject) -> None:
    result = data.draw(optima(goal))
    if result is None:
        return
    assert result.certificate is not None
    problem, sign = result.question.problem, -1.0 if goal == "avoid" else 1.0
    assert problem.privacy is not None
    multiplier = data.draw(st.sampled_from([result.certificate.quality_multiplier, 0.0, 0.2, 3.0]))
    view, tree = KindMultipliers.of(problem, multiplier), TreeMultiplier(problem, multiplier)
    assert view is not None
    reached = sign * problem.privacy.to_total(result.bound)
    assert view.bound(reached) == pytest.approx(tree.bound, rel=1e-9, abs=1e-9)
    for above in (-0.5, -1e-6, 1e-6, 0.01, 2.0):
        assert view.better(reached + above, _TOLERANCE) is (above > 0.0)
        assert better_on_tree(tree, reached + above, _TOLERANCE) is (above > 0.0)


def checked(result: ew.Sanitized, claimed: ew.Sanitized) -> tuple[Check, Check]:
    """The check by totals, and that over the tree."""
    with patch.object(KindMultipliers, "of", return_value=None):
        over_tree = check_release(result.question, claimed)
    return check_release(result.question, claimed), over_tree


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@_SETTINGS
@given(st.data())
def test_false_claims_are_refused_as_over_the_tree(goal: Goal, data: st.DataObject) -> None:
    result = data.draw(optima(goal))
    if result is None:
        return
    assert result.certificate is not None
    distance = result.privacy_distance
    assert distance is not None
    shift = data.draw(st.sampled_from([-0.3, -1e-3, -1e-7, 0.0, 1e-7, 1e-3, 0.3]))
    factor = data.draw(st.sampled_from([1.0, 0.0, 0.5, 1.001, 1e6, 1e300]))
    bound, certified = result.bound, result.certificate.bound
    if data.draw(st.booleans()):
        bound += shift
    else:
        certified += shift
    multiplier = factor * result.certificate.quality_multiplier
    certificate = replace(result.certificate, bound=certified, quality_multiplier=multiplier)
    status: Literal["optimal", "feasible"] = "optimal" if bound == distance else "feasible"
    claimed = replace(result, bound=bound, gap=abs(distance - bound), certificate=certificate, status=status)
    by_kind, over_tree = checked(result, claimed)
    assert (by_kind.problems, by_kind.optimal) == (over_tree.problems, over_tree.optimal)
    assert by_kind.bound == pytest.approx(over_tree.bound, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_a_worse_release_is_found_out(goal: Goal) -> None:
    """At a usual size, without the tree: one visit moved back makes the release a little worse."""
    dice = np.random.default_rng(2)
    history = {f"{at:02d}": int(count) for at, count in enumerate(1 + dice.pareto(1.0, 60) * 5)}
    kinds = {name: f"kind {int(name) % 7}" for name in history}
    target = {f"kind {at}": float(at + 1) for at in range(7)}
    ask = ew.resemble if goal == "resemble" else ew.avoid
    result = ask(history, target, 0.02, privacy=ew.KindDistance("js", kinds))
    problem, distance = result.question.problem, result.privacy_distance
    assert distance is not None
    assert problem.privacy is not None
    counts = np.array([result.histogram[name] for name in problem.locations])
    by_kind = {at: kinds.get(name, name) for at, name in enumerate(problem.locations)}
    moves = [(i, j) for i in np.flatnonzero(counts).tolist() for j in by_kind if by_kind[i] != by_kind[j]]
    worse = []
    for i, j in moves:
        moved = counts.copy()
        moved[i] -= 1
        moved[j] += 1
        other = problem.privacy(moved.astype(np.float64))
        if problem.is_within(moved) and problem.quality_loss(moved) <= 0.02 and abs(other - distance) > 1e-8:
            worse.append((abs(other - distance), other, moved))
    _, other, moved = min(worse, key=lambda one: one[0])
    released = ew.Histogram(zip(problem.locations, moved.tolist(), strict=True))
    claimed = replace(
        result, histogram=released, quality_loss=problem.quality_loss(moved), privacy_distance=other, bound=other
    )
    with patch("elsewhere.verification.verify.TreeMultiplier", side_effect=AssertionError):
        assert check_release(result.question, result).optimal
        assert "a histogram with a better objective" in check_release(result.question, claimed).problems[0]
