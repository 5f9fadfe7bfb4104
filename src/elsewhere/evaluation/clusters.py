"""Optimal k-means in one dimension, the clustering of Wang and Song that the paper's evaluation uses."""

from __future__ import annotations

import numpy as np

from elsewhere.kernels.jit import kernel, part
from elsewhere.model.arrays import Floats, Ints

#: Differences up to this share count as ties, because sums of floats depend on their order.
_EQUAL = 1e-12


@kernel
def cluster_all(values: Floats, offset: Ints, clusters: int) -> Ints:
    """The clusters, numbered from the lowest, of values[offset[u]:offset[u + 1]] for each u.

    The clustering minimises the sum of squared distances from the clusters' means. Ties go to the clustering whose
    highest cluster is the smallest, then the next. With fewer distinct values, there are that many clusters.
    """
    labels = np.empty(values.size, np.int64)
    for user in range(offset.size - 1):
        row = values[offset[user] : offset[user + 1]]
        distinct = np.unique(row)
        place = np.searchsorted(distinct, row)
        weights = np.zeros(distinct.size)
        for at in place:
            weights[at] += 1.0
        numbers = _cluster(distinct, weights, min(clusters, distinct.size))
        labels[offset[user] : offset[user + 1]] = numbers[place]
    return labels


@part
def _cluster(distinct: Floats, weights: Floats, clusters: int) -> Ints:
    """The dynamic program: the best c + 1 clusters up to value j end in one that begins at some i."""
    length = distinct.size
    least = np.full((clusters, length), np.inf)
    begin = np.zeros((clusters, length), np.int64)
    for j in range(length):
        spread = mean = weight = 0.0
        for i in range(j, -1, -1):
            # Updated value by value, the spread is accurate for counts of any size.
            weight += weights[i]
            step = (distinct[i] - mean) * weights[i] / weight
            spread += (distinct[i] - mean) * (weight - weights[i]) * step
            mean += step
            for c in range(1 if i else 0, min(clusters, i + 1)):
                total = spread if c == 0 else least[c - 1, i - 1] + spread
                if least[c, j] == np.inf or total < least[c, j] - _EQUAL * least[c, j]:
                    least[c, j], begin[c, j] = total, i
    labels = np.empty(length, np.int64)
    end = length
    for c in range(clusters - 1, -1, -1):
        labels[begin[c, end - 1] : end] = c
        end = begin[c, end - 1]
    return labels
