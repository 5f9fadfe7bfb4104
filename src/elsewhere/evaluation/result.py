"""The figures of an evaluation; they can be printed or written as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsewhere.model.arrays import Floats


@dataclass(frozen=True)
class Spread:
    """How a figure is distributed over users. A quantile is the figure of one user."""

    median: float
    #: Nine users in ten do not exceed this.
    ninth_decile: float
    mean: float
    greatest: float
    #: The share of users for whom it is 0.
    zero: float
    #: The share of users for whom it is infinite.
    infinite: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Return the spread of `values`, one for each user.

        >>> Spread.of(np.array([0.0, 1.0, 2.0, np.inf]))
        Spread(median=1.0, ninth_decile=inf, mean=inf, greatest=inf, zero=0.25, infinite=0.25)
        """
        ordered = np.sort(values)
        median, ninth = (float(ordered[math.ceil(share * len(ordered)) - 1]) for share in (0.5, 0.9))
        zero, infinite = float((values == 0).mean()), float(np.isinf(values).mean())
        return cls(median, ninth, float(values.mean()), float(ordered[-1]), zero, infinite)


@dataclass(frozen=True)
class Estimate:
    """A mean over splits with its 95% confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Contrast:
    """An error on the original histograms, on the sanitized ones, and the difference: sanitized minus original."""

    original: Estimate
    sanitized: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Errors:
    """How far predicted visits are from the true ones."""

    #: The mean absolute error.
    mae: Contrast
    #: The root of the mean square error.
    rmse: Contrast


@dataclass(frozen=True)
class Recommendation:
    """How well visits are predicted."""

    #: Only the tested user shares a release; all others share the original.
    alone: Errors
    #: All users share releases.
    everybody: Errors
    neighbours: int
    splits: int
    #: Number of users tested in each split.
    tested: int


@dataclass(frozen=True)
class Kinds:
    """The same figures over a taxonomy, where places of one kind are alike."""

    #: The number of kinds at the top level. A location that the taxonomy does not have counts as a kind.
    number: int
    #: Over all levels of the taxonomy (`TreeDistance`), by name of the distance.
    quality_loss: Mapping[str, Spread]
    #: NCE of the visits to each kind of the top level; the recommendation below is also about these kinds.
    nce: Spread
    recommendation: Recommendation | None


@dataclass(frozen=True)
class Evaluation:
    """How useful the sanitized histograms still are, compared with the originals."""

    users: int
    locations: int
    #: By name of the distance.
    quality_loss: Mapping[str, Spread]
    clusters: int
    nce: Spread
    recommendation: Recommendation | None
    #: Only with a taxonomy.
    kinds: Kinds | None = None
    #: Sentences for the reader: who was left out, what could not be measured.
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        lines = _losses("quality loss", self.quality_loss)
        if self.kinds is not None:
            lines += ["", *_losses("tree distance", self.kinds.quality_loss)]
        lines += ["", _line(f"clusters ({self.clusters})", _COLUMNS), _line("NCE", _cells(self.nce))]
        if self.kinds is not None:
            lines.append(_line("NCE of kinds", _cells(self.kinds.nce)))
        if self.recommendation is not None:
            lines += ["", *_errors("recommendation", self.recommendation)]
        if self.kinds is not None and self.kinds.recommendation is not None:
            lines += ["", *_errors("of kinds", self.kinds.recommendation)]
        return "\n".join(lines)


_COLUMNS = ("median", "9 in 10", "mean", "greatest", "zero", "infinite")


def _losses(title: str, losses: Mapping[str, Spread]) -> list[str]:
    return [_line(title, _COLUMNS), *(_line(name, _cells(spread)) for name, spread in losses.items())]


def _cells(spread: Spread) -> list[str]:
    values = (spread.median, spread.ninth_decile, spread.mean, spread.greatest)
    return [*(f"{value:.4g}" for value in values), f"{spread.zero:.1%}", f"{spread.infinite:.1%}"]


def _errors(title: str, found: Recommendation) -> list[str]:
    lines = [f"{title:<16}{'original':<27}{'sanitized':<27}difference"]
    for who, errors in (("alone", found.alone), ("all", found.everybody)):
        for name, error in (("MAE", errors.mae), ("RMSE", errors.rmse)):
            lines.append(f"{name + ', ' + who:<16}{error.original!s:<27}{error.sanitized!s:<27}{error.difference}")
    return lines


def _line(name: str, cells: Iterable[str]) -> str:
    return f"{name:<14}" + "".join(f"{cell:>12}" for cell in cells)
