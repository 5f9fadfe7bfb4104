"""The page's server keeps to itself: it answers its own page alone, on its machine alone, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from benchmarks.data import skewed

from elsewhere.app import connections, interface
from elsewhere.app.guard import Guard
from elsewhere.app.session import Session
from tests.support.client import Client, flow, program, serving


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(Session()) as client:
        yield client


KEEP = "api/samples/weekend"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {}),
        ("GET", "/api/start", {}),
        ("GET", "/wrong/", {}),
        ("GET", "/token", {}),
        ("GET", "/tokem/api/start", {}),
        ("GET", "//token/api/start", {}),
        ("GET", "/wrong/../token/api/start", {}),
        ("GET", "api/start", {"Host": "evil.example"}),
        ("GET", "api/start", {"Host": "localhost:{port}"}),
        ("GET", "api/start", {"Host": "127.0.0.1"}),
        ("GET", "api/start", {"Host": "127.0.0.1:{port}.evil.example"}),
        ("GET", "api/start", {"Origin": "https://evil.example"}),
        ("GET", "api/start", {"Origin": "null"}),
        ("GET", "api/start", {"Sec_Fetch_Site": "cross-site"}),
        ("GET", "api/start", {"Sec_Fetch_Site": "same-site"}),
        ("GET", "", {"Upgrade": "websocket", "Connection": "Upgrade", "Origin": "https://evil.example"}),
        ("POST", KEEP, {"Host": "evil.example:{port}"}),
        ("POST", KEEP, {"Origin": None}),
        ("POST", KEEP, {"Origin": "null"}),
        ("POST", KEEP, {"Origin": "https://evil.example"}),
        ("POST", KEEP, {"Origin": "http://localhost:{port}"}),
        ("POST", KEEP, {"Origin": "http://127.0.0.1:1"}),
        ("POST", KEEP, {"X_Elsewhere": None}),
        ("POST", KEEP, {"Content_Type": FORM}),
        ("POST", KEEP, {"Content_Type": "text/plain"}),
        ("POST", KEEP, {"Content_Type": None}),
        ("POST", KEEP, {"Sec_Fetch_Site": "cross-site"}),
        ("DELETE", "api/histories/x", {"Origin": None}),
        ("DELETE", "api/histories/x", {"X_Elsewhere": None}),
        ("OPTIONS", KEEP, {"Origin": "https://evil.example", "Access_Control_Request_Method": "POST"}),
        ("PUT", KEEP, {}),
        ("HEAD", "api/start", {}),
    ],
)
def test_strangers_are_refused(client: Client, method: str, path: str, headers: dict[str, str | None]) -> None:
    told = {name: value and value.format(port=client.port) for name, value in headers.items()}
    reply = client.ask(method, path, **told)
    assert reply.status == 403
    assert not any(name.startswith("access-control") for name in reply.headers)
    assert reply.headers["content-security-policy"].startswith("default-src 'self';")


def test_a_person_who_is_refused_reads_a_page(client: Client) -> None:
    """As after a restart of the program, when the browser still has the old address; scripts get JSON."""
    browser = {"Accept": "text/html,application/xhtml+xml", "Sec_Fetch_Site": "none"}
    reply = client.ask("GET", "/old-token/", **browser)
    assert (reply.status, reply.headers["content-type"]) == (403, "text/html; charset=utf-8")
    page = reply.content.decode()
    assert "Open the address shown in your terminal." in page
    assert "<script" not in page
    assert client.token not in page
    assert str(client.port) not in page
    assert client.ask("GET", "/old-token/api/start", Accept="*/*").json({})["hint"]


def test_the_page_itself_is_not(client: Client) -> None:
    """Or else nothing above is shown."""
    origin = f"http://127.0.0.1:{client.port}"
    assert client.ask("GET", "api/start", Sec_Fetch_Site="same-origin", Origin=origin).status == 200
    assert client.ask("POST", KEEP, Sec_Fetch_Site="same-origin").status == 200
    assert client.ask("GET", "", Sec_Fetch_Site="none").status == 200
    assert client.ask("GET", "static/main.js").headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("path", ["", "static/main.js", "static/nothing.js", "api/start", "api/histories/x", "nowhere"])
def test_nothing_is_kept_framed_or_taken_from_elsewhere(client: Client, path: str) -> None:
    headers = client.ask("GET", path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


@pytest.mark.parametrize("path", ["static/../server.py", "static/%2e%2e/server.py", "static/..%2fserver.py"])
def test_no_other_file_is_served(client: Client, path: str) -> None:
    assert client.ask("GET", path).status == 404


def test_a_web_socket_is_closed_before_it_opens() -> None:
    sent: list[Any] = []

    async def connect() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        async def app(*_: Any) -> None:
            raise AssertionError("it got through")

        headers = [(b"host", b"127.0.0.1:80"), (b"origin", b"http://127.0.0.1:80")]
        scope = {"type": "websocket", "path": "/token/", "headers": headers}
        await Guard(app, "token", 80)(scope, None, send)  # type: ignore[arg-type]

    asyncio.run(connect())
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_copied_ticket_is_worth_nothing(tmp_path: Path) -> None:
    """Everybody can read a command line: what the browser's has is no token, and serves one browser only."""
    seen, browser = tmp_path / "arguments", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > "{seen}.new" && mv "{seen}.new" "{seen}"\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "elsewhere", "app"]
    environment = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[-1])
        printed = Client(address.port or 0, address.path.strip("/"))
        while not seen.exists():
            time.sleep(0.05)
        assert printed.token not in seen.read_text()
        ticket = urlsplit(seen.read_text().strip()).path
        first = printed.ask("GET", ticket)
        assert first.status == 303
        browser_s = Client(printed.port, first.headers["location"].strip("/"))
        assert browser_s.token != printed.token
        assert browser_s.ask("GET", "api/start").status == 200
        assert printed.ask("GET", ticket).status == 403
        assert browser_s.ask("GET", "api/start").status == 403, "the first to come may have been the thief"
        assert printed.ask("GET", "api/start").status == 200
        process.kill()


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\nHost:", "POST {path} HTTP/1.1\r\n{head}\r\n\r\nloc"])
def test_connections_that_ask_nothing_are_closed(client: Client, monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    """Nothing at all, half of a head, and less of a body than was announced."""
    host = f"127.0.0.1:{client.port}"
    head = f"Host: {host}\r\nOrigin: http://{host}\r\nX-Elsewhere: 1\r\nContent-Type: application/json"
    path = f"/{client.token}/api/targets?name=t.csv"
    with monkeypatch.context() as soon:
        soon.setattr(connections, "HEAD_SECONDS", 0.2)
        soon.setattr(connections, "BODY_SECONDS", 0.2)
        # It may be closed before anything is sent.
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", client.port), timeout=300) as connection:
            connection.sendall(sent.format(path=path, head=f"{head}\r\nContent-Length: 100").encode())
            assert connection.recv(1000) == b""
    assert client.ask("GET", "api/start").status == 200


def test_after_the_run_no_file_holds_the_history(tmp_path: Path) -> None:
    """The program listens on loopback alone, ends with one line at Ctrl-C, and its user's folders know nothing."""
    place, before = secrets.token_hex(12), _shared()
    home = tmp_path / "home"
    for name in ("home", "tmp", "cwd"):
        (tmp_path / name).mkdir()
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": _import_path()}
    environment = {name: value for name, value in environment.items() if not name.startswith("XDG_")}
    with program(cwd=tmp_path / "cwd", env=environment) as (process, client):
        flow(client, place)
        if sys.platform == "linux":
            assert _listening(client.port) == {"0100007F"}
            assert not [path for path in Path(f"/proc/{process.pid}/fd").iterdir() if "deleted" in _target(path)]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert out.splitlines()[-1] == "Stopped. Nothing was kept."
    assert place not in out + err
    assert err == ""
    assert _holding(place.encode(), [tmp_path, *(_shared() - before)]) == []


def _import_path() -> str:
    return os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)


