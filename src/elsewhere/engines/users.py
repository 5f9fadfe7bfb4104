"""Rows of a table as users' histograms: whole users at a time, locations as numbers in the order of their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from elsewhere.engines.arrow import Array, Batch, DataType, Table, pa, pc
from elsewhere.model.arrays import Ints
from elsewhere.model.errors import InputError
from elsewhere.model.names import NameIndex
from elsewhere.text import quote

_ROW = ("user", "location", "count")
#: Rows after which users are handed on: enough to be quick, few enough for little memory.
_ROWS = 1 << 20


class Users(NamedTuple):
    """Some users: user u has the counts counts[offset[u]:offset[u + 1]], at locations sorted by name."""

    user: Array
    offset: Ints
    #: Numbers of names; `names` is sorted.
    location: Ints
    names: list[str]
    counts: Ints
    #: How many spellings of each user were counted with another spelling of the same place.
    merged: Ints
    #: Choices of their own that users have, by name of the policy's key: an array each.
    own: dict[str, Array]


def whole_users(batches: Iterable[Batch], most: int = _ROWS, together: str = "user") -> Iterator[Table]:
    """The rows of some users at a time, from batches in which the rows of a user, or of some users, are together.

    The columns are user, location and count, or lists of locations and of counts; any others are choices of the
    user's own. `together` is the column whose equal values are together.
    """
    waiting: list[Table] = []
    rows = 0
    for batch in batches:
        table = _long(pa.Table.from_batches([batch]))
        waiting.append(table)
        rows += len(table)
        if rows < most:
            continue
        # Cut at the first place that will do, wherever the batches are.
        table = pa.concat_tables(waiting).combine_chunks()
        cut, first = 0, _starts(table.column(together).chunk(0))
        while (at := np.searchsorted(first, cut + most)) < len(first):
            yield table.slice(cut, first[at] - cut)
            cut = first[at]
        waiting, rows = [table.slice(cut)], len(table) - cut
    if waiting and rows:
        yield pa.concat_tables(waiting)


def _long(table: Table) -> Table:
    """A row a location, with columns of the types that are worked with."""
    for name in _ROW:
        if name not in table.column_names:
            raise InputError(f"the column {name!r} is missing; there are {quote(table.column_names)}")
    kind = table.schema.field("location").type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        table = table.combine_chunks()
        lengths = [pc.list_value_length(table.column(name)).fill_null(0) for name in ("location", "count")]
        if not lengths[0].equals(lengths[1]):
            raise InputError("a user has not as many counts as locations")
        rows = np.repeat(np.arange(len(table)), lengths[0].to_numpy())
        flat = {name: pc.list_flatten(table.column(name)) for name in ("location", "count")}
        others = {name: table.column(name).take(pa.array(rows)) for name in table.column_names if name not in flat}
        table = pa.table({**others, **flat})
    user = table.column("user")
    if pa.types.is_dictionary(user.type):  # which may have names of users who are not there
        table = table.set_column(table.column_names.index("user"), "user", user.cast(user.type.value_type))
    location = table.column("location")
    if pa.types.is_dictionary(location.type) and not all(_is_sound(chunk.dictionary) for chunk in location.chunks):
        table = table.set_column(table.column_names.index("location"), "location", location.cast(pa.string()))
    for name, to in (("location", pa.string()), ("count", pa.int64())):
        table = table.set_column(table.column_names.index(name), name, _cast(table, name, to))
    return table


def _is_sound(names: Array) -> bool:
    """Whether a number of a dictionary is as good as its name."""
    return bool(names.null_count == 0 and len(names.unique()) == len(names))


def _cast(table: Table, name: str, to: DataType) -> Array:
    column = table.column(name)
    if column.type == to or (pa.types.is_dictionary(column.type) and column.type.value_type == to):
        return column
    try:
        return column.cast(to)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"the column {name!r} is of type {column.type}; {to} is needed") from None


def _starts(values: Array) -> Ints:
    """Where another value begins."""
    differs = pc.fill_null(pc.not_equal(values[1:], values[:-1]), True).to_numpy(zero_copy_only=False)
    return np.append(0, 1 + np.flatnonzero(differs))


def users_of(table: Table) -> Users:
    """The users whose rows these are, in the order of their first ones."""
    from elsewhere.engines.collect import collect_bins

    table = table.combine_chunks()
    user, location, count = (table.column(name).chunk(0) for name in _ROW)
    for name, column in zip(_ROW, (user, location, count), strict=True):
        if column.null_count:
            raise InputError(f"a row has no {name}")
    counts = count.to_numpy()
    if (counts < 0).any():
        at = int(np.flatnonzero(counts < 0)[0])
        whose, what = quote(user[at].as_py()), f"the count {counts[at]} at {quote(location[at].as_py())}"
        raise InputError(f"the user {whose} has {what}; counts are not negative")
    users, encoded = user.dictionary_encode(), location.dictionary_encode()
    spelt = encoded.dictionary.to_pylist()
    order = sorted(range(len(spelt)), key=spelt.__getitem__)
    rank = np.empty(len(spelt), np.int64)
    rank[order] = np.arange(len(spelt))
    of, where = users.indices.to_numpy().astype(np.int64), rank[encoded.indices.to_numpy()]
    # A copy, because Arrow's own may not be written to, which would be another type to compile for.
    offset, first, codes, counts, repeated = collect_bins(of, where, counts.copy(), len(users.dictionary))
    own = {name: table.column(name).chunk(0).take(pa.array(first)) for name in table.column_names if name not in _ROW}
    if repeated:
        offset, codes, counts = _added_up(offset, codes, counts)
    names, merged = [spelt[at] for at in order], np.zeros(len(users.dictionary), np.int64)
    index = NameIndex(names)
    if not index.distinct:
        place = np.array(index.positions_of(index), dtype=np.int64)
        offset, codes, counts, merged = _merged(offset, codes, counts, place)
    return Users(users.dictionary, offset, codes, names, counts, merged, own)


def _added_up(offset: Ints, codes: Ints, counts: Ints) -> tuple[Ints, Ints, Ints]:
    """The same bins with those of one user at one location added up."""
    of = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    first = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (of[1:] != of[:-1])))
    ends = np.append(0, np.cumsum(np.bincount(of[first], minlength=len(offset) - 1)))
    return ends.astype(np.int64), codes[first], np.add.reduceat(counts, first)


def _merged(offset: Ints, codes: Ints, counts: Ints, place: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The same bins with a user's spellings of one place added up under the commonest; how many went into another."""
    number = len(offset) - 1
    of = np.repeat(np.arange(number), np.diff(offset))
    by_place = np.lexsort((codes, -counts, place[codes], of))
    of, codes, counts = of[by_place], codes[by_place], counts[by_place]
    where = place[codes]
    first = np.flatnonzero(np.append(True, (where[1:] != where[:-1]) | (of[1:] != of[:-1])))
    merged = np.diff(offset) - np.bincount(of[first], minlength=number)
    of, codes, counts = of[first], codes[first], np.add.reduceat(counts, first)
    by_name = np.lexsort((codes, of))
    ends = np.append(0, np.cumsum(np.bincount(of, minlength=number)))
    return ends.astype(np.int64), codes[by_name], counts[by_name], merged


def column_of(users: Users, name: str) -> list[Any]:
    """What each user chose for a key of the policy; None for nothing."""
    values: list[Any] = users.own[name].to_pylist()
    return values
