"""Kernels run compiled or interpreted, with the same answers; small first questions are interpreted."""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elsewhere as ew
from elsewhere.engines.arrow import pa
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.local.quotes import check_quotes
from elsewhere.evaluation.clusters import cluster_all
from elsewhere.histories import read
from elsewhere.histories.tracks.points import Points
from elsewhere.histories.tracks.stays import find_stays, same_place
from elsewhere.kernels import first_answers
from elsewhere.kernels.cancellation import cancellable, check_cancelled
from elsewhere.kernels.jit import Kernel, Part, interpreting, is_interpreting
from elsewhere.model.keys import Key
from elsewhere.solvers import labels, pairs

SAMPLES = Path(ew.__file__).parent / "data" / "samples"


def _kernels() -> dict[str, Kernel]:
    """All kernels of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages(ew.__path__, "elsewhere."):
        if module.name.endswith("__main__") or ".spark" in module.name or module.name.startswith("elsewhere.app"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Kernel):
                found[f"{value.function.__module__}.{value.function.__qualname__}"] = value
    return found


def _answers() -> Iterator[Any]:
    """Answers that take every kernel, to questions small enough to be interpreted."""
    dice = random.Random(3)
    tree = ew.TreeDistance("js", ew.Taxonomy.shipped())
    names = ["Café", "Italian restaurant", "French restaurant", "Gym", "Hospital", "Dentist", "Museum", "Hotel"]
    for _ in range(2):
        history = {name: dice.randint(1, 9) for name in names}
        target = {name: dice.randint(0, 5) for name in names[2:]} | {"Park": 3}
        yield ew.hide(history, ["Hospital"])
        for verb in (ew.resemble, ew.avoid):
            yield verb(history, target, 0.05)
            yield verb(history, target, 0.05, method="heuristic")
            yield verb(history, target, 0.05, privacy="l2", quality="jeffreys", forbidden=[history])
            yield verb(history, target, 0.05, quality=tree, privacy=tree)
        yield ew.frontier(history, target, [0.01, 0.05])
        yield ew.resemble(history, target, max_distance=0.5)
        yield ew.hide(history, ["Hospital"], quality=tree)
        yield ew.avoid(history, target, 0.2, privacy="jeffreys")
        whole = {name: 1 + dice.randint(0, 5) for name in names}
        yield ew.resemble(history, whole, 0.1, quality="neyman", privacy="pearson")
        yield ew.resemble(history, target, 0.2, quality=ew.SmoothedJS.over(ew.Taxonomy.shipped(), 1.0))
    many = {f"place {at}": 1 + at % 3 for at in range(600)}
    yield ew.hide(many, ["place 7"])
    skewed = {f"place {at}": 1 + 300 // (at + 1) for at in range(40)}
    target = {f"place {at}": 1 + at % 7 for at in range(50)}
    yield ew.resemble(skewed, target, 0.05)
    yield ew.avoid(skewed, target, 0.05, memory_limit=1 << 15)
    forked = {"a": 1200, "b": 1200, "c": 10, "d": 20}
    yield ew.avoid(forked, dict.fromkeys("abcd", 1) | {"e": 100}, 0.05, visited_only=True)
    commuter = ew.Policy("resemble", target="commuter", max_quality_loss=0.05).plan()
    yield commuter.sanitize(read(SAMPLES / "year.csv"))
    yield pairs.terms(pairs.KINDS["js"], np.array([0.5, 0.0]), np.array([0.25, 0.5])).tolist()
    days = np.arange(400) // 4
    points = Points(np.arange(0.0, 240_000.0, 600.0), 52.0 + days % 5 / 100, 13.0 + days % 3 / 100)
    stays = find_stays(points, 900.0, 100.0)
    yield [getattr(stays, name).tolist() for name in ("begins", "ends", "latitudes", "longitudes")]
    yield same_place(np.linspace(52.0, 52.01, 40), np.linspace(13.0, 13.01, 40), 30.0).tolist()
    crowd = {"park": 500_000, "mall": 300_000, "fair": 200_000}
    yield ew.resemble(crowd, {"park": 1, "mall": 2, "zoo": 1}, 0.01)
    yield ew.avoid(crowd, {"park": 1, "mall": 2, "zoo": 1}, 0.01)
    yield ew.avoid(crowd, {"park": 1, "mall": 2, "fair": 1}, 0.01, privacy="jeffreys")
    check_quotes(io.BytesIO(b'a,"b ""c"""\n1,2\n'), ",", "table.csv")
    yield cluster_all(np.array([1.0, 2.0, 9.0, 9.5, 1.5]), np.array([0, 5]), 2).tolist()
    users = {user: {name: dice.randint(1, 4) for name in names[user % 2 :]} for user in range(8)}
    rows = [(user, name, count) for user, counts in users.items() for name, count in counts.items()]
    table = pa.table(dict(zip(("user", "location", "count"), zip(*rows, strict=True), strict=True)))
    shared = ew.Policy("hide", sensitive=("Café",), mechanism="shared", max_quality_loss=0.5)
    for policy in (shared, ew.Policy("hide", sensitive=("Café",))):
        yield [
            batch.to_pylist() for batch in sanitize_batches(policy.plan().with_key(Key(bytes(32))), table.to_batches())
        ]


