"""The page in a real browser: the whole flow, by keyboard too, at every width, and when it goes wrong."""

from __future__ import annotations

import csv
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from itertools import count, permutations
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Request, Route, expect

import elsewhere as ew
from elsewhere.app import curves, session
from elsewhere.app.session import SAMPLES, Session
from elsewhere.histories import InMemoryFile
from elsewhere.looking import sentences
from elsewhere.model.question import METHODS, Question
from elsewhere.solve import solve_frontier
from tests.support.browser import CHROMIUM
from tests.support.client import TOKEN, serving
from tests.support.exports import EXPORTS

expect.set_options(timeout=60_000)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists() and os.environ.get("CI") != "true", reason="there is no chromium"),
]


def load(page: Page, path: Path) -> None:
    """Wait for the places of this one, as there may be those of another one of the same name, and for all about it."""
    before = page.evaluate("() => sessionStorage.history")
    page.set_input_files("#folder" if path.is_dir() else "#file", path)
    page.wait_for_function("(before) => ![undefined, before].includes(sessionStorage.history)", arg=before)
    expect(page.locator("#loaded-name")).to_have_text(path.name)
    shown(page)


def shown(page: Page) -> None:
    """Wait for the places of what is loaded, and for what it reveals, which moves the rest of the page: then the page
    puts the focus there."""
    expect(page.locator("#tree li").first).to_be_visible()
    expect(page.locator("#look-title")).to_be_focused()


def table(tmp_path: Path, counts: dict[str, int]) -> Path:
    path = tmp_path / "history.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("location", "count"), *counts.items()])
    return path


def tick(page: Page, name: str) -> None:
    page.get_by_role("treeitem", name=re.compile(f"^{re.escape(name)}, ")).last.click()


def settled(page: Page) -> None:
    """Wait until there is a release."""
    expect(page.get_by_role("button", name="Save as CSV")).to_be_enabled()


def aim(page: Page, profile: str) -> None:
    """Choose a profile, and compare with it even if it has little to do with the history."""
    page.locator("#profile").select_option(profile)
    save, anyway = (page.get_by_role("button", name=name) for name in ("Save as CSV", "Compare anyway"))
    expect(save.and_(page.locator(":enabled")).or_(anyway)).to_be_visible()
    if anyway.is_visible():
        anyway.click()
    settled(page)


def saved(page: Page, button: str) -> bytes:
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return download.value.path().read_bytes()


def counts(release: bytes) -> dict[str, int]:
    return {row["location"]: row["count"] for row in json.loads(release)}


def bars(page: Page) -> Locator:
    return page.locator("#bars li")


#: Every export that can be read, with a place in it to hide.
FLOWS = {
    "google_takeout_2023_MARCH.json": "Northside Fertility Clinic",
    "google_takeout_2023_MARCH_ms.json": "Blue Lantern Café",
    "google_timeline_android_Timeline.json": "ChIJexampleCLIN0000000000004",
    "google_timeline_ios_location-history.json": "ChIJexampleCLIN0000000000004",
    "swarm_export": "Northside Fertility Clinic",
    "swarm_api_checkins.json": "Gym",
    "tsmc2014_sample.txt": "Doctor's Office",
    "google_Records.json": "place 3",
}


def test_no_export_is_left_out() -> None:
    assert {path.name for path in EXPORTS.iterdir()} == {*FLOWS}


def load_export(page: Page, name: str) -> ew.History:
    """Load one of them, the first user's of those that have several."""
    reading = {}
    if name.startswith("tsmc"):
        page.set_input_files("#file", EXPORTS / name)
        page.get_by_label("User", exact=True).select_option("1")
        page.get_by_role("button", name="Load this user").click()
        reading = {"user": "1"}
        shown(page)
    else:
        load(page, EXPORTS / name)
    return ew.read(EXPORTS / name, **reading)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FLOWS)
def test_from_an_export_to_its_release(page: Page, name: str) -> None:
    sensitive = FLOWS[name]
    history = load_export(page, name)
    tick(page, sensitive)
    assert counts(saved(page, "JSON")) == dict(ew.hide(history, [sensitive]).histogram)
    assert saved(page, "Save as CSV").decode().splitlines()[0] == "location,count"
    expect(page.locator("#bars .sensitive .counts")).to_have_text(f"{history.histogram[sensitive]} → 0")

    page.get_by_role("radio", name="Resemble").check()
    aim(page, "tourist")
    page.get_by_label("Quality loss at most").fill("0.6")
    page.keyboard.press("Tab")
    policy = ew.Policy("resemble", (sensitive,), target="tourist", max_quality_loss=0.6, allow_mismatch=True)
    expected = policy.plan().sanitize(history)
    expect(page.locator("#privacy-distance")).to_have_text(f"{expected.privacy_distance:.4g}")
    expect(bars(page)).to_have_count(len(list(expected.changes().all_rows())))
    assert counts(saved(page, "JSON")) == dict(expected.histogram)


def test_keyboard_alone(page: Page) -> None:
    """From a sample to its release without a mouse; the focus can be seen wherever it is."""
    keys = page.keyboard
    page.locator("#samples button").first.focus()
    keys.press("Enter")
    expect(page.locator("#look-title")).to_be_focused()
    tab_to(page, "[name=goal]")
    keys.press("ArrowDown")
    expect(page.get_by_role("radio", name="Resemble")).to_be_checked()
    keys.press("Tab")
    keys.press("t")  # more letters might come too slowly to count as one word
    expect(page.get_by_label("Profile to resemble")).to_have_value("tourist")
    settled(page)
    tab_to(page, "#search")
    keys.type("hotel")
    keys.press("Tab")
    keys.press("End")
    keys.press("ArrowLeft")
    keys.press("Space")
    branch = page.locator("#tree li:focus")
    expect(branch).to_have_attribute("aria-checked", "true")
    keys.press("ArrowLeft")
    keys.press("ArrowRight")
    expect(branch).to_have_attribute("aria-expanded", "true")
    settled(page)
    tab_to(page, "#slider")
    before = page.locator("#limit").input_value()
    keys.press("PageUp")
    expect(page.locator("#limit")).not_to_have_value(before)
    settled(page)
    tab_to(page, "[data-take='release.csv']")
    with page.expect_download() as download:
        keys.press("Enter")
    assert b"Hotel" not in download.value.path().read_bytes()


