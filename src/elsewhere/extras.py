"""Optional libraries, each in an extra of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from elsewhere.model.errors import InputError


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
