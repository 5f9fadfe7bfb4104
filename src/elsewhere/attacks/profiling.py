"""Profiling: the paper's adversary (sections 3.3 and 3.4), who decides by the distance to a target, and a wiser one.

Who is within the threshold c of the target belongs to the group, says the paper's adversary. Users who do not belong
resemble the target, and users who do avoid it; each of them who gets a release is judged wrongly. The adversary who
knows the method learns to tell such releases from the genuine histograms that they pass for. What it has to go by is
taken apart: what these users are like anyway, which their originals show; what of that a release still shows to
somebody who never saw one; and the distance alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from elsewhere.attacks.baselines import sanitized
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import FEWEST, MOST, TooFewUsers, drawn, enough, guess, share
from elsewhere.attacks.result import Attack, Profiling
from elsewhere.attacks.table import Table, as_histogram
from elsewhere.model.arrays import Flags, Floats
from elsewhere.model.distances import distance
from elsewhere.model.histogram import Profile
from elsewhere.model.question import meets_distance
from elsewhere.plan import Plan

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
        if limit == np.inf:
            raise TooFewUsers(
                f"skipped profiling: most users are infinitely far from the target by {plan.policy.privacy}; "
                "give a threshold, or privacy 'js'",
                ("threshold", "privacy"),
            )
        return cls(part, plan, limit, meets_distance("resemble", distances, limit), seed)


def profile(group: Group, goal: Literal["resemble", "avoid"]) -> Profiling:
    """How often the paper's adversary is wrong about those who resemble, or avoid, and how well a wiser one does."""
    concerned, limit = (~group.inside, "max_distance") if goal == "resemble" else (group.inside, "min_distance")
    rows, genuine = drawn(concerned, group.seed), drawn(~concerned, group.seed)
    where = ("outside", "inside") if goal == "resemble" else ("inside", "outside")
    within = f"distance {group.threshold:.4g} of the target"
    enough(f"the attack on {goal}", f"{where[0]} the {within}", rows, f"{where[1]} it", genuine)
    plan = group.plan.with_choices({"goal": goal, limit: group.threshold})
    originals = group.table.counts[rows]
    releases = sanitized(plan, group.table.locations, originals)
    released = releases.sum(axis=1) > 0
    attacks: list[Attack] = []
    if np.count_nonzero(released) >= FEWEST:
        attacks = _attacks(group, goal, originals[released], releases[released], group.table.counts[genuine])
    return Profiling(goal, group.threshold, len(rows), share(released), tuple(attacks))


def _attacks(group: Group, goal: str, originals: csr_array, releases: csr_array, genuine: csr_array) -> list[Attack]:
    """How well users are told from the genuine ones on the side of the threshold to which their releases go."""
    from scipy.sparse import vstack

    users, others = releases.shape[0], genuine.shape[0]
    labels = np.arange(users + others) < users
    later = np.arange(len(labels)) + np.where(labels, len(labels), 0)
    counts = vstack([originals, genuine, releases], format="csr")
    seen = Features.of(counts, np.zeros(counts.shape[1], np.bool_))
    distances = np.minimum(_distances(group.plan, group.table.locations, counts), _FAR)[:, None]
    alone = Features(seen.places[later][:, :0], distances[later])
    both = Features(seen.places[later], np.column_stack([seen.shape, distances])[later])
    found = {
        # The originals are on the other side of the threshold, so that with their distance there is nothing to learn.
        "no protection": guess(seen, labels, group.seed),
        f"{goal}, learned from originals": guess(seen, labels, group.seed, later),
        f"{goal}, distance alone": guess(alone, labels, group.seed),
        goal: guess(both, labels, group.seed),
    }
    return [Attack("released or genuine", protection, users, others, right) for protection, right in found.items()]


def _distances(plan: Plan, locations: tuple[str, ...], counts: csr_array) -> Floats:
    """The privacy distance of every row."""
    assert plan.target is not None
    shares = Profile(plan.target)
    found = []
    for row, size in enumerate(counts.sum(axis=1).tolist()):
        target = {name: size * weight for name, weight in shares.items()}
        found.append(distance(plan.policy.privacy, target, as_histogram(locations, counts, row)))
    return np.array(found)
