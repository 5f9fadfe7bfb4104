"""The distances between histograms: sums over bins of a term of (reference count, count).

`Measure` is a distance with a fixed reference, for any histogram of a given size. All of it is plain NumPy:
`elsewhere.verify` relies on this module and on no solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elsewhere.model.arrays import Floats, Ints, Number
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import TableLike, parse_weights
from elsewhere.model.names import NameIndex
from elsewhere.model.smoothing import SmoothedJS
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.model.trees import KindDistance, Tree, TreeDistance, tree_of_kinds, tree_over, with_kinds
from elsewhere.text import closest, quote

#: A built-in distance by name, one that knows which places are alike, or a function of (reference count, count) for one
#: bin.
DistanceLike: TypeAlias = str | TreeDistance | KindDistance | SmoothedJS | Callable[[float, int], float]
#: The size of the histogram that all bins belong to, or that of each bin's histogram.
Size: TypeAlias = float | Floats

_SLACK = 1e-12
_EPSILON = float(np.finfo(np.float64).eps)


def slack(limit: float) -> float:
    """The tolerance of a limit: 1e-12, or the rounding of the limit itself if that is more."""
    return _SLACK + 4.0 * _EPSILON * abs(limit) if abs(limit) < math.inf else 0.0


def _js(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    a, b = r / r_size, x / x_size
    middle = 0.5 * (a + b)
    both = (a > 0) & (b > 0)
    if both.all():
        return _js_of_shares(a, b, middle)
    # Where a share is 0, the term is half of the other one.
    (a, b), terms = np.broadcast_arrays(a, b), np.asarray(middle)
    terms[both] = _js_of_shares(a[both], b[both], terms[both])
    return terms


def _js_of_shares(a: Floats, b: Floats, middle: Floats) -> Floats:
    return np.maximum(0.5 * (a * np.log2(a / middle) + b * np.log2(b / middle)), 0.0)


def _jeffreys(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    a, b = r / r_size, x / x_size
    both = (a > 0) & (b > 0)
    ratio = np.divide(a, b, out=np.ones(np.broadcast(a, b).shape), where=both)
    return np.where(both, (a - b) * np.log(ratio), np.where(a == b, 0.0, math.inf))


def _variational(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    return np.abs(r / r_size - x / x_size)


def _squared_l2(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    return (x - r) ** 2


def _pearson(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    r, x = np.broadcast_arrays(r, x)
    with np.errstate(over="ignore"):
        return np.divide((x - r) ** 2, r, out=np.where(x > 0, math.inf, 0.0), where=r > 0)


def _neyman(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    return _pearson(x, r, x_size, r_size)


def _js_bend(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    a, b = r / r_size, x / x_size
    return np.divide(a, a + b, out=np.zeros(np.broadcast(a, b).shape), where=a > 0)


def _squared_l2_bend(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
    return np.ones(np.broadcast(r, x).shape)


def _js_ratio(slope: float) -> float:
    doubled = 4.0 ** min(slope, 0.5)
    return doubled / (2.0 - doubled) if doubled < 2.0 else math.inf


def _jeffreys_ratio(slope: float) -> float:
    # The slope at the ratio 1 / y is 1 - y - log(y).
    low, high = -800.0, math.log(max(2.0 - slope, 2.0))
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.exp(middle) + middle < 1.0 - slope else (low, middle)
    return math.exp(min(-low, 700.0))


def _variational_ratio(slope: float) -> float:
    return math.inf if slope > 1.0 else 1.0 if slope >= -1.0 else 0.0


@dataclass(frozen=True)
class Distance:
    """A distance: its terms over arrays, and the properties that the solvers need."""

    name: str
    terms: Callable[[Floats, Floats, Size, Size], Floats]
    builtin: bool = True
    root: bool = False
    #: Whether some term is infinite.
    unbounded: bool = False
    #: For a distance of shares: the ratio of count share to reference share at which a term has this slope, for any
    #: shares; the term minus slope times share is least there. None for a distance of counts.
    ratio: Callable[[float], float] | None = None
    #: The second derivative of a term by the count, divided by a function of the count and its size alone. From one
    #: reference to another, its ratio only rises or only falls with the count. None if there is no such function.
    bend: Callable[[Floats, Floats, Size, Size], Floats] | None = None


_BUILT_IN = (
    Distance("js", _js, ratio=_js_ratio, bend=_js_bend),
    Distance("jeffreys", _jeffreys, unbounded=True, ratio=_jeffreys_ratio),
    Distance("variational", _variational, ratio=_variational_ratio),
    Distance("l2", _squared_l2, root=True, bend=_squared_l2_bend),
    Distance("squared-l2", _squared_l2, bend=_squared_l2_bend),
    Distance("pearson", _pearson, unbounded=True),
    Distance("neyman", _neyman, unbounded=True),
)

#: The built-in distances by name. All their terms are convex in the count.
DISTANCES = {distance.name: distance for distance in _BUILT_IN}


def find_distance(wanted: DistanceLike) -> Distance:
    """The built-in distance of that name, or the user's function as a distance; without its tree or kernel."""
    if isinstance(wanted, str) and wanted in DISTANCES:
        return DISTANCES[wanted]
    if isinstance(wanted, TreeDistance | KindDistance):
        return find_distance(wanted.name)
    if isinstance(wanted, SmoothedJS):
        return DISTANCES["js"]
    if callable(wanted):
        return Distance(getattr(wanted, "__name__", "own function"), _vectorised(wanted), builtin=False, unbounded=True)
    if not isinstance(wanted, str):
        raise InputError(
            f"{quote(wanted)} is neither the name of a distance nor a function of (reference count, count)"
        )
    raise InputError(f"unknown distance {quote(wanted)}{closest(wanted, DISTANCES)} (known: {', '.join(DISTANCES)})")


