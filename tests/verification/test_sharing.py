"""The check of shared releases finds what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from elsewhere.model.distances import DISTANCES
from elsewhere.verification.sharing import SharedPair, check_pair

# Of seven places, two are sensitive, and two others may receive nothing. Nobody visited the last one.
CLOSED, HELD = (np.isin(np.arange(7), places) for places in ([1, 5], [3, 6]))
PLACES, COUNTS = (np.array([0, 1, 3, 5]), np.array([0, 2, 6])), (np.array([4, 1, 1, 1]), np.array([3, 3, 1]))


def pair(places: list[int], counts: list[int], change: float = 0.0) -> SharedPair:
    release = np.bincount(places, counts, 7).astype(np.float64)
    losses = []
    for at, of in zip(PLACES, COUNTS, strict=True):
        original = np.bincount(at, of, 7).astype(np.float64)
        losses.append(float(DISTANCES["js"].terms(original, release, original.sum(), release.sum()).sum()) + change)
    return SharedPair(PLACES, COUNTS, np.array(places), np.array(counts), (losses[0], losses[1]))


def problem(checked: SharedPair, limit: float = 0.5) -> str | None:
    return check_pair(checked, CLOSED, HELD, DISTANCES["js"], limit)


def test_a_sound_release_has_no_problem() -> None:
    assert problem(pair([0, 2], [5, 2])) is None


@pytest.mark.parametrize(
    ("wrong", "limit", "said"),
    [
        (pair([0, 2], [5, 1]), 0.5, "its size is not the mean"),
        (pair([0, 2], [5, 3]), 0.5, "its size is not the mean"),
        (pair([0, 1, 2], [4, 1, 2]), 0.5, "at a sensitive place"),
        (pair([0, 3], [6, 1]), 0.5, "often sensitive kind"),
        (pair([0, 4], [6, 1]), 0.5, "neither user visited"),
        (pair([0, 2], [5, 2], 1e-6), 0.5, "its quality loss is"),
        (pair([0, 2], [5, 2]), 0.05, "is above 0.05"),
    ],
)
def test_what_is_wrong_is_found(wrong: SharedPair, limit: float, said: str) -> None:
    assert said in str(problem(wrong, limit))
