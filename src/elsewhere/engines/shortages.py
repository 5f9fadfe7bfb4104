"""Recognise the many errors that mean too little memory: a batch raises MemoryError for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

from elsewhere.model.errors import ElsewhereError, InputError

#: The messages of the system, the dynamic loader, Python's threads and C++ if memory runs out.
_SIGNS = ("cannot allocate memory", "failed to map segment", "can't start new thread", "bad_alloc", "out of memory")

#: In bytes. With less, DuckDB and Arrow have crashed or hung.
_LEAST_SPACE = 5 * 2**29


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a MemoryError instead of an error of another type that means the same."""
    try:
        yield
    except ElsewhereError:
        raise
    except Exception as error:
        # The message may be in the cause of an error, or in a note if the error comes from a worker.
        story = "".join(format_exception(error)).casefold()
        if any(sign in story for sign in _SIGNS):
            raise MemoryError(str(error)) from error
        raise


def check_address_space() -> None:
    """Raise if the memory limit of this process is so low that libraries would crash, or fail to start threads."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # not on Windows
        return
    limit = getrlimit(RLIMIT_AS)[0]
    if limit != RLIM_INFINITY and limit < _LEAST_SPACE:
        told = f"this process may take {limit / 2**30:.2f} GiB of address space (ulimit -v)"
        raise InputError(f"{told}, which is not enough memory; a batch needs {_LEAST_SPACE / 2**30:g} GiB of it")
