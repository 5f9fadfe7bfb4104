"""Pictures show the result's own numbers, whatever the locations are called, and leave nothing else behind."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import elsewhere as ew

HISTORY = {"cafe": 7, "gym": 2, "clinic": 5, "home": 21, "park": 4}
TARGET = {"cafe": 20.5, "museum": 3, "home": 1}
UNUSUAL = {
    "costs $5 to $6": 5,
    "_private": 3,
    "مستشفى المدينة": 8,
    "👩‍⚕️ 東京駅": 3,
    "<b onclick='x'>": 2,
    "two\nlines\x07": 2,
    "turned \u202e": 2,
    "\ud800": 1,
    "": 1,
    "long " * 50: 4,
    "\N{CIRCLED LATIN CAPITAL LETTER W}" * 40: 4,
}


def many() -> ew.Sanitized:
    history = {f"place {at:03d}": at % 9 + 1 for at in range(150)}
    return ew.resemble(history, {"place 008": 1, "place 017": 1}, 0.05, sensitive=["place 000"])


def series(figure: Figure) -> list[list[Rectangle]]:
    return [[bar for bar in bars if isinstance(bar, Rectangle)] for bars in figure.axes[0].containers]


def drawn(figure: Figure) -> dict[str, tuple[float, ...]]:
    """The lengths of the bars of each row, by its label."""
    axes = figure.axes[0]
    lengths = [[bar.get_width() for bar in bars] for bars in series(figure)]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    return dict(zip(labels, zip(*lengths, strict=True), strict=True))


def test_bars_are_the_numbers_of_the_result() -> None:
    hidden = ew.hide(HISTORY, {"clinic"})
    expected = {name: (HISTORY[name], hidden.histogram[name]) for name in HISTORY if name != "clinic"}
    assert drawn(hidden.plot()) == expected | {"clinic (sensitive)": (5, 0)}
    resembling = ew.resemble(HISTORY, TARGET, 0.05)
    scale = sum(HISTORY.values()) / sum(TARGET.values())
    for name, (before, after, target) in drawn(resembling.plot()).items():
        assert (before, after) == (HISTORY.get(name, 0), resembling.histogram[name])
        assert target == pytest.approx(TARGET.get(name, 0) * scale)


def test_sensitive_bars_are_told_apart_without_colour() -> None:
    figure = ew.hide(HISTORY, {"clinic", "gym"}).plot()
    hatched = [label for label, bar in zip(drawn(figure), series(figure)[0], strict=True) if bar.get_hatch()]
    assert hatched == ["clinic (sensitive)", "gym (sensitive)"]


def test_many_locations_are_folded_after_the_largest_changes() -> None:
    result = many()
    figure = result.plot()
    rows = drawn(figure)
    changes = [abs(after - before) for before, after, _ in rows.values()]
    assert changes == sorted(changes, reverse=True)
    assert len(rows) == 25
    assert "place 000 (sensitive)" in rows
    problem = result.question.problem
    rest = [
        abs(result.histogram[name] - before)
        for name, before in zip(problem.locations, problem.original.tolist(), strict=True)
        if name not in rows and f"{name} (sensitive)" not in rows
    ]
    folded = f"and 125 more locations, which changed by at most {max(rest)}"
    assert folded in [text.get_text().strip() for text in figure.axes[0].texts]
    assert folded in (result._repr_html_() or "")


def test_text_stays_on_the_sheet() -> None:
    """Nothing is cut off at an edge, however long the names and numbers are."""
    figures = [many().plot(), ew.hide({**UNUSUAL, "home": 2**60}, {"_private"}).plot(), frontier().plot()]
    for figure in figures:
        extent = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert extent.x0 >= 0
        assert extent.y0 >= 0
        assert extent.x1 <= width
        assert extent.y1 <= height


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_unusual_names_make_no_warning_and_the_same_bytes_twice(ending: str, tmp_path: Path) -> None:
    result = ew.hide(UNUSUAL, {"_private", "two\nlines\x07"})
    first, second = tmp_path / f"first.{ending}", tmp_path / f"second.{ending}"
    figure = result.plot(first)
    assert not any(label.get_parse_math() for label in figure.axes[0].get_yticklabels())
    with matplotlib.rc_context({"font.size": 30, "savefig.bbox": "tight", "text.color": "red"}):
        result.plot(str(second))
        assert matplotlib.rcParams["font.size"] == 30
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_mode & 0o077 == 0
    assert not re.search(rb"Date|Matplotlib v|Creator", first.read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


def test_page_is_whole_in_itself_and_has_every_number(tmp_path: Path) -> None:
    result = many()
    result.plot(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|https?:|url\((?!#)|src=|@import", page)
    # Text in the colour of the page can be read on a dark one, too; what is left are the bars.
    assert set(re.findall(r"(?:fill|stroke): (#\w+)", page)) <= {"#56b4e9", "#0072b2", "#e69f00", "#d55e00", "#ffffff"}
    rows = re.findall(r'<tr><th scope="row".*?<bdi>(.*?)</bdi>(.*?)</tr>', page)
    numbers = {unescape(name): [float(n) for n in re.findall(r">([\d.]+)<", cells)] for name, cells in rows}
    problem = result.question.problem
    assert problem.privacy is not None
    for name, before, target in zip(problem.locations, problem.original, problem.privacy.reference, strict=True):
        assert numbers[name] == [before, result.histogram[name], pytest.approx(target, rel=0.005)]


def test_names_cannot_write_html() -> None:
    shown = ew.hide(UNUSUAL, {"_private"})._repr_html_() or ""
    assert "<b onclick" not in shown
    assert "&lt;b onclick=" in shown
    shown.encode()


@pytest.mark.parametrize("path", ["picture.jpg", "picture", ".png", 7, Path("a.png/picture")])
def test_other_endings(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ew.InputError, match=re.escape(f"{path!r} does not")):
        ew.hide(HISTORY, {"clinic"}).plot(path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "taken.png"
    folder.mkdir()
    result = ew.hide(HISTORY, {"clinic"})
    for path in (folder, tmp_path / "missing" / "picture.png", tmp_path / "\0.png"):
        with pytest.raises(ew.InputError, match=r"\.png' cannot be written: \w"):
            result.plot(path)
    assert list(tmp_path.iterdir()) == [folder]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = ew.hide(HISTORY, {"clinic"})
    with pytest.raises(ew.InputError, match=r"pip install 'elsewhere\[plot\]'"):
        result.plot()
    assert "clinic" in (result._repr_html_() or "")


def frontier() -> ew.Frontier:
    return ew.frontier(HISTORY, TARGET, [0.3, 0.01, 0.05, 0.1])


def made_up(goal: Any, *points: tuple[float, float]) -> ew.Frontier:
    """A frontier of given quality losses and privacy distances."""
    any_ = replace(ew.hide({"a": 1, "b": 1}, {"b"}), goal=goal)
    results = [replace(any_, quality_loss=loss, privacy_distance=distance) for loss, distance in points]
    return ew.Frontier(results, [loss for loss, _ in points])


@pytest.mark.parametrize(
    ("goal", "points", "knee"),
    [
        # Ahead of the line by 0, 0.8 - 0.25, 0.9 - 0.5 and 0.
        ("resemble", [(0.0, 1.0), (0.1, 0.2), (0.2, 0.1), (0.4, 0.0)], 0.1),
        ("resemble", [(0.4, 0.0), (0.1, 0.2), (0.0, 1.0), (0.2, 0.1)], 0.1),
        ("avoid", [(0.0, 1.0), (1.0, 2.0), (2.0, 4.5), (4.0, 5.0)], 2.0),
        # Units do not matter, and neither do points that others beat: 0.2 only seems to be far ahead of 0.3.
        ("resemble", [(0.0, 1000.0), (0.1, 300.0), (0.2, 900.0), (0.3, 200.0), (1.0, 0.0), (5.0, 0.0)], 0.1),
        # No knee: on the line, behind it, two points, one point, all the same.
        ("resemble", [(0.0, 3.0), (0.1, 2.0), (0.2, 1.0)], 0.2),
        ("avoid", [(0.0, 0.0), (1.0, 0.1), (2.0, 1.0)], 2.0),
        ("avoid", [(0.0, 1.0), (1.0, 2.0)], 1.0),
        ("resemble", [(0.2, 0.7)], 0.2),
        ("resemble", [(0.1, 0.5), (0.2, 0.5), (0.3, 0.5)], 0.1),
        # Nothing is better than infinitely far.
        ("avoid", [(0.0, 1.0), (0.1, 9.0), (0.2, math.inf), (0.3, math.inf)], 0.2),
    ],
)
def test_suggestion(goal: str, points: list[tuple[float, float]], knee: float) -> None:
    curve = made_up(goal, *points)
    assert curve.suggest().quality_loss == knee
    [shown] = [row for row in (curve._repr_html_() or "").split("<tr>") if ">suggested<" in row]
    assert f">{knee:g}<" in shown
    assert isinstance(curve.plot(), Figure)


def test_frontier_is_the_list_it_was_and_draws_it(tmp_path: Path) -> None:
    points = frontier()
    assert points.budgets == (0.3, 0.01, 0.05, 0.1)
    assert [point.quality_loss <= budget for point, budget in zip(points, points.budgets, strict=True)] == [True] * 4
    axes = points.plot(tmp_path / "frontier.html", chosen=0.05).axes[0]
    _, dots, mark = axes.lines
    expected = np.array([[point.quality_loss, point.privacy_distance] for point in points])
    assert np.array_equal(dots.get_xydata(), expected)
    assert np.array_equal(mark.get_xydata(), expected[2:3])
    assert [text.get_text() for text in axes.texts] == ["chosen"]
    assert not re.search(r"<script|https?:", (tmp_path / "frontier.html").read_text(encoding="utf-8"))


def test_frontier_refuses_what_it_has_not() -> None:
    with pytest.raises(ew.InputError, match=r"chosen is 0\.2;"):
        frontier().plot(chosen=0.2)
    with pytest.raises(ew.InputError, match="no points"):
        ew.frontier(HISTORY, TARGET, []).suggest()
    with pytest.raises(ew.InputError, match="no points"):
        ew.frontier(HISTORY, TARGET, []).plot()
