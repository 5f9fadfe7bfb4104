"""``make mutants MINUTES=10``: change the solvers and the verifier at random, and list what no test notices.

Each mutant has one change: a comparison, an operator, a constant, ``min`` for ``max``, or a negated condition. Its
tests run until one fails, with the kernels of a solver interpreted. A mutant that survives is either equivalent (it
changes only the speed or a tie) or shows a missing test; a person must decide. Nothing is written to the sources: every
mutant has its own process.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

SOURCES = Path("src")
_PAIRS = "solvers/test_optimal.py::test_every_pair_of_distances"
#: The tests of `resemble` and `avoid` that are quick even with interpreted kernels.
_SEARCH = (
    *(
        f"{_PAIRS}[{pair}]"
        for pair in ("js-js-resemble", "js-js-avoid", "l2-pearson-avoid", "neyman-variational-resemble")
    ),
    *(f"solvers/test_optimal.py::test_users_own_function[wild-both-{goal}]" for goal in ("resemble", "avoid")),
    "solvers/test_search.py",
    "solvers/test_optimal.py::test_forbidden_histograms[resemble]",
)
#: The tests that should notice a change of each module.
TESTS = {
    "verification.verify": ("verification/test_verify.py", "solvers/test_add_only.py", "test_drawn.py"),
    "verification.bounds": ("verification/test_ranges.py", "verification/test_verify.py"),
    "verification.exchanges": ("verification/test_exchanges.py",),
    "verification.ranges": ("verification/test_ranges.py", "verification/test_verify.py"),
    "verification.kind_bounds": ("verification/test_kind_bounds.py",),
    "verification.many": ("verification/test_many.py",),
    "verification.fewest": ("solvers/test_add_only.py",),
    "verification.release_file": ("verification/test_release_file.py",),
    "verification.sharing": ("verification/test_sharing.py", "sharing/test_pairing.py"),
    "solvers.exact": ("solvers/test_optimal.py::test_hide", *_SEARCH),
    "solvers.hide_many": ("solvers/test_hide_many.py",),
    "solvers.terms": (
        "solvers/test_hide_many.py",
        "solvers/test_large.py::test_allocation_equals_lho",
        "solvers/test_large.py::test_allocation_of_many_counts_over_equal_bins",
        "solvers/test_large.py::test_counts_up_to_the_largest",
        "solvers/test_sizes.py",
        *_SEARCH,
    ),
    "solvers.large": ("solvers/test_sizes.py",),
    "solvers.large_dual": ("solvers/test_sizes.py",),
    "solvers.choices": _SEARCH,
    "solvers.dual": _SEARCH,
    "solvers.knapsack": _SEARCH,
    "solvers.labels": _SEARCH,
    "solvers.bounds": ("solvers/test_bounds.py", *_SEARCH),
    "solvers.greedy": ("solvers/test_large.py::test_heuristic_equals_its_literal_twin",),
    "solvers.required_loss": ("solvers/test_least_loss.py",),
    "solvers.add_only": ("solvers/test_add_only.py",),
    "solvers.pairs": ("solvers/test_pairs.py",),
}
#: A mutant whose tests take longer than this, in seconds, counts as noticed.
PATIENCE = 300

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Add,
}  # fmt: skip
_OPPOSITES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}


def mutate(node: ast.AST) -> bool:
    """Change `node` itself; False if there is nothing to change."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in _COMPARISONS:
            node.ops[0] = _COMPARISONS[type(op)]()
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _OPERATORS:
            node.op = _OPERATORS[type(op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.Call(func=ast.Name() as name) if name.id in _OPPOSITES:
            name.id = _OPPOSITES[name.id]
        case ast.Call(func=ast.Attribute() as name) if name.attr in _OPPOSITES:
            name.attr = _OPPOSITES[name.attr]
        case _:
            return False
    return True


def sites(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that can be changed, outside annotations."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AnnAssign | ast.arg):
            hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
            skipped.update(id(part) for hint in hints if hint for part in ast.walk(hint))
        if id(node) not in skipped and mutate(copy.deepcopy(node)):
            yield node


class MutantFinder(MetaPathFinder):
    """Lets one module be imported from a changed tree."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module, self.tree = module, tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        source, tree = str(_source(fullname).resolve()), self.tree

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(ast.fix_missing_locations(tree), source, "exec")

        return spec_from_loader(fullname, Loader(fullname, source))


def _source(module: str) -> Path:
    return SOURCES.joinpath(*module.split(".")).with_suffix(".py")


def passes(module: str, tree: ast.Module) -> bool:
    """Whether the tests of `module` pass with `tree` in its place."""
    child = os.fork()
    if not child:
        _run(module, tree)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(module: str, tree: ast.Module) -> None:
    """Run the tests in this process and end it."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    status = 1
    try:
        import pytest

        name = module.partition(".")[2]
        chosen = "not slow"
        if name.startswith("solvers."):
            os.environ["INTERPRETED"] = "1"
            chosen = "not slow and not compiled"
        sys.meta_path.insert(0, MutantFinder(module, tree))
        tests = [f"tests/{file}" for file in TESTS[name]]
        status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", chosen, *tests]))
    finally:
        os._exit(status)


def main(minutes: float, names: Sequence[str]) -> int:
    """Try mutants for some minutes, of the modules whose names start with one of `names`, or of all."""
    import numba  # noqa: F401  # both imported once, for all processes to come
    import scipy.optimize  # noqa: F401

    modules = [f"elsewhere.{name}" for name in TESTS if not names or name.startswith(tuple(names))]
    trees = {module: ast.parse(_source(module).read_text("utf-8")) for module in modules}
    for module, tree in trees.items():
        began = time.monotonic()
        if not passes(module, tree):
            sys.exit(f"mutants: the tests of {module} fail, or take too long, before anything is changed")
        print(f"{module}: its tests take {time.monotonic() - began:.1f} s", flush=True)
    weights = [sum(1 for _ in sites(tree)) for tree in trees.values()]
    end, noticed, survived = time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < end:
        module = random.choices(modules, weights)[0]
        tree = copy.deepcopy(trees[module])
        node = random.choice(list(sites(tree)))
        before = ast.unparse(node)
        mutate(node)
        if passes(module, tree):
            survived += 1
            line = getattr(node, "lineno", 0)
            print(
                f"survived: {_source(module)}:{line}: {_first_line(before)} -> {_first_line(ast.unparse(node))}",
                flush=True,
            )
        else:
            noticed += 1
    print(f"mutants: of {noticed + survived:,} mutants in {minutes:g} minutes, the tests noticed {noticed:,}")
    return 0


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
