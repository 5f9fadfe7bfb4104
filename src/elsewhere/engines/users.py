"""Turn rows of whole users into histograms, with locations as numbers in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from elsewhere.engines.arrow import Array, Batch, Table, from_numpy, pa, pc, to_numpy
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex
from elsewhere.text import quote

#: Numbers of rows, or all of them.
Rows: TypeAlias = Ints | slice
#: The column that marks the rows of an earlier release, which the user's new release continues.
EARLIER = "__earlier"
#: More than the largest size of a histogram, but still an integer of 64 bits.
_TOO_MANY = 2**62


class Users(NamedTuple):
    """Some users: user u has the counts counts[offset[u]:offset[u + 1]], at locations sorted by name."""

    #: Their keys: one row per user, in one or more columns.
    keys: Batch
    offset: Ints
    #: Numbers of names; `names` is sorted.
    location: Ints
    names: list[str]
    counts: Ints
    #: For each user, how many spellings were merged into another spelling of the same place.
    merged: Ints
    #: Users' own choices: one array per key of the policy.
    own: dict[str, Array]
    #: The earlier releases to continue, if there are any.
    earlier: Earlier | None = None


class Earlier(NamedTuple):
    """Earlier releases of users: user u has number number[u] of `releases`, or none if that is -1."""

    releases: Users
    number: Ints

    def of(self, user: int) -> Histogram | None:
        """The earlier release of a user."""
        found, at = self.releases, self.number[user]
        if at < 0:
            return None
        rows = slice(found.offset[at], found.offset[at + 1])
        names = (found.names[code] for code in found.location[rows])
        return Histogram(zip(names, found.counts[rows].tolist(), strict=True))


def users_of(table: Table, keys: Sequence[str]) -> Users:
    """The users of these rows, in the order of their first rows. A user with only an earlier release does not count."""
    if EARLIER not in table.column_names:
        return _users_of(table, keys)
    earlier = table.column(EARLIER)
    own = table.filter(pc.invert(earlier)).drop_columns([EARLIER])
    if not len(own):
        nothing = np.zeros(0, np.int64)
        whose = pa.RecordBatch.from_pylist([], pa.schema([own.schema.field(name) for name in keys]))
        return Users(whose, np.zeros(1, np.int64), nothing, [], nothing, nothing, {})
    users = _users_of(own, keys)
    others = table.filter(earlier).select([*keys, "location", "count"])
    if not len(others):
        return users
    releases = _users_of(others, keys)
    number = {whose: at for at, whose in enumerate(_whose(releases.keys))}
    return users._replace(
        earlier=Earlier(releases, np.array([number.get(whose, -1) for whose in _whose(users.keys)], np.int64))
    )


def _whose(keys: Batch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in keys.columns), strict=True)


def _users_of(table: Table, keys: Sequence[str]) -> Users:
    from elsewhere.engines.collect import collect_bins

    for name in (*keys, "location", "count"):
        if table.column(name).null_count:
            raise InputError(f"a row has no {name}")
    location, counts = table.column("location"), to_numpy(table.column("count"))
    if (counts < 0).any():
        at = int(np.flatnonzero(counts < 0)[0])
        whose, name = quote(table.column(keys[0])[at].as_py()), quote(location[at].as_py())
        raise InputError(f"the user {whose} has the count {counts[at]} at {name}; counts are not negative")
    of, number = _numbered([table.column(name) for name in keys])
    codes, dictionary = _encoded(location)
    spelt = dictionary.to_pylist()
    order = sorted(range(len(spelt)), key=spelt.__getitem__)
    rank = np.empty(len(spelt), np.int64)
    rank[order] = np.arange(len(spelt))
    where = rank[codes]
    # A copy, because Arrow's arrays are read-only, which Numba would compile as another type.
    offset, first, codes, counts, repeated = collect_bins(of, where, counts.copy(), number)
    one_row = table.drop_columns(["location", "count"]).take(from_numpy(first)).combine_chunks().to_batches()[0]
    own = {name: one_row.column(name) for name in one_row.schema.names if name not in keys}
    if repeated:
        offset, codes, counts = _added_up(offset, codes, counts)
    names, merged = [spelt[at] for at in order], np.zeros(number, np.int64)
    index = NameIndex(names)
    if not index.distinct:
        place = np.array(index.positions_of(index), dtype=np.int64)
        offset, codes, counts, merged = _merged(offset, codes, counts, place)
    return Users(one_row.select(list(keys)), offset, codes, names, counts, merged, own)


def _numbered(keys: Sequence[Array]) -> tuple[Ints, int]:
    """A number for each row, equal for equal keys and in the order of rows, and how many numbers there are."""
    codes, number = np.zeros(len(keys[0]), np.int64), 1
    for values in keys:
        own, dictionary = _encoded(values)
        codes = codes * len(dictionary) + own
        if number > 1:  # so that no product overflows
            codes = to_numpy(from_numpy(codes).dictionary_encode().indices).astype(np.int64)
        number = int(codes.max()) + 1
    return codes, number


def _encoded(values: Array) -> tuple[Ints, Array]:
    """A number for each value of a column, and the value of each number. Numbers of plain values follow the rows."""
    encoded = values.unify_dictionaries() if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    chunks = encoded.chunks or [encoded.combine_chunks()]
    return np.concatenate([to_numpy(chunk.indices) for chunk in chunks]), chunks[0].dictionary


def _added_up(offset: Ints, codes: Ints, counts: Ints) -> tuple[Ints, Ints, Ints]:
    """The same bins, with several bins of a user at one location added up."""
    of = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    first = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (of[1:] != of[:-1])))
    ends = np.append(0, np.cumsum(np.bincount(of[first], minlength=len(offset) - 1)))
    return ends.astype(np.int64), codes[first], _sums(counts, first)


def _merged(offset: Ints, codes: Ints, counts: Ints, place: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The bins with a user's spellings of one place merged into the commonest; also how many were merged per user."""
    number = len(offset) - 1
    of = np.repeat(np.arange(number), np.diff(offset))
    by_place = np.lexsort((codes, -counts, place[codes], of))
    of, codes, counts = of[by_place], codes[by_place], counts[by_place]
    where = place[codes]
    first = np.flatnonzero(np.append(True, (where[1:] != where[:-1]) | (of[1:] != of[:-1])))
    merged = np.diff(offset) - np.bincount(of[first], minlength=number)
    of, codes, counts = of[first], codes[first], _sums(counts, first)
    by_name = np.lexsort((codes, of))
    ends = np.append(0, np.cumsum(np.bincount(of, minlength=number)))
    return ends.astype(np.int64), codes[by_name], counts[by_name], merged


