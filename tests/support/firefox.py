"""Debian's Firefox, driven through Marionette, its own protocol: a length, a colon, and JSON."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIREFOX = Path("/usr/bin/firefox-esr")
_SECONDS = 300.0
#: How JSON marks an element of the page, as WebDriver has it.
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
#: The others keep the browser from calling home.
_PREFERENCES = {
    "browser.download.folderList": 2,
    "browser.download.alwaysOpenPanel": False,
    "browser.helperApps.neverAsk.saveToDisk": "text/csv",
    "app.update.enabled": False,
    "browser.startup.page": 0,
    "browser.safebrowsing.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
}


class Firefox:
    """A window of the browser. What it is asked for may take a while, and fails if it takes too long."""

    def __init__(self, connection: socket.socket, downloads: Path) -> None:
        self._stream, self.downloads, self._number = connection.makefile("rwb"), downloads, 0
        assert self._receive()["applicationType"] == "gecko"
        self.send("WebDriver:NewSession")

    def send(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._stream.write(b"%d:%s" % (len(message), message))
        self._stream.flush()
        _, number, error, result = self._receive()
        assert number == self._number
        assert error is None, error
        return result

    def script(self, body: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.send("WebDriver:ExecuteScript", script=body, args=list(arguments))["value"]

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true of the page."""
        until(lambda: self.script(f"return Boolean({condition})"), condition)

    def click(self, selector: str) -> None:
        self.wait_for(f"document.querySelector({json.dumps(selector)})?.disabled === false")
        self.send("WebDriver:ElementClick", id=self._find(selector))

    def choose_file(self, selector: str, path: Path) -> None:
        # A file chooser needs no field that is in sight.
        self.script("arguments[0].hidden = false", {_ELEMENT: self._find(selector)})
        self.send("WebDriver:ElementSendKeys", id=self._find(selector), text=str(path))

    def saved(self, name: str) -> bytes:
        """The content of a file that the browser saves."""
        path = self.downloads / name
        until(lambda: path.exists() and path.stat().st_size > 0, f"no {name} was saved")
        return path.read_bytes()

    def _find(self, selector: str) -> str:
        found = self.send("WebDriver:FindElement", using="css selector", value=selector)
        return str(found["value"][_ELEMENT])

    def _receive(self) -> Any:
        digits = b""
        while not digits.endswith(b":"):
            more = self._stream.read(1)
            assert more, "Firefox has ended"
            digits += more
        return json.loads(self._stream.read(int(digits[:-1])))


def until(condition: Any, failing: str) -> None:
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end, failing
        time.sleep(0.05)


@contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Firefox with a profile of its own in a folder, where what it saves gets as well."""
    profile, downloads = folder / "profile", folder / "downloads"
    profile.mkdir()
    downloads.mkdir()
    preferences = {**_PREFERENCES, "marionette.port": 0, "browser.download.dir": str(downloads)}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()]
    (profile / "user.js").write_text("".join(lines))
    command = [str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile", str(profile), "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            # Firefox takes any port that is free, and writes down which.
            active = profile / "MarionetteActivePort"
            until(lambda: active.exists() and active.read_text().strip(), "Firefox does not listen")
            port = int(active.read_text())
            with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
                yield Firefox(connection, downloads)
        finally:
            process.kill()
