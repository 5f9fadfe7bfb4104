"""Ctrl-C during a batch: it interrupts DuckDB, and the message says what has been written."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from elsewhere.text import plural

#: Seconds after which DuckDB is interrupted again, because an interrupt just before a query starts is lost.
_AGAIN = 0.1


@contextmanager
def interruptible(connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection to DuckDB in which Ctrl-C interrupts the query of the main thread."""
    connections: list[Any] = []

    def interrupt() -> None:
        for connection in connections:
            with suppress(Exception):
                connection.interrupt()

    # Start the thread first: if memory is short, an error is better before DuckDB has started.
    with _on_ctrl_c(interrupt), closing(connect()) as connection:
        connections.append(connection)
        try:
            yield connection
        finally:
            connections.clear()


@contextmanager
def _on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    """Call a function in another thread as soon as Ctrl-C arrives, repeatedly until the context ends.

    Python raises KeyboardInterrupt only when the call in the main thread returns, which may be minutes later. But it
    writes the signal's number to a socket at once. Outside the main thread there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted, notes = socket.socketpair()
    ended, interrupted = threading.Event(), threading.Event()
    before = -1

    def watch() -> None:
        while numbers := noted.recv(64):
            if before != -1:
                with suppress(OSError):
                    os.write(before, numbers)
            if signal.SIGINT in numbers:
                interrupted.set()
                while not ended.wait(_AGAIN):
                    act()

    def finish() -> None:
        signal.set_wakeup_fd(before)
        ended.set()
        notes.close()
        watcher.join()

    watcher = threading.Thread(target=watch, daemon=True)
    with noted, notes:
        watcher.start()
        notes.setblocking(False)
        before = signal.set_wakeup_fd(notes.fileno(), warn_on_full_buffer=False)
        try:
            yield
        except Exception:
            finish()
            if interrupted.is_set():  # DuckDB sometimes checks for signals itself and raises its own error
                raise KeyboardInterrupt from None
            raise
        finally:
            finish()


@contextmanager
def saying_what_is_written(parts: Callable[[], int]) -> Iterator[None]:
    """Add the number of written parts to a KeyboardInterrupt, for the command line to show."""
    try:
        yield
    except KeyboardInterrupt:
        written = f"{plural(parts(), 'part')} written so far" if parts() else "nothing was written yet"
        raise KeyboardInterrupt(f"{written}; rerun the same command to resume") from None
