"""Profiling: the paper's adversary (sections 3.3 and 3.4), who decides by the distance to a target, and a wiser one.

Who is within the threshold c of the target belongs to the group, says the paper's adversary. Users who do not belong
resemble the target, and users who do avoid it; each of them who gets a release is judged wrongly. The adversary who
knows the method learns to tell such releases from the genuine histograms that they pass for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from elsewhere.attacks.baselines import sanitized
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import FEWEST, MOST, drawn, enough, guess, share
from elsewhere.attacks.result import Attack, Profiling
from elsewhere.attacks.table import Table, as_histogram
from elsewhere.model.arrays import Flags, Floats
from elsewhere.model.distances import distance, slack
from elsewhere.model.histogram import Profile
from elsewhere.policy import Plan

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GOALS: tuple[Literal["resemble", "avoid"], ...] = ("resemble", "avoid")
#: Without a threshold, the share of the users who belong to the group.
_BELONG = 0.25
#: What learners are told in the place of an infinite distance.
_FAR = 1e9


@dataclass(frozen=True)
class Group:
    """Some users, and who of them belongs to the group around a target."""

    table: Table
    plan: Plan
    threshold: float
    inside: Flags
    seed: int

    @classmethod
    def around(cls, table: Table, plan: Plan, threshold: float | None, seed: int) -> Group:
        """The group around the target of a plan; without a threshold it is the quarter of the users who are nearest."""
        rows = drawn(np.ones(table.counts.shape[0], np.bool_), seed, 4 * MOST)
        part = Table(table.locations, table.counts[rows], 0)
        distances = _distances(plan, part.locations, part.counts)
        limit = float(np.quantile(distances, _BELONG, method="lower")) if threshold is None else threshold
        return cls(part, plan, limit, distances <= limit + slack(limit), seed)


def profile(group: Group, goal: Literal["resemble", "avoid"]) -> Profiling:
    """How often the paper's adversary is wrong about those who resemble, or avoid, and how well a wiser one does."""
    concerned, limit = (~group.inside, "max_distance") if goal == "resemble" else (group.inside, "min_distance")
    rows, genuine = drawn(concerned, group.seed), drawn(~concerned, group.seed)
    where = ("outside", "inside") if goal == "resemble" else ("inside", "outside")
    within = f"distance {group.threshold:.4g} of the target"
    enough(f"{goal} is not attacked", f"users {where[0]} the {within}", rows, f"those {where[1]} it", genuine)
    plan = group.plan.with_choices({"goal": goal, limit: group.threshold})
    releases = sanitized(plan, group.table.locations, group.table.counts[rows])
    released = releases.sum(axis=1) > 0
    wiser = None
    if np.count_nonzero(released) >= FEWEST:
        wiser = _wiser(group, goal, releases[released], group.table.counts[genuine])
    return Profiling(goal, group.threshold, len(rows), share(released), wiser)


def _wiser(group: Group, goal: str, releases: csr_array, genuine: csr_array) -> Attack:
    """The adversary who learns to tell releases from the genuine histograms on the same side of the threshold."""
    from scipy.sparse import vstack

    counts = vstack([releases, genuine], format="csr")
    labels = np.arange(counts.shape[0]) < releases.shape[0]
    seen = Features.of(counts, np.zeros(counts.shape[1], np.bool_))
    distances = np.minimum(_distances(group.plan, group.table.locations, counts), _FAR)
    features = Features(seen.places, np.column_stack([seen.shape, distances]))
    right = guess(features, labels, group.seed)
    return Attack("released or genuine", goal, releases.shape[0], genuine.shape[0], right)


def _distances(plan: Plan, locations: tuple[str, ...], counts: csr_array) -> Floats:
    """The privacy distance of every row."""
    assert plan.target is not None
    shares = Profile(plan.target)
    found = []
    for row, size in enumerate(counts.sum(axis=1).tolist()):
        target = {name: size * weight for name, weight in shares.items()}
        found.append(distance(plan.policy.privacy, target, as_histogram(locations, counts, row)))
    return np.array(found)
