"""The common setting of the attacks on hidden places: the users, and the releases of each kind."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.attacks.baselines import deleted, median_loss, rounded, sanitized, seed_key
from elsewhere.attacks.noise import MOST_PLACES, noised
from elsewhere.attacks.table import Table, as_histogram
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.plan import Plan
from elsewhere.profiles import StoredProfile, learn

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Further draws of each known user that an attacker with the method makes.
MORE_DRAWS = 4
#: The names of the rows of drawn releases, and of noise with its epsilon.
DRAWN_AT_OWN, DRAWN = DRAWS = "hide, drawn at own places", "hide, drawn"
NOISES = {"noise, 1 per visit": 1.0, "noise, 4 per visit": 4.0}


@dataclass(frozen=True)
class Setting:
    """The users, and how they hide sensitive places."""

    table: Table
    plan: Plan
    #: The columns of each sensitive class.
    classes: dict[str, Flags]
    #: The columns that are sensitive.
    sensitive: Flags
    #: Seeds of the splits; the first is also the seed of everything else.
    seeds: tuple[int, ...]
    _known: dict[tuple[str, int], tuple[Ints, csr_array]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: Table, plan: Plan, seeds: tuple[int, ...]) -> Setting:
        """The setting of a plan; raise if a sensitive class has no places."""
        covered = plan.question(table.totals()).covered
        covered.check_known()
        classes = {name: table.columns(locations) for name, locations in covered.items()}
        sensitive = np.any(list(classes.values()), axis=0)
        if len(classes) > 1:
            classes["any of them"] = sensitive
        return cls(table, plan, classes, sensitive, seeds)

    @property
    def seed(self) -> int:
        """The seed of everything that is the same in all splits."""
        return self.seeds[0]

    @cached_property
    def hiding(self) -> Flags:
        """Whether a user has something to hide."""
        return self.table.counts @ self.sensitive > 0

    @cached_property
    def releasable(self) -> Flags:
        """Whether a user has visits that are not sensitive; without any there is no release."""
        return self.table.counts @ ~self.sensitive > 0

    @cached_property
    def popularity(self) -> Floats:
        """How popular each place is with the users, which attackers know."""
        return np.array([self._learned.profile[name] for name in self.table.locations])

    @cached_property
    def _learned(self) -> StoredProfile:
        counts = self.table.counts
        users = ((str(row), as_histogram(self.table.locations, counts, row)) for row in range(counts.shape[0]))
        return learn(users)

    @cached_property
    def _drawing(self) -> Plan:
        """The plan for drawn releases, with the popularity that is learned from the users."""
        return replace(self.plan.policy, method="drawn").plan(popularity=self._learned)

    @property
    def protections(self) -> tuple[str, ...]:
        """Every protection that is attacked."""
        noises = tuple(NOISES) if len(self.table.locations) <= MOST_PLACES else ()
        return ("deletion", "rounding", *noises, "hide", *DRAWS)

    def protected(
        self, protection: str, counts: csr_array, draw: int = 0, *, earlier: csr_array | None = None
    ) -> csr_array:
        """The releases of some counts; a draw has its own key or noise. Those of `hide` may continue earlier ones."""
        if protection == "deletion":
            return deleted(counts, self.sensitive)
        if protection == "rounding":
            return rounded(counts, self.sensitive)
        if protection in NOISES:
            return noised(counts, NOISES[protection], (self.seed, draw))
        plans = {DRAWN: self._drawing, DRAWN_AT_OWN: self.plan.with_choices({"method": "drawn"})}
        plan = plans.get(protection, self.plan).with_key(seed_key(self.seed, draw))
        return sanitized(plan, self.table.locations, counts, earlier)

    def releases(self, protection: str, rows: Ints, draw: int = 0) -> csr_array:
        """The releases of some users; those made for another attack are reused."""
        from scipy.sparse import vstack

        position, made = self._known.get((protection, draw), (np.full(self.table.counts.shape[0], -1), None))
        missing = rows[position[rows] < 0]
        if len(missing):
            new = self.protected(protection, self.table.counts[missing], draw)
            position[missing] = np.arange(len(missing)) + (0 if made is None else made.shape[0])
            made = new if made is None else vstack([made, new], format="csr")
            self._known[protection, draw] = (position, made)
        assert made is not None
        return made[position[rows]]

    def more_draws(self, protection: str, rows: Ints) -> tuple[Ints, csr_array]:
        """Further draws for the users who hide something: the number of the user among these, and the counts.

        An attacker with the method can make any number of draws for users whose histories it knows.
        """
        from scipy.sparse import vstack

        users = np.flatnonzero(self.hiding[rows])
        draws = [self.releases(protection, rows[users], draw) for draw in range(1, MORE_DRAWS + 1)]
        return np.tile(users, MORE_DRAWS), vstack(draws, format="csr")

    def loss(self, protection: str, rows: Ints) -> float | None:
        """The median quality loss of the releases of users who hide something."""
        hiding = rows[self.hiding[rows]]
        return median_loss(self.plan.policy.quality, self.table.counts[hiding], self.releases(protection, hiding))
