"""Workers that answer chunks of rows in parallel: threads of this process, or separate processes.

Processes are started as programs, not by `multiprocessing`. That would import the caller's main module again, so every
script would need a guard, and daemonic processes could not use it.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, Protocol

from elsewhere.engines.answers import Answers
from elsewhere.engines.arrow import Batch, Table
from elsewhere.engines.hiding import hides_at_once
from elsewhere.engines.kernel import sanitize_users
from elsewhere.engines.local.grouping import FEW_ROWS
from elsewhere.engines.local.worker import from_bytes, send, to_bytes
from elsewhere.engines.plans import Plans
from elsewhere.engines.preload import preload
from elsewhere.engines.targeting import on_arrays
from elsewhere.kernels.first_answers import soonest
from elsewhere.model.errors import InputError
from elsewhere.plan import Plan

_PROGRAM = """
import pickle, sys
try:
    sys.path[:] = pickle.load(sys.stdin.buffer)
    from elsewhere.engines.local.worker import main
except BaseException as error:
    pickle.dump((None, error), sys.stdout.buffer)
else:
    main()
"""
#: Python's options for the module search path and for writing bytecode.
_FLAGS = {"isolated": "-I", "ignore_environment": "-E", "no_user_site": "-s", "no_site": "-S",
          "dont_write_bytecode": "-B"}  # fmt: skip


class Workers(Protocol):
    """Answers chunks of rows, `number` of them at the same time."""

    @property
    def number(self) -> int: ...

    def submit(self, rows: Table) -> Future[Batch]: ...


class Loading:
    """Loads everything for answering in another thread, while this one reads and groups rows.

    One thing is loaded after the other, so that stopping never has to wait for all of it.
    """

    def __init__(self, plan: Plan, thread: Executor | None) -> None:
        self._plan, self._thread = plan, thread

    def import_modules(self) -> None:
        """Begin to import large modules while files are read; DuckDB first, because it is needed next."""
        if self._thread is not None:
            for module in ("duckdb", "numba"):
                self._thread.submit(import_module, module)

    def begin(self) -> Future[Any] | None:
        """Begin to load everything. The result is done when all is loaded; it is None if hardly anything is needed."""
        if self._thread is None:
            return None
        self._thread.submit(import_module, "numba")
        loaded = self._thread.submit(preload, self._plan)
        self._thread.submit(self._plan.policy.guesses)  # the summary needs what this reads
        return loaded


@contextmanager
def loading(plan: Plan, number: int) -> Iterator[Loading]:
    """Where this process loads what it needs, given the number of workers."""
    if not (number == 1 or hides_at_once(plan.policy) or on_arrays(plan.policy)):
        yield Loading(plan, None)
        return
    with _ending(ThreadPoolExecutor(1)) as thread:
        yield Loading(plan, thread)


def workers(
    plan: Plan,
    allow_unchanged: bool,
    keys: tuple[str, ...],
    number: int,
    loaded: Future[Any] | None = None,
    at_once: bool = False,
    few: bool = False,
) -> AbstractContextManager[Workers]:
    """Start workers for a plan. Leaving the context on an error does not wait for the chunks of processes.

    If users are answered all `at_once`, nearly all work is in kernels, which release the GIL, so threads suffice.
    Answering users one by one is mostly Python code and needs processes. With a single worker, the calling thread does
    the work, so that Ctrl-C can end it. A `few` rows are also answered there, before workers would be ready. Both wait
    until everything is `loaded`.
    """
    if few:
        kernel = _Kernel(plan, allow_unchanged, keys)
        # A row may have a whole list of locations.
        return nullcontext(_Caller(lambda rows: soonest(lambda: kernel.answer(rows), len(rows) <= FEW_ROWS)))
    if hides_at_once(plan.policy) or (at_once and number > 1):
        answers = Answers()  # shared, so that no question is searched twice
        return _threads([_Kernel(plan, allow_unchanged, keys, answers) for _ in range(number)], loaded)
    if number == 1:
        return nullcontext(_Caller(partial(_Kernel(plan, allow_unchanged, keys).answer_when_loaded, loaded)))
    return _processes(pickle.dumps((plan, allow_unchanged, keys)), number)


class _Kernel:
    """The kernel with its caches for a plan. Only one thread may use it at a time."""

    def __init__(
        self, plan: Plan, allow_unchanged: bool, keys: tuple[str, ...], answers: Answers | None = None
    ) -> None:
        self._plans, self._keys = Plans(plan, allow_unchanged, answers), keys

    def answer(self, rows: Table) -> Batch:
        return sanitize_users(self._plans, rows, self._keys)

    def answer_when_loaded(self, loaded: Future[Any] | None, rows: Table) -> Batch:
        if loaded is not None:
            loaded.result()  # if loading fails, all threads must raise the same error
        return self.answer(rows)


class _Caller:
    """Answers in the calling thread."""

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
    """One thread per answering function; whichever is free takes the next chunk."""

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
def _threads(kernels: Sequence[_Kernel], loaded: Future[Any] | None) -> Iterator[Workers]:
    with _ending(ThreadPoolExecutor(len(kernels))) as threads:
        yield _Pool(threads, [partial(kernel.answer_when_loaded, loaded) for kernel in kernels])


@contextmanager
def _ending(threads: ThreadPoolExecutor) -> Iterator[ThreadPoolExecutor]:
    """Threads that finish their current task, and start no other, when the context ends."""
    with threads:
        try:
            yield threads
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _processes(content: bytes, number: int) -> Iterator[Workers]:
    processes: list[_Process] = []
    try:
        while len(processes) < number:
            processes.append(_Process(content))
        with _ending(ThreadPoolExecutor(number)) as threads:
            try:
                yield _Pool(threads, [process.answer for process in processes])
            except BaseException:
                for process in processes:
                    process.kill()  # this ends the current tasks of the threads
                raise
    finally:
        for process in processes:
            process.close()


class _Process:
    """A worker process. Only one thread may call it at a time."""

    def __init__(self, content: bytes) -> None:
        flags = [option for name, option in _FLAGS.items() if getattr(sys.flags, name)]
        # In its own process group, Ctrl-C cannot reach it while it starts; -P keeps out modules of the current folder.
        self._process = Popen([sys.executable, *flags, "-P", "-c", _PROGRAM], stdin=PIPE, stdout=PIPE, process_group=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._tasks, self._answers = self._process.stdin, self._process.stdout
        with suppress(OSError):  # the next call will report why it ended
            send(self._tasks, _module_path())
            send(self._tasks, content)

    def answer(self, rows: Table) -> Batch:
        with suppress(OSError):  # it may have sent the reason why it ended
            send(self._tasks, to_bytes(rows))
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
        """End the process. No thread may be calling it."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._tasks.close()
        self._answers.close()

    def _death(self) -> InputError:
        status = self._process.wait()
        how = f"was killed (signal {-status})" if status < 0 else f"ended (exit status {status})"
        return InputError(
            f"a worker process {how}, perhaps because memory ran out; finished parts are kept: "
            "rerun the same command with fewer threads to resume",
            ("threads",),
        )


def _module_path() -> list[str]:
    """The module search path of this process with absolute folders, and the folder of this package at the end."""
    own = Path(__file__).parents[2]
    return [*(str(Path(entry).absolute()) for entry in sys.path if entry), str(own)]
