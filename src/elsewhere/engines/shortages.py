"""Too little memory under its many names: whatever reports it, a batch raises MemoryError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

from elsewhere.model.errors import ElsewhereError, InputError

#: What the system, its loader of libraries, Python's threads and C++ say if there is no memory.
_SIGNS = ("cannot allocate memory", "failed to map segment", "can't start new thread", "bad_alloc", "out of memory")

#: Bytes; with less, DuckDB and Arrow were seen to crash or to hang.
_LEAST_SPACE = 5 * 2**29


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a MemoryError in place of an error of any other type that says the same."""
    try:
        yield
    except ElsewhereError:
        raise
    except Exception as error:
        # A library may say so in an error that it replaces by another; one of a worker has that in a note.
        story = "".join(format_exception(error)).casefold()
        if any(sign in story for sign in _SIGNS):
            raise MemoryError(str(error)) from error
        raise


def check_address_space() -> None:
    """Raise if this process may take so little that libraries would crash or wait for threads that cannot start."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # not on Windows
        return
    limit = getrlimit(RLIMIT_AS)[0]
    if limit != RLIM_INFINITY and limit < _LEAST_SPACE:
        told = f"this process may take {limit / 2**30:.2f} GiB of address space (ulimit -v)"
        raise InputError(f"{told}, which is not enough memory; a batch needs {_LEAST_SPACE / 2**30:g} GiB of it")
