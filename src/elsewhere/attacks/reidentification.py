"""Re-identification: whose release is this, for somebody who knows some of a person's visits?

The attacker knows some visits of a user, and has the releases of all users without their names. It ranks the releases
by how well they fit its knowledge, and takes the first. It knows a random half of the user's visits, and the release is
of the other half. So no visit is in both, and the attack exploits how somebody lives, not the visits themselves. If
histograms of an earlier period are given, the attacker knows those, and the releases are of the later period. An
attacker who knows visits that are in the release finds nearly everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.attacks.baselines import median_loss
from elsewhere.attacks.learning import FEWEST, TooFewUsers, drawn, share
from elsewhere.attacks.result import Reidentification
from elsewhere.attacks.table import Table, entry_rows, with_counts
from elsewhere.model.arrays import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: The most users whose releases are ranked.
MOST_RELEASES = 2000
#: Each visit is known with this probability.
_KNOWN = 0.5
#: Also measured: whether the release is among this many first ones.
_FEW = 10
#: How many scores are computed at a time.
_AT_ONCE = 500


@dataclass(frozen=True)
class Sought:
    """The users to find: what the attacker knows about each, and the released visits."""

    knowledge: str
    locations: tuple[str, ...]
    known: csr_array
    counts: csr_array
    seed: int

    @classmethod
    def by_half(cls, table: Table, seed: int) -> Sought:
        """Each visit is known with probability one half; the others are released."""
        rows = drawn(np.ones(table.counts.shape[0], np.bool_), seed, MOST_RELEASES)
        counts = table.counts[rows]
        known = with_counts(counts, np.random.default_rng(seed).binomial(counts.data, _KNOWN))
        return cls._of("half of the visits", table.locations, known, counts - known, seed)

    @classmethod
    def by_earlier(cls, table: Table, earlier: Table, seed: int) -> Sought:
        """The visits of an earlier period are known, and those of the table, with the same columns, are released."""
        number = {user: at for at, user in enumerate(earlier.users)}
        both = np.array([user in number for user in table.users], np.bool_)
        rows = drawn(both, seed, MOST_RELEASES)
        known = earlier.counts[[number[table.users[at]] for at in rows]]
        return cls._of("an earlier period", table.locations, known, table.counts[rows], seed)

    @classmethod
    def _of(cls, knowledge: str, locations: tuple[str, ...], known: csr_array, counts: csr_array, seed: int) -> Sought:
        rows = np.flatnonzero((known.sum(axis=1) > 0) & (counts.sum(axis=1) > 0))
        if len(rows) < FEWEST:
            raise TooFewUsers(f"skipped re-identification: it needs at least {FEWEST} users; found {len(rows)}")
        return cls(knowledge, locations, known[rows], counts[rows], seed)

    def found(self, protection: str, releases: csr_array, quality: str) -> Reidentification | None:
        """How often a user's own release is ranked first, and how often among the first ten.

        Users without a release are left out. Of several scores, the attacker uses for one half of the users the score
        that does best on the other half. None if too few users have a release.
        """
        released = np.flatnonzero(releases.sum(axis=1) > 0)
        if len(released) < FEWEST:
            return None
        ranks = _ranks(self.known[released], releases[released], self.seed)
        loss = None
        if protection != "no protection":
            loss = median_loss(quality, self.counts[released], releases[released])
        return Reidentification(self.knowledge, protection, len(released), share(ranks < 1), share(ranks < _FEW), loss)


def _ranks(known: csr_array, releases: csr_array, seed: int) -> Ints:
    """The number of releases ranked before the user's own, for each user with known visits."""
    random = np.random.default_rng(seed)
    sought = np.flatnonzero(known.sum(axis=1) > 0)
    ranks = np.array([_rank(score(known, releases), sought, random) for score in SCORES.values()])
    half = random.permutation(len(sought)) < len(sought) // 2
    best = np.where(half, *(int(np.argmin(_misses(ranks[:, part]))) for part in (~half, half)))
    chosen: Ints = ranks[best, np.arange(len(sought))]
    return chosen


def _misses(ranks: Ints) -> Floats:
    misses: Floats = np.mean(ranks >= 1, axis=1)
    return misses


def _rank(scores: Callable[[Ints], Floats], sought: Ints, random: np.random.Generator) -> Ints:
    """The ranks of users' own releases by a score; ties are broken at random."""
    ranks = []
    for first in range(0, len(sought), _AT_ONCE):
        rows = sought[first : first + _AT_ONCE]
        table = scores(rows)
        own = table[np.arange(len(rows)), rows][:, None]
        before, equal = (table > own).sum(axis=1), (table == own).sum(axis=1)
        ranks.append(before + np.floor(random.random(len(rows)) * equal).astype(np.int64))
    return np.concatenate(ranks)


def likelihood(everybody: float) -> Callable[[csr_array, csr_array], Callable[[Ints], Floats]]:
    """The log-likelihood of the known visits if they are drawn from a release mixed with the overall popularity."""

    def score(known: csr_array, releases: csr_array) -> Callable[[Ints], Floats]:
        total = releases.sum(axis=0) + known.sum(axis=0)
        usual = everybody * total / total.sum()
        shares = releases.data / releases.sum(axis=1)[entry_rows(releases)]
        # The remaining terms are the same for all releases.
        usual_there = usual[releases.indices]
        gains = with_counts(releases, np.log1p((1.0 - everybody) * shares / usual_there)).T.tocsr()
        return lambda rows: (known[rows] @ gains).toarray()

    return score


def similarity(known: csr_array, releases: csr_array) -> Callable[[Ints], Floats]:
    """The cosine similarity of the roots of shares; rare places have more weight."""
    visitors = np.bincount(releases.indices, minlength=releases.shape[1])
    weights = np.log((1 + releases.shape[0]) / (1 + visitors))

    def directions(counts: csr_array) -> csr_array:
        rows = entry_rows(counts)
        roots = np.sqrt(counts.data) * weights[counts.indices]
        lengths = np.sqrt(np.bincount(rows, roots**2, minlength=counts.shape[0]))
        return with_counts(counts, roots / np.where(lengths > 0, lengths, 1.0)[rows])

    one, other = directions(known), directions(releases).T.tocsr()
    return lambda rows: (one[rows] @ other).toarray()


#: The ways to rank releases.
SCORES: Mapping[str, Callable[[csr_array, csr_array], Callable[[Ints], Floats]]] = {
    "likelihood, little smoothing": likelihood(0.1),
    "likelihood, much smoothing": likelihood(0.5),
    "similarity": similarity,
}
