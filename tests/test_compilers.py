"""Our ways to compile and import with Numba do not disturb those who use Numba beside us."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from elsewhere.kernels.jit import _compiled

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


def test_other_functions_may_use_scipy_although_solvers_do_not_load_it() -> None:
    pytest.importorskip("scipy")
    script = (
        "import sys, numba, numpy as np; import elsewhere.preload; assert 'scipy.linalg' not in sys.modules; "
        "assert (numba.njit(lambda a: a @ np.linalg.inv(a))(np.eye(3) + 1).round(9) == np.eye(3)).all()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
