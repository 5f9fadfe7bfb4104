"""hide with candidates and bounds for all users of a plan at once, on arrays, with the kernel's results for each.

This does for all histories what `Plan.question_about` and `model.problem` do for one. Users without a release are then
answered one by one, which says why.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np

from elsewhere.engines.outcome import Outcome
from elsewhere.engines.unions import Layout, Union, blocks, union_of
from elsewhere.engines.users import Users
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.constraints import bound_by_place
from elsewhere.model.distances import Distance, find_distance
from elsewhere.model.errors import InputError
from elsewhere.model.names import NameIndex, is_pattern, name_keys
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.verification import many

#: The keys that a policy may have in addition to those of plain hiding.
_BOUNDING = ("visited_only", "lower", "upper", "candidates")
_OTHERS = ("method", "mechanism", "max_quality_loss", "forbidden", "levels", "by")
#: From this many users on, it pays to answer them together.
_FEWEST_USERS = 4
#: Up to this size, all relevant sums of counts are exact.
_LARGEST_SIZE = 2**52


def is_plain(policy: Policy) -> bool:
    """Whether the policy only hides, without further constraints."""
    return hides_at_once(policy) and _has_defaults(policy, _BOUNDING)


def hides_at_once(policy: Policy) -> bool:
    """Whether users are answered all at once, as far as possible."""
    in_files = isinstance(policy.lower, str) or isinstance(policy.upper, str)
    return (
        policy.goal == "hide"
        and _has_defaults(policy, _OTHERS)
        and not in_files
        and not any(map(is_pattern, policy.candidates))
    )


def _has_defaults(policy: Policy, names: tuple[str, ...]) -> bool:
    usual = {item.name: item.default for item in fields(Policy)}
    return all(getattr(policy, name) == usual[name] for name in names)


class Hidden(NamedTuple):
    """Releases of some users, with everything needed to check them."""

    members: Ints
    bins: many.Bins
    distance: Distance
    quality_loss: Floats

    def problems(self) -> dict[int, str]:
        """The problems found in the releases, by number of the user."""
        found = many.check_hidden(self.bins, self.distance, self.quality_loss)
        return {int(self.members[user]): problem for user, problem in found.items()}


def hide_bounded(plan: Plan, users: Users, members: Ints, closed: Flags, outcome: Outcome) -> tuple[list[Hidden], Ints]:
    """Answer users for whom the names in `closed` are sensitive; return the releases, and the users without an answer.

    Users who continue an earlier release have no answer yet, because its places and counts differ from user to user.
    """
    new = members if users.earlier is None else members[users.earlier.number[members] < 0]
    if len(new) < _FEWEST_USERS:
        return [], members
    candidates = NameIndex(plan.policy.candidates)
    union = union_of(users, new, dict(zip(candidates.keys, candidates.names, strict=True)))
    try:
        bounds = _Bounds.of(plan, union)
    except InputError:  # each user gets this error as the reason
        return [], members
    found = []
    for some in blocks(users, new, len(union.beyond)):
        layout = union.layout(users, some)
        sensitive = bounds.sensitive[layout.location]
        sensitive[layout.at] |= closed[users.location[layout.rows]]
        found.append(_answered(plan, some, union, layout, bounds.bins(plan.policy, layout, sensitive), outcome))
    done = np.concatenate([np.zeros(0, np.int64), *(hidden.members for hidden in found)])
    return [hidden for hidden in found if len(hidden.members)], np.setdiff1d(members, done)


class _Bounds(NamedTuple):
    """The bounds of each name, and the places that a user must have for them to apply."""

    lower: Ints
    #: -1 where there is none.
    upper: Ints
    #: Whether a name is sensitive to everybody.
    sensitive: Flags
    #: The names that each bound refers to: a user must have at least one of them.
    needed: list[Flags]

    @classmethod
    def of(cls, plan: Plan, union: Union) -> _Bounds:
        policy, index, number = plan.policy, NameIndex(union.names, union.keys), len(union.names)
        lower, upper, needed = np.zeros(number, np.int64), np.full(number, -1), []
        for name, given, bound, stricter in (("lower", policy.lower, lower, max), ("upper", policy.upper, upper, min)):
            assert not isinstance(given, str)
            for at, count in bound_by_place(name, given, index, stricter).items():
                bound[at] = min(count, _LARGEST_SIZE + 1)
            for place, count in (given or {}).items():
                if count or name == "upper":
                    flags = np.zeros(number, np.bool_)
                    flags[index.positions(place)] = True
                    needed.append(flags)
        everywhere = set(name_keys([*plan.elsewhere]))
        return cls(lower, upper, np.array([key in everywhere for key in union.keys], np.bool_), needed)

    def bins(self, policy: Policy, layout: Layout, sensitive: Flags) -> many.Bins:
        """The bins before anything is released. Crossing bounds mean that the user must be answered alone."""
        original, first, user, location = layout.original, layout.offset[:-1], layout.user, layout.location
        before = np.add.reduceat(original, first)
        hidden = np.add.reduceat(np.where(sensitive, original, 0), first)
        size = before
        if policy.redistribute is not None:
            size = before - hidden + min(policy.redistribute, _LARGEST_SIZE + 1)
        lower, own = np.minimum(self.lower[location], size[user] + 1), self.upper[location]
        upper = np.where(own < 0, size[user], np.minimum(own, size[user]))
        upper[sensitive | (original == 0) if policy.visited_only else sensitive] = 0
        alone = np.logical_or.reduceat(lower > upper, first) | (size == 0) | (np.maximum(size, before) > _LARGEST_SIZE)
        lower = np.maximum(lower, np.minimum(original, upper))
        distance = find_distance(policy.quality)
        if distance.unbounded:  # bounds leave out the counts at an infinite distance
            sizes = before.astype(np.float64)[user], np.maximum(size, 1).astype(np.float64)[user]
            at_0, at_1 = (np.isinf(distance.terms(original.astype(np.float64), np.full(len(original), x), *sizes))
                          for x in (0.0, 1.0))  # fmt: skip
            lower[at_0 & ~sensitive] = np.maximum(lower, 1)[at_0 & ~sensitive]
            upper[at_1] = 0
        for flags in self.needed:
            alone |= ~np.logical_or.reduceat(flags[location], first)
        least, most = (np.add.reduceat(bound.astype(np.float64), first) for bound in (lower, upper))
        alone |= (least > size) | (most < size)
        upper[alone[user]] = -1
        nothing = np.zeros(len(original), np.int64)
        return many.Bins(layout.offset, original, nothing, lower, upper, sensitive, size)


def _answered(plan: Plan, some: Ints, union: Union, layout: Layout, bins: many.Bins, outcome: Outcome) -> Hidden:
    """Answer the users whose bounds are feasible, and record their outcomes."""
    from elsewhere.solvers.hide_many import hide_many

    distance = find_distance(plan.policy.quality)
    possible = ~bins.any(bins.lower > bins.upper)
    bins, members = bins.of(possible), some[possible]
    location = layout.location[np.repeat(possible, np.diff(layout.offset))]
    released, loss = hide_many(
        distance, bins.offset, bins.original, bins.sensitive, plan.policy.redistribute, bins.lower, bins.upper
    )
    outcome.quality_loss[members], outcome.gap[members], outcome.status[members] = loss, 0.0, "optimal"
    kept = released > 0
    user = np.repeat(members, np.diff(bins.offset))[kept]
    outcome.rows.append((user, outcome.numbered(union.names, location[kept]), released[kept]))
    return Hidden(members, bins._replace(released=released), distance, loss)
