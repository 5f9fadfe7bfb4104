"""RO (Resemblance Optimal) and AO (Avoidance Optimal): Section 'Optimal algorithms for Target Resemblance ...'.

Input: histogram H, target histogram H'', privacy distance function d_p, quality distance function d_q, maximum
quality loss threshold. Output: sanitized histogram H'.

1.     Construct the graph G_TR
2.     for each node v in G_TR
3. 4.      if the label of v is (0,0): associate v with a vector V_v such that V_v[k] = 0 for each k
5. 6.      else: associate v with a vector V_v such that V_v[k] = infinity for each k
7.     for each node v in G_TR in increasing lexicographic order starting from node (1,0)
8.         for each element k of V_v
9.             V_v[k] = min over the edges (u,v) with q_err(u,v) <= k of V_u[k - q_err(u,v)] + p_err(u,v)
10.    ((0,0), (1,j_1), ..., (n,N)) <- the shortest path; its p-length is the minimum element of V_(n,N)
11.    H' <- (j_1, j_2 - j_1, ..., N - j_{n-1})
12.    return H'

G_TR has a layer of nodes (i,0), ..., (i,N) for each bin i; being at (i,j) means that bins 1..i hold j counts. The edge
from (i,j) to (i+1,j+k) has the weights p_err = p(k, H''[i+1]) and q_err = q(H[i+1], k). AO is RO with the longest path
in place of the shortest, which is the shortest path with -p_err in place of p_err.

**The vectors.** As V_(0,0)[k] is 0 for *every* k (step 4), V_v[k] is the least p-length of a path to v with q-length
*at most* k: a step function that falls as k grows. In general k is no integer, so a vector is kept by its steps: a
list of (q-length, p-length, count of bin i, step of the node before), with growing q-length and strictly falling
p-length. Steps 8 and 9 then put the steps of all V_u, each shifted by its edge's weights, in order of q-length, and
keep those that fall.

**Another reading.** The text below the pseudocode says that V_v[k] is the p-length of the p-shortest path to v with
q-length *exactly* k, and the paper's evaluation speaks of a graph that has more edges when the threshold is larger.
`ro_every_length` follows these two: it keeps every distinct q-length, whether or not a shorter path is better, and
leaves out the edges that alone exceed the threshold. It finds the same optimum, and takes about as long as the paper's.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from elsewhere.model.distances import DistanceLike
from elsewhere.model.errors import Infeasible
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.paper.setting import Setting, Size, prepare
from elsewhere.paper.terms import from_total, lift

Node: TypeAlias = tuple[int, int]
#: A way to a node: its q-length, its p-length, the count of the bin it allots last, and the step that it continues.
Step: TypeAlias = "tuple[float, float, int, Step | None]"
#: The edges into a node: where from, the count k, p_err, q_err.
Edges: TypeAlias = list[tuple[Node, int, float, float]]


def ro(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
) -> Histogram:
    """Solve TR (section 3.3 of the paper): the histogram within the maximum quality loss closest to the target.

    Parameters
    ----------
    histogram
        The history H.
    target
        The target H'': a `Profile`, or nonnegative weights by location.
    max_quality_loss
        The limit on d_q(H, H').
    quality
        The distance d_q: its name, or your own function of (original count, released count) for one location.
    privacy
        The distance d_p: its name, or your own function of (target count, released count) for one location.
    size
        The size of H': ``"original"`` (the default) or ``"target"``.

    Raises
    ------
    Infeasible
        No histogram is within the limit; its `needed_quality_loss` is the least sufficient limit.

    See Also
    --------
    elsewhere.resemble : The fast solver of the same problem.
    ro_every_length : The same with other vectors, which takes about as long as the paper says.
    rh : The heuristic.

    Examples
    --------
    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> target = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
    >>> dict(ro(h, target, 0.05))
    {'a': 10, 'b': 6, 'c': 5, 'd': 2, 'e': 14, 'f': 5, 'g': 5, 'h': 3}
    """
    return _constrained_path(prepare(histogram, target, max_quality_loss, quality, privacy, size), quality, sign=1)


def ao(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
) -> Histogram:
    """Solve TA (section 3.4 of the paper): the histogram within the maximum quality loss farthest from the target.

    Of histograms at an infinite distance, one with the least quality loss is returned.

    Parameters
    ----------
    histogram
        The history H.
    target
        The target H'': a `Profile`, or nonnegative weights by location.
    max_quality_loss
        The limit on d_q(H, H').
    quality
        The distance d_q: its name, or your own function of (original count, released count) for one location.
    privacy
        The distance d_p: its name, or your own function of (target count, released count) for one location.
    size
        The size of H': ``"original"`` (the default) or ``"target"``.

    Raises
    ------
    Infeasible
        No histogram is within the limit; its `needed_quality_loss` is the least sufficient limit.

    See Also
    --------
    elsewhere.avoid : The fast solver of the same problem.
    ah : The heuristic.

    Examples
    --------
    >>> dict(ao(Histogram({"cafe": 3, "gym": 1}), {"cafe": 1, "gym": 1}, 0.2))
    {'cafe': 4, 'gym': 0}
    """
    return _constrained_path(prepare(histogram, target, max_quality_loss, quality, privacy, size), quality, sign=-1)


def ro_every_length(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
) -> Histogram:
    """Solve TR as `ro` does, but keep the best path of every distinct q-length to a node.

    This is how the paper's text reads. There is no dominance between paths, so time and memory grow steeply with the
    maximum quality loss. Edges that alone exceed it are left out of the graph.

    Parameters
    ----------
    histogram, target, max_quality_loss, quality, privacy, size
        As in `ro`.

    Raises
    ------
    Infeasible
        No histogram is within the limit; its `needed_quality_loss` is the least limit that would do.

    See Also
    --------
    ro : The pseudocode to the letter.

    Examples
    --------
    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> target = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
    >>> ro_every_length(h, target, 0.01) == ro(h, target, 0.01)
    True
    """
    setting = prepare(histogram, target, max_quality_loss, quality, privacy, size)
    lifts = _lifts(setting)
    threshold = setting.threshold + sum(lifts)
    graph = pruned_graph(setting, lifts, threshold)  # step 1
    vector = every_length(graph, threshold).get((len(setting.locations), setting.size))  # steps 2 to 9
    if not vector:
        raise _infeasible(setting, quality, sign=1)
    best = min(vector.values(), key=lambda step: (step[1], step[0]))  # step 10; of equals the shortest in q
    return setting.histogram(_counts(best))  # steps 11 and 12


def _constrained_path(setting: Setting, quality: DistanceLike, sign: int) -> Histogram:
    lifts = _lifts(setting)
    threshold = setting.threshold + sum(lifts)
    graph = search_space_graph(setting, lifts, sign)  # step 1
    final = (len(setting.locations), setting.size)
    vector = vectors(graph, threshold)[final]  # steps 2 to 9
    if not vector:
        raise _infeasible(setting, quality, sign)
    return setting.histogram(_counts(vector[-1]))  # steps 10 to 12: the last step is the minimum of the vector


def _counts(step: Step | None) -> list[int]:
    """The counts of the bins along a path, which is followed from the last bin to the first."""
    counts = []
    while step is not None and step[3] is not None:
        counts.append(step[2])
        step = step[3]
    return counts[::-1]


def search_space_graph(setting: Setting, lifts: list[float], sign: int) -> dict[Node, Edges]:
    """G_TR, as the edges into each node; edges with an infinite error are left out, because no solution uses them."""
    graph: dict[Node, Edges] = {(0, 0): []}
    for i, (original, target) in enumerate(zip(setting.original, setting.target, strict=True)):
        for j in range(setting.size + 1):
            edges = [
                ((i, j - k), k, sign * setting.p(target, k), setting.q(original, k) + lifts[i]) for k in range(j + 1)
            ]
            graph[i + 1, j] = [
                (u, k, p_err, q_err) for u, k, p_err, q_err in edges if u in graph and max(p_err, q_err) < math.inf
            ]
    return graph


def vectors(graph: dict[Node, Edges], threshold: float) -> dict[Node, list[Step]]:
    """V_v of every node v, by its steps."""
    vector: dict[Node, list[Step]] = {v: [] for v in graph}  # steps 5 and 6: infinite everywhere
    vector[0, 0] = [(0.0, 0.0, 0, None)]  # steps 3 and 4: 0 everywhere
    for v, edges in graph.items():  # step 7: the graph was built in lexicographic order
        arriving: list[Step] = []
        for u, k, p_err, q_err in edges:
            for step in vector[u]:
                q_length = step[0] + q_err
                if q_length > threshold:
                    break
                arriving.append((q_length, step[1] + p_err, k, step))
        arriving.sort()  # step 8
        least = math.inf
        for step in arriving:  # step 9
            if step[1] < least:
                vector[v].append(step)
                least = step[1]
    return vector


def pruned_graph(setting: Setting, lifts: list[float], threshold: float) -> dict[Node, Edges]:
    """G_TR for RO without the edges whose quality error alone exceeds the threshold, and without nodes beyond them."""
    graph: dict[Node, Edges] = {(0, 0): []}
    layer = [0]
    for i, (original, target) in enumerate(zip(setting.original, setting.target, strict=True)):
        errors = [(k, setting.p(target, k), setting.q(original, k) + lifts[i]) for k in range(setting.size + 1)]
        allowed = [error for error in errors if error[2] <= threshold and max(error[1:]) < math.inf]
        layer = sorted({j + k for j in layer for k, _, _ in allowed if j + k <= setting.size})
        for j in layer:
            graph[i + 1, j] = [((i, j - k), k, p_err, q_err) for k, p_err, q_err in allowed if (i, j - k) in graph]
    return graph


def every_length(graph: dict[Node, Edges], threshold: float) -> dict[Node, dict[float, Step]]:
    """V_v of every node v by q-length: for each one that a path has, the p-shortest of the paths that have it."""
    vector: dict[Node, dict[float, Step]] = {v: {} for v in graph}
    vector[0, 0][0.0] = (0.0, 0.0, 0, None)
    for v, edges in graph.items():  # step 7
        own = vector[v]
        for u, k, p_err, q_err in edges:
            for q_before, step in vector[u].items():
                q_length = q_before + q_err
                if q_length <= threshold:
                    p_length = step[1] + p_err
                    if q_length not in own or p_length < own[q_length][1]:  # step 9
                        own[q_length] = (q_length, p_length, k, step)
    return vector


def _lifts(setting: Setting) -> list[float]:
    counts = range(setting.size + 1)
    return [lift([setting.q(original, k) for k in counts]) for original in setting.original]


def _infeasible(setting: Setting, quality: DistanceLike, sign: int) -> Infeasible:
    """The error with the sufficient quality loss: that of the q-shortest path, ignoring its p-length."""
    lifts = _lifts(setting)
    graph = search_space_graph(setting, lifts, sign)
    no_p = {v: [(u, k, 0.0, q_err) for u, k, _, q_err in edges] for v, edges in graph.items()}
    vector = vectors(no_p, math.inf)[len(setting.locations), setting.size]
    if not vector:
        return Infeasible("no histogram of that size has a finite quality loss and, in resemble, distance", math.inf)
    needed = from_total(quality, vector[0][0] - sum(lifts))
    return Infeasible(f"no histogram is within the maximum quality loss; the least possible is {needed:.6g}", needed)
