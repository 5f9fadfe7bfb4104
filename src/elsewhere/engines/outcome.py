"""The results of users: their releases and private outcomes, as Arrow batches."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsewhere.engines.answers import Answer
from elsewhere.engines.arrow import Array, Batch, DataType, Field, Schema, from_numpy, from_texts, pa, pc, to_numpy
from elsewhere.engines.plans import PERSONAL, Covering
from elsewhere.engines.users import Users
from elsewhere.model.arrays import Ints
from elsewhere.model.errors import InputError
from elsewhere.model.result import Sanitized
from elsewhere.text import quote

_TEXT = pa.string()
#: The start of the reason for a user whose release failed its check, which is a defect of this package.
FAILED_CHECK = "the release failed its check"
#: A flag that is missing.
_UNKNOWN = -1


def result_schema(keys: Iterable[Field], location: DataType = _TEXT) -> Schema:
    """One row per user: the keys, the release (null if there is none) and the private outcome."""
    return pa.schema(
        [
            *keys,
            pa.field("location", pa.list_(location)),
            pa.field("count", pa.list_(pa.int64())),
            pa.field("status", pa.string()),
            pa.field("quality_loss", pa.float64()),
            pa.field("privacy_distance", pa.float64()),
            pa.field("gap", pa.float64()),
            pa.field("hidden", pa.map_(pa.string(), pa.int64())),
            pa.field("merged_spellings", pa.int64()),
            pa.field("has_secret", pa.bool_()),
            pa.field("is_shared", pa.bool_()),
            pa.field("pair_price", pa.float64()),
            pa.field("reason", pa.string()),
        ]
    )


def key_names(schema: Schema) -> list[str]:
    """The key columns of a result: the user, and further keys if there are any."""
    names: list[str] = schema.names
    return names[: names.index("location")]


def check_keys(keys: Sequence[str]) -> None:
    """Raise if a key has the name of another key, of a column of the results, or of a user's own choice."""
    others = [*result_schema(()).names, *PERSONAL]
    for at, name in enumerate(keys):
        if name in keys[:at]:
            raise InputError(f"the key {quote(name)} is given twice", ("keys",))
        if name in others or name.startswith("__"):
            raise InputError(f"the key {quote(name)} has the name of another output column; rename it", ("keys",))


def releases(results: Batch) -> Batch:
    """Only the releases: keys, location and count, one row per location. If locations are encoded, so are keys."""
    some = results.column("location").null_count > 0
    given = results.filter(pc.is_valid(results.column("location"))) if some else results
    lengths = to_numpy(pc.list_value_length(given.column("location")))
    rows = from_numpy(np.repeat(np.arange(len(given), dtype=np.int32), lengths))
    location, count = (given.column(name).flatten() for name in ("location", "count"))
    encoded, names = pa.types.is_dictionary(location.type), key_names(results.schema)
    keys = [given.column(name) for name in names]
    if not encoded:
        keys = [key.take(rows) for key in keys]
    elif len(keys) == 1:  # there is one row per user, so the values are the dictionary
        keys = [pa.DictionaryArray.from_arrays(rows, keys[0])]
    else:
        keys = [key.dictionary_encode().take(rows) for key in keys]
    location = _without_others(location) if encoded else location
    return pa.record_batch([*keys, location, count], names=[*names, "location", "count"])


