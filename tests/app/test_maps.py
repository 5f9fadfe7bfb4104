"""The map: what is land, and where the places are; in the browser, dots that tick."""

from __future__ import annotations

import math
import os
import random
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from elsewhere.app import interface, maps
from elsewhere.app.maps import Window
from elsewhere.app.session import Session
from tests.app.test_page import shown
from tests.support.browser import CHROMIUM
from tests.support.client import serving

expect.set_options(timeout=60_000)
with_land = pytest.mark.skipif(
    find_spec("global_land_mask") is None and os.environ.get("CI") != "true", reason="there is no global-land-mask"
)
in_browser = pytest.mark.skipif(not CHROMIUM.exists() and os.environ.get("CI") != "true", reason="there is no chromium")

WORLD = Window(-180, -90, 180, 90)
BERLIN, SYDNEY, TAVEUNI = (52.52, 13.40), (-33.88, 151.05), (-16.85, 180.03)
ATLANTIC, TASMAN, KORO_SEA = (30.0, -40.0), (-34.3, 151.6), (-17.5, 179.3)


def is_land(window: Window, at: tuple[float, float]) -> bool:
    """Whether the path of a window covers a point."""
    drawn = maps.land(window)
    assert drawn is not None
    column = math.floor((at[1] - drawn["west"]) / drawn["cell"])
    row = math.floor((drawn["north"] - at[0]) / drawn["cell"])
    runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", drawn["path"])
    assert "".join(f"M{x} {y}h{wide}v1h-{back}z" for x, y, wide, back in runs) == drawn["path"]
    return any(int(y) == row and int(x) <= column < int(x) + int(wide) for x, y, wide, _ in runs)


@with_land
@pytest.mark.parametrize(
    ("window", "land", "sea"),
    [
        (WORLD, BERLIN, ATLANTIC),
        (WORLD, SYDNEY, TASMAN),
        (Window(150.4, -34.5, 151.8, -33.4), SYDNEY, TASMAN),
        (Window(13.0, 52.2, 13.9, 52.8), BERLIN, (53.0, 13.4)),  # which is beyond the window
        (Window(177.0, -19.0, 181.0, -15.5), TAVEUNI, KORO_SEA),  # across the date line
    ],
)
def test_what_is_land(window: Window, land: tuple[float, float], sea: tuple[float, float]) -> None:
    assert is_land(window, land)
    assert not is_land(window, sea)


def test_a_map_of_nonsense_is_refused() -> None:
    with serving(Session()) as client:
        for window in ("west=a&south=0&east=1&north=1", "west=2&south=0&east=1&north=1",
                       "west=0&south=0&east=nan&north=1", "west=0&south=0&east=1e9&north=1"):  # fmt: skip
            reply = client.ask("GET", f"api/land?{window}")
            assert reply.status == 400
            assert "window" in reply.json({})["error"] or "numbers" in reply.json({})["error"]


def test_without_the_package_there_is_no_land(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "find_spec", lambda _: None)
    maps.land.cache_clear()
    with serving(Session()) as client:
        assert client.ask("GET", "api/land?west=0&south=0&east=1&north=1").json(interface.LAND) is None
    maps.land.cache_clear()


#: Three places in Sydney, one of them a clinic and two next to each other, and one that is nowhere.
PLACES = """location,count,latitude,longitude
Central Clinic,1,-33.86,151.20
Green Cafe,5,-33.90,151.10
Blue Cafe,2,-33.902,151.102
Qqq,3,,
"""


@pytest.mark.browser
@in_browser
def test_dots_tick_places(page: Page, tmp_path: Path) -> None:
    """With the mouse and the keyboard; they fade as they are hidden, and two that overlap are one that zooms in."""
    path = tmp_path / "places.csv"
    path.write_text("location,count\nMuseum,2\nCafe,1\n")
    page.set_input_files("#file", path)
    shown(page)
    expect(page.locator("#map")).to_be_hidden()

    path.write_text(PLACES)
    page.set_input_files("#file", path)
    expect(page.locator("#map-words")).to_contain_text("3 of 4 places")
    picture = page.get_by_role("group", name="On the map")
    clinic = picture.get_by_role("checkbox", name="Central Clinic, 1 visit, often sensitive")
    expect(clinic).to_have_attribute("aria-checked", "false")
    clinic.click()
    expect(clinic).to_have_attribute("aria-checked", "true")
    expect(clinic).to_have_css("opacity", re.compile("0.25|1"))  # whole while it has the focus
    expect(page.locator("#ticked")).to_contain_text("1 place with 1 visit ticked: Central Clinic")
    page.get_by_role("button", name="Undo").click()
    expect(clinic).to_have_attribute("aria-checked", "false")

    page.locator("#map-all").focus()
    picture.get_by_role("button", name="2 places, 7 visits. Zoom in").focus()
    page.keyboard.press("Enter")
    cafe = picture.get_by_role("checkbox", name="Green Cafe, 5 visits")
    expect(cafe).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(picture.get_by_role("checkbox", name="Blue Cafe, 2 visits")).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="All", exact=True).click()
    expect(clinic).to_be_visible()
    page.get_by_role("button", name="Forget it now").click()
    expect(page.locator("#map")).to_be_hidden()
    assert "Cafe" not in page.locator("#map").inner_html()


@pytest.mark.browser
@with_land
@in_browser
def test_the_map_has_land(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text(PLACES)
    page.set_input_files("#file", path)
    expect(page.locator("#map-land")).to_have_attribute("d", re.compile("^M"))


@pytest.mark.browser
@in_browser
def test_every_place_is_in_a_dot(page: Page, tmp_path: Path) -> None:
    """Also where many are so near to each other that dots are merged."""
    dice = random.Random(1)
    rows = [f"p{at},1,{10 + dice.random():.4f},{50 + dice.random():.4f}" for at in range(300)]
    path = tmp_path / "places.csv"
    path.write_text("\n".join(["location,count,latitude,longitude", *rows]))
    page.set_input_files("#file", path)
    expect(page.locator("#map-dots circle").first).to_be_visible()
    labels = page.locator("#map-dots circle").evaluate_all("dots => dots.map(dot => dot.getAttribute('aria-label'))")
    assert sum(int(visits) for label in labels for visits in re.findall(r"(\d+) visit", label)) == 300
