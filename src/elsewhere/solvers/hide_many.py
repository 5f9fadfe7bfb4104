"""Plain hide for many users at once, on arrays: LHO's answer for each, without a `Problem` for each."""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.distances import Distance
from elsewhere.solvers import terms
from elsewhere.solvers.choices import KINDS

#: For users without a bound on any count.
_UNBOUNDED = np.zeros(0, np.int64)


def hide_many(
    quality: Distance, offset: Ints, original: Ints, sensitive: Flags, redistribute: int | None, least: Ints,
    most: Ints = _UNBOUNDED,
) -> tuple[Ints, Floats]:  # fmt: skip
    """The released counts of all bins and the quality loss of each user; the loss is NaN if no release is possible.

    User u has the bins offset[u]..offset[u + 1], sorted by name, with at least one visit in all. The distance is
    built-in. Sensitive bins become 0, and bins with a visit get `least` or more: their original counts, or more if that
    is feasible. With `most`, bins end up between the two bounds, which must be feasible. As in `model.problem.hiding`,
    bins without a visit stay at 0 if any other count has an infinite distance, and infinite terms of sensitive bins are
    left out.
    """
    infinite = math.isinf(float(quality.terms(np.zeros(1), np.ones(1), 1.0, 1.0)[0]))
    closed = sensitive | (original == 0) if infinite else sensitive
    released, loss = np.empty(len(original), np.int64), np.empty(len(offset) - 1)
    terms.hide_many(KINDS[quality.name], offset, original, least, most, closed,
                    -1 if redistribute is None else redistribute, released, loss)  # fmt: skip
    return released, np.sqrt(loss) if quality.root else loss
