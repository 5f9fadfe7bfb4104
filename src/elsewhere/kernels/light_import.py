"""Import Numba's functions of arrays, but not SciPy.

Numba only needs to know whether SciPy is there, and imports it to find out. This takes a fifth of the time in which
all solvers are loaded. A function that uses SciPy imports it nevertheless, when it is compiled.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, cast

from numba.np import linalg


def import_arrays() -> None:
    """Import `numba.np.arraymath`, which Numba imports before it compiles or loads a function."""
    by_import, cast(Any, linalg).ensure_blas = linalg.ensure_blas, _look_for_scipy
    try:
        from numba.np import arraymath
    finally:
        cast(Any, linalg).ensure_blas = by_import
    cast(Any, arraymath).ensure_blas = by_import


def _look_for_scipy() -> None:
    if find_spec("scipy") is None:
        raise ImportError
