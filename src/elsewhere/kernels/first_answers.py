"""The first answers of a process, before its kernels are compiled or loaded.

To load the compiler takes longer than to interpret a small question, and to compile takes many seconds, once on a
machine. So small questions are interpreted at first. After some of them another process compiles everything into the
cache on disk, and once it has ended, kernels are loaded from there. A large question is compiled for at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from elsewhere.kernels.cancellation import cancellable
from elsewhere.kernels.jit import interpreting, is_interpreting

T = TypeVar("T")

#: Seconds after which a question turns out not to be small.
_PATIENCE = 1.0
#: Seconds of interpreting after which it is worth while to compile.
_ENOUGH = 0.3

_lock = threading.Lock()
_spent = 0.0
_process: subprocess.Popen[bytes] | None = None
_is_over = False


class _TookTooLong(Exception):
    """A question is not as small as it looked."""


def soonest(answer: Callable[[], T], is_small: bool) -> T:
    """What `answer` returns, interpreted if that is likely to take less time."""
    if not is_small or is_interpreting() or _is_compiled():
        return answer()
    begin = time.perf_counter()

    def check() -> None:
        if time.perf_counter() > begin + _PATIENCE:
            raise _TookTooLong

    try:
        with suppress(_TookTooLong), interpreting(), cancellable(check):
            return answer()
    finally:
        _spend(time.perf_counter() - begin)
    return answer()


def compile_at_once() -> None:
    """Interpret nothing any more: many questions will come."""
    global _is_over
    _is_over = True


def compile_in_background() -> None:
    """Start the process that compiles, unless it was started before.

    It is not a thread, which would hold up the others; and a process that ends while the compiler is at work in one of
    its threads may crash.
    """
    global _process
    with _lock:
        if _process is not None or _is_over:
            return
        found_at = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (found_at, os.environ.get("PYTHONPATH"))))
        nowhere = subprocess.DEVNULL
        try:
            _process = subprocess.Popen(
                [sys.executable, "-c", f"import {__name__.partition('.')[0]}.preload"],
                stdin=nowhere, stdout=nowhere, stderr=nowhere,
                cwd=found_at, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            )  # fmt: skip
        except (OSError, TypeError):  # no process can be had, or nobody knows the name of the interpreter
            compile_at_once()


def wait() -> None:
    """Wait until the process that compiles has ended."""
    if _process is not None:
        _process.wait()


def _is_compiled() -> bool:
    if not _is_over and _process is not None and _process.poll() is not None:
        compile_at_once()
    return _is_over


def _spend(seconds: float) -> None:
    global _spent
    _spent += seconds
    if _spent > _ENOUGH:
        compile_in_background()
