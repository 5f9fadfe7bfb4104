"""Inversion: how many visits may be hidden in a histogram, for an attacker who knows how `hide` spreads them.

Hiding K visits by JS-divergence gives each next visit to the place where it costs least, and among equal places to the
first by name. So a release is a state of a known procedure. Its last visit had some price: every place has received all
visits below that price and none above it, and of the places at exactly that price, those that sort first have received
theirs. Given the price, the true count of each place is in an interval. A number K is consistent if some price and some
true counts lead to the histogram with K visits. A genuine histogram is consistent with K = 0 and seldom with much more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Places with more visits than this are left out: they are consistent with nearly everything, and are slow.
_MOST = 400


def inverted(counts: csr_array) -> Floats:
    """For each row, the largest consistent K: its logarithm, its share of the visits, and whether it is above 0."""
    rows = np.split(counts.data, counts.indptr[1:-1])
    hidden = np.array([largest_hidden(row) for row in rows], np.float64)
    sizes = np.maximum(counts.sum(axis=1), 1)
    return np.column_stack([np.log1p(hidden), hidden / sizes, hidden > 0])


def largest_hidden(counts: Ints) -> int:
    """The largest number of visits that `hide` may have spread over these counts, given in the order of names."""
    return int(hidden_ranges(counts)[:, 1].max())


def hidden_ranges(counts: Ints) -> Ints:
    """All consistent numbers of visits as ranges: one row per range, with the least and the greatest number.

    >>> hidden_ranges(np.array([2, 1])).tolist()  # the first by name got the one visit, if there was one
    [[0, 0], [1, 1]]
    >>> hidden_ranges(np.array([1, 2])).tolist()
    [[0, 0]]
    """
    counts = counts[counts <= _MOST]
    nothing = np.zeros((1, 2), np.int64)
    values, which = np.unique(counts, return_inverse=True)
    if not len(values) or values[-1] == 1:
        return nothing
    steps = [_price(np.arange(1, value + 1), value) for value in values]  # of the next visit, by true count
    taken = [_price(np.arange(1, value), value - 1) for value in values]  # of the last visit, where there was one
    prices = np.unique(np.concatenate(taken))
    prices = prices[prices <= min(step[0] for step in steps)]  # no place may have a cheaper next visit
    if not len(prices):
        return nothing
    true = [_true_counts(*each, prices) for each in zip(taken, steps, strict=True)]
    least, tied_least, most, tied_most = (np.column_stack(column)[:, which] for column in zip(*true, strict=True))
    # Equal places before the last one that received a visit at the price have received theirs; later ones have not.
    last = tied_least < least
    before, behind = tied_least <= most, least <= tied_most
    possible = last & _all_before(before) & _all_before(behind[:, ::-1])[:, ::-1]
    greatest = _sums_before(counts - tied_least) + counts - tied_least + _sums_behind(counts - least)
    fewest = _sums_before(counts - most) + counts - tied_least + _sums_behind(counts - tied_most)
    return np.concatenate([nothing, np.column_stack([fewest[possible], greatest[possible]])])


def _true_counts(taken: Floats, steps: Floats, prices: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """By price, the least and greatest true count of a place, from the costs of its last and its next visit.

    Each has two values: without ties, and including places that received a visit at exactly this price (for the least)
    or wait for one (for the greatest). Prices decrease as the true count grows.
    """
    least = 1 + np.searchsorted(-taken, -prices, side="right")
    tied_least = 1 + np.searchsorted(-taken, -prices, side="left")
    most = np.searchsorted(-steps, -prices, side="left")
    tied_most = np.searchsorted(-steps, -prices, side="right")
    return least, tied_least, most, tied_most


def _price(true: Ints, count: int) -> Floats:
    """The cost of one visit more than `count` at places with these true counts, up to a common factor."""
    costs: Floats = _term(true, count + 1) - _term(true, count)
    return costs


def _term(true: Ints, count: int) -> Floats:
    both = true + count
    terms: Floats = true * np.log2(2 * true / both) + (count * np.log2(2 * count / both) if count else 0.0)
    return terms


def _all_before(fits: Flags) -> Flags:
    """Whether all earlier columns fit."""
    return np.column_stack([np.ones(len(fits), np.bool_), np.logical_and.accumulate(fits, axis=1)[:, :-1]])


def _sums_before(numbers: Ints) -> Ints:
    """The sum of all earlier columns."""
    sums: Ints = np.cumsum(numbers, axis=1) - numbers
    return sums


def _sums_behind(numbers: Ints) -> Ints:
    return _sums_before(numbers[:, ::-1])[:, ::-1]
