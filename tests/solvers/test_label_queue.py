"""Labels that are dropped anyway are skipped: what is found is the same as if each were looked at, ties included."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsewhere.kernels.jit import interpreting
from elsewhere.solvers import knapsack, labels
from elsewhere.solvers.knapsack import Limits, Solution, Tables


def nothing_skipped(_label: Any, k: int, *_given: Any) -> tuple[int, bool]:
    """The slow twin of `promising`: every label is looked at."""
    return k, False


def solved(tables: Tables, known: Any, budget: float, forbidden: Any) -> Solution:
    with interpreting():
        found = knapsack.solve(tables, int(known.sum()), budget, known=known, forbidden=forbidden, limits=Limits())
    assert found is not None
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    bins=st.integers(3, 5),
    values=st.integers(2, 9),
    levels=st.sampled_from([2, 5, 1000]),
    alike=st.booleans(),
    forbid=st.booleans(),
)
def test_skipping_changes_nothing(seed: int, bins: int, values: int, levels: int, alike: bool, forbid: bool) -> None:
    """Few levels, and bins that are alike, make many labels that cost the same."""
    dice = np.random.default_rng(seed)
    objective, cost = dice.integers(0, levels, (2, bins, values)) / (7.0 if levels > 5 else 1.0)
    if alike:
        objective[1], cost[1] = objective[0], cost[0]
    tables = Tables(np.arange(bins + 1) * values, np.zeros(bins, np.int64), objective.ravel(), cost.ravel())
    known = dice.integers(0, values, bins)
    budget = float(cost[np.arange(bins), known].sum()) + 0.5
    nothing = np.zeros((0, bins), np.int64)
    forbidden = nothing
    if forbid and not np.array_equal((best := solved(tables, known, budget, nothing)).counts, known):
        forbidden = best.counts[np.newaxis]
    found = solved(tables, known, budget, forbidden)
    with patch.object(labels, "promising", nothing_skipped):
        expected = solved(tables, known, budget, forbidden)
    assert found.counts.tolist() == expected.counts.tolist()
    assert found[1:] == expected[1:]
