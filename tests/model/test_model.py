"""Histograms, profiles and distances as objects."""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.kernels.jit import interpreting
from elsewhere.model.arrays import float_sum
from elsewhere.model.distances import DISTANCES, Measure, find_distance
from elsewhere.model.histogram import parse_weights
from elsewhere.model.problem import ROOM
from elsewhere.paper.terms import term
from elsewhere.solvers import terms
from elsewhere.solvers.choices import KINDS


@given(st.lists(st.floats(0.0, 1e280), min_size=1, max_size=20))
def test_sums_are_numpys(numbers: list[float]) -> None:
    assert float_sum(np.array(numbers)) == np.array(numbers).sum()


def test_made_from_anything() -> None:
    expected = ew.Histogram({"cafe": 7, "gym": 2})
    assert ew.Histogram([("gym", 2), ("cafe", 7)]) == expected
    assert ew.Histogram(Counter({"cafe": 7, "gym": 2})) == expected
    assert ew.Histogram(pd.Series({"gym": 2.0, "cafe": 7.0})) == expected
    assert ew.Histogram(expected) == expected
    assert dict(expected) == {"cafe": 7, "gym": 2}
    assert expected.counts.dtype == np.int64
    assert hash(ew.Histogram({"cafe": 7, "gym": 2, "x": 0})) == hash(expected)
    assert expected != {"cafe": 7, "gym": 2}
    assert repr(expected) == "Histogram({'cafe': 7, 'gym': 2})"
    with pytest.raises(ew.InputError, match="more than once"):
        ew.Histogram(pd.Series([1, 2], index=["cafe", "cafe"]))


def test_behaves_like_a_mapping() -> None:
    histogram = ew.Histogram({"cafe": 7, "gym": 0})
    assert (histogram["nowhere"], histogram.get("nowhere"), histogram.get("nowhere", 5)) == (0, None, 5)
    assert (histogram.get("cafe", 5), histogram.get("gym", 5)) == (7, 0)
    assert ew.Profile({"a": 1, "b": 1}) == ew.Profile({"a": 2, "b": 2, "c": 0})


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_copies_are_equal_and_cannot_be_changed(copied: Callable[[Any], Any]) -> None:
    histogram, profile = ew.Histogram({"cafe": 7, "gym": 2}), ew.Profile({"a": 1, "b": 2})
    result = copied(ew.hide(histogram, {"gym"}))
    assert (copied(histogram), copied(profile)) == (histogram, profile)
    for numbers in (copied(histogram).counts, copied(profile).weights, result.histogram.counts):
        with pytest.raises(ValueError, match="read-only"):
            numbers[0] = 5
    for error in (ew.Infeasible("no", 0.5), ew.PrivacyNotMet("not", result, 0.5)):
        again = copied(error)
        assert (type(again), str(again), again.needed_quality_loss) == (type(error), str(error), 0.5)
    assert again.best == result


def test_union_adds_no_spurious_bin() -> None:
    result = ew.resemble({"cafe": 7, "gym": 2}, {"museum": 1, "cafe": 1}, max_quality_loss=0.02)
    assert set(result.histogram) <= {"cafe", "gym", "museum"}
    assert (result.histogram.counts > 0).all()
    assert "park" not in result.histogram


@given(st.permutations(["Bar", "cafe", "gym"]), st.booleans(), st.booleans())
def test_weights_with_known_names(names: list[str], other_spelling: bool, one_more: bool) -> None:
    """Names that are known need no index of their own; what is read is the same."""
    known = ew.Histogram({"Bar": 1, "cafe": 2, "gym": 3}).index
    target = {name.upper() if other_spelling and name == "cafe" else name: float(len(name)) for name in names}
    if one_more:
        target["zoo"] = 0.5
    index, weights = parse_weights(target, "target", known)
    expected, expected_weights = parse_weights(ew.Profile(target), "target")
    assert (index is known) == (not other_spelling and not one_more)
    assert (index.names, list(index.keys)) == (expected.names, list(expected.keys))
    assert (weights / weights.sum()).tolist() == expected_weights.tolist()


def test_profile_is_a_distribution() -> None:
    profile = ew.Profile({"a": 1, "b": 3})
    assert profile["b"] == 0.75
    assert profile.weights.sum() == 1.0
    assert profile == ew.Profile({"b": 6, "a": 2})
    bob = {"a": 10, "b": 2}
    assert ew.resemble(bob, profile, 0.05).histogram == ew.resemble(bob, {"a": 1, "b": 3}, 0.05).histogram


