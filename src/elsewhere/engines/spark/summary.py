"""The summary of a batch on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from elsewhere.engines.names import MOST_NAMES, hidden_by_name
from elsewhere.engines.outcome import FAILED_CHECK
from elsewhere.engines.summary import shared_figures
from elsewhere.output.report import PRIVATE
from elsewhere.policy import Policy

_MOST_REASONS = 100


def summarised(outcomes: DataFrame, policy: Policy) -> dict[str, Any]:
    """The totals of all outcomes, what each sensitive name hid, and why users got no release."""
    totals = outcomes.agg(
        sql.count("*").alias("users"),
        sql.count_if(sql.col("status") != "none").alias("released"),
        sql.count_if(sql.col("status") == "none").alias("without_release"),
        sql.avg("quality_loss").alias("mean_quality_loss"),
        # The exact median would collect all values in one place.
        sql.percentile_approx("quality_loss", 0.5).alias("median_quality_loss"),
        sql.max("quality_loss").alias("largest_quality_loss"),
        sql.avg("privacy_distance").alias("mean_privacy_distance"),
        sql.percentile_approx("privacy_distance", 0.5).alias("median_privacy_distance"),
        sql.max("gap").alias("largest_gap"),
        sql.count_if(sql.col("reason").startswith(FAILED_CHECK)).alias("failed_checks"),
        sql.coalesce(sql.sum("merged_spellings"), sql.lit(0)).alias("merged_spellings"),
    )
    figures = totals.collect()[0].asDict()
    hidden = _hidden(outcomes, policy.sensitive)
    shared = {"shared": _shared(outcomes, policy)} if policy.mechanism == "shared" else {}
    return {"private": PRIVATE, **figures, **shared, "hidden": hidden, "reasons": _reasons(outcomes)}


def _shared(outcomes: DataFrame, policy: Policy) -> dict[str, Any]:
    """The number of users of each kind who share a release, and what the certificate proves."""
    loss = sql.when(sql.col("is_shared"), sql.col("quality_loss"))
    by_kind = outcomes.filter(sql.isnotnull("has_secret")).groupBy("has_secret")
    kinds = by_kind.agg(sql.count("*").alias("users"), sql.count_if("is_shared").alias("served")).collect()
    totals = outcomes.agg(
        sql.coalesce(sql.sum(loss), sql.lit(0.0)).alias("total"),
        sql.percentile_approx(loss, 0.5).alias("median"),
        sql.coalesce(sql.sum("pair_price"), sql.lit(0.0)).alias("prices"),
    ).collect()[0]
    users, served = ({row["has_secret"]: row[name] for row in kinds} for name in ("users", "served"))
    return shared_figures(policy, users, served, (totals["total"], totals["median"]), totals["prices"])


def _hidden(outcomes: DataFrame, names: Sequence[str]) -> dict[str, dict[str, int]]:
    entries = outcomes.filter(sql.col("status") != "none").select(sql.explode("hidden").alias("name", "visits"))
    by_name = entries.filter("visits > 0").groupBy("name").agg(
        sql.count("*").alias("users"), sql.sum("visits").alias("visits")
    )  # fmt: skip
    most = by_name.orderBy(sql.desc("visits"), "name").limit(MOST_NAMES + len(names)).collect()
    return hidden_by_name(names, [(row["name"], row["users"], row["visits"]) for row in most])


def _reasons(outcomes: DataFrame) -> dict[str, int]:
    # Figures in a reason differ from user to user, so they are ignored when reasons are counted.
    why = sql.regexp_replace("reason", "[0-9][0-9.e+-]*", "#").alias("why")
    reasons = outcomes.filter(sql.isnotnull("reason")).groupBy(why).agg(sql.count("*").alias("users"))
    common = reasons.orderBy(sql.desc("users"), "why").limit(_MOST_REASONS).collect()
    return {row["why"]: row["users"] for row in common}
