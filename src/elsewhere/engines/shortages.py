"""Too little memory under its many names: whatever reports it, a batch raises MemoryError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

from elsewhere.model.errors import ElsewhereError

#: What the system, its loader of libraries, Python's threads and C++ say if there is no memory.
_SIGNS = ("cannot allocate memory", "failed to map segment", "can't start new thread", "bad_alloc", "out of memory")


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
