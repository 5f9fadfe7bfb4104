"""The page's server: its routes. It has no algorithms and writes no files."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from elsewhere import __version__
from elsewhere.app import curves, kinds, maps, queries, views
from elsewhere.app.bodies import MOST_QUESTION, body, json_in, query, question_in, reading_options
from elsewhere.app.checks import check_file
from elsewhere.app.connections import MOST_CONNECTIONS, Connection
from elsewhere.app.exports import take
from elsewhere.app.guard import Guard, Ticket
from elsewhere.app.interface import TAKEN
from elsewhere.app.policies import as_question
from elsewhere.app.session import (
    FORGOTTEN_AFTER,
    SAMPLES,
    UPLOAD_BYTES,
    OpenHistory,
    Refused,
    Session,
    file_name,
)
from elsewhere.app.streams import Line, line, lines_of, streamed
from elsewhere.app.workers import Workers
from elsewhere.histories import InMemoryFile
from elsewhere.kernels.cancellation import cancellable
from elsewhere.kernels.first_answers import seconds_compiling
from elsewhere.model.distances import DISTANCES
from elsewhere.model.errors import ElsewhereError
from elsewhere.model.question import METHODS
from elsewhere.model.taxonomy import PRESET, Taxonomy
from elsewhere.policy import Policy

_PROGRESS_EVERY = 0.1
_MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def page_server(token: str, port: int, session: Session, ticket: Ticket | None = None) -> uvicorn.Server:
    """The server of one page."""
    # An access log would reveal what was requested, and a traceback could contain parts of the history.
    config = uvicorn.Config(
        _page(token, port, session, ticket), http=Connection, ws="none", log_config=None, log_level="critical",
        access_log=False, server_header=False, date_header=False, timeout_graceful_shutdown=1,
        limit_concurrency=MOST_CONNECTIONS,
    )  # fmt: skip
    return uvicorn.Server(config)


def _page(token: str, port: int, session: Session, ticket: Ticket | None) -> ASGIApp:
    """The routes, behind the guard."""
    service = _Service(session)
    routes = [
        Route("/", _static),
        Route("/static/{name}", _static),
        Route("/api/start", service.start),
        Route("/api/samples/{id}", service.sample, methods=["POST"]),
        Route("/api/histories", service.upload, methods=["POST"]),
        Route("/api/folders", service.folder, methods=["POST"]),
        Route("/api/folders/{id}", service.forget_folder, methods=["DELETE"]),
        Route("/api/folders/{id}/files", service.folder_file, methods=["POST"]),
        Route("/api/folders/{id}/read", service.folder_read, methods=["POST"]),
        Route("/api/histories/{id}", service.history),
        Route("/api/histories/{id}", service.forget, methods=["DELETE"]),
        Route("/api/histories/{id}/look", service.look),
        Route("/api/histories/{id}/map", service.map),
        Route("/api/land", service.land),
        Route("/api/histories/{id}/keep", service.keep, methods=["POST"]),
        Route("/api/histories/{id}/labels", service.labels, methods=["POST"]),
        Route("/api/histories/{id}/tree", service.tree, methods=["POST"]),
        Route("/api/histories/{id}/release", service.release, methods=["POST"]),
        Route("/api/histories/{id}/frontier", service.frontier, methods=["POST"]),
        Route("/api/histories/{id}/stop", service.stop, methods=["POST"]),
        Route("/api/histories/{id}/take", service.take, methods=["POST"]),
        Route("/api/histories/{id}/policy", service.policy, methods=["POST"]),
        Route("/api/targets", service.target, methods=["POST"]),
        Route("/api/taxonomies", service.taxonomy, methods=["POST"]),
        Route("/api/releases", service.earlier, methods=["POST"]),
        Route("/api/histories/{id}/verify", service.verify, methods=["POST"]),
        Route("/api/kinds", service.kinds),
        Route("/api/compiling", service.compiling),
    ]
    handlers: Any = {ElsewhereError: _refusal, MemoryError: _refusal, 404: _no_such, 405: _no_such, Exception: _fault}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=service.lifespan)
    app.router.redirect_slashes = False
    return Guard(app, token, port, ticket)


class _Service:
    """The handlers of the routes. Work runs in threads, and the solvers release the GIL."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        # Reading and curves take long and must not delay the slider.
        self._quick, self._long = Workers(), Workers()
        sweeper = asyncio.create_task(self._forget_old())
        yield
        sweeper.cancel()

    async def start(self, _: Request) -> Response:
        presets = Taxonomy.shipped().presets.items()
        return JSONResponse(
            {
                "version": __version__,
                "samples": [{"id": at, "name": name, "description": text} for at, (name, text) in SAMPLES.items()],
                "presets": [
                    {"id": PRESET + name, "name": name.replace("-", " ").capitalize(), "description": text}
                    for name, text in presets
                ],
                "profiles": [views.profile(it) for it in self._session.profiles.values()],
                "limits": {"upload_bytes": UPLOAD_BYTES, "seconds": queries.SECONDS},
                "methods": METHODS,
                "distances": list(DISTANCES),
                "notes": list(self._session.profiles.notes),
            }
        )

    async def sample(self, request: Request) -> Response:
        return self._read(lambda _: self._session.read_sample(request.path_params["id"]), 1)

    async def upload(self, request: Request) -> Response:
        name, reading = file_name(query(request, "name")), reading_options(request)
        content = await body(request, UPLOAD_BYTES)
        return self._read(
            lambda on_progress: self._session.read(InMemoryFile(name, content, on_progress), reading), len(content)
        )

    async def folder(self, request: Request) -> Response:
        return JSONResponse({"id": self._session.open_folder(query(request, "name")), "files": 0})

    async def folder_file(self, request: Request) -> Response:
        at, path = request.path_params["id"], query(request, "name")
        count = self._session.add_file(at, path, await body(request, UPLOAD_BYTES))
        return JSONResponse({"id": at, "files": count})

    async def folder_read(self, request: Request) -> Response:
        at, reading = request.path_params["id"], reading_options(request)
        _, inside = self._session.folders.ask(at)
        size = sum(map(len, inside.values()))
        return self._read(lambda on_progress: self._session.read_folder(at, on_progress, reading), size)

    async def forget_folder(self, request: Request) -> Response:
        self._session.folders.forget(request.path_params["id"])
        return JSONResponse({})

    async def labels(self, request: Request) -> Response:
        at, name = self._open(request).id, file_name(query(request, "name"))
        content = await body(request, UPLOAD_BYTES)
        return self._read(
            lambda on_progress: self._session.label(at, InMemoryFile(name, content, on_progress)), len(content)
        )

    async def target(self, request: Request) -> Response:
        name, content = file_name(query(request, "name")), await body(request, UPLOAD_BYTES)
        table = await self._long.do(lambda: self._session.add_target(InMemoryFile(name, content), content))
        return JSONResponse({"id": table.id, "name": table.name, "length": table.length})

    async def taxonomy(self, request: Request) -> Response:
        name, content = file_name(query(request, "name")), await body(request, UPLOAD_BYTES)
        table = await self._long.do(lambda: self._session.add_taxonomy(name, content))
        return JSONResponse({"id": table.id, "name": table.name, "length": table.length})

    async def earlier(self, request: Request) -> Response:
        name, content = file_name(query(request, "name")), await body(request, UPLOAD_BYTES)
        table = await self._long.do(lambda: self._session.add_release(name, content))
        return JSONResponse({"id": table.id, "name": table.name, "length": table.length})

    async def verify(self, request: Request) -> Response:
        opened, question, at = self._open(request), await question_in(request), query(request, "release")
        return JSONResponse(await self._long.do(lambda: check_file(self._session, opened, question, at)))

    async def history(self, request: Request) -> Response:
        return JSONResponse(views.history(self._open(request)))

    async def look(self, request: Request) -> Response:
        opened = self._open(request)
        return JSONResponse(await self._quick.do(lambda: views.look(opened)))

    async def map(self, request: Request) -> Response:
        return JSONResponse({"places": maps.places(self._open(request))})

    async def land(self, request: Request) -> Response:
        asked = maps.window(*(query(request, edge) for edge in ("west", "south", "east", "north")))
        return JSONResponse(await self._long.do(lambda: maps.land(asked)))

    async def keep(self, request: Request) -> Response:
        self._open(request)
        return JSONResponse({})

    async def forget(self, request: Request) -> Response:
        self._session.forget(request.path_params["id"])
        return JSONResponse({})

    async def tree(self, request: Request) -> Response:
        opened, ground = self._open(request), await json_in(request, "the body")
        return JSONResponse(await self._quick.do(partial(kinds.tree, self._session, opened, ground)))

    async def kinds(self, request: Request) -> Response:
        return JSONResponse(kinds.kinds_of(self._session, request.query_params.get("taxonomy")))

    async def release(self, request: Request) -> Response:
        opened, question = self._open(request), await question_in(request)
        work = partial(queries.release, self._session, opened, question)
        return JSONResponse(await self._newest("release", opened, question, work, self._quick))

    async def frontier(self, request: Request) -> Response:
        opened, question = self._open(request), await question_in(request)

        async def curve(tell: Callable[[Line], None]) -> Line:
            work = partial(curves.frontier, self._session, opened, question, tell)
            return {"frontier": await self._newest("frontier", opened, question, work, self._long)}

        return await streamed(curve, _said)

    async def stop(self, request: Request) -> Response:
        opened, question = self._open(request), await question_in(request)
        opened.stopped = max(opened.stopped, question["number"])
        return JSONResponse({})

    async def compiling(self, _: Request) -> Response:
        return JSONResponse({"seconds": seconds_compiling()})

    async def take(self, request: Request) -> Response:
        opened, question, what = self._open(request), await question_in(request), query(request, "what")
        insists = request.query_params.get("allow_unchanged") == "1"
        content = await self._long.do(lambda: take(self._session, opened, question, what, insists))
        disposition = {"Content-Disposition": f'attachment; filename="{what}"'}
        return Response(content, media_type=TAKEN[what], headers=disposition)

    async def policy(self, request: Request) -> Response:
        opened, name = self._open(request), file_name(query(request, "name"))
        policy = Policy.parse(name, await body(request, MOST_QUESTION))
        work = partial(as_question, self._session, opened, policy, request.query_params)
        return JSONResponse(await self._quick.do(work))

    def _open(self, request: Request) -> OpenHistory:
        return self._session.histories.ask(request.path_params["id"])

    async def _newest(
        self, kind: str, opened: OpenHistory, question: dict[str, Any], work: Callable[[], Any], workers: Workers
    ) -> Any:
        """The answer to a question, unless a newer question arrives or the history is closed."""
        number = question["number"]
        opened.newest[kind] = max(number, opened.newest.get(kind, 0))

        def check_cancelled() -> None:
            if number < opened.newest[kind] or opened.id not in self._session.histories:
                raise queries.overtaken()

        def unless_overtaken() -> Any:
            check_cancelled()
            with cancellable(check_cancelled):
                return work()

        return await workers.do(unless_overtaken)

    def _read(self, work: Callable[[Callable[[int], None]], OpenHistory], size: int) -> Response:
        """Stream JSON lines with the progress of reading, and the history or an error at the end."""
        seen, stopped = 0, False

        def on_progress(count: int) -> None:
            nonlocal seen
            seen += count
            if stopped:
                raise Refused(499, "the page cancelled this question")

        async def lines() -> AsyncIterator[bytes]:
            nonlocal stopped
            reading = asyncio.create_task(self._opened(self._long.do(lambda: work(on_progress))))
            heard = False
            try:
                while not reading.done():
                    await asyncio.wait({reading}, timeout=_PROGRESS_EVERY)
                    # A file is usually read twice: once to detect its format, and once for its content.
                    yield line({"progress": min(seen / (2 * size or 1), 1.0)})
                yield line(reading.result())
                heard = True
            finally:
                stopped = True
                if not heard:
                    self._drop(reading)

        return lines_of(lines())

    async def _opened(self, work: Awaitable[OpenHistory]) -> dict[str, Any]:
        """The history that is read, and on the session then, or what is wrong with it."""
        try:
            return {"history": views.history(self._session.put(await work))}
        except Exception as error:
            return _said(error)

    def _drop(self, reading: asyncio.Task[dict[str, Any]]) -> None:
        """Keep nothing of what was to be read: the page has gone, or was told to stop."""
        if reading.cancel():
            return
        at = reading.result().get("history", {}).get("id")
        if at in self._session.histories and self._session.histories[at].labels is None:
            self._session.forget(at)

    async def _forget_old(self) -> NoReturn:
        while True:
            await asyncio.sleep(FORGOTTEN_AFTER / 20)
            self._session.forget_old()


