"""The documentation site: no warning, no name without a page, nothing that is fetched when it is viewed."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere
from elsewhere.pictures import canvas

ROOT = Path(__file__).parents[1]
#: What a browser loads without being asked to.
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it; a link that leads nowhere is a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_public_name_has_an_entry(site: Path) -> None:
    text = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    entries = set(re.findall(r'id="(?:module-)?elsewhere\.(\w+)', text))
    assert set(elsewhere.__all__) <= entries


def test_every_command_has_an_entry(site: Path) -> None:
    from elsewhere.cli import commands

    text = (site / "reference" / "commands.html").read_text("utf-8")
    assert all(f'id="elsewhere-{name}"' in text for name in commands.commands)


def test_nothing_is_fetched(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = _Loaded()
        loaded.feed(page.read_text("utf-8"))
        assert not [address for address in loaded.addresses if re.match(r"(?:https?:)?//", address)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet


def test_every_drawing_can_be_made_again() -> None:
    """And none is left that nothing makes. What they look like is for people to judge."""
    drawings: Any = import_module("docs.pictures.drawings")
    assert set(drawings.DRAWINGS) == {path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    for draw in drawings.DRAWINGS.values():
        with canvas.settings():
            assert draw().axes


class _Loaded(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if address := dict(attrs).get(_LOADED.get(tag, "")):
            self.addresses.append(address)
