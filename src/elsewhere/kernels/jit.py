"""Kernels: plain functions with loops over arrays, which run compiled by Numba or interpreted.

There is one implementation and two ways to run it, with the same result to the last bit; `first_answers` chooses.

Numba keeps its cache beside the source file or in the user's cache folder. A read-only installation with a read-only
home has neither, and ``cache=True`` raises an error there. Such a process compiles without a cache.

Numba's cache only notices changes in a kernel's own file, so kernels that call each other share a file, or are
decorated with `kernel_over`. A kernel that only other kernels call is a `part`. It is compiled with these and has no
cache of its own.

Compiling takes long, so kernels use few of NumPy's functions. Numba compiles many lines for a simple one: assigning an
array to a slice of another takes as long as a large kernel, a loop over the numbers next to nothing.

A kernel may take named tuples but returns plain ones. Numba creates a named tuple by calling its class, and a Ctrl-C
during that call ends the process with a segmentation fault. Copy the fields of tuples into local variables before a
loop: each access to an array in a tuple updates a reference count, unless the tuple is an argument.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
Number = TypeVar("Number", bound=np.generic)

#: The versions of Numba for which `compilers` and `_load` were tested. Others compile and load in the default way,
#: which takes twice as long.
_TESTED = ((0, 68),)


class _Thread(threading.local):
    """What is different in each thread."""

    interpreting = False


_this_thread = _Thread()


@contextmanager
def interpreting() -> Iterator[None]:
    """Run the kernels that this thread calls without the compiler."""
    before, _this_thread.interpreting = is_interpreting(), True
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # compiled kernels do not warn either
            yield
    finally:
        _this_thread.interpreting = before


def is_interpreting() -> bool:
    """Whether kernels that this thread calls are interpreted."""
    return _this_thread.interpreting


def per_call(work: int, share: int = 100) -> int:
    """How much work a call of a kernel may do before the clock is checked: if it is interpreted, one of `share` parts.

    Without this, a question that looked small could be interpreted for many seconds.
    """
    return work // share if is_interpreting() else work


class Kernel:
    """A function that is compiled when it is first called, unless it is interpreted."""

    def __init__(self, function: Callable[..., Any], modules: tuple[ModuleType, ...] = ()) -> None:
        self.function, self._modules = function, modules
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        # Not `is_interpreting`, because a call of that takes longer than many kernels.
        return self.function(*args) if _this_thread.interpreting else self.compiled(*args)

    @cached_property
    def compiled(self) -> Any:
        """The compiled function, which releases the GIL."""
        try:
            compiled = _compiled(self.function, "KernelCompiler", cache=True)
        except RuntimeError:  # no place for a cache
            return _compiled(self.function, "KernelCompiler")
        stored = compiled._cache
        index = getattr(stored, "_cache_file", None)  # None if nothing is cached
        if index is not None and _is_tested(_numba()):
            stored.load_overload = partial(_load, stored)
        if self._modules and index is not None:
            content = b"".join(Path(cast(str, module.__file__)).read_bytes() for module in self._modules)
            index._source_stamp = index._source_stamp, sha256(content).digest()
        return compiled


class Part(Kernel):
    """A kernel that only other kernels call, so that it is compiled with these."""

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    @cached_property
    def compiled(self) -> Any:
        """The compiled function for callers that are kernels."""
        return _compiled(self.function, "PartCompiler")


def kernel(function: F) -> F:
    """Make `function` a kernel."""
    return cast(F, Kernel(function))


def part(function: F) -> F:
    """Make `function` a part of the kernels that call it. Called from Python, it is interpreted."""
    return cast(F, Part(function))


def kernel_over(*modules: ModuleType) -> Callable[[F], F]:
    """A decorator like `kernel`, for kernels that call those of other modules: a change there voids their cache."""

    def decorate(function: F) -> F:
        return cast(F, Kernel(function, modules))

    return decorate


def items(array: NDArray[Number]) -> NDArray[Number]:
    """An array that a kernel reads and writes number by number. In a compiled kernel it is the array itself.

    In an interpreted kernel it is a memoryview, whose numbers are Python's own. Loops over these are several times as
    fast as loops over NumPy's numbers.
    """
    return cast("NDArray[Number]", memoryview(cast(Any, array)))


def _compiled(function: Callable[..., Any], compiler: str, **options: Any) -> Any:
    """The function, compiled by Numba when it is first called."""
    numba = _numba()
    if _is_tested(numba):
        options["pipeline_class"] = getattr(import_module("elsewhere.kernels.compilers"), compiler)
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    # Otherwise Numba compiles another version for each constant that a kernel passes to this one.
    template, unliteral = compiled.get_call_template, numba.types.unliteral
    compiled.get_call_template = lambda given, named: template(tuple(map(unliteral, given)), named)
    return compiled


def _load(stored: Any, signature: Any, context: Any) -> Any:
    """A kernel from the cache on disk. Numba itself would first load all that it needs for compiling."""
    from numba.core.runtime.nrt import rtsys

    cast(Any, rtsys).initialize(context)
    with stored._guard_against_spurious_io_errors():
        return stored._load_overload(signature, context)


def _is_tested(numba: Any) -> bool:
    return numba.version_info.short in _TESTED


@cache
def _numba() -> Any:
    """Numba, set up so that kernels can call each other and `items`."""
    import numba
    from numba.core import event, imputils
    from numba.extending import lower_builtin, type_callable, typeof_impl

    def lower_items(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return cast(Any, imputils).impl_ret_borrowed(context, builder, signature.return_type, given[0])

    cast(Any, type_callable)(items)(lambda _context: lambda array: array)
    cast(Any, lower_builtin)(items, numba.types.Array)(lower_items)

    @typeof_impl.register(Kernel)
    def type_of(value: Kernel, _context: Any) -> Any:
        return numba.types.Dispatcher(value.compiled)

    class Announcement(event.Listener):
        """Prints once, on a terminal, why the very first question takes so long."""

        due = True

        def on_start(self, event: Any) -> None:
            package = __name__.partition(".")[0]
            if self.due and event.data["dispatcher"].py_func.__module__.startswith(package) and sys.stderr.isatty():
                self.due = False
                print("elsewhere: compiling the solvers, once on this machine ...", file=sys.stderr)

        def on_end(self, event: Any) -> None:
            pass

    cast(Any, event.register)("numba:compile", Announcement())
    return numba
