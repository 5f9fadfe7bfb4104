"""What the attacks on hidden places have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elsewhere.attacks.table import Table
from elsewhere.model.arrays import Flags
from elsewhere.plan import Plan


@dataclass(frozen=True)
class Setting:
    """The users, and how they hide sensitive places."""

    table: Table
    plan: Plan
    #: The columns of each sensitive class.
    classes: dict[str, Flags]
    #: The columns that are sensitive.
    sensitive: Flags
    seed: int

    @classmethod
    def of(cls, table: Table, plan: Plan, seed: int) -> Setting:
        """The setting of a plan; a sensitive class that there is not is refused."""
        covered = plan.question(table.totals()).covered
        covered.check_known()
        classes = {name: table.columns(locations) for name, locations in covered.items()}
        sensitive = np.any(list(classes.values()), axis=0)
        if len(classes) > 1:
            classes["any of them"] = sensitive
        return cls(table, plan, classes, sensitive, seed)

    @cached_property
    def hiding(self) -> Flags:
        """Whether a user has something to hide."""
        return self.table.counts @ self.sensitive > 0

    @cached_property
    def releasable(self) -> Flags:
        """Whether a user has something else, without which there is no release."""
        return self.table.counts @ ~self.sensitive > 0
