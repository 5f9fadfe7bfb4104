"""Inference: from the release alone, was this user at a sensitive class of places?

The label comes from the original. The attacker learns from releases of other users, whose originals it knows. It can
use correlations: the pharmacy beside the clinic, or simply that people with more visits were more likely there.
"""

from __future__ import annotations

import numpy as np

from elsewhere.attacks.features import Features
from elsewhere.attacks.knowledge import by_popularity
from elsewhere.attacks.learning import View, drawn, enough, guess
from elsewhere.attacks.result import Attack
from elsewhere.attacks.setting import DRAWS, Setting
from elsewhere.model.arrays import Flags, Ints


def infer(setting: Setting, name: str, columns: Flags) -> list[Attack]:
    """How well visits to a class of places can be inferred from each kind of release, and from its size alone."""
    visits = setting.table.counts @ columns
    there, not_there = (drawn(which & setting.releasable, setting.seed) for which in (visits > 0, visits == 0))
    enough(f"the inference of {name}", "with such a visit", there, "without one", not_there)
    rows = np.append(there, not_there)
    labels = np.arange(len(rows)) < len(there)
    counts = setting.table.counts[rows]
    seen = {
        "size alone": View.of(Features.of_size(counts), labels),
        "no protection": View.of(Features.of(counts, columns), labels),
    }
    for protection in setting.protections:
        seen[protection] = _view(setting, protection, rows, labels, columns)
    return [
        Attack(
            name,
            protection,
            len(there),
            len(not_there),
            *guess([view] * len(setting.seeds), setting.seeds),
            setting.loss(protection, rows) if protection in setting.protections else None,
        )
        for protection, view in seen.items()
    ]


def _view(setting: Setting, protection: str, rows: Ints, labels: Flags, columns: Flags) -> View:
    """The releases of the users and, for drawn releases, further draws."""
    from scipy.sparse import vstack

    counts, more = setting.releases(protection, rows), None
    if protection in DRAWS:
        users, draws = setting.more_draws(protection, rows)
        more = users, len(rows) + np.arange(len(users))
        counts = vstack([counts, draws], format="csr")
    return View.of(Features.of(counts, columns, by_popularity(counts, setting.popularity)), labels, more=more)
