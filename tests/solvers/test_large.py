"""Instances beyond brute force: against HiGHS, against the paper's algorithms, and the hard family."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from benchmarks.data import skewed, uniform
from benchmarks.rivals import highs
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.paper import ah, lho, rh
from tests.support.instances import DISTANCES

Goal = Literal["resemble", "avoid"]
#: A limit on the quality loss that binds but leaves room, by distance.
LIMITS = {
    "js": 0.01,
    "jeffreys": 0.05,
    "variational": 0.15,
    "l2": 9.0,
    "squared-l2": 80.0,
    "pearson": 5.0,
    "neyman": 5.0,
}


def profile(histogram: ew.Histogram, seed: int) -> dict[str, float]:
    weights = np.random.default_rng(seed).dirichlet(np.ones(histogram.length))
    return dict(zip(histogram.locations, weights.tolist(), strict=True))


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("quality", DISTANCES)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_as_good_as_highs(quality: str, goal: Goal, seed: int) -> None:
    privacy = DISTANCES[(DISTANCES.index(quality) * 3 + (goal == "avoid")) % len(DISTANCES)]
    if goal == "avoid" and privacy in ("jeffreys", "neyman", "pearson"):
        privacy = "js"  # no bin is at an infinite distance that a linear program could not say
    histogram = skewed(15, 60, seed)
    target = profile(histogram, seed)
    rival = highs(goal, histogram, target, LIMITS[quality], quality, privacy)
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(histogram, target, max_quality_loss=LIMITS[quality], quality=quality, privacy=privacy)
    assert result.status == "optimal"
    assert result.privacy_distance is not None
    assume(rival.keeps(LIMITS[quality]))  # it allows itself some 1e-6 beyond
    assert result.privacy_distance == pytest.approx(rival.privacy_distance, rel=1e-5, abs=1e-6)
    lead = rival.privacy_distance - result.privacy_distance
    assert (lead if goal == "avoid" else -lead) <= 1e-9, "HiGHS has a better solution"
    check = ew.verify(
        histogram, result, target=target, max_quality_loss=LIMITS[quality], quality=quality, privacy=privacy
    )
    assert check.ok, check.problems
    assert check.optimal


@pytest.mark.compiled
@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize(("n", "size"), [(600, 10_000), (2_000, 50_000)])
def test_large_histograms_are_solved(goal: Goal, n: int, size: int) -> None:
    histogram = skewed(n, size, seed=n)
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(histogram, uniform(histogram), max_quality_loss=0.005, time_limit=3600)
    assert result.privacy_distance is not None
    assert result.gap <= 1e-6 * result.privacy_distance


@pytest.mark.compiled
@pytest.mark.parametrize("limit", [0.005, 0.05])
def test_avoiding_oneself_is_subset_sum(limit: float) -> None:
    """p = q and H'' = H: the bound is the budget itself, and hitting it exactly is subset sum."""
    histogram = skewed(40, 200, seed=2)
    result = ew.avoid(histogram, histogram, max_quality_loss=limit)
    assert result.privacy_distance is not None
    assert result.privacy_distance <= limit + 1e-12
    assert limit - result.privacy_distance <= 1e-6 * limit
    assert result.gap <= 1e-6 * limit


@pytest.mark.parametrize("quality", DISTANCES)
def test_allocation_equals_lho(quality: str) -> None:
    histogram = skewed(25, 400, seed=3)
    sensitive = histogram.locations[::5]
    expected = lho(histogram, sensitive, quality)
    result = ew.hide(histogram, sensitive, quality)
    assert ew.verify(histogram, result, sensitive=sensitive, quality=quality).ok
    loss = ew.verify(histogram, expected, sensitive=sensitive, quality=quality).quality_loss
    assert result.quality_loss == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("redistribute", [0, 7, 5_000, 10**9])
@pytest.mark.parametrize("quality", DISTANCES)
def test_allocation_of_many_counts_over_equal_bins(quality: str, redistribute: int) -> None:
    """Grouped bins, bulk prices and levels: the certificate proves what no oracle could enumerate."""
    histogram = ew.Histogram({f"{at:04d}": 1 + at * at % 13 for at in range(1_000)})
    sensitive = histogram.locations[:50]
    result = ew.hide(histogram, sensitive, quality, redistribute=redistribute)
    check = ew.verify(histogram, result, sensitive=sensitive, quality=quality, redistribute=redistribute)
    assert check.ok, check.problems
    assert check.bound == pytest.approx(result.quality_loss, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("quality", DISTANCES)
def test_counts_up_to_the_largest(quality: str) -> None:
    histogram = ew.Histogram({f"{at}": 10**18 // (at + 1) for at in range(8)})
    result = ew.hide(histogram, {"0"}, quality)
    assert result.histogram.size == histogram.size
    check = ew.verify(histogram, result, sensitive={"0"}, quality=quality)
    assert check.ok, check.problems


@pytest.mark.parametrize("quality", DISTANCES)
@pytest.mark.parametrize("privacy", DISTANCES)
@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_heuristic_equals_its_literal_twin(goal: Goal, privacy: str, quality: str) -> None:
    for seed in range(4):
        histogram = skewed(12, 60, seed=seed)
        target: dict[str, float] = profile(histogram, seed)
        size: Literal["original", "target"] = "original"
        if seed >= 2:
            size = "target"
            target = {name: 1 + round(40 * (seed - 1) * share) for name, share in target.items()}
        literal, verb = (rh, ew.resemble) if goal == "resemble" else (ah, ew.avoid)
        twin = literal(histogram, target, LIMITS[quality], quality, privacy, size)
        if twin is None:
            continue
        result = verb(histogram, target, LIMITS[quality], quality, privacy, "heuristic", size=size)
        assert result.histogram == twin, (seed, size)


def test_heuristic_ends_where_the_papers_went_round_in_circles() -> None:
    histogram = skewed(40, 100, seed=4)
    result = ew.resemble(histogram, uniform(histogram), max_quality_loss=0.05, method="heuristic")
    assert result.histogram == rh(histogram, uniform(histogram), 0.05)


@pytest.mark.compiled
def test_places_with_equal_counts_and_different_targets_are_told_apart() -> None:
    histogram = ew.Histogram({f"p{at:03}": 1000 for at in range(520)})
    target = {name: 1.0 + at % 5 for at, name in enumerate(histogram)}
    result = ew.resemble(histogram, target, max_distance=0.01)
    assert result.privacy_distance is not None
    assert result.privacy_distance <= 0.01 + 1e-12
    check = ew.verify(histogram, result, target=target, max_distance=0.01)
    assert check.ok, check.problems
