"""Check that a loss over the nodes of a tree is minimal, by exchanges of one count and without any solver code."""

from __future__ import annotations

import math

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.problem import Problem

#: A gain below this, relative to the costs that it is the difference of, is rounding.
_ROUNDING = 1e-9
#: The rounding error of a term, relative to the largest.
_ROUNDED_TERM = 64.0 * float(np.finfo(np.float64).eps)


#: The most moves to find a better histogram.
_MOST_MOVES = 1000


def loss_after_exchanges(problem: Problem, counts: Ints) -> float:
    """The quality loss after exchanges that lower it: the minimum, unless that takes too many exchanges."""
    counts = counts.copy()
    for _ in range(_MOST_MOVES):
        move = best_exchange(problem, counts)
        if move is None:
            break
        counts[list(move)] += np.array([-1, 1])
    return problem.quality_loss(counts)


def best_exchange(problem: Problem, counts: Ints) -> tuple[int, int] | None:
    """Bins between which moving one count lowers the quality loss; None if there are none.

    The loss is a sum of convex functions of the counts below the nodes. Such a sum is minimal if no exchange of one
    count lowers it (M-convexity). An exchange changes the nodes above one of its two bins, but not those above both.
    """
    tree = problem.tree
    assert tree is not None
    bins, nodes = tree.bins, np.arange(len(tree.parent))
    x = tree.sums(counts)
    more, fewer = _change(problem, nodes, x, 1), _change(problem, nodes, x, -1)
    more[:bins][counts >= problem.upper] = math.inf
    fewer[:bins][counts <= problem.lower] = math.inf
    parent = np.append(np.where(tree.parent < 0, len(nodes), tree.parent), -1).tolist()
    # At each node, the two children where one more count costs least, and the two where one fewer costs least.
    give = [[(math.inf, -1, -1)] * 2 for _ in parent]
    take = [[(math.inf, -1, -1)] * 2 for _ in parent]
    own_more, own_fewer = more.tolist(), fewer.tolist()
    terms = problem.quality.terms(counts.astype(np.float64))
    rounding = _ROUNDED_TERM * float(terms[~problem.left_out].max(initial=0.0))
    for node in range(len(parent)):
        for gain, source, child in take[node]:
            for cost, destination, other in give[node]:
                if child != other and cost + gain < -_ROUNDING * (abs(cost) + abs(gain)) - rounding:
                    return source, destination
        if node < len(nodes):
            for best, own in ((give, own_more), (take, own_fewer)):
                cost, bin_, _ = best[node][0] if node >= bins else (0.0, node, -1)
                above = best[parent[node]]
                best[parent[node]] = sorted([*above, (cost + own[node], bin_, node)])[:2]
    return None


def _change(problem: Problem, nodes: Ints, x: Ints, step: int) -> Floats:
    """The change of every node's term in a step; 0 for terms that do not count."""
    terms, moved = (problem.quality.node_terms(nodes, at.astype(np.float64)) for at in (x, np.maximum(x + step, 0)))
    change = np.zeros(len(nodes))
    counted = ~problem.left_out
    change[counted] = moved[counted] - terms[counted]
    change[x + step < 0] = math.inf
    return change
