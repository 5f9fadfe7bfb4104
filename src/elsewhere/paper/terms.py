"""One bin's share of a distance: q(H[i], x) and p(x, H''[i]) in Sections 'Quality loss' and 'Target Resemblance'.

These are the formulas of ``elsewhere.model.distances`` for single numbers: r and x are the counts of one bin in the
reference and in H', and r_size and x_size are the sizes of the two histograms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from elsewhere.model.distances import DistanceLike, find_distance, slack
from elsewhere.model.errors import InputError
from elsewhere.model.smoothing import SmoothedJS
from elsewhere.model.trees import KindDistance, TreeDistance

#: A bin's term as a function of (reference count, count).
Term: TypeAlias = Callable[[float, float], float]
#: A weight, and the bins whose counts are added up.
Node: TypeAlias = tuple[float, list[int]]


def _js(r: float, x: float, r_size: float, x_size: float) -> float:
    # The paper's formula with log2(2a / (a + b)) = log1p(-skew) / ln 2, which loses no digits if a and b are close.
    a, b = r / r_size, x / x_size
    if a == 0.0 or b == 0.0:
        return 0.5 * (a + b)
    skew = (b - a) / (a + b)
    if abs(skew) < 0.5:
        return max(0.0, (0.5 / math.log(2.0)) * (a * math.log1p(-skew) + b * math.log1p(skew)))
    return (0.5 / math.log(2.0)) * (a * math.log(2.0 * a / (a + b)) + b * math.log(2.0 * b / (a + b)))


def _jeffreys(r: float, x: float, r_size: float, x_size: float) -> float:
    a, b = r / r_size, x / x_size
    if a == b:
        return 0.0
    if a == 0.0 or b == 0.0:
        return math.inf
    return (a - b) * math.log(a / b)


def _variational(r: float, x: float, r_size: float, x_size: float) -> float:
    return abs(r / r_size - x / x_size)


def _squared_l2(r: float, x: float, r_size: float, x_size: float) -> float:
    return (x - r) * (x - r)


def _pearson(r: float, x: float, r_size: float, x_size: float) -> float:
    if r == 0.0:
        return 0.0 if x == 0.0 else math.inf
    return (x - r) * (x - r) / r


def _neyman(r: float, x: float, r_size: float, x_size: float) -> float:
    return _pearson(x, r, x_size, r_size)


_FORMULAS = {
    "js": _js,
    "jeffreys": _jeffreys,
    "variational": _variational,
    "l2": _squared_l2,
    "squared-l2": _squared_l2,
    "pearson": _pearson,
    "neyman": _neyman,
}


def term(distance: DistanceLike, r_size: float, x_size: float) -> Term:
    """The term of the named distance, or of the user's own function, between histograms of these sizes.

    >>> f"{term('js', 50, 50)(7, 9):.3e}"  # adding 2 to bin a of the paper's example
    '1.808e-03'
    """
    if isinstance(distance, TreeDistance | KindDistance):
        raise InputError("the paper's algorithms have no distances over a taxonomy or of kinds; only brute_force has")
    if isinstance(distance, SmoothedJS):
        raise InputError("the paper's algorithms have no smoothed distances; only brute_force has")
    found = find_distance(distance)
    if not (r_size > 0 and x_size > 0):
        raise InputError(f"the histograms have the sizes {r_size} and {x_size}; neither may be empty")
    if not found.builtin:
        return lambda r, x: float(found.terms(np.asarray(r), np.asarray(x), r_size, x_size))
    formula = _FORMULAS[found.name]
    return lambda r, x: formula(float(r), float(x), r_size, x_size)


def nodes(distance: DistanceLike, locations: Sequence[str]) -> list[Node]:
    """The nodes that a distance sums over: the locations, or the kinds (and locations without one) at every level.

    >>> from elsewhere import Taxonomy
    >>> kinds = Taxonomy.parse("kinds.txt", b"Food\\n  Bar\\n  Cafe\\n")
    >>> nodes(TreeDistance("js", kinds, levels=(0.7, 0.3)), ["Bar", "Cafe", "Zoo"])
    [(0.7, [0, 1]), (0.7, [2]), (0.3, [0]), (0.3, [1]), (0.3, [2])]
    """
    if not isinstance(distance, TreeDistance):
        return [(1.0, [bin_]) for bin_ in range(len(locations))]
    found: list[Node] = []
    last = len(distance.weights) - 1
    for level, weight in enumerate(distance.weights):
        kinds: dict[tuple[str, str], list[int]] = {}
        for bin_, location in enumerate(locations):
            path = distance.taxonomy.path(location)
            kind = ("node", path[level]) if level < min(len(path), last) else ("location", location)
            kinds.setdefault(kind, []).append(bin_)
        found += [(weight, bins) for bins in kinds.values() if weight > 0.0]
    return found


def threshold(distance: DistanceLike, limit: float) -> float:
    """The limit on the sum of terms for a limit on the distance: with slack for rounding, and before l2's root."""
    if not limit >= 0:
        raise InputError(f"max_quality_loss is {limit!r}; it must be a number that is not negative")
    limit += slack(limit)
    return limit * limit if find_distance(distance).root else limit


def from_below(distance: DistanceLike, limit: float) -> float:
    """The least sum of terms for a lower limit on the distance; `threshold` is the same for an upper limit."""
    limit -= slack(limit)
    return max(limit, 0.0) ** 2 if find_distance(distance).root else limit


def from_total(distance: DistanceLike, total: float) -> float:
    """The distance whose terms sum to `total`."""
    return math.sqrt(total) if find_distance(distance).root else total


def lift(weights: list[float]) -> float:
    """The constant to add to the weights of a layer of edges so that none is negative; 0 for built-in distances.

    Every path has one edge into each layer, so the constant does not change any comparison of paths. Searching paths in
    order of length, and pruning those beyond a threshold, is correct only without negative weights.
    """
    return max(0.0, -min(weights))
