"""Workers that answer chunks of rows at the same time: threads of this process, or processes of their own.

Processes are started as programs and not by `multiprocessing`, which would import the main module of the caller again
and so ask every script for a guard, and which has none for daemonic processes.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, Protocol

from elsewhere.engines.arrow import Batch, Table
from elsewhere.engines.kernel import is_plain, sanitize_users
from elsewhere.engines.plans import Plans
from elsewhere.engines.worker import from_bytes, send, to_bytes
from elsewhere.model.errors import InputError
from elsewhere.policy import Plan

#: Processes take seconds to get ready, so those of one batch wait so long for the next one.
_IDLE_SECONDS = 60.0
_PROGRAM = """
import pickle, sys
try:
    sys.path[:] = pickle.load(sys.stdin.buffer)
    from elsewhere.engines.worker import main
except BaseException as error:
    pickle.dump((None, error), sys.stdout.buffer)
else:
    main()
"""
#: One after the other, so that nobody waits long for the end of one; Arrow imports pandas if it is there.
_PRELOADED = ("numba", "pandas", "elsewhere.engines.preload")
#: The options of Python that say where it looks for modules, and whether it writes them.
_FLAGS = {"isolated": "-I", "ignore_environment": "-E", "no_user_site": "-s", "no_site": "-S",
          "dont_write_bytecode": "-B"}  # fmt: skip


class Workers(Protocol):
    """Answers chunks of rows, `number` of them at the same time."""

    @property
    def number(self) -> int: ...

    def submit(self, rows: Table) -> Future[Batch]: ...


def workers(plan: Plan, allow_unchanged: bool, number: int) -> AbstractContextManager[Workers]:
    """Workers for a plan, which get ready at once. Leaving on an error does not wait for chunks of processes.

    Without a search nearly all the work is in kernels, which let other threads run. A search is led by Python, which
    does not, so it takes processes. A search of one worker is left to the thread that asks, where Ctrl-C ends it.
    """
    if is_plain(plan.policy):
        return _threads([Plans(plan, allow_unchanged) for _ in range(number)])
    return _caller(Plans(plan, allow_unchanged)) if number == 1 else _processes((plan, allow_unchanged), number)


class _Caller:
    """Answers in the thread that asks, before it goes on."""

    number = 1

    def __init__(self, answer: Callable[[Table], Batch]) -> None:
        self._answer = answer

    def submit(self, rows: Table) -> Future[Batch]:
        answered: Future[Batch] = Future()
        try:
            answered.set_result(self._answer(rows))
        except Exception as error:
            answered.set_exception(error)
        return answered


class _Pool:
    """A thread for each of some functions that answer: whichever is free takes the next chunk."""

    def __init__(self, threads: ThreadPoolExecutor, answering: Sequence[Callable[[Table], Batch]]) -> None:
        self.number = len(answering)
        self._threads = threads
        self._free: SimpleQueue[Callable[[Table], Batch]] = SimpleQueue()
        for answer in answering:
            self._free.put(answer)

    def submit(self, rows: Table) -> Future[Batch]:
        return self._threads.submit(self._answer, rows)

    def _answer(self, rows: Table) -> Batch:
        answer = self._free.get()
        try:
            return answer(rows)
        finally:
            self._free.put(answer)


@contextmanager
def _caller(plans: Plans) -> Iterator[Workers]:
    with _preloading() as loaded:
        yield _Caller(partial(_answer, loaded, plans))


@contextmanager
def _threads(plans: Sequence[Plans]) -> Iterator[Workers]:
    with _preloading() as loaded, _ending(ThreadPoolExecutor(len(plans))) as threads:
        yield _Pool(threads, [partial(_answer, loaded, own) for own in plans])


def _answer(loaded: Future[Any], plans: Plans, rows: Table) -> Batch:
    loaded.result()  # else, where loading fails, two threads that load would each tell another story
    return sanitize_users(plans, rows)


@contextmanager
def _preloading() -> Iterator[Future[Any]]:
    """Load what answering takes while rows are grouped."""
    with _ending(ThreadPoolExecutor(1)) as thread:
        yield [thread.submit(import_module, module) for module in _PRELOADED][-1]


@contextmanager
def _ending(threads: ThreadPoolExecutor) -> Iterator[ThreadPoolExecutor]:
    """Threads that finish what they have begun, and nothing else, when the context is left."""
    with threads:
        try:
            yield threads
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _processes(given: tuple[Plan, bool], number: int) -> Iterator[Workers]:
    content = pickle.dumps(given)
    processes: list[_Process] = []
    try:
        while len(processes) < number:
            processes.append(_IDLE.take() or _Process())
        with _ending(ThreadPoolExecutor(number)) as threads:
            try:
                yield _Pool(threads, [partial(process.answer, content) for process in processes])
            except BaseException:
                for process in processes:
                    process.kill()  # which ends what the threads have begun
                raise
    except BaseException:
        for process in processes:
            process.close()
        raise
    _IDLE.put(processes)


class _Process:
    """A worker process, which is asked by one thread at a time."""

    def __init__(self) -> None:
        flags = [option for name, option in _FLAGS.items() if getattr(sys.flags, name)]
        # In a group of its own, Ctrl-C does not reach it while it starts; with -P, modules of the current folder don't.
        self._process = Popen([sys.executable, *flags, "-P", "-c", _PROGRAM], stdin=PIPE, stdout=PIPE, process_group=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._tasks, self._answers = self._process.stdin, self._process.stdout
        self._given: bytes | None = None
        pickle.dump(_module_path(), self._tasks)
        self._tasks.flush()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def answer(self, given: bytes, rows: Table) -> Batch:
        with suppress(OSError):  # it may have left word why it ended
            send(self._tasks, (None if self._given is given else given, to_bytes(rows)))
        self._given = given
        try:
            answer, error = pickle.load(self._answers)
        except (EOFError, pickle.UnpicklingError):
            raise self._death() from None
        if error is not None:
            raise error
        return from_bytes(answer).to_batches()[0]

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """End the process, which no thread is asking any more."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._tasks.close()
        self._answers.close()

    def _death(self) -> InputError:
        status = self._process.wait()
        how = f"was killed (signal {-status})" if status < 0 else f"ended (exit status {status})"
        return InputError(
            f"a worker process {how}, perhaps for lack of memory; what is written so far stays: "
            "run the same command again to resume, with fewer threads",
            ("threads",),
        )


class _Idle:
    """Processes that wait for the next batch, for a while."""

    def __init__(self) -> None:
        self._processes: list[_Process] = []
        self._timer = threading.Timer(_IDLE_SECONDS, self.end)

    def take(self) -> _Process | None:
        """One that is still there, if any is."""
        while self._processes:
            with suppress(IndexError):  # another thread was faster
                process = self._processes.pop()
                if process.alive:
                    return process
                process.close()
        return None

    def put(self, processes: Sequence[_Process]) -> None:
        self._processes.extend(processes)
        self._timer.cancel()
        self._timer = threading.Timer(_IDLE_SECONDS, self.end)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        while process := self.take():
            process.close()

    def forget(self) -> None:
        """Leave them to the process that this one is a copy of, and do not keep their pipes open."""
        self._processes.clear()


_IDLE = _Idle()
atexit.register(_IDLE.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.forget)


def _module_path() -> list[str]:
    """Where this process finds modules, wherever the current folder is, and at last where it found this package."""
    own = Path(__file__).parents[2]
    return [*(str(Path(entry).absolute()) for entry in sys.path if entry), str(own)]
