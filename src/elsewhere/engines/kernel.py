"""The one kernel of every engine: from Arrow batches of users' histograms to Arrow batches of releases and outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from elsewhere.engines.arrow import Array, Batch, DataType, Schema, Table, pa, pc
from elsewhere.engines.names import names_to_find
from elsewhere.engines.users import Users, column_of, users_of, whole_users
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.distances import find_distance
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import LARGEST_SIZE
from elsewhere.model.result import Sanitized
from elsewhere.model.taxonomy import Selection
from elsewhere.policy import Plan, Policy
from elsewhere.text import closest, quote
from elsewhere.verification.many import Bins, check_hidden, check_results

#: What a user may choose instead of the policy: keys of it.
PERSONAL = (
    "sensitive", "spared", "max_quality_loss", "max_distance", "min_distance", "redistribute", "candidates"
)  # fmt: skip
#: How the reason of a user begins whose release is not what it was said to be: a defect of this package.
FAILED_CHECK = "the release failed its check"
_TEXT = pa.string()
_LISTS = ("sensitive", "spared", "candidates")
_PLANS = 4096


def result_schema(user: DataType, location: DataType = _TEXT) -> Schema:
    """A row a user: the release, which is null where there is none, and the private outcome."""
    return pa.schema(
        [
            pa.field("user", user),
            pa.field("location", pa.list_(location)),
            pa.field("count", pa.list_(pa.int64())),
            pa.field("status", pa.string()),
            pa.field("quality_loss", pa.float64()),
            pa.field("privacy_distance", pa.float64()),
            pa.field("gap", pa.float64()),
            pa.field("hidden", pa.map_(pa.string(), pa.int64())),
            pa.field("merged_spellings", pa.int64()),
            pa.field("reason", pa.string()),
        ]
    )


def sanitize_batches(
    policy: Policy | Plan, batches: Iterable[Batch], *, allow_unchanged: bool = False
) -> Iterator[Batch]:
    """The releases and outcomes of users, under one policy: the rows of `result_schema`.

    The batches have the columns user, location and count, and are sorted by user or have lists of locations and counts;
    a column called like one of `PERSONAL` has a user's own choice. A user for whom no release is possible has none,
    and a reason. So has one who names a sensitive place that is not among the user's own, unless `allow_unchanged`.
    """
    plans = Plans(policy if isinstance(policy, Plan) else policy.plan(), allow_unchanged)
    for table in whole_users(batches):
        results = sanitize_users(plans, table)
        yield results.cast(result_schema(results.schema.field("user").type))


def releases(results: Batch) -> Batch:
    """The releases alone: user, location, count; one row a location. Where locations are encoded, users are too."""
    some = results.column("location").null_count > 0
    given = results.filter(pc.is_valid(results.column("location"))) if some else results
    lengths = pc.list_value_length(given.column("location")).to_numpy()
    rows = pa.array(np.repeat(np.arange(len(given), dtype=np.int32), lengths))
    location, count = (given.column(name).flatten() for name in ("location", "count"))
    if pa.types.is_dictionary(location.type):
        user = pa.DictionaryArray.from_arrays(rows, given.column("user"))
        location = _without_others(location)
    else:
        user = given.column("user").take(rows)
    return pa.record_batch([user, location, count], names=["user", "location", "count"])


def _without_others(encoded: Array) -> Array:
    """The same values with a dictionary of nothing else: the other names are not released."""
    codes = encoded.indices.to_numpy()
    used = np.bincount(codes, minlength=len(encoded.dictionary)) > 0
    return pa.DictionaryArray.from_arrays(
        pa.array((np.cumsum(used) - 1).astype(np.int32)[codes]), encoded.dictionary.filter(pa.array(used))
    )


def outcomes(results: Batch) -> Batch:
    """The private outcomes alone: a row a user, without the histogram."""
    return results.select([name for name in results.schema.names if name not in ("location", "count")])


class Group(NamedTuple):
    """Users with one plan, or with a sentence in place of a plan that makes no sense."""

    plan: Plan | str
    members: Ints
    #: Whether the sensitive names are the users' own.
    own_names: bool = False


class Plans:
    """The plan of everybody, and those of users with choices of their own."""

    def __init__(self, everybody: Plan, allow_unchanged: bool = False) -> None:
        self.everybody = everybody
        self.allow_unchanged = allow_unchanged
        self._personal = lru_cache(_PLANS)(self._made)
        #: For each name that was seen the sensitive names of everybody's policy that cover it, by number.
        self._covering: dict[str, tuple[int, ...]] = {}

    def of(self, users: Users) -> list[Group]:
        """All users, by plan."""
        for name in users.own:
            if name not in PERSONAL:
                raise InputError(f"{quote(name)} is no choice of a user's own{closest(name, PERSONAL)}")
        if not users.own:
            return [Group(self.everybody, np.arange(len(users.user)))]
        rows = zip(*(map(_plain, column_of(users, name)) for name in users.own), strict=True)
        of: dict[tuple[Any, ...], list[int]] = {}
        for at, row in enumerate(rows):
            of.setdefault(row, []).append(at)
        return [self._group(tuple(users.own), row, np.array(members)) for row, members in of.items()]

    def _group(self, names: tuple[str, ...], row: tuple[Any, ...], members: Ints) -> Group:
        plan, own_names = self._personal(names, row)
        hides_nothing = isinstance(plan, Plan) and plan.policy.goal == "hide" and not plan.policy.sensitive
        if hides_nothing and "sensitive" in names and not self.allow_unchanged:
            plan = "neither the policy nor the user names a sensitive place"
        return Group(plan, members, own_names and not self.allow_unchanged)

    def _made(self, names: tuple[str, ...], row: tuple[Any, ...]) -> tuple[Plan | str, bool]:
        chosen = {name: _as_list(value) if name in _LISTS else value for name, value in zip(names, row, strict=True)}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        try:
            plan = self.everybody.with_choices(chosen) if chosen else self.everybody
        except ElsewhereError as error:
            return str(error), False
        return plan, "sensitive" in chosen

    def covering(self, plan: Plan, names: list[str]) -> Covering:
        """Which sensitive names of a plan cover each of the names."""
        if plan is not self.everybody:
            return Covering.of(_covering(plan, names))
        new = [name for name in names if name not in self._covering]
        self._covering.update(zip(new, _covering(plan, new), strict=True))
        return Covering.of([self._covering[name] for name in names])


def _covering(plan: Plan, names: list[str]) -> list[tuple[int, ...]]:
    """For each name the numbers of the policy's sensitive names that cover it."""
    found: dict[str, tuple[int, ...]] = {}
    for number, covered in enumerate(plan.covered(names).values() if names else ()):
        for name in covered:
            found[name] = (*found.get(name, ()), number)
    return [found.get(name, ()) for name in names]


