"""Cancel a search from outside, if nobody waits for its answer any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Called whenever a search checks the clock.
_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def cancellable(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` regularly while this thread searches, after earlier checks; an exception ends the search."""
    before = _check.get()

    def both() -> None:
        if before is not None:
            before()
        check()

    token = _check.set(both)
    try:
        yield
    finally:
        _check.reset(token)


def check_cancelled() -> None:
    """Call all checks; an exception ends the search."""
    if (check := _check.get()) is not None:
        check()
