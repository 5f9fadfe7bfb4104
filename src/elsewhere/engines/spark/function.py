"""The kernel as a function of SQL: from the histogram of a user to the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from elsewhere.engines.arrow import Array, pa, pc
from elsewhere.engines.kernel import sanitize_users
from elsewhere.engines.names import check_named
from elsewhere.engines.plans import Plans
from elsewhere.engines.rows import whole_users
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.policy import Policy

if TYPE_CHECKING:
    import pandas as pd

_udf: Any = import_module("pyspark.sql.pandas.functions")  # whose types know no iterators of maps
_HISTOGRAM = "map<string, bigint>"
_MAP = pa.map_(pa.string(), pa.int64())


def register(spark: SparkSession, policy: Policy | Plan, name: str = "sanitize") -> None:
    """Make a policy a function of SQL, from a map of locations to counts to the map that may be released.

    The result is NULL where there is no release. Which names of the policy match nothing, and why there is no release,
    only `run` and `sanitize` tell.
    """
    plan = policy if isinstance(policy, Plan) else policy.plan()
    if plan.policy.method == "drawn":
        raise InputError("a function of SQL does not know whose histogram it gets, so that it cannot draw", ("policy",))
    if plan.policy.mechanism == "shared":
        raise InputError("a function of SQL gets one histogram at a time, so that none can be shared", ("policy",))
    check_named(plan)
    spark.udf.register(name, _udf.pandas_udf(_function(plan), _HISTOGRAM))


def _function(plan: Plan) -> Callable[[Iterator[pd.Series]], Iterator[pd.Series]]:
    import pandas as pd

    def sanitize(histograms: Iterator[pd.Series]) -> Iterator[pd.Series]:
        plans = Plans(plan)
        for some in histograms:
            yield pd.Series(_released(plans, pa.array(some, _MAP, from_pandas=True)), index=some.index, dtype=object)

    # Spark looks at the types at run time, when those above are texts.
    sanitize.__annotations__ = {"histograms": Iterator[pd.Series], "return": Iterator[pd.Series]}
    return sanitize


def _released(plans: Plans, histograms: Array) -> list[dict[str, int] | None]:
    """The release of each histogram, or None."""
    released: list[dict[str, int] | None] = [None] * len(histograms)
    given = pc.is_valid(histograms)
    if not pc.any(given).as_py():
        return released
    sound = histograms.filter(given)
    _check(sound.items)
    lists = {
        "user": pa.array(range(len(histograms))).filter(given),
        "location": pa.ListArray.from_arrays(sound.offsets, sound.keys),
        "count": pa.ListArray.from_arrays(sound.offsets, sound.items),
    }
    for users in whole_users(pa.table(lists).to_batches(), ("user",), len(histograms)):
        for row in sanitize_users(plans, users).to_pylist():
            if row["location"] is not None:
                released[row["user"]] = dict(zip(row["location"], row["count"], strict=True))
    return released


def _check(counts: Any) -> None:
    # Not whose: what an executor says goes to its log.
    if counts.null_count or (len(counts) and pc.min(counts).as_py() < 0):
        raise ValueError("a histogram has a count that is missing or negative")
