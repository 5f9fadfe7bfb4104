"""Distances that add up counts: over a taxonomy, at every level from the coarsest kinds to the locations, or by kind.

Callers pass a `TreeDistance` or a `KindDistance`. A `Tree` has the nodes that they sum over for the locations of one
problem, as plain arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elsewhere.model.arrays import Floats, Ints, Number
from elsewhere.model.errors import InputError
from elsewhere.model.names import NameIndex, name_key
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.text import quote

#: The ids of the nodes from the top down to a location.
_Path: TypeAlias = tuple[str, ...]
#: The level of a node of the taxonomy, counted from 0, and its index in a tree.
_Place: TypeAlias = tuple[int, int]

#: The prefix of the key of a bin that is a kind of the target, not a location; no key of a name has it.
_KIND = "\0"


@dataclass(frozen=True)
class TreeDistance:
    r"""A distance that knows which places are alike: it compares two histograms at every level of a taxonomy.

    .. math:: d_T(H, X) = \sum_l w_l \, d(H_l, X_l) = \sum_v w_v \, \mathrm{term}(H(v), X(v))

    where :math:`H_l` has the counts of the kinds of place at level l. A location counts for the node of that level
    above it, or at it. At the last level, and below its own node, it stands for itself. So the sum is one over nodes v
    of a tree, and H(v) is the number of visits at v or below. For ``"l2"`` the root of the whole sum is taken.

    With ``"variational"`` this is an earth mover's distance: the edge above node v is :math:`w_v` long.

    Parameters
    ----------
    name
        The distance d: ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"`` or
        ``"neyman"``.
    taxonomy
        The tree of kinds. A location is looked up as `Taxonomy.select` does. One that may mean several nodes is put at
        the lowest node above them all. One that the taxonomy does not have stands for itself at every level.
    levels
        The weights :math:`w_l` from the top level down. The last one is that of the locations themselves. Give fewer
        weights than the taxonomy has levels to ignore the deeper ones. Default: equal shares of 1, one for each level.

    See Also
    --------
    distance, hide, resemble, avoid : They accept a `TreeDistance` wherever they accept the name of a distance.

    Examples
    --------
    An Italian restaurant is more similar to a French restaurant than to a cinema:

    >>> from elsewhere import Taxonomy, distance
    >>> text = b"Food\n  Italian Restaurant\n  French Restaurant\nArts\n  Cinema\n"
    >>> by_kind = TreeDistance("js", Taxonomy.parse("kinds.txt", text))
    >>> distance(by_kind, {"Italian Restaurant": 1}, {"French Restaurant": 1})
    0.5
    >>> distance(by_kind, {"Italian Restaurant": 1}, {"Cinema": 1})
    1.0
    """

    name: str
    taxonomy: Taxonomy
    levels: Sequence[float] | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "over a taxonomy")
        if not isinstance(self.taxonomy, Taxonomy):
            raise InputError(f"taxonomy is {quote(self.taxonomy)}; it must be a Taxonomy", ("taxonomy",))
        if self.levels is not None:
            object.__setattr__(self, "levels", _checked_levels(self.levels, self.taxonomy.depth))

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each level."""
        depth = self.taxonomy.depth
        return (1.0 / depth,) * depth if self.levels is None else tuple(self.levels)


@dataclass(frozen=True)
class KindDistance:
    r"""A privacy distance from a target of kinds: it compares how many visits of each kind there are.

    .. math:: d_p(H', H'') = \sum_k \mathrm{term}\Big(H''(k), \sum_{i \in k} H'(i)\Big)

    where k runs over the kinds, and i over the locations of kind k. The names in the target are kinds. They receive no
    visits: the release has the locations of the history, and candidates. For ``"l2"`` the root of the sum is taken.

    Parameters
    ----------
    name
        The distance: ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"`` or
        ``"neyman"``.
    kinds
        The kind of each location. Any spelling of a name matches. A location that is not in it is a kind of its own, by
        its own name.

    See Also
    --------
    resemble, avoid, frontier, verify, distance : They accept a `KindDistance` as the privacy distance.

    Examples
    --------
    >>> from elsewhere import distance, resemble
    >>> by_kind = KindDistance("js", {"Hotel Adlon": "Hotel", "Hotel Sacher": "Hotel", "Louvre": "Museum"})
    >>> distance(by_kind, {"Hotel": 3, "Museum": 1}, {"Hotel Adlon": 1, "Hotel Sacher": 2, "Louvre": 1})
    0.0
    >>> history = {"Hotel Adlon": 1, "Hotel Sacher": 2, "Louvre": 9}
    >>> dict(resemble(history, {"Hotel": 3, "Museum": 1}, 0.05, privacy=by_kind).histogram)
    {'Hotel Adlon': 2, 'Hotel Sacher': 4, 'Louvre': 6}
    """

    name: str
    kinds: Mapping[str, str]

    def __post_init__(self) -> None:
        _check_name(self.name, "of kinds")
        if not isinstance(self.kinds, Mapping):
            raise InputError(f"kinds is {quote(self.kinds)}; give a mapping from locations to kinds", ("kinds",))
        found: dict[str, str] = {}
        for location, kind in self.kinds.items():
            for name, what in ((location, "location"), (kind, "kind")):
                if not isinstance(name, str) or not name_key(name):
                    raise InputError(f"kinds has the {what} {quote(name)}, which is not a name", ("kinds",))
            other = found.setdefault(name_key(location), kind)
            if name_key(other) != name_key(kind):
                raise InputError(
                    f"kinds has two kinds for {quote(location)}: {quote(other)} and {quote(kind)}", ("kinds",)
                )

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {name_key(location): name_key(kind) for location, kind in self.kinds.items()}


