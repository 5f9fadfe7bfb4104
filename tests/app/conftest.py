"""The page in a real browser, for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from tests.support.browser import served  # the other tests need no browser

    with served() as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.support.browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser, address: str) -> Iterator[BrowserContext]:
    """A browser's window. Whatever a page of it asks for is on this machine, and no script of it fails."""
    asked: list[str] = []
    failures: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)  # the first question of a fresh installation compiles
    context.on("request", lambda request: asked.append(request.url))
    context.on("weberror", lambda error: failures.append(str(error.error)))
    yield context
    opened = [history for page in context.pages if (history := page.evaluate("() => sessionStorage.history"))]
    context.close()
    forget(address, opened)
    home = urlsplit(address)
    # What is saved is a blob of the page's own.
    elsewhere = [url for url in asked if urlsplit(url.removeprefix("blob:")).netloc != home.netloc]
    assert asked
    assert not elsewhere
    assert not failures


def forget(address: str, histories: list[str]) -> None:
    """There is only room for so many in a program that serves a whole file of tests."""
    from tests.support.client import Client

    found = urlsplit(address)
    for history in histories:
        Client(found.port or 0, found.path.strip("/")).ask("DELETE", f"api/histories/{history}")


@pytest.fixture
def page(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    return page
