"""Fitted curves: how runtimes grow, and whether one thing grows with another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elsewhere.model.arrays import Flags, Floats

#: Fewer points say nothing about a trend.
LEAST = 4


class PowerLaw(NamedTuple):
    """y = factor * x ** exponent, with the 95% confidence interval of the exponent."""

    factor: float
    exponent: float
    low: float
    high: float
    #: The share of the variance of log y that it explains.
    r_squared: float


class Trend(NamedTuple):
    """Spearman's rank correlation, and how often chance alone would give one as strong."""

    correlation: float
    chance: float


def power_law(x: ArrayLike, y: ArrayLike) -> PowerLaw | None:
    """The power law through points, by least squares on the logarithms; None where too few can be used.

    >>> law = power_law([1, 2, 3, 4], [5, 20, 45, 80])
    >>> round(law.exponent, 6), round(law.factor, 6), round(law.r_squared, 6)
    (2.0, 5.0, 1.0)
    """
    from scipy import stats

    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    good = _usable(xs, ys) & (xs > 0) & (ys > 0)
    if np.unique(xs[good]).size < LEAST:
        return None
    fit = stats.linregress(np.log(xs[good]), np.log(ys[good]))
    margin = float(stats.t.ppf(0.975, good.sum() - 2) * fit.stderr)
    exponent = float(fit.slope)
    return PowerLaw(
        float(np.exp(fit.intercept)), exponent, exponent - margin, exponent + margin, float(fit.rvalue) ** 2
    )


def trend(x: ArrayLike, y: ArrayLike) -> Trend | None:
    """Whether y grows with x; None where too few points can be used.

    >>> trend([1, 2, 3, 4], [9, 7, 6, 1])
    Trend(correlation=-1.0, chance=0.0)
    """
    from scipy import stats

    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    good = _usable(xs, ys)
    if np.unique(xs[good]).size < LEAST:
        return None
    if np.unique(ys[good]).size == 1:
        return Trend(0.0, 1.0)
    found = stats.spearmanr(xs[good], ys[good])
    return Trend(round(float(found.statistic), 12), float(found.pvalue))


def _usable(x: Floats, y: Floats) -> Flags:
    usable: Flags = np.isfinite(x) & np.isfinite(y)
    return usable
