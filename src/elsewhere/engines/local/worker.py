"""The program of a worker process: it answers chunks of rows until its standard input ends.

Messages are pickles, and the tables in them are Arrow streams. The first message has a plan, and the others have rows.
An answer has a batch, or the error that ends this process.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import IO, Any, TypeAlias

from elsewhere.engines.arrow import Batch, Table, pa
from elsewhere.extras import leave_out_unused

#: A pickled plan, whether a release may be unchanged, and the keys; then rows.
Task: TypeAlias = bytes
Answer: TypeAlias = tuple[bytes | None, BaseException | None]


def send(file: IO[bytes], message: Task | Answer | list[str]) -> None:
    pickle.dump(message, file)
    file.flush()


def to_bytes(rows: Table | Batch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(content: bytes) -> Table:
    return pa.ipc.open_stream(content).read_all()


def main() -> None:
    """Answer tasks from standard input on standard output, one after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent decides what to do
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that no print ends up in the answers
    tasks: SimpleQueue[Task] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, tasks.put), daemon=True).start()
    try:
        _answer_all(tasks.get, lambda answer: send(answers, answer))
    except BaseException as error:
        send(answers, (None, _portable(error)))
    finally:
        os._exit(1)  # a regular exit would hang on the thread that still reads


def _receive(file: IO[bytes], put: Callable[[Task], None]) -> None:
    """Read tasks while others are answered, and exit if the parent process ends for any reason."""
    try:
        while True:
            put(pickle.load(file))
    finally:
        os._exit(1)


def _answer_all(get: Callable[[], Task], put: Callable[[Answer], None]) -> None:
    leave_out_unused()
    from elsewhere.engines.kernel import sanitize_users
    from elsewhere.engines.plans import Plans
    from elsewhere.engines.preload import preload

    plan, allow_unchanged, keys = pickle.loads(get())
    preload(plan)
    plans = Plans(plan, allow_unchanged)
    while True:
        put((to_bytes(sanitize_users(plans, from_bytes(get()), keys)), None))


def _portable(error: BaseException) -> BaseException:
    """The error with its traceback as a note, or a substitute if it cannot be pickled."""
    error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)).rstrip())
    try:
        again: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        again = None
    return error if type(again) is type(error) else AssertionError("".join(traceback.format_exception(error)).rstrip())
