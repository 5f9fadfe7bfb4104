"""The kernel on the executors, and its findings about the rows, which are returned as data.

Spark's counters would count the rows of a rerun task twice, and messages would go to logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from elsewhere.engines.arrow import Batch, Schema, pa, pc
from elsewhere.engines.columns import bad_row
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.names import unmatched
from elsewhere.engines.outcome import result_schema
from elsewhere.engines.spark.delimited import PROBLEM
from elsewhere.engines.users import EARLIER
from elsewhere.plan import Plan

#: The column of findings: null in the rows of users, and set in one extra row per partition.
CHECK = "__check"
#: Internal columns: the number of rows that were added up, and the number of invalid ones.
ROWS, BAD = "__rows", "__bad"
CHECK_TYPE = pa.struct(
    {"skipped": pa.int64(), "bad": pa.string(), "problem": pa.string(), "names": pa.list_(pa.string()),
     "target": pa.list_(pa.string())}
)  # fmt: skip


def checked_schema(keys: Iterable[Any]) -> Schema:
    """The schema of the kernel's results with the column of findings."""
    return result_schema(keys).append(pa.field(CHECK, CHECK_TYPE))


def sanitize_checked(
    plan: Plan, batches: Iterable[Batch], *, keys: Sequence[str], allow_unchanged: bool = False
) -> Iterator[Batch]:
    """The results of the users with valid rows, then one row with the findings about all rows."""
    check = _Check(plan, keys)
    schema = None
    for results in sanitize_batches(plan, check.sound(batches), keys=keys, allow_unchanged=allow_unchanged):
        schema = checked_schema(results.schema.field(name) for name in keys)
        yield pa.record_batch([*results.columns, pa.nulls(len(results), CHECK_TYPE)], schema=schema)
    if check.keys is not None:
        schema = schema or checked_schema(check.keys)
        yield pa.Table.from_pylist([{CHECK: check.found()}], schema=schema).to_batches()[0]


class _Check:
    """The findings about the rows of a partition."""

    def __init__(self, plan: Plan, keys: Sequence[str]) -> None:
        self._plan, self._names = plan, keys
        #: The types of the keys, once there are rows.
        self.keys: list[Any] | None = None
        self._skipped = 0
        self._bad: str | None = None
        self._problem: str | None = None
        self._missing, self._target, self._seen = list(plan.policy.sensitive), set[str](), set[str]()

    def found(self) -> dict[str, Any]:
        names = [name for name in self._plan.policy.sensitive if name not in self._missing]
        return {
            "skipped": self._skipped, "bad": self._bad, "problem": self._problem, "names": names,
            "target": sorted(self._target),
        }  # fmt: skip

    def sound(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The valid rows; invalid rows are counted, and the first of them is described."""
        for batch in batches:
            self.keys = [batch.schema.field(name) for name in self._names]
            bad = batch.column(BAD)
            if pc.max(bad).as_py():
                self._note(batch)
                batch = batch.filter(pc.less(bad, batch.column(ROWS)))
            own = batch.filter(pc.invert(batch.column(EARLIER))) if EARLIER in batch.schema.names else batch
            self._look_for_names(own.column("location"))
            yield batch.drop_columns([ROWS, BAD, PROBLEM])

    def _note(self, batch: Batch) -> None:
        self._skipped += pc.sum(batch.column(BAD)).as_py()
        problem = pc.min(batch.column(PROBLEM)).as_py()
        self._problem = min(filter(None, (self._problem, problem)), default=None)
        if self._bad is None:
            first = batch.filter(pc.greater(batch.column(BAD), 0)).slice(0, 1).to_pylist()[0]
            self._bad = str(bad_row(first, self._names, first[ROWS]))

    def _look_for_names(self, locations: Batch) -> None:
        if not self._missing and not self._plan.expects_target:
            return
        new = [name for name in pc.unique(locations).to_pylist() if name not in self._seen]
        self._seen.update(new)
        if new and self._missing:
            self._missing = unmatched(self._plan, self._missing, new)
        if new and self._plan.expects_target:
            self._target |= self._plan.target_in(new)
