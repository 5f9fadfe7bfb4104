"""The kernel as a function of DuckDB's SQL."""

from __future__ import annotations

from typing import Any

from elsewhere.engines.arrow import Array, pa
from elsewhere.engines.plans import Plans
from elsewhere.engines.sql import MAP, plan_of, released_maps
from elsewhere.plan import Plan
from elsewhere.policy import Policy

_HISTOGRAM = "MAP(VARCHAR, BIGINT)"


def register(connection: Any, policy: Policy | Plan, name: str = "sanitize") -> None:
    """Register a policy as an SQL function from a map of locations to counts to the map that may be released.

    The result is NULL if there is no release. Only `batch` says why, and which names of the policy match nothing.

    Parameters
    ----------
    connection
        A connection to DuckDB.
    policy
        What every release must satisfy.
    name
        The name of the function in SQL.

    Examples
    --------
    >>> import duckdb
    >>> import elsewhere as ew
    >>> connection = duckdb.connect()
    >>> register(connection, ew.Policy("hide", sensitive=("clinic",)))
    >>> connection.sql("SELECT sanitize(MAP {'cafe': 3, 'clinic': 1})").fetchall()
    [({'cafe': 4},)]
    """
    plans = Plans(plan_of(policy))

    def sanitize(histograms: Array) -> Array:
        return pa.array(released_maps(plans, _whole(histograms).cast(MAP)), MAP)

    connection.create_function(
        name, sanitize, [_HISTOGRAM], _HISTOGRAM, type="arrow", null_handling="special", side_effects=False
    )


def _whole(histograms: Any) -> Array:
    """A single array, even if the values come in chunks."""
    return histograms.combine_chunks() if isinstance(histograms, pa.ChunkedArray) else histograms
