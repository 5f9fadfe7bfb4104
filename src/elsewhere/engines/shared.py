"""Shared releases of many users: who has the secret, who shares with whom, and the resulting releases.

The recipient must not be able to tell which of two users has the secret. So nothing here depends on the owner of a
history except through the secret key: users are sorted by their histories, the key breaks ties, and blocks depend only
on the key and the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from elsewhere.engines.outcome import FAILED_CHECK, Outcome
from elsewhere.engines.users import Users
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.distances import find_distance, slack
from elsewhere.model.errors import ElsewhereError, InputError, TargetMismatch
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex
from elsewhere.model.question import meets_distance
from elsewhere.plan import Plan
from elsewhere.sharing.block import Block, canonical_order
from elsewhere.sharing.pairing import PENALTY, Pairing, check_solver, paired
from elsewhere.solvers.pairs import KINDS
from elsewhere.text import quote
from elsewhere.verification.sharing import SharedPair, bound_of, check_pair

#: The number of users in a block, in which pairs are searched: more take longer, fewer find fewer pairs.
BLOCK_USERS = 2048
#: Two losses this close are equal.
_EQUAL = 1e-9
#: Why a user who shares no release has none: one sentence for both kinds of user.
WITHOUT_PARTNER = "no other user of the opposite kind can share a release within max_quality_loss"
#: Why a user is not compared with the target.
MISMATCH = "most of the target's weight is at kinds of place that the user does not have; set allow_mismatch"
#: Why none of the users without a partner has a drawn release either.
WITHOUT_DRAWN = (
    "a user without a partner has only sensitive visits and nowhere to move them, so no user without a partner has a "
    "release; give popularity"
)


def check_sharing(keys: Sequence[str], personal: bool, since: bool) -> None:
    """Raise if users have more keys, own choices or earlier releases, or if the library for pairs is missing."""
    if keys:
        raise InputError(f"keys has {quote(keys[0])}, but with mechanism = 'shared' a user has one release", ("keys",))
    if personal:
        raise InputError("mechanism = 'shared' does not support users' own choices", ("personal",))
    if since:
        raise InputError("mechanism = 'shared' cannot continue earlier releases", ("since",))
    check_solver()


def penalty_of(max_quality_loss: float) -> float:
    """The cost of a user without a pair."""
    return PENALTY * _with_slack(max_quality_loss)


def share_releases(plan: Plan, users: Users, members: Ints, closed: Flags, outcome: Outcome) -> Ints:
    """Find pairs among some users and give them their releases. Returns the users without a pair."""
    places = _Places(plan, users, closed)
    members = places.know_secrets(members, outcome)
    alone = [_share_block(places, block, outcome) for block in _blocks(plan, users, members)]
    return np.sort(np.concatenate([members[:0], *alone]))


class _Places:
    """Users' visits at numbered places, with one number for all spellings, and which users have the secret."""

    def __init__(self, plan: Plan, users: Users, closed: Flags) -> None:
        index = NameIndex(users.names)
        self.plan, self.users = plan, users
        self.number = np.array(index.positions_of(index), np.int64)
        self.closed, self.held = np.zeros((2, len(users.names)), np.bool_)
        self.closed[self.number[closed]] = True
        self.secret = np.zeros(len(users.keys), np.bool_)

    def of(self, user: int) -> tuple[Ints, Ints]:
        """The places of a user, sorted, and the visits there."""
        rows = slice(self.users.offset[user], self.users.offset[user + 1])
        place, count = self.number[self.users.location[rows]], self.users.counts[rows]
        order = np.argsort(place)
        order = order[count[order] > 0]
        return place[order], count[order]

    def know_secrets(self, members: Ints, outcome: Outcome) -> Ints:
        """Determine who has the secret. Users who cannot be compared with the target get a reason and are left out."""
        if self.plan.policy.goal == "hide":
            self.secret[members] = [bool(self.closed[self.of(user)[0]].any()) for user in members.tolist()]
            return members
        known = []
        for user in members.tolist():
            try:
                self.secret[user] = self._is_far_or_near(user)
                known.append(user)
            except TargetMismatch:  # its remedies do not apply to shared releases
                outcome.reason[user] = MISMATCH
            except ElsewhereError as error:
                outcome.reason[user] = str(error)
        return np.array(known, np.int64)

    def _is_far_or_near(self, user: int) -> bool:
        """Whether the history itself meets the privacy parameter. Also records places that may not get visits."""
        place, count = self.of(user)
        names = [self.users.names[at] for at in place.tolist()]
        question = self.plan.question_about(Histogram(zip(names, count.tolist(), strict=True)), ())
        at = dict(zip(names, place.tolist(), strict=True))
        self.held[[at[name] for name in question.not_raised if name in at]] = True
        limit = question.distance_limit
        assert limit is not None
        distance = question.problem.privacy_distance(question.problem.original)
        return bool(meets_distance(question.goal, distance, limit))

    def block(self, members: Ints) -> Block:
        visits = [self.of(user) for user in members.tolist()]
        offset = np.append(0, np.cumsum([len(place) for place, _ in visits])).astype(np.int64)
        place, count = (np.concatenate(column) for column in zip(*visits, strict=True))
        policy = self.plan.policy
        assert policy.max_quality_loss is not None
        limit = _with_slack(policy.max_quality_loss)
        return Block(offset, place, count, self.closed, self.held, self.secret[members], KINDS[policy.quality], limit)


