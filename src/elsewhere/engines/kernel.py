"""The one kernel of every engine: from Arrow batches of users' histograms to Arrow batches of releases and outcomes."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from elsewhere.engines.answers import Answer, Answers
from elsewhere.engines.arrow import Batch, Table
from elsewhere.engines.hiding import Hidden, hide_bounded, hides_at_once, is_plain
from elsewhere.engines.outcome import FAILED_CHECK, Asked, Outcome, check_keys, result_schema
from elsewhere.engines.plans import Group, Plans
from elsewhere.engines.rows import Seen, whole_users
from elsewhere.engines.shared import WITHOUT_DRAWN, WITHOUT_PARTNER, check_sharing, share_releases
from elsewhere.engines.targeting import Targeted, on_arrays, target_all
from elsewhere.engines.users import Users, earlier_counts, lengths, rows_of, users_of
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.distances import find_distance
from elsewhere.model.errors import ElsewhereError
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import LARGEST_SIZE
from elsewhere.model.taxonomy import Selection
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.text import quote
from elsewhere.verification.many import Bins, check_hidden, check_results

#: Users are answered after this many rows: enough for speed, few enough for little memory.
_CHUNK_ROWS = 1 << 20


def sanitize_batches(
    policy: Policy | Plan, batches: Iterable[Batch], *, keys: Sequence[str] = ("user",), allow_unchanged: bool = False
) -> Iterator[Batch]:
    """The releases and outcomes of users, under one policy: the rows of `result_schema`.

    The batches have the columns user, location and count, and the rows of a user are together; or they have lists of
    locations and counts. A column named like one of `PERSONAL` has a user's own choice. With more `keys` than the user,
    such as a month, there is a release for each user and month. Rows whose column `EARLIER` is true belong to an
    earlier release, which the new one continues: no count falls. If no release is possible, the user gets a reason
    instead. The same holds for a user who names a sensitive place that is not among the user's own, unless
    `allow_unchanged`.
    """
    check_keys(keys)
    plan = policy if isinstance(policy, Plan) else policy.plan()
    plans, seen = Plans(plan.with_key(), allow_unchanged), Seen()
    # Pairs are searched among all users.
    most = sys.maxsize if plan.policy.mechanism == "shared" else _CHUNK_ROWS
    for table in whole_users(batches, keys, most):
        results = sanitize_users(plans, table, keys)
        whose = results.select(list(keys))
        seen.add(whose)
        yield results.cast(result_schema(whose.schema))


def sanitize_users(plans: Plans, table: Table, keys: Sequence[str] = ("user",)) -> Batch:
    """The results of the users with these rows. Locations are encoded, and hidden ones are still in the dictionary."""
    users = users_of(table, keys)
    if plans.everybody.policy.mechanism == "shared":
        check_sharing(keys[1:], bool(users.own), users.earlier is not None)
    outcome, sensitive = Outcome(users), np.zeros(len(users.location), np.bool_)
    if not len(users.keys):
        return outcome.batch(users.keys)
    plain: list[Group] = []
    others: list[Hidden | Targeted] = []
    earlier, at_own_places = earlier_counts(users)
    least = np.maximum(users.counts, earlier)
    size = np.add.reduceat(users.counts.astype(np.float64), users.offset[:-1])
    outcome.reason[size == 0.0] = "the histogram is empty: all its counts are 0"
    outcome.reason[size > LARGEST_SIZE] = f"the histogram has more than {LARGEST_SIZE:.0e} counts"
    sound = (size > 0.0) & (size <= LARGEST_SIZE)
    # By number of a name: its index among the names of a group of users, and whether it is sensitive for them.
    place, closed = np.empty(len(users.names), np.int64), np.zeros(len(users.names), np.bool_)
    for plan, members, own_names in plans.of(users):
        chosen = members[sound[members]]
        if isinstance(plan, str):
            outcome.reason[chosen] = plan
        if isinstance(plan, str) or not len(chosen):
            continue
        rows = rows_of(users, chosen)
        used = _used(users.location[rows], len(users.names))
        place[used] = np.arange(len(used))
        codes = place[users.location[rows]]
        covering = plans.covering(plan, [users.names[at] for at in used])
        sensitive[rows] = covering.sensitive[codes]
        asked, of = plan.policy.sensitive, np.repeat(chosen, lengths(users, chosen))
        outcome.count_hidden(asked, of, users.counts[rows], codes, covering)
        if own_names:
            chosen = _who_have_all(plan, chosen, outcome)
            if not len(chosen):
                continue
        closed[used] = covering.sensitive
        if plan.policy.mechanism == "shared":
            _share(plan, users, chosen, closed, outcome, plans.answers)
            closed[used] = False
            continue
        at_once = np.full(len(chosen), is_plain(plan.policy))
        if users.earlier is not None:  # users who cannot continue are answered alone, which says why
            at_once &= at_own_places[chosen] & _can_continue(plan, users, chosen, earlier, closed)
        if at_once.any():
            _hide_all(plan, users, chosen[at_once], closed, least, outcome)
            plain.append(Group(plan, chosen[at_once]))
        alone = chosen[~at_once]
        found: Sequence[Hidden | Targeted] = ()
        if on_arrays(plan.policy):
            found, alone = target_all(plan, users, alone, closed, outcome)
        elif hides_at_once(plan.policy) and not is_plain(plan.policy):
            found, alone = hide_bounded(plan, users, alone, closed, outcome)
        others += found
        if len(alone):
            before = frozenset() if users.earlier is None else plans.sensitive(plan, users.earlier.releases.names)
            _one_by_one(plan, users, alone, closed, outcome, plans.answers, before)
        closed[used] = False
    _check(users, plain, others, sensitive, least, outcome)
    for user, told in outcome.asked.items():
        if told.answer.reason is not None or outcome.status[user] != "none":  # else the release failed its check
            plans.answers.keep(told.question, told.answer, int(users.offset[user + 1] - users.offset[user]))
    return outcome.batch(users.keys)


def _can_continue(plan: Plan, users: Users, members: Ints, earlier: Ints, sensitive: Flags) -> Flags:
    """Which users can keep their earlier counts: they have room for them, and none is at a sensitive place."""
    length, rows = lengths(users, members), rows_of(users, members)
    first, closed = np.append(0, np.cumsum(length))[:-1], sensitive[users.location[rows]]
    needed = np.where(closed, 0, np.maximum(earlier[rows] - users.counts[rows], 0))
    hidden, received = np.where(closed, users.counts[rows], 0), plan.policy.redistribute
    room = np.add.reduceat(hidden, first) if received is None else received
    found: Flags = np.add.reduceat(needed.astype(np.float64), first) <= room
    return found & ~np.logical_or.reduceat(closed & (earlier[rows] > 0), first)


def _used(codes: Ints, names: int) -> Ints:
    """The distinct numbers of names, sorted."""
    return np.unique(codes) if len(codes) < names else np.flatnonzero(np.bincount(codes, minlength=names))


def _who_have_all(plan: Plan, members: Ints, outcome: Outcome) -> Ints:
    """The users whose own sensitive names each match one of their places; the others get a reason."""
    user, covering, _ = outcome.hidden[-1]
    known = set(zip(user.tolist(), covering, strict=True))
    have_all = []
    for member in members.tolist():
        missing = [name for name in plan.policy.sensitive if (member, name) not in known]
        if missing:
            outcome.reason[member] = f"the user's own choice {quote(missing[0])} covers none of the user's places"
        else:
            have_all.append(member)
    return np.array(have_all, np.int64)


def _check(
    users: Users, plain: list[Group], others: list[Hidden | Targeted], sensitive: Flags, least: Ints, outcome: Outcome
) -> None:
    """Check every release with its figures, and refuse those that fail."""
    failed: dict[int, str] = {}
    if plain:
        failed |= _failed_plain(users, plain, sensitive, least, outcome)
    for releases in others:
        failed |= releases.problems()
    if outcome.results:
        checked = list(outcome.results)
        problems = check_results([*outcome.results.values()])
        failed |= {checked[at]: problem for at, problem in problems.items()}
        for user in [*failed.keys() & outcome.asked.keys()]:
            failed |= dict.fromkeys(outcome.asked[user].copies, failed[user])
    if failed:
        outcome.refuse({user: f"{FAILED_CHECK}: {problem}" for user, problem in failed.items()})


def _failed_plain(users: Users, plain: list[Group], sensitive: Flags, least: Ints, outcome: Outcome) -> dict[int, str]:
    """The problems found in the releases of users who were answered all at once."""
    received, served = np.full(len(users.keys), -1), np.zeros(len(users.keys), np.bool_)
    for plan, members, _ in plain:
        assert isinstance(plan, Plan)
        served[members] = outcome.status[members] != "none"
        if plan.policy.redistribute is not None:
            received[members] = plan.policy.redistribute
    length = np.diff(users.offset)
    released = _released(users, outcome, np.repeat(served, length) & ~sensitive & (users.counts > 0))
    hidden = np.add.reduceat(np.where(sensitive, users.counts, 0), users.offset[:-1])
    size = np.add.reduceat(users.counts, users.offset[:-1]) - hidden + np.where(received < 0, hidden, received)
    lower, upper = np.where(sensitive, 0, least), np.where(sensitive, 0, np.repeat(size, length))
    bins = Bins(users.offset, users.counts, released, lower, upper, sensitive, size).of(served)
    assert isinstance(plain[0].plan, Plan)
    distance, checked = find_distance(plain[0].plan.policy.quality), np.flatnonzero(served)
    if not len(checked):
        return {}
    problems = check_hidden(bins, distance, outcome.quality_loss[checked])
    return {int(checked[user]): problem for user, problem in problems.items()}


def _released(users: Users, outcome: Outcome, expected: Flags) -> Ints:
    """The released count of each row. Usually there is one wherever one is expected, and nowhere else."""
    of, location, count = outcome.gathered_rows()
    user = np.repeat(np.arange(len(users.keys)), np.diff(users.offset))
    released = np.zeros(len(users.counts), np.int64)
    if np.array_equal(users.location[expected], location) and np.array_equal(user[expected], of):
        released[expected] = count
        return released
    # A count at a location that the user does not have is not found, so it will be missing in the sum.
    key, wanted = user * len(users.names) + users.location, of * len(users.names) + location
    at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    found = (key[at] == wanted) & (location < len(users.names))
    released[at[found]] = count[found]
    return released


def _share(plan: Plan, users: Users, members: Ints, sensitive: Flags, outcome: Outcome, answers: Answers) -> None:
    """Shared releases for all users with a partner. The others either all get a drawn one, or none of them does."""
    alone = share_releases(plan, users, members, sensitive, outcome)
    if plan.policy.method == "drawn":
        # No limit here: only users with something to hide could exceed it, and a missing release would reveal them.
        drawing = plan.with_choices({"mechanism": "single", "max_quality_loss": None})
        _one_by_one(drawing, users, alone, sensitive, outcome, answers)
        if (outcome.status[alone] == "none").any():  # only users with nothing but sensitive visits would be missing
            outcome.refuse(dict.fromkeys(alone.tolist(), WITHOUT_DRAWN))
    else:
        outcome.reason[alone] = WITHOUT_PARTNER


def _hide_all(plan: Plan, users: Users, members: Ints, sensitive: Flags, least: Ints, outcome: Outcome) -> None:
    from elsewhere.solvers.hide_many import hide_many

    length, rows = lengths(users, members), rows_of(users, members)
    offset = np.append(0, np.cumsum(length))
    location, original = users.location[rows], users.counts[rows]
    quality, redistribute = find_distance(plan.policy.quality), plan.policy.redistribute
    released, loss = hide_many(quality, offset, original, sensitive[location], redistribute, least[rows])
    possible = ~np.isnan(loss)
    outcome.quality_loss[members[possible]] = loss[possible]
    outcome.gap[members[possible]] = 0.0
    outcome.status[members[possible]] = "optimal"
    outcome.reason[members[~possible]] = "every visit is sensitive, so there is nowhere to move them"
    kept = released > 0
    outcome.rows.append((np.repeat(members, length)[kept], location[kept], released[kept]))


def _one_by_one(
    plan: Plan,
    users: Users,
    members: Ints,
    sensitive: Flags,
    outcome: Outcome,
    answers: Answers,
    before: frozenset[str] = frozenset(),
) -> None:
    """The releases of some users; `before` has the sensitive places of their earlier releases.

    Users with the same histogram get the same answer, unless they continue a release or draw with their own keys.
    """
    first: dict[Hashable, int] = {}
    for user in members.tolist():
        rows = slice(users.offset[user], users.offset[user + 1])
        locations = [users.names[at] for at in users.location[rows]]
        earlier = None if users.earlier is None else users.earlier.of(user)
        if earlier is not None or plan.policy.method == "drawn":
            outcome.note(user, _asked_alone(plan, users, user, locations, sensitive, earlier, before, outcome))
            continue
        question = plan, tuple(locations), users.counts[rows].tobytes()
        known = answers.get(question)
        if known is not None:
            outcome.note(user, known)
        elif (same := first.setdefault(question, user)) != user:
            outcome.note(user, outcome.asked[same].answer)
            outcome.asked[same].copies.append(user)
        else:
            answer = _asked_alone(plan, users, user, locations, sensitive, None, before, outcome)
            outcome.note(user, answer)
            outcome.asked[user] = Asked(question, answer, [])


def _asked_alone(
    plan: Plan,
    users: Users,
    user: int,
    locations: Sequence[str],
    sensitive: Flags,
    earlier: Histogram | None,
    before: frozenset[str],
    outcome: Outcome,
) -> Answer:
    """The answer for one user; the result is recorded for the check."""
    from elsewhere.solve import solve

    rows = slice(users.offset[user], users.offset[user + 1])
    covered = plan.elsewhere.union(users.names[at] for at in users.location[rows] if sensitive[at])
    asked = plan
    if earlier is not None:
        asked, covered = plan.continuing(earlier), covered.union(before.intersection(earlier))
    try:
        history = Histogram(zip(locations, users.counts[rows].tolist(), strict=True))
        # Which kinds are sensitive for a user depends on the user's own places.
        closed = Selection(covered) if plan.policy.by == "name" else asked.covered_in(history)
        question = asked.question_about(history, closed)
        if plan.policy.method == "drawn":
            whose = [str(column[user].as_py()) for column in users.keys.columns]
            question = replace(question, key=plan.key_of(whose))
        result = solve(question, explain=False)
    except ElsewhereError as error:
        return Answer(reason=str(error))
    outcome.results[user] = result
    released = result.histogram
    return Answer(
        result.status, result.quality_loss, result.privacy_distance, result.gap, released.locations, released.counts
    )
