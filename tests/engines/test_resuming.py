"""A batch that goes on: it checks what is there, keeps what a search has found, and shares its folders with nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere import profiles
from elsewhere.engines.local import pipeline
from elsewhere.engines.local.folder import Output
from tests.support.batches import expected, people, released, write
from tests.support.processes import kill

HIDE = ew.Policy("hide", sensitive=("clinic",))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def damage_part(folder: Path) -> None:
    (folder / "out" / "part-00002.parquet").unlink()


def cut_part(folder: Path) -> None:
    part = folder / "out" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-1])


def change_part(folder: Path) -> None:
    part = folder / "out" / "part-00003.parquet"
    part.write_bytes(part.read_bytes()[:-20] + b"?" + part.read_bytes()[-19:])


def lose_outcomes(folder: Path) -> None:
    (folder / "out.private" / "outcomes-00000.parquet").unlink()


def lose_record(folder: Path) -> None:
    (folder / "out.private" / "journal" / "00002.json").unlink()


def change_summary(folder: Path) -> None:
    text = (folder / "out.private" / "summary.json").read_text()
    (folder / "out.private" / "summary.json").write_text(text.replace('"users": 1', '"users": 2'))


def cut_record(folder: Path) -> None:
    (folder / "out.private" / "journal" / "00001.json").write_text('{"parts": []}')


def lose_last(folder: Path) -> None:
    *_, last = sorted((folder / "out.private" / "journal").iterdir())
    last.unlink()
    (folder / "out" / f"part-{last.stem}.parquet").unlink()


DAMAGES = [damage_part, cut_part, change_part, lose_outcomes, lose_record, lose_last, change_summary, cut_record]


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_made_again(tmp_path: Path, damage: Any, finished: bool) -> None:
    histograms = people(120)
    write(tmp_path / "in.parquet", histograms)
    first = ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out", part_rows=50)
    before = content(tmp_path / "out")
    assert len(before) > 5
    if not finished:
        (tmp_path / "out" / "_SUCCESS").unlink()
    damage(tmp_path)
    again = ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out", part_rows=50)
    assert content(tmp_path / "out") == before
    assert {**again, "lineage": None} == {**first, "lineage": None}
    assert again["users"] == len(histograms)


def test_a_finished_batch_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in.parquet", people(30))
    first = ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out")
    monkeypatch.setattr(Output, "write_part", None)
    assert ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out") == first


def test_a_stored_profile_that_has_changed_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE_PROFILES", str(tmp_path / "profiles"))
    write(tmp_path / "in.parquet", people(10))
    policy = ew.Policy("resemble", target="mine", max_quality_loss=0.2)
    mine = tmp_path / "profiles" / "mine.toml"
    mine.parent.mkdir()
    profiles.save(mine, profiles.learn({"ann": {"park": 2, "gym": 1}}))
    ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", threads=1)
    profiles.save(mine, profiles.learn({"ann": {"park": 1, "gym": 1}}))
    with pytest.raises(ew.InputError, match="started with another input, policy, key or version"):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", threads=1)


def test_a_search_is_kept_between_two_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an end in the midst of a part, users that are done are not searched again, and the bytes are the same."""
    monkeypatch.setattr(pipeline, "_SEARCHED_ROWS", 40)
    monkeypatch.setattr(pipeline, "_CHECKPOINT_SECONDS", -1.0)
    histograms = people(200)
    write(tmp_path / "in.parquet", histograms)
    policy = ew.Policy("hide", sensitive=("clinic",), candidates=("library",), max_quality_loss=9.0)
    given: dict[str, Any] = {"threads": 1, "part_rows": 400}
    whole = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "whole", **given)
    answered = 0

    def end(progress: Any) -> None:
        if progress.users > 150:
            raise KeyboardInterrupt

    def count(progress: Any) -> None:
        nonlocal answered
        answered = progress.users

    with pytest.raises(KeyboardInterrupt):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", **given, progress=end)
    parts = len(list((tmp_path / "out").glob("part-*")))
    assert list((tmp_path / "out.private" / "checkpoints").iterdir())
    written = sum(len(users) for users in [released(tmp_path / "out")])
    again = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", **given, progress=count)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert {**again, "lineage": None} == {**whole, "lineage": None}
    assert not list((tmp_path / "out.private" / "checkpoints").iterdir())
    assert parts >= 1
    assert written < 150
    assert answered < 200  # what was kept is not counted as done now


