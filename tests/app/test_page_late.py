"""The page in a real browser while answers are late, come in another order, or are not wanted any more."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

import elsewhere as ew
from elsewhere.app import curves
from elsewhere.app.session import Session
from elsewhere.model.question import Question
from elsewhere.solve import solve_frontier
from tests.app.test_page import aim, counts, drop, hold_back, load, saved, settled, table, tick, wait_for
from tests.support.browser import CHROMIUM
from tests.support.client import TOKEN, serving
from tests.support.exports import EXPORTS

expect.set_options(timeout=60_000)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists() and os.environ.get("CI") != "true", reason="there is no chromium"),
]
SWARM, GOOGLE = EXPORTS / "swarm_export", EXPORTS / "google_takeout_2023_MARCH.json"


@pytest.fixture
def timed(context: BrowserContext, address: str) -> Page:
    """The page, with a clock that can be put forward to when it tells the program that it is still open."""
    page = context.new_page()
    page.clock.install()
    page.goto(address)
    return page


def put_forward(page: Page) -> None:
    page.clock.fast_forward(20_000)


def arrive(page: Page, late: Route) -> None:
    """Pass a question on, and give the page a moment to do what it should not do with the answer."""
    with page.expect_response(late.request.url):
        late.continue_()
    page.wait_for_timeout(300)


def shows(page: Page, name: str) -> None:
    """A history is loaded, with its places, and nothing is wrong."""
    expect(page.locator("#loaded-name")).to_have_text(name)
    expect(page.locator("#tree li").first).to_be_visible()
    for trouble in ("#load-trouble", "#protect-trouble", "#connection"):
        expect(page.locator(trouble)).to_be_hidden()


@pytest.mark.parametrize("dropped", [True, False])
def test_a_file_may_come_before_the_first_answer(context: BrowserContext, address: str, dropped: bool) -> None:
    """It waits until the page knows the profiles; meanwhile it can be stopped."""
    page = context.new_page()
    first = hold_back(page, "api/start")
    page.goto(address)
    wait_for(page, first)
    stop = page.get_by_role("button", name="Stop")
    for _ in range(2):
        drop(page, SWARM) if dropped else page.set_input_files("#folder", SWARM)
        expect(stop).to_be_visible()
        expect(page.locator("#progress-words")).to_have_text("Reading swarm_export …")
        page.wait_for_timeout(300)
        stop.click()
        expect(page.get_by_role("button", name="Choose a file").first).to_be_visible()
    drop(page, SWARM) if dropped else page.set_input_files("#folder", SWARM)
    expect(stop).to_be_visible()
    first[0].continue_()
    shows(page, "swarm_export")
    expect(page.locator("#profile option")).not_to_have_count(0)


def test_without_a_first_answer_the_page_asks_again(context: BrowserContext, address: str) -> None:
    """By itself after a while, and when there is a file."""
    page = context.new_page()
    page.clock.install()
    page.route("**/api/start", lambda route: route.abort())
    page.goto(address)
    expect(page.locator("#connection")).to_contain_text("does not answer")
    page.set_input_files("#file", GOOGLE)
    expect(page.locator("#load-trouble")).to_contain_text("does not answer")
    page.unroute_all()
    put_forward(page)
    expect(page.locator("#samples button")).to_have_count(2)
    expect(page.locator("#connection")).to_be_hidden()
    load(page, GOOGLE)
    expect(page.locator("#load-trouble")).to_be_hidden()


def test_a_new_file_is_newer_than_the_one_before_a_reload(page: Page) -> None:
    """The old one is forgotten, also in the program."""
    load(page, SWARM)
    old = page.evaluate("() => sessionStorage.history")
    late, newer = hold_back(page, "api/histories/*", first=1), hold_back(page, "histories?name=google*")
    page.reload()
    wait_for(page, late)
    page.set_input_files("#file", GOOGLE)
    page.wait_for_timeout(300)
    late[0].continue_()
    expect(page.locator("#tree li").first).to_be_visible()  # of the old one, which can be used meanwhile
    expect(page.locator("#progress-words")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    wait_for(page, newer)
    with page.expect_response(lambda response: response.request.method == "DELETE") as forgotten:
        newer[0].continue_()
    assert old in forgotten.value.url
    shows(page, GOOGLE.name)


def test_places_from_before_a_reload_come_after_a_new_file(page: Page) -> None:
    """The program knows that history no more, and that is no reason to drop the new one."""
    load(page, SWARM)
    late = hold_back(page, "tree", first=1)
    page.reload()
    wait_for(page, late)
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        load(page, GOOGLE)
    arrive(page, late[0])
    shows(page, GOOGLE.name)


def test_places_come_after_their_history_was_forgotten(page: Page) -> None:
    late = hold_back(page, "tree")
    page.set_input_files("#file", GOOGLE)
    wait_for(page, late)
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("button", name="Forget it now").click()
    arrive(page, late[0])
    expect(page.locator("#load-trouble")).to_be_hidden()
    expect(page.get_by_role("button", name="Choose a file").first).to_be_visible()


def test_the_places_of_one_history_are_not_shown_for_another(page: Page) -> None:
    load(page, SWARM)
    page.get_by_role("button", name="Hide Northside Fertility Clinic").wait_for()
    late = hold_back(page, "{tree,look,map}")
    page.set_input_files("#file", GOOGLE)
    wait_for(page, late, 3)
    expect(page.locator("#loaded-name")).to_have_text(GOOGLE.name)
    expect(page.locator("#tree li, #presets button, #unsure-list li, #bars li")).to_have_count(0)
    expect(page.locator("#look")).to_be_hidden()
    for each in late:
        each.continue_()
    shows(page, GOOGLE.name)
    expect(page.locator("#look")).to_be_visible()


def test_nothing_is_saved_while_the_kinds_are_on_their_way(page: Page) -> None:
    """The last release is not one of kinds."""
    load(page, GOOGLE)
    tick(page, "Northside Fertility Clinic")
    settled(page)
    late = hold_back(page, "tree")
    page.get_by_role("radio", name="kinds of place").check()
    wait_for(page, late)
    expect(page.get_by_role("button", name="Save as CSV")).to_be_disabled()
    late[0].continue_()
    assert not ew.read(GOOGLE).histogram.keys() & counts(saved(page, "JSON")).keys()


def test_names_are_not_asked_about_as_kinds(page: Page, tmp_path: Path) -> None:
    """The curve comes after another choice, but before the kinds of what is ticked."""
    load(page, table(tmp_path, {"Klinikum Nord": 4, "City Museum": 6, "Hotel Adlon": 3}))
    tick(page, "Klinikum Nord")
    page.get_by_role("radio", name="Resemble").check()
    aim(page, "tourist")
    asked: list[dict[str, object]] = []
    page.on("request", lambda it: asked.append(it.post_data_json or {}) if it.url.endswith("/release") else None)
    curve, late = hold_back(page, "frontier", first=1), hold_back(page, "tree")
    page.get_by_label("Only if the distance is at most").fill("0.9")
    page.keyboard.press("Tab")
    wait_for(page, curve)
    page.get_by_role("radio", name="kinds of place").check()
    wait_for(page, late)
    curve[0].continue_()
    page.wait_for_timeout(500)
    expect(page.get_by_role("button", name="Save as CSV")).to_be_disabled()
    late[0].continue_()
    assert "Hospital" not in counts(saved(page, "JSON"))
    assert {(question["by"], *question["ticked"]) for question in asked} <= {  # type: ignore[misc]
        ("name", "Klinikum Nord"),
        ("kind", "Hospital"),
    }


def test_a_place_is_hidden_while_names_are_on_their_way(page: Page, tmp_path: Path) -> None:
    """The tick does not get lost when kinds become names."""
    load(page, table(tmp_path, {"Klinikum Nord": 4, "City Museum": 6, "Hotel Adlon": 3}))
    hide = page.get_by_role("button", name="Hide Klinikum Nord")
    page.get_by_role("radio", name="kinds of place").check()
    expect(page.get_by_role("treeitem", name="Hotel Adlon")).to_have_count(0)
    expect(page.get_by_role("treeitem", name="Hotel, 3 visits")).to_be_visible()
    late = hold_back(page, "tree")
    page.get_by_role("radio", name="names of places").check()
    wait_for(page, late)
    hide.click()
    expect(hide).to_have_attribute("aria-pressed", "true")
    late[0].continue_()
    expect(page.locator("#ticked")).to_have_text("1 place with 4 visits ticked: Klinikum Nord.")
    assert "Klinikum Nord" not in counts(saved(page, "JSON"))


def test_places_come_while_somebody_writes_a_number(page: Page) -> None:
    load(page, SWARM)
    page.locator("#more summary").click()
    late = hold_back(page, "tree")
    page.get_by_role("radio", name="kinds of place").check()
    wait_for(page, late)
    page.get_by_label("Visits to add at other places").press_sequentially("4")
    late[0].continue_()
    expect(page.get_by_role("treeitem", name="Iron Works Gym")).to_have_count(0)
    expect(page.get_by_label("Visits to add at other places")).to_have_value("4")


def test_places_come_while_somebody_is_at_what_the_file_reveals(page: Page) -> None:
    """The focus stays there."""
    late = hold_back(page, "tree")
    page.set_input_files("#file", GOOGLE)
    wait_for(page, late)
    hide = page.get_by_role("button", name="Hide Northside Fertility Clinic")
    hide.focus()
    late[0].continue_()
    shows(page, GOOGLE.name)
    page.wait_for_timeout(300)
    expect(hide).to_be_focused()


def test_places_come_while_somebody_is_about_to_load_another_file(page: Page) -> None:
    """The focus stays there, too; and it goes back to the button if the person does."""
    late = hold_back(page, "look")
    page.set_input_files("#file", GOOGLE)
    wait_for(page, late)
    shows(page, GOOGLE.name)
    page.get_by_role("button", name="Load another file").click()
    page.get_by_text("How to read it").click()
    page.get_by_label("Format").focus()
    late[0].continue_()
    expect(page.locator("#look")).to_be_visible()
    page.wait_for_timeout(300)
    expect(page.get_by_label("Format")).to_be_focused()
    page.get_by_role("button", name="Back to the loaded file").click()
    expect(page.get_by_role("button", name="Load another file")).to_be_focused()


def test_an_older_choice_fails_late(page: Page) -> None:
    """Nobody waits for its places any more."""
    load(page, SWARM)
    page.get_by_role("radio", name="Resemble").check()
    late = hold_back(page, "tree", first=1)
    page.locator("#profile").select_option("commuter")
    wait_for(page, late)
    aim(page, "student")
    with page.expect_response(late[0].request.url):
        late[0].fulfill(status=400, json={"error": "this is too late"})
    page.wait_for_timeout(300)
    shows(page, "swarm_export")
    settled(page)


def test_a_remedy_is_not_for_the_next_target(page: Page) -> None:
    load(page, SWARM)
    page.get_by_role("radio", name="Resemble").check()
    page.locator("#profile").select_option("commuter")
    anyway = page.get_by_role("button", name="Compare anyway")
    expect(anyway).to_be_visible()
    late = hold_back(page, "tree")
    page.locator("#profile").select_option("student")
    wait_for(page, late)
    expect(anyway).to_have_count(0)
    late[0].continue_()
    expect(anyway).to_be_visible()  # this one does not match either, and is not compared by itself


def test_the_command_is_not_that_of_an_older_question(page: Page) -> None:
    load(page, SWARM)
    tick(page, "Iron Works Gym")
    settled(page)
    late = hold_back(page, "release")
    tick(page, "Northside Fertility Clinic")
    wait_for(page, late)
    page.get_by_text("The same on the command line").click()
    page.wait_for_timeout(500)
    expect(page.get_by_label("The command line")).to_be_empty()
    expect(page.get_by_role("button", name="Copy")).to_be_disabled()
    late[0].continue_()
    expect(page.get_by_label("The command line")).to_contain_text("Fertility")
    expect(page.get_by_role("button", name="Copy")).to_be_enabled()


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_table_is_the_target(page: Page, tmp_path: Path, first: int) -> None:
    """Whichever arrives first; and a profile that was chosen still later is chosen."""
    load(page, SWARM)
    page.get_by_role("radio", name="Resemble").check()
    late = hold_back(page, "targets?*")
    for at, name in enumerate(("one.csv", "two.csv"), 1):
        (tmp_path / name).write_text("location,count\nBlue Lantern Café,3\n")
        page.set_input_files("#target-file", tmp_path / name)
        wait_for(page, late, at)
    chosen = page.locator("#profile option:checked")
    for each in (late[first], late[1 - first]):
        arrive(page, each)
    expect(page.locator("#profile option", has_text="one.csv")).to_have_count(1)
    expect(chosen).to_have_text("two.csv")
    settled(page)
    page.set_input_files("#target-file", tmp_path / "one.csv")
    wait_for(page, late, 3)
    page.locator("#profile").select_option("commuter")
    arrive(page, late[2])
    expect(page.locator("#profile")).to_have_value("commuter")
    page.set_input_files("#target-file", tmp_path / "one.csv")
    wait_for(page, late, 4)
    page.get_by_role("button", name="Undo").click()
    expect(chosen).to_have_text("two.csv")
    arrive(page, late[3])
    expect(chosen).to_have_text("two.csv")


def test_the_last_taxonomy_and_the_last_earlier_release_count(page: Page, tmp_path: Path) -> None:
    load(page, SWARM)
    for field, what, shown, content in (
        ("#taxonomy-file", "taxonomies?*", "#taxonomy-name", "Places\n  Gym\n"),
        ("#earlier-file", "releases?*", "#earlier-name", "location,count\nCity Library,1\n"),
    ):
        late = hold_back(page, what)
        for at, name in enumerate(("one.csv", "two.csv"), 1):
            (tmp_path / name).write_text(content)
            page.set_input_files(field, tmp_path / name)
            wait_for(page, late, at)
        arrive(page, late[1])
        expect(page.locator(shown)).to_have_text("two.csv")
        arrive(page, late[0])
        expect(page.locator(shown)).to_have_text("two.csv")


def test_the_last_policy_counts(page: Page, tmp_path: Path) -> None:
    """An older one may come later, or fail when its history was forgotten."""
    load(page, SWARM)
    late = hold_back(page, "policy?*")
    for at, quality in enumerate(("l2", "jeffreys"), 1):
        (tmp_path / f"{quality}.toml").write_text(f"goal = 'hide'\nsensitive = ['Gym']\nquality = '{quality}'\n")
        page.set_input_files("#policy-file", tmp_path / f"{quality}.toml")
        wait_for(page, late, at)
    arrive(page, late[1])
    expect(page.get_by_label("Measure the quality loss by")).to_have_value("jeffreys")
    arrive(page, late[0])
    expect(page.get_by_label("Measure the quality loss by")).to_have_value("jeffreys")
    expect(page.locator("#policy-words")).to_contain_text("The choices of jeffreys.toml are set.")
    page.set_input_files("#policy-file", tmp_path / "l2.toml")
    wait_for(page, late, 3)
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("button", name="Forget it now").click()
    load(page, GOOGLE)
    arrive(page, late[2])
    shows(page, GOOGLE.name)


#: Replaces how the browser tells what is in a dropped folder: by `readEntries`, which gets its way of doing it.
FOLDERS = """{
    const { webkitGetAsEntry } = DataTransferItem.prototype;
    DataTransferItem.prototype.webkitGetAsEntry = function () {
        const entry = webkitGetAsEntry.call(this);
        if (!entry?.isDirectory) return entry;
        const reader = entry.createReader();
        entry.createReader = () => ({ readEntries: (%s)((...told) => reader.readEntries(...told)) });
        return entry;
    };
}"""


@pytest.mark.parametrize("dropped", [True, False])
def test_a_folder_takes_longer_than_the_next_file(context: BrowserContext, address: str, dropped: bool) -> None:
    page = context.new_page()
    slowly = """(read) => (...told) => {
        window.searched ??= new Promise((resolve) => (window.search = resolve));
        window.searched.then(() => read(...told));
    }"""
    page.add_init_script(FOLDERS % slowly)
    page.goto(address)
    drop(page, SWARM)
    page.wait_for_function("() => window.search")
    drop(page, GOOGLE) if dropped else page.set_input_files("#file", GOOGLE)
    shows(page, GOOGLE.name)
    page.evaluate("() => window.search()")
    page.wait_for_timeout(500)
    shows(page, GOOGLE.name)


def test_a_dropped_folder_that_the_browser_cannot_read(context: BrowserContext, address: str) -> None:
    page = context.new_page()
    page.add_init_script(FOLDERS % "() => (_, failed) => failed(new DOMException('', 'NotReadableError'))")
    page.goto(address)
    drop(page, SWARM)
    expect(page.locator("#load-trouble")).to_contain_text("Your browser cannot read this.")
    load(page, GOOGLE)
    shows(page, GOOGLE.name)


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (503, "Service Unavailable", "The program answered with an error (503)."),
        (400, "Invalid HTTP request received.", "The program answered with an error (400)."),
        (200, '{"progress": 0.5}\n{"history": {"id"', "does not answer"),
        (200, "", "does not answer"),
    ],
)
def test_loading_fails(page: Page, status: int, answer: str, told: str) -> None:
    page.route("**/histories?*", lambda route: route.fulfill(status=status, body=answer))
    page.set_input_files("#file", GOOGLE)
    expect(page.locator("#load-trouble")).to_contain_text(told)
    expect(page.get_by_role("button", name="Choose a file").first).to_be_visible()


@pytest.mark.parametrize("what", ["tree", "look", "map"])
def test_an_answer_breaks_off(page: Page, what: str) -> None:
    page.route(f"**/{what}", lambda route: route.fulfill(body='{"nodes": ['))
    page.set_input_files("#file", GOOGLE)
    expect(page.locator("#load-trouble")).to_contain_text("does not answer")


def test_a_release_breaks_off(page: Page) -> None:
    load(page, GOOGLE)
    page.route("**/release", lambda route: route.fulfill(body='{"possible": '))
    tick(page, "Northside Fertility Clinic")
    expect(page.locator("#connection")).to_contain_text("does not answer")


def test_a_mistake_of_the_page_does_not_drop_the_history(browser: Browser) -> None:
    """When an answer after a reload is not what the page expects."""
    with serving(Session()) as client:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{client.port}/{TOKEN}/")
        load(page, SWARM)
        tick(page, "Iron Works Gym")
        settled(page)
        page.route("**/release", lambda route: route.fulfill(json={"possible": True}))
        with page.expect_event("pageerror"):
            page.reload()
        shows(page, "swarm_export")
        page.close()


def test_a_saved_file_breaks_off(page: Page) -> None:
    load(page, GOOGLE)
    tick(page, "Northside Fertility Clinic")
    settled(page)
    page.evaluate(
        """() => {
            const fail = () => Promise.reject(new TypeError("network error"));
            Object.assign(Response.prototype, {blob: fail, text: fail});
        }"""
    )
    for ask in (page.get_by_role("button", name="Save as CSV"), page.get_by_text("The same on the command line")):
        ask.click()
        expect(page.locator("#take-trouble")).to_contain_text("does not answer")
        page.evaluate("() => document.querySelector('#take-trouble').replaceChildren()")


def test_the_page_asks_again_when_the_connection_is_back(timed: Page) -> None:
    """Also for what a reload lacked; what the page offers is there once."""
    load(timed, SWARM)
    timed.context.set_offline(True)
    tick(timed, "Iron Works Gym")
    expect(timed.locator("#connection")).to_contain_text("does not answer")
    timed.context.set_offline(False)
    put_forward(timed)
    settled(timed)
    expect(timed.locator("#connection")).to_be_hidden()
    for what in ("api/histories/*", "tree", "look"):
        timed.route(f"**/{what}", lambda route: route.abort())
        timed.reload()
        expect(timed.locator("#connection")).to_contain_text("does not answer")
        timed.unroute_all()
        put_forward(timed)
        shows(timed, "swarm_export")
        expect(timed.locator("#look")).to_be_visible()
        settled(timed)
        expect(timed.locator("#samples button")).to_have_count(2)


def test_a_lost_connection(timed: Page) -> None:
    """The page is asked to try again before it does so by itself."""
    load(timed, SWARM)
    with timed.expect_response("**/keep"):
        timed.clock.pause_at(time.time() + 60)
    timed.context.set_offline(True)
    tick(timed, "Iron Works Gym")
    expect(timed.locator("#connection")).to_contain_text("does not answer")
    timed.locator("#take").scroll_into_view_if_needed()
    expect(timed.locator("#connection")).to_be_in_viewport(ratio=1)
    timed.context.set_offline(False)
    timed.get_by_role("button", name="Try again").click()
    settled(timed)
    expect(timed.locator("#connection")).to_be_hidden()
    expect(timed.locator("#see-title")).to_be_focused()  # the button has gone


def test_the_connection_is_lost_while_the_places_change(timed: Page) -> None:
    """Nothing that the page can do without the program ends its asking again."""
    load(timed, GOOGLE)
    tick(timed, "Northside Fertility Clinic")
    settled(timed)
    timed.context.set_offline(True)
    timed.get_by_role("radio", name="kinds of place").check()
    expect(timed.locator("#connection")).to_contain_text("does not answer")
    timed.get_by_role("button", name="Clear").click()
    timed.get_by_role("button", name="Undo").click()
    timed.wait_for_timeout(300)
    expect(timed.locator("#connection")).to_be_visible()
    timed.context.set_offline(False)
    put_forward(timed)
    expect(timed.locator("#connection")).to_be_hidden()
    assert not ew.read(GOOGLE).histogram.keys() & counts(saved(timed, "JSON")).keys()


def test_places_are_lost_and_a_release_is_not(page: Page) -> None:
    """With the answer the connection is back, and the places are asked for again."""
    load(page, SWARM)
    tick(page, "Iron Works Gym")
    page.get_by_role("radio", name="Resemble").check()
    page.route("**/tree", lambda route: route.abort())
    page.locator("#profile").select_option("commuter")
    expect(page.locator("#connection")).to_contain_text("does not answer")
    page.unroute_all()
    with page.expect_response("**/tree"):
        tick(page, "Northside Fertility Clinic")
    expect(page.locator("#connection")).to_be_hidden()


def test_two_tabs_do_not_take_questions_from_each_other_for_ever(timed: Page) -> None:
    """What another tab has asked since is said until somebody asks again."""
    load(timed, SWARM)
    timed.route("**/release", lambda route: route.fulfill(status=409, json={"error": "another tab asked later"}))
    tick(timed, "Iron Works Gym")
    expect(timed.locator("#connection")).to_contain_text("Another tab asked later.")
    timed.unroute_all()
    with timed.expect_response("**/keep"):
        put_forward(timed)
    timed.wait_for_timeout(300)
    expect(timed.locator("#connection")).to_be_visible()
    timed.get_by_role("button", name="Try again").click()
    settled(timed)
    expect(timed.locator("#connection")).to_be_hidden()


def forget_elsewhere(page: Page) -> None:
    """The program drops the history, and the page hears of it."""
    page.evaluate(
        """async () => {
            const path = `api/histories/${sessionStorage.history}`;
            await fetch(path, {method: "DELETE", headers: {"X-Elsewhere": "1"}});
        }"""
    )
    put_forward(page)
    expect(page.locator("#load-trouble")).to_contain_text("was cleared from memory")


def test_a_history_goes_while_something_else_is_loaded(timed: Page) -> None:
    load(timed, SWARM)
    late = hold_back(timed, "histories?name=google*")
    timed.set_input_files("#file", GOOGLE)
    wait_for(timed, late)
    forget_elsewhere(timed)
    expect(timed.locator("#progress-words")).to_have_text(f"Reading {GOOGLE.name} …")
    late[0].continue_()
    shows(timed, GOOGLE.name)


def test_a_history_goes_while_somebody_writes(timed: Page) -> None:
    load(timed, SWARM)
    timed.locator("#more summary").click()
    timed.get_by_label("Other places that may get visits").press_sequentially("Willow Park")
    forget_elsewhere(timed)
    timed.get_by_role("button", name="Choose a file").first.focus()
    load(timed, GOOGLE)
    shows(timed, GOOGLE.name)
    expect(timed.get_by_label("Other places that may get visits")).to_have_value("")


def test_a_history_goes_while_somebody_chooses_a_file_for_it(page: Page) -> None:
    """The file is no longer needed."""
    load(page, SWARM)
    page.get_by_role("button", name="Forget it now").click()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    for field in ("#labels", "#target-file", "#taxonomy-file", "#policy-file", "#needed-file", "#earlier-file",
                  "#saved-file"):  # fmt: skip
        page.set_input_files(field, GOOGLE)
    page.wait_for_timeout(300)
    assert not sent
    expect(page.get_by_role("button", name="Choose a file").first).to_be_visible()


def test_a_history_goes_while_the_page_asks_whether_to_save_it(timed: Page, tmp_path: Path) -> None:
    load(timed, table(tmp_path, {"Blue Lantern": 3, "Willow Court": 2}))
    timed.get_by_role("radio", name="Avoid").check()
    aim(timed, "tourist")
    timed.get_by_role("button", name="Save as CSV").click()
    expect(timed.get_by_role("dialog")).to_be_visible()
    forget_elsewhere(timed)
    expect(timed.get_by_role("dialog")).to_be_hidden()


def test_kinds_come_after_their_dialog_was_closed(page: Page, tmp_path: Path) -> None:
    """A taxonomy is forgotten with the history."""
    load(page, SWARM)
    (tmp_path / "kinds.txt").write_text("Secret\n  Iron Works Gym\n")
    page.set_input_files("#taxonomy-file", tmp_path / "kinds.txt")
    expect(page.get_by_role("treeitem", name="Secret").first).to_be_visible()
    late = hold_back(page, "kinds?*")
    page.get_by_role("treeitem", name="Blue Lantern").last.focus()
    page.get_by_role("button", name="Change kind").click()
    wait_for(page, late)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="Forget it now").click()
    with page.expect_response(late[0].request.url):
        late[0].fulfill(json=[{"value": "Secret", "name": "Secret", "depth": 0}])
    page.wait_for_timeout(300)
    assert "Secret" not in page.evaluate("() => document.body.innerHTML")


def test_a_curve_is_not_dragged_before_its_ends_are_known(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def slow(question: Question, budgets: Sequence[float], on_point: Callable[[ew.Sanitized], None]) -> ew.Frontier:
        def told(point: ew.Sanitized) -> None:
            on_point(point)
            points.append(point)
            if len(points) == 3:
                go_on.wait()

        points: list[ew.Sanitized] = []
        return solve_frontier(question, budgets, told)

    monkeypatch.setattr(curves, "solve_frontier", slow)
    with serving(Session()) as client:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{client.port}/{TOKEN}/")
        try:
            load(page, SWARM)
            page.get_by_role("radio", name="Resemble").check()
            page.get_by_role("radio", name="kinds of place").check()
            page.locator("#profile").select_option("commuter")
            page.locator("#curve .found").nth(1).wait_for()
            page.locator("#curve").click()
            go_on.set()
            settled(page)
            expect(page.get_by_role("button", name="Suggested")).to_be_disabled()  # nothing else was chosen
        finally:
            go_on.set()  # the server waits for those who wait
            page.close()


def test_a_kind_may_be_chosen_before_the_kinds_are_there(page: Page, tmp_path: Path) -> None:
    """In the field for the search, and in the list below it."""
    load(page, table(tmp_path, {"Iron Works": 2, "City Museum": 6}))
    place, keys = page.get_by_role("treeitem", name="Iron Works").last, page.keyboard
    place.focus()
    keys.press("k")
    expect(page.locator("#kind-list option").first).to_be_attached()
    expect(page.locator("#kind-use")).to_be_disabled()  # nothing is chosen in it
    keys.press("Escape")
    for own, ways in (("one.txt", ["Enter"]), ("two.txt", ["ArrowDown", "Enter"])):
        (tmp_path / own).write_text("Sport\n  Gym\nCulture\n  City Museum\n")
        page.set_input_files("#taxonomy-file", tmp_path / own)
        expect(page.locator("#taxonomy-name")).to_have_text(own)
        expect(place).to_have_attribute("aria-description", "Kind: not known")
        late = hold_back(page, "kinds?*")
        place.focus()
        keys.press("k")
        keys.type("gym")
        for key in ways:
            keys.press(key)
        wait_for(page, late)
        late[0].continue_()
        expect(place).to_have_attribute("aria-description", "Kind: Gym (you said so)")


def test_kinds_come_when_the_dialog_is_about_another_place(page: Page, tmp_path: Path) -> None:
    """What was entered for the first place is not used for the second."""
    load(page, table(tmp_path, {"Iron Works": 2, "City Museum": 6}))
    late, keys = hold_back(page, "kinds"), page.keyboard
    page.get_by_role("treeitem", name="Iron Works").last.focus()
    for key in ("k", "Enter", "Escape"):
        keys.press(key)
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("treeitem", name="City Museum").last.focus()
    keys.press("k")
    keys.type("gym")
    wait_for(page, late)
    late[0].continue_()
    expect(page.locator("#kind-list")).to_have_value("Gym")
    page.wait_for_timeout(300)
    expect(page.get_by_role("dialog", name="City Museum")).to_be_visible()
