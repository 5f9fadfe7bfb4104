"""The examples of every page print what the page says, and the README's two commands are those of the Makefile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: A block of Python, and the block that says what it prints; without one it prints nothing.
EXAMPLE = re.compile(r"^```python\n(.*?)^```$(?:\n\nprints\n\n^```\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
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


def test_the_readme_has_one() -> None:
    assert EXAMPLE.search(PAGES[0].read_text(encoding="utf-8"))


def test_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^make (\w+)", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
