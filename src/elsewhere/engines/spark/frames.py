"""DataFrames in, DataFrames out: Spark adds up, spreads and sorts the rows, and its executors run the kernel on them.

All of it is operations on DataFrames, so it works through Spark Connect, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from elsewhere.engines.arrow import pa
from elsewhere.engines.hiding import hides_at_once
from elsewhere.engines.names import check_named
from elsewhere.engines.shared import BLOCK_USERS
from elsewhere.engines.spark.checks import CHECK, checked_schema, sanitize_checked
from elsewhere.engines.spark.files import Table, column, frame_table
from elsewhere.engines.spark.rows import Roles, added_up, choices_of, continuing, find_roles, rows_of, spread
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.policy import Policy


def sanitize(
    df: DataFrame,
    policy: Policy | Plan,
    *,
    user: str | None = None,
    location: str | None = None,
    count: str | None = None,
    rows_are_visits: bool = False,
    keys: Sequence[str] = (),
    personal: DataFrame | None = None,
    since: DataFrame | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
) -> DataFrame:
    """The releases and private outcomes of all users of a DataFrame: one row per user, computed when you ask for it.

    Whether every sensitive name of the policy matches a place is not checked here, because that takes a look at all
    rows first: `run` does it.

    Parameters
    ----------
    df
        One row per visit, or rows with a count; sorted or not.
    policy
        What is asked of every release. Its files are read now and here; no executor needs them.
    user, location, count
        The names of the columns, if they are not called user, location and count.
    rows_are_visits
        Whether to count every row as one visit, even if there is a column of counts.
    keys
        Further keys such as a month or a tenant: there is a release for each user and each value of them.
    personal
        Choices of users' own: a column for the user, and columns called like keys of the policy.
    since
        Earlier releases: the same keys, a location and a count. Each user's release continues the earlier one.
    on_error
        Whether a row without a user, a location or a whole count from 0 up ends the job or is left out.
    allow_unchanged
        Whether a user gets a release whose own sensitive names cover none of the user's places.
    """
    table = frame_table(batch_frame(df))
    roles = find_roles(table, user=user, location=location, count=count, rows_are_visits=rows_are_visits, keys=keys)
    own = None if personal is None else frame_table(batch_frame(personal))
    if not allow_unchanged:
        check_named(policy if isinstance(policy, Plan) else policy.plan(), () if own is None else own.columns)
    earlier = None if since is None else frame_table(batch_frame(since))
    results = checked_results(
        table, roles, policy, personal=own, since=earlier, user=user, allow_unchanged=allow_unchanged
    )
    bad = sql.col(f"{CHECK}.skipped") > 0
    if on_error == "stop":
        # Not which row: what an executor says goes to its log.
        ending = sql.raise_error(sql.lit("a row has no user, no location or no whole count from 0 up"))
        results = results.filter(sql.when(bad, ending).otherwise(sql.lit(True)))
    return users_alone(results)


def checked_results(
    table: Table,
    roles: Roles,
    policy: Policy | Plan,
    *,
    personal: Table | None = None,
    since: Table | None = None,
    user: str | None = None,
    allow_unchanged: bool = False,
) -> DataFrame:
    """One row per user, and rows that say what was found out about the input: one scan, and one shuffle of it."""
    plan = (policy if isinstance(policy, Plan) else policy.plan()).with_key()
    rows = rows_of(table, roles)
    # Few rows are gathered in few partitions, unless each user takes a search.
    usual = rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or "200"
    partitions = None if hides_at_once(plan.policy) else int(usual)
    whose = roles.keys[0]
    if plan.policy.mechanism == "shared":  # users of one partition may share, and who those are depends on names alone
        partitions = max(1, round(rows.select(column(whose)).distinct().count() / BLOCK_USERS))
    # Rows that are together are added up where they are.
    together = rows if since is None else continuing(rows, roles, since)
    grouped = added_up(spread(together, whose, partitions), roles.keys)
    if personal is not None:
        grouped = grouped.join(choices_of(personal, user, whose, rows.schema[whose].dataType), whose, "left")
    if rows.sparkSession.conf.get("spark.sql.requireAllClusterKeysForDistribution", "false") == "true":
        grouped = spread(grouped, whose, partitions)  # to add them up, Spark has moved the rows of a user apart
    ordered = grouped.sortWithinPartitions(*map(column, roles.keys), "location")
    kernel = partial(sanitize_checked, plan, keys=roles.keys, allow_unchanged=allow_unchanged)
    return ordered.mapInArrow(kernel, _result_type(rows, roles.keys))


def users_alone(results: DataFrame) -> DataFrame:
    """The rows of users, without those about the input."""
    return results.filter(sql.isnull(CHECK)).drop(CHECK)


def releases(results: DataFrame) -> DataFrame:
    """The releases alone: the user and further keys, location, count; one row per location."""
    keys = [*map(column, key_names(results))]
    pairs = results.select(*keys, sql.explode(sql.arrays_zip("location", "count")).alias("pair"))
    return pairs.select(*keys, "pair.location", "pair.count")


def outcomes(results: DataFrame) -> DataFrame:
    """The private outcomes alone: one row per user, without the histogram."""
    return results.drop("location", "count")


def key_names(results: DataFrame) -> list[str]:
    """The columns that say whose a result is."""
    return results.columns[: results.columns.index("location")]


def batch_frame(df: DataFrame) -> DataFrame:
    """The DataFrame, unless it is a stream: a histogram is of all visits, not of those that came in the last second."""
    if df.isStreaming:
        raise InputError(
            "the DataFrame is a stream, and a histogram takes all visits of a user; sanitize the table that the "
            "stream is written to, for example in foreachBatch"
        )
    return df


def _result_type(rows: DataFrame, keys: Sequence[str]) -> StructType:
    known = from_arrow_schema(checked_schema([pa.field("user", pa.string())]))
    return StructType([*(StructField(name, rows.schema[name].dataType) for name in keys), *known.fields[1:]])
