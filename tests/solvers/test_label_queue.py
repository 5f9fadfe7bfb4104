"""Labels that are dropped anyway are skipped: what is found is the same as if each were looked at, ties included."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsewhere.kernels.jit import interpreting
from elsewhere.solvers import branches, labels
from elsewhere.solvers.knapsack import Limits, Solution, Tables


def nothing_skipped(_label: Any, k: int, *_given: Any) -> tuple[int, bool]:
    """The slow twin of `promising`: every label is looked at."""
    return k, False


def solved(tables: Tables, known: Any, budget: float, forbidden: Any) -> Solution:
    with interpreting():
        found = branches.solve(tables, int(known.sum()), budget, known=known, forbidden=forbidden, limits=Limits())
    assert found is not None
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    bins=st.integers(3, 8),
    values=st.integers(8, 14),
    targets=st.sampled_from([2, 3, 14]),
    forbid=st.booleans(),
)
def test_skipping_changes_nothing(seed: int, bins: int, values: int, targets: int, forbid: bool) -> None:
    """Whole numbers, and targets of which many are equal, make many labels that cost the same."""
    dice, x = np.random.default_rng(seed), np.arange(values)
    known = dice.integers(0, values, bins)
    objective = -np.square(x - dice.integers(0, targets, bins)[:, np.newaxis]).astype(np.float64)
    cost = np.abs(x - known[:, np.newaxis]).astype(np.float64)
    tables = Tables(np.arange(bins + 1) * values, np.zeros(bins, np.int64), objective.ravel(), cost.ravel())
    budget, forbidden = float(dice.integers(2, 3 * bins)), np.zeros((0, bins), np.int64)
    if forbid and not np.array_equal((best := solved(tables, known, budget, forbidden)).counts, known):
        forbidden = best.counts[np.newaxis]
    found = solved(tables, known, budget, forbidden)
    with patch.object(labels, "promising", nothing_skipped):
        expected = solved(tables, known, budget, forbidden)
    assert found.counts.tolist() == expected.counts.tolist()
    assert found[1:] == expected[1:]
