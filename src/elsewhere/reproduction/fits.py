"""Fitted power laws and rank correlations: how runtimes grow, and whether there is a trend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elsewhere.model.arrays import Flags, Floats

#: The least number of points, and of distinct x, for a fit.
_POINTS, _PLACES = 6, 3
_ALMOST = 1.0 - 1e-9


class PowerLaw(NamedTuple):
    """y = factor * x ** exponent, with the 95% confidence interval of the exponent."""

    factor: float
    exponent: float
    low: float
    high: float
    #: The share of the variance of log y that the law explains.
    r_squared: float


class Trend(NamedTuple):
    """Spearman's rank correlation with its 95% confidence interval, and how often chance alone is as strong."""

    correlation: float
    low: float
    high: float
    chance: float


def power_law(x: ArrayLike, y: ArrayLike) -> PowerLaw | None:
    """Fit a power law by least squares on the logarithms; None if too few points are usable.

    >>> law = power_law([1, 2, 3, 4, 5, 6], [5, 20, 45, 80, 125, 180])
    >>> round(law.exponent, 6), round(law.factor, 6), round(law.r_squared, 6)
    (2.0, 5.0, 1.0)
    """
    from scipy import stats

    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    good = _usable(xs, ys) & (xs > 0) & (ys > 0)
    if good.sum() < _POINTS or np.unique(xs[good]).size < _PLACES:
        return None
    fit = stats.linregress(np.log(xs[good]), np.log(ys[good]))
    margin = float(stats.t.ppf(0.975, good.sum() - 2) * fit.stderr)
    exponent = float(fit.slope)
    return PowerLaw(
        float(np.exp(fit.intercept)), exponent, exponent - margin, exponent + margin, float(fit.rvalue) ** 2
    )


def trend(x: ArrayLike, y: ArrayLike) -> Trend | None:
    """The trend of y against x; None if too few points are usable.

    >>> found = trend([1, 2, 3, 4, 5, 6], [9, 7, 6, 5, 0, 1])
    >>> round(found.correlation, 3), found.chance < 0.05
    (-0.943, True)
    """
    from scipy import stats

    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    good = _usable(xs, ys)
    if good.sum() < _POINTS or np.unique(xs[good]).size < _PLACES:
        return None
    if np.unique(ys[good]).size == 1:
        return Trend(0.0, 0.0, 0.0, 1.0)
    found = stats.spearmanr(xs[good], ys[good])
    correlation = float(found.statistic)
    # Fisher's transformation, with the usual factor for ranks.
    centre = np.arctanh(np.clip(correlation, -_ALMOST, _ALMOST))
    margin = 1.96 * 1.03 / np.sqrt(good.sum() - 3)
    return Trend(correlation, float(np.tanh(centre - margin)), float(np.tanh(centre + margin)), float(found.pvalue))


def _usable(x: Floats, y: Floats) -> Flags:
    usable: Flags = np.isfinite(x) & np.isfinite(y)
    return usable
