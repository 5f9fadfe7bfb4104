"""Inverting hide: the numbers of visits that are consistent are exactly those that some history really has."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.attacks.inversion import hidden_ranges, largest_hidden


def possible(release: list[int]) -> set[int]:
    """Try every history: how many visits it hides if its release is this one."""
    found = {0}
    for true in product(*(range(1, count + 1) for count in release)):
        if hidden := sum(release) - sum(true):
            places = {f"place {at}": count for at, count in enumerate(true)}
            counts = ew.hide(places | {"clinic": hidden}, ["clinic"]).histogram
            if [counts[name] for name in places] == release:
                found.add(hidden)
    return found


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_consistent_are_those_of_some_history(release: list[int]) -> None:
    ranges = hidden_ranges(np.array(release))
    assert {hidden for low, high in ranges.tolist() for hidden in range(low, high + 1)} == possible(release)


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 80))
def test_the_truth_is_consistent(true: list[int], hidden: int) -> None:
    places = {f"place {at:02d}": count for at, count in enumerate(true)}
    counts = ew.hide(places | {"clinic": hidden}, ["clinic"]).histogram
    release = np.array([counts[name] for name in places])
    assert any(low <= hidden <= high for low, high in hidden_ranges(release))
    assert largest_hidden(release) >= hidden
