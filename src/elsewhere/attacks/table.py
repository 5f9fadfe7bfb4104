"""The histograms of many users as one sparse matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.names import NameIndex
from elsewhere.text import quote

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: With more visits of one user, products of counts would not fit into 64 bits.
_MOST_VISITS = 2**31 - 1


@dataclass(frozen=True)
class Table:
    """One row per user with at least one visit, and one column per location, in the order of the names."""

    locations: tuple[str, ...]
    counts: csr_array
    #: The number of users without visits, who are left out.
    empty: int
    #: The names of the users, in their order.
    users: tuple[str, ...] = ()

    @classmethod
    def of(cls, users: Mapping[str, TableLike], others: Iterable[str] = ()) -> Table:
        """The histograms of users by name; `others` are locations that get a column even if nobody was there.

        >>> table = Table.of({"bob": {"spa": 4}, "ann": {"gym": 2, "spa": 1}, "eve": {"gym": 0}})
        >>> table.locations, table.counts.toarray().tolist(), table.empty
        (('gym', 'spa'), [[2, 1], [0, 4]], 1)
        """
        from scipy.sparse import csr_array

        _check_users(users)
        found = {user: history for user in sorted(users) if (history := _histogram(user, users[user])).size}
        rows = list(found.values())
        if not rows:
            raise InputError(f"none of the {len(users)} users has a visit, so there are no releases to attack")
        names = NameIndex(sorted(set(others).union(*(history.locations for history in rows))))
        place = {name: names.find(name) or name for name in names.names}  # the first of several spellings
        locations = tuple(sorted(set(place.values())))
        column = {name: at for at, name in enumerate(locations)}
        number = {name: column[meant] for name, meant in place.items()}
        offset = np.cumsum([0, *(history.length for history in rows)])
        columns = np.fromiter((number[name] for history in rows for name in history.locations), np.int64, offset[-1])
        counts = np.concatenate([history.counts for history in rows])
        matrix = csr_array((counts, columns, offset), shape=(len(rows), len(locations)))
        matrix.eliminate_zeros()
        return cls(locations, matrix, len(users) - len(rows), tuple(found))

    def totals(self) -> Histogram:
        """The visits of all users together."""
        return Histogram(zip(self.locations, self.counts.sum(axis=0).tolist(), strict=True))

    def columns(self, names: Iterable[str]) -> Flags:
        """The columns with these names."""
        chosen = set(names)
        return np.array([name in chosen for name in self.locations], dtype=np.bool_)


def as_histogram(locations: tuple[str, ...], counts: csr_array, row: int) -> Histogram:
    """A row of counts with the names of its locations."""
    entries = slice(counts.indptr[row], counts.indptr[row + 1])
    names = [locations[at] for at in counts.indices[entries]]
    return Histogram(zip(names, counts.data[entries].tolist(), strict=True))


def entry_rows(counts: csr_array) -> Ints:
    """The row of each entry."""
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))


def with_counts(counts: csr_array, data: Ints | Floats) -> csr_array:
    """The matrix with other numbers at its entries; zeros are removed."""
    from scipy.sparse import csr_array

    changed = csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)
    changed.eliminate_zeros()
    return changed


def _check_users(users: object) -> None:
    if not isinstance(users, Mapping):
        raise InputError(f"users is {quote(users)}; give a mapping from users to histograms, as read_users returns")
    for user in users:
        if not isinstance(user, str):
            raise InputError(f"users has the name {quote(user)}, which is not a string")


def _histogram(user: str, counts: TableLike) -> Histogram:
    try:
        history = counts if isinstance(counts, Histogram) else Histogram(counts)
    except InputError as error:
        raise InputError(f"the user {quote(user)}: {error}") from None
    if history.size > _MOST_VISITS:
        raise InputError(f"the user {quote(user)} has {history.size} visits; at most {_MOST_VISITS} are supported")
    return history
