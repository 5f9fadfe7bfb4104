"""Turn rows into tables of whole users: one row per location, in columns of fixed types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from elsewhere.engines.arrow import Array, Batch, DataType, Table, pa, pc, to_numpy
from elsewhere.model.arrays import Ints
from elsewhere.model.errors import InputError
from elsewhere.text import quote

#: Tables that are joined without a copy: with more, each of them would cost more than copying its rows.
_FEW_TABLES = 16


def whole_users(batches: Iterable[Batch], together: Sequence[str], most: int) -> Iterator[Table]:
    """The rows of some whole users at a time, from batches in which the rows of a user, or of some users, are together.

    The batches have a location and a count, or lists of locations and of counts. `together` names the columns whose
    equal values are together. Each table has about `most` rows.
    """
    waiting: list[Table] = []
    rows = 0
    for batch in batches:
        table = _long(pa.Table.from_batches([batch]), together)
        # Cut at the first possible row, so that the cuts do not depend on the batches.
        cut, first = 0, _starts(table, together, waiting[-1] if waiting else None)
        while (at := np.searchsorted(first, cut + max(most - rows, 0))) < len(first):
            yield _joined([*waiting, table.slice(cut, first[at] - cut)])
            cut, waiting, rows = first[at], [], 0
        if cut < len(table):
            waiting.append(table.slice(cut))
            rows += len(table) - cut
    if waiting:
        yield _joined(waiting)


def _joined(tables: list[Table]) -> Table:
    """Join tables whose columns have the same types, except that locations may be encoded in some of them."""
    if len({table.schema.field("location").type for table in tables}) > 1:
        tables = [_with(table, "location", _cast(table, "location", pa.string())) for table in tables]
    try:
        joined = pa.concat_tables(tables)
        return joined if len(tables) <= _FEW_TABLES else joined.combine_chunks()
    except pa.ArrowInvalid:
        raise _disagreement(tables) from None


def _disagreement(tables: list[Table]) -> InputError:
    first = tables[0].schema
    other = next(table.schema for table in tables if not table.schema.equals(first))
    if first.names != other.names:
        return InputError(f"batches have different columns: {quote(first.names)} and {quote(other.names)}")
    name = next(field.name for field in first if other.field(field.name).type != field.type)
    types = f"{first.field(name).type} and {other.field(name).type}"
    return InputError(f"the column {quote(name)} is of different types in different batches: {types}")


def _long(table: Table, together: Sequence[str]) -> Table:
    """One row per location, in columns of the fixed types."""
    for name in (*together, "location", "count"):
        if name not in table.column_names:
            raise InputError(f"the column {quote(name)} is missing; there are {quote(table.column_names)}")
    for name in table.column_names:
        if pa.types.is_string_view(table.schema.field(name).type):  # Arrow cannot select rows of this type
            table = _with(table, name, _cast(table, name, pa.string()))
    for name in together:
        table = _with(table, name, _key(table, name))
    if is_list(table.schema.field("location").type):
        table = _exploded(table, together[0])
    return _with(_with(table, "location", _location(table)), "count", _cast(table, "count", pa.int64()))


def _exploded(table: Table, user: str) -> Table:
    """One row per location, from lists of locations and counts. A user with empty lists keeps one row with count 0."""
    if not is_list(table.schema.field("count").type):
        raise _unfit(table, "count", "give lists, as for the locations")
    table = table.combine_chunks()
    lengths = [pc.list_value_length(table.column(name)).fill_null(0) for name in ("location", "count")]
    if not lengths[0].equals(lengths[1]):
        at = pc.index(pc.not_equal(*lengths), True).as_py()
        numbers = f"{lengths[0][at]} locations and {lengths[1][at]} counts"
        raise InputError(f"the user {quote(table.column(user)[at].as_py())} has {numbers}")
    length = lengths[0].to_numpy()
    of = pa.array(np.repeat(np.arange(len(table)), length))
    flat = {name: pc.list_flatten(table.column(name)) for name in ("location", "count")}
    others = [name for name in table.column_names if name not in flat]
    rows = pa.table({**{name: table.column(name).take(of) for name in others}, **flat})
    if length.all():
        return rows
    without = table.select(others).take(pa.array(np.flatnonzero(length == 0)))
    nowhere = pa.array([""] * len(without)).cast(rows.schema.field("location").type)
    nothing = pa.array([0] * len(without)).cast(rows.schema.field("count").type)
    without = without.append_column("location", nowhere).append_column("count", nothing)
    return pa.concat_tables([rows, without]).take(pa.array(np.argsort(np.append(of, np.flatnonzero(length == 0)))))


def _key(table: Table, name: str) -> Array:
    """A key as plain values, because a dictionary may have names of other users."""
    column = table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        kind = pa.string()
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        raise _unfit(table, name, "give text or numbers")
    return _cast(table, name, kind)


def _location(table: Table) -> Array:
    """The locations as text; encoded ones stay encoded if their dictionary has no duplicates."""
    column = table.column("location")
    if not pa.types.is_dictionary(column.type) or column.type.value_type != pa.string():
        return _cast(table, "location", pa.string())
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    sound = all(names.null_count == 0 and len(names.unique()) == len(names) for names in dictionaries)
    return column if sound else _cast(table, "location", pa.string())


def is_list(kind: DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _cast(table: Table, name: str, to: DataType) -> Array:
    """The column as plain values of a type."""
    column = table.column(name)
    try:
        if not pa.types.is_dictionary(column.type):
            return column if column.type == to else column.cast(to)
        # Arrow cannot decode every dictionary that it can cast.
        return pa.chunked_array([chunk.dictionary.cast(to).take(chunk.indices) for chunk in column.chunks], to)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _unfit(table, name, f"it must be {to}") from None


def _unfit(table: Table, name: str, needed: str) -> InputError:
    return InputError(f"the column {quote(name)} is of type {table.schema.field(name).type}; {needed}")


def _with(table: Table, name: str, column: Array) -> Table:
    """The table with the column of this name replaced."""
    return table if column is table.column(name) else table.set_column(table.column_names.index(name), name, column)


def _starts(table: Table, together: Sequence[str], before: Table | None) -> Ints:
    """The rows whose values differ from the row before. `before` is the last row of the previous table, if any."""
    differs = np.zeros(len(table), np.bool_)
    for name in together:
        values = table.column(name).combine_chunks()
        if pa.types.is_integer(values.type) and not values.null_count:
            numbers = to_numpy(values)
            differs[1:] |= numbers[1:] != numbers[:-1]
        else:
            differs[1:] |= pc.fill_null(pc.not_equal(values[1:], values[:-1]), True).to_numpy(zero_copy_only=False)
        if before is not None and len(table):
            last, first = before.column(name)[-1], values[0]
            differs[0] |= not first.is_valid or not last.is_valid or first.as_py() != last.as_py()
    return np.flatnonzero(differs)


class Seen:
    """The hashes of all users so far. If a user appears again, the user's rows were not together."""

    def __init__(self) -> None:
        self._hashes = np.zeros(0, np.int64)

    def add(self, keys: Batch) -> None:
        """Add users; raise if one of them has appeared before."""
        columns = [column.to_pylist() for column in keys.columns]
        hashes = np.fromiter(map(hash, zip(*columns, strict=True)), np.int64, len(keys))
        if len(self._hashes):
            at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            again = np.flatnonzero(self._hashes[at] == hashes)
            if len(again):
                who = quote(columns[0][again[0]])
                raise InputError(f"the rows of the user {who} are not together; sort the rows by user")
        self._hashes = np.sort(np.append(self._hashes, hashes))