def _check_name(name: Any, which: str) -> None:
    from elsewhere.model.distances import find_distance  # it imports this module

    if not isinstance(name, str):
        raise InputError(f"a distance {which} needs the name of a distance, not {quote(name)}")
    find_distance(name)


def _checked_levels(levels: Any, depth: int) -> tuple[float, ...]:
    try:
        weights = tuple(float(weight) for weight in levels) if not isinstance(levels, str | bytes) else ()
    except (TypeError, ValueError, OverflowError):
        weights = ()
    if not weights or not all(0.0 <= weight < math.inf for weight in weights):
        raise InputError(f"levels is {quote(levels)}; give a weight of at least 0 for each level", ("levels",))
    if len(weights) > depth:
        raise InputError(f"levels has {len(weights)} weights, but the taxonomy has {depth} levels", ("levels",))
    if not weights[-1] > 0.0:
        raise InputError("the last of levels is 0; the locations themselves need a weight above 0", ("levels",))
    return weights


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree above bins: the first nodes are the bins, and the others follow, children before parents.

    Each of the others has at least two children. A top node has the parent -1.
    """

    parent: Ints
    #: The bins in an order in which those below any node are adjacent.
    order: Ints
    #: Node `bins + j` is above the bins order[first[j]:last[j]].
    first: Ints
    last: Ints

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.order)

    def sums(self, x: NDArray[Number]) -> NDArray[Number]:
        """The sum at or below each node, given the values at the bins."""
        if not len(self.first):
            return x
        ends = np.column_stack((self.first, self.last)).ravel()
        inner = np.add.reduceat(np.append(x[self.order], x[:1]), ends)[::2]
        return np.concatenate((x, inner))


def tree_over(locations: Sequence[str], distances: Sequence[TreeDistance | None]) -> tuple[Tree, list[Floats]]:
    """One tree over the locations for some distances, and the weight of each node in each of them.

    A flat distance, None, has the weight 1 at the bins and 0 above them. The others must share their taxonomy.
    """
    given = [distance for distance in distances if distance is not None]
    taxonomy = given[0].taxonomy
    if any(distance.taxonomy is not taxonomy for distance in given):
        raise InputError("quality and privacy are over two taxonomies; they must be over the same one", ("taxonomy",))
    deepest = max(len(distance.weights) for distance in given) - 1
    paths = [taxonomy.path(location)[:deepest] for location in locations]
    tree, places = _grown(paths)
    return tree, [_weights(distance, paths, places, len(tree.parent)) for distance in distances]


def kinds_of(distance: KindDistance, locations: NameIndex) -> list[str]:
    """The key of the kind of each location."""
    return [distance._keys.get(key, key) for key in locations.keys]


def with_kinds(locations: NameIndex, target: NameIndex) -> tuple[NameIndex, NameIndex]:
    """The bins of a problem with a target of kinds: the locations and one bin per kind; also the bins of kinds alone.

    A kind's bin may have the name of a location. It has the target's weight of the kind, and receives nothing.
    """
    kinds = NameIndex(target.names, [_KIND + key for key in target.keys])
    return locations.union(kinds), kinds


def tree_of_kinds(index: NameIndex, distance: KindDistance) -> tuple[Tree, list[Floats]]:
    """The tree of the kinds of these bins, and the weight of each node: in a flat quality distance, and in `distance`.

    The bins of kinds only count in their kinds.
    """
    is_kind = np.array([key.startswith(_KIND) for key in index.keys])
    tree, places = _grown([(kind.removeprefix(_KIND),) for kind in kinds_of(distance, index)])
    quality, privacy = np.zeros(len(tree.parent)), np.zeros(len(tree.parent))
    quality[: len(is_kind)][~is_kind] = 1.0
    privacy[[at for _, at in places]] = 1.0
    return tree, [quality, privacy]


def _weights(distance: TreeDistance | None, paths: Sequence[_Path], places: Sequence[_Place], nodes: int) -> Floats:
    weight = np.zeros(nodes)
    if distance is None:
        weight[: len(paths)] = 1.0
        return weight
    *inner, own = distance.weights
    alone = [own + sum(inner[depth:]) for depth in range(len(inner) + 1)]
    weight[: len(paths)] = [alone[min(len(path), len(inner))] for path in paths]
    for level, at in places:
        if level < len(inner):
            weight[at] += inner[level]
    return weight


def _grown(paths: Sequence[_Path]) -> tuple[Tree, list[_Place]]:
    """The tree of the nodes on these paths, and the index in it of every such node.

    A node with a single child has the index of that child: both have the same counts, so their weights are added.
    """
    order = sorted(range(len(paths)), key=paths.__getitem__)
    parent = [-1] * len(paths)
    spans: list[tuple[int, int]] = []
    places: list[_Place] = []
    open_: list[
        tuple[str, int, list[int]]
    ] = []  # nodes on the way to the current bin: where they begin, their children

    def close(down_to: int, end: int) -> None:
        while len(open_) > down_to:
            _, begin, children = open_.pop()
            at = children[0]
            if len(children) > 1:
                at = len(parent)
                parent.append(-1)
                spans.append((begin, end))
                for child in children:
                    parent[child] = at
            places.append((len(open_), at))
            if open_:
                open_[-1][2].append(at)

    for position, bin_ in enumerate(order):
        path = paths[bin_]
        shared = 0
        while shared < min(len(path), len(open_)) and open_[shared][0] == path[shared]:
            shared += 1
        close(shared, position)
        open_.extend((node, position, []) for node in path[shared:])
        if open_:
            open_[-1][2].append(bin_)
    close(0, len(order))
    first, last = np.array(spans, dtype=np.int64).reshape(-1, 2).T.copy()
    return Tree(np.array(parent, dtype=np.int64), np.array(order, dtype=np.int64), first, last), places
