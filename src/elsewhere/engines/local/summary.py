"""The summary of a batch on this machine."""

from __future__ import annotations

from glob import escape
from typing import Any

from elsewhere.engines.arrow import datasets
from elsewhere.engines.local.folder import Output
from elsewhere.engines.local.pipeline import Progress
from elsewhere.engines.local.table_files import literal
from elsewhere.engines.names import MOST_NAMES, hidden_by_name
from elsewhere.engines.outcome import FAILED_CHECK
from elsewhere.engines.summary import shared_figures
from elsewhere.output.report import PRIVATE
from elsewhere.policy import Policy

_FIGURES = ("mean_quality_loss", "median_quality_loss", "largest_quality_loss", "mean_privacy_distance",
            "median_privacy_distance", "largest_gap")  # fmt: skip


def summarised(connection: Any, progress: Progress, output: Output, policy: Policy) -> dict[str, Any]:
    """The totals of all outcomes, what each sensitive name hid, and why users got no release.

    The connection is that of the batch, which is done: opening another one would take as long as all queries.
    """
    names = policy.sensitive
    summary: dict[str, Any] = {"private": PRIVATE, "users": progress.users, "released": progress.released}
    summary |= {"skipped_rows": progress.skipped_rows, "without_release": progress.users - progress.released}
    summary |= {"failed_checks": 0, "merged_spellings": 0, "hidden": hidden_by_name(names, ()), "reasons": {}}
    if not output.outcomes():
        return summary
    # With one thread, sums are always in the same order. No rows wait any more, and a median takes all its numbers.
    connection.execute("SET threads = 1; RESET memory_limit")
    _attach(connection, output)
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
    if policy.mechanism == "shared":
        summary["shared"] = _shared(connection, policy)
    # Figures in a reason differ from user to user, so they are ignored when reasons are counted.
    summary["reasons"] = dict(
        connection.sql(
            r"SELECT regexp_replace(reason, '[0-9][0-9.e+-]*', '#', 'g') AS why, count(*) "
            "FROM outcomes WHERE reason IS NOT NULL GROUP BY why ORDER BY 2 DESC, 1 LIMIT 100"
        ).fetchall()
    )
    return summary


def _attach(connection: Any, output: Output) -> None:
    """Make the outcomes of all users a table of DuckDB, which reads files of this machine in less time than Arrow."""
    place = output.private.place
    files = [f"{place.path}/{name}" for name in output.outcomes()]
    if place.is_local and "\\" not in place.path:  # which DuckDB would take for an escape
        listed = ", ".join(literal(escape(file)) for file in files)
        connection.execute(f"CREATE VIEW outcomes AS FROM read_parquet([{listed}], hive_partitioning = false)")
    else:
        connection.register("outcomes", datasets().dataset(files, filesystem=place.filesystem, format="parquet"))


def _shared(connection: Any, policy: Policy) -> dict[str, Any]:
    """The number of users of each kind who share a release, and what the certificate proves."""
    kinds = connection.sql(
        "SELECT has_secret, count(*), count(*) FILTER (WHERE is_shared) FROM outcomes WHERE has_secret IS NOT NULL "
        "GROUP BY has_secret"
    ).fetchall()
    total, median, prices = connection.sql(
        "SELECT coalesce(sum(quality_loss) FILTER (WHERE is_shared), 0), "
        "median(quality_loss) FILTER (WHERE is_shared), coalesce(sum(pair_price), 0) FROM outcomes"
    ).fetchall()[0]
    users, served = ({kind: numbers[at] for kind, *numbers in kinds} for at in (0, 1))
    return shared_figures(policy, users, served, (total, median), prices)
