"""A command as its users call it, in a folder with a history and a target."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from elsewhere.cli import main

HISTORY = {"café": 7, "casino": 2, "gym": 13, "hospital": 3, "park": 12, "train station": 8}
TARGET = {"café": 1.5, "gym": 2, "museum": 3, "park": 0.5}
Run = Callable[..., tuple[int, str, str]]
pq: Any = import_module("pyarrow.parquet")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder with a history and a target; its status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELSEWHERE_PROFILES", str(tmp_path / "profiles"))
    write_table("history.csv", HISTORY)
    write_table("target.csv", TARGET)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def write_table(path: str, counts: Mapping[str, float]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("location", "count"), *counts.items()])


def rows(path: str) -> dict[str, int]:
    content = Path(path)
    if content.suffix == ".csv":
        return {row["location"]: int(row["count"]) for row in csv.DictReader(io.StringIO(content.read_text("utf-8")))}
    if content.suffix == ".json":
        return {row["location"]: row["count"] for row in json.loads(content.read_text("utf-8"))}
    return dict(zip(*pq.read_table(content).to_pydict().values(), strict=True))
