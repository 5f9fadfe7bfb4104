"""Run work in threads while the server keeps answering."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")

#: Seconds for which a task keeps its turn; longer tasks continue without one.
TURN = 0.3
#: The most tasks with a turn at the same time.
_TURNS = 2
#: The most tasks in all: each may use as much memory as a search.
_MOST = 8


class Workers:
    """Runs a few tasks at a time; none of them keeps the program from ending.

    The time of a search is not known beforehand. So every task starts with a turn and soon gives it back. A small
    question waits for the turns of large ones, but never for their ends.
    """

    def __init__(self) -> None:
        self._turns, self._places = asyncio.Semaphore(_TURNS), asyncio.Semaphore(_MOST)

    async def do(self, work: Callable[[], Result]) -> Result:
        """Wait for a turn, do the work in a thread, and return its result."""
        async with self._places:
            async with self._turns:
                result = _in_thread(work)
                await asyncio.wait({result}, timeout=TURN)
            return await result


def _in_thread(work: Callable[[], Result]) -> asyncio.Future[Result]:
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Result] = loop.create_future()
    # If nobody waits for it any more, an error is no news for the terminal.
    result.add_done_callback(lambda done: done.cancelled() or done.exception())

    def run() -> None:
        try:
            outcome = work()
        except BaseException as error:
            report(result.set_exception, error)
        else:
            report(result.set_result, outcome)

    def report(tell: Callable[..., None], outcome: object) -> None:
        with suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(lambda: None if result.done() else tell(outcome))

    threading.Thread(target=run, daemon=True).start()
    return result
