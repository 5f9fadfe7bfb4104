"""Starting: the import, small commands with and without compiled solvers, and compiling everything."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import elsewhere
from benchmarks.measure import Row, best_of, duration

_SAMPLES = Path(elsewhere.__file__).parent / "data" / "samples"
_QUESTIONS = {
    "hide": ["--sensitive", "preset:health"],
    "resemble": ["--target", "commuter", "--max-quality-loss", "0.05", "--allow-mismatch"],
}


def measure() -> Iterator[Row]:
    bare = best_of(5, _run, "-c", "import numpy")
    light = best_of(5, _run, "-c", "import elsewhere")
    yield Row("process with `import elsewhere`", duration(light), f"{duration(bare)} (NumPy alone)", "",
              "import < 0.3 s", light - best_of(5, _run, "-c", "pass") < 0.3)  # fmt: skip
    shown = best_of(5, _run, "-m", "elsewhere", "--help")
    yield Row("`elsewhere --help`", duration(shown), f"{duration(bare)} (NumPy alone)", f"{shown / bare:.1f}",
              "< 0.3 s", shown < 0.3)  # fmt: skip
    bare = min(_processor_time("-c", "import numpy") for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        cache = partial(os.path.join, folder)
        Path(cache("empty")).mkdir()
        lock = os.open(cache("empty"), os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)  # processes that compile in the background wait, and disturb no measurement
        for sample in ("weekend.csv", "year.csv"):
            for verb, options in _QUESTIONS.items():
                command = ["-m", "elsewhere", verb, str(_SAMPLES / sample), *options, "--allow-unchanged", "--quiet"]
                command += ["-o", cache("release.csv")]
                # These commands neither compile nor load the solvers, so an existing cache makes no difference.
                taken = min(_processor_time(*command, NUMBA_CACHE_DIR=cache("empty")) for _ in range(5))
                yield Row(f"`elsewhere {verb}` of {sample}, on a cold machine or a warm one, processor time",
                          duration(taken), f"{duration(bare)} (NumPy alone)", f"{taken / bare:.1f}", "<= 4",
                          taken / bare <= 4)  # fmt: skip
        os.close(lock)
        Path(cache("all")).mkdir()
        fill = "from elsewhere.kernels.first_answers import fill_cache; fill_cache()"
        compiling = _processor_time("-c", fill, NUMBA_CACHE_DIR=cache("all"))
        loading = _processor_time("-c", "import elsewhere.preload", NUMBA_CACHE_DIR=cache("all"))
    yield Row("compiling all solvers, once on a machine, processor time", duration(compiling), "", "", "< 15 s",
              compiling < 15)  # fmt: skip
    yield Row("loading all solvers in a later process, processor time", duration(loading), "", "", "< 1.5 s",
              loading < 1.5)  # fmt: skip


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def _processor_time(*arguments: str, **environment: str) -> float:
    """The processor time of a process and of its finished children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, env={**os.environ, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
