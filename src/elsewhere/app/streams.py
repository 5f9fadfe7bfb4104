"""Answers that are streamed as lines, each a JSON object."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from starlette.responses import Response, StreamingResponse

from elsewhere.app.session import Refused

Line: TypeAlias = dict[str, Any]


def line(content: Line) -> bytes:
    return json.dumps(content).encode() + b"\n"


def lines_of(content: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(content, media_type="application/x-ndjson")


async def streamed(
    work: Callable[[Callable[[Line], None]], Awaitable[Line]], said: Callable[[BaseException], Line]
) -> Response:
    """Stream what work in a thread reports, and its result at the end.

    An error before the first line is raised, so that it gets its own status. A later error goes into the last line,
    through `said`. If nobody reads any more, the work ends at its next report.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[Line | None] = asyncio.Queue()
    abandoned = False

    def tell(content: Line) -> None:
        if abandoned:
            raise Refused(499, "the page cancelled this question")
        with suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(told.put_nowait, content)

    result = asyncio.ensure_future(work(tell))
    result.add_done_callback(lambda _: told.put_nowait(None))
    first = await told.get()
    if first is None:
        result.result()

    async def lines() -> AsyncIterator[bytes]:
        nonlocal abandoned
        try:
            content = first
            while content is not None:
                yield line(content)
                content = await told.get()
            error = result.exception()
            yield line(result.result() if error is None else said(error))
        finally:
            abandoned = True
            result.cancel()

    return lines_of(lines())