def _vectorised(term: Callable[[float, int], float]) -> Callable[[Floats, Floats, Size, Size], Floats]:
    name = getattr(term, "__name__", "own function")

    def terms(r: Floats, x: Floats, r_size: Size, x_size: Size) -> Floats:
        known: dict[tuple[float, int], float] = {}
        r, x = np.broadcast_arrays(r, x)
        result = np.empty(x.shape)
        for at, (reference, count) in enumerate(zip(r.flat, x.flat, strict=True)):
            key = (float(reference), int(count))
            if key not in known:
                try:
                    value = term(*key)
                except Exception as error:
                    raise InputError(f"the distance function {name} failed for {key}: {quote(error)}") from error
                known[key] = _checked(name, key, value)
            result.flat[at] = known[key]
        return result

    return terms


def _checked(name: str, arguments: tuple[float, int], value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number) or number == -math.inf:
        raise InputError(
            f"the distance function {name} returned {quote(value)} for {arguments}, which is not a finite number or inf"
        )
    return number


class Measure(NamedTuple):
    """A distance from a fixed reference to histograms of a fixed size.

    Terms, limits and totals are those of the sum; if the distance has a root, `from_total` takes it at the end. Over a
    tree the terms are those of its nodes with their weights; those of the bins come first. With a `smoother`, the
    matrix of a `SmoothedJS`, the terms are those of the smoothed histograms.

    With `enough`, the measure says how far the distance is from being large enough: terms are negated, and a term that
    alone is enough counts as `enough`. If only an infinite term is enough, it counts as -1 and any other term as 0.
    """

    distance: Distance
    reference: Floats
    reference_size: float
    size: float
    tree: Tree | None = None
    weight: Floats | None = None
    enough: float | None = None
    smoother: Floats | None = None

    def terms(self, x: Floats) -> Floats:
        """The term of every bin; the last axis of x runs over the bins."""
        if self.smoother is not None:
            reference = self.reference @ self.smoother.T
            return self.distance.terms(reference, x @ self.smoother.T, self.reference_size, self.size)
        if self.tree is None:
            return self.counted(self.distance.terms(self.reference, x, self.reference_size, self.size))
        return self.node_terms(np.arange(len(self.tree.parent)), self.tree.sums(x))

    def node_terms(self, nodes: Ints, x: Floats) -> Floats:
        """The terms of some nodes of the tree, each with the count x at or below it; 0 where the weight is 0."""
        assert self.tree is not None
        assert self.weight is not None
        weight = self.weight[nodes]
        counts = weight > 0.0
        reference = self.tree.sums(self.reference)[nodes[counts]]
        terms = np.zeros(len(nodes))
        terms[counts] = weight[counts] * self.distance.terms(reference, x[counts], self.reference_size, self.size)
        return self.counted(terms)

    def counted(self, terms: Floats) -> Floats:
        """The terms to add up: unchanged, unless `enough` is set."""
        if self.enough is None:
            return terms
        return -np.isinf(terms).astype(np.float64) if self.enough == math.inf else -np.minimum(terms, self.enough)

    @property
    def length(self) -> int:
        """How many terms there are."""
        return len(self.reference) if self.tree is None else len(self.tree.parent)

    def row(self, bin_: int, x: Floats) -> Floats:
        """The terms of one bin for many counts."""
        reference = np.asarray(self.reference[bin_])
        return self.counted(self.distance.terms(reference, x, self.reference_size, self.size))

    def __call__(self, x: Floats) -> float:
        """The distance of the histogram x."""
        return self.from_total(float(self.terms(x).sum()))

    def from_total(self, total: float) -> float:
        """The distance whose sum of terms is `total`."""
        return math.sqrt(max(total, 0.0)) if self.distance.root else total

    def to_total(self, distance: float) -> float:
        """The sum of terms for a given `distance`."""
        return distance * distance if self.distance.root else distance


