"""The examples of every page print what the page says, and the README's two commands are those of the Makefile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.exports import firefox

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: A block of Python, and the block that says what it prints; without one it prints nothing.
EXAMPLE = re.compile(r"^```python\n(.*?)^```$(?:\n\nprints\n\n^```\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
#: Commands, each behind a dollar sign, and what they print. A line of three dots stands for any lines.
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: A file that the reader saves before the next command; the caption is its name.
FILE = re.compile(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BETWEEN = "-- the next example --\n"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if EXAMPLE.search(page.read_text("utf-8"))], ids=lambda p: p.name
)
def test_examples(page: Path, tmp_path: Path) -> None:
    """One after the other, as a reader would run them."""
    examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    code = f"print({BETWEEN!r}, end='')\n".join(block for block, _ in examples)
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "ELSEWHERE_PROFILES": str(tmp_path)},
    )
    assert result.stderr == ""
    assert result.stdout.split(BETWEEN) == [printed for _, printed in examples]
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="runs a shell")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if CONSOLE.search(page.read_text("utf-8"))], ids=lambda p: p.name
)
def test_commands(page: Path, tmp_path: Path) -> None:
    """What stands below each command is what it prints, in a folder with a made-up file of every kind."""
    for fixtures in ("exports", "tracks"):
        shutil.copytree(ROOT / "tests" / "fixtures" / fixtures, tmp_path, dirs_exist_ok=True)
    firefox(tmp_path / "places.sqlite").close()
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, arguments in {"elsewhere": "-m elsewhere", "python": ""}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        (commands / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1",
                   "PYTHONIOENCODING": "utf-8", "ELSEWHERE_PROFILES": str(tmp_path)}  # fmt: skip
    text = page.read_text(encoding="utf-8")
    for block in sorted([*FILE.finditer(text), *CONSOLE.finditer(text)], key=lambda found: found.start()):
        if block.re is FILE:
            (tmp_path / block[1]).write_text(block[2], encoding="utf-8")
            continue
        for line, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block[1], re.MULTILINE):
            result = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, check=False, encoding="utf-8",
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
            wanted = re.escape(printed).replace(re.escape("...\n"), r"(?:.*\n)*")
            assert re.fullmatch(wanted, result.stdout), (line, result.stdout)


def test_the_readme_has_one() -> None:
    assert EXAMPLE.search(PAGES[0].read_text(encoding="utf-8"))


def test_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^make (\w+)", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
