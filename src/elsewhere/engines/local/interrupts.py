"""Ctrl-C during a batch: it ends what DuckDB is doing, and says what is written."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from elsewhere.text import plural

#: Seconds after which DuckDB is interrupted once more: an interrupt just before a query begins is lost.
_AGAIN = 0.1


@contextmanager
def interruptible(connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection to DuckDB, in which Ctrl-C ends what the main thread has it do."""
    connections: list[Any] = []

    def interrupt() -> None:
        for connection in connections:
            with suppress(Exception):
                connection.interrupt()

    # The thread that this takes is there first: where memory is short, an error is better before DuckDB has begun.
    with _on_ctrl_c(interrupt), closing(connect()) as connection:
        connections.append(connection)
        try:
            yield connection
        finally:
            connections.clear()


@contextmanager
def _on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    """Act in another thread as soon as Ctrl-C comes, again and again until the context is left.

    Python raises KeyboardInterrupt when what the main thread has called returns, which may be minutes later. But it
    writes the number of a signal to a socket at once. Outside of the main thread there is nothing to do.
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
            if interrupted.is_set():  # DuckDB looks for signals now and then, and makes an error of its own of this one
                raise KeyboardInterrupt from None
            raise
        finally:
            finish()


@contextmanager
def saying_what_is_written(parts: Callable[[], int]) -> Iterator[None]:
    """Have a KeyboardInterrupt say how many parts there are, for the command line to show."""
    try:
        yield
    except KeyboardInterrupt:
        written = f"{plural(parts(), 'part')} written so far" if parts() else "nothing was written yet"
        raise KeyboardInterrupt(f"{written}; rerun the same command to resume") from None
