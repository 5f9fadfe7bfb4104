"""Work in threads, beside a server that goes on answering."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


class Workers:
    """So many things at a time; none of them keeps the program from ending."""

    def __init__(self, most: int) -> None:
        self._turns = asyncio.Semaphore(most)

    async def do(self, work: Callable[[], Result]) -> Result:
        """The result of the work, when it was its turn and is done."""
        async with self._turns:
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
            return await result
