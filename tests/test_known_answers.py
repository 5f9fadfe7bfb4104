"""The paper's running example, re-computed by hand for the specification."""

from __future__ import annotations

import pytest

import elsewhere as ew
from elsewhere.paper.terms import term

H = ew.Histogram(dict(zip("abcdefgh", (7, 2, 3, 2, 13, 12, 8, 3), strict=True)))
TARGET = dict(zip("abcdefgh", (10, 8, 6, 2, 13, 4, 4, 3), strict=True))


def counts(result: ew.Sanitized) -> tuple[int, ...]:
    return tuple(result.histogram[location] for location in "abcdefgh")


def test_hide() -> None:
    result = ew.hide(H, sensitive={"g", "h"})
    assert counts(result) == (9, 3, 4, 3, 16, 15, 0, 0)
    assert set(result.histogram) == set("abcdef")


def test_edge_weight() -> None:
    assert term("js", 50.0, 50.0)(7, 9) == pytest.approx(1.808e-3, abs=5e-7)


def test_resemble() -> None:
    assert ew.distance("js", TARGET, H) == pytest.approx(0.0789995, abs=5e-8)
    result = ew.resemble(H, TARGET, max_quality_loss=0.05)
    assert counts(result) == (10, 6, 5, 2, 14, 5, 5, 3)
    assert result.quality_loss == pytest.approx(0.0493117, abs=5e-8)
    assert result.privacy_distance == pytest.approx(0.0045983, abs=5e-8)
    assert result.status == "optimal"


def test_resemble_heuristic() -> None:
    result = ew.resemble(H, TARGET, max_quality_loss=0.05, method="heuristic")
    assert counts(result) == (10, 6, 5, 2, 13, 6, 5, 3)
    assert result.quality_loss == pytest.approx(0.0423280, abs=5e-8)
    assert result.privacy_distance == pytest.approx(0.0064328, abs=5e-8)
    assert result.status == "feasible"


def test_avoid_heuristic() -> None:
    result = ew.avoid(H, TARGET, max_quality_loss=0.05, method="heuristic")
    assert counts(result) == (4, 0, 1, 3, 10, 18, 11, 3)
    assert result.quality_loss == pytest.approx(0.0499555, abs=5e-8)
    assert result.privacy_distance == pytest.approx(0.2260447, abs=5e-8)