@pytest.mark.parametrize("name", DISTANCES)
@given(r=st.one_of(st.integers(0, 50), st.just(1e-30), st.floats(1e-6, 50)), x=st.integers(0, 50))
def test_three_ways_to_a_term(name: str, r: float, x: int) -> None:
    """The model's arrays, the compiled numbers and the paper's plain Python agree, and the terms are convex."""
    sizes = (70.0, 60.0)
    found = find_distance(name)
    vectorised = found.terms(np.array([float(r)]), np.array([float(x)]), *sizes)[0]
    compiled = terms.term(KINDS[name], float(r), float(x), *sizes)
    plain = term(name, *sizes)(float(r), x)
    if math.isinf(plain):
        assert vectorised == compiled == plain
        return
    assert vectorised == pytest.approx(plain, rel=1e-9, abs=1e-15)
    assert compiled == pytest.approx(plain, rel=1e-9, abs=1e-15)
    after, before = (term(name, *sizes)(float(r), x + one) for one in (1, 0))
    if math.isfinite(after):
        step = terms.marginal(KINDS[name], float(r), float(x), *sizes)
        assert step == pytest.approx(after - before, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
@given(r=st.integers(0, 30))
def test_terms_are_convex(name: str, r: int) -> None:
    measure = Measure(find_distance(name), np.array([float(r)]), 40.0, 50.0)
    row = measure.row(0, np.arange(60.0))
    row = row[np.isfinite(row)]
    assert (np.diff(row, 2) >= -1e-12).all()


def test_distance_of_different_sizes() -> None:
    assert ew.distance("js", {"a": 1, "b": 3}, {"a": 2, "b": 6}) == 0
    assert ew.distance("variational", {"a": 1}, {"b": 5}) == 2
    assert ew.distance("pearson", {"a": 1}, {"b": 5}) == math.inf
    assert ew.distance(lambda r, x: abs(r - x), {"a": 1}, {"b": 5}) == 6


@pytest.mark.parametrize("name", ["js", "variational", "squared-l2"])
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(3, 5)), min_size=1, max_size=12), st.data())
def test_bins_that_are_alike(name: str, bins: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Their counts within a budget are copied, and are those of each bin on its own."""
    r, low, high = (np.array(column, dtype=np.int64) for column in zip(*bins, strict=True))
    kind, size, budget = KINDS[name], 20.0, data.draw(st.floats(0.01, 0.2)) * (1.0 if name != "squared-l2" else 20.0)
    expected = [[terms.term(kind, float(a), float(x), size, size) for x in range(b, c + 1)] for a, b, c in bins]
    least, number = terms.ranges(kind, np.ones(len(r)), r.astype(np.float64), low, high, size, size, budget)
    room = budget - sum(map(min, expected)) + ROOM * (1.0 + budget)
    fits = [
        [b + at for at, term in enumerate(row) if term <= room + min(row)]
        for (_, b, _), row in zip(bins, expected, strict=True)
    ]
    if room >= 0.0:
        assert [(int(a), int(b)) for a, b in zip(least, number, strict=True)] == [(row[0], len(row)) for row in fits]


@pytest.mark.parametrize("name", DISTANCES)
@given(
    r=st.one_of(st.integers(0, 9000).map(float), st.floats(0.0, 6.0), st.floats(0.0, 9000.0)),
    low=st.one_of(st.integers(0, 5), st.integers(0, 9000)),
    sizes=st.tuples(st.integers(9000, 20_000), st.sampled_from([1.0, 1.0, 0.7, 1.3])),
    data=st.data(),
)
def test_tables_of_terms(name: str, r: float, low: int, sizes: tuple[int, float], data: st.DataObject) -> None:
    """They do not depend on what else is in the table, nor on whether kernels are compiled."""
    size, reference_size = float(sizes[0]), sizes[0] * sizes[1]
    wide, narrow = np.array([low]), np.array([low + data.draw(st.integers(0, 40))])
    rows = []
    for first, length in ((wide, 60), (narrow, 20)):
        row, end = np.full(length, np.nan), data.draw(st.integers(0, length))
        for a, b in ((0, end), (end, length)):
            given_ = KINDS[name], np.array([r]), first, np.array([0, length]), reference_size, size
            terms.fill(*given_, terms.logarithms(), a, b, row)
        rows.append(row)
        with interpreting():
            again = np.empty(length)
            terms.fill(*given_, terms.logarithms(), 0, length, again)
        assert again.tolist() == row.tolist()
    shift = int(narrow[0]) - low
    assert rows[0][shift : shift + 20].tolist() == rows[1].tolist()
    expected = Measure(find_distance(name), np.array([r]), reference_size, size).row(0, low + np.arange(60.0))
    # The share of the bin times the logarithm of its count is what rounding is relative to.
    most = 2e-15 * (r / reference_size + (low + 60) / size) if name == "js" else 0.0
    np.testing.assert_allclose(rows[0], expected, rtol=1e-14, atol=most)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**32))
def test_totals_of_rows(rows: int, length: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    r, x, sums = dice.integers(0, 4, length).astype(np.float64), dice.integers(0, 3, (rows, length)), np.empty(rows)
    terms.totals(KINDS["js"], r, x, 20.0, 25.0, sums)
    assert sums.tolist() == [terms.total(KINDS["js"], r, np.ascontiguousarray(row), 20.0, 25.0) for row in x]
