"""NCE: how much of the grouping of locations by frequency (seldom, now and then, often) a release loses.

The normalized conditional entropy of the paper's evaluation section. The elements are the bins of the original.
"""

from __future__ import annotations

import numpy as np

from elsewhere.evaluation.choices import check_whole
from elsewhere.evaluation.tables import Tables
from elsewhere.model.arrays import Floats, Ints


def conditional_entropies(tables: Tables, clusters: int = 3) -> Floats:
    r"""Return the normalized conditional entropy (NCE) of every user, in the order of ``tables.users``.

    .. math:: \mathrm{NCE}(C' | C) = \frac{\sum_{c, c'} \Pr(c, c') \ln(\Pr(c) / \Pr(c, c'))}
                                          {-\sum_{c'} \Pr(c') \ln \Pr(c')}

    where C and C' are the optimal clusters of the counts before and after. The probability of a set of bins is its
    share of the bins of the original. NCE is 0 if the old clusters determine the new ones, or if there is only one new
    cluster. It is 1 if they tell nothing about the new ones.

    Parameters
    ----------
    tables
        The original and the sanitized histograms.
    clusters
        Number of clusters. A histogram with fewer distinct counts gets fewer.

    >>> before, after = {"a": 1, "b": 1, "c": 9, "d": 9}, {"a": 2, "b": 9, "c": 1, "d": 9}
    >>> conditional_entropies(Tables.of({"ann": before}, {"ann": after}), clusters=2).tolist()
    [1.0]
    """
    from elsewhere.evaluation.clusters import cluster_all

    check_whole("clusters", clusters, 1)
    rows = tables.rows[tables.in_original]
    lengths = np.bincount(rows)
    offset = np.append(0, np.cumsum(lengths))
    old, new = (
        cluster_all(counts[tables.in_original].astype(np.float64), offset, min(clusters, len(rows)))
        for counts in (tables.before, tables.after)
    )
    most = 1 + max(old.max(), new.max())
    alike, alike_after = _sizes(rows * most + old), _sizes(rows * most + new)
    together = _sizes((rows * most + old) * most + new)
    # Summed bin by bin: a cluster's term with its probability is the mean over its bins.
    conditional = np.add.reduceat(np.log(alike / together), offset[:-1])
    entropy = np.add.reduceat(np.log(lengths[rows] / alike_after), offset[:-1])
    share = np.divide(conditional, entropy, out=np.zeros(len(lengths)), where=entropy > 0)
    return np.minimum(share, 1.0)


def _sizes(keys: Ints) -> Ints:
    """The number of occurrences of each key."""
    _, which, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return sizes[which]
