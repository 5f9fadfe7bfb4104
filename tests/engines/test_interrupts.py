"""Ctrl-C ends a batch while DuckDB groups its rows, and says what is written; too little memory is a MemoryError."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.engines.local import pipeline
from elsewhere.engines.local.grouping import connected
from elsewhere.engines.shortages import memory_errors
from tests.support.batches import people, write

#: Takes DuckDB hours.
_LONG = "SELECT sum(hash(a.range + b.range)) FROM range(10_000_000) a, range(10_000_000) b"


def _streamed(connection: Any) -> list[Any]:
    return list(connection.sql(f"SELECT * FROM ({_LONG})").to_arrow_reader(100))


def _fetched(connection: Any) -> list[Any]:
    found: list[Any] = connection.sql(_LONG).fetchall()
    return found


@pytest.fixture
def interrupt() -> Iterator[threading.Timer]:
    """A Ctrl-C soon after its start, which must be where somebody expects it."""
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    yield timer
    timer.cancel()


@pytest.mark.skipif(os.name != "posix", reason="sends itself a signal")
@pytest.mark.parametrize("ask", [_streamed, _fetched])
def test_ctrl_c_ends_a_query(ask: Callable[[Any], list[Any]], tmp_path: Path, interrupt: threading.Timer) -> None:
    before = signal.set_wakeup_fd(-1)

    def interrupted(connection: Any) -> None:
        interrupt.start()
        ask(connection)

    with pytest.raises(KeyboardInterrupt), connected(tmp_path, 1, 10**9) as connection:
        interrupted(connection)
    assert signal.set_wakeup_fd(before) == -1  # as it was


def test_a_query_may_be_asked_from_any_thread(tmp_path: Path) -> None:
    found: list[Any] = []

    def ask() -> None:
        with connected(tmp_path, 1, 10**9) as connection:
            found.extend(connection.sql("SELECT 7").fetchall())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [(7,)]


def test_an_interrupt_says_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_PLAIN_ROWS", 100)
    write(tmp_path / "in.parquet", people(300))
    policy = ew.Policy("hide", sensitive=("clinic",))
    seen = 0

    def interrupt(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", part_rows=200, progress=interrupt)
    parts = len(list((tmp_path / "out").glob("part-*")))
    assert str(raised.value) == f"{parts} parts written so far; rerun the same command to resume"
    assert not list(tmp_path.glob(".out-spill-*"))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("libarrow.so: failed to map segment from shared object"),
        OSError(12, os.strerror(12)),
    ],
)
def test_too_little_memory_has_one_type(error: Exception) -> None:
    with pytest.raises(MemoryError), memory_errors():
        raise error
    replaced = OSError("the library cannot be loaded")
    replaced.__context__ = error
    with pytest.raises(MemoryError), memory_errors():
        raise replaced
    with pytest.raises(RuntimeError, match="anything else"), memory_errors():
        raise RuntimeError("anything else")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory as Linux does")
def test_a_limit_on_memory_is_one_sentence(tmp_path: Path) -> None:
    """Whether it is so little that nothing can be loaded, or so much that a library would crash later on."""
    resource = import_module("resource")
    write(tmp_path / "in.parquet", people(50))
    ew.Policy("hide", sensitive=("gym",)).save(tmp_path / "policy.toml")
    for limit in (3 * 10**8, 5 * 10**8, 10**9, 2 * 10**9):
        result = subprocess.run(
            [sys.executable, "-m", "elsewhere", "batch", "policy.toml", "in.parquet", "-o", "out"],
            cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit)),
        )  # fmt: skip
        assert result.returncode == 2
        assert result.stderr.startswith("elsewhere: ")
        assert "not enough memory" in result.stderr
        assert result.stderr.count("\n") == 1
        assert not list(tmp_path.glob("out*"))