def test_the_first_look_says_what_the_file_tells(page: Page) -> None:
    """Each sentence that `elsewhere look` has, with a button that ticks its places, as long as it is pressed."""
    history = load_export(page, "google_takeout_2023_MARCH.json")
    told = [line.replace("\xa0", " ") for line in sentences(ew.look(history))]
    expect(page.locator("#look-list bdi")).to_have_count(len(told))  # it comes a little later than the tree
    assert [row.inner_text() for row in page.locator("#look-list bdi").all()] == told
    hide = page.get_by_role("button", name="Hide Northside Fertility Clinic")
    hide.click()
    expect(page.locator("#ticked")).to_contain_text("1 place with 1 visit ticked: Northside Fertility Clinic")
    expect(hide).to_have_attribute("aria-pressed", "true")
    assert "Northside Fertility Clinic" not in counts(saved(page, "JSON"))
    page.get_by_role("button", name="Undo").click()
    expect(hide).to_have_attribute("aria-pressed", "false")
    page.get_by_role("radio", name="kinds of place").check()
    hide.click()
    expect(page.locator("#ticked")).to_contain_text("1 kind with")
    page.get_by_role("button", name="Forget it now").click()
    expect(page.locator("#look")).to_be_hidden()


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the focus is there; all stops on the way show it."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            """(selector) => {
                const at = document.activeElement;
                return {there: at.matches(selector), ring: getComputedStyle(at).outlineStyle};
            }""",
            selector,
        )
        assert focus["ring"] != "none"
        if focus["there"]:
            return
    pytest.fail(f"{selector} is out of reach")


#: Names that have broken pages: from right to left, without spaces, long, and like markup.
NAMES = ["مقهى الفيروز", "東京駅", "Кафе «Сова»", "a" * 300, "<b>bold</b> & 'quote'", "Hospital"]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_for_everybody(browser: Browser, address: str, tmp_path: Path, theme: Literal["light", "dark"]) -> None:
    """Axe finds nothing, neither contrast below AA nor a missing name; and nothing is cut at any width."""
    path = tmp_path / "history.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [(name, 1 + at, 48.2 + at / 50, 16.4) for at, name in enumerate(NAMES)]
        csv.writer(file).writerows([("location", "count", "latitude", "longitude"), *rows])
    # Axe comes as a script, which the page's own policy keeps out.
    context = browser.new_context(color_scheme=theme, bypass_csp=True)
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(address)
    looks_right(page, tmp_path / "empty")
    load(page, path)
    tick(page, "Health care")
    settled(page)
    page.get_by_role("radio", name="Resemble").check()
    aim(page, "student")
    page.get_by_label("Only if the distance is at most").fill("0.00001")
    page.keyboard.press("Tab")
    expect(page.locator("#curve .of-wanted")).to_be_visible()
    expect(page.locator("#outcome-words")).to_contain_text("not 0.00001. No quality loss is enough.")
    expect(page.locator("#proof")).to_be_hidden()
    for summary in page.locator("summary:visible").all():
        summary.click()
    looks_right(page, tmp_path / "full")
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("what", [*SAMPLES, "large"])
def test_every_screen(
    browser: Browser, address: str, tmp_path: Path, what: str, theme: Literal["light", "dark"]
) -> None:
    """The samples, and 20,000 places with a map of them, from loading to a release and to what cannot be met."""
    context = browser.new_context(color_scheme=theme, bypass_csp=True)
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(address)
    if what in SAMPLES:
        page.get_by_role("button", name=SAMPLES[what][0]).click()
    else:
        kinds = ("Clinic", "Museum", "Casino", "Qqq")
        rows = (f"{kinds[at % 4]} {at},{1 + at % 9},{at % 173 / 170},{at % 211 / 70}\n" for at in range(20_000))
        (tmp_path / "large.csv").write_text("location,count,latitude,longitude\n" + "".join(rows))
        page.set_input_files("#file", tmp_path / "large.csv")
        expect(page.locator("#map-dots circle").first).to_be_visible()
    shown(page)
    page.get_by_role("button", name=re.compile("^Hide ")).first.click()
    settled(page)
    looks_right(page, tmp_path / "hidden")
    page.get_by_role("radio", name="kinds of place").check()
    page.get_by_role("radio", name="Avoid").check()
    page.locator("#profile").select_option("commuter")
    save, anyway = (page.get_by_role("button", name=name) for name in ("Save as CSV", "Compare anyway"))
    expect(save.and_(page.locator(":enabled")).or_(anyway)).to_be_visible()
    looks_right(page, tmp_path / "avoided")
    context.close()


def looks_right(page: Page, pictures: Path) -> None:
    """The pictures are for a person to look at; pytest keeps those of the last runs."""
    for width in (360, 390, 800, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        # What is out of sight is not drawn, nor what has just come into sight.
        page.evaluate("() => (bars.scrollIntoView(), new Promise((drawn) => setTimeout(drawn, 200)))")
        page.screenshot(path=pictures / f"{width}.png", full_page=True)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


def test_the_layout_does_not_jump(page: Page, tmp_path: Path) -> None:
    """Five places take the room of five hundred, and a release that of none."""
    heights, sizes = set(), "() => [see, take, protect].map((part) => part.offsetHeight).join()"
    for length in (5, 500):
        load(page, table(tmp_path, {"Hospital": 2, **{f"Place {at}": 1 + at for at in range(length - 1)}}))
        expect(page.locator("#loaded-words")).to_contain_text(f"{length} places")
        expect(page.locator("#look")).to_contain_text(f"to {length} places")  # it comes a little later
        heights.add(page.evaluate(sizes))
        before = page.evaluate("() => document.documentElement.scrollHeight")
        page.get_by_role("button", name="Health, 1 place", exact=True).click()
        settled(page)
        heights.add(page.evaluate(sizes))
        assert page.evaluate("() => document.documentElement.scrollHeight") == before
    assert len(heights) == 1


def test_the_arrow_keys_go_on(page: Page) -> None:
    """Where the least limit is above zero, some steps beside it stand for the same limit."""
    load(page, EXPORTS / "swarm_export")
    tick(page, "Iron Works Gym")
    page.get_by_role("radio", name="Resemble").check()
    aim(page, "tourist")
    page.get_by_role("slider").press("Home")
    settled(page)
    for step in range(1, 5):
        page.keyboard.press("ArrowRight")
        settled(page)
        expect(page.get_by_role("slider")).to_have_value(str(step))


def test_the_proof_waits_until_the_slider_rests(page: Page) -> None:
    """Somebody who goes on would wait for it, and not see the next picture."""
    load(page, EXPORTS / "swarm_api_checkins.json")
    page.get_by_role("radio", name="Avoid").check()
    aim(page, "commuter")
    page.get_by_role("slider").press("Home")
    settled(page)
    page.clock.install()
    page.clock.pause_at(time.time() + 60)
    drafts: list[bool] = []

    def note(request: Request) -> None:
        if request.url.endswith("/release"):
            drafts.append((request.post_data_json or {})["draft"])

    page.on("request", note)
    for times in (1, 2):
        with page.expect_response("**/release"):
            page.keyboard.press("PageUp")
        expect(page.locator("#proof-words")).to_contain_text("when the slider rests")
        expect(page.get_by_role("button", name="Save as CSV")).to_be_disabled()
        page.clock.run_for(50)
        assert drafts == [True] * times
    page.clock.resume()
    settled(page)
    assert drafts == [True, True, False]


def test_the_point_can_be_dragged(page: Page) -> None:
    load(page, EXPORTS / "swarm_api_checkins.json")
    page.get_by_role("radio", name="Avoid").check()
    aim(page, "commuter")
    page.locator("#curve .handle").hover()
    box = page.locator("#curve").bounding_box()  # now that it is in sight
    assert box is not None
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 16, box["y"] + 20, steps=5)
    page.mouse.up()
    expect(page.get_by_role("slider")).to_have_value("1000")
    settled(page)  # the field follows with the answer
    page.locator("#curve-details summary").click()
    most = page.locator("#curve-table tr").last.locator("th").inner_text()
    assert float(page.locator("#limit").input_value()) == pytest.approx(float(most), rel=0.01)


def clicks(chips: list[str]) -> Iterator[tuple[str, ...]]:
    """Every chip once, in all orders if there are few of them; and some sequences in which chips come again."""
    draw = Random(1)
    few = len(chips) <= 3
    yield from permutations(chips) if few else (tuple(draw.sample(chips, len(chips))) for _ in range(8))
    for _ in range(4):
        yield tuple(draw.choices(chips, k=2 * len(chips)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FLOWS, *SAMPLES])
def test_no_order_of_chips_uncovers_a_place(page: Page, name: str) -> None:
    """Presets overlap: what one has hidden, pressing another must not bring back."""
    if name in SAMPLES:
        page.get_by_role("button", name=SAMPLES[name][0]).click()
        shown(page)
    else:
        load_export(page, name)
    path = f"api/histories/{page.evaluate('() => sessionStorage.history')}/tree"
    presets = page.evaluate(TREE, path)["presets"]
    chips = [chip.get_attribute("data-preset") or "" for chip in page.locator("#presets button").all()]
    assert chips == [preset for preset, places in presets.items() if places]
    for order in clicks(chips) if chips else ():
        page.evaluate("() => document.getElementById('clear').click()")
        pressed = page.evaluate(PRESS, order)
        if len(set(order)) == len(order):
            assert pressed == [list(order[: at + 1]) for at in range(len(order))], "none is released by another"
        still = [
            chip for chip in chips if page.locator(f"[data-preset='{chip}']").get_attribute("aria-pressed") == "true"
        ]
        if not still:
            continue
        release = counts(saved(page, "JSON"))
        assert [(chip, place) for chip in still for place in presets[chip] if place in release] == []


#: Asks for the tree as the page does.
TREE = """async (path) => {
    const headers = {"X-Elsewhere": "1", "Content-Type": "application/json"};
    return (await fetch(path, {method: "POST", headers, body: "{}"})).json();
}"""
#: Clicks chips one after the other; which of those clicked are pressed after each.
PRESS = """(order) => order.map((chip, at) => {
    const button = (id) => document.querySelector(`[data-preset='${id}']`);
    button(chip).click();
    return order.slice(0, at + 1).filter((id) => button(id).ariaPressed === "true");
})"""


def test_a_place_stays_hidden_until_all_that_cover_it_are_released(page: Page) -> None:
    load_export(page, "google_takeout_2023_MARCH.json")
    clinic = page.get_by_role("treeitem", name="Northside Fertility Clinic").last
    health, reproductive = (page.locator(f"[data-preset='preset:{it}']") for it in ("health", "reproductive-health"))
    health.click()
    expect(reproductive).to_have_attribute("aria-pressed", "true")
    reproductive.click()
    expect(page.locator("#ticked")).to_contain_text("What Health covers stays ticked.")
    health.click()
    expect(clinic).to_have_attribute("aria-checked", "true")
    reproductive.click()
    expect(clinic).to_have_attribute("aria-checked", "false")
    health.click()
    clinic.click()  # by its own name
    expect(clinic).to_have_attribute("aria-checked", "false")
    expect(health).to_have_attribute("aria-pressed", "false")


#: All that a person can choose, as the page shows it. Which limit is suggested is no choice, and depends on how far a
#: search for the curve gets in its time.
CHOICES = """() => {
    const goal = document.querySelector("[name=goal]:checked").value;
    const told = ["taxonomy-name", "ticked"].map((id) => document.getElementById(id).textContent);
    const most = suggest.disabled ? "suggested" : limit.value;
    return JSON.stringify([goal, ...told, ...(goal === "hide" ? [] : [profile.value, most, wanted.value])]);
}"""


def test_every_choice_can_be_undone(page: Page, tmp_path: Path) -> None:
    (tmp_path / "kinds.txt").write_text("Places\n  Gym\n  Church\n")
    load(page, EXPORTS / "swarm_export")
    seen = [page.evaluate(CHOICES)]

    def chosen() -> None:
        settled(page)
        seen.append(page.evaluate(CHOICES))
        assert seen[-1] != seen[-2]

    page.get_by_role("button", name="Health, 1 place", exact=True).click()
    chosen()
    tick(page, "Iron Works Gym")
    chosen()
    page.get_by_role("radio", name="Resemble").check()
    seen.append("")  # nothing to wait for: there is no release without a target
    page.get_by_label("Profile to resemble").select_option("commuter")
    expect(page.get_by_role("button", name="Compare anyway")).to_be_visible()
    seen.append("")  # nor with one that matches little
    page.get_by_role("button", name="Compare anyway").click()
    chosen()
    page.get_by_role("slider").press("PageUp")
    chosen()
    page.get_by_label("Only if the distance is at most").fill("1")
    page.keyboard.press("Tab")
    chosen()
    limit = page.locator("#limit").input_value()
    page.set_input_files("#taxonomy-file", tmp_path / "kinds.txt")
    expect(page.locator("#limit")).not_to_have_value(limit)  # it is the suggested one again
    chosen()
    page.get_by_role("button", name="Clear").click()
    chosen()

    page.locator("#search").press_sequentially("gym")
    page.keyboard.press("Control+z")  # is about the text
    expect(page.locator("#ticked")).to_have_text("Nothing is ticked.")
    page.locator("#protect-title").focus()
    for key, states in (("Control+z", seen[-2::-1]), ("Control+Shift+z", seen[1:])):
        for expected in states:
            page.keyboard.press(key)
            if expected:
                page.wait_for_function(f"(expected) => ({CHOICES})() === expected", arg=expected)
    expect(page.get_by_role("button", name="Redo")).to_be_disabled()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#ticked")).to_contain_text("2 places")


def test_an_unchanged_history_is_not_saved_unasked(page: Page, tmp_path: Path) -> None:
    """A tourist goes to no place of that name: there is nothing to change, and the page says so before it saves."""
    load(page, table(tmp_path, {"Blue Lantern": 3, "Willow Court": 2}))
    page.get_by_role("radio", name="Avoid").check()
    aim(page, "tourist")
    notes = page.locator("#outcome-notes li")
    expect(notes.first).to_contain_text("0% of the target's weight is at kinds that the history has")
    expect(notes.last).to_have_text("Warning: nothing was hidden. The release would equal your history.")
    taken: list[str] = []
    page.on("request", lambda request: taken.append(request.url) if "/take?" in request.url else None)
    for key in ("Enter", "Escape"):  # the focus is on the way back
        page.get_by_role("button", name="Save as CSV").click()
        expect(page.get_by_role("dialog")).to_contain_text("Nothing was hidden. The release would equal your history.")
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_hidden()
    assert taken == []
    page.get_by_role("button", name="Save as CSV").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save anyway").click()
    assert download.value.path().read_bytes() == b"location,count\nBlue Lantern,3\nWillow Court,2\n"


def test_the_notes_of_a_history_are_open(page: Page) -> None:
    load(page, EXPORTS / "google_timeline_android_Timeline.json")
    for note in ew.read(EXPORTS / "google_timeline_android_Timeline.json").notes:
        expect(page.get_by_text(note)).to_be_visible()


def test_a_saved_policy_can_be_loaded(page: Page, tmp_path: Path) -> None:
    """Into a page that knows nothing of it: the page asks for the file that the policy names."""
    (tmp_path / "own.csv").write_text("location,count\nMuseum,1\nIron Works Gym,3\n")
    load(page, EXPORTS / "swarm_export")
    page.get_by_role("button", name="Religion, 1 place", exact=True).click()
    page.get_by_role("radio", name="Resemble").check()
    page.set_input_files("#target-file", tmp_path / "own.csv")
    settled(page)
    page.get_by_role("slider").press("PageUp")
    release, limit = saved(page, "JSON"), page.locator("#limit").input_value()
    (tmp_path / "policy.toml").write_bytes(saved(page, "Policy"))
    page.get_by_role("button", name="Forget it now").click()

    load(page, EXPORTS / "swarm_export")
    page.set_input_files("#policy-file", tmp_path / "policy.toml")
    expect(page.locator("#policy-words")).to_have_text("This policy needs the file own.csv. Please choose it.")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose own.csv").click()
    chooser.value.set_files(tmp_path / "own.csv")
    expect(page.locator("#policy-words")).to_have_text("The choices of policy.toml are set.")
    expect(page.get_by_role("button", name="Load a policy")).to_be_focused()  # the other one has gone
    assert saved(page, "JSON") == release
    expect(page.locator("#limit")).to_have_value(limit)
    expect(page.get_by_role("button", name="Religion, 1 place", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("radio", name="Hide")).to_be_checked()

    (tmp_path / "policy.toml").write_text("goal = 'hide'\nsensitive = ['Atlantis']\nquality = 'l2'\n")
    page.set_input_files("#policy-file", tmp_path / "policy.toml")
    expect(page.locator("#policy-words")).to_contain_text("The policy also names 'Atlantis'")
    expect(page.get_by_label("Measure the quality loss by")).to_have_value("l2")
    tick(page, "Iron Works Gym")
    history = ew.read(EXPORTS / "swarm_export").histogram
    assert counts(saved(page, "JSON")) == dict(ew.hide(history, ["Iron Works Gym"], quality="l2").histogram)


def test_more_choices(page: Page, tmp_path: Path) -> None:
    """Each of them changes the release as the argument of the verb does, and can be undone."""
    load(page, EXPORTS / "swarm_export")
    history = ew.read(EXPORTS / "swarm_export").histogram
    tick(page, "Iron Works Gym")
    page.locator("#more summary").click()
    page.get_by_label("Measure the quality loss by").select_option("l2")
    page.get_by_label("Visits to add at other places").fill("4")
    page.get_by_label("Other places that may get visits").fill("Willow Park\n")
    page.keyboard.press("Tab")
    (tmp_path / "old.csv").write_text("location,count\nCity Library,2\n")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Continue an earlier release").click()
    chooser.value.set_files(tmp_path / "old.csv")
    expect(page.locator("#earlier-name")).to_have_text("old.csv")
    asked = {"quality": "l2", "redistribute": 4, "candidates": ["Willow Park"]}
    expected = ew.hide(history, ["Iron Works Gym"], **asked, lower=ew.Histogram({"City Library": 2}))  # type: ignore[arg-type]
    assert counts(saved(page, "JSON")) == dict(expected.histogram)
    page.reload()
    expect(page.get_by_label("Visits to add at other places")).to_have_value("4")
    assert counts(saved(page, "JSON")) == dict(expected.histogram)
    page.get_by_role("button", name="Start without it").click()
    expected = ew.hide(history, ["Iron Works Gym"], **asked)  # type: ignore[arg-type]
    assert counts(saved(page, "JSON")) == dict(expected.histogram)
    page.get_by_role("radio", name="Avoid").check()
    expect(page.get_by_label("Visits to add at other places")).to_be_hidden()
    page.get_by_label("Search for").select_option("heuristic")
    aim(page, "commuter")
    (tmp_path / "policy.toml").write_bytes(saved(page, "Policy"))
    policy = ew.Policy.load(tmp_path / "policy.toml")
    assert (policy.method, policy.candidates, policy.quality) == ("heuristic", ("Willow Park",), "js")


def test_plain_numbers_first_and_a_bar_that_saves(browser: Browser, address: str, tmp_path: Path) -> None:
    """On a phone, too: wherever somebody is, what is hidden and the way to save it are in sight."""
    page = browser.new_page(viewport={"width": 390, "height": 700})
    page.set_default_timeout(60_000)
    page.goto(address)
    load(page, table(tmp_path, {"Hospital": 1, "Cafe": 16, "Park": 3}))
    expect(page.locator("#bar-words")).to_have_text("Nothing is hidden yet.")
    expect(page.get_by_role("button", name="Save release")).to_be_disabled()
    page.get_by_role("button", name="Hide Hospital").click()
    settled(page)
    expect(page.locator("#outcome-words")).to_contain_text("1 of 20 visits moved (5%): hardly noticeable.")
    expect(page.locator("#quality-loss")).to_be_hidden()
    page.get_by_text("Details", exact=True).click()
    expect(page.locator("#quality-loss")).to_be_visible()
    for place in ("#load", "#tree", "#take"):
        page.locator(place).scroll_into_view_if_needed()
        expect(page.locator("#bar")).to_be_in_viewport(ratio=1)
    expect(page.locator("#bar-words")).to_have_text("Hidden: 1 place with 1 visit. 1 of 20 visits moved (5%).")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save release").click()
    release = tmp_path / "mine.csv"
    release.write_bytes(download.value.path().read_bytes())
    assert b"Hospital" not in release.read_bytes()

    page.set_input_files("#saved-file", release)
    expect(page.locator("#verify-words")).to_contain_text("'mine.csv' meets everything that you chose")
    page.get_by_role("treeitem", name=re.compile("^Park,")).click()
    expect(page.locator("#verify-words")).to_be_empty()
    settled(page)
    page.set_input_files("#saved-file", release)
    expect(page.locator("#verify-words")).to_contain_text("'Park'")
    page.close()


def test_chance_can_decide_and_a_policy_keeps_that(page: Page, tmp_path: Path) -> None:
    load(page, EXPORTS / "swarm_export")
    tick(page, "Iron Works Gym")
    tick(page, "Blue Lantern Café")
    settled(page)
    expect(page.locator("#guess")).to_contain_text("of 100 cases (50 is guessing)")
    certain = saved(page, "JSON")
    box = page.get_by_label("Let chance decide where the hidden visits go")
    box.check()
    expect(page.locator("#quality-words")).to_contain_text("above the least possible")
    expect(page.get_by_text("The search stopped")).to_be_hidden()
    drawn = saved(page, "JSON")
    assert sum(counts(drawn).values()) == sum(counts(certain).values())
    (tmp_path / "policy.toml").write_bytes(saved(page, "Policy"))
    assert ew.Policy.load(tmp_path / "policy.toml").method == "drawn"
    page.get_by_role("button", name="Undo").click()
    expect(box).not_to_be_checked()
    expect(page.locator("#quality-words")).not_to_contain_text("above")
    assert saved(page, "JSON") == certain
    page.set_input_files("#policy-file", tmp_path / "policy.toml")
    expect(box).to_be_checked()
    expect(page.locator("#quality-words")).to_contain_text("above the least possible")
    assert saved(page, "JSON") == drawn
    # The control follows what each goal supports.
    for goal in ("Resemble", "Avoid"):
        page.get_by_role("radio", name=goal).check()
        expect(page.locator("#drawn-row")).to_be_visible(visible="drawn" in METHODS[goal.lower()])


def test_names_are_shown_without_control_characters_and_sent_as_they_are(page: Page, tmp_path: Path) -> None:
    odd = "St.\u202e Mary\u200b\x1b[31m 😀"
    load(page, table(tmp_path, {odd: 3, "Museum": 2, "Café": 1}))
    row = page.get_by_role("treeitem", name="St. Mary [31m 😀, 3 visits")
    expect(row.locator(".name")).to_have_text("St. Mary [31m 😀")
    row.click()
    with page.expect_request("**/release") as asked:
        page.get_by_role("treeitem", name="Café, 1 visit").click()
    assert odd in json.loads(asked.value.post_data or "{}")["ticked"]
    settled(page)
    for summary in page.locator("summary:visible").all():
        summary.click()
    expect(page.get_by_label("The command line")).to_contain_text("--sensitive 'St.� Mary")
    shown = page.evaluate("() => document.body.innerText + document.body.innerHTML")
    assert re.findall("[\u202e\u200b\x1b]", shown) == []
    assert counts(saved(page, "JSON")) == {"Museum": 6}


def test_only_what_is_seen_of_many_places_is_drawn(page: Page, tmp_path: Path) -> None:
    """And yet the search, the keyboard and the ticks reach all of them."""
    load(page, table(tmp_path, {"Hospital": 2, **{f"Place {at}": 1 + at % 7 for at in range(20_000)}}))
    drawn = "() => document.querySelectorAll('#tree li, #bars li').length"
    assert page.evaluate(drawn) < 400
    page.get_by_role("treeitem", name=re.compile("^Other places,")).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    last = page.locator("#tree li:focus")
    expect(last).to_have_attribute("aria-posinset", "20000")
    expect(last).to_have_attribute("aria-setsize", "20000")
    expect(last).to_be_in_viewport(ratio=1)
    page.keyboard.press("Space")
    page.locator(".tree").evaluate("(tree) => (tree.scrollTop = 0)")
    expect(last).to_be_focused()
    assert page.evaluate(drawn) < 400
    page.get_by_label("Search places").fill("place 12345")
    expect(page.locator("#found")).to_have_text("1 place")
    tick(page, "Place 12345")
    release = counts(saved(page, "JSON"))
    assert {"Place 9999", "Place 12345"} & release.keys() == set()
    assert len(release) == 19_999


def test_what_is_saved_is_what_is_ticked(page: Page) -> None:
    """A second place is ticked before the answer to the first came: nothing can be saved that lacks it."""
    load(page, EXPORTS / "swarm_export")
    held = hold_back(page, "release")
    health, religion = "[data-preset='preset:health']", "[data-preset='preset:religion']"
    page.evaluate(
        """([one, other]) => {
            document.querySelector(one).click();
            setTimeout(() => document.querySelector(other).click(), 60);
        }""",
        [health, religion],
    )
    expect(page.locator(religion)).to_have_attribute("aria-pressed", "true")
    let_go(page, held)
    assert not {"Northside Fertility Clinic", "St. Brendan Church"} & counts(saved(page, "JSON")).keys()


def test_the_curve_is_of_what_is_ticked(page: Page) -> None:
    """A second branch is ticked while the curve of the first is drawn: it is drawn again, as after a reload."""
    load(page, EXPORTS / "swarm_export")
    page.get_by_role("radio", name="Resemble").check()
    aim(page, "commuter")
    held = hold_back(page, "frontier")
    tick(page, "Sport")
    tick(page, "Nightlife")
    let_go(page, held)
    page.get_by_text("The curve as a table").click()
    drawn = page.locator("#curve-table").inner_text()
    page.unroute_all()
    page.reload()
    settled(page)
    page.get_by_text("The curve as a table").click()
    expect(page.locator("#curve-table")).to_have_text(drawn, use_inner_text=True)


def test_a_curve_shows_its_points_and_can_be_stopped(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """With points that come when this test wants them to."""
    points = threading.Semaphore(2)

    def slow(question: Question, budgets: Sequence[float], on_point: Callable[[ew.Sanitized], None]) -> ew.Frontier:
        def when_wanted(point: ew.Sanitized) -> None:
            points.acquire()
            on_point(point)

        return solve_frontier(question, budgets, when_wanted)

    monkeypatch.setattr(curves, "solve_frontier", slow)
    with serving(Session()) as client:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{client.port}/{TOKEN}/")
        try:
            stop_and_go_on(page, points)
        finally:
            points.release(10_000)  # the server waits for those who wait
            page.close()


def stop_and_go_on(page: Page, points: threading.Semaphore) -> None:
    load(page, EXPORTS / "swarm_export")
    page.get_by_role("radio", name="Resemble").check()
    page.locator("#profile").select_option("commuter")
    page.get_by_role("button", name="Compare anyway").or_(page.locator("#curve .found").nth(1)).wait_for()
    if page.get_by_role("button", name="Compare anyway").is_visible():
        page.get_by_role("button", name="Compare anyway").click()
    page.locator("#curve .found").nth(1).wait_for()
    expect(page.get_by_role("slider")).to_be_disabled()
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.focus()
    points.release()
    page.locator("#curve .found").nth(2).wait_for()
    expect(stop).to_be_focused()  # though another point came
    with page.expect_response("**/stop"):
        page.keyboard.press("Enter")
    expect(page.locator("#see-title")).to_be_focused()
    points.release(10_000)
    settled(page)
    expect(stop).to_be_hidden()
    expect(page.locator("#curve .handle")).to_be_visible()
    page.locator("#curve-details summary").click()
    found = page.locator("#curve-table tbody tr").count()
    assert found >= 2
    page.get_by_role("slider").press("Home")
    settled(page)
    expect(page.locator("#limit")).to_have_value("0")  # though the curve was stopped before
    page.get_by_role("button", name="Draw the whole curve").click()
    settled(page)
    assert page.locator("#curve-table tbody tr").count() > found
    expect(page.get_by_role("button", name="Draw the whole curve")).to_be_hidden()


def test_compiling_is_said_with_the_seconds_so_far(page: Page) -> None:
    page.route("**/api/compiling", lambda route: route.fulfill(json={"seconds": 7.3}))
    load(page, EXPORTS / "swarm_export")
    held = hold_back(page, "release")
    tick(page, "Iron Works Gym")
    said = "Compiling the solvers, once on this computer: 7 s so far …"
    expect(page.locator("#outcome-words")).to_have_text(said)
    expect(page.locator("#outcome-aloud")).to_have_text(said)
    let_go(page, held)
    expect(page.locator("#outcome-words")).to_contain_text("Removed")


def hold_back(page: Page, what: str, first: int | None = None) -> list[Route]:
    """Questions of a kind that have been asked and are kept from the program: all, or the first ones."""
    held: list[Route] = []
    seen = count(1)
    page.route(f"**/{what}", lambda route: route.continue_() if first and next(seen) > first else held.append(route))
    return held


def wait_for(page: Page, held: list[Route], number: int = 1) -> None:
    end = time.monotonic() + 60
    while len(held) < number:
        assert time.monotonic() < end, "the page does not ask"
        page.wait_for_timeout(20)


def let_go(page: Page, held: list[Route]) -> None:
    """Pass them on, one after the other, until there is a release."""
    end = time.monotonic() + 60
    while page.get_by_role("button", name="Save as CSV").is_disabled():
        assert time.monotonic() < end, "there is no release"
        if held:
            held.pop(0).continue_()
        page.wait_for_timeout(20)


def drop(page: Page, *paths: Path) -> None:
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    tools = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    tools.detach()


def test_files_and_folders_can_be_dropped(page: Page) -> None:
    for name in ("google_takeout_2023_MARCH.json", "swarm_export"):
        drop(page, EXPORTS / name)
        expect(page.locator("#loaded-name")).to_have_text(name)
        expect(page.locator("#loaded-words")).to_contain_text("20 visits to 8 places")


def test_loose_files_are_no_folder(page: Page) -> None:
    drop(page, *sorted((EXPORTS / "swarm_export").iterdir())[:2])
    expect(page.locator("#load-trouble")).to_contain_text("or the folder that they are in")


def test_a_large_file_shows_how_far_it_is(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read on when the page has shown how far that is."""
    parts = threading.Semaphore(0)

    def slow(held: InMemoryFile, **reading: Any) -> ew.History:
        def told(count: int) -> None:
            assert held.on_progress is not None
            held.on_progress(count)
            parts.acquire()

        return ew.read(replace(held, on_progress=told), **reading)

    monkeypatch.setattr(session, "read", slow)
    path = tmp_path / "history.csv"
    path.write_text("location\n" + "Museum\nGym\n" * 500_000)
    with serving(Session()) as client:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{client.port}/{TOKEN}/")
        try:
            shares = shares_shown(page, path, parts)
        finally:
            parts.release(10_000)  # the server waits for those who wait
            page.close()
    assert len([share for share in shares if 0 < share < 1]) > 2
    assert shares == sorted(shares)