def _sums(counts: Ints, first: Ints) -> Ints:
    """The sums of counts between the given starts; a sum that would overflow is too large in any case."""
    sums: Ints = np.add.reduceat(counts, first)
    sums[np.add.reduceat(counts.astype(np.float64), first) >= _TOO_MANY] = _TOO_MANY
    return sums


def earlier_counts(users: Users) -> tuple[Ints, Flags]:
    """The count of each row in the user's earlier release, and whether a user's earlier visits are all at visited rows.

    Such a user only needs these counts as lower bounds.
    """
    counts, found = np.zeros(len(users.counts), np.int64), np.ones(len(users.keys), np.bool_)
    if users.earlier is None:
        return counts, found
    past, index = users.earlier.releases, NameIndex(users.names)
    # Rows are found by user and place; the number of a place is that of one of its spellings.
    place = np.array(index.positions_of(index), np.int64)
    key = np.repeat(np.arange(len(users.keys)), np.diff(users.offset)) * len(place) + place[users.location]
    order = np.argsort(key, kind="stable")
    later = np.full(len(past.keys), -1, np.int64)
    continued = np.flatnonzero(users.earlier.number >= 0)
    later[users.earlier.number[continued]] = continued
    whose = np.repeat(later, np.diff(past.offset))
    places = np.array(index.positions_of(NameIndex(past.names)), np.int64)[past.location]
    wanted = np.flatnonzero((whose >= 0) & (past.counts > 0))
    sought = whose[wanted] * len(place) + places[wanted]
    at = order[np.minimum(np.searchsorted(key, sought, sorter=order), len(key) - 1)]
    here = (places[wanted] >= 0) & (key[at] == sought) & (users.counts[at] > 0)
    found[whose[wanted[~here]]] = False
    counts[at[here]] = past.counts[wanted[here]]
    return counts, found


def column_of(users: Users, name: str) -> list[Any]:
    """Each user's choice for a key of the policy; None if there is none."""
    values: list[Any] = users.own[name].to_pylist()
    return values


def lengths(users: Users, members: Ints) -> Ints:
    """The number of rows of each user."""
    found: Ints = users.offset[members + 1] - users.offset[members]
    return found


def rows_of(users: Users, members: Ints) -> Rows:
    """The rows of some of the users, one after the other."""
    if len(members) == len(users.keys):
        return slice(None)
    length = lengths(users, members)
    begin = np.append(0, np.cumsum(length))
    rows: Ints = np.arange(begin[-1]) + np.repeat(users.offset[members] - begin[:-1], length)
    return rows
