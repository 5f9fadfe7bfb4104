"""The kernel as a function of SQL: from the histograms of some users, as maps, to their releases."""

from __future__ import annotations

from typing import Any

from elsewhere.engines.arrow import Array, pa, pc
from elsewhere.engines.kernel import sanitize_users
from elsewhere.engines.names import check_named
from elsewhere.engines.plans import Plans
from elsewhere.engines.rows import whole_users
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan
from elsewhere.policy import Policy

#: A histogram in SQL: from locations to counts.
MAP = pa.map_(pa.string(), pa.int64())


def plan_of(policy: Policy | Plan) -> Plan:
    """The plan of a policy; raise if it needs more than a single histogram."""
    plan = policy if isinstance(policy, Plan) else policy.plan()
    if plan.policy.method == "drawn":
        raise InputError("a SQL function does not know whose histogram it gets, so it cannot draw", ("policy",))
    if plan.policy.mechanism == "shared":
        raise InputError("a SQL function gets one histogram at a time, so it cannot share releases", ("policy",))
    check_named(plan)
    return plan


def released_maps(plans: Plans, histograms: Array) -> list[dict[str, int] | None]:
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
    # The message does not name the user, because an executor's errors go to its log.
    if counts.null_count or (len(counts) and pc.min(counts).as_py() < 0):
        raise ValueError("a histogram has a count that is missing or negative")