async def _static(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    known = {file.name: file for file in files("elsewhere").joinpath("app", "static").iterdir()}
    if name not in known or Path(name).suffix not in _MEDIA:
        return await _no_such(request, None)
    return Response(known[name].read_bytes(), media_type=_MEDIA[Path(name).suffix])


def _said(error: BaseException) -> dict[str, Any]:
    """An error in a line of an answer."""
    return _sentence(error) if isinstance(error, ElsewhereError | MemoryError) else _our_fault(error)


def _sentence(error: BaseException) -> dict[str, Any]:
    if isinstance(error, MemoryError):
        return _error("there is not enough memory for this")
    return _error(
        str(error), getattr(error, "hint", None), getattr(error, "ways", ()), getattr(error, "users", None) or {}
    )


def _error(
    sentence: str, hint: str | None = None, ways: Iterable[str] = (), users: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Any]:
    listed = [{"name": name, "visits": visits} for name, visits in users.items()]
    return {"error": sentence, "hint": hint, "ways": list(ways), "users": listed}


async def _refusal(_: Request, error: Exception) -> Response:
    return JSONResponse(_sentence(error), status_code=getattr(error, "status", 400))


async def _no_such(_: Request, __: Exception | None) -> Response:
    return JSONResponse(_error("there is nothing at this address"), status_code=404)


async def _fault(_: Request, error: Exception) -> Response:
    return JSONResponse(_our_fault(error), status_code=500)


def _our_fault(error: BaseException) -> dict[str, Any]:
    """Print where an internal error happened, without its message, which may contain parts of the history."""
    if not isinstance(error, ClientDisconnect):
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {Path(at.filename).name}, line {at.lineno}"
        print(f"elsewhere: internal error ({where}); please report it", file=sys.stderr)
    return _error("elsewhere had an internal error; your terminal shows where", "Try something else.")
