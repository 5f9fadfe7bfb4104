"""Repeated release: what two releases of a growing histogram reveal, with and without continuing the first.

A table has no times, so growth is random: each visit existed at the first release with a probability of 80%. As in
detection, half of the users with something to hide share releases. From the others, the attacker gets the genuine
counts, twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elsewhere.attacks.baselines import deleted, median_loss
from elsewhere.attacks.detection import halves, view_of_halves
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import MOST, drawn, guess, over_splits, share
from elsewhere.attacks.result import Attack, Repetition
from elsewhere.attacks.setting import DRAWS, NOISES, Setting
from elsewhere.attacks.table import entry_rows, with_counts
from elsewhere.model.arrays import Flags, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_EARLY = 0.8
_NOBODY: Ints = np.zeros(0, np.int64)


def repeat(setting: Setting) -> Repetition:
    """How well one release, and two, can be told from genuine histograms, and how often two are proof."""
    from scipy.sparse import vstack

    rows = drawn(setting.hiding & setting.releasable, setting.seed, 2 * MOST)
    later = setting.table.counts[rows]
    early = with_counts(later, np.random.default_rng(setting.seed).binomial(later.data, _EARLY))
    both = deleted(early, setting.sensitive).sum(axis=1) > 0
    later, early = later[both], early[both]
    splits = [halves(later.shape[0], seed, "repeated releases") for seed in setting.seeds]

    others = [deleted(counts, setting.sensitive) for counts in (early, later)]
    pairs = _pairs(setting, early, later)
    alone = vstack([pairs["hide"][1], others[1]], format="csr")
    seen = {"hide, the second alone": Features.of(alone, setting.sensitive)}
    for protection, pair in pairs.items():
        first, second = (vstack([one, other], format="csr") for one, other in zip(pair, others, strict=True))
        seen[protection] = Features.of_two(first, second, setting.sensitive)
    number = int(splits[0].sum())
    attacks = [
        Attack(
            "two releases or genuine",
            protection,
            number,
            later.shape[0] - number,
            *guess([view_of_halves(features, changed, _NOBODY) for changed in splits], setting.seeds),
            median_loss(setting.plan.policy.quality, later, pairs.get(protection, pairs["hide"])[1]),
        )
        for protection, features in seen.items()
    ]
    proven = {name: over_splits([share(_falls(*pair)[changed]) for changed in splits]) for name, pair in pairs.items()}
    return Repetition(tuple(attacks), proven)


def _pairs(setting: Setting, early: csr_array, later: csr_array) -> dict[str, tuple[csr_array, csr_array]]:
    """The two releases of each user, by kind. Both use the same key, but different noise."""
    pairs = {
        name: (setting.protected(name, early), setting.protected(name, later, draw=int(name in NOISES)))
        for name in setting.protections
    }
    for name in ("hide", *DRAWS):
        first = pairs[name][0]
        pairs[f"{name}, continued"] = first, setting.protected(name, later, earlier=first)
    return pairs


def _falls(first: csr_array, second: csr_array) -> Flags:
    """Whether a count of a user falls. In a growing history none does, so a fall proves that releases were changed."""
    change = second - first
    return np.bincount(entry_rows(change)[change.data < 0], minlength=change.shape[0]) > 0
