"""Sizes beyond tables: the search around the dual solution agrees with tables where there are any."""

from __future__ import annotations

import math
from typing import Literal
from unittest.mock import patch

import numpy as np
import pytest
from benchmarks.data import skewed, uniform
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.solvers import large, large_dual, terms
from elsewhere.solvers.choices import KINDS
from elsewhere.solvers.knapsack import Limits
from tests.support.instances import DISTANCES

#: A limit on the quality loss that leaves many counts, by distance.
LIMITS = {"js": 0.03, "jeffreys": 0.2, "variational": 0.3, "l2": 60, "squared-l2": 3000, "pearson": 90, "neyman": 90}
Goal = Literal["resemble", "avoid"]


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("quality", DISTANCES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_as_good_as_with_tables(quality: str, goal: Goal, data: st.DataObject) -> None:
    privacy = data.draw(st.sampled_from(DISTANCES))
    history = skewed(data.draw(st.integers(2, 8)), data.draw(st.sampled_from([20, 300])), data.draw(st.integers(0, 99)))
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).dirichlet(np.ones(history.length))
    target = dict(zip(history.locations, weights.tolist(), strict=True))
    limit = LIMITS[quality] * data.draw(st.sampled_from([0.1, 1.0, 3.0]))
    verb = ew.resemble if goal == "resemble" else ew.avoid
    expected = verb(history, target, limit, quality, privacy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 1)
        patch.setattr(large, "_PROBE", data.draw(st.sampled_from([1, 8])))
        patch.setattr(large_dual, "_MANY_BINS", data.draw(st.sampled_from([1, 512])))
        found = verb(history, target, limit, quality, privacy)
    assert expected.privacy_distance is not None
    assert found.privacy_distance is not None
    best, reached, bound = expected.privacy_distance, found.privacy_distance, found.bound
    if goal == "avoid":
        best, reached, bound = -best, -reached, -bound
    noise = 1e-9 * (1.0 + abs(best)) if best > -np.inf else 0.0
    assert bound <= best + noise
    assert best <= reached + noise
    assert found.gap <= 1e-6 * abs(best) + noise
    if found.status == "optimal":
        assert reached <= best + noise
    check = ew.verify(history, found, target=target, max_quality_loss=limit, quality=quality, privacy=privacy)
    assert check.ok, check.problems


