"""Shared releases: which of the two users of a release has the secret?

By construction, nobody can tell; the attack checks this. One random user of each pair is used, because an attacker who
learned from the other one would know the answer.
"""

from __future__ import annotations

import numpy as np

from elsewhere.attacks.baselines import median_loss, seed_key, shared
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import MOST, View, drawn, enough, guess
from elsewhere.attacks.result import Attack
from elsewhere.attacks.table import Table
from elsewhere.plan import Plan


def tell_partners(table: Table, plan: Plan, seeds: tuple[int, ...]) -> Attack:
    """How well users with the secret can be told from users without it, among those who share a release."""
    rows = drawn(np.ones(table.counts.shape[0], np.bool_), seeds[0], 2 * MOST)
    counts = table.counts[rows]
    releases, with_secret, without = shared(plan.with_key(seed_key(seeds[0])), table.locations, counts)
    enough("shared releases", "with the secret in a pair", with_secret, "without it", without)
    views = []
    for seed in seeds:
        has_secret = np.random.default_rng(seed).permutation(np.arange(len(without)) % 2 == 0)
        users = np.where(has_secret, with_secret, without)
        seen = Features.of(releases[users], np.zeros(counts.shape[1], np.bool_))
        views.append(View.of(seen, has_secret))
    both = np.append(with_secret, without)
    loss = median_loss(plan.policy.quality, counts[both], releases[both])
    name = f"{plan.policy.goal}, shared"
    return Attack(
        "which user of a pair has the secret", name, len(with_secret), len(without), *guess(views, seeds), loss
    )
