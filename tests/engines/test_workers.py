"""Worker processes: any program may start them, and they end with it, with Ctrl-C and with one of them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.engines.local import grouping, pipeline
from elsewhere.engines.local.worker import _portable
from elsewhere.engines.local.workers import workers
from tests.support.batches import expected, people, released, write
from tests.support.processes import kill, left_of_session, of_session, on_linux, workers_of

pa: Any = import_module("pyarrow")

#: With a limit on time users are answered one by one.
POLICY = ew.Policy("resemble", target="tourist", max_quality_loss=0.1, time_limit=3600)
_CALL = """
import elsewhere as ew
policy = ew.Policy("resemble", target="tourist", max_quality_loss=0.1, time_limit=3600)
ew.batch(policy, {source!r}, {output!r}, threads=2)
"""
_DAEMONIC = """
import multiprocessing
def call():
    exec({call!r})
process = multiprocessing.get_context("fork").Process(target=call, daemon=True)
process.start()
process.join()
assert process.exitcode == 0, process.exitcode
"""
_CONSOLE = """
import code
console = code.InteractiveConsole()
for line in {call!r}.splitlines():
    assert not console.push(line)
"""
#: The package comes from where it came from, whatever is called like it in a new current folder.
_MOVED = """
import os, pickle, numpy, elsewhere
os.chdir({folder!r})
{call}
"""


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small table has no workers."""
    monkeypatch.setattr(grouping, "FEW_ROWS", 0)


@pytest.mark.parametrize("kind", ["plain", "input", "moved", "daemonic", "console"])
def test_any_program_may_start_workers(tmp_path: Path, kind: str) -> None:
    histograms = people(50)
    write(tmp_path / "in.parquet", histograms)
    call = _CALL.format(source=str(tmp_path / "in.parquet"), output=str(tmp_path / "out"))
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("elsewhere", "numpy", "pickle"):
        (folder / f"{name}.py").write_text("raise AssertionError('from the current folder')\n", encoding="utf-8")
    programs = {
        "daemonic": _DAEMONIC.format(call=call),
        "console": _CONSOLE.format(call=call),
        "moved": _MOVED.format(call=call, folder=str(folder)),
    }
    program = tmp_path / "program.py"
    program.write_text(programs.get(kind, call), encoding="utf-8")
    on_input = kind in ("input", "moved")
    with program.open() as script:
        subprocess.run(
            [sys.executable, "-"] if on_input else [sys.executable, str(program)],
            stdin=script if on_input else None, check=True, cwd=tmp_path if on_input else folder,
        )  # fmt: skip
    assert released(tmp_path / "out") == expected(POLICY, histograms) != {}


@on_linux
def test_a_worker_that_is_killed_ends_a_batch_that_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_SEARCHED_ROWS", 50)
    write(tmp_path / "in.parquet", people(500))
    ew.batch(POLICY, tmp_path / "in.parquet", tmp_path / "whole", threads=2, part_rows=300)
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}

    def kill_one(_: object) -> None:
        if list((tmp_path / "killed").glob("part-*")):
            kill(workers_of(os.getpid())[:1], signal.SIGKILL)

    with pytest.raises(ew.InputError, match=r"^a worker process was killed \(signal 9\).*rerun the same command"):
        ew.batch(POLICY, tmp_path / "in.parquet", tmp_path / "killed", threads=2, part_rows=300, progress=kill_one)
    assert workers_of(os.getpid()) == []
    parts = {path.name: path.read_bytes() for path in (tmp_path / "killed").iterdir()}
    assert parts
    assert parts.items() < whole.items()
    ew.batch(POLICY, tmp_path / "in.parquet", tmp_path / "killed", threads=2, part_rows=300)
    assert {path.name: path.read_bytes() for path in (tmp_path / "killed").iterdir()} == whole


