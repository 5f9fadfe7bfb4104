"""How it starts: a light import, kernels from the disk cache, a read-only installation, the command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import elsewhere
from tests.support.installation import bare_installation

_COMPILE = "from elsewhere.kernels.first_answers import compile_at_once; compile_at_once()"
_SOLVE = f"{_COMPILE}; import elsewhere as ew; print(dict(ew.hide(dict(a=3, b=1), ['b']).histogram))"


#: Every command, and what it says on standard error where it needs an extra.
_COMMANDS = {
    "hide h.csv --sensitive clinic -o r.csv": "Removed 2 visits to 1 sensitive place.",
    "hide h.csv --sensitive clinic -o r.parquet": "pip install 'elsewhere[parquet]'",
    "hide h.json --sensitive clinic -o r.json": "Proven: no release within these limits is better.",
    "look h.csv": "",
    "verify h.csv r.csv --sensitive clinic": "The release satisfies every constraint.",
    "resemble h.csv --target tourist --max-quality-loss 0.1 -o r.csv": "Proven:",
    "avoid h.csv --target other.csv --max-quality-loss 0.1 -o r.csv": "Proven:",
    "frontier h.csv --target tourist -o f.csv": "",
    "frontier h.csv --target tourist -o f.png": "pip install 'elsewhere[plot]'",
    "hide h.csv --sensitive clinic --plot p.png -o r.csv": "pip install 'elsewhere[plot]'",
    "app": "pip install 'elsewhere[app]'",
    "profile list": "Your own profiles are in",
    "profile show tourist": "",
    "profile learn u.csv --name x -o x.toml": "Learned from 2 users",
    "taxonomy show": "",
    "taxonomy presets": "",
    "batch policy.toml u.csv -o releases": "pip install 'elsewhere[batch]'",
    "batch shared.toml u.csv -o releases": "pip install 'elsewhere[batch]'",
    "batch policy.toml u.csv -o releases --engine spark": "pip install 'elsewhere[spark]'",
    "evaluate u.csv u.csv": "pip install 'elsewhere[evaluate]'",
    "audit u.csv --sensitive clinic": "pip install 'elsewhere[audit]'",
    "reproduce --quick -o report": "pip install 'elsewhere[reproduce]'",
    "demo": "",
}


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )


def test_import_is_light() -> None:
    heavy = {"numba", "scipy", "pandas", "pyarrow", "sqlite3", "click", "rich", "matplotlib"}
    loaded = run("import sys, elsewhere; print(*sys.modules)").stdout.split()
    assert not heavy.intersection(loaded)


def test_only_the_first_process_compiles(tmp_path: Path) -> None:
    """A later process does not even load what Numba needs for compiling, such as its dictionaries."""
    count = f"{_SOLVE}; from elsewhere.solvers import terms; print(len(terms.allocate.compiled.stats.cache_misses))"
    asked = f"{count}; import sys; print('numba.typed.dictimpl' in sys.modules)"
    found = [run(asked, NUMBA_CACHE_DIR=str(tmp_path)).stdout.splitlines()[-2:] for _ in range(2)]
    assert found == [["1", "True"], ["0", "False"]]


def test_silence_when_not_at_a_terminal(tmp_path: Path) -> None:
    result = run(_SOLVE, NUMBA_CACHE_DIR=str(tmp_path))
    assert result.stdout == "{'a': 4}\n"
    assert result.stderr == ""
    assert list(tmp_path.rglob("*.nbc"))


@pytest.mark.skipif(os.name != "posix", reason="takes permissions away")
def test_read_only_installation_with_a_read_only_home(tmp_path: Path) -> None:
    """Nothing can be cached; it works all the same. Root may write anywhere, so the cache folder is a file."""
    package = Path(elsewhere.__file__).parent
    installed = tmp_path / "site" / "elsewhere"
    shutil.copytree(package, installed, ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "home"
    home.write_text("not a folder")
    for folder in [installed, *installed.rglob("*/")]:
        (folder / "__pycache__").write_text("not a folder")
    environment = {"PYTHONPATH": str(installed.parent), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    result = run("import elsewhere; print(elsewhere.__file__); " + _SOLVE, **environment, PYTHONDONTWRITEBYTECODE="1")
    assert result.stdout.splitlines() == [str(installed / "__init__.py"), "{'a': 4}"]


def test_demo() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "elsewhere", "demo"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert "Alice" in result.stdout
    assert "differs from your history by 0.1204 on a scale from 0 to 1" in result.stdout
    assert "distance from the target is 0.004598 on a scale from 0 to 1" in result.stdout
    assert "no problems found" in result.stdout
    assert "█" in result.stdout


def test_no_question_compiles_a_kernel_anew() -> None:
    """Every kernel has one signature, whatever is asked: nobody waits for a compiler in the middle of the work."""
    asked = """
