"""A step of Numba's compiler that gives each assignment to a variable a name of its own, in less time.

By default Numba rewrites the whole function for each of its variables. Here it only rewrites the blocks that have the
variable.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, cast

from numba.core import ssa
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.ir_utils import build_definitions
from numba.core.untyped_passes import ReconstructSSA

_ssa = cast(Any, ssa)


class SingleAssignments(ReconstructSSA):
    """Numba's step, without its second look for unused variables."""

    def run_pass(self, state: Any) -> bool:
        code = state.func_ir
        code.blocks = _with_single_assignments(code.blocks)
        cast(Any, self)._patch_locals(state)
        code._definitions = cast(Any, build_definitions)(code.blocks)
        return True


def _with_single_assignments(blocks: dict[int, Any]) -> dict[int, Any]:
    """The blocks of a function, as `ssa.reconstruct_ssa` rewrites them."""
    graph = cast(Any, compute_cfg_from_blocks)(blocks)
    fronts = _ssa._iterated_domfronts(graph)
    lines = _ssa._CacheListVars()
    names = {at: {var.name for line in block.body for var in line.list_vars()} for at, block in blocks.items()}
    for name in _ssa._find_defs_violators(blocks, graph):
        concerned, definitions = _ssa._fresh_vars({at: blocks[at] for at in blocks if name in names[at]}, name)
        joins: dict[int, list[Any]] = defaultdict(list)
        state = {
            "varname": name, "scope": _ssa._get_scope(blocks), "cfg": graph,
            "defmap": definitions, "phimap": joins, "phi_locations": _ssa._compute_phi_locations(fronts, definitions),
        }  # fmt: skip
        blocks = blocks | _ssa._run_block_rewrite(concerned, state, _ssa._FixSSAVars(lines))
        for at, joined in joins.items():
            blocks[at].body = joined + blocks[at].body
    return blocks
