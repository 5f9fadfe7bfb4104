"""Our ways to compile and import with Numba do not disturb those who use Numba beside us."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from elsewhere.kernels.jit import _compiled, interpreting, items, part

pytestmark = pytest.mark.compiled


def _total(n: int) -> float:
    whole, half = np.zeros(n, np.int64), np.zeros((n, 2))
    for i in range(n):
        whole[i] = max(i, 2)
        half[i, 1] = min(0.5, i)
    return float(whole.sum() + half.sum() + np.arange(n).size)


@pytest.mark.parametrize("options", [{}, {"nogil": True, "no_cfunc_wrapper": True}])
def test_other_functions_may_call_the_same_functions_of_numba(options: dict[str, bool]) -> None:
    numba = pytest.importorskip("numba")
    assert _compiled(_total, "KernelCompiler")(5) == _total(5)
    assert numba.njit(**options)(_total)(5) == _total(5)


class _Pair(NamedTuple):
    whole: NDArray[np.int64]
    half: NDArray[np.float64]


def _entangled(pair: _Pair, other: NDArray[np.int64], n: int) -> tuple[Any, ...]:
    """Arrays of the caller and new ones: renamed, in tuples, passed on, replaced in a loop, and returned."""
    whole, half = items(pair.whole), items(pair.half)
    whole[-1], half[1, -1] = other[0], 0.5
    kept = (pair.whole, n)
    latest, new = other, np.zeros(n, np.int64)
    for i in range(n):
        new[i] = kept[0][i - n] + latest[i - 1]
        latest = _longer(latest) if i % 2 else other
    more = _longer(new)
    same, both = more, (new, latest)
    newest, last = both[0], both[1]
    for i in range(n):  # new memory again, and another block of code: within one, Numba corrects wrong counts
        half[0, 0] += _longer(other)[i]
    return kept[0], _first(other), newest, last, same, half[0, 0] + half[1, 2]


@part
def _longer(array: NDArray[np.int64]) -> NDArray[np.int64]:
    longer = np.zeros(len(array) + 1, np.int64)
    for i in range(len(array)):
        longer[i] = array[i]
    return longer


@part
def _first(array: NDArray[np.int64]) -> NDArray[np.int64]:
    return array


@pytest.mark.parametrize("n", [3, 4])
def test_kernels_free_every_array_that_they_make_and_no_other(n: int) -> None:
    """An array that is freed too early or never would break answers at random, or fill the memory."""
    nrt = pytest.importorskip("numba.core.runtime._nrt_python")
    rtsys = pytest.importorskip("numba.core.runtime.nrt").rtsys
    compiled = _compiled(_entangled, "KernelCompiler")
    pair, other = _Pair(np.arange(4), np.ones((2, 3))), np.arange(5, 9)
    compiled(pair, other, n)
    counts = [sys.getrefcount(array) for array in (*pair, other)]
    nrt.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        found, expected = [], []
        for _ in range(20):
            other += 1
            with interpreting():
                expected.append(_entangled(_Pair(pair.whole.copy(), pair.half.copy()), other, n))
            found.append(compiled(pair, other, n))
            assert all(np.array_equal(a, b) for a, b in zip(found[-1], expected[-1], strict=True))
            assert found[-1][0] is pair.whole
            assert found[-1][1] is other
        for values, rights in zip(found, expected, strict=True):  # only now, when freed memory has been used again
            assert all(np.array_equal(values[at], rights[at]) for at in (2, 4))
        del found, expected, values, rights
        after = rtsys.get_allocation_stats()
    finally:
        nrt.memsys_disable_stats()
    assert [sys.getrefcount(array) for array in (*pair, other)] == counts
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 0


def test_other_functions_may_use_scipy_although_solvers_do_not_load_it() -> None:
    pytest.importorskip("scipy")
    script = (
        "import sys, numba, numpy as np; import elsewhere.preload; assert 'scipy.linalg' not in sys.modules; "
        "assert (numba.njit(lambda a: a @ np.linalg.inv(a))(np.eye(3) + 1).round(9) == np.eye(3)).all()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
