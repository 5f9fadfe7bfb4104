"""Who may speak to the page's server: the page that it served itself, and nobody else.

Other sites' scripts and forms, names that were made to point to this machine, and whoever does not know the token get
403. What does get an answer may not be kept, framed or mixed with anything from elsewhere.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_ADDED = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
#: What a form of another site cannot send without asking first, and is not told when it asks.
_CONTENT = (b"application/json", b"application/octet-stream")


class Guard:
    """Passes on what the page asks, without the token, and refuses everything else."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._host = f"{HOST}:{port}".encode()
        self._start = f"/{token}/".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it was accepted: that is a 403
        elif self._welcome(scope):
            path = scope["path"][len(self._start) - 1 :]
            await self._app({**scope, "path": path}, receive, _with_headers(send))
        else:
            await _refuse(_with_headers(send))

    def _welcome(self, scope: Scope) -> bool:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        origin = b"http://" + self._host
        changes = scope["method"] in ("POST", "DELETE")
        return (
            (changes or scope["method"] == "GET")
            and headers.get(b"host") == [self._host]
            and headers.get(b"origin", [] if changes else [origin]) == [origin]
            and headers.get(b"sec-fetch-site", [b"same-origin"]) in ([b"same-origin"], [b"none"])
            and (not changes or headers.get(b"x-elsewhere") == [b"1"])
            and (scope["method"] != "POST" or _content(headers) in _CONTENT)
            and secrets.compare_digest(scope["path"].encode("utf-8", "replace")[: len(self._start)], self._start)
        )


def _content(headers: dict[bytes, list[bytes]]) -> bytes:
    return b",".join(headers.get(b"content-type", [])).partition(b";")[0].strip().lower()


def _with_headers(send: Send) -> Send:
    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_ADDED]
        await send(message)

    return wrapped


async def _refuse(send: Send) -> None:
    refusal = {
        "error": "this address is for the page that elsewhere opened, and for nothing else",
        "hint": "Open the address that stands in the terminal.",
    }
    content = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 403, "headers": content})
    await send({"type": "http.response.body", "body": json.dumps(refusal).encode()})
