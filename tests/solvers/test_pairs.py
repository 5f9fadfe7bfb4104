"""The release that two users share, against all that they could share."""

from __future__ import annotations

import numpy as np
import pytest

from elsewhere.model.arrays import Ints
from elsewhere.sharing import block as block_module
from elsewhere.sharing.block import Block, Release
from elsewhere.solvers import pairs
from tests.support import sharing


def test_the_shared_release_has_the_least_total_loss_within_both_limits() -> None:
    dice = np.random.default_rng(5)
    served = proven = 0
    for _ in range(250):
        block = sharing.random_block(dice, 2)
        least, found = sharing.least_total(block, 0, 1), block.release(0, 1)
        if found is None:
            assert least == np.inf
            continue
        served += 1
        losses = [sharing.quality_loss(block, user, _spread(found, block)) for user in (0, 1)]
        assert losses == pytest.approx(found.losses, abs=1e-12)
        assert max(losses) <= block.limit
        assert found.bound - 1e-12 <= least <= sum(losses) + 1e-12
        proven += sum(losses) - found.bound < 1e-12
    assert served > 60
    assert proven >= 0.95 * served


def test_where_the_exact_search_is_too_large_the_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_module, "_MOST_VALUES", 0)
    dice = np.random.default_rng(5)
    unknown = 0
    for _ in range(250):
        block = sharing.random_block(dice, 2)
        least, (found, lower) = sharing.least_total(block, 0, 1), block.decide(0, 1)
        assert lower <= least + 1e-12
        assert found is None or max(found.losses) <= block.limit
        unknown += found is None and lower < np.inf
    assert unknown


def test_bounds_are_below_the_least_total_loss() -> None:
    dice = np.random.default_rng(6)
    unserved = 0
    for _ in range(250):
        block = sharing.random_block(dice, 2)
        first, second = np.array([0]), np.array([1])
        least = sharing.least_total(block, 0, 1)
        assert block.bounds(first, second)[0, 0] <= least + 1e-12
        state, total, lower = (of[0] for of in block.weigh(first, second))
        assert lower <= least + 1e-12
        assert total >= least - 1e-12
        assert (state != pairs.NONE) or least == np.inf
        assert (state != pairs.LEAST) or total == pytest.approx(least, abs=1e-12)
        unserved += block.bounds(first, second)[0, 0] == np.inf
    assert unserved > 20


def test_the_release_does_not_depend_on_who_comes_first() -> None:
    dice = np.random.default_rng(7)
    for _ in range(100):
        block = sharing.random_block(dice, 2)
        one, other = block.release(0, 1), block.release(1, 0)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert np.array_equal(_spread(one, block), _spread(other, block))
            assert one.losses == other.losses[::-1]


def test_large_histories_are_shared_as_well() -> None:
    block = sharing.block([[4 * 10**17, 10**17, 0], [3, 0, 2]], [True, False], 0.3)
    found = block.release(0, 1)
    assert found is not None
    assert int(found.counts.sum()) == 25 * 10**16 + 3
    smaller = sharing.block([[4000, 1000, 0], [3000, 0, 2000]], [True, False], 0.3).release(0, 1)
    assert smaller is not None
    assert sum(found.losses) == pytest.approx(sum(smaller.losses), abs=1e-6)


def _spread(release: Release, block: Block) -> Ints:
    found = np.zeros(len(block.closed), np.int64)
    found[release.place] = release.counts
    return found
