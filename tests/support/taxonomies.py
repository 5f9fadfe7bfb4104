"""Random taxonomies over the locations of `tests.support.instances`."""

from __future__ import annotations

import hypothesis.strategies as st

from elsewhere import Taxonomy, TreeDistance
from elsewhere.model.taxonomy_files import Node

#: All locations that the random questions have.
_NAMES = "abcdxy"


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """A tree in which some of the locations are leaves, some are inner nodes, and some are not at all."""
    known = draw(st.permutations(_NAMES))[: draw(st.integers(2, len(_NAMES)))]
    nodes = [Node("k0", "kind 0"), Node("k1", "kind 1", draw(st.sampled_from([None, "k0"])))]
    if draw(st.booleans()):
        nodes.append(Node("k2", "kind 2", draw(st.sampled_from([None, "k0", "k1"]))))
    for name in known:
        parent = draw(st.sampled_from([None, *(node.id for node in nodes)]))
        nodes.append(Node(name, name, parent))
    return Taxonomy(nodes)


@st.composite
def tree_distances(draw: st.DrawFn, name: str, taxonomy: Taxonomy) -> TreeDistance:
    """The distance over the taxonomy, with any levels and weights."""
    levels = None
    if draw(st.booleans()):
        number = draw(st.integers(1, taxonomy.depth))
        weight = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5])
        levels = [*draw(st.lists(weight, min_size=number - 1, max_size=number - 1)), draw(st.sampled_from([0.25, 1.0]))]
    return TreeDistance(name, taxonomy, levels)