def _with_slack(limit: float) -> float:
    return limit + 0.999 * slack(limit)


def _blocks(plan: Plan, users: Users, members: Ints) -> list[Ints]:
    """The users in blocks that depend on the key and the names, each block in the order of the key."""
    names = users.keys.column(0)
    words = np.zeros((len(members), 2), np.uint64)
    for at, user in enumerate(members.tolist()):
        key = plan.key_of([str(names[user].as_py())])
        assert key is not None
        words[at] = key.numbers("shared").words(2)
    number = max(1, round(len(members) / BLOCK_USERS))
    block = (words[:, 0] % np.uint64(number)).astype(np.int64)
    order = np.lexsort((words[:, 1], block))
    ends = np.append(0, np.cumsum(np.bincount(block, minlength=number)))
    return [members[order[first:last]] for first, last in pairwise(ends.tolist()) if last > first]


def _share_block(places: _Places, members: Ints, outcome: Outcome) -> Ints:
    """Pair the users of a block. Returns the users without a pair."""
    given = places.block(members)
    # Users with equal histories stay in the order of the key.
    order = canonical_order(given.offset, given.place, given.counts, range(len(members)))
    members = members[order]
    block = places.block(members)
    pairing = paired(block)
    _check_prices(block, pairing)
    outcome.has_secret[members], outcome.is_shared[members] = places.secret[members], False
    outcome.pair_price[members] = pairing.prices
    alone = np.ones(len(members), np.bool_)
    for at, (u, v) in enumerate(zip(pairing.first.tolist(), pairing.second.tolist(), strict=True)):
        alone[[u, v]] = False
        _give(places, members[[u, v]], pairing, at, outcome)
    return members[alone]


def _check_prices(block: Block, pairing: Pairing) -> None:
    prices, secret = pairing.prices, block.secret
    penalty = PENALTY * block.limit
    bound = bound_of(prices[secret], prices[~secret], pairing.lower, penalty)
    cost = pairing.cost + penalty * (len(secret) - 2 * len(pairing.first))
    if not bound <= cost + _EQUAL * (1.0 + cost):
        raise AssertionError("the prices of a pairing prove more than is true")
    if bound == -np.inf:
        raise AssertionError("the prices of a pairing prove nothing")


def _give(places: _Places, pair: Ints, pairing: Pairing, at: int, outcome: Outcome) -> None:
    """Give two users their release if it passes its check."""
    release, policy = pairing.releases[at], places.plan.policy
    assert policy.max_quality_loss is not None
    visits = [places.of(user) for user in pair.tolist()]
    checked = SharedPair(
        (visits[0][0], visits[1][0]), (visits[0][1], visits[1][1]), release.place, release.counts, release.losses
    )
    quality = find_distance(policy.quality)
    problem = check_pair(checked, places.closed, places.held, quality, policy.max_quality_loss)
    if problem is None and places.secret[pair[0]] == places.secret[pair[1]]:
        problem = "its users are of one kind"
    if problem is not None:
        outcome.reason[pair] = f"{FAILED_CHECK}: {problem}"
        return
    gap = max(sum(release.losses) - release.bound, 0.0)
    outcome.status[pair] = "optimal" if gap <= _EQUAL else "feasible"
    outcome.gap[pair] = 0.0 if gap <= _EQUAL else gap
    outcome.quality_loss[pair], outcome.is_shared[pair] = release.losses, True
    for user in pair.tolist():
        outcome.rows.append((np.full(len(release.place), user), release.place, release.counts))
