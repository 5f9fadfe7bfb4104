"""Who shares with whom, against all pairings; and mechanisms that draw, against linear programs over all of them."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from elsewhere.model.arrays import Floats
from elsewhere.sharing import pairing
from elsewhere.sharing.block import Block, canonical_order
from elsewhere.sharing.pairing import PENALTY, paired
from elsewhere.verification.sharing import bound_of
from tests.support import sharing


def best_pairing(costs: Floats) -> tuple[int, float]:
    """Of all pairings those with the most pairs, and of these the least total."""
    if costs.shape[0] > costs.shape[1]:
        costs = costs.T
    best = (0, 0.0)
    for columns in permutations(range(costs.shape[1]), costs.shape[0]):
        chosen = [cost for cost in costs[range(costs.shape[0]), columns] if cost < math.inf]
        best = max(best, (len(chosen), -sum(chosen)))
    return best[0], -best[1]


def bound(block: Block, found: pairing.Pairing) -> float:
    """What the prices prove about the total loss of as many pairs."""
    penalty = PENALTY * block.limit
    proven = bound_of(found.prices[block.secret], found.prices[~block.secret], found.lower, penalty)
    return proven - penalty * (len(block.secret) - 2 * len(found.first))


@pytest.mark.parametrize("nearest", [1, 16])
def test_most_pairs_at_the_least_total_loss(nearest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "_NEAREST", nearest)
    dice = np.random.default_rng(8)
    numbers = []
    for _ in range(60):
        block = sharing.random_block(dice, int(dice.integers(2, 8)))
        number, total = best_pairing(sharing.costs(block))
        found = paired(block)
        assert len(found.first) == number
        assert block.secret[found.first].all()
        assert not block.secret[found.second].any()
        assert found.cost >= total - 1e-9
        assert bound(block, found) <= total + 1e-8
        if all(sum(release.losses) - release.bound < 1e-12 for release in found.releases):
            assert found.cost == pytest.approx(total, abs=1e-8)
        numbers.append(number)
    assert {0, 1, 2, 3} <= {*numbers}


def test_a_round_that_comes_to_no_end_still_has_a_true_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "_NEAREST", 1)
    monkeypatch.setattr(pairing, "_ROUNDS", 1)
    dice = np.random.default_rng(9)
    loose = 0
    for _ in range(60):
        block = sharing.random_block(dice, 6)
        number, total = best_pairing(sharing.costs(block))
        found = paired(block)
        penalty = PENALTY * block.limit
        least = penalty * (6 - 2 * number) + total
        assert bound(block, found) + penalty * (6 - 2 * len(found.first)) <= least + 1e-8
        loose += len(found.first) < number or found.cost > total + 1e-9
    assert loose


def test_no_joint_mechanism_of_two_users_is_better() -> None:
    """All random releases whose chances are the same for both users: then a release tells nothing about the order."""
    dice = np.random.default_rng(10)
    compared = 0
    while compared < 15:
        block = sharing.random_block(dice, 2)
        found = block.release(0, 1)
        possible = [
            [sharing.quality_loss(block, user, release) for user in (0, 1)] for release in sharing.releases(block, 0, 1)
        ]
        within = np.array([losses for losses in possible if max(losses) <= block.limit]).reshape(-1, 2)
        if not len(within):
            assert found is None
            continue
        number = len(within)
        same = np.hstack([np.eye(number), -np.eye(number)])
        sums = np.kron(np.eye(2), np.ones(number))
        program = linprog(
            np.concatenate([within[:, 0], within[:, 1]]) / 2,
            A_eq=np.vstack([same, sums]), b_eq=np.concatenate([np.zeros(number), np.ones(2)]),
        )  # fmt: skip
        assert found is not None
        if sum(found.losses) - found.bound < 1e-12:
            assert sum(found.losses) / 2 == pytest.approx(program.fun, abs=1e-8)
            compared += 1


def test_no_pairing_by_chance_is_better() -> None:
    dice = np.random.default_rng(11)
    for _ in range(15):
        block = sharing.random_block(dice, 6)
        costs, penalty = sharing.costs(block), PENALTY * block.limit
        i, j = np.nonzero(np.isfinite(costs))
        found = paired(block)
        if not len(i):
            assert not len(found.first)
            continue
        once = np.vstack(
            [i == row for row in range(costs.shape[0])] + [j == column for column in range(costs.shape[1])]
        )
        program = linprog(costs[i, j] - 2 * penalty, A_ub=once, b_ub=np.ones(len(once)))
        gap = sum(sum(release.losses) - release.bound for release in found.releases)
        assert found.cost - 2 * penalty * len(found.first) == pytest.approx(program.fun, abs=1e-6 + gap)


def test_prices_that_are_too_high_prove_nothing() -> None:
    lower = np.array([[0.2, 0.3]])
    assert bound_of(np.array([0.1]), np.array([0.1, 0.2]), lower, 9.0) == pytest.approx(0.4)
    assert bound_of(np.array([0.1]), np.array([0.2, 0.2]), lower, 9.0) == -math.inf
    assert bound_of(np.array([-10.0]), np.array([0.0, 9.1]), lower, 9.0) == -math.inf


def test_the_order_of_users_follows_from_their_histories_and_then_from_chance() -> None:
    offset, place, counts = np.array([0, 1, 3, 4]), np.array([0, 0, 2, 0]), np.array([5, 1, 1, 5])
    assert canonical_order(offset, place, counts, [1, 2, 3]).tolist() == [0, 2, 1]
    assert canonical_order(offset, place, counts, [3, 2, 1]).tolist() == [2, 0, 1]