def over_taxonomy(wanted: DistanceLike, taxonomy: Taxonomy | None, levels: Sequence[float] | None) -> DistanceLike:
    """The distance over a taxonomy if one is given, by the arguments `taxonomy` and `levels` of the verbs."""
    if taxonomy is None:
        if levels is not None:
            raise InputError("levels is given without a taxonomy", ("levels",))
        return wanted
    if isinstance(wanted, TreeDistance):
        raise InputError("a TreeDistance has a taxonomy already; leave the argument taxonomy out", ("taxonomy",))
    if isinstance(wanted, KindDistance):
        raise InputError(
            "a KindDistance cannot be used over a taxonomy; leave the argument taxonomy out", ("taxonomy",)
        )
    if isinstance(wanted, SmoothedJS):
        raise InputError("a SmoothedJS cannot be used over a taxonomy; see SmoothedJS.over", ("taxonomy",))
    if callable(wanted):
        raise InputError("a function of your own cannot be used over a taxonomy; name a distance", ("taxonomy",))
    return TreeDistance(wanted, taxonomy, levels)


def distance(
    name: DistanceLike,
    reference: TableLike,
    x: TableLike,
    *,
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
) -> float:
    r"""Return the distance of `x` from `reference`.

    .. math:: d(H, X) = \sum_i \mathrm{term}(H[i], X[i])

    where i runs over the union of the two sets of locations and a missing count is 0. The root of the sum is taken for
    ``"l2"``. With a `taxonomy` the sum runs over the nodes of a tree; `TreeDistance` has the formula.

    Parameters
    ----------
    name
        ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"``, ``"neyman"``, a
        `TreeDistance`, a `KindDistance`, a `SmoothedJS`, or your own function of (reference count, count) for one
        location.
    reference
        A `Histogram`, a `Profile`, or anything that these accept. Any spelling of a name matches.
    x
        The histogram or profile to compare with `reference`.
    taxonomy
        Compare at every level of this `Taxonomy`. Default: compare location by location.
    levels
        The weights of the levels; see `TreeDistance`.

    Returns
    -------
    float
        Infinite for some distances, for example ``"pearson"`` when `x` has visits where `reference` has none.

    See Also
    --------
    verify : Check the distances of a release against limits.

    Examples
    --------
    >>> distance("js", {"a": 1, "b": 1}, {"a": 1, "c": 1})
    0.5
    >>> distance("l2", {"a": 3}, {"b": 4})
    5.0
    """
    name = over_taxonomy(name, taxonomy, levels)
    found = find_distance(name)
    r_names, r_numbers = parse_weights(reference, "reference")
    x_names, x_numbers = parse_weights(x, "histogram")
    union = r_names.union(x_names)
    if isinstance(name, KindDistance):
        union, r_names = with_kinds(x_names, r_names)
    r, aligned = align(union, r_names, r_numbers), align(union, x_names, x_numbers)
    measure = Measure(found, r, float(r.sum()), float(aligned.sum()))
    if isinstance(name, TreeDistance):
        tree, (weight,) = tree_over(union.names, [name])
        measure = measure._replace(tree=tree, weight=weight)
    elif isinstance(name, KindDistance):
        tree, (_, weight) = tree_of_kinds(union, name)
        measure = measure._replace(tree=tree, weight=weight)
    elif isinstance(name, SmoothedJS):
        measure = measure._replace(smoother=name.matrix(union.names))
    return measure(aligned)


def align(union: NameIndex, locations: NameIndex, numbers: NDArray[Number]) -> NDArray[Number]:
    """The numbers of the locations, spread over a union of locations that holds them all; 0 elsewhere."""
    if union is locations:
        return numbers
    spread = np.zeros((len(union.names), *numbers.shape[1:]), dtype=numbers.dtype)
    spread[union.positions_of(locations)] = numbers
    return spread