@pytest.mark.compiled
@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("privacy", ["js", "l2", "pearson", "variational"])
@pytest.mark.parametrize(("n", "size"), [(3, 10**9), (50, 10**6), (8, 4 * 10**18)])
def test_large_sizes_end_with_a_small_gap(goal: Goal, privacy: str, n: int, size: int) -> None:
    history = ew.Histogram({f"{at:02d}": size // (2 + at * at) // 2 for at in range(n)})
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(history, uniform(history), 0.05, "js", privacy)
    assert result.privacy_distance is not None
    assert result.gap <= 1e-6 * result.privacy_distance
    check = ew.verify(history, result, target=uniform(history), max_quality_loss=0.05, privacy=privacy)
    assert check.ok, check.problems


@pytest.mark.compiled
@pytest.mark.parametrize("distance", ["js", "squared-l2"])
def test_avoiding_oneself_at_large_sizes(distance: str) -> None:
    """All multipliers are alike then: the budget is used up almost to the last digit."""
    history = skewed(50, 100_000, seed=1)
    limit = 0.05 if distance == "js" else 12_345_678.9
    result = ew.avoid(history, history, limit, distance, distance)
    assert result.privacy_distance is not None
    assert limit * (1.0 - 1e-6) <= result.privacy_distance <= limit * (1.0 + 1e-9)
    assert result.gap <= 1e-6 * limit


@pytest.mark.compiled
@pytest.mark.parametrize("size", [10**10, 10**16])
def test_avoiding_ones_own_shares_at_large_sizes(size: int) -> None:
    """Scaled shares differ from the counts in the last digit, which leaves the multipliers nothing but rounding."""
    history = skewed(12, size, seed=3)
    shares = {name: count / history.size for name, count in history.items()}
    result = ew.avoid(history, shares, 0.05)
    assert result.privacy_distance is not None
    assert 0.05 * (1.0 - 1e-6) <= result.privacy_distance <= 0.05 * (1.0 + 1e-9)
    assert result.gap <= 1e-6 * 0.05


@pytest.mark.parametrize("sign", [1.0, -1.0])
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_counts_near_the_least_share(sign: float, data: st.DataObject) -> None:
    """The first, the last and the widest hole between them are those that all counts one by one have."""
    p_kind, q_kind = (data.draw(st.sampled_from(sorted(set(KINDS.values())))) for _ in range(2))
    p_r, q_r = (data.draw(st.integers(1, 400)) for _ in range(2))
    match data.draw(st.integers(0, 3)):
        case 0:
            p_kind, p_r = q_kind, q_r
        case 1:
            p_kind = q_kind
    lam, mu = data.draw(st.floats(0.0, 3.0)), data.draw(st.floats(-2.0, 2.0)) / data.draw(st.sampled_from([1, 500]))
    lagrangian = terms.Lagrangian(
        p_kind, np.array([float(p_r)]), 500.0, q_kind, np.array([float(q_r)]), 500.0, 500.0, sign, lam, mu
    )
    low, high = np.array([1]), np.array([1 + data.draw(st.integers(0, 499))])
    x = np.arange(low[0], high[0] + 1)
    bins = np.zeros_like(x)
    p, q = (
        terms.terms_of(kind, reference, bins, x, 500.0, 500.0)
        for kind, reference in ((p_kind, lagrangian.p_reference), (q_kind, lagrangian.q_reference))
    )
    share = sign * p + lam * q - mu * x
    least, at = np.empty(1), np.empty(1, np.int64)
    assert terms.least_reduced(lagrangian, low, high, 0, 10**6, least, at) == 1
    noise = 1e-12 * (1.0 + np.abs(p).max() + lam * np.abs(q).max() + abs(mu) * high[0])
    assert abs(least[0] - share.min()) <= noise
    limit = least + data.draw(st.floats(0.0, 1.0)) * np.ptp(share) + noise
    begin, end, hole, hole_end = (np.empty(1, np.int64) for _ in range(4))
    terms.near_least(lagrangian, low, high, limit, begin, end, hole, hole_end)
    near = x[share <= limit[0] - noise]
    assert ((begin[0] <= near) & (near <= end[0])).all()
    assert share[begin[0] - low[0]] <= limit[0] + noise
    assert share[end[0] - low[0]] <= limit[0] + noise
    assert (share[hole[0] + 1 - low[0] : hole_end[0] - low[0]] > limit[0] - noise).all()
    assert hole_end[0] - hole[0] >= np.diff(x[share <= limit[0] + noise]).max(initial=0) - 16


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("seed", range(8))
def test_equal_bins_in_groups(goal: Goal, seed: int) -> None:
    """The dual of groups of equal bins, and of a part in which one bin is no longer equal, is that of the bins."""
    dice = np.random.default_rng(seed)
    names = [f"place {at:02d}" for at in range(30)]
    history = dict(zip(names, dice.choice([3, 50, 900], 30).tolist(), strict=True))
    target = dict(zip(names, dice.choice([1, 40], 30).tolist(), strict=True))
    problem = ew.Policy(goal, target="it", max_quality_loss=0.02).plan(target=target).question(history).problem
    different = len({*zip(history.values(), target.values(), strict=True)})
    bounds = []
    for most in (1, 10**6):
        with patch.object(large_dual, "_MANY_BINS", most):
            shares = large_dual.Shares(problem, Limits())
            root = shares.root(problem.original, math.inf)
            low, high = root.low.copy(), root.high.copy()
            high[4] = (low[4] + high[4]) // 2
            part = shares.part(low, high, root, math.inf)
            assert part is not None
            bounds.append([root.by.bound, part.by.bound, float(root.least.sum()), float(part.least.sum())])
            assert len(root.groups.first) == (30 if most > 1 else different)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9, abs=1e-12)
