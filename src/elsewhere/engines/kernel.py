"""The one kernel of every engine: from Arrow batches of users' histograms to Arrow batches of releases and outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from elsewhere.engines.arrow import Array, Batch, DataType, Schema, Table, pa, pc
from elsewhere.engines.users import Users, column_of, users_of, whole_users
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.distances import find_distance
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import LARGEST_SIZE
from elsewhere.model.taxonomy import Selection
from elsewhere.policy import Plan, Policy
from elsewhere.text import closest, quote

#: What a user may choose instead of the policy: keys of it.
PERSONAL = (
    "sensitive", "spared", "max_quality_loss", "max_distance", "min_distance", "redistribute", "candidates"
)  # fmt: skip
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


def sanitize_batches(policy: Policy | Plan, batches: Iterable[Batch]) -> Iterator[Batch]:
    """The releases and outcomes of users, under one policy: the rows of `result_schema`.

    The batches have the columns user, location and count, and are sorted by user or have lists of locations and counts;
    a column called like one of `PERSONAL` has a user's own choice. A user for whom no release is possible has none,
    and a reason.
    """
    plans = Plans(policy if isinstance(policy, Plan) else policy.plan())
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


class Plans:
    """The plan of everybody, and those of users with choices of their own."""

    def __init__(self, everybody: Plan) -> None:
        self.everybody = everybody
        self._personal = lru_cache(_PLANS)(self._made)
        #: For each name that was seen the sensitive names of everybody's policy that cover it, by number.
        self._covering: dict[str, tuple[int, ...]] = {}

    def of(self, users: Users) -> list[tuple[Plan | str, Ints]]:
        """Each plan with its users; a sentence in place of a plan that makes no sense."""
        for name in users.own:
            if name not in PERSONAL:
                raise InputError(f"{quote(name)} is no choice of a user's own{closest(name, PERSONAL)}")
        if not users.own:
            return [(self.everybody, np.arange(len(users.user)))]
        rows = zip(*(map(_plain, column_of(users, name)) for name in users.own), strict=True)
        of: dict[tuple[Any, ...], list[int]] = {}
        for at, row in enumerate(rows):
            of.setdefault(row, []).append(at)
        return [(self._personal(tuple(users.own), row), np.array(members)) for row, members in of.items()]

    def _made(self, names: tuple[str, ...], row: tuple[Any, ...]) -> Plan | str:
        chosen = {name: _as_list(value) if name in _LISTS else value for name, value in zip(names, row, strict=True)}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        try:
            return self.everybody.with_choices(chosen) if chosen else self.everybody
        except ElsewhereError as error:
            return str(error)

    def covering(self, plan: Plan, names: list[str], used: Ints) -> Covering:
        """Which sensitive names of a plan cover each of the names at the places `used`."""
        if plan is not self.everybody:
            return Covering.of(len(names), used, _covering(plan, [names[at] for at in used]))
        new = [names[at] for at in used if names[at] not in self._covering]
        self._covering.update(zip(new, _covering(plan, new), strict=True))
        return Covering.of(len(names), used, [self._covering[names[at]] for at in used])


def _covering(plan: Plan, names: list[str]) -> list[tuple[int, ...]]:
    """For each name the numbers of the policy's sensitive names that cover it."""
    found: dict[str, tuple[int, ...]] = {}
    for number, covered in enumerate(plan.covered(names).values() if names else ()):
        for name in covered:
            found[name] = (*found.get(name, ()), number)
    return [found.get(name, ()) for name in names]


class Covering(NamedTuple):
    """Location `at` is covered by the sensitive names number[first[at]:first[at + 1]] of a policy."""

    first: Ints
    number: Ints

    @classmethod
    def of(cls, locations: int, used: Ints, covering: list[tuple[int, ...]]) -> Covering:
        lengths = np.zeros(locations + 1, np.int64)
        lengths[used + 1] = list(map(len, covering))
        return cls(np.cumsum(lengths), np.array(list(chain.from_iterable(covering)), dtype=np.int64))

    @property
    def sensitive(self) -> Flags:
        """Which locations are covered by any name."""
        return np.diff(self.first) > 0


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _as_list(value: Any) -> Any:
    """Several names in one text are between semicolons."""
    return tuple(part.strip() for part in value.split(";") if part.strip()) if isinstance(value, str) else value


