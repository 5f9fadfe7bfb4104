"""How it starts: the import, the first call ever, the first call of a later process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.measure import Row, best_of, duration, timed

_IMPORT = "import elsewhere"
_HELP = "import io, sys; from elsewhere.cli import main; sys.stdout = io.StringIO(); main(['--help'])"
_SOLVE = (
    "import elsewhere as ew; h = {'a': 7, 'b': 2, 'c': 3}; t = {'a': 1, 'b': 2, 'c': 3}; ew.hide(h, {'c'}); "
    "ew.resemble(h, t, 0.05); ew.avoid(h, t, 0.05, method='heuristic')"
)


def measure() -> Iterator[Row]:
    bare = best_of(5, _run, "import numpy")
    light = best_of(5, _run, _IMPORT)
    yield Row("process with `import elsewhere`", duration(light), f"{duration(bare)} (NumPy alone)", "",
              "import < 0.3 s", light - best_of(5, _run, "pass") < 0.3)  # fmt: skip
    shown = best_of(5, _run, _HELP)
    yield Row("`elsewhere --help`", duration(shown), f"{duration(bare)} (NumPy alone)", f"{shown / bare:.1f}",
              "< 0.3 s", shown < 0.3)  # fmt: skip
    with tempfile.TemporaryDirectory() as cache:
        first, _ = timed(_run, _SOLVE, NUMBA_CACHE_DIR=cache)
        later = best_of(3, _run, _SOLVE, NUMBA_CACHE_DIR=cache)
    yield Row("first process ever: compiles, hides, resembles, avoids", duration(first), "", "", "< 20 s", first < 20)
    yield Row("a later process: the same", duration(later), "", "", "< 1.5 s", later < 1.5)


def _run(code: str, **environment: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
