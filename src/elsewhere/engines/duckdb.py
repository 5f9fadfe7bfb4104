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
    """Make a policy a function of SQL, from a map of locations to counts to the map that may be released.

    The result is NULL where there is no release. Which names of the policy match nothing, and why there is no release,
    only `batch` tells.

    Parameters
    ----------
    connection
        A connection of DuckDB.
    policy
        What is asked of every release.
    name
        What the function is called in SQL.

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
    """One array of what may be chunks."""
    return histograms.combine_chunks() if isinstance(histograms, pa.ChunkedArray) else histograms
