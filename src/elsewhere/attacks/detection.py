"""Detection: can a release be told from a genuine histogram, by the traces that the method leaves?

Users who were at sensitive places differ from those who were not, and that is inference's business. So all users here
were there. Half of them, at random, give a release away; of the others the attacker gets the genuine counts of all
places that are not sensitive, as if they had never been at the sensitive ones. Nobody is in both halves.
"""

from __future__ import annotations

import numpy as np

from elsewhere.attacks.baselines import deleted, protections
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import MOST, drawn, enough, guess
from elsewhere.attacks.result import Attack
from elsewhere.attacks.setting import Setting
from elsewhere.model.arrays import Ints


def detect(setting: Setting) -> list[Attack]:
    """How well each kind of release is told from genuine histograms; deletion leaves nothing else, so it is a coin."""
    from scipy.sparse import vstack

    changed, genuine = halves(setting, "the detection of releases")
    labels = np.arange(len(changed) + len(genuine)) < len(changed)
    others = deleted(setting.table.counts[genuine], setting.sensitive)
    kinds = protections(setting, setting.table.counts[changed])
    both = {protection: vstack([releases, others], format="csr") for protection, releases in kinds.items()}
    seen = {"size alone": Features.of_size(both["hide"])}
    seen |= {protection: Features.of(counts, setting.sensitive) for protection, counts in both.items()}
    return [
        Attack("released or genuine", protection, len(changed), len(genuine), guess(features, labels, setting.seed))
        for protection, features in seen.items()
    ]


def halves(setting: Setting, what: str) -> tuple[Ints, Ints]:
    """Users with something to hide, split at random into those whose releases are attacked and the others."""
    rows = drawn(setting.hiding & setting.releasable, setting.seed, 2 * MOST)
    order = np.random.default_rng(setting.seed).permutation(rows)
    changed, genuine = np.sort(order[: len(rows) // 2]), np.sort(order[len(rows) // 2 :])
    enough(what, "with a release", changed, "without one", genuine)
    return changed, genuine
