"""Compile kernels with Numba, cached on disk wherever a disk will take the cache.

Numba keeps its cache beside the source file or in the user's cache folder. A read-only installation under a
read-only home has neither, and decorating with ``cache=True`` raises there; such a process compiles for itself.

Numba notices a change of a kernel's own file only, so kernels that call each other stay in one file, or are decorated
with `kernel_over`.

A kernel may take named tuples but returns plain ones. Numba makes a named tuple by calling its class, and a Ctrl-C that
comes during that call ends the process with a segmentation fault. Their fields are put into local variables before a
loop: each access to an array in a tuple counts a reference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on its first call; it then runs without the interpreter's lock."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no place for a cache
        return cast(F, numba.njit(nogil=True)(function))


def kernel_over(*modules: ModuleType) -> Callable[[F], F]:
    """A decorator like `kernel` for kernels that call those of other modules: their cache is void if one changes."""
    content = b"".join(Path(cast(str, module.__file__)).read_bytes() for module in modules)

    def decorate(function: F) -> F:
        compiled = kernel(function)
        index = getattr(cast(Any, compiled)._cache, "_cache_file", None)  # None if nothing is cached
        if index is not None:
            index._source_stamp = index._source_stamp, sha256(content).digest()
        return compiled

    return decorate


class _Announcement(event.Listener):
    """Tells a person at a terminal, once, why the first question ever takes so long."""

    due = True

    def on_start(self, event: Any) -> None:
        package = __name__.partition(".")[0]
        if self.due and event.data["dispatcher"].py_func.__module__.startswith(package) and sys.stderr.isatty():
            self.due = False
            print("elsewhere: compiling its solvers, once on this machine ...", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        pass


cast(Any, event.register)("numba:compile", _Announcement())
