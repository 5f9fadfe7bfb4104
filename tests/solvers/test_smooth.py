"""Smoothed JS-divergence: results are within their bounds of brute force's optimum, and equal to it if they say so."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

import elsewhere as ew
from elsewhere.paper import brute_force
from elsewhere.solvers.knapsack import OutOfTime
from tests.support.instances import hidings, targetings
from tests.support.taxonomies import taxonomies

_QUICK = settings(max_examples=80, suppress_health_check=list(HealthCheck))
#: Distances that a smoothed one can be combined with.
SMOOTH = ("js", "jeffreys", "l2", "squared-l2", "pearson", "neyman")
NAMES = "abcdxy"


@st.composite
def kernels(draw: st.DrawFn) -> ew.SmoothedJS:
    """Any kernel: pairs, a function that is not symmetric, or one that follows from a taxonomy."""
    kind = draw(st.sampled_from(["pairs", "function", "taxonomy"]))
    if kind == "taxonomy":
        return ew.SmoothedJS.over(draw(taxonomies()), draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])))
    weight = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])
    table = {(i, j): draw(weight) for i in NAMES for j in NAMES if i < j}
    if kind == "pairs":
        return ew.SmoothedJS(table)
    return ew.SmoothedJS(lambda i, j: 1.0 if i == j else table.get((i, j), 0.0))


@settings(_QUICK, max_examples=200)
@given(data=st.data())
def test_hide(data: st.DataObject) -> None:
    instance = data.draw(hidings())
    asked = {**instance.asked, "quality": data.draw(kernels())}
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
    rough = ew.hide(instance.histogram, **asked, time_limit=0.0)
    assert rough.bound <= truth.objective + 1e-9
    assert ew.verify(instance.histogram, rough, **asked).ok


@pytest.mark.parametrize("other", ["smoothed", *SMOOTH])
@pytest.mark.parametrize("role", ["quality", "privacy"])
@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_resemble(role: str, other: str, data: st.DataObject) -> None:
    smoothed = data.draw(kernels())
    asked: dict[str, Any] = {"quality": other, "privacy": other, role: smoothed}
    if other == "smoothed":
        asked = {"quality": smoothed, "privacy": data.draw(kernels())}
    instance = data.draw(targetings("js" if role == "quality" or other == "smoothed" else other))
    asked = {**instance.asked, **asked}
    assert instance.target is not None
    truth = brute_force("resemble", instance.histogram, target=instance.target, **asked)
    if truth.objective is None:
        with pytest.raises(ew.Infeasible) as error:
            ew.resemble(instance.histogram, instance.target, **asked)
        assert error.value.needed_quality_loss >= truth.least_quality_loss - 1e-9
        return
    result = ew.resemble(instance.histogram, instance.target, **asked)
    assert result.privacy_distance == pytest.approx(truth.objective, abs=1e-9)
    assert result.status == "optimal"
    check = ew.verify(instance.histogram, result, target=instance.target, **asked)
    assert check.ok, check.problems
    for early in ({"gap": 0.1}, {"time_limit": 0.05}, {"method": "heuristic"}):
        try:
            rough = ew.resemble(instance.histogram, instance.target, **asked, **early)
        except OutOfTime:  # on a busy machine, before anything within the limit was found
            assert "time_limit" in early
            continue
        assert rough.bound <= truth.objective + 1e-9
        assert ew.verify(instance.histogram, rough, target=instance.target, **asked).ok


@settings(_QUICK, max_examples=60)
@given(data=st.data())
def test_a_kernel_that_smooths_nothing_is_js(data: st.DataObject) -> None:
    identity = ew.SmoothedJS({})
    hiding, targeting = data.draw(hidings()), data.draw(targetings("js"))
    assert targeting.target is not None
    questions: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (ew.hide, (hiding.histogram,), hiding.asked),
        (ew.resemble, (targeting.histogram, targeting.target), targeting.asked),
    ]
    for verb, given_, asked in questions:
        smoothed = {"quality": identity} if verb is ew.hide else {"quality": identity, "privacy": identity}
        try:
            flat = verb(*given_, **asked)
        except ew.ElsewhereError as error:
            with pytest.raises(type(error)):
                verb(*given_, **asked, **smoothed)
            continue
        result = verb(*given_, **asked, **smoothed)
        assert result.bound == pytest.approx(flat.bound, abs=1e-12)
        assert result.status == "optimal"
    assert ew.distance(identity, hiding.histogram, targeting.target) == ew.distance(
        "js", hiding.histogram, targeting.target
    )


def _city() -> tuple[dict[str, int], dict[str, float], ew.SmoothedJS]:
    rng = np.random.default_rng(4)
    names = [f"{kind}{at}" for kind in "abc" for at in range(6)]
    history = dict(zip(names, rng.integers(0, 12, len(names)).tolist(), strict=True))
    target = dict(zip(names, rng.random(len(names)).tolist(), strict=True))
    return history, target, ew.SmoothedJS(lambda i, j: 1.0 if i == j else 0.3 * (i[0] == j[0]))


def test_the_bound_is_that_of_the_fractional_optimum_or_better() -> None:
    """SciPy on fractional counts, at a size that brute force cannot reach."""
    history, target, smoothed = _city()
    result = ew.resemble(history, target, 0.01, quality=smoothed, privacy=smoothed)
    names = sorted(history)
    matrix = smoothed.matrix(names)
    h, t = (matrix @ np.array([table[name] for name in names]) / sum(table.values()) for table in (history, target))

    def js(r: Any, x: Any) -> float:
        y = matrix @ x / sum(history.values())
        return float(0.5 * (r * np.log2(2 * r / (r + y)) + y * np.log2(2 * y / (r + y))).sum())

    size = sum(history.values())
    constraints = [
        LinearConstraint(np.ones(len(names)), size, size),
        {"type": "ineq", "fun": lambda x: 1e3 * (0.01 - js(h, x))},
    ]
    solver: Any = minimize
    fractional = solver(
        lambda x: 1e3 * js(t, x),
        np.array([history[name] for name in names]) + 0.1,
        method="SLSQP",
        bounds=[(1e-9, None)] * len(names),
        options={"ftol": 1e-12, "maxiter": 1000},
        constraints=constraints,
    )
    assert fractional.success
    assert fractional.fun / 1e3 <= result.bound + 1e-7
    assert result.bound <= result.privacy_distance  # type: ignore[operator]
    assert result.certificate is not None
    assert result.certificate.bound >= fractional.fun / 1e3 - 1e-7


def test_claims_that_are_wrong_are_found_out() -> None:
    history, target, smoothed = _city()
    asked: dict[str, Any] = {"max_quality_loss": 0.01, "quality": smoothed, "privacy": smoothed}
    result = ew.resemble(history, target, **asked)
    certificate = result.certificate
    assert certificate is not None
    assert result.privacy_distance is not None
    assert ew.verify(history, result, target=target, **asked).ok
    lies = [
        {"quality_loss": result.quality_loss - 1e-4},
        {"privacy_distance": result.privacy_distance - 1e-4},
        {"bound": result.privacy_distance + 1e-4, "gap": 1e-4},
        {"histogram": ew.Histogram(history)},
        {"certificate": replace(certificate, bound=certificate.bound + 1e-6)},
        {"certificate": replace(certificate, curvature=tuple(1.1 * c for c in certificate.curvature))},
        {"certificate": replace(certificate, quality_multiplier=0.5 * certificate.quality_multiplier)},
        {"certificate": replace(certificate, point=certificate.point[::-1])},
        {"certificate": replace(certificate, point=())},
        {"certificate": None},
    ]
    for lie in lies:
        assert not ew.verify(history, replace(result, **lie), target=target, **asked).ok, lie  # type: ignore[arg-type]


def test_an_optimum_that_is_none_is_found_out() -> None:
    history, _, smoothed = _city()
    asked: dict[str, Any] = {"sensitive": ["a1", "b2"], "quality": smoothed}
    result = ew.hide(history, **asked)
    assert ew.verify(history, result, **asked).optimal
    counts = dict(result.histogram)
    source, to = max(counts, key=lambda name: counts[name] - history[name]), "c0"
    worse = ew.Histogram({**counts, source: counts[source] - 1, to: counts[to] + 1})
    loss = ew.verify(history, worse, **asked).quality_loss
    assert loss > result.quality_loss
    claimed = replace(result, histogram=worse, quality_loss=loss, bound=loss)
    assert not ew.verify(history, claimed, **asked).ok


def test_time_limit_and_frontier() -> None:
    rng = np.random.default_rng(6)
    names = [f"{kind}{at}" for kind in "abcdefgh" for at in range(12)]
    history = dict(zip(names, rng.integers(0, 30, len(names)).tolist(), strict=True))
    target = dict(zip(names, rng.random(len(names)).tolist(), strict=True))
    smoothed = ew.SmoothedJS(lambda i, j: 1.0 if i == j else 0.3 * (i[0] == j[0]))
    points = ew.frontier(history, target, [0.001, 0.01], quality=smoothed, privacy=smoothed, time_limit=0.3)
    for budget, point in zip(points.budgets, points, strict=True):
        assert point.status == "feasible"
        assert 0.0 < point.gap < math.inf
        asked: dict[str, Any] = {"max_quality_loss": budget, "quality": smoothed, "privacy": smoothed}
        assert ew.verify(history, point, target=target, **asked).ok
    assert points[1].privacy_distance <= points[0].privacy_distance  # type: ignore[operator]


def test_what_cannot_be_asked() -> None:
    history, target, smoothed = _city()
    kinds = ew.Taxonomy.parse("kinds.txt", b"a\n  a0\n  a1\n")
    refused: list[tuple[Any, str]] = [
        (lambda: ew.avoid(history, target, 0.1, privacy=smoothed), "avoid does not support a SmoothedJS"),
        (lambda: ew.hide(history, ["a1"], smoothed, forbidden=[history]), "forbidden is not supported"),
        (lambda: ew.resemble(history, target, 0.1, "variational", smoothed), "cannot be combined with 'variational'"),
        (lambda: ew.resemble(history, target, 0.1, smoothed, lambda r, x: 0.0), "cannot be combined with"),
        (lambda: ew.hide(history, ["a1"], smoothed, taxonomy=kinds), "see SmoothedJS.over"),
        (lambda: ew.hide(history, ["a1"], smoothed, memory_limit=1000), "memory_limit=1000 bytes are too few"),
        (lambda: ew.SmoothedJS(3), "kernel is 3"),  # type: ignore[arg-type]
        (lambda: ew.hide(history, ["a1"], ew.SmoothedJS({("a1", "a2"): -1.0})), "the weight -1.0 for"),
        (lambda: ew.hide(history, ["a1"], ew.SmoothedJS({"a1": 1.0})), "'a1', which is not a pair"),  # type: ignore[dict-item]
        (lambda: ew.hide(history, ["a1"], ew.SmoothedJS(lambda i, j: 0.0)), "no weight above 0 for 'a0'"),
        (lambda: ew.hide(history, ["a1"], ew.SmoothedJS(lambda i, j: i / j)), "the kernel failed for"),  # type: ignore
        (lambda: ew.SmoothedJS.over(kinds, 2.0), "bandwidth is 2.0"),
    ]
    for ask, message in refused:
        with pytest.raises(ew.InputError, match=message):
            ask()


def test_privacy_not_met() -> None:
    history, target, smoothed = _city()
    with pytest.raises(ew.PrivacyNotMet, match="larger max_quality_loss") as error:
        ew.resemble(history, target, 0.001, smoothed, smoothed, max_distance=1e-6, time_limit=0.2)
    assert math.isnan(error.value.needed_quality_loss)
    assert error.value.best is not None
