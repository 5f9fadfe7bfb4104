"""The page in Chromium: how long a person waits for a picture."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, expect
from tests.support.browser import CHROMIUM, chromium, served

from benchmarks.measure import Row, duration
from elsewhere import profiles

_MANY = 20_000
#: A long history: visits and places.
_VISITS, _PLACES = 200_000, 200
#: Reading a height forces the browser to finish the layout.
_LAID_OUT = "document.body.offsetHeight; return performance.now() - began;"


def measure() -> Iterator[Row]:
    if not CHROMIUM.exists():
        yield Row("the page", "not measured: there is no Chromium")
        return
    yield from _cold()
    with served() as address, chromium() as browser, tempfile.TemporaryDirectory() as folder:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(address)
        for goal in ("Resemble", "Avoid"):
            seconds = _slider(page, Path(folder), goal)
            yield Row(f"page, 150 locations, {goal.lower()}: from a movement of the slider to its picture",
                      duration(seconds), "", "", "< 100 ms", seconds < 0.1)  # fmt: skip
        for goal in ("Resemble", "Avoid"):
            curve, seconds = _long_history(page, Path(folder), goal)
            about = f"page, {_VISITS:,} visits at {_PLACES} locations, {goal.lower()}"
            yield Row(f"{about}: from a movement of the slider to its picture", duration(seconds), "", "",
                      "< 150 ms", seconds < 0.15)  # fmt: skip
            yield Row(f"{about}: the curve of 20 points", duration(curve), "", "",
                      "< 1 s", curve < 1.0)  # fmt: skip
        for what, seconds, goal_seconds in _many_places(page, Path(folder)):
            yield Row(f"page, {_MANY:,} locations: {what}", duration(seconds), "", "",
                      f"< {duration(goal_seconds)}", seconds < goal_seconds)  # fmt: skip


def _cold() -> Iterator[Row]:
    """Small questions on a machine where nothing is compiled yet."""
    with (
        tempfile.TemporaryDirectory() as cache,
        served(Path(cache)) as address,
        chromium() as browser,
    ):
        page = browser.new_page()
        page.goto(address)
        page.get_by_role("button", name="A weekend away").click()
        expect(page.locator("#tree li").first).to_be_visible()
        steps: dict[str, Callable[[], None]] = {
            "hide": lambda: page.locator("#presets button").first.click(),
            "resemble, with its curve": lambda: _aim(page, "Resemble", "tourist"),
        }
        for what, step in steps.items():
            began = time.perf_counter()
            step()
            _settle(page)
            seconds = time.perf_counter() - began
            yield Row(f"page, nothing compiled yet, a sample: the first answer of {what}", duration(seconds), "", "",
                      "< 2 s", seconds < 2.0)  # fmt: skip


def _long_history(page: Page, folder: Path, goal: str) -> tuple[float, float]:
    """Seconds of the curve, and the median of the slider, against a table of the same places."""
    counts = _skewed(3)
    _load(page, folder, counts)
    page.get_by_role("radio", name=goal).check()
    path = folder / "target.csv"
    _write(path, _skewed(7))
    page.set_input_files("#target-file", path)
    _settle(page)
    curve = min(_curves(page, goal) for _ in range(3))
    page.get_by_role("slider").focus()
    return curve, min(median(_movements(page)) for _ in range(3)) / 1000


def _curves(page: Page, goal: str) -> float:
    """Seconds from the question of a curve to its last point."""
    choice = page.get_by_label(f"Profile to {goal.lower()}")
    choice.select_option("")
    expect(page.locator("#outcome-words")).to_contain_text("Choose whom")
    page.evaluate("() => performance.clearMeasures('curve')")
    choice.select_option("target.csv")
    page.wait_for_function("() => performance.getEntriesByName('curve').length")
    taken: float = page.evaluate("() => performance.getEntriesByName('curve')[0].duration")
    _settle(page)
    return taken / 1000


def _skewed(step: int) -> dict[str, int]:
    """Counts that decrease like 1/rank, over places in random order."""
    weights = [1.0 / (1 + at * step % _PLACES) for at in range(_PLACES)]
    shares = [1 + int((_VISITS - _PLACES) * weight / sum(weights)) for weight in weights]
    shares[0] += _VISITS - sum(shares)
    return {f"Place {at}": share for at, share in enumerate(shares)}


def _aim(page: Page, goal: str, profile: str) -> None:
    page.get_by_role("radio", name=goal).check()
    page.get_by_label(f"Profile to {goal.lower()}").select_option(profile)


def _slider(page: Page, folder: Path, goal: str) -> float:
    """The median of nine movements, in the best of three rounds."""
    tourist = profiles.stored("tourist").profile
    places = [*tourist, *(f"Place {at}" for at in range(150 - len(tourist)))]
    _load(page, folder, {name: 1 + at * at % 23 for at, name in enumerate(places)})
    _aim(page, goal, "tourist")
    _settle(page)
    page.get_by_role("slider").focus()
    return min(median(_movements(page)) for _ in range(3)) / 1000


def _movements(page: Page) -> list[float]:
    """Milliseconds from a movement of the slider to its picture, for nine of them."""
    page.keyboard.press("Home")
    _settle(page)
    page.evaluate("() => performance.clearMeasures('slider')")
    for at in range(1, 10):
        page.keyboard.press("PageUp")
        page.wait_for_function("(at) => performance.getEntriesByName('slider').length >= at", arg=at)
    taken: list[float] = page.evaluate("() => performance.getEntriesByName('slider').map((entry) => entry.duration)")
    return taken


def _many_places(page: Page, folder: Path) -> Iterator[tuple[str, float, float]]:
    began = time.perf_counter()
    _load(page, folder, {"Hospital": 2, **{f"Place {at}": 1 + at % 7 for at in range(_MANY - 1)}})
    yield "from the file to the tree", time.perf_counter() - began, 3.0
    others = """document.querySelector('#tree [aria-label^="Other places"]')"""
    steps = {
        "to unfold all of them": f"{others}.querySelector('.twist').click()",
        "to search them": "(search.value = 'place 1', search.dispatchEvent(new Event('input')))",
        "to tick all but one": f"{others}.click()",
    }
    for what, step in steps.items():
        taken = page.evaluate(f"() => {{ const began = performance.now(); {step}; {_LAID_OUT} }}")
        yield what, taken / 1000, 0.1
    began = time.perf_counter()
    _settle(page)
    yield "until the release is shown", time.perf_counter() - began, 3.0


def _load(page: Page, folder: Path, counts: Mapping[str, int]) -> None:
    path = folder / "history.csv"
    _write(path, counts)
    page.set_input_files("#file", path)
    expect(page.locator("#loaded-words")).to_contain_text(f"{len(counts):,} places")
    expect(page.locator("#tree li").first).to_be_visible()


def _write(path: Path, counts: Mapping[str, int]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("location", "count"), *counts.items()])


def _settle(page: Page) -> None:
    expect(page.get_by_role("button", name="Save as CSV")).to_be_enabled(timeout=60_000)
