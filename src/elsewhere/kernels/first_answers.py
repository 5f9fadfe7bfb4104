"""The first answers of a process, before its kernels are compiled or loaded.

Loading the compiler takes longer than interpreting a small question, and compiling takes many seconds, once per
machine. So small questions are interpreted at first. After some of them, another process compiles everything into the
cache on disk. Once it has ended, kernels are loaded from there. Large questions compile what they need at once.

Many commands may start at once on a new machine. Only one of them compiles, and the others wait for it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TypeVar

from elsewhere.kernels.cancellation import cancellable, check_cancelled
from elsewhere.kernels.jit import interpreting, is_interpreting

T = TypeVar("T")

#: Seconds after which a question is no longer considered small.
PATIENCE = 1.0
#: Seconds of interpreting after which compiling pays off.
_ENOUGH = 0.3
#: Seconds between two checks of the process that compiles.
_LOOK = 0.05

_lock = threading.Lock()
_spent = 0.0
_process: subprocess.Popen[bytes] | None = None
_began = 0.0
_is_awaited = False
_is_over = False


class _TookTooLong(Exception):
    """A question is larger than it looked."""


def soonest(answer: Callable[[], T], is_small: bool) -> T:
    """The result of `answer`, interpreted if that is probably faster."""
    if is_interpreting() or is_compiled():
        return answer()
    if not is_small:
        _wait_if_awaited()
        return answer()
    begin = time.perf_counter()

    def check() -> None:
        if time.perf_counter() > begin + PATIENCE:
            raise _TookTooLong

    try:
        with suppress(_TookTooLong), interpreting(), cancellable(check):
            return answer()
    finally:
        _spend(time.perf_counter() - begin)
    _wait_if_awaited()
    return answer()


def compile_at_once() -> None:
    """Stop interpreting, because many questions will come."""
    global _is_over
    _is_over = True


def compile_in_background(awaited: bool = False) -> None:
    """Start the process that compiles, unless it was started before.

    Large questions compile what they need themselves. If the process is `awaited`, they wait for it instead, which
    leaves the processor free.

    It is not a thread, because that would slow down other threads, and a process that ends while one of its threads
    compiles may crash.
    """
    global _process, _began, _is_awaited
    with _lock:
        _is_awaited |= awaited
        if _process is not None or _is_over:
            return
        found_at = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (found_at, os.environ.get("PYTHONPATH"))))
        nowhere = subprocess.DEVNULL
        _began = time.monotonic()
        try:
            _process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import fill_cache; fill_cache()"],
                stdin=nowhere, stdout=nowhere, stderr=nowhere,
                cwd=found_at, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            )  # fmt: skip
        except (OSError, TypeError):  # no process can be started, or the interpreter's path is unknown
            compile_at_once()


def fill_cache() -> NoReturn:
    """Compile everything into the cache on disk, and end this process.

    If another process is compiling, wait until it has ended.
    """
    if _is_first():
        gc.disable()  # the compiler keeps most of its many objects, and looking for garbage takes a tenth of the time
        import_module(f"{__name__.partition('.')[0]}.preload")
    os._exit(0)  # taking the compiler's modules apart takes a second


def _is_first() -> bool:
    """Whether this process must fill the cache. If another process is filling it, wait for its end and return False."""
    try:
        import fcntl

        folder = os.open(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(folder, fcntl.LOCK_EX)
            return False
    except (ImportError, OSError):  # on Windows, or where folders cannot be locked, two may compile at once
        pass
    return True


def wait() -> None:
    """Wait until the process that compiles has ended."""
    if _process is not None:
        _process.wait()


def seconds_compiling() -> float | None:
    """The seconds for which the compiling process has run; None if it does not run."""
    return time.monotonic() - _began if _process is not None and _process.poll() is None else None


def _wait_if_awaited() -> None:
    while _is_awaited and seconds_compiling() is not None:
        check_cancelled()
        time.sleep(_LOOK)


def is_compiled() -> bool:
    """Whether kernels can be loaded, so that nothing is interpreted."""
    if not _is_over and _process is not None and _process.poll() is not None:
        compile_at_once()
    return _is_over


def _spend(seconds: float) -> None:
    global _spent
    _spent += seconds
    if _spent > _ENOUGH:
        compile_in_background()