@pytest.mark.parametrize("damage", ["none", "delete first", "delete second", "cut", "flip", "empty"])
def test_checkpoints_that_are_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    """Nobody is lost: what is not what it was is searched again."""
    monkeypatch.setattr(pipeline, "_SEARCHED_ROWS", 8)
    monkeypatch.setattr(pipeline, "_CHECKPOINT_SECONDS", -1.0)
    write(tmp_path / "in.parquet", people(40))
    policy = ew.Policy("hide", sensitive=("clinic",), visited_only=True, max_quality_loss=9.0)
    ew.batch(policy, tmp_path / "in.parquet", tmp_path / "whole", threads=1)

    def end(progress: Any) -> None:
        if progress.users > 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", threads=1, progress=end)
    first, second, *_ = sorted((tmp_path / "out.private" / "checkpoints").iterdir())
    data = second.read_bytes()
    if damage.startswith("delete"):
        (first if damage.endswith("first") else second).unlink()
    elif damage != "none":
        second.write_bytes({"cut": data[:-9], "flip": data[:99] + b"?" + data[100:], "empty": b""}[damage])
    # Ended once more: what was kept later than the damage follows on something that is gone.
    monkeypatch.setattr(pipeline, "_CHECKPOINT_SECONDS", 0.02)
    seen = 0

    def end_again(_: object) -> None:
        nonlocal seen
        seen += 1
        time.sleep(0.015)
        if seen == 3:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", threads=1, progress=end_again)
    again = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", threads=1)
    assert again["users"] == 40
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_folders_of_others(tmp_path: Path) -> None:
    """A report does not go where others have something, nor an output to where another report leads."""
    write(tmp_path / "in.parquet", people(5))
    ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "A")
    for report in ("A", "A.private"):
        with pytest.raises(ew.InputError, match=r"holds files of something else|started with another input"):
            ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "B", report=tmp_path / report)
    (tmp_path / "open").mkdir(mode=0o755)
    ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "C", report=tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o077 == 0
    with pytest.raises(ew.InputError, match=r"report is '.*', in the folder of the input"):
        ew.batch(HIDE, tmp_path / "open", tmp_path / "D", report=tmp_path / "open" / "report")


def test_a_lock_is_given_back(tmp_path: Path) -> None:
    """Also if the other folder was taken."""
    fcntl: Any = pytest.importorskip("fcntl")
    write(tmp_path / "in.parquet", people(5))
    (tmp_path / "report").mkdir()
    taken = os.open(tmp_path / "report", os.O_RDONLY)
    fcntl.flock(taken, fcntl.LOCK_EX)
    with pytest.raises(ew.InputError, match=r"another batch is running in '.*report'"):
        ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out", report=tmp_path / "report")
    os.close(taken)
    assert ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out", report=tmp_path / "report")["users"] == 5


_HOLD = """
import sys, time, elsewhere as ew
ew.batch(ew.Policy("hide", sensitive=("clinic",)), sys.argv[1], sys.argv[2], report=sys.argv[3],
         progress=lambda _: (print("begun", flush=True), time.sleep(3600)))
"""


