"""Inference: from the release alone, was this user at a sensitive class of places?

The label is what the original says, and the attacker learns from other users' releases whose originals it knows. What
it can use is what goes together: the pharmacy beside the clinic, or simply that who goes out more was there sooner.
"""

from __future__ import annotations

import numpy as np

from elsewhere.attacks.baselines import protections
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import drawn, enough, guess
from elsewhere.attacks.result import Attack
from elsewhere.attacks.setting import Setting
from elsewhere.model.arrays import Flags


def infer(setting: Setting, name: str, columns: Flags) -> list[Attack]:
    """How well visits to a class of places are inferred from each kind of release, and from its size alone."""
    visits = setting.table.counts @ columns
    there, not_there = (drawn(which & setting.releasable, setting.seed) for which in (visits > 0, visits == 0))
    enough(f"the inference of {name}", "with such a visit", there, "without one", not_there)
    rows = np.append(there, not_there)
    labels = np.arange(len(rows)) < len(there)
    counts = setting.table.counts[rows]
    seen = {"size alone": Features.of_size(counts), "no protection": Features.of(counts, columns)}
    for protection, releases in protections(setting, counts).items():
        seen[protection] = Features.of(releases, columns)
    return [
        Attack(name, protection, len(there), len(not_there), guess(features, labels, setting.seed))
        for protection, features in seen.items()
    ]
