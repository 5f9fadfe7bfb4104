"""Exchanges of single visits lead from any release to one of least loss over a tree, and stop there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.paper import brute_force
from elsewhere.verification.exchanges import best_exchange, loss_after_exchanges
from tests.support.instances import DISTANCES, hidings
from tests.support.taxonomies import taxonomies, tree_distances


@pytest.mark.parametrize("name", DISTANCES)
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_they_end_at_the_least_loss(name: str, data: st.DataObject) -> None:
    instance = data.draw(hidings())
    asked = {**instance.asked, "quality": data.draw(tree_distances(name, data.draw(taxonomies())))}
    try:
        result = ew.hide(instance.histogram, **asked)
    except ew.ElsewhereError:
        return
    problem = result.question.problem
    counts = problem.lower.copy()
    for at in data.draw(st.permutations(range(len(counts)))):
        counts[at] += min(problem.size - counts.sum(), problem.upper[at] - counts[at])
    if not math.isfinite(problem.quality_loss(counts)):
        return
    least = brute_force("hide", instance.histogram, **asked).objective
    assert loss_after_exchanges(problem, counts) == pytest.approx(least, abs=1e-9)
    is_least = problem.quality_loss(counts) == pytest.approx(least, abs=1e-9)
    assert (best_exchange(problem, counts) is None) == is_least
    released = np.array([result.histogram[location] for location in problem.locations])
    assert best_exchange(problem, released) is None
