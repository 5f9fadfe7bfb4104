"""The page as a person has it: the program that serves it, and a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
#: As root there is no sandbox; the others keep the browser from calling home.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def served(cache: Path | None = None) -> Iterator[str]:
    """The address of a page that the command line serves meanwhile; with an empty `cache` nothing is compiled yet."""
    environment = {**os.environ, "ELSEWHERE_KEY": bytes(range(32)).hex()}
    if cache is None:
        import_module("elsewhere.preload")  # has the solvers compiled, which nobody should wait for in a browser
    else:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", "elsewhere", "app", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment) as program:
        assert program.stdout is not None
        said = program.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        try:
            yield found[0]
        finally:
            program.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's browser, driven from here."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS, timeout=300_000)
        try:
            yield browser
        finally:
            browser.close()
