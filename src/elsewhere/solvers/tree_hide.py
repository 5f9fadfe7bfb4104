"""LHO over a tree: the counts of least quality loss if the loss sums over the nodes of a taxonomy.

The loss is laminar convex: a sum of convex functions, each of the count below one node. For such a sum the greedy rule
of flat distances is optimal, too: each next count goes to the location where it costs least. The cost of a count is the
sum over the location and all nodes above it.
"""

from __future__ import annotations

import numpy as np

from elsewhere.kernels.cancellation import check_cancelled
from elsewhere.model.arrays import Ints
from elsewhere.model.problem import Problem
from elsewhere.solvers import terms
from elsewhere.solvers.choices import KINDS

#: Counts given between two checks for cancellation.
_STEPS_PER_CALL = 100_000


def spread(problem: Problem) -> Ints:
    """The counts of least quality loss within the bounds, ignoring forbidden histograms."""
    nodes = _nodes(problem)
    low, high = problem.lower, problem.upper
    places = int(nodes.base[-1])
    so_far = terms.Greedy(
        np.zeros(len(nodes.parent), np.int64),
        np.zeros(len(low), np.int64),
        np.zeros(places),
        np.zeros(places, np.int64),
    )
    left = problem.size - int(low.sum())
    while True:
        steps = min(left, _STEPS_PER_CALL)
        terms.give(nodes, low, high, so_far, steps)
        left -= steps
        if not left:
            return so_far.x[: len(low)].copy()
        check_cancelled()


def _nodes(problem: Problem) -> terms.Nodes:
    quality, tree = problem.quality, problem.tree
    assert tree is not None
    assert quality.weight is not None
    root = len(tree.parent)
    parent = np.append(np.where(tree.parent < 0, root, tree.parent), root)
    children = np.bincount(parent[:-1], minlength=root + 1)
    base = np.append(0, np.cumsum(2 * children))
    # A child's index in its tournament comes after the inner indices: count the siblings before it.
    by_parent = np.argsort(parent[:-1], kind="stable")
    rank = np.empty(root, np.int64)
    rank[by_parent] = np.arange(root) - (np.cumsum(children) - children)[parent[by_parent]]
    slot = base[parent[:-1]] + children[parent[:-1]] + rank
    return terms.Nodes(
        KINDS[quality.distance.name], parent, np.where(problem.left_out, 0.0, quality.weight),
        tree.sums(quality.reference), quality.reference_size, quality.size, base, slot,
    )  # fmt: skip
