"""``python -m benchmarks``: print one table, with every rival measured in the same run as elsewhere.

A row has what was measured, the time of elsewhere, the time of the rival, their ratio and the goal. Trust the ratios
most: the machines are shared, and seconds vary from one minute to the next. Give names of parts (starting, hiding,
heuristics, targeting, shapes, limits, batches, page, kinds, tracks) to measure only those. `attacks` runs alone,
optionally with names of its tables, which `benchmarks/attacks.py` lists.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from unittest import mock

from benchmarks import (
    attacks,
    batches,
    heuristics,
    hiding,
    kinds,
    limits,
    page,
    shapes,
    starting,
    targeting,
    tracks,
)
from benchmarks.measure import Row

_PARTS: tuple[Callable[[], Iterator[Row]], ...] = (
    starting.measure,
    hiding.measure,
    heuristics.measure,
    targeting.measure,
    shapes.measure,
    limits.measure,
    batches.measure,
    page.measure,
    kinds.measure,
    tracks.measure,
)


def main() -> None:
    if sys.argv[1:2] == ["attacks"]:
        attacks.main(sys.argv[2:])
        return
    packages = ", ".join(f"{name} {version(name)}" for name in ("elsewhere", "numpy", "numba", "scipy", "duckdb"))
    print(
        f"{datetime.date.today()}, {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}"
    )
    print(f"{packages}\n")
    print("| what | elsewhere | rival | ratio | goal | met |\n| --- | --- | --- | --- | --- | --- |")
    wanted = set(sys.argv[1:])
    import_module("elsewhere.preload")  # so that nothing is interpreted; starting is measured in other processes
    with _bytecode():
        for part in _PARTS:
            if not wanted or part.__module__.rpartition(".")[2] in wanted:
                for row in part():
                    print(row, flush=True)


@contextmanager
def _bytecode() -> Iterator[None]:
    """Let other processes keep bytecode, as if all packages were installed in the usual way.

    Some environments forbid it. There, a process that imports much compiles all of it first.
    """
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PYTHONPYCACHEPREFIX=folder):
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        imports = "import elsewhere.cli, elsewhere.engines.local.batch, elsewhere.preload, numba, numpy"
        compiles = "numba.njit(lambda x: x.sum())(numpy.zeros(1))"
        subprocess.run([sys.executable, "-c", f"{imports}; {compiles}"], check=True)  # writes most bytecode
        yield


if __name__ == "__main__":
    main()
