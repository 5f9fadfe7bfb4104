"""Nothing slips through: what hides nothing, other spellings, what standard output holds, what is overwritten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import elsewhere as ew
from tests.support.command import HISTORY, Run, rows, run, write_table
from tests.support.exports import EXPORTS

__all__ = ["run"]

SPELLINGS = {"cafe": 7, "Clinic": 2, "clinic ": 1, "cli\u200bnic": 1, "gym": 3, "St. Mary's Church": 1, "church": 2}


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
@pytest.mark.parametrize(
    "asked",
    [
        ("hide", "--sensitive", "preset:politics"),
        ("hide", "--sensitive", "casion"),
        ("hide", "--sensitive", "*casion*"),
        ("hide", "--sensitive", "preset:politics", "--redistribute", "3"),
        ("avoid", "--target", "museums.csv", "--max-quality-loss", "0.1"),
        ("resemble", "--target", "history.csv", "--max-quality-loss", "0.1"),
    ],
)
def test_what_protects_nothing_is_no_release(run: Run, asked: tuple[str, ...], quiet: tuple[str, ...]) -> None:
    write_table("museums.csv", {"museum": 1})
    goal, *options = asked
    status, out, err = run(goal, "history.csv", *options, *quiet, "-o", "release.csv", "--report", "report.json")
    assert (status, out) == (3, "")
    assert "--allow-unchanged" in err.splitlines()[-1]
    assert not Path("release.csv").exists()
    assert not Path("report.json").exists()
    status, _, err = run(goal, "history.csv", *options, *quiet, "-o", "release.csv", "--allow-unchanged")
    assert status == 0
    assert ("Warning: nothing was hidden." in err) == (not quiet)
    assert Path("release.csv").exists()


def test_all_spellings_of_a_place_are_hidden(run: Run) -> None:
    write_table("spellings.csv", SPELLINGS)
    for name in ("clinic", "CLINIC", " clinic", "cl\u00adinic", "c*nic"):
        status, _, err = run("hide", "spellings.csv", "--sensitive", name, "-o", "release.csv")
        assert status == 0
        assert "Counted 3 spellings of 1 place together" in err
        assert not any("nic" in location for location in rows("release.csv"))
        assert run("verify", "spellings.csv", "release.csv", "--sensitive", name)[0] == 0
    # A release that somebody else made leaves a spelling in.
    write_table("leaky.csv", {"Clinic": 3, "St. Mary's Church": 1, "cafe": 8, "church": 2, "gym": 3})
    status, _, err = run("verify", "spellings.csv", "leaky.csv", "--sensitive", "clinic")
    assert (status, "3 visits are left at the sensitive location 'Clinic'" in err) == (1, True)


def test_names_and_patterns_wherever_a_place_is_named(run: Run) -> None:
    write_table("spellings.csv", SPELLINGS)
    hide = ("hide", "spellings.csv", "-o", "release.csv")
    assert run(*hide, "--sensitive", "*church*")[0] == 0
    assert set(rows("release.csv")) == {"cafe", "Clinic", "gym"}
    assert run(*hide, "--sensitive", "*", "--spare", "C*")[0] == 0
    assert set(rows("release.csv")) == {"cafe", "Clinic", "church"}
    assert run(*hide, "--sensitive", "gym", "--upper", "*c*=4", "--upper", "CAFE=8")[0] == 0
    assert rows("release.csv") == {"cafe": 8, "Clinic": 4, "church": 3, "St. Mary's Church": 2}
    assert run(*hide, "--sensitive", "gym", "--lower", "Church =5")[0] == 0
    assert rows("release.csv")["church"] == 5
    write_table("upper.csv", {"CAFE": 9, "GYM": 1})
    resemble = ("resemble", "spellings.csv", "--target", "upper.csv", "--max-quality-loss", "0.5", "-o", "release.csv")
    assert run(*resemble)[0] == 0
    assert {"cafe", "gym"} == set(rows("release.csv"))


def test_a_kind_needs_no_taxonomy(run: Run) -> None:
    shutil.copy(EXPORTS / "google_takeout_2023_MARCH.json", "takeout.json")
    status, _, err = run("hide", "takeout.json", "--sensitive", "church", "-o", "release.csv")
    assert (status, "church covers 1 location with 1 visit: St. Brendan Church (1)" in err) == (0, True)
    assert "St. Brendan Church" not in rows("release.csv")


def test_a_target_does_not_hide_a_kind(run: Run) -> None:
    write_table("history.csv", {"St. Mary Church": 2, "home": 9, "cafe": 4})
    write_table("target.csv", {"church": 1, "home": 3})
    resemble = ("resemble", "history.csv", "--target", "target.csv", "--max-quality-loss", "0.5")
    assert run(*resemble, "--sensitive", "church", "-o", "release.csv")[0] == 0
    assert not any("hurch" in name for name in rows("release.csv"))


@pytest.mark.parametrize("invisible", ["\u200b", "\u00ad", "\u2060"])
def test_presets_see_through_invisible_characters(run: Run, invisible: str) -> None:
    write_table("history.csv", {f"North Cli{invisible}nic": 2, "home": 9})
    assert run("hide", "history.csv", "--sensitive", "preset:health", "-o", "release.csv")[0] == 0
    assert rows("release.csv") == {"home": 11}


def test_standard_output_is_the_release(run: Run) -> None:
    status, out, err = run("hide", "history.csv", "--sensitive", "casino")
    expected = ew.hide(HISTORY, {"casino"}).histogram
    assert status == 0
    assert out == "location,count\n" + "".join(f"{location},{count}\n" for location, count in expected.items())
    assert "casino (sensitive)" in err
    assert run("hide", "history.csv", "--sensitive", "casino", "-o", "-", "--quiet")[1:] == (out, "")
    status, summary, err = run("hide", "history.csv", "--sensitive", "casino", "--json")
    assert (status, json.loads(summary)["sensitive"]) == (0, ["casino"])
    assert "No release was written" in err


def test_files_of_an_export_are_not_overwritten(run: Run) -> None:
    shutil.copytree(EXPORTS / "swarm_export", "export")
    (Path("export") / "photo.csv").write_text("not a release")
    os.link("history.csv", "linked.csv")
    before = {path.name: path.read_bytes() for path in Path("export").iterdir()}
    for history, output in (
        ("export", "export/checkins1.json"),
        ("export", "export/photo.csv"),
        ("history.csv", "linked.csv"),
    ):
        name = "casino" if history == "history.csv" else "preset:health"
        status, _, err = run("hide", history, "--sensitive", name, "-o", output)
        assert (status, "which is a file of HISTORY" in err) == (2, True)
    assert {path.name: path.read_bytes() for path in Path("export").iterdir()} == before
    for _ in range(2):  # a release beside them may be replaced
        assert run("hide", "export", "--sensitive", "preset:health", "-o", "export/release.csv")[0] == 0


def test_a_release_keeps_its_mode(run: Run) -> None:
    Path("release.csv").write_text("as it was")
    Path("release.csv").chmod(0o640)
    assert run("hide", "history.csv", "--sensitive", "casino", "-o", "release.csv")[0] == 0
    assert Path("release.csv").stat().st_mode & 0o777 == 0o640


def test_a_terminal_that_knows_few_letters(run: Run) -> None:
    code = "import sys; from elsewhere.cli.view import _show_bars; import elsewhere as ew; "
    code += "_show_bars(ew.hide({'café': 7, 'gym': 2}, {'gym'}).changes(), sys.stdout)"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:backslashreplace"}
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment).stdout
    assert b"caf\\xe9" in shown
    assert b"####" in shown
    command = [sys.executable, "-m", "elsewhere", "taxonomy", "show", "--history", "history.csv"]
    done = subprocess.run(command, check=False, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_names_cannot_write_to_the_terminal(run: Run) -> None:
    write_table("evil.csv", {"caf\x1b[31me": 7, "gym\x07": 2, "\u202espa": 3})
    for command in (("hide", "evil.csv", "--sensitive", "gym", "-o", "r.csv"),
                    ("hide", "evil.csv", "--sensitive", "*", "-o", "r.csv"),
                    ("taxonomy", "show", "--history", "evil.csv")):  # fmt: skip
        _, out, err = run(*command)
        assert not {"\x1b", "\x07", "\u202e"}.intersection(out + err)


def test_a_report_is_checked(run: Run) -> None:
    for goal, options in (("hide", ("--sensitive", "casino")),
                          ("resemble", ("--target", "target.csv", "--max-quality-loss", "0.1"))):  # fmt: skip
        assert run(goal, "history.csv", *options, "-o", "release.csv", "--report", "report.json")[0] == 0
        status, _, err = run("verify", "history.csv", "release.csv", "--report", "report.json")
        assert (status, "The certificate in the report holds" in err) == (0, True)
        report = json.loads(Path("report.json").read_text("utf-8"))
        report["certificate"]["bound"] += 0.01
        Path("report.json").write_text(json.dumps(report))
        status, _, err = run("verify", "history.csv", "release.csv", "--report", "report.json")
        assert (status, "the certificate proves" in err) == (1, True)


@pytest.mark.parametrize(
    "change",
    [
        {"policy": 5},
        {"certificate": {"quality_multiplier": "a", "size_multiplier": {}, "bound": None}},
        {"certificate": 3},
        {"quality_loss": 10**400},
        {"quality_loss": "much"},
        {"goal": 7},
        {"status": "perfect"},
    ],
)
def test_a_report_that_makes_no_sense(run: Run, change: dict[str, object]) -> None:
    run("hide", "history.csv", "--sensitive", "casino", "-o", "release.csv", "--report", "report.json")
    report = json.loads(Path("report.json").read_text("utf-8")) | change
    Path("report.json").write_text(json.dumps(report))
    status, _, err = run("verify", "history.csv", "release.csv", "--report", "report.json")
    assert status in (1, 2)
    assert "Traceback" not in err


def test_a_better_release_is_named(run: Run) -> None:
    worse = "location,count\ncafé,9\ngym,13\nhospital,3\npark,12\ntrain station,8\n"
    Path("worse.csv").write_text(worse, encoding="utf-8", newline="\n")
    status, _, err = run("verify", "history.csv", "worse.csv", "--sensitive", "casino")
    best = f"a release with a quality loss of {ew.hide(HISTORY, {'casino'}).quality_loss:.4g} exists"
    assert (status, f"Valid, but not optimal: {best}." in err) == (0, True)