def test_one_output_for_one_run(tmp_path: Path) -> None:
    """Whatever the report is called, and whatever the output of the same report."""
    write(tmp_path / "in.parquet", people(20))
    given = [str(tmp_path / name) for name in ("in.parquet", "out", "report")]
    with subprocess.Popen([sys.executable, "-c", _HOLD, *given], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"begun\n"
            for output, report, busy in (("out", "elsewhere", "out"), ("other", "report", "report")):
                running = f"another batch is running in '.*{busy}'|holds files of something"
                with pytest.raises(ew.InputError, match=running):
                    ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / output, report=tmp_path / report)
        finally:
            other.kill()


#: Stands still when DuckDB gives the first rows, while most of them wait on the disk.
_SPILL = """
import sys, time, elsewhere as ew
from elsewhere.engines.local import ordering
ordering._sorted = lambda *_: (print("begun", flush=True), time.sleep(3600))
ew.batch(ew.Policy("hide", sensitive=("clinic",)), sys.argv[1], sys.argv[2], memory=120 << 20, threads=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kills a process and what watches over it")
def test_nothing_raw_is_left_after_a_kill_of_all(tmp_path: Path) -> None:
    """Even if nobody is left to remove the folder of what did not fit into memory."""
    import duckdb

    names = "CASE WHEN i % 50 = 0 THEN 'clinic' ELSE 'place' || (i % 997) END"
    query = f"SELECT 'somebody ' || (i % 900000) AS \"user\", {names} AS location FROM range(6000000) t(i)"
    duckdb.execute(f"COPY ({query}) TO '{tmp_path}/in.parquet' (FORMAT parquet)")
    command = [sys.executable, "-c", _SPILL, str(tmp_path / "in.parquet"), str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            (spill,) = tmp_path.glob(".out-spill-*")
            _stop_without_names(process.pid, spill)
            links = [str(link.readlink()) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
            assert any(link.startswith(str(spill)) and link.endswith(".tmp (deleted)") for link in links), links
            sweepers = [int(at.parent.name) for at in Path("/proc").glob("[0-9]*/cmdline") if _sweeps(at, tmp_path)]
            assert sweepers
            kill(sweepers, signal.SIGKILL)
        finally:
            process.kill()
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "in.parquet"]
    for path in left:
        assert b"somebody" not in path.read_bytes() or path.name.startswith(("part-", "outcomes-"))
    assert spill.exists()
    assert ew.batch(HIDE, tmp_path / "in.parquet", tmp_path / "out")["users"] == 900000
    assert not spill.exists()


def _stop_without_names(process: int, spill: Path) -> None:
    """Stop the process at a moment when no file with rows has a name: it takes them away soon, but not at once."""
    end = time.monotonic() + 300
    while True:
        os.kill(process, signal.SIGSTOP)
        os.waitpid(process, os.WUNTRACED)  # until all of its threads have stopped
        if not any(file.stat().st_size for file in spill.iterdir()):
            return
        os.kill(process, signal.SIGCONT)
        assert time.monotonic() < end, "files with rows keep their names"
        time.sleep(0.05)


def _sweeps(path: Path, folder: Path) -> bool:
    try:
        return b"rmtree" in path.read_bytes() and str(folder).encode() in path.read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize(("least", "enough"), [(0.5, True), (0.99, False)])
def test_too_few_releases(tmp_path: Path, least: float, enough: bool) -> None:
    """What is written stays without its last mark, and the same call with a smaller share finishes it."""
    histograms = people(30) | {f"only {at}": {"clinic": 2} for at in range(5)}
    write(tmp_path / "in.parquet", histograms)
    given = (HIDE, tmp_path / "in.parquet", tmp_path / "out")
    if enough:
        ew.batch(*given, min_released=least)
    else:
        with pytest.raises(ew.TooFewReleased, match="of 35 users can have a release, and min_released is"):
            ew.batch(*given, min_released=least)
        assert not (tmp_path / "out" / "_SUCCESS").exists()
        ew.batch(*given)
    assert (tmp_path / "out" / "_SUCCESS").exists()
    assert released(tmp_path / "out") == expected(HIDE, histograms)
