"""Protect the page's server: only the page that it served itself may talk to it.

Scripts and forms of other sites, host names that point to this machine, and requests without the token get a 403.
Answers may not be cached, framed, or mixed with content from other sites.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64encode
from collections.abc import MutableMapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"

_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
#: A header that a form of another site cannot send without a preflight request, which the guard refuses.
_CONTENT = (b"application/json", b"application/octet-stream")

_REFUSAL = {
    "error": "this address is only for the page that elsewhere opened",
    "hint": "Open the address shown in your terminal.",
    "ways": [],
    "users": [],
}
_STYLE = "body{max-width:34rem;margin:4rem auto;padding:0 1rem;font:1.1rem/1.5 sans-serif}h1{font-size:1.5rem}"
_REFUSAL_PAGE = f"""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>elsewhere</title>
<style>{_STYLE}</style>
<main>
<h1>This page is no longer connected to elsewhere.</h1>
<p>Every start of the program has a new address. Open the address shown in your terminal.</p>
<p>If elsewhere is not running, start it again: <code>elsewhere app</code></p>
</main>
</html>
"""
_STYLE_ALLOWED = f"; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"


class Guard:
    """Passes on the page's requests, without the token in the path, and refuses everything else."""

    def __init__(self, app: ASGIApp, token: str, port: int, ticket: Ticket | None = None) -> None:
        self._app = app
        self._host = f"{HOST}:{port}".encode()
        self._token, self._ticket = token, ticket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before acceptance this is a 403
        else:
            headers = _by_name(scope)
            token, rest = _divided(scope["path"])
            if not self._allows(scope["method"], headers):
                await _refuse(headers, send)
            elif rest and self._knows(token):
                await self._app({**scope, "path": rest}, receive, _with_headers(send))
            elif rest == "/" and self._ticket is not None and (admitted := self._ticket.exchange(token)):
                await _redirect(f"/{admitted}/", send)
            else:
                await _refuse(headers, send)

    def _knows(self, token: str) -> bool:
        return _same(token, self._token) or (self._ticket is not None and self._ticket.admits(token))

    def _allows(self, method: str, headers: dict[bytes, list[bytes]]) -> bool:
        """Whether a request may come from the page, apart from the token."""
        origin = b"http://" + self._host
        changes = method in ("POST", "DELETE")
        return (
            (changes or method == "GET")
            and headers.get(b"host") == [self._host]
            and headers.get(b"origin", [] if changes else [origin]) == [origin]
            and headers.get(b"sec-fetch-site", [b"same-origin"]) in ([b"same-origin"], [b"none"])
            and (not changes or headers.get(b"x-elsewhere") == [b"1"])
            and (method != "POST" or _content(headers) in _CONTENT)
        )


class Ticket:
    """A one-time code for the browser's command line, which every user of the machine can read.

    The code is exchanged once for its own token. If it is used a second time, somebody has copied it. Then its token
    becomes void, because the first user may have been the thief.
    """

    def __init__(self) -> None:
        self.code = secrets.token_urlsafe(24)
        self._token: str | None = None
        self._used = False

    def exchange(self, code: str) -> str | None:
        """Exchange the code for the token, once."""
        if not _same(code, self.code):
            return None
        self._token = None if self._used else secrets.token_urlsafe(24)
        self._used = True
        return self._token

    def admits(self, token: str) -> bool:
        return self._token is not None and _same(token, self._token)

    def void(self) -> None:
        """Make the code useless, because no browser was opened with it."""
        self._used, self._token = True, None


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _divided(path: str) -> tuple[str, str]:
    """The first part of a path, and the rest, which begins with a slash or is empty."""
    token, slash, rest = path.removeprefix("/").partition("/")
    return token, slash + rest


def _by_name(scope: Scope) -> dict[bytes, list[bytes]]:
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    return headers


def _content(headers: dict[bytes, list[bytes]]) -> bytes:
    return b",".join(headers.get(b"content-type", [])).partition(b";")[0].strip().lower()


def _with_headers(send: Send, more_policy: str = "") -> Send:
    added = {**_HEADERS, "Content-Security-Policy": _POLICY + more_policy}
    encoded = [(name.lower().encode(), value.encode()) for name, value in added.items()]

    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *encoded]
        await send(message)

    return wrapped


async def _redirect(to: str, send: Send) -> None:
    send = _with_headers(send)
    await send({"type": "http.response.start", "status": 303, "headers": [(b"location", to.encode())]})
    await send({"type": "http.response.body"})


async def _refuse(headers: dict[bytes, list[bytes]], send: Send) -> None:
    """Send the refusal: JSON for a script, a page for a person who opened the address."""
    if b"text/html" in b",".join(headers.get(b"accept", [])):
        send, kind, body = _with_headers(send, _STYLE_ALLOWED), b"text/html; charset=utf-8", _REFUSAL_PAGE
    else:
        send, kind, body = _with_headers(send), b"application/json", json.dumps(_REFUSAL)
    await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body.encode()})