def shares_shown(page: Page, path: Path, parts: threading.Semaphore) -> list[float]:
    page.evaluate(
        """() => {
            window.shares = new Set();
            const bar = document.getElementById("progress-bar");
            new MutationObserver(() => shares.add(bar.value)).observe(bar, {attributes: true});
        }"""
    )
    page.set_input_files("#file", path)
    bar, read = page.locator("#progress-bar"), 1 / 3  # what comes before is sent
    for _ in range(4):
        page.wait_for_function("(read) => document.getElementById('progress-bar').value > read", arg=read)
        read = bar.evaluate("(bar) => bar.value")
        parts.release()
    parts.release(10_000)
    expect(page.locator("#loaded-name")).to_have_text(path.name)
    return list(page.evaluate("() => [...shares]"))


def test_stopping_and_loading_something_else(page: Page) -> None:
    """A folder that is stopped is forgotten; an older load does not replace a newer one, nor leave its search."""
    files = hold_back(page, "files?*")
    page.set_input_files("#folder", EXPORTS / "swarm_export")
    wait_for(page, files)
    with page.expect_request(lambda request: request.method == "DELETE") as forgotten:
        page.get_by_role("button", name="Stop").click()
    assert re.search(r"/folders/[^/]+$", forgotten.value.url)
    page.unroute_all()

    load(page, EXPORTS / "swarm_export")
    page.get_by_label("Search places").fill("gym")
    older = hold_back(page, "histories?name=google*")
    page.set_input_files("#file", EXPORTS / "google_takeout_2023_MARCH.json")
    wait_for(page, older)
    with page.expect_response(lambda response: response.request.method == "DELETE") as replaced:
        load(page, EXPORTS / "swarm_api_checkins.json")
    assert replaced.value.status == 200
    expect(page.get_by_label("Search places")).to_have_value("")
    with suppress(Error):  # the page does not wait for it any more
        older[0].continue_()
    page.wait_for_timeout(300)
    expect(page.locator("#loaded-name")).to_have_text("swarm_api_checkins.json")


