"""What a program sees of the package: names, types, and a documentation that leaves no parameter out."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew

_MODULES = (ew, ew.evaluation, ew.paper, ew.profiles)
#: What a strict type checker is to accept, and what not.
_CONSUMER = """
from collections import Counter
import numpy as np
import pandas as pd
import elsewhere as ew

ew.hide({"a": 1, "b": 2}, {"a"})
ew.hide(Counter("ab"), {"a"}, quality=lambda r, x: abs(r - x))
ew.hide(pd.Series({"a": 1, "b": 2}), {"a"})
ew.hide([("a", 1), ("b", np.int64(2))], {"a"})
ew.hide(ew.read("history.csv"), {"a"}).save("release.csv")
ew.resemble({"a": 1}, ew.Profile({"a": 0.5, "b": 0.5}), max_quality_loss=0.1)
ew.Histogram.from_visits(pd.Series(["a"]))
ew.Histogram.from_frame(pd.DataFrame({"place": ["a"], "n": [1]}), location="place", count="n")
ew.Policy("hide", sensitive=("a",)).plan().question({"a": 1})
ew.profiles.learn({"ann": {"a": 1}})
refused: list[object] = [
    ew.hide(42, {"a"}),
    ew.hide("ab", {"a"}),
    ew.hide(None, {"a"}),
    ew.resemble({"a": 1}, 0.5, max_quality_loss=0.1),
]
"""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions, and the public methods of public classes."""
    for module in _MODULES:
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member):
                for method, function in vars(member).items():
                    plain = function.__func__ if isinstance(function, classmethod | staticmethod) else function
                    if inspect.isfunction(plain) and not method.startswith("_"):
                        yield f"{member.__name__}.{method}", plain
            elif inspect.isfunction(member):
                yield f"{module.__name__}.{name}", member


@pytest.mark.parametrize(("name", "function"), [pytest.param(*it, id=it[0]) for it in functions()])
def test_every_parameter_is_documented(name: str, function: Callable[..., Any]) -> None:
    doc = inspect.getdoc(function) or ""
    assert doc, f"{name} has no docstring"
    parameters = [it for it in inspect.signature(function).parameters if it not in ("self", "cls")]
    listed = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", doc, re.DOTALL | re.MULTILINE)
    known = re.findall(r"^(\w[\w, ]*)$", listed[1], re.MULTILINE) if listed else []
    documented = {it.strip() for line in known for it in line.split(",")}
    assert documented <= {*parameters} or not parameters
    # A method with one or two parameters may say in its text what they are.
    missing = [it for it in parameters if it not in documented and not (len(parameters) <= 2 and f"`{it}`" in doc)]
    assert not missing, f"{name} does not say what {missing} are"


def test_all_names_are_there() -> None:
    for module in _MODULES:
        assert sorted(module.__all__) == list(module.__all__)
        assert {*module.__all__} <= {*dir(module)}
        for name in module.__all__:
            getattr(module, name)


@pytest.mark.slow
def test_a_strict_type_checker_refuses_what_is_no_histogram(tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text(_CONSUMER)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", "cache", "consumer.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    wrong = {int(line) for line in re.findall(r"^consumer\.py:(\d+): error", found, re.MULTILINE)}
    lines = _CONSUMER.splitlines()
    assert {lines[at - 1].strip() for at in wrong} == {line.strip() for line in lines[lines.index("]") - 4 : -1]}, found


def test_visits_and_frames() -> None:
    pandas = pytest.importorskip("pandas")
    visits = ["cafe", "gym", "cafe"]
    for given in (visits, pandas.Series(visits)):
        assert dict(ew.Histogram.from_visits(given)) == {"cafe": 2, "gym": 1}
    frame = pandas.DataFrame({"place": [*visits, "Cafe"], "n": [2, 2, 3, 4]})
    assert dict(ew.Histogram.from_frame(frame, location="place")) == {"cafe": 3, "gym": 1}
    assert dict(ew.Histogram.from_frame(frame, location="place", count="n")) == {"cafe": 9, "gym": 2}
    odd: list[Any] = ["cafe", None]
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: ew.Histogram.from_visits("cafe"), "'cafe'"),
        (lambda: ew.Histogram.from_visits(odd), "None"),
        (lambda: ew.Histogram.from_frame(frame, "plaza"), "no column 'plaza'; it has 'place', 'n'"),
        (lambda: ew.Histogram.from_frame(frame.assign(n=0.5), "place", "n"), "count 0.5"),
    ]
    for call, named in wrong:
        with pytest.raises(ew.InputError, match=re.escape(named)):
            call()


def test_a_history_can_be_asked_about(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("location,count\ncafe,7\ngym,2\n")
    history = ew.read(tmp_path / "history.csv")
    result = ew.hide(history, {"gym"})
    assert dict(result.histogram) == {"cafe": 9}
    assert ew.verify(history, result, sensitive={"gym"}).ok
    result.save(tmp_path / "release.csv")
    assert (tmp_path / "release.csv").read_text() == "location,count\ncafe,9\n"


def test_what_protects_nothing_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    history = {"cafe": 7, "gym": 2}
    nothing = ew.hide(history, ew.Taxonomy.shipped().select(["preset:health"]))
    more = ew.hide(history, (), redistribute=3)
    same = ew.avoid(history, {"museum": 1}, max_quality_loss=0.1)
    for result in (nothing, more, same):
        assert result.unchanged
        with pytest.raises(ew.Unchanged):
            result.save(path)
        assert not path.exists()
        result.save(path, allow_unchanged=True)
        path.unlink()
    assert not ew.hide(history, {"gym"}).unchanged
