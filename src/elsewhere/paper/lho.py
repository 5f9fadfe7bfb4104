"""LHO (Location Hiding Optimal): Section 'LHO: An optimal algorithm for SLH'.

Input: histogram H, set of sensitive locations L', quality distance function d_q. Output: sanitized histogram H'.

1. Construct the search space graph G_LHO
2. ((0,0), (1,k_1), ..., (m,K)) <- the shortest path from node (0,0) to node (m,K) in G_LHO
3. H' <- (H[1] + k_1, H[2] + (k_2 - k_1), ..., H[m] + (K - k_{m-1}), 0, ..., 0)
4. return H'

Here m = n - |L'| is the number of nonsensitive bins and K the total count of the sensitive ones. G_LHO has a layer
of nodes (i,0), ..., (i,K) for each nonsensitive bin i; being at (i,j) means that bins 1..i have received j counts.
SLH_r, which redistributes r counts, is the same with K := r.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from elsewhere.model.distances import DistanceLike
from elsewhere.model.errors import Infeasible, InputError
from elsewhere.model.histogram import Histogram
from elsewhere.paper.setting import counts_to_add
from elsewhere.paper.terms import Term, lift, term

Node: TypeAlias = tuple[int, int]
#: The nodes that a node has edges to, each with the weight of the edge.
Graph: TypeAlias = dict[Node, list[tuple[Node, float]]]


def lho(
    histogram: Histogram, sensitive: Iterable[str], quality: DistanceLike = "js", redistribute: int | None = None
) -> Histogram:
    """Solve SLH (section 3.2 of the paper): the histogram of least quality loss without visits to sensitive locations.

    Parameters
    ----------
    histogram
        The history H.
    sensitive
        Names of the locations to hide, each in a spelling of the history.
    quality
        The distance d_q: its name, or your own function of (original count, released count) for one location.
    redistribute
        Number r of visits to add to the other locations (SLH_r). Default: as many as are hidden.

    Raises
    ------
    InputError
        A sensitive location is not in the histogram.
    Infeasible
        No location can receive the visits.

    See Also
    --------
    elsewhere.hide : The fast solver of the same problem.

    Examples
    --------
    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> dict(lho(h, {"g", "h"}))
    {'a': 9, 'b': 3, 'c': 4, 'd': 3, 'e': 16, 'f': 15}
    """
    hidden = set(sensitive)
    for location in hidden:
        if location not in histogram:
            raise InputError(f"the sensitive location {location!r} is not in the histogram")
    locations = [location for location in histogram if location not in hidden]
    counts = [histogram[location] for location in locations]
    m, big_k = len(locations), counts_to_add(histogram, hidden, redistribute)
    q = term(quality, histogram.size, sum(counts) + big_k)

    graph = search_space_graph(counts, big_k, q)  # step 1
    path = shortest_path(graph, (0, 0), (m, big_k))  # step 2
    if path is None:
        raise Infeasible(f"no nonsensitive location can receive the {big_k} sensitive counts", math.inf)
    received = [k - k_before for (_, k_before), (_, k) in pairwise(path)]  # step 3
    return Histogram(  # step 4
        (location, count + k) for location, count, k in zip(locations, counts, received, strict=True)
    )


def search_space_graph(counts: list[int], big_k: int, q: Term) -> Graph:
    """G_LHO: an edge from each (i,j) to each (i+1,j+k) with the weight E_{i+1,k} = q(H[i+1], H[i+1] + k).

    Counts that a bin cannot receive, because the error would be infinite, have no edge.
    """
    graph: Graph = {}
    for i, count in enumerate(counts):
        above_zero = lift([q(count, count + k) for k in range(big_k + 1)])
        for j in range(big_k + 1) if i > 0 else [0]:
            edges = [((i + 1, j + k), q(count, count + k) + above_zero) for k in range(big_k - j + 1)]
            graph[i, j] = [edge for edge in edges if edge[1] < math.inf]
    return graph


def shortest_path(graph: Graph, source: Node, destination: Node) -> list[Node] | None:
    """Dijkstra's algorithm with a binary heap."""
    length = {source: 0.0}
    previous: dict[Node, Node] = {}
    heap = [(0.0, source)]
    done: set[Node] = set()
    while heap:
        _, u = heapq.heappop(heap)
        if u == destination:
            path = [u]
            while path[-1] != source:
                path.append(previous[path[-1]])
            return path[::-1]
        if u in done:
            continue
        done.add(u)
        for v, weight in graph.get(u, ()):
            through_u = length[u] + weight
            if through_u < length.get(v, math.inf):
                length[v] = through_u
                previous[v] = u
                heapq.heappush(heap, (through_u, v))
    return None
