"""Ending a search from outside, when nobody waits for its answer any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Is called whenever a search looks at the clock.
_look: ContextVar[Callable[[], None] | None] = ContextVar("look", default=None)


@contextmanager
def cancellable(look: Callable[[], None]) -> Iterator[None]:
    """Call `look` now and then while something is searched for in this thread; what it raises ends the search."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def check_cancelled() -> None:
    """Let whoever watches end the search."""
    if (watching := _look.get()) is not None:
        watching()