def test_what_is_forgotten_is_gone(page: Page, tmp_path: Path) -> None:
    """Nothing of it is left in the program or in the page, not even if an answer comes late."""
    load(page, EXPORTS / "swarm_export")
    page.get_by_role("radio", name="Resemble").check()
    (tmp_path / "own.csv").write_text("location,count\nBlue Lantern Café,3\n")
    page.set_input_files("#target-file", tmp_path / "own.csv")
    settled(page)
    page.get_by_label("Search places").fill("Iron")
    for summary in page.locator("summary:visible").all():
        summary.click()
    expect(page.get_by_label("The command line")).to_contain_text("own.csv")
    held = hold_back(page, "release")
    tick(page, "Iron Works Gym")
    wait_for(page, held)
    late = held[0].fetch()
    path = f"api/histories/{page.evaluate('() => sessionStorage.history')}"
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("button", name="Forget it now").click()
    with suppress(Error):  # the page does not wait for it any more
        held[0].fulfill(response=late)
    page.wait_for_timeout(300)
    assert page.evaluate("async (path) => (await fetch(path)).status", path) == 404
    expect(page.locator("#connection")).to_be_hidden()
    expect(page.get_by_role("button", name="Save as CSV", include_hidden=True)).to_be_disabled()
    left = page.evaluate("() => [document.body.innerHTML, search.value].join()")
    names = [*ew.read(EXPORTS / "swarm_export").histogram, "own.csv", "swarm_export", "Iron"]
    assert [name for name in names if name in left] == []


