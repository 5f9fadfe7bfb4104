"""Smoothed JS-divergence: each visit is spread over similar places before two histograms are compared.

Callers pass a `SmoothedJS`. The other layers only need its matrix for the locations of one problem.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.model.errors import InputError
from elsewhere.model.names import name_key, name_keys
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.text import quote

#: Weights of pairs of locations, or a function of two locations that returns one.
KernelLike: TypeAlias = Mapping[tuple[str, str], float] | Callable[[str, str], float]


@dataclass(frozen=True)
class SmoothedJS:
    r"""The JS-divergence of two histograms after smoothing, so that a move to a similar place costs less.

    .. math:: d(H, X) = \mathrm{JS}(S(H), S(X)), \qquad
        S(H)[i] = \sum_j \frac{H[j]}{|H|} \, \frac{K(i, j)}{\sum_{k} K(k, j)}

    where K(i, j) says how similar the locations i and j are. Each visit to j is spread over the locations that are
    similar to j, so the smoothed shares still sum to 1. This is the *smoothed JS-divergence* of [1]_, which [2]_ names
    for semantic similarity. If every location is similar to itself alone, it equals ``"js"``.

    The sums run over all locations of a question: those of the history, the target and the candidates.

    Parameters
    ----------
    kernel
        The weights K. A mapping has a weight of at least 0 for some pairs of locations; a pair holds in both orders
        unless both are given. Other pairs have the weight 0, and a location paired with itself has 1. Or give your own
        function of two locations; it is called for every pair.

    See Also
    --------
    SmoothedJS.over : A kernel that follows from a taxonomy.
    TreeDistance : Another distance that knows which places are alike; it compares at every level of a taxonomy.
    distance, hide, resemble, frontier, verify : They accept a `SmoothedJS` in place of the name of a distance.

    Notes
    -----
    A smoothed distance couples the locations, so there is no fast exact algorithm. The search proves small cases
    optimal. For the others it returns a good release and a proven bound; ``gap`` says how far apart they can be. Set
    `time_limit` for large histories. `avoid` and `forbidden` do not support it.

    References
    ----------
    .. [1] Tiancheng Li, Ninghui Li and Jian Zhang, "Modeling and integrating background knowledge in data
       anonymization", ICDE 2009, doi:10.1109/ICDE.2009.86.
    .. [2] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4, section 3.1.

    Examples
    --------
    An Italian restaurant is more similar to a French restaurant than to an American cinema:

    >>> from elsewhere import distance
    >>> smoothed = SmoothedJS({("Italian Restaurant", "French Restaurant"): 0.5})
    >>> round(distance(smoothed, {"Italian Restaurant": 1}, {"French Restaurant": 1}), 4)
    0.0817
    >>> distance(smoothed, {"Italian Restaurant": 1}, {"American Cinema": 1})
    1.0
    """

    kernel: KernelLike

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Mapping) and not callable(self.kernel):
            raise InputError(
                f"kernel is {quote(self.kernel)}; give weights of pairs of locations or a function of two locations",
                ("kernel",),
            )

    @classmethod
    def over(cls, taxonomy: Taxonomy, bandwidth: float = 0.5) -> SmoothedJS:
        r"""Return the distance whose kernel follows from a taxonomy.

        .. math:: K(i, j) = b^{\,l(i, j)}

        where b is the `bandwidth` and l(i, j) the number of levels from the deeper of the two locations up to the
        lowest node above both: 0 for a location and itself, and 1 for siblings. Two locations that have no node in
        common, or that the taxonomy does not have, have the weight 0.

        Parameters
        ----------
        taxonomy
            The tree of kinds. A location is looked up as `Taxonomy.path` does.
        bandwidth
            A number from 0, which smooths nothing, to 1, which makes all locations below a top node alike.

        Examples
        --------
        >>> from elsewhere import Taxonomy, distance
        >>> kinds = Taxonomy.parse("kinds.txt", b"Food\n  Italian Restaurant\n  French Restaurant\nArts\n  Cinema\n")
        >>> round(distance(SmoothedJS.over(kinds), {"Italian Restaurant": 1}, {"French Restaurant": 1}), 4)
        0.0817
        """
        if not isinstance(taxonomy, Taxonomy):
            raise InputError(f"taxonomy is {quote(taxonomy)}; it must be a Taxonomy", ("taxonomy",))
        if not _is_number(bandwidth) or not 0.0 <= bandwidth <= 1.0:
            raise InputError(f"bandwidth is {quote(bandwidth)}; it must be a number from 0 to 1", ("bandwidth",))
        return cls(TaxonomyKernel(taxonomy, float(bandwidth)))

    def matrix(self, locations: Sequence[str]) -> Floats:
        """Return where visits go: column j says how a visit to location j is spread over all locations.

        Parameters
        ----------
        locations
            The names of the locations, in the order of rows and columns.
        """
        weights = _weights(self.kernel, locations)
        total = weights.sum(axis=0)
        for at in np.flatnonzero(total <= 0.0).tolist():
            raise InputError(
                f"the kernel has no weight above 0 for {quote(locations[at])}, not even with itself", ("kernel",)
            )
        return np.asarray(weights / total)


@dataclass(frozen=True)
class TaxonomyKernel:
    """The kernel of `SmoothedJS.over`."""

    taxonomy: Taxonomy
    bandwidth: float

    def __call__(self, one: str, other: str) -> float:
        """The weight of two locations."""
        return float(self.weights([one, other])[0, 1])

    def weights(self, locations: Sequence[str]) -> Floats:
        """The weights of all pairs at once."""
        ids: dict[str, int] = {}
        paths = [self.taxonomy.path(location) for location in locations]
        depth = np.array([len(path) for path in paths])
        table = np.full((len(paths), int(depth.max(initial=0))), -1)
        for row, path in zip(table, paths, strict=True):
            row[: len(path)] = [ids.setdefault(node, len(ids)) for node in path]
        common = np.zeros((len(paths), len(paths)))
        alike = np.ones((len(paths), len(paths)), dtype=np.bool_)
        for level in table.T:
            alike &= (level[:, None] == level) & (level >= 0)
            common += alike
        # Two locations at one node are still two places.
        levels = np.maximum(np.maximum(depth[:, None], depth) - common, 1.0)
        weights = np.where(common > 0, self.bandwidth**levels, 0.0)
        keys = np.array(name_keys(locations), dtype=object)
        weights[keys[:, None] == keys] = 1.0
        return np.asarray(weights)


def _weights(kernel: KernelLike, locations: Sequence[str]) -> Floats:
    if isinstance(kernel, TaxonomyKernel):
        return kernel.weights(locations)
    n = len(locations)
    if callable(kernel):
        given = [_called(kernel, one, other) for one in locations for other in locations]
        return np.array(given).reshape(n, n)
    weights = np.full((n, n), math.nan)
    places = {key: at for at, key in enumerate(name_keys(locations))}
    for pair, value in kernel.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise InputError(f"kernel has the key {quote(pair)}, which is not a pair of locations", ("kernel",))
        number = _checked(pair, value)
        one, other = (places.get(name_key(name), -1) for name in pair)
        if min(one, other) >= 0:
            weights[one, other] = number
    weights = np.where(np.isnan(weights), weights.T, weights)
    return np.asarray(np.where(np.isnan(weights), np.eye(n), weights))


def _called(kernel: Callable[[str, str], float], one: str, other: str) -> float:
    try:
        value = kernel(one, other)
    except Exception as error:
        raise InputError(f"the kernel failed for {(one, other)}: {quote(error)}", ("kernel",)) from error
    return _checked((one, other), value)


def _checked(pair: Any, value: Any) -> float:
    if not _is_number(value) or not 0.0 <= value < math.inf:
        raise InputError(
            f"the kernel has the weight {quote(value)} for {pair}; a weight is a finite number of at least 0",
            ("kernel",),
        )
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
