"""Work in threads, beside a server that goes on answering."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")

#: Seconds for which a piece of work keeps its turn; whatever takes longer goes on without one.
TURN = 0.3
#: How many pieces of work may have a turn at the same time.
_TURNS = 2
#: How many may be under way in all: each may take as much memory as a search may.
_MOST = 8


class Workers:
    """Runs a few pieces of work at a time; none of them keeps the program from ending.

    Nobody can tell beforehand how long a search will take. So every piece of work begins with a turn and soon gives it
    back, and a small question waits for the turns of big ones, but never for their ends.
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

    def run() -> None:
        try:
            outcome = work()
        except BaseException as error:
            report(result.set_exception, error)
        else:
            report(result.set_result, outcome)

    def report(tell: Callable[..., None], outcome: object) -> None:
        with suppress(RuntimeError):  # the program has ended in the meantime
            loop.call_soon_threadsafe(lambda: None if result.done() else tell(outcome))

    threading.Thread(target=run, daemon=True).start()
    return result
