"""The features that an attacker uses: places with their shares, and the shape of the counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.attacks.inversion import inverted
from elsewhere.attacks.table import entry_rows, with_counts
from elsewhere.model.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Counts up to this one have features of their own.
_SMALL = 8
#: The most locations for decision trees, which do not accept a sparse matrix.
_SHOWN = 100


@dataclass(frozen=True)
class Features:
    """One row per histogram. Attackers scale and select features only by the rows that are `known` to them."""

    #: By location, the number of visits: sparse.
    counts: csr_array
    #: By location, the root of its share of the visits: sparse.
    places: csr_array
    #: A few numbers about the counts as such, the size first.
    shape: Floats
    #: Features from inverting `hide`.
    inverted: Floats | None = None
    #: Features for an attacker who knows what everybody does; they may depend on the known rows.
    informed: Callable[[Ints], Floats] | None = None

    @classmethod
    def of(cls, counts: csr_array, watched: Flags, informed: Callable[[Ints], Floats] | None = None) -> Features:
        """The features of histograms, for an attacker who is interested in some of the locations."""
        return cls(counts, _roots(counts), _shape(counts, watched), inverted(counts), informed)

    @classmethod
    def of_two(cls, first: csr_array, second: csr_array, watched: Flags) -> Features:
        """The features of the second of two releases, and of its difference from the first."""
        from scipy.sparse import hstack

        change = second - first
        falls = np.maximum(-change.data, 0)
        fallen = np.bincount(entry_rows(change), falls, minlength=change.shape[0])
        risen = with_counts(change, np.maximum(change.data, 0))
        counts, places = (hstack(both, format="csr") for both in ([second, risen], [_roots(second), _roots(risen)]))
        shape = np.column_stack([_shape(second, watched), _shape(risen, watched), np.log1p(fallen)])
        return cls(counts, places, shape, np.column_stack([inverted(second), inverted(first)]))

    @classmethod
    def of_numbers(cls, numbers: Floats) -> Features:
        """The features for an attacker who gets only these numbers."""
        from scipy.sparse import csr_array

        nothing = csr_array((len(numbers), 0), dtype=np.float64)
        return cls(nothing, nothing, numbers)

    @classmethod
    def of_size(cls, counts: csr_array) -> Features:
        """The features for an attacker who gets only the size of the histogram."""
        return cls.of_numbers(np.log(np.maximum(counts.sum(axis=1), 1))[:, None])

    def size(self, known: Ints, rows: Ints) -> Floats:
        """Only the size of the histograms in these rows."""
        return self.scaled(known, rows)[:, :1]

    def scaled(self, known: Ints, rows: Ints) -> Floats:
        """The shape, scaled to at most 1 for the known rows."""
        greatest = np.abs(self.shape[known]).max(axis=0)
        return self.shape[rows] / np.where(greatest > 0, greatest, 1.0)

    def everything(self, known: Ints, rows: Ints) -> csr_array:
        """The shares of places, whether they were visited at all, and the shape; sparse."""
        from scipy.sparse import csr_array, hstack

        places = self.places[rows]
        both: csr_array = hstack(
            [places, places > 0, csr_array(self.scaled(known, rows))], format="csr", dtype=np.float64
        )
        both.indptr, both.indices = both.indptr.astype(np.int32), both.indices.astype(np.int32)
        return both

    def traces(self, known: Ints, rows: Ints) -> Floats:
        """The shape, and the features from inverting `hide`."""
        return self.shape[rows] if self.inverted is None else np.hstack([self.shape[rows], self.inverted[rows]])

    def knowledge(self, known: Ints, rows: Ints) -> Floats:
        """The traces, and the features for an attacker who knows what everybody does."""
        assert self.informed is not None
        return np.hstack([self.traces(known, rows), self.informed(known)[rows]])

    def dense(self, known: Ints, rows: Ints) -> Floats:
        """The traces, and the counts at the places that most known users visited."""
        visited = np.bincount(self.counts[known].indices, minlength=self.counts.shape[1])
        often = np.sort(np.argsort(-visited, kind="stable")[:_SHOWN])
        return np.hstack([self.traces(known, rows), self.counts[rows][:, often].toarray()])


def _roots(counts: csr_array) -> csr_array:
    shares = counts.data / counts.sum(axis=1)[entry_rows(counts)]
    return with_counts(counts, np.sqrt(shares))


def _shape(counts: csr_array, watched: Flags) -> Floats:
    """Size, length, the greatest count, small counts, ties, remainders and the order of names.

    A release rounds many counts at once and breaks ties by name: multiples, gaps between counts, and higher counts at
    the names that sort first may show that.
    """
    rows, data = entry_rows(counts), counts.data
    users = counts.shape[0]
    lengths = np.maximum(np.diff(counts.indptr), 1)
    sizes = np.maximum(counts.sum(axis=1), 1)

    def share(which: Flags) -> Floats:
        return np.bincount(rows[which], minlength=users) / lengths

    greatest = np.zeros(users)
    np.maximum.at(greatest, rows, data)
    distinct = np.unique(np.column_stack([rows, data]), axis=0)
    small = [share(data == count) for count in range(1, _SMALL + 1)]
    return np.column_stack(
        [
            np.log(sizes),
            np.log(lengths),
            greatest / sizes,
            np.bincount(rows, (data / sizes[rows]) ** 2, minlength=users),
            np.bincount(distinct[:, 0], minlength=users) / lengths,
            *small,
            *(share((data > 1) & (data % divisor == 0)) for divisor in (2, 3)),
            *(_name_order(counts, count) for count in (1, 2, 3)),
            np.bincount(rows, watched[counts.indices] * data, minlength=users) / sizes,
        ]
    )


def _name_order(counts: csr_array, count: int) -> Floats:
    """How much earlier, among a user's names, those with count k + 1 come than those with count k."""
    rows, users = entry_rows(counts), counts.shape[0]
    place = (np.arange(counts.nnz) - counts.indptr[rows]) / np.maximum(np.diff(counts.indptr), 1)[rows]
    means = []
    for value in (count, count + 1):
        which = counts.data == value
        number = np.bincount(rows[which], minlength=users)
        total = np.bincount(rows[which], place[which], minlength=users)
        means.append(np.divide(total, number, out=np.full(users, np.nan), where=number > 0))
    earlier: Floats = np.nan_to_num(means[0] - means[1])
    return earlier
