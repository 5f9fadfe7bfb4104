"""hide: against the paper's LHO, against sorting, and as histograms grow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

import elsewhere as ew
from benchmarks.measure import Row, best_of, duration, timed
from elsewhere.model.question import Question
from elsewhere.paper import lho
from elsewhere.solvers import exact

_PEAK = """
import resource
from benchmarks.hiding import large
import elsewhere as ew
history, sensitive = large(1_000_000)
ew.hide(history, sensitive)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure() -> Iterator[Row]:
    history = ew.Histogram({f"{at:03d}": 20 if at < 5 else 1 + at % 9 for at in range(100)})
    sensitive = history.locations[:5]
    ew.hide(history, sensitive)
    rival, expected = timed(lho, history, sensitive)
    ours = best_of(200, ew.hide, history, sensitive)
    loss = ew.verify(history, expected, sensitive=sensitive).quality_loss
    assert abs(ew.hide(history, sensitive).quality_loss - loss) <= 1e-12
    ratio = rival / ours
    yield Row("hide, n = 100, K = 100, against LHO", duration(ours), duration(rival), f"{ratio:,.0f}", ">= 10,000",
              ratio >= 10_000)  # fmt: skip
    yield from _growth()
    peak = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True).stdout
    yield Row("peak memory of a process at n = 1,000,000", f"{int(peak) / 2**20:.2f} GiB", "", "", "< 1 GiB",
              int(peak) < 2**20)  # fmt: skip


def large(n: int) -> tuple[ew.Histogram, list[str]]:
    """A histogram of n locations and 100 n visits, a hundredth of the locations sensitive."""
    rng = np.random.default_rng(0)
    weights = 1.0 / np.arange(1, n + 1) ** 0.8
    counts = rng.multinomial(100 * n - n, weights / weights.sum()) + 1
    history = ew.Histogram(zip((f"location {at:07d}" for at in range(n)), counts.tolist(), strict=True))
    return history, [history.locations[at] for at in rng.choice(n, n // 100, replace=False)]


def _growth() -> Iterator[Row]:
    lengths = (1_000, 10_000, 100_000, 1_000_000)
    seconds = []
    for n in lengths:
        history, sensitive = large(n)
        problem = Question("hide", history, sensitive=sensitive).problem
        seconds.append(best_of(3, ew.hide, history, sensitive))
    floats = np.random.default_rng(1).random(1_000_000)
    sort = best_of(10, np.sort, floats)
    solver = best_of(5, exact.spread, problem, problem.quality.distance)
    yield Row("hide, n = 10^6, N = 10^8, on arrays, against one `np.sort`", duration(solver), duration(sort),
              f"1 / {solver / sort:.1f}", "<= 5 times", solver <= 5 * sort)  # fmt: skip
    whole = seconds[-1]
    yield Row("the whole call with its labels", duration(whole), duration(sort), f"1 / {whole / sort:.1f}",
              "<= 25 times", whole <= 25 * sort)  # fmt: skip
    exponent = float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])
    grown = ", ".join(duration(value) for value in seconds)
    yield Row("hide as n grows from 10^3 to 10^6", grown, "", f"exponent {exponent:.2f}", "near-linear", exponent < 1.1)
