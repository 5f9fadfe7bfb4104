"""DataFrames in, DataFrames out: Spark adds up, spreads and sorts the rows, and its executors run the kernel on them.

Everything is an operation on DataFrames, so it also works through Spark Connect.
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
    """The releases and private outcomes of all users of a DataFrame: one row per user, computed lazily.

    This does not check that every sensitive name of the policy matches a place, because that needs all rows first.
    `run` checks it.

    Parameters
    ----------
    df
        One row per visit, or rows with a count, in any order.
    policy
        What every release must satisfy. Its files are read here and now; no executor needs them.
    user, location, count
        The names of the columns. Default: user, location and count.
    rows_are_visits
        If True, every row is one visit, even if there is a count column.
    keys
        Further keys, such as a month or a tenant: each user gets a release for each of their values.
    personal
        Users' own choices: a column for the user, and columns named like keys of the policy.
    since
        Earlier releases: the same keys, a location and a count. Each user's release continues the earlier one.
    on_error
        ``"stop"`` or ``"skip"``: what to do with rows without a user, a location or a valid count.
    allow_unchanged
        If True, users get a release even if their own sensitive names cover none of their places.
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
        # The message does not name the row, because an executor's errors go to its log.
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
    """One row per user, and rows with findings about the input, in one scan and one shuffle."""
    plan = (policy if isinstance(policy, Plan) else policy.plan()).with_key()
    rows = rows_of(table, roles)
    # Few rows go to few partitions, unless each user needs a search.
    usual = rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or "200"
    partitions = None if hides_at_once(plan.policy) else int(usual)
    whose = roles.keys[0]
    if plan.policy.mechanism == "shared":  # users of one partition may share, and partitions must depend only on names
        partitions = max(1, round(rows.select(column(whose)).distinct().count() / BLOCK_USERS))
    # Rows in the same partition are added up without another shuffle.
    together = rows if since is None else continuing(rows, roles, since)
    grouped = added_up(spread(together, whose, partitions), roles.keys)
    if personal is not None:
        grouped = grouped.join(choices_of(personal, user, whose, rows.schema[whose].dataType), whose, "left")
    if rows.sparkSession.conf.get("spark.sql.requireAllClusterKeysForDistribution", "false") == "true":
        grouped = spread(grouped, whose, partitions)  # adding up has moved the rows of a user to different partitions
    ordered = grouped.sortWithinPartitions(*map(column, roles.keys), "location")
    kernel = partial(sanitize_checked, plan, keys=roles.keys, allow_unchanged=allow_unchanged)
    return ordered.mapInArrow(kernel, _result_type(rows, roles.keys))


def users_alone(results: DataFrame) -> DataFrame:
    """The rows of users, without the rows of findings."""
    return results.filter(sql.isnull(CHECK)).drop(CHECK)


def releases(results: DataFrame) -> DataFrame:
    """Only the releases: the user and further keys, location and count, one row per location."""
    keys = [*map(column, key_names(results))]
    pairs = results.select(*keys, sql.explode(sql.arrays_zip("location", "count")).alias("pair"))
    return pairs.select(*keys, "pair.location", "pair.count")


def outcomes(results: DataFrame) -> DataFrame:
    """Only the private outcomes: one row per user, without the histogram."""
    return results.drop("location", "count")


def key_names(results: DataFrame) -> list[str]:
    """The key columns of a result."""
    return results.columns[: results.columns.index("location")]


def batch_frame(df: DataFrame) -> DataFrame:
    """The DataFrame; raise if it is a stream, because a histogram needs all visits."""
    if df.isStreaming:
        raise InputError(
            "the DataFrame is a stream, and a histogram takes all visits of a user; sanitize the table that the "
            "stream is written to, for example in foreachBatch"
        )
    return df


def _result_type(rows: DataFrame, keys: Sequence[str]) -> StructType:
    known = from_arrow_schema(checked_schema([pa.field("user", pa.string())]))
    return StructType([*(StructField(name, rows.schema[name].dataType) for name in keys), *known.fields[1:]])
