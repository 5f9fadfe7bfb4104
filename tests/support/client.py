"""A client of the page's server that may lie about who it is, and that holds every answer to the interface."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from elsewhere.app import interface
from elsewhere.app.server import page_server
from elsewhere.app.session import Session

TOKEN = "token"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    def json(self, schema: dict[str, Any]) -> Any:
        """The content, which the interface must know; what was refused is known as an error."""
        value = json.loads(self.content)
        import_module("jsonschema").validate(value, schema if self.status < 400 else interface.ERROR)
        return value


class Client:
    """Speaks like the page, unless it is told otherwise."""

    def __init__(self, port: int, token: str = TOKEN) -> None:
        self.port, self.token = port, token

    def ask(self, method: str, path: str, body: bytes = b"", /, **headers: str | None) -> Reply:
        """What comes back; a header that is None is left out, and a path that begins with / has the token already."""
        own: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}"}
        if method != "GET":
            own |= {"Origin": f"http://127.0.0.1:{self.port}", "X-Elsewhere": "1"}
        if method == "POST":
            own["Content-Type"] = "application/json"
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.putrequest(method, path if path.startswith("/") else f"/{self.token}/{path}", skip_host=True)
            for name, value in own.items():
                if value is not None:
                    connection.putheader(name, value)
            if method in ("POST", "DELETE"):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def send(self, path: str, content: bytes, **query: str) -> Reply:
        return self.ask("POST", f"{path}?{urlencode(query)}", content, Content_Type="application/octet-stream")

    def read(self, reply: Reply) -> Any:
        """The history that lines of JSON end with, or the error."""
        assert reply.status == 200, reply.content
        lines = [json.loads(line) for line in reply.content.splitlines()]
        for line in lines:
            import_module("jsonschema").validate(line, interface.LINE)
        shares = [line["progress"] for line in lines[:-1]]
        assert shares == sorted(shares)
        return lines[-1].get("history", lines[-1])

    def upload(self, name: str, content: bytes, **reading: str) -> Any:
        return self.read(self.send("api/histories", content, name=name, **reading))

    def question(self, history: str, kind: str, question: dict[str, Any], **query: str) -> Reply:
        path = f"api/histories/{quote(history)}/{kind}?{urlencode(query)}"
        return self.ask("POST", path, json.dumps({"number": 1, **question}).encode())

    def release(self, history: str, question: dict[str, Any]) -> Any:
        return self.question(history, "release", question).json(interface.ANSWER)

    def frontier(self, history: str, question: dict[str, Any]) -> Any:
        """The frontier that lines of JSON end with; every one of its points was told before."""
        reply = self.question(history, "frontier", question)
        assert reply.status == 200, reply.content
        budgets, *lines = [json.loads(line) for line in reply.content.splitlines()]
        for line in (budgets, *lines):
            import_module("jsonschema").validate(line, interface.POINTS)
        told = {line["point"]["max_quality_loss"] for line in lines[:-1]}
        assert told == set(budgets["budgets"])
        return lines[-1]["frontier"]

    def tree(self, history: str, **ground: Any) -> Any:
        import_module("jsonschema").validate(ground, interface.GROUND)
        path = f"api/histories/{quote(history)}/tree"
        return self.ask("POST", path, json.dumps(ground).encode()).json(interface.TREE)

    def take(self, history: str, question: dict[str, Any], what: str) -> bytes:
        reply = self.question(history, "take", question, what=what)
        assert reply.status == 200, reply.content
        assert reply.headers["content-disposition"] == f'attachment; filename="{what}"'
        return reply.content


@contextmanager
def serving(session: Session) -> Iterator[Client]:
    """The server in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = page_server(TOKEN, port, session)
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()
        try:
            yield Client(port)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def program(*options: str, **environment: Any) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The command itself, as a person starts it."""
    command = [sys.executable, "-m", "elsewhere", "app", "--no-browser", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **environment) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().split()[-1])
            assert address.hostname == "127.0.0.1"
            yield process, Client(address.port or 0, address.path.strip("/"))
        finally:
            process.kill()


def flow(client: Client, place: str) -> None:
    """All that a person does, with a history that has a place nobody else has."""
    assert client.ask("GET", "").status == 200
    client.ask("GET", "api/start").json(interface.START)
    history = client.upload("history.csv", f"location,count\n{place} Hospital,3\ncafe,7\nMuseum,2\n".encode())["id"]
    client.tree(history)
    hide = {"goal": "hide", "sensitive": ["preset:health"]}
    resemble = {"goal": "resemble", "target": "tourist", "max_quality_loss": 0.2}
    assert client.release(history, hide)["possible"]
    assert client.release(history, resemble)["possible"]
    client.frontier(history, resemble)
    for what in interface.TAKEN:
        assert client.take(history, resemble, what)
    assert place.encode() not in client.take(history, hide, "release.csv")


def _raise_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up_and_running = struct.pack("16sh", b"lo", 0x41)
        fcntl.ioctl(any_socket, 0x8914, up_and_running)


if __name__ == "__main__":  # inside a network namespace of its own, which has nothing but loopback
    _raise_loopback()
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
    with program() as (_, page):
        flow(page, "Lonely")
    print("done")
