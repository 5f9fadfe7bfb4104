"""Optional libraries, each in an extra of the package, and libraries that other libraries load without a need."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import FrameType
from typing import Any

from elsewhere.model.errors import InputError

#: Libraries that another one imports if they are installed: Numba for linear algebra, for calling C and for measuring
#: coverage, and Arrow for data frames. Nothing here needs that, and loading them takes a second of processor time.
_UNUSED = {"scipy": "numba", "cffi": "numba", "coverage": "numba", "pandas": "pyarrow"}


def load(module: str, need: str, extra: str) -> Any:
    """Import a module of an extra.

    Parameters
    ----------
    module
        Its name, such as ``"pyarrow.parquet"``.
    need
        The beginning of the sentence for people who do not have it, such as ``"Parquet files need pyarrow"``.
    extra
        The extra that installs it.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"{need}; install it with: pip install 'elsewhere[{extra}]'") from None


def load_parquet() -> tuple[Any, Any]:
    """pyarrow and its module for Parquet files, which are large and rarely needed."""
    need = "Parquet files need pyarrow"
    return load("pyarrow", need, "parquet"), load("pyarrow.parquet", need, "parquet")


def leave_out_unused() -> None:
    """From now on, leave out libraries that others import without a need. Only for processes of this package's own."""
    sys.meta_path.insert(0, _Unused())


class _Unused(MetaPathFinder):
    """Says that a library is not installed, but only to the one that does not need it."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname in _UNUSED and _importer(sys._getframe(1)).startswith(f"{_UNUSED[fullname]}."):
            raise ModuleNotFoundError(f"{fullname} is left out", name=fullname)


def _importer(frame: FrameType | None) -> str:
    """The module whose code imports another one, with a dot at the end."""
    while frame is not None and frame.f_globals["__name__"].startswith("importlib."):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_globals['__name__']}."
