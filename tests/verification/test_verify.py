"""Verification catches whatever is tampered with, and has not a line of the solvers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.data import skewed, uniform

import elsewhere as ew
from elsewhere.model.distances import DistanceLike

H = ew.Histogram(dict(zip("abcdefgh", (7, 2, 3, 2, 13, 12, 8, 3), strict=True)))
TARGET = dict(zip("abcdefgh", (10, 8, 6, 2, 13, 4, 4, 3), strict=True))
ASKED = {"target": TARGET, "max_quality_loss": 0.05}
BOB = ew.resemble(H, TARGET, 0.05)
EVE = ew.avoid(H, TARGET, 0.05)


def problems(result: ew.Sanitized | ew.Histogram | dict[str, int], **asked: object) -> list[str]:
    return ew.verify(H, result, **{**ASKED, **asked}).problems  # type: ignore[arg-type]


def test_what_is_right_passes_and_is_proven() -> None:
    for result in (BOB, EVE):
        check = ew.verify(H, result, target=TARGET, max_quality_loss=0.05)
        assert check.ok
        assert check.optimal
        assert check.bound == pytest.approx(result.certificate.bound if result.certificate else math.nan)
    assert ew.verify(H, ew.hide(H, {"g"}), sensitive={"g"}).ok
    assert ew.verify(H, BOB.histogram, target=TARGET, max_quality_loss=0.05, max_distance=0.005).ok


def test_tampered_histogram() -> None:
    moved = dict(BOB.histogram) | {"a": 11, "b": 5}
    assert "not" in problems(replace(BOB, histogram=ew.Histogram(moved)))[0]
    assert problems({**moved, "a": 12}) == ["the release has 51 visits instead of 50"]
    assert (
        problems({**moved, "a": 10, "z": 1})[0]
        == "the release has 1 visit at 'z', which is not in the history, the target or the candidates"
    )
    assert "above the limit 0.05" in problems(TARGET)[0]
    assert problems(BOB.histogram, sensitive={"h"}) == ["3 visits are left at the sensitive location 'h'"]
    assert "9 to 50 are allowed" in problems(BOB.histogram, lower={"b": 9})[0]
    assert problems(BOB.histogram, forbidden=[BOB.histogram]) == ["the release is one of the forbidden histograms"]
    assert "above max_distance 0.001" in problems(BOB.histogram, max_distance=0.001)[0]
    assert "below min_distance 0.1" in problems(BOB.histogram, min_distance=0.1)[0]
    elsewhere_too = {**dict(BOB.histogram), "a": 9, "z": 1}
    asked = {"candidates": ["z"], "visited_only": True, "max_quality_loss": 1.0}
    assert problems(elsewhere_too, **asked) == ["the release has 1 visit at 'z', which was never visited"]


def test_wrong_figure() -> None:
    assert problems(replace(BOB, quality_loss=0.01)) == [
        "the quality loss is 0.0493116909, not 0.01 as the result claims"
    ]
    assert (
        problems(replace(BOB, privacy_distance=0.001))[0]
        == "the privacy distance is 0.004598273784, not 0.001 as the result claims"
    )
    assert problems(replace(BOB, gap=0.1))[0] == "the gap is 0, not 0.1 as the result claims"
    assert "the result is one of hide" in problems(replace(BOB, goal="hide"))[0]
    perfect: Any = "perfect"
    assert "the status is 'perfect';" in problems(replace(BOB, status=perfect))[0]


def test_wrong_bound() -> None:
    assert BOB.certificate is not None
    assert BOB.privacy_distance is not None
    assert problems(replace(BOB, bound=BOB.bound + 0.001))
    assert problems(replace(BOB, bound=BOB.bound - 0.0001))
    assert problems(replace(BOB, bound=0.001, gap=BOB.privacy_distance - 0.001, status="feasible"))
    assert problems(replace(BOB, certificate=replace(BOB.certificate, bound=BOB.certificate.bound + 1e-4)))
    assert problems(replace(BOB, certificate=replace(BOB.certificate, size_multiplier=1.0)))
    assert problems(replace(BOB, certificate=replace(BOB.certificate, quality_multiplier=-1.0)))
    for absurd in (math.inf, math.nan, 1e308):
        assert problems(replace(BOB, certificate=replace(BOB.certificate, quality_multiplier=absurd)))
        assert problems(replace(BOB, certificate=replace(BOB.certificate, size_multiplier=absurd)))
    unproven = replace(BOB, histogram=H, quality_loss=0.0, privacy_distance=ew.distance("js", TARGET, H))
    unproven = replace(unproven, bound=unproven.privacy_distance or 0.0, gap=0.0, status="feasible", certificate=None)
    assert "not proven" in problems(unproven)[0]
    nothing: Any = None
    assert problems(replace(BOB, bound=nothing)) == ["the bound of the result is None, which is not a number"]
    assert problems(replace(BOB, certificate=None)) == ["the result claims to be optimal but has no certificate"]


@pytest.mark.parametrize(("privacy", "proven"), [("squared-l2", True), (lambda r, x: (r - x) ** 2, False)])
def test_only_a_built_in_distance_is_known_not_to_be_negative(privacy: DistanceLike, proven: bool) -> None:
    result = ew.resemble(H, TARGET, 0.05, privacy=privacy)
    assert result.privacy_distance is not None
    claim = replace(result, certificate=None, status="feasible", bound=0.0, gap=result.privacy_distance)
    found = ew.verify(H, claim, target=TARGET, max_quality_loss=0.05, privacy=privacy).problems
    assert ["not proven" in problem for problem in found] == ([] if proven else [True])


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_worse_histogram_that_claims_to_be_optimal(goal: str) -> None:
    """All its figures are true but one: it is not the best."""
    verb = ew.resemble if goal == "resemble" else ew.avoid
    best, worse = verb(H, TARGET, 0.05), verb(H, TARGET, 0.05, method="heuristic")
    assert worse.privacy_distance is not None
    boast = replace(worse, bound=worse.privacy_distance, gap=0.0, status="optimal")
    assert best.privacy_distance != worse.privacy_distance
    assert "a histogram with a better objective" in problems(boast)[0]
    second = verb(H, TARGET, 0.05, forbidden=[best.histogram])
    assert ew.verify(H, second, **ASKED, forbidden=[best.histogram]).optimal  # type: ignore[arg-type]
    assert "a histogram with a better objective" in problems(boast, forbidden=[best.histogram])[0]
    assert "a histogram with a better objective" in problems(second, forbidden=[worse.histogram])[0]


def test_a_weak_certificate_is_given_up_soon() -> None:
    """Its multipliers rule nothing out, so that everything would have to be looked at."""
    history = skewed(100, 2000, seed=5)
    result = ew.avoid(history, uniform(history), 0.1)
    assert result.certificate is not None
    weak = replace(result, certificate=ew.Certificate(0.0, 0.0, 1.0))
    check = ew.verify(history, weak, target=uniform(history), max_quality_loss=0.1)
    assert check.optimal is None


def test_hide_of_a_worse_histogram() -> None:
    best = ew.hide(H, {"g", "h"})
    worse = ew.Histogram({**dict(best.histogram), "a": 10, "b": 2})
    check = ew.verify(H, worse, sensitive={"g", "h"})
    assert check.ok  # nothing was claimed
    boast = replace(best, histogram=worse, quality_loss=check.quality_loss, bound=check.quality_loss)
    assert not ew.verify(H, boast, sensitive={"g", "h"}).ok


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_users_of_usual_size_are_proven_again(goal: str) -> None:
    history = skewed(60, 300, seed=5)
    verb = ew.resemble if goal == "resemble" else ew.avoid
    result = verb(history, uniform(history), 0.02)
    check = ew.verify(history, result, target=uniform(history), max_quality_loss=0.02)
    assert check.ok, check.problems
    assert check.optimal
