"""The scripts and notebooks of examples/ print what is stored with them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.*") if path.suffix in (".py", ".sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts(script: Path, tmp_path: Path) -> None:
    if script.suffix == ".sh" and os.name != "posix":
        pytest.skip("runs a shell")
    command = tmp_path / "elsewhere"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m elsewhere "$@"\n')
    command.chmod(0o755)
    result = subprocess.run(
        [sys.executable if script.suffix == ".py" else "sh", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"},
    )
    assert result.stdout == script.with_suffix(".out").read_text(encoding="utf-8")


def test_a_persons_year() -> None:
    _rerun(EXAMPLES / "a_persons_year.ipynb")


@pytest.mark.slow
@pytest.mark.skipif("ELSEWHERE_DATA" not in os.environ, reason="ELSEWHERE_DATA names no folder with the two sets")
def test_two_real_sets() -> None:
    _rerun(EXAMPLES / "two_real_sets.ipynb")


def test_the_real_sets_show_no_users() -> None:
    """Only totals, means and medians: no table has a column of users, or so many rows that they could be users."""
    notebook = _read(EXAMPLES / "two_real_sets.ipynb")
    texts = [text for cell in notebook.cells for text in _shown(cell)]
    assert texts
    assert not [text for text in texts if re.search(r"<th>user(_id)?</th>", text) or text.count("<tr") > 20]


def _rerun(path: Path) -> None:
    """Run a notebook again: every text and table is the stored one. Pictures are not compared."""
    from nbclient import NotebookClient

    stored, again = _read(path), _read(path)
    with warnings.catch_warnings(), _private_sockets() as config:
        warnings.simplefilter("ignore")  # of the kernel's own libraries
        client = NotebookClient(again, timeout=1800, startup_timeout=600, kernel_name="python3", config=config)
        client.execute()
    for was, now in zip(stored.cells, again.cells, strict=True):
        assert _shown(now) == _shown(was), was["source"]


@contextmanager
def _private_sockets() -> Iterator[Any]:
    """The configuration of a kernel that listens at files, where that is possible: others could take its ports."""
    config = import_module("traitlets.config").Config
    if os.name == "posix":
        with TemporaryDirectory(dir="/tmp") as folder:  # the path of a socket must be short
            yield config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
    else:
        yield config()


def _read(path: Path) -> Any:
    nbformat: Any = import_module("nbformat")
    return nbformat.read(path, as_version=4)


def _shown(cell: Any) -> list[str]:
    """What a reader sees below a cell, without pictures. What is printed may arrive in pieces, so these are joined."""
    shown: list[str] = []
    printed = False
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            continue
        text = output["text"] if "text" in output else _best(output["data"])
        if printed and "text" in output:
            shown[-1] += text
        else:
            shown.append(text)
        printed = "text" in output
    return shown


def _best(data: Any) -> str:
    return str(data.get("text/html", data.get("text/plain")))
