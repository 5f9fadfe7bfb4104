"""Distances as sums over rows: each term is a convex function of one weighted sum of the counts.

A smoothed distance has one row per location, which mixes the counts of similar locations. A flat distance has rows of
one count each. Search and verification share this view of a problem, but nothing else.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.distances import Measure


class Rows(NamedTuple):
    """A measure as a function of some bins, with all others fixed: row i is y[i] = fixed[i] + matrix[i] @ x.

    Every term has a slope, and a second derivative that never increases with y.
    """

    measure: Measure
    matrix: Floats
    fixed: Floats
    reference: Floats

    def sums(self, x: Floats) -> Floats:
        """The sum of every row; the last axis of x runs over the bins that are not fixed."""
        return np.asarray(x @ self.matrix.T + self.fixed)

    def totals(self, y: Floats) -> Floats:
        """The sums of terms for sums of rows."""
        return np.asarray(self.terms(y).sum(axis=-1))

    def terms(self, y: Floats) -> Floats:
        """The term of every row."""
        measure = self.measure
        return measure.distance.terms(self.reference, y, measure.reference_size, measure.size)

    def slopes(self, y: Floats) -> Floats:
        """The derivative of every term."""
        return self._derivatives(y)[0]

    def bends(self, y: Floats) -> Floats:
        """The second derivative of every term."""
        return self._derivatives(y)[1]

    def _derivatives(self, y: Floats) -> tuple[Floats, Floats]:
        r, size, name = self.reference, self.measure.size, self.measure.distance.name
        with np.errstate(divide="ignore", invalid="ignore"):
            if name in ("l2", "squared-l2"):
                return 2.0 * (y - r), np.full(y.shape, 2.0)
            if name == "pearson":  # a row without reference has no visits
                return np.where(r > 0, 2.0 * (y - r) / r, 0.0), np.where(r > 0, 2.0 / r, 0.0)
            if name == "neyman":
                return np.where(r > 0, 1.0 - (r / y) ** 2, 1.0), np.where(r > 0, 2.0 * r**2 / y**3, 0.0)
            a, b = r / self.measure.reference_size, y / size
            if name == "jeffreys":
                slope, bend = np.log(b / a) + 1.0 - a / b, (1.0 + a / b) / b
                return np.where(a > 0, slope / size, 0.0), np.where(a > 0, bend / size**2, 0.0)
            slope = np.where(a > 0, 0.5 * np.log2(2.0 * b / (a + b)), 0.5)
            bend = np.where(a > 0, 0.5 / math.log(2.0) * a / (b * (a + b)), 0.0)
            return slope / size, bend / size**2


def tightened(lower: Ints, upper: Ints, size: int) -> tuple[Ints, Ints]:
    """The counts that each bin may have if all sum to the size."""
    spare, missing = size - int(lower.sum()), int(upper.sum()) - size
    return np.maximum(lower, upper - missing), np.minimum(upper, lower + spare)


def rows_over(measure: Measure, counts: Ints, free: Ints) -> Rows:
    """The rows of a measure that depend on the bins in `free`, with all other bins fixed at their counts."""
    matrix = np.eye(len(counts)) if measure.smoother is None else measure.smoother
    others = counts.astype(np.float64)
    others[free] = 0.0
    used = (matrix[:, free] > 0.0).any(axis=1)
    return Rows(
        measure,
        np.ascontiguousarray(matrix[used][:, free]),
        matrix[used] @ others,
        (matrix @ measure.reference)[used],
    )


def constant_part(measure: Measure, counts: Ints, free: Ints) -> float:
    """The sum of the terms that do not depend on the bins in `free`."""
    matrix = np.eye(len(counts)) if measure.smoother is None else measure.smoother
    unused = ~(matrix[:, free] > 0.0).any(axis=1)
    return float(measure.terms(counts.astype(np.float64))[unused].sum())
