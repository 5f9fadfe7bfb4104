"""Connections of the page's server, with limits on the time to send a request."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds within which the head of a request must arrive.
HEAD_SECONDS = 10.0
#: Seconds within which the whole request must arrive; it may be a large file from a slow disk.
BODY_SECONDS = 300.0
#: Connections that may be open at once; a browser opens six.
MOST_CONNECTIONS = 200


class Connection(H11Protocol):
    """Uvicorn's connection with time limits. Uvicorn closes idle connections, but waits for ever for a request."""

    _deadline: asyncio.TimerHandle | None = None
    _awaited: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait(self) -> None:
        """Start the time limit of the next part of the request, once."""
        part = self.conn.their_state
        if part is self._awaited:
            return
        self._stop_waiting()
        seconds = {h11.IDLE: HEAD_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(part)
        if seconds is not None:
            self._awaited = part
            self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        self._awaited = None
        if self._deadline is not None:
            self._deadline.cancel()