def test_a_reload_and_a_second_tab(page: Page, address: str) -> None:
    """A reload finds everything again; another tab has a history of its own; what is forgotten is gone."""
    load(page, EXPORTS / "swarm_export")
    page.get_by_role("button", name="Health, 1 place", exact=True).click()
    page.get_by_role("radio", name="Resemble").check()
    aim(page, "commuter")
    page.get_by_role("slider").press("PageUp")
    settled(page)
    release, limit = saved(page, "JSON"), page.locator("#limit").input_value()
    # Whatever the browser stores may reach the disk.
    stored = page.evaluate("() => JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "Northside" not in stored
    assert "health" not in stored
    page.reload()
    expect(page.locator("#limit")).to_have_value(limit)
    expect(page.get_by_role("button", name="Health, 1 place", exact=True)).to_have_attribute("aria-pressed", "true")
    assert saved(page, "JSON") == release

    other = page.context.new_page()
    other.goto(address)
    begins_anew(other)
    load(other, EXPORTS / "swarm_api_checkins.json")
    page.reload()
    expect(page.locator("#loaded-name")).to_have_text("swarm_export")
    page.get_by_role("button", name="Forget it now").click()
    page.reload()
    begins_anew(page)


def begins_anew(page: Page) -> None:
    """When all has been asked for and answered, there is no history, nor has one been looked for."""
    expect(page.locator("#version")).to_contain_text("Version")
    page.wait_for_load_state("networkidle")
    for nothing in ("#loaded-name", "#load-trouble"):
        expect(page.locator(nothing)).to_be_hidden()
    assert page.evaluate("() => sessionStorage.history") is None


def test_what_cannot_be_read(page: Page, tmp_path: Path) -> None:
    """A sentence, and then another file."""
    (tmp_path / "empty.csv").write_text("location,count\n")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    for path in (EXPORTS / "swarm_export" / "visits.json", tmp_path / "empty.csv", tmp_path / "noise.bin"):
        page.set_input_files("#file", path)
        expect(page.locator("#load-trouble p").first).to_contain_text(path.name)
        expect(page.get_by_role("button", name="Choose a file").first).to_be_visible()
    load(page, EXPORTS / "swarm_export")
    expect(page.locator("#load-trouble")).to_be_hidden()


def test_what_cannot_be_met(page: Page) -> None:
    """Everything ticked, and a distance that is out of reach: why, and from where on it can."""
    load(page, EXPORTS / "swarm_export")
    # A place may be of two kinds, and a branch that is ticked already would be unticked.
    while (branch := page.locator("#tree li:not([aria-checked=true])").first).count():
        branch.click()
    expect(page.locator("#outcome-words")).to_contain_text("Every place")
    expect(page.get_by_role("button", name="Save as CSV")).to_be_disabled()
    page.get_by_role("button", name="Clear").click()

    page.get_by_role("radio", name="Resemble").check()
    aim(page, "commuter")
    page.get_by_role("slider").press("Home")
    page.get_by_label("Only if the distance is at most").fill("0.65")
    page.keyboard.press("Tab")
    expect(page.locator("#curve .of-wanted")).to_contain_text("met from")
    expect(page.get_by_role("button", name="Save as CSV")).to_be_disabled()
    page.get_by_role("button", name="Allow a quality loss of").click()
    settled(page)
    assert float(page.locator("#privacy-distance").text_content() or "") <= 0.65
    page.get_by_role("slider").press("End")
    settled(page)
    most = float(page.locator("#quality-loss").text_content() or "")
    page.get_by_label("Change as little as possible").check()
    settled(page)
    expect(page.locator("#proof-words")).to_contain_text("closer to your history")
    assert float(page.locator("#quality-loss").text_content() or "") < most
    page.get_by_role("slider").press("End")
    expect(page.get_by_label("Change as little as possible")).not_to_be_checked()


def test_the_same_in_words(page: Page) -> None:
    """Every picture is a table too, and the command and the script can be read before they are saved."""
    load(page, EXPORTS / "swarm_export")
    tick(page, "Iron Works Gym")
    settled(page)
    page.get_by_text("Show as a table", exact=True).click()
    row = page.locator("#bars-table tr", has_text="Iron Works Gym")
    expect(row).to_have_text(re.compile(r"Iron Works Gym \(sensitive\)\s*1\s*0"))
    page.get_by_text("The same on the command line").click()
    expect(page.get_by_label("The command line")).to_contain_text("elsewhere hide")
    held = hold_back(page, "take?*")
    tick(page, "Northside Fertility Clinic")
    wait_for(page, held)
    expect(page.get_by_label("The command line")).not_to_contain_text("Fertility")
    expect(page.get_by_role("button", name="Copy")).to_be_disabled()
    tick(page, "Iron Works Gym")
    wait_for(page, held, 2)
    held[1].continue_()
    expect(page.get_by_label("The command line")).not_to_contain_text("Gym")
    held[0].continue_()
    page.wait_for_timeout(300)
    expect(page.get_by_label("The command line")).not_to_contain_text("Gym")
    expect(page.get_by_role("button", name="Copy")).to_be_enabled()
    page.unroute_all()
    expect(page.get_by_text("The search stopped")).to_be_hidden()
    page.route("**/release", not_optimal)
    tick(page, "Iron Works Gym")
    expect(page.get_by_text("The search stopped after 10 seconds")).to_be_visible()
    page.get_by_text("The same in Python").click()
    expect(page.get_by_label("The Python script")).to_contain_text("import elsewhere")


def not_optimal(route: Route) -> None:
    """What comes back when time has ended the search."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "status": "feasible"})


def test_what_the_file_reveals_does_not_take_the_focus(page: Page, tmp_path: Path) -> None:
    """It comes later than the tree, where somebody may be at work by then."""
    held = hold_back(page, "look")
    page.set_input_files("#file", table(tmp_path, {"Hospital": 2, "Museum": 9}))
    wait_for(page, held)
    expect(page.get_by_role("treeitem", name=re.compile("^Museum"))).to_be_visible()
    page.get_by_label("Search places").focus()
    held.pop().continue_()
    expect(page.locator("#look")).to_be_visible()
    page.wait_for_timeout(300)
    expect(page.get_by_label("Search places")).to_be_focused()
