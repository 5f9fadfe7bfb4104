"""Makes the pictures of docs/app.md and of the README again: python -m docs.pictures.make"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect
from tests.support.browser import chromium, served

HERE = Path(__file__).parent
expect.set_options(timeout=30_000)
WEEK = """location,count,latitude,longitude
Home,14,-33.89,151.18
Office,10,-33.86,151.21
Northside Fertility Clinic,1,-33.82,151.19
Saint Anne's Church,1,-33.90,151.22
Blue Lantern Café,6,-33.872,151.206
Harbour Museum,1,-33.85,151.15
Ocean Beach,2,-33.89,151.28
Qqq,1,-33.95,151.12
"""


def main() -> None:
    with served() as address, chromium() as browser:
        _load(_page(browser, address, 800))
        _look(_page(browser, address, 1280))
        _hide(_page(browser, address, 1280))
        _kind(_page(browser, address, 1280))
        _resemble(_page(browser, address, 1280))
        _unmet(_page(browser, address, 400, theme="dark"))


def _page(browser: Browser, address: str, width: int, theme: str = "light") -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(address)
    expect(page.locator("#samples button").first).to_be_visible()
    return page


def _load(page: Page) -> None:
    _save(page, "load")


def _look(page: Page) -> None:
    """A made-up week, with coordinates."""
    page.set_input_files("#file", {"name": "week.csv", "mimeType": "text/csv", "buffer": WEEK.encode()})
    page.get_by_role("button", name="Hide Northside Fertility Clinic").click()
    _settle(page)
    expect(page.locator("#map-land")).to_have_attribute("d", re.compile("^M"))
    page.wait_for_timeout(600)  # the dot fades
    page.set_viewport_size({"width": 1280, "height": 2400})
    _shrink(HERE / "look.png", page.locator("#look").screenshot())


def _hide(page: Page) -> None:
    page.locator("#samples button").first.click()
    for preset in ("Health", "Gambling"):
        page.get_by_role("button", name=re.compile(f"^{preset},")).click()
    _settle(page)
    _save(page, "hide")


def _kind(page: Page) -> None:
    page.locator("#samples button").first.click()
    place = page.get_by_role("treeitem", name=re.compile("^Gartenfest Beer Garden,"))
    place.focus()
    page.keyboard.press("k")
    page.get_by_label("Search kinds of place").fill("bar")
    expect(page.locator("#kind-list option").first).to_be_attached()
    page.evaluate("() => document.activeElement.blur()")
    _shrink(HERE / "kind.png", page.get_by_role("dialog").screenshot())


def _resemble(page: Page) -> None:
    _aim(page, "Resemble", "tourist")
    _save(page, "resemble")


def _unmet(page: Page) -> None:
    _aim(page, "Avoid", "local-resident")
    page.get_by_label("Only if the distance is at least").fill("0.9")
    page.keyboard.press("Tab")
    expect(page.locator("#outcome-words")).to_contain_text("is enough")
    page.evaluate("() => document.activeElement.blur()")
    page.set_viewport_size({"width": 400, "height": 3000})
    _shrink(HERE / "unmet.png", page.locator("#see").screenshot())


def _aim(page: Page, goal: str, profile: str) -> None:
    page.locator("#samples button").nth(1).click()
    page.get_by_role("radio", name=goal).check()
    page.get_by_label(f"Profile to {goal.lower()}").select_option(profile)
    _settle(page)


def _settle(page: Page) -> None:
    """Wait for the release, with nothing focused or pointed at."""
    expect(page.get_by_role("button", name="Save as CSV")).to_be_enabled()
    page.mouse.move(0, 0)
    page.evaluate("() => document.activeElement.blur()")


def _save(page: Page, name: str) -> None:
    """The whole page; what is out of sight is not drawn, so the window grows first."""
    height: int = page.evaluate("() => document.documentElement.scrollHeight")
    page.set_viewport_size({"width": page.evaluate("() => innerWidth"), "height": height})
    _shrink(HERE / f"{name}.png", page.screenshot())


def _shrink(path: Path, picture: bytes) -> None:
    """A palette is enough, and a third of the bytes; this kind keeps the rare colours."""
    whole = Image.open(BytesIO(picture)).convert("RGB")
    whole.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