def test_compiled_and_interpreted_kernels_have_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    run = set[str]()

    def recorded(self: Kernel, *args: Any) -> Any:
        run.add(f"{self.function.__module__}.{self.function.__qualname__}")
        return self.function(*args)

    monkeypatch.setattr(first_answers, "_is_over", True)
    compiled = list(_answers())
    for class_ in (Kernel, Part):
        monkeypatch.setattr(class_, "__call__", recorded)
    with interpreting():
        assert list(_answers()) == compiled
    missing = sorted(set(_kernels()) - run)
    assert not missing, "\n".join(missing)


def test_a_question_that_takes_too_long_is_compiled_for_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    monkeypatch.setattr(first_answers, "_is_over", False)
    monkeypatch.setattr(first_answers, "_spent", 0.0)
    monkeypatch.setattr(first_answers, "PATIENCE", 0.0)
    monkeypatch.setattr(first_answers, "_ENOUGH", 0.0)
    monkeypatch.setattr(first_answers, "compile_in_background", lambda: begun.append(True))
    ways = []

    def answer() -> str:
        ways.append(is_interpreting())
        check_cancelled()
        return "answer"

    assert first_answers.soonest(answer, is_small=True) == "answer"
    assert (ways, begun) == ([True, False], [True])
    assert first_answers.soonest(answer, is_small=False) == "answer"
    assert ways[2:] == [False]


def test_an_interpreted_search_checks_the_clock_before_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums in the completions of this question took eight seconds before the first check."""
    work = []
    complete = labels.complete.function  # type: ignore[attr-defined]

    def recorded(*args: Any) -> Any:
        work.append(args[4])
        return complete(*args)

    def stop() -> None:
        if work:
            raise TimeoutError

    monkeypatch.setattr(labels.complete, "function", recorded)
    weights = 1.0 / np.arange(1, 101)
    counts = (1 + np.random.default_rng(2).multinomial(1_900, weights / weights.sum())).tolist()
    history = {f"{at:03}": count for at, count in enumerate(counts)}
    target = dict(zip(history, reversed(counts), strict=True))
    with pytest.raises(TimeoutError), interpreting(), cancellable(stop):
        ew.avoid(history, target, 0.005, privacy="neyman", forbidden=[history])
    assert sum(work) <= 300_000


def test_small_commands_do_not_load_the_compiler(tmp_path: Path) -> None:
    # On a busy machine a small question may take long, and must not start a process that compiles either.
    code = (
        "import atexit, sys; from elsewhere.cli import main; from elsewhere.kernels import first_answers\n"
        "first_answers.PATIENCE = first_answers._ENOUGH = 600.0\n"
        "atexit.register(lambda: print(*{'numba', 'scipy'}.intersection(sys.modules))); main()"
    )
    for question in (
        ["hide", "--sensitive", "preset:health", "--allow-unchanged"],
        ["resemble", "--target", "tourist", "--max-quality-loss", "0.05", "--allow-mismatch"],
    ):
        files = [str(SAMPLES / "weekend.csv"), "-o", str(tmp_path / "release.csv")]
        command = [sys.executable, "-c", code, *question, *files, "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


_FILL = """
import fcntl
from elsewhere.kernels.first_answers import fill_cache
lock = fcntl.flock
def told(*given):
    try:
        lock(*given)
    except BlockingIOError:
        print("busy", flush=True)
        raise
fcntl.flock = told
fill_cache()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not locked there")
def test_many_commands_on_a_new_machine_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # another process compiles
    with subprocess.Popen([sys.executable, "-c", _FILL], stdout=subprocess.PIPE) as waiting:
        try:
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == b"busy\n"
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(1.0)
        finally:
            os.close(folder)  # it has ended
        assert waiting.wait(300.0) == 0
    assert not list(tmp_path.iterdir())
    assert first_answers._is_first()
