"""Two places with many visits, against a look at every count: their searches have few, large layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.model.arrays import Floats
from elsewhere.model.distances import find_distance, slack
from tests.support.instances import DISTANCES

#: A limit on the quality loss that leaves many counts, by distance.
LIMITS = {"js": 0.05, "jeffreys": 0.3, "variational": 0.3, "l2": 2000, "squared-l2": 1e6, "pearson": 900, "neyman": 900}

pytestmark = pytest.mark.compiled


def of_every_count(name: str, reference: list[float], size: int) -> Floats:
    """The distance of each release with x visits at the first place and the others at the second."""
    distance, x = find_distance(name), np.arange(size + 1.0)
    total = np.zeros(size + 1)
    for at, counts in zip(reference, (x, size - x, *[np.zeros(size + 1)] * (len(reference) - 2)), strict=True):
        total += distance.terms(np.full(size + 1, at), counts, float(sum(reference)), float(size))
    return np.sqrt(total) if distance.root else total


@settings(max_examples=60, deadline=None)
@given(
    a=st.integers(1, 10_000), b=st.integers(1, 10_000), elsewhere=st.sampled_from([0.0, 100.0]),
    quality=st.sampled_from(DISTANCES), privacy=st.sampled_from(DISTANCES), share=st.floats(0.01, 1.0),
)  # fmt: skip
@example(a=7901, b=7901, elsewhere=0.0, quality="js", privacy="js", share=1.0)
@example(a=180, b=19737, elsewhere=1.0, quality="js", privacy="variational", share=1.0)
@example(a=9472, b=5529, elsewhere=100.0, quality="js", privacy="pearson", share=0.9)
def test_avoid(a: int, b: int, elsewhere: float, quality: str, privacy: str, share: float) -> None:
    size = a + b
    history = {"a": a, "b": b}
    target = {"a": a, "b": b, "z": elsewhere * size}
    asked: dict[str, Any] = {"quality": quality, "privacy": privacy, "visited_only": True}
    scaled = [weight / (1.0 + elsewhere) for weight in target.values()]
    losses, distances = of_every_count(quality, [a, b], size), of_every_count(privacy, scaled, size)

    limit = share * LIMITS[quality]
    best = distances[losses <= limit + slack(limit)].max()
    found = ew.avoid(history, target, limit, **asked)
    assert found.privacy_distance == pytest.approx(best, rel=1e-6, abs=1e-12)
    assert found.bound >= best * (1.0 - 1e-9)

    wanted = best * (1.0 - 1e-9) if best < math.inf else 1.0
    least = losses[distances >= wanted].min()
    cheapest = ew.avoid(history, target, min_distance=wanted, **asked)
    assert cheapest.quality_loss == pytest.approx(least, rel=1e-6, abs=1e-12)
    assert cheapest.bound <= least * (1.0 + 1e-9) + 1e-12
