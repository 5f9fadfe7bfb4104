"""What the attacks on hidden places have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elsewhere.attacks.table import Table
from elsewhere.model.arrays import Flags
from elsewhere.policy import Plan


@dataclass(frozen=True)
class Setting:
    """The users, and how they hide sensitive places."""

    table: Table
    plan: Plan
    #: The columns of each sensitive class.
    classes: dict[str, Flags]
    seed: int

    @classmethod
    def of(cls, table: Table, plan: Plan, names: Iterable[str], seed: int) -> Setting:
        """The setting in which the classes of that name are hidden; a class that there is not is refused."""
        totals = table.totals()
        return cls(table, plan, {name: table.columns(plan.caught(name, totals)) for name in names}, seed)

    @cached_property
    def sensitive(self) -> Flags:
        """The columns that are sensitive."""
        covered: Flags = np.any(list(self.classes.values()), axis=0)
        return covered

    @cached_property
    def hiding(self) -> Flags:
        """Whether a user has something to hide."""
        return self.table.counts @ self.sensitive > 0

    @cached_property
    def releasable(self) -> Flags:
        """Whether a user has something else, without which there is no release."""
        return self.table.counts @ ~self.sensitive > 0