class _Outcome:
    """What becomes of some users: flat rows of releases, and a figure of each kind a user."""

    def __init__(self, users: Users) -> None:
        number = len(users.user)
        self.names = list(users.names)
        self.merged = users.merged
        self.rows: list[tuple[Ints, Ints, Ints]] = []
        self.status = np.full(number, "none", dtype=object)
        self.quality_loss = np.full(number, math.nan)
        self.privacy_distance = np.full(number, math.nan)
        self.gap = np.full(number, math.nan)
        #: Visits at sensitive locations by the policy's name for them: numbers of users, names, visits.
        self.hidden: list[tuple[Ints, list[str], Ints]] = []
        self.reason = np.full(number, None, dtype=object)

    def count_hidden(self, asked: Sequence[str], users: Users, members: Ints, rows: Ints, covering: Covering) -> None:
        """Note how many visits of each user each sensitive name of a policy covers."""
        closed = np.flatnonzero(covering.sensitive[users.location[rows]])
        times = np.diff(covering.first)[users.location[rows[closed]]]
        at = np.repeat(closed, times)
        within = np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
        number = covering.number[covering.first[users.location[rows[at]]] + within]
        member = np.repeat(members, np.diff(users.offset)[members])[at]
        key, inverse = np.unique(member * (len(asked) or 1) + number, return_inverse=True)
        visits = np.bincount(inverse, users.counts[rows[at]], len(key)).astype(np.int64)
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
        nothing = (np.zeros(0, np.int64),) * 3
        of, location, count = (np.concatenate(column) for column in zip(*self.rows or [nothing], strict=True))
        if len(self.rows) > 1:
            order = np.argsort(of, kind="stable")
            location, count = location[order], count[order]
        # Names were added user by user, whose order is anybody's: the same rows are to give the same bytes.
        names = sorted(self.names)
        if names != self.names:
            rank = {name: at for at, name in enumerate(names)}
            location = np.array([rank[name] for name in self.names])[location]
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
    outcome = _Outcome(users)
    size = np.add.reduceat(users.counts.astype(np.float64), users.offset[:-1])
    outcome.reason[size == 0.0] = "the histogram is empty: all its counts are 0"
    outcome.reason[size > LARGEST_SIZE] = f"the histogram has more than {LARGEST_SIZE:.0e} counts"
    sound = (size > 0.0) & (size <= LARGEST_SIZE)
    for plan, members in plans.of(users):
        chosen = members[sound[members]]
        if isinstance(plan, str):
            outcome.reason[chosen] = plan
        elif len(chosen):
            rows = _rows_of(users, chosen)
            used = np.flatnonzero(np.bincount(users.location[rows], minlength=len(users.names)))
            covering = plans.covering(plan, users.names, used)
            outcome.count_hidden(plan.policy.sensitive, users, chosen, rows, covering)
            answer = _hide_all if is_plain(plan.policy) else _one_by_one
            answer(plan, users, chosen, covering.sensitive, outcome)
    return outcome.batch(users.user)


def _rows_of(users: Users, members: Ints) -> Ints:
    """The rows of some of the users, one after the other."""
    if len(members) == len(users.user):
        return np.arange(len(users.location))
    length = np.diff(users.offset)[members]
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

    number = {name: at for at, name in enumerate(outcome.names)}
    others = plan.elsewhere
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
        outcome.status[user], outcome.gap[user] = result.status, result.gap
        outcome.quality_loss[user] = result.quality_loss
        if result.privacy_distance is not None:
            outcome.privacy_distance[user] = result.privacy_distance
        location = np.array([number.setdefault(name, len(number)) for name in result.histogram.locations])
        outcome.rows.append((np.full(len(location), user), location, result.histogram.counts))
    outcome.names = list(number)
