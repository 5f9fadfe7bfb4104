"""The experiments: each file here that declares an `EXPERIMENT` is one, under the name of the file."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


@cache
def modules() -> dict[str, Any]:
    """The experiments' modules by name, in the paper's order."""
    found = {it.name.replace("_", "-"): import_module(f"{__name__}.{it.name}") for it in iter_modules(__path__)}
    return dict(sorted(found.items(), key=lambda item: item[1].EXPERIMENT.order))
