"""What an attacker looks at: which places with what share, and the shape of the counts whatever the places."""

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

#: Counts up to this one are looked at one by one.
_SMALL = 8
#: Locations that trees are shown: they take no sparse matrix.
_SHOWN = 100


@dataclass(frozen=True)
class Features:
    """One row per histogram. Attackers scale and choose by the rows that are `known` to them, and no others."""

    #: By location, the number of visits: sparse.
    counts: csr_array
    #: By location, the root of its share of the visits: sparse.
    places: csr_array
    #: A few numbers about the counts as such, the size first.
    shape: Floats
    #: What inverting `hide` tells.
    inverted: Floats | None = None
    #: What somebody sees who knows what everybody does; it may depend on the rows that are known.
    informed: Callable[[Ints], Floats] | None = None

    @classmethod
    def of(cls, counts: csr_array, watched: Flags, informed: Callable[[Ints], Floats] | None = None) -> Features:
        """What is to be seen in histograms by somebody who watches out for some of the locations."""
        return cls(counts, _roots(counts), _shape(counts, watched), inverted(counts), informed)

    @classmethod
    def of_two(cls, first: csr_array, second: csr_array, watched: Flags) -> Features:
        """What is to be seen in the second of two releases, and in how it differs from the first."""
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
        """What is to be seen by somebody who is told these numbers and nothing else."""
        from scipy.sparse import csr_array

        nothing = csr_array((len(numbers), 0), dtype=np.float64)
        return cls(nothing, nothing, numbers)

    @classmethod
    def of_size(cls, counts: csr_array) -> Features:
        """What is to be seen by somebody who is told the size of the histogram and nothing else."""
        return cls.of_numbers(np.log(np.maximum(counts.sum(axis=1), 1))[:, None])

    def size(self, known: Ints, rows: Ints) -> Floats:
        """The size of the histograms in these rows, and nothing else."""
        return self.scaled(known, rows)[:, :1]

    def scaled(self, known: Ints, rows: Ints) -> Floats:
        """The shape, with numbers up to 1 for those who are known."""
        greatest = np.abs(self.shape[known]).max(axis=0)
        return self.shape[rows] / np.where(greatest > 0, greatest, 1.0)

    def everything(self, known: Ints, rows: Ints) -> csr_array:
        """The places with their shares, which of them were visited at all, and the shape: sparse."""
        from scipy.sparse import csr_array, hstack

        places = self.places[rows]
        both: csr_array = hstack(
            [places, places > 0, csr_array(self.scaled(known, rows))], format="csr", dtype=np.float64
        )
        both.indptr, both.indices = both.indptr.astype(np.int32), both.indices.astype(np.int32)
        return both

    def traces(self, known: Ints, rows: Ints) -> Floats:
        """The shape, and what inverting `hide` tells."""
        return self.shape[rows] if self.inverted is None else np.hstack([self.shape[rows], self.inverted[rows]])

    def knowledge(self, known: Ints, rows: Ints) -> Floats:
        """The traces, and what somebody sees who knows what everybody does."""
        assert self.informed is not None
        return np.hstack([self.traces(known, rows), self.informed(known)[rows]])

    def dense(self, known: Ints, rows: Ints) -> Floats:
        """The traces, and the counts at the places that most of those who are known visited."""
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
    """How much earlier among a user's names those with one more than a count come than those with that count."""
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
