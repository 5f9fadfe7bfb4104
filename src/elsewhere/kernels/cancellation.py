"""Ending a search from outside, when nobody waits for its answer any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Is called whenever a search looks at the clock.
_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def cancellable(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` now and then while this thread searches, after what is called already; what it raises ends it."""
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
    """Give the caller of the search a chance to end it."""
    if (check := _check.get()) is not None:
        check()
