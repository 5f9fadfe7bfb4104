"""The page in Firefox: from a file to its release."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import elsewhere as ew
from tests.support.exports import EXPORTS
from tests.support.firefox import FIREFOX, firefox

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not FIREFOX.exists() and os.environ.get("CI") != "true", reason="there is no firefox-esr"),
]


def test_load_tick_and_save(address: str, tmp_path: Path) -> None:
    """Everything that is asked on the way is also what other browsers might not know: lines as they come, :has."""
    path = EXPORTS / "google_takeout_2023_MARCH.json"
    clinic = "Northside Fertility Clinic"
    with firefox(tmp_path) as browser:
        browser.send("WebDriver:Navigate", url=address)
        browser.script(
            """window.failures = [];
            addEventListener("error", ({message}) => failures.push(message));
            addEventListener("unhandledrejection", ({reason}) => failures.push(String(reason)));"""
        )
        browser.wait_for("document.querySelector('#samples button')")
        browser.choose_file("#file", path)
        browser.wait_for("document.querySelector('#tree li')")
        browser.wait_for("document.querySelector('#map-dots circle')")
        browser.click(f"[aria-label='Hide {clinic}']")
        browser.click("#bar button")
        assert clinic.encode() not in browser.saved("release.csv")
        expected = ew.hide(ew.read(path), [clinic])
        expected.save(tmp_path / "expected.csv")
        assert browser.saved("release.csv") == (tmp_path / "expected.csv").read_bytes()
        browser.click("input[value=resemble]")
        browser.script("profile.value = 'tourist'; profile.dispatchEvent(new Event('change'))")
        browser.wait_for("document.querySelector('#outcome-way').textContent.includes('Compare anyway')")
        browser.click("#outcome-way button:last-child")
        browser.wait_for("document.querySelector('#curve .handle')")
        browser.wait_for("!document.querySelector('[data-take]').disabled")
        assert browser.script("return failures") == []