def _without_others(encoded: Array) -> Array:
    """The same values with a sorted dictionary that has no other names, because those are not released."""
    codes = to_numpy(encoded.indices)
    used = np.flatnonzero(np.bincount(codes, minlength=len(encoded.dictionary)))
    names = encoded.dictionary.take(from_numpy(used))
    order = pc.array_sort_indices(names)
    rank = np.empty(len(encoded.dictionary), np.int32)
    rank[used[to_numpy(order)]] = np.arange(len(used), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(from_numpy(rank[codes]), names.take(order))


def outcomes(results: Batch) -> Batch:
    """Only the private outcomes: one row per user, without the histogram."""
    return results.select([name for name in results.schema.names if name not in ("location", "count")])


class Asked(NamedTuple):
    """The question and answer of a user, and the numbers of the users with the same histogram and answer."""

    question: Hashable
    answer: Answer
    copies: list[int]


class Outcome:
    """The results of some users: flat rows of releases, and one value of each figure per user."""

    def __init__(self, users: Users) -> None:
        number = len(users.keys)
        self.names = users.names
        self.merged = users.merged
        self.rows: list[tuple[Ints, Ints, Ints]] = []
        self.status = np.full(number, "none", dtype=object)
        self.quality_loss = np.full(number, math.nan)
        self.privacy_distance = np.full(number, math.nan)
        self.gap = np.full(number, math.nan)
        #: Visits at sensitive locations, by the policy's name for them: numbers of users, names, visits.
        self.hidden: list[tuple[Ints, list[str], Ints]] = []
        self.reason = np.full(number, None, dtype=object)
        #: For shared releases: whether users have the secret, whether they are in a pair, and their prices.
        self.has_secret = np.full(number, _UNKNOWN, np.int8)
        self.is_shared = np.full(number, _UNKNOWN, np.int8)
        self.pair_price = np.full(number, math.nan)
        #: The answers that were found user by user.
        self.results: dict[int, Sanitized] = {}
        #: The answers that other users may share.
        self.asked: dict[int, Asked] = {}

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each name; names that no user has are added."""
        return {name: at for at, name in enumerate(self.names)}

    def note(self, user: int, answer: Answer) -> None:
        """Record the answer of one user."""
        self.status[user], self.reason[user] = answer.status, answer.reason
        figures = (answer.quality_loss, answer.privacy_distance, answer.gap)
        for column, figure in zip((self.quality_loss, self.privacy_distance, self.gap), figures, strict=True):
            column[user] = math.nan if figure is None else figure
        if answer.counts is not None:
            location = np.array([self.number.setdefault(name, len(self.number)) for name in answer.locations], np.int64)
            self.rows.append((np.full(len(location), user), location, answer.counts))

    def numbered(self, names: Sequence[str], location: Ints) -> Ints:
        """The number of each location, which is given by its number among `names`."""
        numbers = np.full(len(names), -1)
        for at in np.flatnonzero(np.bincount(location)).tolist():
            numbers[at] = self.number.setdefault(names[at], len(self.number))
        return numbers[location]

    def gathered_rows(self) -> tuple[Ints, Ints, Ints]:
        """The numbers of users, the numbers of locations, and the counts, sorted by user and then by location."""
        if len(self.rows) == 1:
            return self.rows[0]
        nothing = (np.zeros(0, np.int64),) * 3
        of, location, count = (np.concatenate(column) for column in zip(*self.rows or [nothing], strict=True))
        order = np.argsort(of, kind="stable")
        of, location, count = of[order], location[order], count[order]
        self.rows = [(of, location, count)]
        return of, location, count

    def refuse(self, refused: Mapping[int, str]) -> None:
        """Remove the releases of users, with a reason for each user."""
        users = list(refused)
        self.status[users], self.reason[users] = "none", list(refused.values())
        for figures in (self.quality_loss, self.privacy_distance, self.gap):
            figures[users] = math.nan
        of, location, count = self.gathered_rows()
        kept = ~np.isin(of, users)
        self.rows = [(of[kept], location[kept], count[kept])]

    def count_hidden(self, asked: Sequence[str], member: Ints, counts: Ints, codes: Ints, covering: Covering) -> None:
        """Record how many visits of each user each sensitive name of a policy covers.

        `member`, `counts` and `codes` have the user, the count and the index in `covering` of each row.
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
        """For each user, the visits that each sensitive name hid."""
        of = np.concatenate([np.zeros(0, np.int64), *(user for user, _, _ in self.hidden)])
        names = list(chain.from_iterable(name for _, name, _ in self.hidden))
        visits = np.concatenate([np.zeros(0, np.int64), *(visits for _, _, visits in self.hidden)])
        order = np.argsort(of, kind="stable")
        offset = from_numpy(np.append(0, np.cumsum(np.bincount(of, minlength=users))).astype(np.int32))
        return pa.MapArray.from_arrays(offset, from_texts(names).take(from_numpy(order)), from_numpy(visits[order]))

    def batch(self, keys: Batch) -> Batch:
        """The results of the users, who are the rows of `keys`."""
        of, location, count = self.gathered_rows()
        # Names were added in the order of the users, which may vary; the same rows must give the same bytes.
        known = list(self.number) if "number" in vars(self) else self.names
        names = sorted(known)
        if names != known:
            rank = {name: at for at, name in enumerate(names)}
            location = np.array([rank[name] for name in known])[location]
        offset = from_numpy(np.append(0, np.cumsum(np.bincount(of, minlength=len(keys)))).astype(np.int32))
        without = from_numpy(self.status == "none")
        codes = from_numpy(location.astype(np.int32))
        locations = pa.DictionaryArray.from_arrays(codes, from_texts(names))
        return pa.RecordBatch.from_arrays(
            [
                *keys.columns,
                pa.ListArray.from_arrays(offset, locations, mask=without),
                pa.ListArray.from_arrays(offset, from_numpy(count), mask=without),
                from_texts(self.status.tolist()),
                *(from_numpy(it, np.isnan(it)) for it in (self.quality_loss, self.privacy_distance, self.gap)),
                self._hidden(len(keys)),
                from_numpy(self.merged),
                _flags(self.has_secret),
                _flags(self.is_shared),
                from_numpy(self.pair_price, np.isnan(self.pair_price)),
                from_texts(self.reason.tolist()) if self.reason.any() else pa.nulls(len(keys), _TEXT),
            ],
            schema=result_schema(keys.schema, locations.type),
        )


def _flags(values: NDArray[np.int8]) -> Array:
    """Flags, some of which may be missing."""
    return from_numpy(values > 0, values == _UNKNOWN)