class Covering(NamedTuple):
    """Name `at` of some is covered by the sensitive names number[first[at]:first[at + 1]] of a policy."""

    first: Ints
    number: Ints

    @classmethod
    def of(cls, covering: list[tuple[int, ...]]) -> Covering:
        first = np.append(0, np.cumsum(list(map(len, covering)), dtype=np.int64))
        return cls(first, np.array(list(chain.from_iterable(covering)), dtype=np.int64))

    @property
    def sensitive(self) -> Flags:
        """Which names are covered by any."""
        return np.diff(self.first) > 0


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _as_list(value: Any) -> Any:
    """Several names in one text are between semicolons; None for no name."""
    names = (part.strip() for part in value.split(";") if part.strip()) if isinstance(value, str) else value
    return tuple(names or ()) or None


class _Outcome:
    """What becomes of some users: flat rows of releases, and a figure of each kind a user."""

    def __init__(self, users: Users) -> None:
        number = len(users.user)
        self.names = users.names
        self.merged = users.merged
        self.rows: list[tuple[Ints, Ints, Ints]] = []
        self.status = np.full(number, "none", dtype=object)
        self.quality_loss = np.full(number, math.nan)
        self.privacy_distance = np.full(number, math.nan)
        self.gap = np.full(number, math.nan)
        #: Visits at sensitive locations by the policy's name for them: numbers of users, names, visits.
        self.hidden: list[tuple[Ints, list[str], Ints]] = []
        self.reason = np.full(number, None, dtype=object)
        #: What was found user by user.
        self.results: dict[int, Sanitized] = {}

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each name; names that the users do not have may be added."""
        return {name: at for at, name in enumerate(self.names)}

    def gathered_rows(self) -> tuple[Ints, Ints, Ints]:
        """The numbers of users, those of their locations, and the counts: sorted by user, then by location."""
        if len(self.rows) == 1:
            return self.rows[0]
        nothing = (np.zeros(0, np.int64),) * 3
        of, location, count = (np.concatenate(column) for column in zip(*self.rows or [nothing], strict=True))
        order = np.argsort(of, kind="stable")
        of, location, count = of[order], location[order], count[order]
        self.rows = [(of, location, count)]
        return of, location, count

    def refuse(self, refused: Mapping[int, str]) -> None:
        """Leave out the releases of users, for whom there is a reason each."""
        users = list(refused)
        self.status[users], self.reason[users] = "none", list(refused.values())
        for figures in (self.quality_loss, self.privacy_distance, self.gap):
            figures[users] = math.nan
        of, location, count = self.gathered_rows()
        kept = ~np.isin(of, users)
        self.rows = [(of[kept], location[kept], count[kept])]

    def count_hidden(self, asked: Sequence[str], member: Ints, counts: Ints, codes: Ints, covering: Covering) -> None:
        """Note how many visits of each user each sensitive name of a policy covers.

        `member`, `counts` and `codes` have the user, the count and the place in `covering` of each row.
        """
        closed = np.flatnonzero(covering.sensitive[codes])
        times = np.diff(covering.first)[codes[closed]]
        at = np.repeat(closed, times)
        within = np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
        number = covering.number[covering.first[codes[at]] + within]
        key, inverse = np.unique(member[at] * (len(asked) or 1) + number, return_inverse=True)
        visits = np.bincount(inverse, counts[at], len(key)).astype(np.int64)
        self.hidden.append((key // (len(asked) or 1), [asked[it] for it in key % (len(asked) or 1)], visits))

    def _hidden(self, users: int) -> Array:
        """For each user the visits that each sensitive name hid, by name."""
        of = np.concatenate([np.zeros(0, np.int64), *(user for user, _, _ in self.hidden)])
        names = list(chain.from_iterable(name for _, name, _ in self.hidden))
        visits = np.concatenate([np.zeros(0, np.int64), *(visits for _, _, visits in self.hidden)])
        order = np.argsort(of, kind="stable")
        offset = pa.array(np.append(0, np.cumsum(np.bincount(of, minlength=users))).astype(np.int32))
        return pa.MapArray.from_arrays(
            offset, pa.array(names, pa.string()).take(pa.array(order)), pa.array(visits[order])
        )

    def batch(self, user: Array) -> Batch:
        of, location, count = self.gathered_rows()
        # Names were added user by user, whose order is anybody's: the same rows are to give the same bytes.
        known = list(self.number) if self.results else self.names
        names = sorted(known)
        if names != known:
            rank = {name: at for at, name in enumerate(names)}
            location = np.array([rank[name] for name in known])[location]
        offset = pa.array(np.append(0, np.cumsum(np.bincount(of, minlength=len(user)))).astype(np.int32))
        without = pa.array(self.status == "none")
        codes = pa.array(location.astype(np.int32))
        locations = pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
        return pa.RecordBatch.from_arrays(
            [
                user,
                pa.ListArray.from_arrays(offset, locations, mask=without),
                pa.ListArray.from_arrays(offset, pa.array(count), mask=without),
                pa.array(self.status, pa.string()),
                pa.array(self.quality_loss, from_pandas=True),
                pa.array(self.privacy_distance, from_pandas=True),
                pa.array(self.gap, from_pandas=True),
                self._hidden(len(user)),
                pa.array(self.merged),
                pa.array(self.reason, pa.string()),
            ],
            schema=result_schema(user.type, locations.type),
        )


def sanitize_users(plans: Plans, table: Table) -> Batch:
    """The results of the users whose rows these are, with locations encoded: hidden ones are in their dictionary."""
    users = users_of(table)
    outcome, sensitive = _Outcome(users), np.zeros(len(users.location), np.bool_)
    plain: list[Group] = []
    size = np.add.reduceat(users.counts.astype(np.float64), users.offset[:-1])
    outcome.reason[size == 0.0] = "the histogram is empty: all its counts are 0"
    outcome.reason[size > LARGEST_SIZE] = f"the histogram has more than {LARGEST_SIZE:.0e} counts"
    sound = (size > 0.0) & (size <= LARGEST_SIZE)
    # By number of a name: its place among those of a group of users, and whether it is sensitive to them.
    place, closed = np.empty(len(users.names), np.int64), np.zeros(len(users.names), np.bool_)
    for plan, members, own_names in plans.of(users):
        chosen = members[sound[members]]
        if isinstance(plan, str):
            outcome.reason[chosen] = plan
        if isinstance(plan, str) or not len(chosen):
            continue
        rows = _rows_of(users, chosen)
        used = _used(users.location[rows], len(users.names))
        place[used] = np.arange(len(used))
        codes = place[users.location[rows]]
        covering = plans.covering(plan, [users.names[at] for at in used])
        sensitive[rows] = covering.sensitive[codes]
        asked, of = plan.policy.sensitive, np.repeat(chosen, _lengths(users, chosen))
        outcome.count_hidden(asked, of, users.counts[rows], codes, covering)
        if own_names:
            chosen = _who_have_all(plan, chosen, outcome)
            if not len(chosen):
                continue
        closed[used] = covering.sensitive
        if is_plain(plan.policy):
            _hide_all(plan, users, chosen, closed, outcome)
            plain.append(Group(plan, chosen))
        else:
            _one_by_one(plan, users, chosen, closed, outcome)
        closed[used] = False
    _check(users, plain, sensitive, outcome)
    return outcome.batch(users.user)


def _used(codes: Ints, names: int) -> Ints:
    """The different ones of some numbers of names, sorted."""
    return np.unique(codes) if len(codes) < names else np.flatnonzero(np.bincount(codes, minlength=names))


def _who_have_all(plan: Plan, members: Ints, outcome: _Outcome) -> Ints:
    """Those of the users to whom each of their own sensitive names says something; the others get a reason."""
    user, covering, _ = outcome.hidden[-1]
    known = set(zip(user.tolist(), covering, strict=True))
    wanted = names_to_find(plan)
    have_all = []
    for member in members.tolist():
        missing = [name for name in wanted if (member, name) not in known]
        if missing:
            outcome.reason[member] = f"the user's own choice {quote(missing[0])} covers none of the user's places"
        else:
            have_all.append(member)
    return np.array(have_all, np.int64)


def _check(users: Users, plain: list[Group], sensitive: Flags, outcome: _Outcome) -> None:
    """Check every release, with its figures, and refuse those that are not what they are said to be."""
    failed: dict[int, str] = {}
    if plain:
        failed |= _failed_plain(users, plain, sensitive, outcome)
    if outcome.results:
        checked = list(outcome.results)
        problems = check_results([*outcome.results.values()])
        failed |= {checked[at]: problem for at, problem in problems.items()}
    if failed:
        outcome.refuse({user: f"{FAILED_CHECK}: {problem}" for user, problem in failed.items()})


def _failed_plain(users: Users, plain: list[Group], sensitive: Flags, outcome: _Outcome) -> dict[int, str]:
    """What is wrong with the releases of users who were answered all at once."""
    received, served = np.full(len(users.user), -1), np.zeros(len(users.user), np.bool_)
    for plan, members, _ in plain:
        assert isinstance(plan, Plan)
        served[members] = outcome.status[members] != "none"
        if plan.policy.redistribute is not None:
            received[members] = plan.policy.redistribute
    length = np.diff(users.offset)
    released = _released(users, outcome, np.repeat(served, length) & ~sensitive & (users.counts > 0))
    hidden = np.add.reduceat(np.where(sensitive, users.counts, 0), users.offset[:-1])
    size = np.add.reduceat(users.counts, users.offset[:-1]) - hidden + np.where(received < 0, hidden, received)
    lower, upper = np.where(sensitive, 0, users.counts), np.where(sensitive, 0, np.repeat(size, length))
    bins = Bins(users.offset, users.counts, released, lower, upper, sensitive, size).of(served)
    assert isinstance(plain[0].plan, Plan)
    distance, checked = find_distance(plain[0].plan.policy.quality), np.flatnonzero(served)
    if not len(checked):
        return {}
    problems = check_hidden(bins, distance, outcome.quality_loss[checked])
    return {int(checked[user]): problem for user, problem in problems.items()}


def _released(users: Users, outcome: _Outcome, expected: Flags) -> Ints:
    """The count that is released for each row; most likely there is one wherever one is expected, and nowhere else."""
    of, location, count = outcome.gathered_rows()
    user = np.repeat(np.arange(len(users.user)), np.diff(users.offset))
    released = np.zeros(len(users.counts), np.int64)
    if np.array_equal(users.location[expected], location) and np.array_equal(user[expected], of):
        released[expected] = count
        return released
    # A count at a location that the user does not have is not found, and will be missing in the sum.
    key, wanted = user * len(users.names) + users.location, of * len(users.names) + location
    at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    found = (key[at] == wanted) & (location < len(users.names))
    released[at[found]] = count[found]
    return released


def _lengths(users: Users, members: Ints) -> Ints:
    """How many rows each of some users has."""
    lengths: Ints = users.offset[members + 1] - users.offset[members]
    return lengths


def _rows_of(users: Users, members: Ints) -> Ints:
    """The rows of some of the users, one after the other."""
    if len(members) == len(users.user):
        return np.arange(len(users.location))
    length = _lengths(users, members)
    begin = np.append(0, np.cumsum(length))
    rows: Ints = np.arange(begin[-1]) + np.repeat(users.offset[members] - begin[:-1], length)
    return rows


def is_plain(policy: Policy) -> bool:
    """Whether nothing is asked but to hide, so that all users can be answered at once."""
    usual = {item.name: item.default for item in fields(Policy)}
    constraints = ("visited_only", "lower", "upper", "candidates", "forbidden")
    return policy.goal == "hide" and all(getattr(policy, name) == usual[name] for name in constraints)


def _hide_all(plan: Plan, users: Users, members: Ints, sensitive: Flags, outcome: _Outcome) -> None:
    from elsewhere.solvers.hide_many import hide_many

    length = np.diff(users.offset)[members]
    offset = np.append(0, np.cumsum(length))
    at: Ints | slice = slice(None)
    if len(members) < len(users.user):
        at = np.arange(offset[-1]) + np.repeat(users.offset[members] - offset[:-1], length)
    location, original = users.location[at], users.counts[at]
    quality, redistribute = find_distance(plan.policy.quality), plan.policy.redistribute
    released, loss = hide_many(quality, offset, original, sensitive[location], redistribute)
    possible = ~np.isnan(loss)
    outcome.quality_loss[members[possible]] = loss[possible]
    outcome.gap[members[possible]] = 0.0
    outcome.status[members[possible]] = "optimal"
    outcome.reason[members[~possible]] = "every visit is sensitive, so there is nowhere to move them"
    kept = released > 0
    outcome.rows.append((np.repeat(members, length)[kept], location[kept], released[kept]))


def _one_by_one(plan: Plan, users: Users, members: Ints, sensitive: Flags, outcome: _Outcome) -> None:
    from elsewhere.solve import solve

    others, number = plan.elsewhere, outcome.number
    for user in members.tolist():
        rows = slice(users.offset[user], users.offset[user + 1])
        locations = [users.names[at] for at in users.location[rows]]
        covered = others.union(users.names[at] for at in users.location[rows] if sensitive[at])
        try:
            history = Histogram(zip(locations, users.counts[rows].tolist(), strict=True))
            result = solve(plan.question_about(history, Selection(covered)), explain=False)
        except ElsewhereError as error:
            outcome.reason[user] = str(error)
            continue
        outcome.results[user] = result
        outcome.status[user], outcome.gap[user] = result.status, result.gap
        outcome.quality_loss[user] = result.quality_loss
        if result.privacy_distance is not None:
            outcome.privacy_distance[user] = result.privacy_distance
        location = np.array([number.setdefault(name, len(number)) for name in result.histogram.locations])
        outcome.rows.append((np.full(len(location), user), location, result.histogram.counts))
