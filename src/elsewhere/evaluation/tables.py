"""Two tables of users' histograms, original and sanitized, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.evaluation.choices import check_whole
from elsewhere.histories import read_users
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import align
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.text import quote

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Tables:
    """The histograms of the users who are in both tables, over the union of all locations.

    An entry is a location that a user has in either histogram; those of user u are offset[u]:offset[u + 1].
    """

    users: tuple[str, ...]
    locations: tuple[str, ...]
    offset: Ints
    #: For each entry: the number of its location, its count in either histogram, and whether the original has it.
    location: Ints
    before: Ints
    after: Ints
    in_original: Flags
    #: The number of users without visits in the original, and of other users without any in the sanitized table.
    empty: int
    unreleased: int
    #: The number of users who are only in the sanitized table.
    unknown: int

    @classmethod
    def read(
        cls,
        original: str | PathLike[str],
        sanitized: str | PathLike[str],
        *,
        user_column: str | None = None,
        location_column: str | None = None,
        count_column: str | None = None,
    ) -> Tables:
        """Read the tables from two files, or from folders of Parquet parts such as `batch` writes.

        Parameters
        ----------
        original
            The table of the original histograms: user, location and count, or one row per visit.
        sanitized
            The table of the releases: user, location and count.
        user_column
            The column of `original` with the users. Default: a column with a usual name, such as user.
        location_column
            The column of `original` with the locations. Default: a column with a usual name, such as location.
        count_column
            The column of `original` with the counts. Default: a column with a usual name, such as count; without one,
            each row is one visit.
        """
        columns = {"user_column": user_column, "location_column": location_column, "count_column": count_column}
        return cls.of(_read(original, columns), _read(sanitized, {}))

    @classmethod
    def of(cls, original: Mapping[str, TableLike], sanitized: Mapping[str, TableLike]) -> Tables:
        """Put the histograms of users side by side; `original` and `sanitized` map users to histograms.

        >>> tables = Tables.of({"ann": {"gym": 2, "spa": 1}, "bob": {"spa": 4}}, {"ann": {"gym": 3}})
        >>> tables.users, tables.locations, tables.before.tolist(), tables.after.tolist(), tables.unreleased
        (('ann',), ('gym', 'spa'), [2, 1], [3, 0], 1)
        """
        visits = {user: history for user in sorted(original) if (history := _histogram(user, original[user])).size}
        releases = {user: _histogram(user, sanitized[user]) for user in visits if user in sanitized}
        users = tuple(user for user in visits if user in releases and releases[user].size)
        if not users:
            raise InputError(
                f"no user has visits in both tables; the original has the users {quote(sorted(original))}, "
                f"the sanitized table has {quote(sorted(sanitized))}"
            )
        unions = [visits[user].index.union(releases[user].index) for user in users]
        locations = tuple(sorted(set().union(*(union.names for union in unions))))
        number = {name: at for at, name in enumerate(locations)}
        pairs = [(visits[user], releases[user], union) for user, union in zip(users, unions, strict=True)]
        return cls(
            users,
            locations,
            offset=np.cumsum([0, *(len(union.names) for union in unions)], dtype=np.int64),
            location=np.array([number[name] for union in unions for name in union.names], dtype=np.int64),
            before=np.concatenate([align(union, h.index, h.counts) for h, _, union in pairs]),
            after=np.concatenate([align(union, x.index, x.counts) for _, x, union in pairs]),
            in_original=np.array([name in h for h, _, union in pairs for name in union.names], dtype=np.bool_),
            empty=len(original) - len(visits),
            unreleased=len(visits) - len(users),
            unknown=len(sanitized.keys() - original.keys()),
        )

    def by_kind(self, taxonomy: Taxonomy, depth: int = 1) -> Tables:
        r"""Return the tables with the counts of each user added up by kind of place.

        Parameters
        ----------
        taxonomy
            The tree of kinds. A location is looked up as `TreeDistance` does.
        depth
            The level, counted from 1 at the top. A location above that level, or one that the taxonomy does not have,
            is a kind of its own. Default: the top level.

        >>> from elsewhere import Taxonomy
        >>> kinds = Taxonomy.parse("kinds.txt", b"Food\n  Bakery\n  Restaurant\nSport\n  Gym\n")
        >>> tables = Tables.of({"ann": {"Bakery": 2, "Restaurant": 1, "Gym": 4}}, {"ann": {"Bakery": 3, "Gym": 4}})
        >>> added = tables.by_kind(kinds)
        >>> added.locations, added.before.tolist(), added.after.tolist()
        (('Food', 'Sport'), [3, 4], [3, 4])
        """
        if not isinstance(taxonomy, Taxonomy):
            raise InputError(f"taxonomy is {quote(taxonomy)}; it must be a Taxonomy", ("taxonomy",))
        check_whole("depth", depth, 1)
        return next(self.by_kinds(taxonomy, [depth]))

    def by_kinds(self, taxonomy: Taxonomy, depths: Iterable[int]) -> Iterator[Tables]:
        """Iterate over the tables of `by_kind` at several levels; every location is looked up only once.

        Parameters
        ----------
        taxonomy
            The tree of kinds.
        depths
            The levels, counted from 1 at the top.
        """
        names = {node.id: node.name for _, node in taxonomy.tree()}
        paths = [taxonomy.path(location) for location in self.locations]
        for depth in depths:
            # Nodes may share a name, and a location may have the name of a node: the tuples distinguish them.
            keys: list[tuple[str, ...]] = [
                (names[path[depth - 1]], path[depth - 1]) if len(path) >= depth else (location,)
                for location, path in zip(self.locations, paths, strict=True)
            ]
            kinds = sorted(set(keys))
            number = {kind: at for at, kind in enumerate(kinds)}
            yield self._added_up(np.array([number[key] for key in keys]), tuple(kind[0] for kind in kinds))

    def _added_up(self, kind: Ints, names: tuple[str, ...]) -> Tables:
        """The tables over kinds with these names, given the number of the kind of each location."""
        entries, which = np.unique(self.rows * len(names) + kind[self.location], return_inverse=True)

        def total(values: Ints | Flags) -> Ints:
            sums = np.zeros(len(entries), dtype=np.int64)
            np.add.at(sums, which, values)
            return sums

        return replace(
            self,
            locations=names,
            offset=np.searchsorted(entries, np.arange(len(self.users) + 1) * len(names)),
            location=entries % len(names),
            before=total(self.before),
            after=total(self.after),
            in_original=total(self.in_original) > 0,
        )

    @property
    def rows(self) -> Ints:
        """The number of the user of each entry."""
        return np.repeat(np.arange(len(self.users)), np.diff(self.offset))

    def sums(self, values: Floats | Ints) -> Floats:
        """Return the sum of `values`, one for each entry, over the entries of each user."""
        return np.add.reduceat(values.astype(np.float64), self.offset[:-1])

    def matrices(self) -> tuple[csr_array, csr_array]:
        """Return the positive counts before and after as sparse matrices: one row per user, one column per location."""
        from scipy.sparse import csr_array

        shape = (len(self.users), len(self.locations))
        both = [
            csr_array((counts.astype(np.float64), self.location, self.offset), shape=shape, copy=True)
            for counts in (self.before, self.after)
        ]
        for matrix in both:
            matrix.eliminate_zeros()
        return both[0], both[1]


def _read(path: str | PathLike[str], columns: Mapping[str, str | None]) -> dict[str, Counter[str]]:
    """The counts of every user in a file, or in the Parquet parts of a folder."""
    if path == "-" or not Path(path).is_dir():
        return read_users(path, **columns)
    parts = sorted(Path(path).glob("*.parquet"))
    if not parts:
        raise InputError(f"the folder {quote(str(path))} has no Parquet files")
    histories: dict[str, Counter[str]] = {}
    for part in parts:
        for user, counts in read_users(part, **columns).items():
            known = histories.setdefault(user, counts)
            if known is not counts:
                known.update(counts)
    return histories


def _histogram(user: str, counts: TableLike) -> Histogram:
    try:
        return counts if isinstance(counts, Histogram) else Histogram(counts)
    except InputError as error:
        raise InputError(f"the user {quote(user)}: {error}") from None
