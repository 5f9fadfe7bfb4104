"""The command line as its users call it: what is printed where, what is written, how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
import pytest

import elsewhere as ew
from elsewhere.cli import commands
from tests.support.command import HISTORY, TARGET, Run, rows, run, write_table

__all__ = ["run"]

pq: Any = import_module("pyarrow.parquet")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_hide_writes_what_python_gives(run: Run, ending: str) -> None:
    status, out, err = run("hide", "history.csv", "--sensitive", "casino", "--sensitive", "preset:health",
                           "-o", f"r.{ending}")  # fmt: skip
    expected = ew.hide(HISTORY, {"casino", "hospital"})
    assert status == 0
    assert rows(f"r.{ending}") == dict(expected.histogram)
    assert list(rows(f"r.{ending}")) == sorted(expected.histogram)
    assert "preset:health covers 1 location with 3 visits: hospital (3)" in err
    assert f"differs from your history by {expected.quality_loss:.4g} on a scale from 0 to 1" in err
    assert "hospital (sensitive)\t3\t0" in err
    assert "\x1b" not in err
    assert out == ""


@pytest.mark.parametrize("verb", ["resemble", "avoid"])
@pytest.mark.parametrize("method", ["optimal", "heuristic"])
def test_targets(run: Run, verb: str, method: str) -> None:
    asked = ("--target", "target.csv", "--max-quality-loss", "0.05", "--method", method, "--sensitive", "casino",
             "--allow-sensitive-rise")  # fmt: skip
    status, out, _ = run(verb, "history.csv", *asked, "-o", "-", "--quiet")
    expected = getattr(ew, verb)(HISTORY, TARGET, 0.05, method=method, sensitive={"casino"})
    assert status == 0
    assert out == "location,count\n" + "".join(f"{name},{count}\n" for name, count in expected.histogram.items())
    Path("release.csv").write_text(out, encoding="utf-8")
    status, out, err = run("verify", "history.csv", "release.csv", *asked[:4], *asked[6:])
    assert (status, out) == (0, "")
    assert "satisfies every constraint" in err


def test_verify_says_what_is_wrong(run: Run) -> None:
    write_table("bad.csv", {**HISTORY, "park": 13})
    status, out, err = run("verify", "history.csv", "bad.csv", "--sensitive", "casino")
    assert (status, out) == (1, "")
    assert "2 visits are left at the sensitive location 'casino'" in err
    assert "46 visits instead of 45" in err


def test_report_and_json_are_the_same_private_summary(run: Run) -> None:
    status, out, err = run("hide", "history.csv", "--sensitive", "casino", "--json", "--report", "report.json",
                           "-o", "release.csv")  # fmt: skip
    assert (status, err) == (0, "")
    assert Path("report.json").read_text("utf-8") == out
    assert Path("report.json").stat().st_mode & 0o077 == 0
    summary, expected = json.loads(out), ew.hide(HISTORY, {"casino"})
    assert "rivate" in summary["private"]
    assert summary["quality_loss"] == expected.quality_loss
    assert summary["sensitive"] == ["casino"]
    assert summary["status"] == "optimal"


def test_frontier(run: Run) -> None:
    status, _, err = run("frontier", "history.csv", "--target", "target.csv", "--suggest", "-o", "frontier.csv")
    table = list(csv.DictReader(io.StringIO(Path("frontier.csv").read_text("utf-8"))))
    budgets = [float(row["budget"]) for row in table]
    distances = [float(row["privacy_distance"]) for row in table]
    assert status == 0
    assert "A good choice is --max-quality-loss" in err
    assert budgets == sorted(budgets)
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.1 * distances[0]
    chosen = ew.resemble(HISTORY, TARGET, budgets[5])
    assert distances[5] == pytest.approx(chosen.privacy_distance)
    assert run("frontier", "history.csv", "--target", "target.csv", "--goal", "avoid", "-o", "f.html")[0] == 0
    assert "<svg" in Path("f.html").read_text("utf-8")
    assert run("frontier", "history.csv", "--target", "target.csv", "--sensitive", "gym", "-o", "g.csv")[0] == 0


FAILING: list[tuple[int, str, tuple[str, ...]]] = [
    (3, "covers no visit of your history; did you mean 'casino'?", ("hide", "history.csv", "--sensitive", "Casina")),
    (2, "'gymm' is not in the history; did you mean 'gym'?",
     ("hide", "history.csv", "--sensitive", "casino", "--sensitive", "gymm")),
    (2, "no preset 'helth'", ("hide", "history.csv", "--sensitive", "preset:helth")),
    (2, "none.csv", ("hide", "none.csv", "--sensitive", "casino")),
    (2, "'r.txt'; it must end in .csv", ("hide", "history.csv", "--sensitive", "casino", "-o", "r.txt")),
    (2, "p.bmp", ("hide", "history.csv", "--sensitive", "casino", "--plot", "p.bmp")),
    (2, "name sensitive places with --sensitive", ("hide", "history.csv")),
    (2, "which is also --target", ("avoid", "history.csv", "--target", "target.csv", "--max-quality-loss", "0.1",
                                      "-o", "target.csv")),
    (2, "both print to standard output", ("hide", "history.csv", "--sensitive", "casino", "--json", "-o", "-")),
    (2, "--report is '-'", ("hide", "history.csv", "--sensitive", "casino", "--report", "-")),
    (2, "is not writable", ("hide", "history.csv", "--sensitive", "casino", "--report", "no/report.json")),
    (2, "two bounds for 'gym'", ("hide", "history.csv", "--sensitive", "casino", "--lower", "gym=1", "--lower",
                                   "gym=2")),
    (2, "--name is '../evil'", ("profile", "learn", "history.csv", "--name", "../evil")),
    (2, "which is also HISTORY", ("hide", "history.csv", "--sensitive", "casino", "-o", "history.csv")),
    (2, "which is also --output", ("hide", "history.csv", "--sensitive", "casino", "--plot", "release.csv")),
    (2, "No such option", ("hide", "history.csv", "--sensitve", "casino")),
    (2, "resemble needs --target", ("resemble", "history.csv", "--max-quality-loss", "0.1")),
    (2, "resemble needs --max-quality-loss", ("resemble", "history.csv", "--target", "target.csv")),
    (2, "--aim='least-loss' needs --min-distance", ("avoid", "history.csv", "--target", "target.csv", "--aim",
                                                    "least-loss", "--max-quality-loss", "0.1")),
    (2, "cannot be combined with --aim least-loss", ("frontier", "history.csv", "--target", "target.csv", "--aim",
                                                     "least-loss", "--max-quality-loss", "0.1")),
    (2, "a free size needs --min-distance", ("avoid", "history.csv", "--target", "target.csv", "--add-only")),
    (2, "leave --max-quality-loss out", ("resemble", "history.csv", "--target", "target.csv", "--add-only",
                                         "--max-distance", "0.1", "--max-quality-loss", "0.1")),
    (2, "--size and --add-only both", ("resemble", "history.csv", "--target", "target.csv", "--add-only",
                                       "--max-distance", "0.1", "--size", "target")),
    (2, "--lower cannot be combined", ("resemble", "history.csv", "--target", "target.csv", "--add-only",
                                       "--max-distance", "0.1", "--lower", "gym=1")),
    (2, "--since cannot be combined with --add-only", ("resemble", "history.csv", "--target", "target.csv",
                                                       "--add-only", "--max-distance", "0.1", "--since", "target.csv")),
    (3, "cannot hide those at sensitive places: 'gym'", ("resemble", "history.csv", "--target", "target.csv",
                                                         "--add-only", "--max-distance", "0.1", "--sensitive", "gym")),
    (3, "no visit needs to be added", ("resemble", "history.csv", "--target", "target.csv", "--add-only",
                                   "--max-distance", "1")),
    (3, "no quality loss would meet it", ("resemble", "history.csv", "--target", "target.csv", "--max-distance", "0",
                                          "--upper", "gym=0")),
    (2, "neither a file nor a profile; did you mean 'tourist'?", ("avoid", "history.csv", "--target", "turist",
                                                                  "--max-quality-loss", "0.1")),
    (2, "--max-quality-loss is -1", ("avoid", "history.csv", "--target", "target.csv", "--max-quality-loss", "-1")),
    (2, "unknown distance 'kl'", ("hide", "history.csv", "--sensitive", "casino", "--quality", "kl")),
    (2, "'gym=many'", ("hide", "history.csv", "--sensitive", "casino", "--lower", "gym=1", "--lower", "gym=many")),
    (3, "above --max-distance 0.01", ("resemble", "history.csv", "--target", "target.csv", "--max-quality-loss", "0.01",
                                     "--max-distance", "0.01")),
    (3, "nowhere to move them; name --candidate", ("hide", "history.csv", "--sensitive", "*")),
    (3, "equals your history", ("avoid", "history.csv", "--target", "target.csv", "--max-quality-loss", "0")),
    (3, "covers no visit", ("hide", "history.csv", "--sensitive", "preset:politics", "--quiet")),
    (3, "(set --max-quality-loss ", ("resemble", "history.csv", "--target", "target.csv", "--max-quality-loss", "0.01",
                      "--sensitive", "gym")),
]  # fmt: skip


@pytest.mark.parametrize(("status", "named", "arguments"), FAILING, ids=[named for _, named, _ in FAILING])
def test_a_failure_is_one_sentence_and_leaves_the_release_as_it_was(
    run: Run, status: int, named: str, arguments: tuple[str, ...]
) -> None:
    Path("release.csv").write_text("as it was")
    before = sorted(Path().iterdir())
    output = () if "-o" in arguments or "learn" in arguments else ("-o", "release.csv")
    ended, out, err = run(*arguments, *output)
    assert (ended, out) == (status, "")
    assert named in err
    assert err.count("\n") == 1
    assert Path("release.csv").read_text() == "as it was"
    assert sorted(Path().iterdir()) == before


def test_the_needed_quality_loss_is_enough(run: Run) -> None:
    asked = ("resemble", "history.csv", "--target", "target.csv", "--max-distance", "0.01", "-o", "release.csv")
    _, _, err = run(*asked, "--max-quality-loss", "0.01")
    enough = err.rpartition("--max-quality-loss ")[2].split(")")[0]
    assert run(*asked, "--max-quality-loss", enough)[0] == 0
    assert rows("release.csv")


def test_a_saved_policy_gives_the_same_bytes(run: Run) -> None:
    Path("elsewhere").mkdir()
    Path("no.json").write_text(json.dumps({"park": 45}))
    asked = ("--target", "target.csv", "--max-quality-loss", "0.2", "--sensitive", "preset:gambling", "--spare", "gym",
             "--lower", "park=3", "--candidate", "=1+1", "--quality", "js", "--forbidden", "no.json")  # fmt: skip
    assert run("resemble", "history.csv", *asked, "-o", "a.csv", "--save-policy", "elsewhere/policy.toml")[0] == 0
    assert run("resemble", "history.csv", "--policy", "elsewhere/policy.toml", "-o", "b.csv")[0] == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert run("verify", "history.csv", "b.csv", "--policy", "elsewhere/policy.toml")[0] == 0
    os.chdir("elsewhere")
    assert run("resemble", "../history.csv", "--policy", "policy.toml", "-o", "c.csv")[0] == 0
    assert Path("c.csv").read_bytes() == Path("../a.csv").read_bytes()
    assert "is for resemble, not for hide" in run("hide", "../history.csv", "--policy", "policy.toml")[2]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('goal = "hide"\nsensitve = ["casino"]', "unknown key 'sensitve'; did you mean 'sensitive'?"),
        ('sensitive = ["casino"]', "the key 'goal' is missing"),
        ('goal = "forget"', "goal is 'forget'"),
        ('goal = "hide"\nsensitive = "casino"', "sensitive is 'casino'; it must be a list of strings"),
        ('goal = "hide"\nvisited_only = 1', "visited_only is 1"),
        ('goal = "hide"\nprivacy = "l2"', "privacy is for resemble and avoid, not for hide"),
        ('goal = "avoid"\ntarget = "t"\nmax_quality_loss = "much"', "max_quality_loss is 'much'"),
        ('goal = "avoid"\ntarget = "t"\nmax_quality_loss = 1\nmax_distance = 1', "max_distance is for resemble"),
        ('goal = "hide"\nlower = 3', "lower is 3; it must be a file or a table of counts"),
        ("goal = hide", "is not valid TOML"),
    ],
)
def test_a_broken_policy_is_named_by_its_key(run: Run, text: str, named: str) -> None:
    Path("policy.toml").write_text(text)
    status, _, err = run("hide", "history.csv", "--policy", "policy.toml", "-o", "release.csv")
    assert (status, err.count("\n")) == (2, 1)
    assert named in err
    assert not Path("release.csv").exists()


def test_a_taxonomy_of_ones_own(run: Run) -> None:
    Path("tree.txt").write_text("Leisure\n  Gambling\n    casino\n  gym\nTravel\n  train station\n")
    status, _, err = run("hide", "history.csv", "--taxonomy", "tree.txt", "--sensitive", "leisure", "-o", "r.csv")
    assert (status, set(rows("r.csv"))) == (0, {"café", "hospital", "park", "train station"})
    assert "leisure covers 2 locations with 15 visits: casino (2), gym (13)" in err
    status, out, _ = run("taxonomy", "show", "tree.txt", "--node", "Leisure", "--history", "history.csv")
    assert out.splitlines() == ["Leisure  0 [15]", "  Gambling  0 [2]", "    casino  2 [2]", "  gym  13 [13]"]
    assert "Betting shop" in run("taxonomy", "show", "--node", "preset:gambling")[1]
    assert "preset:health" in run("taxonomy", "presets")[1]
    assert "did you mean" in run("hide", "history.csv", "--taxonomy", "tree.txt", "--sensitive", "Liesure")[2]


def test_profiles_can_be_learned_and_used(run: Run) -> None:
    with Path("users.csv").open("w") as file:
        file.write("user,location,count\n" + "".join(f"u{at},gym,{at}\nu{at},park,1\n" for at in range(1, 4)))
    status, _, err = run("profile", "learn", "users.csv", "--name", "fit", "--visited", "gym")
    assert status == 0
    assert "Learned from 3 users" in err
    assert "can reveal a single person's history" in err
    assert "fit" in run("profile", "list")[1]
    assert "tourist" in run("profile", "list")[1]
    assert "Users: 3" in run("profile", "show", "fit")[1]
    assert run("resemble", "history.csv", "--target", "fit", "--max-quality-loss", "0.1", "-o", "r.csv")[0] == 0


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_plots(run: Run, ending: str) -> None:
    status, *_ = run("hide", "history.csv", "--sensitive", "casino", "--plot", f"p.{ending}", "-o", "r.csv")
    assert status == 0
    assert Path(f"p.{ending}").stat().st_size > 1000


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.TextIOWrapper(io.BytesIO(Path("history.csv").read_bytes()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", content)
    status, out, _ = run("hide", "-", "--sensitive", "casino", "-o", "-", "--quiet")
    assert (status, out.splitlines()[0]) == (0, "location,count")


def traces(folder: Path, spared: set[str]) -> list[str]:
    """Whatever a file of the folder tells of the sensitive names or of the original rows."""
    found = []
    for path in folder.rglob("*"):
        if path.name in spared or not path.is_file():
            continue
        content = path.read_bytes()
        if content.startswith(b"PAR1"):
            content += repr(pq.read_table(path).to_pydict()).encode() + repr(pq.read_metadata(path)).encode()
            content += repr(pq.ParquetFile(path).schema_arrow.metadata).encode()
        for name, count in HISTORY.items():
            if name in ("casino", "hospital") and name.encode() in content:
                found.append(f"{name} in {path.name}")
            if f"{name},{count}\n".encode() in content or f'"{name}", "count": {count}'.encode() in content:
                found.append(f"the row of {name} in {path.name}")
    return found


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_nothing_written_tells_what_was_hidden(run: Run, tmp_path: Path, ending: str) -> None:
    """Every count changes here, so that no original row may stand in the release."""
    sensitive = ("--sensitive", "casino", "--sensitive", "hospital", "--redistribute", "60")
    assert run("hide", "history.csv", *sensitive, "-o", f"release.{ending}")[0] == 0
    assert all(rows(f"release.{ending}")[name] != HISTORY[name] for name in rows(f"release.{ending}"))
    assert traces(tmp_path, {"history.csv", "target.csv"}) == []
    assert traces(tmp_path, {"target.csv"})  # the search does find the names where they are


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_killed_at_any_moment_nothing_is_left(run: Run, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "elsewhere", "hide", "history.csv", "--sensitive", "casino", "--sensitive",
               "hospital", "--redistribute", "60", "-o", "release.parquet"]  # fmt: skip
    begin = time.monotonic()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    whole, seconds = Path("release.parquet").read_bytes(), time.monotonic() - begin
    Path("release.parquet").unlink()
    for share in (0.5, 0.8, 0.9, 0.95, 1.0):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        time.sleep(share * seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        release = Path("release.parquet")
        assert not release.exists() or release.read_bytes() == whole
        assert traces(tmp_path, {"history.csv", "target.csv"}) == []


def test_every_help_has_an_example() -> None:
    waiting: list[tuple[click.Command, str]] = [(commands, "elsewhere")]
    seen = 0
    for command, path in waiting:
        if isinstance(command, click.Group):
            waiting += [(inner, f"{path} {name}") for name, inner in command.commands.items()]
        else:
            seen += 1
            assert f"\n  {path}" in cleandoc(command.help or ""), path  # Python 3.13 cleans it by itself
    assert seen == 19


def test_help_loads_nothing_that_takes_long() -> None:
    code = "import sys; from elsewhere.cli import commands; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numpy", "numba", "pyarrow", "rich", "sqlite3"}.intersection(loaded)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no full device")
def test_output_that_has_no_place_to_go(run: Run) -> None:
    command = f"{sys.executable} -m elsewhere"
    for line, status in (
        (f"{command} hide history.csv --sensitive casino -o - > /dev/full", 2),
        (f"{command} hide history.csv --sensitive casino -o r.csv >&-", 0),
        (f"set -o pipefail; {command} taxonomy show | head -1", 0),
    ):
        result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert (result.returncode, "Traceback" in result.stderr) == (status, False), result.stderr
    assert rows("r.csv")


def test_what_is_not_a_file_is_not_replaced(run: Run) -> None:
    os.mkfifo("pipe.csv")
    assert "not a file" in run("hide", "history.csv", "--sensitive", "casino", "-o", "pipe.csv")[2]
    assert Path("pipe.csv").is_fifo()
    Path("link.csv").symlink_to("real.csv")
    assert run("hide", "history.csv", "--sensitive", "casino", "-o", "link.csv")[0] == 0
    assert Path("link.csv").is_symlink()
    assert rows("real.csv")


@pytest.mark.parametrize("quality", ["js", "jeffreys", "variational", "l2", "squared-l2", "pearson", "neyman"])
@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_a_frontier_for_every_distance(run: Run, goal: str, quality: str) -> None:
    write_table("target.csv", {name: at + 1 for at, name in enumerate(HISTORY)})
    status, out, err = run("frontier", "history.csv", "--target", "target.csv", "--goal", goal, "--quality", quality)
    table = list(csv.DictReader(io.StringIO(out)))
    assert status == 0, err
    assert 2 <= len(table) <= 21
    assert len({row["privacy_distance"] for row in table}) > 1


def test_kinds_of_places_on_the_command_line(run: Run) -> None:
    write_table("places.csv", {"Ty's": 2, "a=b": 1, "gym": 3})
    asked = ("hide", "places.csv", "--sensitive", "preset:health", "--quiet")
    for kind, left in (("Ty's=amenity=hospital", "a=b,2\ngym,4\n"), ("a=b=Hospital", "Ty's,2\ngym,4\n")):
        status, out, _ = run(*asked, "--kind", kind)
        assert (status, out) == (0, f"location,count\n{left}")
    for wrong in (("--kind", "gym"), ("--kind", "gym=bar", "--kind", "gym=hospital")):
        status, _, err = run(*asked, *wrong)
        assert status == 2
        assert "--kind" in err


def test_just_enough(run: Run) -> None:
    """The smallest change that is close enough is released, checked, and drawn as a curve."""
    asked = ("history.csv", "--target", "target.csv", "--allow-mismatch", "--max-distance", "0.2")
    status, _, err = run("resemble", *asked, "-o", "release.csv", "--report", "report.json")
    best = ew.resemble(HISTORY, TARGET, max_distance=0.2)
    assert status == 0
    assert rows("release.csv") == dict(best.histogram)
    assert "Proven: no release that meets the privacy distance is closer to your history." in err
    status, _, err = run("verify", "history.csv", "release.csv", "--report", "report.json")
    assert status == 0
    assert "The certificate in the report holds" in err
    report = json.loads(Path("report.json").read_text())
    report["certificate"]["bound"] = report["bound"] = report["quality_loss"] + 0.01
    Path("report.json").write_text(json.dumps(report))
    assert run("verify", "history.csv", "release.csv", "--report", "report.json")[0] == 1
    ew.resemble(HISTORY, TARGET, 1.0).save("nearest.csv")
    status, _, err = run("verify", *asked[:1], "nearest.csv", *asked[1:])
    assert status == 0
    assert f"Valid, but not optimal: a release with a quality loss of {best.quality_loss:.4g} exists." in err
    status, out, err = run("frontier", *asked[:4], "--aim", "least-loss", "--budgets", "0.2,0.1", "--suggest")
    assert status == 0
    assert float(out.splitlines()[1].split(",")[1]) == best.quality_loss
    assert "A good choice is --max-distance" in err


def test_add_only(run: Run) -> None:
    """What to do is listed, and both the release and the claim that it takes no fewer visits are checked."""
    asked = ("history.csv", "--target", "target.csv", "--allow-mismatch", "--max-distance", "0.1", "--add-only")
    status, _, err = run("resemble", *asked, "-o", "release.csv", "--report", "report.json", "--save-policy", "p.toml")
    assert status == 0
    report = json.loads(Path("report.json").read_text())
    released = rows("release.csv")
    assert report["added"] == {name: count - HISTORY.get(name, 0) for name, count in released.items()
                               if count > HISTORY.get(name, 0)}  # fmt: skip
    assert all(released[name] >= count for name, count in HISTORY.items() if count)
    name, count = next(iter(report["added"].items()))
    assert f"- {count} more visit{'' if count == 1 else 's'} to {name}\n" in err
    assert "Proven: fewer added visits do not meet the distance" in err
    status, _, err = run("verify", "history.csv", "release.csv", "--report", "report.json")
    assert status == 0
    assert "No release with fewer added visits meets the privacy distance." in err
    assert run("verify", *asked[:1], "release.csv", *asked[1:])[0] == 0
    write_table("lost.csv", {**released, "train station": 7})
    assert "7 visits at 'train station'; 8 to" in run("verify", *asked[:1], "lost.csv", *asked[1:])[2]
    status, _, err = run("frontier", "history.csv", "--policy", "p.toml")
    assert (status, "the policy 'p.toml' only adds visits (size = 'free'), which has no frontier" in err) == (2, True)
    assert run("frontier", "history.csv", "--policy", "p.toml", "--size", "original", "--budgets", "0.1")[0] == 0
    status, _, err = run("resemble", *asked[:-3], "--max-distance", "0.3", "--add-only", "--sensitive", "museum")
    assert (status, "Removed" in err, "Added no visit to 1 sensitive place.\n" in err) == (0, False, True)
    Path("users.csv").write_text("user,location,count\nu,gym,3\n")
    status, _, err = run("batch", "p.toml", "users.csv", "-o", "folder")
    assert status == 2
    assert "a batch does not support it" in err
    assert not Path("folder").exists()
