"""Processes as Linux shows them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")


def of_session(number: int) -> list[int]:
    """The processes of a session that are at work."""
    return [pid for pid, _, session in _processes() if session == number]


def workers_of(number: int) -> list[int]:
    """The worker processes that a process has started."""
    found = []
    for pid in [pid for pid, parent, _ in _processes() if parent == number]:
        with suppress(OSError):
            if b"elsewhere.engines.local.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def left_of_session(number: int) -> list[int]:
    """Those that are still at work when they have had some time to end."""
    end = time.monotonic() + 300
    while of_session(number) and time.monotonic() < end:
        time.sleep(0.1)
    return of_session(number)


def _processes() -> list[tuple[int, int, int]]:
    """The number, the parent and the session of each process, but for those that have ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, _, session = path.read_text().rpartition(")")[2].split()[:4]
            if state != "Z":
                found.append((int(path.parent.name), int(parent), int(session)))
    return found


def kill(numbers: list[int], signal: int) -> None:
    for number in numbers:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(number, signal)
