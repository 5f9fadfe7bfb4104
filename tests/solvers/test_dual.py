"""The dual bound: the best one, as a linear program finds it, wherever calls end and whatever they start from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from elsewhere.kernels.jit import interpreting
from elsewhere.model.arrays import Floats, Ints
from elsewhere.solvers import dual

_SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


class Case(NamedTuple):
    """Random tables with a choice that has the size and is within the budget."""

    values: dual.Values
    size: int
    budget: float
    known: Ints


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Convex or arbitrary tables, some with values that are not allowed."""
    dice = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, most = draw(st.integers(1, 6)), draw(st.sampled_from([1, 3, 12]))
    convex, scale = draw(st.booleans()), draw(st.sampled_from([1e-3, 1.0, 1e6]))
    number = dice.integers(1, most + 1, n)
    start = np.append(0, np.cumsum(number))
    value = np.concatenate([dice.integers(0, 5) + np.arange(each) for each in number])
    f, g = dice.normal(size=len(value)) * scale, dice.random(len(value))
    if convex:
        peak = np.repeat(dice.random((2, n)) * most, number, axis=1)
        f, g = scale * (value - peak[0]) ** 2, (value - peak[1]) ** 2
    known = start[:-1] + dice.integers(0, number)
    if draw(st.booleans()):
        closed = dice.random(len(value)) < 0.3
        closed[known] = False
        f[closed], g[closed] = math.inf, 0.0
    spare = draw(st.sampled_from([0.0, 0.1, 10.0, math.inf]))
    values = dual.Values(start[:-1], start[1:], value, f, g)
    return Case(values, int(value[known].sum()), float(g[known].sum()) + spare, known)


def best_bound(case: Case) -> float:
    """The dual of the dual: a mixture of values for each bin, by HiGHS."""
    first, last, value, f, g = case.values
    open_ = f < math.inf
    whose = np.repeat(np.arange(len(first)), last - first)[open_]
    rows = (np.arange(len(first))[:, None] == whose).astype(np.float64)
    found = linprog(
        f[open_],
        A_ub=g[open_][None] if case.budget < math.inf else None,
        b_ub=[case.budget] if case.budget < math.inf else None,
        A_eq=np.vstack((rows, value[open_])),
        b_eq=np.append(np.ones(len(first)), case.size),
        bounds=(0.0, None),
    )
    assert found.fun is not None
    return float(found.fun)


def maximised(case: Case, work: int = 10**9, planes: Floats | None = None) -> dual.Ascent:
    ascent = dual.beginning(case.known)
    if planes is not None:
        ascent = ascent._replace(planes=planes.copy())
    while not ascent.finished:
        ascent = dual.Ascent(*dual.maximise(case.values, case.size, case.budget, work, ascent))
    return ascent


def proven_by(case: Case, lam: float, mu: float) -> float:
    """D(lam, mu), by its definition."""
    first, _, value, f, g = case.values
    total = float(np.minimum.reduceat(f + lam * g - mu * value, first).sum()) + mu * case.size
    return total - lam * case.budget if lam > 0.0 else total


def near(bound: float, case: Case) -> object:
    finite = case.values.f[case.values.f < math.inf]
    return pytest.approx(bound, rel=1e-7, abs=1e-7 * float(np.abs(finite).max()))


@_SETTINGS
@given(cases())
def test_the_bound_is_the_best_one_and_its_multipliers_prove_it(case: Case) -> None:
    ascent = maximised(case)
    assert ascent.lam >= 0.0
    assert ascent.bound == near(best_bound(case), case)
    assert ascent.bound <= proven_by(case, ascent.lam, ascent.mu)
    assert ascent.bound == near(proven_by(case, ascent.lam, ascent.mu), case)


@_SETTINGS
@given(cases())
def test_it_does_not_matter_where_calls_end(case: Case) -> None:
    whole, pieces = maximised(case), maximised(case, work=1)
    assert (whole.lam, whole.mu, whole.bound) == (pieces.lam, pieces.mu, pieces.bound)


@_SETTINGS
@given(cases(), st.floats(0.0, 3.0))
def test_planes_of_another_budget_lead_to_the_same_bound(case: Case, more: float) -> None:
    if case.budget == math.inf:
        return
    planes = maximised(case._replace(budget=case.budget + more)).planes
    dual.shift(case.values, case.size, case.budget, more, planes)
    assert maximised(case, planes=planes).bound == near(maximised(case).bound, case)


@_SETTINGS
@given(cases())
def test_compiled_and_interpreted(case: Case) -> None:
    compiled = maximised(case)
    with interpreting():
        assert tuple(maximised(case)[:4]) == tuple(compiled[:4])


def test_no_choice_is_within_the_budget() -> None:
    """Parts of a large problem may be empty: then the bound is beyond any objective."""
    start = np.array([0])
    values = dual.Values(start, start + 2, np.arange(2), np.array([1.0, 2.0]), np.array([5.0, 6.0]))
    ascent = dual.Ascent(*dual.maximise(values, 1, 3.0, 10**9, dual.beginning(start)))
    assert ascent.bound > 1e20
