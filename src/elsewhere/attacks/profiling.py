"""Profiling: the paper's adversary (sections 3.3 and 3.4), who decides by the distance to a target, and a stronger one.

The paper's adversary takes users within the threshold c of the target for members of the group. Users who are not
members resemble the target, and members avoid it. Each of them with a release is misjudged. The stronger adversary
knows the method and learns to tell such releases from the genuine histograms on the same side of the threshold.
Baselines separate what it uses: the differences between these users in their originals; what a release still shows of
these to somebody who has never seen a release; and the distance alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from elsewhere.attacks.baselines import median_loss, sanitized, seed_key
from elsewhere.attacks.features import Features
from elsewhere.attacks.knowledge import by_members
from elsewhere.attacks.learning import FEWEST, MOST, TooFewUsers, View, drawn, enough, guess, share
from elsewhere.attacks.result import Attack, Profiling, Rate
from elsewhere.attacks.setting import MORE_DRAWS
from elsewhere.attacks.table import Table, as_histogram
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import distance
from elsewhere.model.histogram import Histogram, Profile
from elsewhere.model.question import meets_distance
from elsewhere.model.spread import DISTANCES
from elsewhere.plan import Plan
from elsewhere.profiles import FEW_USERS, spread_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GOALS: tuple[Literal["resemble", "avoid"], ...] = ("resemble", "avoid")
#: The share of users who are members of the group if no threshold is given.
_BELONG = 0.25
#: The number that stands for an infinite distance in features.
_FAR = 1e9


@dataclass(frozen=True)
class Group:
    """Some users, and which of them are members of the group around a target."""

    table: Table
    plan: Plan
    threshold: float
    inside: Flags
    seeds: tuple[int, ...]

    @classmethod
    def around(cls, table: Table, plan: Plan, threshold: float | None, seeds: tuple[int, ...]) -> Group:
        """The group around the target of a plan; without a threshold, it is the nearest quarter of the users."""
        rows = drawn(np.ones(table.counts.shape[0], np.bool_), seeds[0], 4 * MOST)
        part = Table(table.locations, table.counts[rows], 0)
        distances = _distances(plan, part.locations, part.counts)
        limit = float(np.quantile(distances, _BELONG, method="lower")) if threshold is None else threshold
        if limit == np.inf:
            raise TooFewUsers(
                f"skipped profiling: most users are infinitely far from the target by {plan.policy.privacy}; "
                "give a threshold, or privacy 'js'",
                ("threshold", "privacy"),
            )
        return cls(part, plan, limit, meets_distance("resemble", distances, limit), seeds)

    @cached_property
    def target(self) -> Flags:
        """Which columns are places of the target."""
        assert self.plan.target is not None
        return self.table.columns(name for name, weight in Profile(self.plan.target).items() if weight > 0)

    @cached_property
    def spread(self) -> Profile | None:
        """The target with the spread of the members and the others; None if it cannot be measured."""
        assert self.plan.target is not None
        privacy = self.plan.policy.privacy
        if privacy not in DISTANCES or min(np.count_nonzero(self.inside), np.count_nonzero(~self.inside)) < FEW_USERS:
            return None
        members, others = (self._histograms(which) for which in (self.inside, ~self.inside))
        return spread_of(self.plan.target, members, privacy, others=others)

    def _histograms(self, which: Flags) -> dict[str, Histogram]:
        rows = np.flatnonzero(which).tolist()
        return {str(row): as_histogram(self.table.locations, self.table.counts, row) for row in rows}

    def releases(self, plan: Plan, rows: Ints, draw: int = 0) -> csr_array:
        """The releases of some users under a plan; each draw has its own key."""
        return self.sanitized(plan, self.table.counts[rows], draw)

    def sanitized(self, plan: Plan, counts: csr_array, draw: int = 0) -> csr_array:
        """The releases of some counts under a plan; each draw has its own key."""
        return sanitized(plan.with_key(seed_key(self.seeds[0], draw)), self.table.locations, counts)


def mechanisms(group: Group, goal: Literal["resemble", "avoid"]) -> dict[str, Plan]:
    """The ways to resemble or avoid that are attacked, by the name of their row."""
    limit = "max_distance" if goal == "resemble" else "min_distance"
    choices: dict[str, Any] = {"goal": goal, limit: group.threshold}
    plan = group.plan.with_choices(choices)
    found = {goal: plan, f"{goal}, just enough": plan.with_choices({"aim": "least-loss"})}
    if group.spread is not None:
        drawing = replace(group.plan.policy, method="drawn", **choices)
        found[f"{goal}, drawn"] = drawing.plan(target=group.spread)
    return found


def everybody_resembles(group: Group) -> dict[str, Plan]:
    """The ways to resemble for all users, members or not: as near as the limit allows, and within the threshold."""
    return mechanisms(group, "resemble") | {"resemble": group.plan}


def profile(group: Group, goal: Literal["resemble", "avoid"]) -> Profiling:
    """How often the paper's adversary misjudges users who resemble or avoid, and how well the stronger one does."""
    concerned = ~group.inside if goal == "resemble" else group.inside
    rows, genuine = drawn(concerned, group.seeds[0]), drawn(~concerned, group.seeds[0])
    where = ("outside", "inside") if goal == "resemble" else ("inside", "outside")
    within = f"distance {group.threshold:.4g} of the target"
    enough(f"the attack on {goal}", f"{where[0]} the {within}", rows, f"{where[1]} it", genuine)
    attacks: list[Attack] = []
    released: dict[str, Rate] = {}
    for name, plan in mechanisms(group, goal).items():
        releases = group.releases(plan, rows)
        some = releases.sum(axis=1) > 0
        released[name] = share(some)
        if np.count_nonzero(some) >= FEWEST:
            attacks += _attacks(group, name, plan, rows[some], releases[some], genuine, baselines=name == goal)
    return Profiling(goal, group.threshold, len(rows), released[goal], tuple(attacks), released)


