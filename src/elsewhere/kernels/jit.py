"""Kernels: plain functions of loops and arrays that run compiled by Numba, or interpreted as they are.

One implementation, two ways to run it, with the same answer to the last bit; `first_answers` chooses the way.

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
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
Number = TypeVar("Number", bound=np.generic)

_this_thread = threading.local()


@contextmanager
def interpreting() -> Iterator[None]:
    """Run the kernels that this thread calls without the compiler."""
    before, _this_thread.interpreting = is_interpreting(), True
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # compiled kernels say nothing either
            yield
    finally:
        _this_thread.interpreting = before


def is_interpreting() -> bool:
    """Whether kernels that this thread calls are interpreted."""
    return getattr(_this_thread, "interpreting", False)


class Kernel:
    """A function that is compiled when it is first called, unless it is interpreted."""

    def __init__(self, function: Callable[..., Any], modules: tuple[ModuleType, ...] = ()) -> None:
        self.function, self._modules = function, modules
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        # As `is_interpreting` does, whose call would take longer than many a kernel.
        interpreted = getattr(_this_thread, "interpreting", False)
        return self.function(*args) if interpreted else self.compiled(*args)

    @cached_property
    def compiled(self) -> Any:
        """The function as Numba has it, which runs without the interpreter's lock."""
        njit, unliteral = _numba().njit, _numba().types.unliteral
        try:
            compiled = njit(cache=True, nogil=True)(self.function)
        except RuntimeError:  # no place for a cache
            return njit(nogil=True)(self.function)
        # Where another kernel passes a constant, that is a number like others, and no reason to compile this one again.
        template = compiled.get_call_template
        compiled.get_call_template = lambda given, named: template(tuple(map(unliteral, given)), named)
        index = getattr(compiled._cache, "_cache_file", None)  # None if nothing is cached
        if self._modules and index is not None:
            content = b"".join(Path(cast(str, module.__file__)).read_bytes() for module in self._modules)
            index._source_stamp = index._source_stamp, sha256(content).digest()
        return compiled


def kernel(function: F) -> F:
    """Make `function` a kernel."""
    return cast(F, Kernel(function))


def kernel_over(*modules: ModuleType) -> Callable[[F], F]:
    """A decorator like `kernel` for kernels that call those of other modules: their cache is void if one changes."""

    def decorate(function: F) -> F:
        return cast(F, Kernel(function, modules))

    return decorate


def items(array: NDArray[Number]) -> NDArray[Number]:
    """An array whose numbers a kernel reads and writes one by one: compiled, it is the array itself.

    Interpreted, it is a view with Python's own numbers, with which a loop takes a fraction of the time that it takes
    with NumPy's.
    """
    return cast("NDArray[Number]", memoryview(cast(Any, array)))


def array_of(view: NDArray[Number]) -> NDArray[Number]:
    """The array of which these are the items."""
    return np.asarray(view)


@cache
def _numba() -> Any:
    """The compiler, which takes kernels for what they are compiled to where one calls another, and items for arrays."""
    import numba
    from numba.core import event, imputils
    from numba.extending import lower_builtin, type_callable, typeof_impl

    def lower_items(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return cast(Any, imputils).impl_ret_borrowed(context, builder, signature.return_type, given[0])

    for function in (items, array_of):
        cast(Any, type_callable)(function)(lambda _context: lambda array: array)
        cast(Any, lower_builtin)(function, numba.types.Array)(lower_items)

    @typeof_impl.register(Kernel)
    def type_of(value: Kernel, _context: Any) -> Any:
        return numba.types.Dispatcher(value.compiled)

    class Announcement(event.Listener):
        """Tells a person at a terminal, once, why the first question ever takes so long."""

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
