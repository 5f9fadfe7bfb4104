"""The request of a batch, for any engine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from elsewhere.engines.plans import check_many
from elsewhere.engines.shared import check_sharing
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.text import quote

#: A path, an address, a data frame, an Arrow table, reader or dataset, or anything with Arrow's interface.
TableLike: TypeAlias = Any


@dataclass(frozen=True)
class Request:
    """The arguments of `elsewhere.batch` that all engines share."""

    policy: Policy
    input: TableLike
    output: str | os.PathLike[str] | None
    report: str | os.PathLike[str] | None
    personal: TableLike | None
    user_column: str | None
    location_column: str | None
    count_column: str | None
    rows_are_visits: bool
    keys: tuple[str, ...]
    partition_by: tuple[str, ...]
    part_rows: int | None
    on_error: Literal["stop", "skip"]
    allow_unchanged: bool
    min_released: float
    key_file: str | os.PathLike[str] | None
    since: TableLike | None

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise InputError(f"on_error is {quote(self.on_error)}; it must be 'stop' or 'skip'", ("on_error",))
        if not isinstance(self.policy, Policy):
            raise InputError(f"policy is {quote(self.policy)}; give a Policy or its file", ("policy",))
        if not isinstance(self.min_released, int | float) or not 0.0 <= self.min_released <= 1.0:
            told = f"min_released is {quote(self.min_released)}; it must be a share from 0 to 1"
            raise InputError(told, ("min_released",))
        if self.part_rows is not None and (type(self.part_rows) is not int or self.part_rows < 1):
            raise InputError(
                f"part_rows is {quote(self.part_rows)}; it must be a whole number from 1 up", ("part_rows",)
            )
        for name in ("rows_are_visits", "allow_unchanged"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {quote(getattr(self, name))}; it must be True or False", (name,))
        if len({*self.partition_by}) < len(self.partition_by):
            raise InputError(f"partition_by is {quote(self.partition_by)}, which has a column twice", ("partition_by",))
        for name in self.partition_by:
            if name not in self.keys:
                told = f"partition_by has {quote(name)}, which is not one of keys"
                raise InputError(told, ("partition_by", "keys"))
        if self.rows_are_visits and self.count_column is not None:
            told = f"count_column is {quote(self.count_column)}, but rows_are_visits says that there are no counts"
            raise InputError(told, ("count_column", "rows_are_visits"))
        if self.key_file is not None and not self.policy.takes_key:
            raise InputError(
                "key_file is for a policy with method = 'drawn' only, or with mechanism = 'shared'", ("key_file",)
            )
        check_many(self.policy)
        if self.policy.mechanism == "shared":
            check_sharing(self.keys, self.personal is not None, self.since is not None)
        if self.since is not None and self.policy.lower is not None:
            raise InputError("since and the policy's lower both set the least counts; give only one", ("since",))
        if self.output is None and (self.report is not None or self.partition_by):
            name = "partition_by" if self.report is None else "report"
            raise InputError(f"{name} needs an output", (name, "output"))

    def plan(self) -> Plan:
        """The policy with its files read, and with the key if it draws."""
        return self.policy.plan().with_key(self.key_file)

    @property
    def columns(self) -> dict[str, str | None]:
        """The names of the columns that the caller gave."""
        return {"user": self.user_column, "location": self.location_column, "count": self.count_column}
