"""The page: elsewhere for people who do not use a terminal. It runs on their own machine, for them alone."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from elsewhere.model.errors import InputError

if TYPE_CHECKING:
    from elsewhere.app.guard import Ticket


def serve(port: int | None, open_browser: bool, say: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C, to this machine only; on a free port if none is given."""
    try:
        from elsewhere.app.server import page_server
    except ImportError as error:
        raise InputError(f"the page needs {error.name}; install it with: pip install 'elsewhere[app]'") from None
    from elsewhere.app.guard import HOST, Ticket
    from elsewhere.app.session import Session

    token, ticket = secrets.token_urlsafe(24), Ticket()
    with _listening(HOST, port) as listener:
        bound = listener.getsockname()[1]
        address = f"http://{HOST}:{bound}"
        say(f"elsewhere is running at {address}/{token}/")
        say("Nothing leaves this machine. Press Ctrl-C to stop it and clear everything from memory.")
        threading.Thread(target=_preload, daemon=True).start()
        if open_browser:
            threading.Thread(target=_open_browser, args=[address, ticket], daemon=True).start()
        else:
            ticket.void()
        with suppress(KeyboardInterrupt):
            page_server(token, bound, Session(), ticket).run(sockets=[listener])
    say("Stopped. Nothing was kept.")


def _preload() -> None:
    """Compile the solvers in another process and load them when it ends; until then questions are interpreted."""
    from elsewhere.kernels import first_answers

    first_answers.compile_in_background(awaited=True)
    first_answers.wait()
    import_module("elsewhere.preload")


def _open_browser(address: str, ticket: Ticket) -> None:
    if not webbrowser.open(f"{address}/{ticket.code}/"):
        ticket.void()


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket at the port, or at a free port, that only this machine can reach."""
    # asyncio sends small answers at once only if the socket is declared as TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port or 0))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} is not available ({error.strerror or error}); leave out --port to use a free one"
        ) from None
    return listener
