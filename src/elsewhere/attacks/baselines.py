"""The releases to attack: those of the package, and simple alternatives to it."""

from __future__ import annotations

from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from elsewhere.attacks.table import as_histogram, entry_rows, with_counts
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.distances import distance
from elsewhere.model.keys import Key, canonical

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from elsewhere.engines.arrow import Table as ArrowTable
    from elsewhere.plan import Plan


def sanitized(plan: Plan, locations: tuple[str, ...], counts: csr_array, earlier: csr_array | None = None) -> csr_array:
    """The release of each row under a plan; a row without a release is empty.

    With `earlier`, each release continues the earlier one of the same row.
    """
    return _matrix(_results(plan, locations, counts, earlier), locations, counts.shape)


def shared(plan: Plan, locations: tuple[str, ...], counts: csr_array) -> tuple[csr_array, Ints, Ints]:
    """Shared releases, and the two rows of each pair: users with the secret, and their partners."""
    results = _results(plan, locations, counts)
    releases = _matrix(results, locations, counts.shape)
    groups: dict[tuple[bytes, bytes], tuple[list[int], list[int]]] = {}
    names = ("user", "is_shared", "has_secret")
    for user, is_shared, has_secret in zip(*(results.column(name).to_pylist() for name in names), strict=True):
        if is_shared:
            entries = slice(releases.indptr[user], releases.indptr[user + 1])
            same = releases.indices[entries].tobytes(), releases.data[entries].tobytes()
            groups.setdefault(same, ([], []))[0 if has_secret else 1].append(user)
    with_secret = list(chain.from_iterable(group[0] for group in groups.values()))
    without = list(chain.from_iterable(group[1] for group in groups.values()))
    return releases, np.array(with_secret, np.int64), np.array(without, np.int64)


def _results(plan: Plan, locations: tuple[str, ...], counts: csr_array, earlier: csr_array | None = None) -> ArrowTable:
    """The releases and outcomes of each row, from the same kernel as in a batch."""
    from elsewhere.engines.arrow import pa
    from elsewhere.engines.kernel import sanitize_batches
    from elsewhere.engines.users import EARLIER

    users, places, numbers = entry_rows(counts), counts.indices, counts.data
    if earlier is not None:
        users = np.append(users, entry_rows(earlier))
        places, numbers = np.append(places, earlier.indices), np.append(numbers, earlier.data)
    order = np.argsort(users, kind="stable")  # so that the rows of a user are together
    names = pa.array(locations, pa.string())
    columns = [pa.array(users[order]), names.take(pa.array(places[order])), pa.array(numbers[order])]
    batch = pa.record_batch(columns, names=["user", "location", "count"])
    if earlier is not None:
        batch = batch.append_column(EARLIER, pa.array(order >= counts.nnz))
    return pa.Table.from_batches(sanitize_batches(plan, [batch]))


def _matrix(results: ArrowTable, locations: tuple[str, ...], shape: tuple[int, int]) -> csr_array:
    """The releases in the results, one row per user."""
    from scipy.sparse import csr_array

    from elsewhere.engines.arrow import pa, pc
    from elsewhere.engines.outcome import releases

    rows = pa.Table.from_batches([releases(batch) for batch in results.to_batches()])
    user, location, count = (rows.column(name) for name in ("user", "location", "count"))
    places = pc.index_in(location, value_set=pa.array(locations, pa.string())).to_numpy()
    return csr_array((count.to_numpy(), (user.to_numpy(), places)), shape=shape)


def deleted(counts: csr_array, sensitive: Flags) -> csr_array:
    """Plain deletion: only the visits to places that are not sensitive."""
    return with_counts(counts, np.where(sensitive[counts.indices], 0, counts.data))


def rounded(counts: csr_array, sensitive: Flags) -> csr_array:
    """Proportional rounding: the other counts are scaled to the old size; the rest goes to the largest remainders.

    Ties of remainders go to the first name. A row with only sensitive visits becomes empty.
    """
    sizes = counts.sum(axis=1)
    kept = deleted(counts, sensitive)
    rows, left = entry_rows(kept), kept.sum(axis=1)
    scaled = kept.data * sizes[rows]
    result, remainder = np.divmod(scaled, left[rows])
    missing = sizes - np.bincount(rows, result, minlength=len(sizes)).astype(np.int64)
    order = np.lexsort((kept.indices, -remainder, rows))
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - kept.indptr[rows]
    return with_counts(kept, result + (place < missing[rows]))


def seed_key(seed: int, draw: int = 0) -> Key:
    """A key derived from the seed, so that drawn releases are reproducible and no private key is used."""
    return Key(sha256(canonical("audit", seed, draw)).digest())


def median_loss(quality: str, before: csr_array, after: csr_array) -> float | None:
    """The median quality loss of all rows with a release; None if there are none."""
    names = tuple(map(str, range(before.shape[1])))
    released = np.flatnonzero((before.sum(axis=1) > 0) & (after.sum(axis=1) > 0)).tolist()
    found = [distance(quality, *(as_histogram(names, part, row) for part in (before, after))) for row in released]
    return float(np.median(found)) if found else None
