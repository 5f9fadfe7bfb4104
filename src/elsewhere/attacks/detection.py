"""Detection: can an attacker tell a release from a genuine histogram, by the traces that the method leaves?

Users who were at sensitive places differ from other users, but that is what inference measures. So all users here were
at sensitive places. A random half of them share a release. From the others, the attacker gets the genuine counts of all
places that are not sensitive, as if they had never been at sensitive ones. No user is in both halves.
"""

from __future__ import annotations

import numpy as np

from elsewhere.attacks.baselines import deleted
from elsewhere.attacks.features import Features
from elsewhere.attacks.knowledge import by_popularity
from elsewhere.attacks.learning import MOST, View, drawn, enough, guess
from elsewhere.attacks.result import Attack
from elsewhere.attacks.setting import DRAWS, Setting
from elsewhere.model.arrays import Flags, Ints


def detect(setting: Setting) -> list[Attack]:
    """How well each kind of release can be told from genuine histograms. For deletion, this is a coin toss."""
    from scipy.sparse import vstack

    rows = drawn(setting.hiding & setting.releasable, setting.seed, 2 * MOST)
    splits = [halves(len(rows), seed, "the detection of releases") for seed in setting.seeds]
    genuine = deleted(setting.table.counts[rows], setting.sensitive)
    attacks = []
    for protection in ("size alone", *setting.protections):
        hidden = "hide" if protection == "size alone" else protection
        parts, of = [setting.releases(hidden, rows), genuine], np.zeros(0, np.int64)
        if protection in DRAWS:
            of, draws = setting.more_draws(protection, rows)
            parts.append(draws)
        counts = vstack(parts, format="csr")
        if protection == "size alone":
            features = Features.of_size(counts)
        else:
            features = Features.of(counts, setting.sensitive, by_popularity(counts, setting.popularity))
        judged = guess([view_of_halves(features, changed, of) for changed in splits], setting.seeds)
        number, loss = int(splits[0].sum()), None if protection == "size alone" else setting.loss(protection, rows)
        attacks.append(Attack("released or genuine", protection, number, len(rows) - number, *judged, loss))
    return attacks


def halves(number: int, seed: int, what: str) -> Flags:
    """Split the users with something to hide at random: True means that the user's release is attacked."""
    changed = np.zeros(number, np.bool_)
    changed[np.random.default_rng(seed).permutation(number)[: number // 2]] = True
    enough(what, "with a release", changed[changed], "without one", changed[~changed])
    return changed


def view_of_halves(features: Features, changed: Flags, of: Ints) -> View:
    """The view of users whose features are stacked: those of releases, of genuine histograms, and of further draws.

    `of` has the user of each further draw.
    """
    users = len(changed)
    rows = np.arange(users) + np.where(changed, 0, users)
    drawn_ones = np.flatnonzero(changed[of])
    return View.of(features, changed, rows, more=(of[drawn_ones], 2 * users + drawn_ones))
