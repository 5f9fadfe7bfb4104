"""The private summary of a batch: totals, what each name hid, why users got no release, and where it all came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from elsewhere.engines.arrow import pa_ds
from elsewhere.engines.grouping import opened
from elsewhere.engines.kernel import FAILED_CHECK
from elsewhere.engines.names import MOST_NAMES, hidden_by_name
from elsewhere.engines.pipeline import Progress
from elsewhere.engines.sources import File
from elsewhere.engines.stores import Store
from elsewhere.engines.table_files import literal
from elsewhere.model.errors import TooFewReleased
from elsewhere.output.report import PRIVATE
from elsewhere.policy import Policy
from elsewhere.text import plural

_FIGURES = ("mean_quality_loss", "median_quality_loss", "largest_quality_loss", "mean_privacy_distance",
            "median_privacy_distance", "largest_gap")  # fmt: skip


def summarised(progress: Progress, outcomes: Store, names: Sequence[str]) -> dict[str, Any]:
    """The totals of all outcomes, what each of the sensitive names hid, and why users got no release."""
    summary: dict[str, Any] = {"private": PRIVATE, "users": progress.users, "released": progress.released}
    summary |= {"skipped_rows": progress.skipped_rows, "without_release": progress.users - progress.released}
    summary |= {"failed_checks": 0, "merged_spellings": 0, "hidden": hidden_by_name(names, ()), "reasons": {}}
    base = outcomes.place.path.rstrip("/")
    files = [f"{base}/{name}" for name in outcomes.names() if name.startswith("outcomes-")]
    if not files:
        return summary
    # One thread adds figures up in one order.
    with opened({"threads": 1}) as connection:
        connection.register("outcomes", pa_ds.dataset(files, filesystem=outcomes.place.filesystem, format="parquet"))
        found = connection.sql(
            "SELECT avg(quality_loss), median(quality_loss), max(quality_loss), avg(privacy_distance), "
            "median(privacy_distance), max(gap) FROM outcomes WHERE status <> 'none'"
        ).fetchall()[0]
        summary |= dict(zip(_FIGURES, found, strict=True))
        summary["failed_checks"], summary["merged_spellings"] = connection.sql(
            f"SELECT count(*) FILTER (WHERE starts_with(reason, {literal(FAILED_CHECK)})), "
            "sum(merged_spellings)::BIGINT FROM outcomes"
        ).fetchall()[0]
        entries = "SELECT unnest(map_entries(hidden)) AS entry FROM outcomes WHERE status <> 'none'"
        by_name = connection.sql(
            f"SELECT entry.key, count(*), sum(entry.value) FROM ({entries}) WHERE entry.value > 0 "
            f"GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT {MOST_NAMES + len(names)}"
        ).fetchall()
        summary["hidden"] = hidden_by_name(names, by_name)
        # Figures in a reason are the user's; the same reason with other figures is the same reason.
        summary["reasons"] = dict(
            connection.sql(
                r"SELECT regexp_replace(reason, '[0-9][0-9.e+-]*', '#', 'g') AS why, count(*) "
                "FROM outcomes WHERE reason IS NOT NULL GROUP BY why ORDER BY 2 DESC, 1 LIMIT 100"
            ).fetchall()
        )
    return summary


def policy_hash(policy: Policy) -> str:
    """A number that is another one for another policy, or if one of its files has changed."""
    return hashlib.sha256(json.dumps(policy.fingerprint(), sort_keys=True, default=str).encode()).hexdigest()


def lineage(policy: Policy, files: Sequence[File], users: int, seconds: float) -> dict[str, Any]:
    """What made the releases: the version, the policy, the files that were read, and how long it took."""
    return {
        "version": version("elsewhere"),
        "policy": policy_hash(policy),
        "input": [{"file": file.path, "bytes": file.size} for file in files],
        "seconds": seconds,
        "users_per_second": round(users / seconds, 1) if seconds else None,
    }


def check_released(summary: Mapping[str, Any], least: float) -> None:
    """Raise if fewer users have a release than asked for; that nobody has one is never what was asked for."""
    users, released = summary["users"], summary["released"]
    if released and released >= least * users:
        return
    asked = f", and min_released is {least:.10g}" if released else ""
    why = next(iter(summary["reasons"]), None)
    told = f"{released:,} of {plural(users, 'user')} can have a release{asked}"
    raise TooFewReleased(f"{told}{f' (most often: {why})' if why else ''}; the batch is not finished", summary)