def test_an_error_in_a_worker_is_raised_as_itself() -> None:
    """With where it came from; and the processes have ended."""
    nonsense = pa.table({"user": ["ann"], "location": ["gym"], "count": [1], "colour": ["red"]})
    with (
        pytest.raises(ew.InputError, match="'colour' is not a personal choice") as raised,
        workers(POLICY.plan(), False, ("user",), 2) as pool,
    ):
        pool.submit(nonsense).result()
    assert "in a worker process:" in raised.value.__notes__[0]
    broken = pa.table({"user": ["ann"]})
    with pytest.raises(KeyError), workers(POLICY.plan(), False, ("user",), 2) as pool:
        pool.submit(broken).result()
    if Path("/proc").exists():
        assert workers_of(os.getpid()) == []


def test_an_error_that_cannot_be_pickled_is_told() -> None:
    class Odd(Exception):
        def __init__(self, one: str, other: str) -> None:
            super().__init__(one + other)

    told = pickle.loads(pickle.dumps(_portable(Odd("so", "so"))))
    assert "Odd: soso" in str(told)


#: There is no end to the rows, so that it is at work whenever it is interrupted.
_COMMAND = """
from itertools import cycle
from elsewhere.cli import main
from elsewhere.engines.local import pipeline
chunks = pipeline._chunks
pipeline._SEARCHED_ROWS = 50
pipeline._chunks = lambda *given: cycle(chunks(*given))
main()
"""


@on_linux
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_search(tmp_path: Path, threads: int) -> None:
    """It goes to every process of the terminal's group; one sentence, and nobody is left."""
    write(tmp_path / "in.parquet", people(5000))
    POLICY.save(tmp_path / "policy.toml")
    given = ["batch", "policy.toml", "in.parquet", "-o", "out", "--threads", str(threads), "--part-rows", "300"]
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *given],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        while process.poll() is None and not list(tmp_path.glob("out/part-*")):
            time.sleep(0.01)
        assert len(of_session(process.pid)) == (1 if threads == 1 else 1 + threads)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said.startswith("elsewhere: interrupted; ")
    assert said.count("\n") == 1
    assert left_of_session(process.pid) == []
    assert not list(tmp_path.glob(".out-spill-*"))
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("policy", ["goal = 'hide'\nsensitive = ['gym']\n", "goal = 'avoid'\ntarget = 'tourist'\n"])
def test_the_command_does_not_load_pandas(policy: str, counted: bool, tmp_path: Path) -> None:
    """Arrow would, wherever it is installed: half a second for nothing."""
    places = ("gym", "Cafe", "Museum", "home")
    rows = [{"user": f"user {at // 9}", "location": places[at % 4]} for at in range(3000)]
    table = pa.Table.from_pylist(rows)
    if counted:
        table = table.append_column("count", pa.array([2] * len(rows)))
    import_module("pyarrow.parquet").write_table(table, tmp_path / "visits.parquet")
    (tmp_path / "policy.toml").write_text(policy + ("" if "hide" in policy else "max_quality_loss = 0.1\n"))
    code = (
        "import sys; from elsewhere.cli import main\n"
        "try: main(['batch', 'policy.toml', 'visits.parquet', '-o', 'out', '--quiet', '--allow-unchanged'])\n"
        "finally: print(*{'pyarrow', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "pyarrow\n"
    assert (tmp_path / "out" / "_SUCCESS").exists()


_LOADED = """
from elsewhere import Policy
from elsewhere.engines.preload import preload
from elsewhere.solvers import one_call, terms
preload(Policy("{goal}", **{given}).plan())
print(*("compiled" in vars(kernel) for kernel in (terms.hide_many, one_call._answer)))
"""


@pytest.mark.parametrize("goal", ["hide", "resemble", "avoid"])
def test_a_batch_loads_the_kernels_of_its_goal(goal: str) -> None:
    given = {} if goal == "hide" else {"target": "tourist", "max_quality_loss": 0.1}
    code = _LOADED.format(goal=goal, given=given)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(goal == "hide"), str(goal != "hide")]
