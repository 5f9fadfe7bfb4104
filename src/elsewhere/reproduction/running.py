"""Run experiments in parallel, each in its own process. Timed experiments run one by one, except in a quick run."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Thread

from elsewhere.model.errors import ElsewhereError
from elsewhere.reproduction import experiments, report
from elsewhere.reproduction.cache import Cache, Outcome
from elsewhere.reproduction.experiment import Study
from elsewhere.reproduction.rows import Rows


def run(
    names: Sequence[str], study: Study, cache: Cache, folder: Path, footer: str, say: Callable[[str], None]
) -> Mapping[str, Outcome]:
    """The outcome of each experiment, from the cache if it is still valid; the others run and draw their figures."""
    known = experiments.modules()
    due = [name for name in names if not _is_done(name, cache, folder, say)]
    workers = _Workers((study, cache, folder, footer), say, len(due))
    together = [name for name in due if not (study.scale.alone and known[name].EXPERIMENT.timed)]
    workers.work(together, os.cpu_count() or 1)
    workers.work([name for name in due if name not in together], 1)
    outcomes = {name: cache.get(name) for name in names}
    return {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Outcome)}


def _is_done(name: str, cache: Cache, folder: Path, say: Callable[[str], None]) -> bool:
    outcome = cache.get(name)
    if isinstance(outcome, str):
        if outcome:
            say(f"{name}: running again, because of a change: {outcome}")
        return False
    drawn = report.is_drawn(folder, report.section(name, experiments.modules()[name].EXPERIMENT, outcome))
    say(f"{name}: already done" if drawn else f"{name}: running again, because a figure is missing")
    return drawn


class _Workers:
    """Worker processes. Each ends with its experiment or with its parent, so none is left if the parent is killed."""

    def __init__(self, given: tuple[Study, Cache, Path, str], say: Callable[[str], None], due: int) -> None:
        self._given, self._say, self._due = given, say, due
        self._done = 0

    def work(self, names: Sequence[str], side_by_side: int) -> None:
        waiting, busy = list(names), dict[SpawnProcess, tuple[str, float]]()
        try:
            while waiting or busy:
                while waiting and len(busy) < side_by_side:
                    name = waiting.pop(0)
                    process = multiprocessing.get_context("spawn").Process(
                        target=_experiment, args=(name, *self._given)
                    )
                    process.start()
                    busy[process] = (name, time.monotonic())
                wait([process.sentinel for process in busy])
                for process in [it for it in busy if it.exitcode is not None]:
                    self._ended(*busy.pop(process), process.exitcode)
        finally:
            for process in busy:
                process.terminate()

    def _ended(self, name: str, begun: float, status: int | None) -> None:
        if status:
            raise ElsewhereError(f"the experiment {name} failed with status {status}; finished experiments are kept")
        self._done += 1
        self._say(f"{name}: {time.monotonic() - begun:.0f} s ({self._done} of {self._due})")


def _experiment(name: str, study: Study, cache: Cache, folder: Path, footer: str) -> None:
    """Run one experiment in a worker process. It is stored as done only after its figures are drawn."""
    Thread(target=_end_with_parent, daemon=True).start()
    module = experiments.modules()[name]
    if module.EXPERIMENT.timed:
        import_module("elsewhere.preload")  # before the clock runs
        gc.freeze()  # so that the garbage collector does not scan all users while the clock runs
    rows, refused = Rows(), []
    try:
        for dataset in study.sets:
            try:
                rows.extend(module.EXPERIMENT.run(study, dataset))
            except ElsewhereError as error:
                refused.append(f"{error}.")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if not rows and not refused:
        refused.append("No histogram is suitable.")
    outcome = Outcome(rows, " ".join(refused), round(time.process_time(), 1))
    report.draw_all(folder, report.section(name, module.EXPERIMENT, outcome), footer)
    cache.put(name, outcome)


def _end_with_parent() -> None:
    """Wait for the parent process to end, for whatever reason, and then exit."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
