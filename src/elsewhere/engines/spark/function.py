"""The kernel as a function of Spark's SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from elsewhere.engines.arrow import pa
from elsewhere.engines.plans import Plans
from elsewhere.engines.sql import MAP, plan_of, released_maps
from elsewhere.plan import Plan
from elsewhere.policy import Policy

if TYPE_CHECKING:
    import pandas as pd

_udf: Any = import_module("pyspark.sql.pandas.functions")  # its type stubs lack iterators of maps
_HISTOGRAM = "map<string, bigint>"


def register(spark: SparkSession, policy: Policy | Plan, name: str = "sanitize") -> None:
    """Register a policy as an SQL function from a map of locations to counts to the map that may be released.

    The result is NULL if there is no release. Only `run` and `sanitize` say why, and which names of the policy match
    nothing.
    """
    spark.udf.register(name, _udf.pandas_udf(_function(plan_of(policy)), _HISTOGRAM))


def _function(plan: Plan) -> Callable[[Iterator[pd.Series]], Iterator[pd.Series]]:
    import pandas as pd

    def sanitize(histograms: Iterator[pd.Series]) -> Iterator[pd.Series]:
        plans = Plans(plan)
        for some in histograms:
            yield pd.Series(released_maps(plans, pa.array(some, MAP, from_pandas=True)), index=some.index, dtype=object)

    # Spark inspects the types at run time, but the annotations above are strings by then.
    sanitize.__annotations__ = {"histograms": Iterator[pd.Series], "return": Iterator[pd.Series]}
    return sanitize
