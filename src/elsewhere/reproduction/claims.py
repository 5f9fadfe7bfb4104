"""The claims of the paper's evaluation beside the measurements. The measured value decides the verdict.

The tolerances were fixed before anything was measured, and are the same for all claims of a kind:

- `near`: a number within a quarter of the paper's. This includes seconds, distances, and changes in percent (of errors,
  of NCE).
- `same`: exactly what the paper prints.
- `near` with `share`: a share of histograms, locations or visits, or an NCE, within 0.05.
- `at_most`, `at_least`: a bound, with no tolerance. The mean by which RH misses RO also counts as a bound, because
  missing by less is not a disagreement.
- `grows_as`: an exponent within 0.25.
- `moves`: a trend if chance alone would show one as strong in at most 5% of cases.

A claim is undecided if the 95% confidence interval includes the paper's exponent, or a trend of at least 0.3 in the
paper's direction (in either direction if the paper sees none).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from numpy.typing import ArrayLike

from elsewhere.reproduction import fits

Verdict: TypeAlias = Literal["holds", "differs", "undecided", "not measured", "another reading", "not in the paper"]

SHARE_OFF, NUMBER_OFF, EXPONENT_OFF, CHANCE = 0.05, 0.25, 0.25, 0.05
#: The least rank correlation that counts as a trend.
MODERATE = 0.3
_TOO_FEW = "too few points to tell"


@dataclass(frozen=True)
class Claim:
    """A row of the table of claims."""

    #: The paper's claim, and its value.
    says: str
    paper: str
    #: The measured value, and what it was measured on.
    ours: str
    on: str
    verdict: Verdict
    #: Why the two differ; empty if they do not.
    why: str = ""


def near(says: str, paper: float, ours: float, on: str, why: str, *, share: bool = False) -> Claim:
    """Compare with a number in the paper.

    >>> near("median NCE", 0.14, 0.18, "hide", "other data", share=True).verdict
    'holds'
    >>> near("median JS", 0.012, 0.13, "hide", "other data").verdict
    'differs'
    """
    off = SHARE_OFF if share else NUMBER_OFF * abs(paper)
    return _judged(says, number(paper), ours, abs(ours - paper) <= off + 1e-12, on, why)


def same(says: str, paper: str, ours: str, on: str, why: str) -> Claim:
    """Compare with text in the paper, exactly."""
    return Claim(says, paper, ours, on, "holds") if paper == ours else Claim(says, paper, ours, on, "differs", why)


def at_most(says: str, limit: float, ours: float, on: str, why: str, unit: str = "") -> Claim:
    """Compare with an upper bound in the paper."""
    return _judged(says, f"at most {number(limit)}{unit}", ours, ours <= limit, on, why, unit)


def at_least(says: str, limit: float, ours: float, on: str, why: str, unit: str = "") -> Claim:
    """Compare with a lower bound in the paper."""
    return _judged(says, f"at least {number(limit)}{unit}", ours, ours >= limit, on, why, unit)


def moves(says: str, way: Literal["rises", "falls", "stays"], x: ArrayLike, y: ArrayLike, on: str, why: str) -> Claim:
    """Check whether y rises, falls or stays as x grows.

    >>> moves("JS against n", "falls", range(9), [9, 8, 7, 6, 5, 4, 2, 3, 1], "hide", "other data").verdict
    'holds'
    """
    found = fits.trend(x, y)
    if found is None:
        return Claim(says, way, "too few points", on, "not measured")
    seen = "stays" if found.chance > CHANCE else "rises" if found.correlation > 0 else "falls"
    ours = f"{seen} (rho {found.correlation:.2f})"
    if seen == way != "stays":
        return Claim(says, way, ours, on, "holds")
    # Even without a visible trend there may be one, as far as the confidence interval reaches.
    reach = {"rises": found.high, "falls": -found.low, "stays": max(found.high, -found.low)}[way]
    if seen == "stays" and reach >= MODERATE:
        return Claim(says, way, ours, on, "undecided", _TOO_FEW)
    return Claim(says, way, ours, on, "holds") if seen == way else Claim(says, way, ours, on, "differs", why)


def grows_as(says: str, exponent: float, x: ArrayLike, y: ArrayLike, on: str, why: str) -> Claim:
    """Check whether a runtime grows as a power of x.

    >>> grows_as("runtime against K", 2, [1, 2, 3, 4, 5, 6], [1, 4.1, 9, 15.8, 25, 37], "LHO", "").verdict
    'holds'
    """
    law = fits.power_law(x, y)
    paper = f"exponent {exponent:g}"
    if law is None:
        return Claim(says, paper, "too few points", on, "not measured")
    ours = _law(law)
    if abs(law.exponent - exponent) <= EXPONENT_OFF:
        return Claim(says, paper, ours, on, "holds")
    if law.low <= exponent <= law.high:
        return Claim(says, paper, ours, on, "undecided", _TOO_FEW)
    return Claim(says, paper, ours, on, "differs", why)


def grows_at_most(says: str, exponent: float, x: ArrayLike, y: ArrayLike, on: str, why: str) -> Claim:
    """Check whether a runtime grows no faster than a power of x.

    >>> grows_at_most("runtime against n", 2, [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], "RO", "").verdict
    'holds'
    """
    law = fits.power_law(x, y)
    paper = f"exponent at most {exponent:g}"
    if law is None:
        return Claim(says, paper, "too few points", on, "not measured")
    if law.exponent <= exponent:
        return Claim(says, paper, _law(law), on, "holds")
    if law.low <= exponent:
        return Claim(says, paper, _law(law), on, "undecided", _TOO_FEW)
    return Claim(says, paper, _law(law), on, "differs", why)


def other_reading(claim: Claim) -> Claim:
    """The same claim under a reading of the paper that is shown but not judged."""
    return replace(claim, verdict="another reading", why="")


def beyond(says: str, ours: float, on: str, unit: str = "") -> Claim:
    """A measurement that the paper does not have."""
    return Claim(says, "", f"{number(ours)}{unit}", on, "not in the paper")


def number(value: float) -> str:
    """A number, rounded for people.

    >>> [number(value) for value in (0, 7.6e-06, 0.0118394, 1083, 0.14)]
    ['0', '7.6e-06', '0.0118', '1083', '0.14']
    """
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _law(law: fits.PowerLaw) -> str:
    return f"{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f}), R² {law.r_squared:.2f}"


def _judged(says: str, paper: str, ours: float, holds: bool, on: str, why: str, unit: str = "") -> Claim:
    if math.isnan(ours):
        return Claim(says, paper, "no value", on, "not measured")
    shown = f"{number(ours)}{unit}"
    return Claim(says, paper, shown, on, "holds") if holds else Claim(says, paper, shown, on, "differs", why)
