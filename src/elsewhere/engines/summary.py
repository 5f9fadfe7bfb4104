"""The parts of a batch's summary that all engines share: its origin, and whether enough users have a release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from elsewhere.engines.shared import penalty_of
from elsewhere.model.errors import TooFewReleased
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.text import as_sentence, plural


def lineage(policy: Policy, files: Sequence[Mapping[str, Any]] | int, users: int, seconds: float) -> dict[str, Any]:
    """The origin of the releases: the version, the policy, the files that were read or their number, and the time."""
    asked = json.dumps(policy.fingerprint(), sort_keys=True, default=str)
    return {
        "version": version("elsewhere"),
        "policy": hashlib.sha256(asked.encode()).hexdigest(),
        "input": files,
        "seconds": round(seconds, 3),
        "users_per_second": round(users / seconds, 1) if seconds else None,
    }


def said_once(plan: Plan, notes: Iterable[str], continued: bool) -> dict[str, Any]:
    """The statements about all releases of a batch: the notes, and what a stranger could guess from any of them.

    `continued` says whether each release continues an earlier one.
    """
    return {
        "notes": [*notes, *map(as_sentence, plan.key_notes)],
        "guesses": [guess.as_dict() for guess in plan.policy.guesses(continued)],
    }


def shared_figures(
    policy: Policy, users: Mapping[bool, int], served: Mapping[bool, int], losses: tuple[float, float | None],
    prices: float,
) -> dict[str, Any]:  # fmt: skip
    """The number of users of each kind who share a release, their loss, and the bound that the prices prove.

    `losses` has the total and the median of the users who share a release, and `prices` the sum of all prices. A
    pairing of all blocks costs its total loss plus the penalty for each user without a pair. This is never less than
    the sum of the prices.
    """
    assert policy.max_quality_loss is not None
    penalty, limit = penalty_of(policy.max_quality_loss), policy.max_quality_loss
    everybody, in_pairs = sum(users.values()), sum(served.values())
    # The total loss of m pairs is at most 2 m times the limit.
    most = int((penalty * everybody - prices) / (2.0 * penalty - 2.0 * limit) + 1e-6)
    return {
        "with_secret": {"users": users.get(True, 0), "served": served.get(True, 0)},
        "without_secret": {"users": users.get(False, 0), "served": served.get(False, 0)},
        "most_served": max(2 * most, in_pairs),
        "median_quality_loss": losses[1],
        "total_quality_loss": losses[0],
        "least_total_quality_loss": min(losses[0], max(0.0, prices - penalty * (everybody - in_pairs))),
    }


def check_released(summary: Mapping[str, Any], least: float) -> None:
    """Raise if fewer users than required have a release, or none at all."""
    users, released = summary["users"], summary["released"]
    if released and released >= least * users:
        return
    asked = f", and min_released is {least:.10g}" if released else ""
    why = next(iter(summary["reasons"]), None)
    told = f"{released:,} of {plural(users, 'user')} can have a release{asked}"
    raise TooFewReleased(f"{told}{f' (most often: {why})' if why else ''}; the batch was not finished", summary)
