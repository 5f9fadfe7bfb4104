"""The open histories, targets and taxonomies of the page, only in memory and not for long."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any, Generic, TypeVar

from elsewhere import profiles
from elsewhere.histories import History, InMemoryFile, read, read_weights, relabelled, visits_by_user
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.model.kinds import Kind
from elsewhere.model.result import Sanitized
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.plan import Plan
from elsewhere.policy import SHIPPED, Policy
from elsewhere.text import quote
from elsewhere.verification.release_file import ReleaseFile, parse_release

#: The most bytes that may be uploaded for one history.
UPLOAD_BYTES = 200 * 2**20
#: The most bytes of an unpacked file.
_MOST_UNPACKED = 2**30
#: Seconds without a request after which an entry is dropped.
FORGOTTEN_AFTER = 600.0
#: The most open entries of each kind, a limit for a page out of control.
_MOST_OPEN = 64
_MOST_FILES = 10_000
#: The most users of a file that the page lists.
_MOST_USERS = 1000

#: Made-up histories to try; each is a file of the package.
SAMPLES = {
    "weekend": ("A weekend away", "Three days of Mira, a made-up traveller, with the names of the places."),
    "year": ("A year in the city", "A year of Jonas, a made-up nurse, with the kinds of place."),
}

Thing = TypeVar("Thing")


class Refused(ElsewhereError):
    """A request that cannot be served, with its HTTP status and remedies.

    `ways` are choices that the page offers as buttons: ERROR in the interface lists them.
    """

    def __init__(self, status: int, sentence: str, hint: str | None = None, ways: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.status, self.hint, self.ways = status, hint, ways


class SeveralUsers(InputError):
    """A file with several users, of whom one must be chosen: their names and numbers of visits."""

    def __init__(self, sentence: str, users: Mapping[str, int]) -> None:
        super().__init__(sentence, ("user",))
        self.users = users


@dataclass
class OpenHistory:
    """An open history, with the latest results for it."""

    id: str
    name: str
    history: History
    #: The history as read from the file, before labels are applied.
    as_read: History
    #: The reading options.
    reading: Mapping[str, str]
    #: The name of the table of labels, if it has one.
    labels: str | None = None
    question: dict[str, Any] | None = None
    #: The number of the newest question, for each kind of request.
    newest: dict[str, int] = field(default_factory=dict)
    #: Curves of questions up to this number should stop.
    stopped: int = 0
    answered: tuple[Policy, Sanitized] | None = None
    #: The last answer while the slider moved.
    drafted: tuple[Policy, Sanitized] | None = None
    #: The plan of the last question, which caches kinds of place, and the choices that it was made from.
    plan: tuple[Any, Plan] | None = None
    #: The reasons for the kinds of its places, by name, as far as they were requested.
    reasons: dict[str, Kind] = field(default_factory=dict)


@dataclass(frozen=True)
class Table(Generic[Thing]):
    """A target or a taxonomy that came as a file."""

    id: str
    name: str
    content: Thing
    length: int


class ExpiringStore(dict[str, Thing]):
    """Entries by id. An entry is dropped if nobody has requested it for a while."""

    def __init__(self, what: str, clock: Callable[[], float], missing: int = 404) -> None:
        """`missing` is the HTTP status for an unknown id."""
        super().__init__()
        self._what, self._clock, self._missing = what, clock, missing
        self._asked: dict[str, float] = {}

    def put(self, at: str, thing: Thing) -> Thing:
        if at not in self and len(self) >= _MOST_OPEN:
            raise Refused(429, f"{_MOST_OPEN} files of this kind are open already", "Close some of the pages.")
        self[at], self._asked[at] = thing, self._clock()
        return thing

    def ask(self, at: str) -> Thing:
        """Return an entry and extend its life."""
        if at not in self:
            raise Refused(self._missing, f"your {self._what} was cleared from memory", "Please load it again.")
        self._asked[at] = self._clock()
        return self[at]

    def forget(self, at: str) -> None:
        self.pop(at, None)
        self._asked.pop(at, None)

    def forget_old(self) -> None:
        for at, asked in list(self._asked.items()):
            if self._clock() - asked > FORGOTTEN_AFTER:
                self.forget(at)


class Session:
    """Everything that is open. None of it is ever written to the disk."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.histories: ExpiringStore[OpenHistory] = ExpiringStore("history", clock)
        self.folders: ExpiringStore[tuple[str, dict[str, bytes]]] = ExpiringStore("folder", clock)
        self.targets: ExpiringStore[Table[Mapping[str, Any]]] = ExpiringStore("target", clock, missing=400)
        self.taxonomies: ExpiringStore[Table[Taxonomy]] = ExpiringStore("taxonomy", clock, missing=400)
        self.releases: ExpiringStore[Table[ReleaseFile]] = ExpiringStore("release", clock, missing=400)
        self.profiles = profiles.all_profiles()

    @property
    def _tables(self) -> tuple[ExpiringStore[Any], ...]:
        return self.targets, self.taxonomies, self.releases

    def forget_old(self) -> None:
        """Drop entries without recent requests; tables stay as long as any history is open."""
        self.histories.forget_old()
        self.folders.forget_old()
        if not self.histories:
            for kept in self._tables:
                kept.forget_old()

    def forget(self, at: str) -> None:
        """Drop a history at once, and everything else with the last one."""
        self.histories.forget(at)
        if not self.histories:
            for kept in self._tables:
                for table in list(kept):
                    kept.forget(table)

    def read(self, held: InMemoryFile, reading: Mapping[str, Any]) -> OpenHistory:
        """Read the history in a file or a folder, without adding it to the session."""
        held = replace(held, most_unpacked=_MOST_UNPACKED)
        try:
            history = read(held, **reading)
        except InputError as error:
            if "user" not in error.arguments or "user" in reading:
                raise
            raise SeveralUsers(str(error), _users_in(held, reading)) from None
        return OpenHistory(_new_id(), held.name, history, history, reading)

    def read_folder(self, at: str, on_progress: Callable[[int], None], reading: Mapping[str, Any]) -> OpenHistory:
        name, content = self.folders.ask(at)
        try:
            return self.read(InMemoryFile(name, content, on_progress), reading)
        finally:
            self.folders.forget(at)

    def read_sample(self, name: str) -> OpenHistory:
        if name not in SAMPLES:
            raise Refused(404, f"there is no sample {quote(name)}")
        content = files("elsewhere").joinpath("data", "samples", f"{name}.csv").read_bytes()
        return self.read(InMemoryFile(f"{name}.csv", content), {})

    def label(self, at: str, held: InMemoryFile) -> OpenHistory:
        """An open history with the labels of a table as names, without adding it to the session."""
        opened = self.histories.ask(at)
        history = relabelled(opened.as_read, held)
        return replace(opened, history=history, labels=held.name, answered=None, drafted=None, plan=None, reasons={})

    def put(self, opened: OpenHistory) -> OpenHistory:
        """Add a history to the session. A labelled history replaces its original, unless that was dropped meanwhile."""
        if opened.labels is not None:
            self.histories.ask(opened.id)
        return self.histories.put(opened.id, opened)

    def open_folder(self, name: str) -> str:
        at = _new_id()
        self.folders.put(at, (file_name(name), {}))
        return at

    def add_file(self, at: str, path: str, content: bytes) -> int:
        """Add a file to a folder; return the number of files in it."""
        _, inside = self.folders.ask(at)
        if _size(inside) + len(content) > UPLOAD_BYTES or len(inside) >= _MOST_FILES:
            raise too_large(UPLOAD_BYTES)
        if sum(_size(files) for _, files in self.folders.values()) + len(content) > 2 * UPLOAD_BYTES:
            raise Refused(429, "other pages are loading folders, so there is no room for this one yet", "Try again.")
        inside[path] = content
        return len(inside)

    def add_target(self, held: InMemoryFile, content: bytes) -> Table[Mapping[str, Any]]:
        if held.name.endswith(".toml"):
            weights: Mapping[str, Any] = profiles.parse(held.name, content).profile
        else:
            weights = read_weights(held)
        return self.targets.put(at := _new_id(), Table(at, held.name, weights, len(weights)))

    def add_release(self, name: str, content: bytes) -> Table[ReleaseFile]:
        file = parse_release(name, content)
        return self.releases.put(at := _new_id(), Table(at, name, file, file.histogram.length))

    def target(self, name: str) -> Mapping[str, Any]:
        """The weights of a stored profile or of a loaded target; files on the disk are not read."""
        return self.profiles[name].profile if name in self.profiles else self.targets.ask(name).content

    def taxonomy(self, name: str) -> Taxonomy:
        """The shipped taxonomy, or one that was loaded."""
        return Taxonomy.shipped() if name == SHIPPED else self.taxonomies.ask(name).content

    def add_taxonomy(self, name: str, content: bytes) -> Table[Taxonomy]:
        taxonomy = Taxonomy.parse(name, content)
        return self.taxonomies.put(at := _new_id(), Table(at, name, taxonomy, sum(1 for _ in taxonomy.tree())))


def file_name(name: str) -> str:
    """The name of a file as a command in its folder would write it."""
    last = PurePosixPath(name.replace("\\", "/")).name
    if not last or "\0" in last:
        raise InputError(f"the file name {quote(name)} cannot be used; rename the file")
    return f"./{last}" if last.startswith("-") or last == SHIPPED else last


def _users_in(held: InMemoryFile, reading: Mapping[str, Any]) -> dict[str, int]:
    """The users of a file with the most visits."""
    named = {key: value for key, value in reading.items() if key == "format" or key.endswith("_column")}
    visits = visits_by_user(held, **named)
    return dict(sorted(visits.items(), key=lambda item: (-item[1], item[0]))[:_MOST_USERS])


def too_large(most: int) -> Refused:
    return Refused(
        413,
        f"this is more than {most >> 20} MB, the most that the page can load",
        "The command line reads files of any size.",
    )


def _size(inside: Mapping[str, bytes]) -> int:
    return sum(map(len, inside.values()))


def _new_id() -> str:
    return secrets.token_urlsafe(12)
