"""The page: elsewhere for people who do not open a terminal. It runs on their machine and for them alone."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from elsewhere.model.errors import InputError


def serve(port: int | None, open_browser: bool, say: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C: on a free port if none is given, and on this machine alone."""
    try:
        from elsewhere.app.server import page_server
    except ImportError as error:
        raise InputError(f"the page needs {error.name}; install it with: pip install 'elsewhere[app]'") from None
    from elsewhere.app.guard import HOST
    from elsewhere.app.session import Session

    token = secrets.token_urlsafe(24)
    with _listening(HOST, port) as listener:
        bound = listener.getsockname()[1]
        address = f"http://{HOST}:{bound}/{token}/"
        say(f"elsewhere is at {address}")
        say("Nothing leaves this machine. Ctrl-C ends it, and forgets everything.")
        threading.Thread(target=import_module, args=["elsewhere.preload"], daemon=True).start()
        if open_browser:
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        with suppress(KeyboardInterrupt):
            page_server(token, bound, Session()).run(sockets=[listener])
    say("Ended; nothing is kept.")


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket at the port, or at a free one, that this machine alone can reach."""
    # Only of a socket that says that it is TCP does asyncio send small answers at once.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port or 0))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"the port {port} cannot be used ({error.strerror or error}); without --port a free one is taken"
        ) from None
    return listener