def _attacks(
    group: Group, name: str, plan: Plan, rows: Ints, releases: csr_array, genuine: Ints, *, baselines: bool
) -> list[Attack]:
    """How well users can be told from the genuine users on the side of the threshold to which their releases move."""
    from scipy.sparse import vstack

    users, others = len(rows), len(genuine)
    labels = np.arange(users + others) < users
    later = np.arange(len(labels)) + np.where(labels, len(labels), 0)
    originals = group.table.counts[rows]
    parts = [originals, group.table.counts[genuine], releases]
    more = np.zeros(0, np.int64)
    if plan.policy.method == "drawn":
        draws = vstack([group.releases(plan, rows, draw) for draw in range(1, MORE_DRAWS + 1)], format="csr")
        more = np.flatnonzero(draws.sum(axis=1) > 0)  # with another key there may be no release
        parts.append(draws[more])
    counts = vstack(parts, format="csr")
    distances = np.minimum(_distances(group.plan, group.table.locations, counts), _FAR)
    members = np.zeros(counts.shape[0], np.bool_)
    members[users : users + others] = True
    seen = Features.of(counts, np.zeros(counts.shape[1], np.bool_))
    informed = by_members(counts, distances, group.target, members)
    both = replace(seen, shape=np.column_stack([seen.shape, distances]), informed=informed)
    views = {}
    if baselines:
        # The originals are on the other side of the threshold, so their distance would give the answer away.
        views["no protection"] = View.of(seen, labels)
        views[f"{name}, learned from originals"] = View.of(seen, labels, judged=later)
        views[f"{name}, distance alone"] = View.of(Features.of_numbers(distances[:, None]), labels, later)
    views[name] = View.of(both, labels, later, more=(more % users, len(labels) + users + np.arange(len(more))))
    loss = median_loss(plan.policy.quality, originals, releases)
    return [
        Attack(
            "released or genuine",
            protection,
            users,
            others,
            *guess([view] * len(group.seeds), group.seeds),
            None if protection == "no protection" else loss,
        )
        for protection, view in views.items()
    ]


def _distances(plan: Plan, locations: tuple[str, ...], counts: csr_array) -> Floats:
    """The privacy distance of every row."""
    assert plan.target is not None
    shares = Profile(plan.target)
    found = []
    for row, size in enumerate(counts.sum(axis=1).tolist()):
        target = {name: size * weight for name, weight in shares.items()}
        found.append(distance(plan.policy.privacy, target, as_histogram(locations, counts, row)))
    return np.array(found)