import elsewhere as ew
from elsewhere.kernels.first_answers import compile_at_once
from elsewhere.solvers import dual, frontier, greedy, groups, labels, one_call, smooth_search, terms, tree_labels
compile_at_once()
h, t = {"a": 7, "b": 2, "c": 3}, {"a": 3, "d": 4}
ew.hide(h, {"c"}), ew.hide({f"{at:04d}": at % 7 for at in range(3000)}, ["0001"], "variational")
ew.resemble(h, t, 0.05), ew.avoid(h, h, 0.05), ew.resemble(h, h, 0.05, forbidden=[h]), ew.frontier(h, t, [0.1, 0.2])
ew.avoid(h, t, 0.05, method="heuristic"), ew.avoid(h, t, 0.9, size="target", method="heuristic")
ew.resemble(h, t, 20, sensitive=["a"], quality="l2"), ew.avoid(h, t, 0.05, privacy="jeffreys")
ew.avoid(h, h, 0.9, memory_limit=200), ew.resemble(h, t, 0.9, memory_limit=200)
ew.resemble(h, ew.Profile(t), 9, quality=lambda r, x: abs(r - x), lower={"a": 2}, method="heuristic")
try:
    ew.resemble(h, t, 0.05, max_distance=0.01)
except ew.PrivacyNotMet:
    pass
tax = ew.Taxonomy.parse("kinds.txt", b"Food\\n  a\\n  b\\nArts\\n  c\\n")
ew.hide(h, {"c"}, taxonomy=tax), ew.hide(h, {"c"}, "neyman", forbidden=[{"a": 9, "b": 3}], taxonomy=tax)
ew.resemble(h, t, 0.05, taxonomy=tax), ew.avoid(h, h, 0.05, taxonomy=tax), ew.avoid(h, t, 9, "l2", taxonomy=tax)
ew.resemble(h, t, 0.05, privacy=ew.TreeDistance("js", tax), forbidden=[h], candidates=["d"])
ew.resemble(h, t, 0.05, taxonomy=tax, method="heuristic"), ew.resemble(h, t, 0.9, taxonomy=tax, memory_limit=4000)
smoothed = ew.SmoothedJS.over(tax)
ew.hide(h, {"c"}, smoothed), ew.resemble(h, t, 0.05, smoothed, smoothed), ew.resemble(h, t, 0.2, privacy=smoothed)
entries = [terms.allocate, groups.group, terms.ranges, terms.fill, terms.total, terms.least_reduced,
           dual.maximise, labels.reduced_costs,
           labels.select, labels.complete, labels.advance, labels.trace, greedy.climb, terms.give,
           tree_labels.tighten, tree_labels.totals, tree_labels.inside, tree_labels.outside, tree_labels.trace,
           tree_labels.sharpen, tree_labels.advance, tree_labels.chosen_counts,
           smooth_search.table, smooth_search.descend, one_call._answer, frontier._answer]
print([len(entry.compiled.signatures) for entry in entries])
"""
    assert run(asked).stdout == f"{[1] * 26}\n"


@pytest.mark.slow
def test_every_command_on_a_bare_installation(tmp_path: Path) -> None:
    """The wheel with what it depends on, and none of the extras: a command works, or names the extra that it needs."""
    python = bare_installation(tmp_path / "bare")
    home = tmp_path / "home"
    home.mkdir()
    (home / "h.csv").write_text("location,count\ncafe,7\nclinic,2\ngym,3\n")
    (home / "h.json").write_text('[{"location": "cafe", "count": 7}, {"location": "clinic", "count": 2}]')
    (home / "other.csv").write_text("location,count\ngym,3\n")
    (home / "u.csv").write_text("user,location,count\nann,cafe,7\nann,clinic,2\nbob,gym,3\n")
    (home / "policy.toml").write_text('goal = "hide"\nsensitive = ["clinic"]\n')
    (home / "shared.toml").write_text(
        'goal = "hide"\nsensitive = ["clinic"]\nmax_quality_loss = 0.2\nmechanism = "shared"\n'
    )
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    for command, said in _COMMANDS.items():
        done = subprocess.run(
            [python, "-m", "elsewhere", *shlex.split(command)], cwd=home, capture_output=True, text=True, check=False,
            env={**known, "HOME": str(home)},
        )  # fmt: skip
        assert said in done.stderr, (command, done.stderr)
        assert done.returncode == (2 if "pip install" in said else 0), (command, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_batch_of_text_leaves_out_libraries_that_nothing_needs(tmp_path: Path) -> None:
    unused = ("cffi", "coverage", "pandas", "scipy")
    for name in unused:
        pytest.importorskip(name)
    places = ("café", "clinic", "gym")
    rows = "".join(f"user {user},{place},{2 + user % 3}\n" for user in range(500) for place in places)
    (tmp_path / "in.csv").write_text("user,location,count\n" + 2 * rows, encoding="utf-8")
    (tmp_path / "policy.toml").write_text('goal = "hide"\nsensitive = ["clinic"]\n')
    code = (
        f"import atexit, sys; from elsewhere.cli import main\nfrom elsewhere.engines.local import grouping\n"
        f"def said(): print('numba' in sys.modules, sorted({{*{unused}}} & {{*sys.modules}})); import scipy, pandas\n"
        f"atexit.register(said); grouping.FEW_ROWS = 0; main()"
    )
    command = [sys.executable, "-c", code, "batch", "policy.toml", "in.csv", "-o", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True []\n"), done.stderr
    assert done.stderr.splitlines()[0] == "500 of 500 users have a release in out."
