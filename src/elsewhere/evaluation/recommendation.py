"""Recommendation: how well a recommender that gets the releases predicts visits.

User-based collaborative filtering as in the paper's evaluation section. Some users are tested: one location of each
is hidden, and the visits to it are predicted from the most similar of the other users. The releases are tested with the
same users, hidden locations and true counts as the originals, so the two errors can be compared. The paper leaves open
whether the other users are also sanitized; both cases are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from elsewhere.evaluation.choices import check_whole
from elsewhere.evaluation.result import Contrast, Errors, Estimate, Recommendation
from elsewhere.evaluation.tables import Tables
from elsewhere.extras import load
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.errors import InputError
from elsewhere.text import plural, quote

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: What the mean of a user's visits is taken over.
MeanOver: TypeAlias = Literal["visited", "original"]

_TESTED_SHARE = 0.1
#: Tested users are compared with all others; this many per split are enough for any number of users.
_MOST_TESTED = 1000
#: The size of a dense matrix: large enough for speed, small enough for little memory.
_HELD = 1 << 22


def recommendation_errors(
    tables: Tables, neighbours: int = 25, splits: int = 10, seed: int = 1, mean_over: MeanOver = "visited"
) -> Recommendation:
    """Return the errors of visits predicted from the original and from the sanitized histograms.

    One location of each tested user is hidden, and the visits to it are predicted from the most similar other users.

    Parameters
    ----------
    tables
        The original and the sanitized histograms. Each split tests a tenth of the users, at most 1,000; the others are
        the possible neighbours.
    neighbours
        Number of neighbours per prediction. Default: 25.
    splits
        Number of random splits; the confidence intervals are taken over them. At least 2. Default: 10.
    seed
        Seed of the splits and hidden locations; the same seed gives the same figures.
    mean_over
        The locations that the mean of a user's visits is taken over: ``"visited"`` (the default) those with a visit in
        the histogram that the recommender gets, ``"original"`` all that the original histogram has. A release has as
        many bins as its original, so its mean is that of the original if its size is.

    Raises
    ------
    TooFewUsers
        There are fewer other users than `neighbours`, or a tested user has nothing to predict.

    See Also
    --------
    compare_recommendations : The errors of several releases of the same users.
    """
    return compare_recommendations([tables], neighbours, splits, seed, mean_over)[0]


def compare_recommendations(
    releases: Sequence[Tables],
    neighbours: int = 25,
    splits: int = 10,
    seed: int = 1,
    mean_over: MeanOver = "visited",
) -> list[Recommendation]:
    """Return the errors of visits predicted from several releases of the same users.

    All are asked the same questions: the hidden location of a tested user is one that every release keeps. So the
    errors on the originals are the same for all, and those on the releases can be compared with each other.

    Parameters
    ----------
    releases
        Tables with the same users, original histograms and locations.
    neighbours, splits, seed, mean_over
        As in `recommendation_errors`.

    Raises
    ------
    InputError
        The tables differ in more than the releases.
    TooFewUsers
        There are fewer other users than `neighbours`, or a tested user has nothing to predict.
    """
    for name, value, least in (("neighbours", neighbours, 1), ("splits", splits, 2), ("seed", seed, 0)):
        check_whole(name, value, least)
    if mean_over not in get_args(MeanOver):
        raise InputError(f"mean_over is {quote(mean_over)}; it must be 'visited' or 'original'", ("mean_over",))
    load("scipy", "recommendation needs SciPy", "evaluate")
    tables = _same_originals(releases)
    tested = _number_tested(len(tables.users), neighbours)
    before, after = tables.matrices()[0], [other.matrices()[1] for other in releases]
    kept = np.logical_and.reduce([other.after > 0 for other in releases])
    lengths = np.bincount(tables.rows[tables.in_original]) if mean_over == "original" else None
    errors = np.empty((1 + 2 * len(after), 2, splits))
    for split in range(splits):
        random = np.random.default_rng([seed, split])
        order = random.permutation(len(tables.users))
        questions = _questions(tables, kept, np.sort(order[:tested]), random)
        if not questions.users.size:
            raise TooFewUsers(f"no tested user of split {split + 1} has a location in both histograms")
        cases = [(before, before), *((one, rest) for one in after for rest in (before, one))]
        for case, (one, rest) in enumerate(cases):
            errors[case, :, split] = _misses(questions, one, rest, np.sort(order[tested:]), neighbours, lengths)
    return [
        Recommendation(
            _errors(errors[0], errors[case]), _errors(errors[0], errors[case + 1]), neighbours, splits, tested
        )
        for case in range(1, len(errors), 2)
    ]


def _same_originals(releases: Sequence[Tables]) -> Tables:
    """The first of the tables; raise unless the others have the same users, originals and locations."""
    if not releases:
        raise InputError("releases is empty; it must have at least one pair of tables", ("releases",))
    first, *others = releases
    for other in others:
        if (first.users, first.locations) != (other.users, other.locations) or not all(
            np.array_equal(getattr(first, field), getattr(other, field)) for field in ("offset", "location", "before")
        ):
            raise InputError("the tables must have the same users, original histograms and locations", ("releases",))
    return first


def _number_tested(users: int, neighbours: int) -> int:
    """The number of users that each split tests."""
    tested = min(max(1, round(_TESTED_SHARE * users)), _MOST_TESTED)
    left = users - tested
    if left < neighbours:
        raise TooFewUsers(
            f"neighbours is {neighbours}, but only {left} of {plural(users, 'user')} are left; the others are tested",
            ("neighbours",),
        )
    return tested


def _misses(
    questions: Questions, one: csr_array, rest: csr_array, others: Ints, neighbours: int, lengths: Ints | None
) -> tuple[float, float]:
    """MAE and RMSE of the tested users in one matrix, predicted from the others in another."""
    both = None if lengths is None else (lengths[questions.users], lengths[others])
    predicted = predict(one[questions.users], rest[others], questions.locations, neighbours, both)
    error = predicted - questions.truth
    return float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))


class TooFewUsers(InputError):
    """There are too few users to make and test predictions."""


class Questions(NamedTuple):
    """The tested users, the hidden location of each, and their true visits there."""

    users: Ints
    locations: Ints
    truth: Floats


def predict(
    tested: csr_array, others: csr_array, hidden: Ints, neighbours: int, lengths: tuple[Ints, Ints] | None = None
) -> Floats:
    r"""The predicted visits of each tested user a to the hidden location L.

    .. math:: r_a(L) = \mu_a + \frac{\sum_u (f_u(L) - \mu_u) \mathrm{PCC}(u, a)}{\sum_u \mathrm{PCC}(u, a)}

    where u runs over the most similar of the others, f are counts (0 at a location that was not visited) and
    :math:`\mu` are means over the locations that a user visited, or the size divided by the length if `lengths` has
    those of the tested users and of the others. Users without a positive correlation are not neighbours; without
    neighbours the prediction is :math:`\mu_a`. Of equally similar users, those with more common locations come first,
    then the first by name.
    """
    own, predicted = _centred(tested, None if lengths is None else lengths[0])
    theirs, means = _centred(others, None if lengths is None else lengths[1])
    own, visits = _without(own, hidden), others.tocsc()
    step = max(1, _HELD // max(others.shape))
    for begin in range(0, len(predicted), step):
        block = slice(begin, begin + step)
        correlation, common = _correlation(own[block], theirs)
        there = visits[:, hidden[block]].toarray()
        for at in range(len(correlation)):
            nearest = _nearest(correlation[at], common[at], neighbours)
            if nearest.size:
                weights = correlation[at, nearest]
                above = there[nearest, at] - means[nearest]
                predicted[begin + at] += (weights * above).sum() / weights.sum()
    return predicted


def _questions(tables: Tables, kept: Flags, users: Ints, random: np.random.Generator) -> Questions:
    """A random location of each user, among those that the releases keep; a user without any is not tested.

    The locations of the original are shuffled, and the first that is kept is taken. So other releases of the same users
    get the same questions as far as possible.
    """
    visited = tables.before > 0
    turn = np.full(len(visited), np.inf)
    turn[visited] = random.random(np.count_nonzero(visited))
    turn[~kept] = np.inf
    entries = [
        begin + turn[begin:end].argmin()
        for begin, end in zip(tables.offset[users], tables.offset[users + 1], strict=True)
    ]
    chosen = np.array(entries, dtype=np.int64)
    asked = turn[chosen] < np.inf
    chosen = chosen[asked]
    return Questions(users[asked], tables.location[chosen], tables.before[chosen].astype(np.float64))


def _centred(counts: csr_array, lengths: Ints | None) -> tuple[csr_array, Floats]:
    """The counts minus the mean of their row, and those means."""
    visited = np.diff(counts.indptr)
    means = counts.sum(axis=1) / (visited if lengths is None else lengths)
    return _with(counts, counts.data - np.repeat(means, visited)), means


def _without(matrix: csr_array, columns: Ints) -> csr_array:
    """The matrix without one entry per row, in the given column."""
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(len(columns)), np.diff(matrix.indptr))
    kept = matrix.indices != columns[rows]
    begins = np.append(0, np.cumsum(np.bincount(rows[kept], minlength=len(columns))))
    return csr_array((matrix.data[kept], matrix.indices[kept], begins), shape=matrix.shape)


def _correlation(own: csr_array, theirs: csr_array) -> tuple[Floats, Floats]:
    r"""Pearson's correlation of each row with each row of the others, and the number of their common locations.

    .. math:: \mathrm{PCC}(u, a) = \frac{\sum (f_a - \mu_a) (f_u - \mu_u)}
                                      {\sqrt{\sum (f_a - \mu_a)^2 \sum (f_u - \mu_u)^2}}

    over the common locations; 0 if the root is 0. It is rounded, so that equal values tie.
    """
    # Products with a dense block are several times faster than with a sparse one, because the results are dense.
    deviations, visited = own.toarray().T, _with(own, np.ones(own.nnz)).toarray().T
    they_visited = _with(theirs, np.ones(theirs.nnz))
    product = (theirs @ deviations).T
    squares = (they_visited @ deviations**2).T * (theirs.power(2) @ visited).T
    correlation = np.divide(product, np.sqrt(squares), out=np.zeros(product.shape), where=squares > 0)
    return correlation.round(12), (they_visited @ visited).T


def _nearest(correlation: Floats, common: Floats, most: int) -> Ints:
    """The most similar users, in order."""
    similar = np.flatnonzero(correlation > 0)
    if similar.size > most:
        least = np.partition(correlation[similar], -most)[-most]
        similar = similar[correlation[similar] >= least]
    return similar[np.lexsort((-common[similar], -correlation[similar]))[:most]]


def _with(matrix: csr_array, data: Floats) -> csr_array:
    """The matrix with other numbers at its entries."""
    from scipy.sparse import csr_array

    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _errors(original: Floats, sanitized: Floats) -> Errors:
    """The summary of MAE and RMSE over the splits."""
    mae, rmse = (Contrast(*map(_estimate, (o, x, x - o))) for o, x in zip(original, sanitized, strict=True))
    return Errors(mae, rmse)


def _estimate(values: Floats) -> Estimate:
    """The mean over the splits, with Student's interval."""
    from scipy.special import stdtrit

    mean = float(values.mean())
    half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(mean, mean - half, mean + half)
