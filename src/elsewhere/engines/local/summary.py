"""What became of all users of a batch on this machine, in figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elsewhere.engines.arrow import datasets
from elsewhere.engines.local.folder import Output
from elsewhere.engines.local.grouping import opened
from elsewhere.engines.local.pipeline import Progress
from elsewhere.engines.local.table_files import literal
from elsewhere.engines.names import MOST_NAMES, hidden_by_name
from elsewhere.engines.outcome import FAILED_CHECK
from elsewhere.output.report import PRIVATE

_FIGURES = ("mean_quality_loss", "median_quality_loss", "largest_quality_loss", "mean_privacy_distance",
            "median_privacy_distance", "largest_gap")  # fmt: skip


def summarised(progress: Progress, output: Output, names: Sequence[str]) -> dict[str, Any]:
    """The totals of all outcomes, what each of the sensitive names hid, and why users got no release."""
    summary: dict[str, Any] = {"private": PRIVATE, "users": progress.users, "released": progress.released}
    summary |= {"skipped_rows": progress.skipped_rows, "without_release": progress.users - progress.released}
    summary |= {"failed_checks": 0, "merged_spellings": 0, "hidden": hidden_by_name(names, ()), "reasons": {}}
    place = output.private.place
    files = [f"{place.path}/{name}" for name in output.outcomes()]
    if not files:
        return summary
    # One thread adds figures up in one order.
    with opened({"threads": 1}) as connection:
        connection.register("outcomes", datasets().dataset(files, filesystem=place.filesystem, format="parquet"))
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