def _shared() -> set[Path]:
    """What is in the folders where any program may write."""
    folders = [Path(name) for name in ("/tmp", "/var/tmp", "/dev/shm", Path.home())]
    return {path for folder in folders if folder.is_dir() for path in folder.iterdir()}


def _listening(port: int) -> set[str]:
    """The addresses, as the kernel writes them, at which something listens on the port."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in _lines(Path("/proc/net", name))]
    return {row[1].split(":")[0] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:] if path.exists() else []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _holding(content: bytes, places: list[Path]) -> list[Path]:
    """The files, at these places or below, that have the content in them."""
    found = []
    # Folders of other programs may go meanwhile, which stops a walk no more than a file that has gone.
    inside = (Path(top, name) for place in places for top, _, names in os.walk(place) for name in names)
    for path in (*places, *inside):
        with suppress(OSError):  # another program's, or gone already
            if path.is_file() and content in path.read_bytes():
                found.append(path)
    return found


def test_the_search_would_find_it(tmp_path: Path) -> None:
    (tmp_path / "left").write_bytes(b"... planted ...")
    assert _holding(b"planted", [tmp_path]) == [tmp_path / "left"]


def test_the_whole_flow_with_loopback_alone() -> None:
    """Inside a network namespace that has no other device."""
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody make a network namespace")
    done = subprocess.run(
        [*alone, sys.executable, "-m", "tests.support.client"], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2], env={**os.environ, "PYTHONPATH": _import_path()},
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_ctrl_c_in_the_middle_of_a_search() -> None:
    """To go far from oneself is a subset sum in disguise, and keeps the search busy for as long as it may."""
    table = "location,count\n" + "".join(f"{location},{count}\n" for location, count in skewed(150, 10_000, 7).items())
    with program() as (process, client):
        target = client.send("api/targets", table.encode(), name="target.csv").json(interface.TABLE)["id"]
        history = client.upload("history.csv", table.encode())["id"]
        question = {"goal": "avoid", "target": target, "max_quality_loss": 0.05}
        statuses: list[int] = []

        def ask() -> None:
            with suppress(OSError, HTTPException):  # the program ends before it answers
                statuses.append(client.question(history, "release", question).status)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.3)
        assert asking.is_alive()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        asking.join()
    assert 200 not in statuses, "it has waited for the search"
    assert (process.returncode, out.splitlines()[-1], err) == (0, "Stopped. Nothing was kept.", "")


def test_a_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "elsewhere", "app", "--no-browser", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"port {port} is not available" in done.stderr
    assert "leave out --port" in done.stderr
