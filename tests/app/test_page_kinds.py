"""Kinds of place on the page, in a real browser: reasons, corrections, what to ask about, and releases of kinds."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import elsewhere as ew
from tests.app.test_page import counts, load, looks_right, saved, settled, tab_to, table, tick
from tests.support.browser import CHROMIUM

expect.set_options(timeout=60_000)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists() and os.environ.get("CI") != "true", reason="there is no chromium"),
]
HISTORY = {
    "Klinikum Nord": 4, "Ty's Bar": 5, "Blue Lantern": 3, "Iron Works": 2, "City Museum": 6, "Hotel Adlon": 3,
    "Café Morgenrot": 7,
}  # fmt: skip


@pytest.fixture
def loaded(page: Page, tmp_path: Path) -> Page:
    load(page, table(tmp_path, HISTORY))
    return page


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("treeitem", name=re.compile(f"^{re.escape(name)}, ")).last


def chip(page: Page, preset: str) -> Locator:
    return page.locator(f"[data-preset='preset:{preset}']")


def above(place: Locator) -> str:
    """The name of the branch that a place is in."""
    return str(
        place.evaluate(
            """(row) => {
                const level = (at) => Number(at.getAttribute("aria-level"));
                let at = row;
                while (at && level(at) >= level(row)) at = at.previousElementSibling;
                return at.querySelector(".name").textContent;
            }"""
        )
    )


def test_why_a_place_is_where_it_is(loaded: Page) -> None:
    """On hover, for a screen reader, and below the tree for everybody."""
    clinic = row(loaded, "Klinikum Nord")
    expect(clinic).to_have_attribute("title", "Klinikum Nord\nKind: Hospital (the word 'klinikum')")
    expect(clinic).to_have_attribute("aria-description", "Kind: Hospital (the word 'klinikum')")
    expect(row(loaded, "Blue Lantern")).to_have_attribute(
        "aria-description", "Kind: not known (the name does not tell)"
    )
    clinic.focus()
    expect(loaded.locator("#kind-place")).to_have_text("Klinikum Nord")
    expect(loaded.locator("#kind-words")).to_have_text("Kind: Hospital (the word 'klinikum')")
    row(loaded, "Hospital").focus()
    expect(loaded.get_by_role("button", name="Change kind")).to_be_hidden()


def test_a_kind_is_corrected_with_the_mouse(loaded: Page, tmp_path: Path) -> None:
    """The place moves at once, counts for its preset, can be undone, survives a reload, and is in the policy."""
    expect(chip(loaded, "sex-life")).to_have_count(0)
    bar = row(loaded, "Ty's Bar")
    assert above(bar) == "Bar"
    bar.hover()
    bar.locator(".pen").click()
    loaded.get_by_label("Search kinds of place").fill("gay")
    expect(loaded.locator("#kind-list option").first).to_have_text("Gay bar (LGBT venue, Society)")
    loaded.get_by_role("button", name="Use this kind").click()
    expect(bar).to_have_attribute("aria-description", "Kind: Gay bar (you said so)")
    expect(bar).to_have_attribute("aria-checked", "false")  # the pencil ticks nothing
    assert above(bar) == "Gay bar"
    chip(loaded, "sex-life").click()
    expect(bar).to_have_attribute("aria-checked", "true")
    assert counts(saved(loaded, "JSON")) == dict(ew.hide(HISTORY, ["Ty's Bar"]).histogram)
    policy = saved(loaded, "Policy")
    assert tomllib.loads(policy.decode())["kinds"] == {"Ty's Bar": "Gay bar"}

    loaded.reload()
    expect(chip(loaded, "sex-life")).to_have_attribute("aria-pressed", "true")
    assert above(bar) == "Gay bar"

    load(loaded, table(tmp_path, HISTORY))
    expect(chip(loaded, "sex-life")).to_have_count(0)
    (tmp_path / "policy.toml").write_bytes(policy)
    loaded.set_input_files("#policy-file", tmp_path / "policy.toml")
    expect(chip(loaded, "sex-life")).to_have_attribute("aria-pressed", "true")
    loaded.get_by_role("button", name="Undo").click()
    expect(chip(loaded, "sex-life")).to_have_count(0)
    assert above(bar) == "Bar"
    loaded.get_by_role("button", name="Redo").click()
    expect(bar).to_have_attribute("aria-checked", "true")
    bar.focus()
    loaded.get_by_role("button", name="Change kind").click()
    loaded.get_by_role("button", name="As guessed").click()
    expect(bar).to_have_attribute("aria-description", "Kind: Bar (the word 'bar')")
    expect(bar).to_have_attribute("aria-checked", "true")  # what was ticked stays ticked


def test_a_kind_is_corrected_with_the_keyboard(loaded: Page) -> None:
    """The focus comes back to the place, wherever it is then."""
    keys = loaded.keyboard
    tab_to_tree(loaded)
    focused = loaded.locator("#tree li:focus")
    while "Klinikum" not in (focused.get_attribute("aria-label") or ""):
        keys.press("ArrowDown")
    keys.press("k")
    expect(loaded.get_by_label("Search kinds of place")).to_be_focused()
    keys.press("Escape")
    expect(loaded.get_by_role("dialog")).to_be_hidden()
    expect(focused).to_have_attribute("aria-label", "Klinikum Nord, 4 visits")
    keys.press("k")
    keys.type("vet")
    keys.press("ArrowDown")  # into the list
    expect(loaded.locator("#kind-list")).to_be_focused()
    keys.press("Enter")
    expect(focused).to_have_attribute("aria-description", "Kind: Veterinarian (you said so)")
    expect(chip(loaded, "health")).to_have_count(0)
    keys.press("k")
    tab_to(loaded, "#kind-none")
    keys.press("Enter")
    expect(focused).to_have_attribute("aria-description", "Kind: not known (you said so)")
    keys.press("Control+z")
    keys.press("Control+z")
    expect(chip(loaded, "health")).to_have_count(1)
    expect(focused).to_have_attribute("aria-label", "Klinikum Nord, 4 visits")


def tab_to_tree(page: Page) -> None:
    page.locator("#protect-title").focus()
    tab_to(page, "#tree li")


def test_a_kind_among_many_places(page: Page, tmp_path: Path) -> None:
    load(page, table(tmp_path, {f"Xyzzy {at}": 1 + at % 7 for at in range(20_000)}))
    page.get_by_label("Search places").fill("xyzzy 12345")
    row(page, "Xyzzy 12345").focus()
    page.keyboard.press("k")
    page.keyboard.type("hospital")
    page.keyboard.press("Enter")
    expect(row(page, "Xyzzy 12345")).to_have_attribute("aria-description", "Kind: Hospital (you said so)")
    expect(page.locator("#tree li:focus")).to_have_attribute("aria-label", re.compile("^Xyzzy 12345,"))
    page.get_by_label("Search places").fill("")
    assert page.evaluate("() => document.querySelectorAll('#tree li, #bars li').length") < 400


def test_the_page_asks_about_what_names_do_not_tell(loaded: Page, tmp_path: Path) -> None:
    loaded.get_by_text("Is any of these sensitive?").click()
    expect(loaded.locator("#unsure-list li")).to_have_text(["Ty's Bar5", "Blue Lantern3", "Iron Works2"])
    box = loaded.get_by_role("checkbox", name="Blue Lantern")
    box.check()
    expect(row(loaded, "Blue Lantern")).to_have_attribute("aria-checked", "true")
    assert "Blue Lantern" not in counts(saved(loaded, "JSON"))
    tick(loaded, "Blue Lantern")
    expect(box).not_to_be_checked()
    load(loaded, table(tmp_path, {"City Museum": 3, "Hotel Adlon": 1}))
    expect(loaded.locator("#unsure")).to_be_hidden()


def test_a_target_that_matches_little(loaded: Page) -> None:
    """A refusal with two ways on: by kinds, in which ticks stand for the whole kinds; or anyway."""
    tick(loaded, "Ty's Bar")
    loaded.get_by_role("radio", name="Resemble").check()
    loaded.get_by_label("Profile to resemble").select_option("tourist")
    expect(loaded.locator("#outcome-words")).to_contain_text(re.compile(r"^Only \d+% of the target's weight"))
    expect(loaded.get_by_role("button", name="Save as CSV")).to_be_disabled()
    loaded.get_by_role("button", name="Compare kinds of place instead").click()
    expect(loaded.get_by_role("radio", name="kinds of place")).to_be_checked()
    expect(loaded.locator("#by-words")).to_contain_text("Your ticks now cover the whole kinds")
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 5 visits ticked: Bar.")
    released = counts(saved(loaded, "JSON"))
    assert "Bar" not in released
    assert not {*HISTORY} & released.keys()
    assert sum(released.values()) == sum(HISTORY.values())
    loaded.reload()
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 5 visits ticked: Bar.")

    loaded.get_by_role("radio", name="names of places").check()
    loaded.get_by_role("button", name="Compare anyway").click()
    expect(loaded.locator("#ticked")).to_have_text("1 place with 5 visits ticked: Ty's Bar.")
    settled(loaded)
    assert counts(saved(loaded, "JSON")).keys() <= HISTORY.keys() - {"Ty's Bar"}
    loaded.get_by_label("Profile to resemble").select_option("student")
    expect(loaded.get_by_role("button", name="Compare anyway")).to_be_visible()  # it was for the other target


def test_no_way_between_names_and_kinds_uncovers_a_place(loaded: Page) -> None:
    """Back and forth, and over undo and redo: what was ticked is never released by its name or as its kind."""
    kind, name = (loaded.get_by_role("radio", name=it) for it in ("kinds of place", "names of places"))
    tick(loaded, "Blue Lantern")
    kind.check()
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 5 visits ticked: Unknown.")
    assert "Unknown" not in counts(saved(loaded, "JSON"))
    name.check()
    expect(loaded.locator("#ticked")).to_contain_text("2 places with 5 visits ticked")  # both of no kind
    assert not {"Blue Lantern", "Iron Works"} & counts(saved(loaded, "JSON")).keys()
    undo, redo = (loaded.get_by_role("button", name=it) for it in ("Undo", "Redo"))
    undo.click()
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 5 visits ticked: Unknown.")
    undo.click()
    expect(loaded.locator("#ticked")).to_have_text("1 place with 3 visits ticked: Blue Lantern.")
    redo.click()
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 5 visits ticked: Unknown.")


def test_other_kinds_of_place(loaded: Page, tmp_path: Path) -> None:
    """With another taxonomy ticks of kinds become those of the new kinds, and corrections are dropped aloud."""
    row(loaded, "Iron Works").focus()
    loaded.keyboard.press("k")
    loaded.keyboard.type("gym")
    loaded.keyboard.press("Enter")
    expect(row(loaded, "Iron Works")).to_have_attribute("aria-description", "Kind: Gym (you said so)")
    loaded.get_by_role("radio", name="kinds of place").check()
    expect(row(loaded, "Hotel Adlon")).to_have_count(0)  # a branch of names is called Hotel, too
    tick(loaded, "Hotel")
    (tmp_path / "kinds.txt").write_text("Sleep\n  Hotel Adlon\nFood\n  Café Morgenrot\n")
    loaded.set_input_files("#taxonomy-file", tmp_path / "kinds.txt")
    expect(loaded.locator("#policy-words")).to_contain_text("were dropped")
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 3 visits ticked: Hotel Adlon.")
    released = counts(saved(loaded, "JSON"))
    assert released.keys() == {"Café Morgenrot", "Unknown"}
    loaded.get_by_text("Use my own kinds of place").click()
    loaded.get_by_role("button", name="Use the standard kinds").click()
    expect(loaded.locator("#choose-taxonomy")).to_be_focused()  # the other button has gone
    expect(loaded.locator("#ticked")).to_have_text("1 kind with 3 visits ticked: Hotel.")


def test_sensitive_counts_rise_only_if_allowed(page: Page, tmp_path: Path) -> None:
    load(page, table(tmp_path, {"Klinikum Nord": 1, "City Museum": 9, "Hotel Adlon": 9}))
    (tmp_path / "own.csv").write_text("location,count\nKlinikum Nord,9\nCity Museum,9\nHotel Adlon,1\n")
    page.get_by_role("radio", name="Resemble").check()
    expect(page.get_by_label("Allow more visits at places of sensitive kinds")).to_be_hidden()
    page.set_input_files("#target-file", tmp_path / "own.csv")
    page.get_by_label("Quality loss at most").fill("0.2")
    page.keyboard.press("Tab")
    assert counts(saved(page, "JSON")).get("Klinikum Nord", 0) <= 1
    page.get_by_label("Allow more visits at places of sensitive kinds").check()
    warning = page.locator("#outcome-notes li", has_text="Warning: the release adds visits")
    expect(warning).to_contain_text("Klinikum Nord")
    assert counts(saved(page, "JSON"))["Klinikum Nord"] > 1
    page.get_by_role("button", name="Undo").click()
    expect(warning).to_have_count(0)
    expect(page.get_by_label("Allow more visits at places of sensitive kinds")).not_to_be_checked()


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_for_everybody(browser: Browser, address: str, tmp_path: Path, theme: str) -> None:
    context = browser.new_context(color_scheme=theme, bypass_csp=True)  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(address)
    load(page, table(tmp_path, {**HISTORY, "a" * 200: 2}))
    page.get_by_text("Is any of these sensitive?").click()
    page.get_by_role("radio", name="Resemble").check()
    page.get_by_label("Profile to resemble").select_option("tourist")
    expect(page.get_by_role("button", name="Compare anyway")).to_be_visible()
    looks_right(page, tmp_path / "refused")
    row(page, "Klinikum Nord").focus()  # another target has brought another tree
    page.get_by_role("button", name="Change kind").click()
    expect(page.locator("#kind-list option").first).to_be_attached()
    looks_right(page, tmp_path / "dialog")
    context.close()
