"""resemble and avoid for all users of a plan at once, on arrays, with the results of `_one_by_one` of the kernel.

This does for all histories what `Plan.question_about` and `model.problem` do for one. Users whose question takes
longer, or has no answer, are then answered one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import NamedTuple

import numpy as np

from elsewhere.engines.outcome import Outcome
from elsewhere.engines.unions import Union, blocks, union_of
from elsewhere.engines.users import Users, lengths, rows_of
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Distance, find_distance, slack
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.model.histogram import Profile
from elsewhere.model.names import NameIndex, is_pattern, name_keys
from elsewhere.model.question import DISTANCE_LIMITS, LARGEST_SIZE, meets_distance
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.verification import many

#: The keys that a policy may have here. Policies with other keys are answered user by user.
_KNOWN = (
    "goal", "sensitive", "spared", "taxonomy", "kinds", "depth", "target", "max_quality_loss", "max_distance",
    "min_distance", "aim", "quality", "privacy", "size", "visited_only", "candidates", "allow_mismatch",
    "allow_sensitive_rise", "memory_limit", "folder",
)  # fmt: skip
#: From this many users on, it pays to answer them together.
_FEWEST_USERS = 4
#: Users with more places than this hardly ever have the same histogram.
_FEW_PLACES = 8


def on_arrays(policy: Policy) -> bool:
    """Whether users are answered all at once, as far as possible."""
    usual = {item.name: item.default for item in fields(Policy)}
    return (
        policy.goal != "hide"
        and all(getattr(policy, name) == usual[name] for name in usual if name not in _KNOWN)
        and policy.chosen_aim != "least-loss"
        and policy.max_quality_loss is not None
        and policy.max_quality_loss < math.inf
        and not any(map(is_pattern, policy.candidates))
    )


class Targeted(NamedTuple):
    """Releases of some users, with everything needed to check them."""

    plan: Plan
    #: Numbers of the users.
    members: Ints
    bins: many.Bins
    #: The target's scaled weight in each bin, and its size for each user.
    target: Floats
    target_size: Floats
    claims: many.Claims
    #: Users with the same histogram as another user, and so the same release, by the number of that user.
    copies: Mapping[int, Sequence[int]]

    @property
    def everybody(self) -> Ints:
        """The numbers of all users who have these releases."""
        others = [copy for user in self.members.tolist() for copy in self.copies.get(user, ())]
        return np.append(self.members, np.array(others, np.int64))

    def problems(self) -> dict[int, str]:
        """The problems found in the releases, by number of the user."""
        policy, number = self.plan.policy, len(self.members)
        distances = find_distance(policy.quality), find_distance(policy.privacy)
        loss, wanted = _limits(policy)
        limit = many.Limit(
            np.full(number, loss + slack(loss)),
            np.full(number, _budget(policy)),
            np.full(number, math.nan if wanted is None else wanted),
        )
        found = many.check_targeted(
            policy.goal, self.bins, distances, self.target, self.target_size, limit, self.claims
        )
        by_user = {int(self.members[user]): problem for user, problem in found.items()}
        return by_user | {copy: by_user[user] for user in by_user for copy in self.copies.get(user, ())}


def target_all(plan: Plan, users: Users, members: Ints, closed: Flags, outcome: Outcome) -> tuple[list[Targeted], Ints]:
    """Answer users for whom the names in `closed` are sensitive; return the releases, and the users without an answer.

    Users who continue an earlier release have no answer yet, because its places and counts differ from user to user.
    """
    new = members if users.earlier is None else members[users.earlier.number[members] < 0]
    if len(new) < _FEWEST_USERS:
        return [], members
    try:
        places = _places(plan, users, new)
        size = _target_size(plan, places)
    except ElsewhereError:  # each user gets this error as the reason
        return [], members
    answered = []
    compared = new[places.by_name(users, new)]
    copies = _copies(users, compared)
    different = np.setdiff1d(compared, np.array([*chain.from_iterable(copies.values())], np.int64))
    for some in blocks(users, different, len(places.union.beyond)):
        asked = _asked(plan, places, users, some, closed, size)
        answered.append(_answered(plan, asked, places.union.names, copies, outcome))
    done = np.concatenate([np.zeros(0, np.int64), *(targeted.everybody for targeted in answered)])
    return answered, np.setdiff1d(members, done)


def _copies(users: Users, members: Ints) -> dict[int, list[int]]:
    """Users with the same histogram as an earlier user, by the number of that user."""
    first: dict[tuple[bytes, bytes], int] = {}
    copies: dict[int, list[int]] = {}
    for user in members[lengths(users, members) <= _FEW_PLACES].tolist():
        rows = slice(users.offset[user], users.offset[user + 1])
        same = first.setdefault((users.location[rows].tobytes(), users.counts[rows].tobytes()), user)
        if same != user:
            copies.setdefault(same, []).append(user)
    return copies


class _Places(NamedTuple):
    """All names: those of the users, the target and the candidates."""

    union: Union
    #: The vote of each name of the users.
    votes: Ints
    #: For each name: the target's weight; whether its count must not be raised if the user has it, or in any case; and
    #: whether it is sensitive for everybody.
    weight: Floats
    fixed_own: Flags
    fixed: Flags
    sensitive: Flags
    #: The sum of the target's weights.
    total: float

    def by_name(self, users: Users, members: Ints) -> Flags:
        """Which users are compared with the target by name."""
        rows, length = rows_of(users, members), lengths(users, members)
        begin = np.append(0, np.cumsum(length))[:-1]
        compared: Flags = np.add.reduceat(self.votes[users.location[rows]], begin) >= 0
        return compared


def _places(plan: Plan, users: Users, members: Ints) -> _Places:
    used = np.unique(users.location[rows_of(users, members)])
    own_names = [users.names[at] for at in used]
    asked = plan.names_asked(own_names)
    union, votes = union_of(users, members, asked.beyond), np.zeros(len(users.names), np.int64)
    votes[used] = asked.votes
    names, keys = union.names, union.keys
    at = np.array(asked.target.positions_of(NameIndex(names, keys)))
    fixed, sensitive = set(name_keys([*asked.fixed])), set(name_keys([*plan.elsewhere]))
    return _Places(
        union,
        votes,
        np.where(at >= 0, asked.weights[at], 0.0),
        np.array([name in asked.fixed_own for name in names]),
        np.array([key in fixed for key in keys]),
        np.array([key in sensitive for key in keys]),
        float(asked.weights.sum()),
    )


def _target_size(plan: Plan, places: _Places) -> int | None:
    """The size of the releases if it is the target's; None if each release keeps the user's size."""
    if LARGEST_SIZE / places.total == math.inf:
        raise InputError("the target's weights are too small to be scaled all at once")
    if plan.policy.size == "original":
        return None
    size = round(places.total)
    if isinstance(plan.target, Profile) or abs(places.total - size) > 1e-9 or not 0 < size <= LARGEST_SIZE:
        raise InputError("the target has no size")
    return size


class _Asked(NamedTuple):
    """The questions of some users: their bins, with locations by number, before anything is released."""

    members: Ints
    location: Ints
    bins: many.Bins
    target: Floats
    target_size: Floats


def _asked(plan: Plan, places: _Places, users: Users, some: Ints, closed: Flags, target_size: int | None) -> _Asked:
    """The bins as in `model.problem`, named as the users do, or else as the target does."""
    offset, user, location, original, is_own, rows, at = places.union.layout(users, some)
    sensitive = places.sensitive[location]
    sensitive[at] |= closed[users.location[rows]]
    history_size = np.add.reduceat(original, offset[:-1])
    size = history_size if target_size is None else np.full(len(some), target_size)
    fixed = places.fixed[location] | (is_own & places.fixed_own[location])
    upper = np.where(fixed, np.minimum(size[user], original), size[user])
    upper[sensitive | (original == 0) if plan.policy.visited_only else sensitive] = 0
    target = places.weight[location]
    sizes = np.full(len(some), places.total)
    if target_size is None:
        target, sizes = target * (size / places.total)[user], size.astype(np.float64)
    lower = np.zeros(len(original), np.int64)
    measures = [(find_distance(plan.policy.quality), original.astype(np.float64), history_size.astype(np.float64))]
    if plan.policy.goal == "resemble":
        measures.append((find_distance(plan.policy.privacy), target, sizes))
    for distance, reference, reference_size in measures:
        if distance.unbounded:  # bounds leave out the counts at an infinite distance
            ends = (distance.terms(reference, x, reference_size[user], size.astype(np.float64)[user])
                    for x in (np.zeros(len(original)), np.ones(len(original))))  # fmt: skip
            lower[np.isinf(next(ends))] = 1
            upper[np.isinf(next(ends))] = 0
    nothing = np.zeros(len(original), np.int64)
    return _Asked(some, location, many.Bins(offset, original, nothing, lower, upper, sensitive, size), target, sizes)


def _answered(
    plan: Plan, asked: _Asked, names: Sequence[str], copies: Mapping[int, Sequence[int]], outcome: Outcome
) -> Targeted:
    """Answer the users who can be answered here, and record their outcomes."""
    from elsewhere.solvers import one_call

    policy, bins = plan.policy, asked.bins
    quality, privacy = find_distance(policy.quality), find_distance(policy.privacy)
    sizes = np.array((bins.total(bins.original), asked.target_size, bins.size), np.float64)
    released, reached = one_call.answers(
        one_call.targeting(policy.goal, quality, privacy, _budget(policy), int(min(policy.memory_limit, 2.0**62))),
        one_call.Bins(bins.offset, bins.original, asked.target, bins.lower, bins.upper, sizes),
    )
    wanted = _limits(policy)[1]
    known = ~np.isnan(reached[one_call.DUAL_BOUND])
    if wanted is not None:
        known &= meets_distance(policy.goal, _rooted(privacy, reached[one_call.PRIVACY]), wanted)
    loss, distance, bound, cost, price = reached[:, known]
    loss, distance = _rooted(quality, loss), _rooted(privacy, distance)
    bound = _rooted(privacy, -bound if policy.goal == "avoid" else bound)
    certain, members = np.ones(len(loss), np.bool_), asked.members[known]
    claims = many.Claims(loss, distance, distance, np.zeros(len(loss)), certain, certain, cost, price, bound)
    kept = slice(None) if known.all() else np.repeat(known, np.diff(bins.offset))
    bins = bins._replace(released=released).of(known)
    outcome.quality_loss[members], outcome.privacy_distance[members], outcome.gap[members] = loss, distance, 0.0
    outcome.status[members] = "optimal"
    some = np.flatnonzero(bins.released)
    location = asked.location[kept][some]
    rows = np.repeat(members, np.diff(bins.offset))[some], outcome.numbered(names, location), bins.released[some]
    outcome.rows += [rows, _copied(members, copies, rows, outcome)]
    return Targeted(plan, members, bins, asked.target[kept], asked.target_size[known], claims, copies)


def _copied(
    members: Ints, copies: Mapping[int, Sequence[int]], rows: tuple[Ints, Ints, Ints], outcome: Outcome
) -> tuple[Ints, Ints, Ints]:
    """The rows of users who get the releases of other members, whose rows are given; their figures are recorded."""
    pairs = [(user, copy) for user in members.tolist() for copy in copies.get(user, ())]
    user, copy = np.array(pairs, np.int64).reshape(-1, 2).T
    for figures in (outcome.quality_loss, outcome.privacy_distance, outcome.gap, outcome.status):
        figures[copy] = figures[user]
    of, location, count = rows
    begin, end = (np.searchsorted(of, user, side) for side in ("left", "right"))
    ends = np.cumsum(end - begin)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(end - ends, end - begin)
    return np.repeat(copy, end - begin), location[at], count[at]


def _rooted(distance: Distance, total: Floats) -> Floats:
    return np.sqrt(np.maximum(total, 0.0)) if distance.root else total


def _limits(policy: Policy) -> tuple[float, float | None]:
    """The limit on the quality loss and the privacy parameter."""
    assert policy.max_quality_loss is not None
    return policy.max_quality_loss, getattr(policy, DISTANCE_LIMITS[policy.goal])


def _budget(policy: Policy) -> float:
    """The limit on the sum of the quality terms, as in `Problem.budget`."""
    limit = _limits(policy)[0]
    limit += 0.999 * slack(limit)
    return limit * limit if find_distance(policy.quality).root else limit
