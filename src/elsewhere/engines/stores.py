"""The locations of tables: on this machine or in an object store, through Arrow's file systems."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from elsewhere.engines.arrow import FileSystem, pa, pa_fs
from elsewhere.files import write_atomic
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

#: The schemes of addresses that the local engine can read from and write to.
SCHEMES = ("s3", "gs", "az", "file")
_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
#: An address that lacks a slash. It is refused, because it would otherwise be a folder on this machine.
_SLIPPED = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:(/|$)")
_AZURE = "AZURE_STORAGE_"


class Location(NamedTuple):
    """A file system, and a path in it."""

    filesystem: FileSystem
    path: str
    #: The address as the caller wrote it, without connection options such as a key.
    shown: str
    is_local: bool

    @property
    def folder(self) -> Path:
        """The folder on this machine."""
        assert self.is_local
        return Path(self.path)


def locate(place: str | os.PathLike[str], argument: str) -> Location:
    """The location of a path or an address of `SCHEMES`; it may not exist."""
    given = os.fspath(place)
    address = _ADDRESS.match(given)
    if address is None:
        if _SLIPPED.match(given) or not given:
            raise _no_place(argument, given)
        return Location(pa_fs.LocalFileSystem(), os.path.normpath(given), given, True)
    scheme, shown = address[1].lower(), _without_secrets(given)
    if scheme not in SCHEMES:
        raise _no_place(argument, shown)
    if scheme == "file":
        parts = urlsplit(given)
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{argument} is {quote(shown)}, on another machine; use file:///path", (argument,))
        path = unquote(parts.path)
        if not path:
            raise _no_place(argument, shown)
        return Location(pa_fs.LocalFileSystem(), os.path.normpath(path), path, True)
    try:
        filesystem, path = _azure(given) if scheme == "az" else pa_fs.FileSystem.from_uri(_patient(scheme, given))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = one_line(str(error)).replace(given, shown)
        raise InputError(f"{argument} is {quote(shown)}, which cannot be used: {reason}", (argument,)) from None
    return Location(filesystem, path.rstrip("/"), shown.rstrip("/"), False)


def _no_place(argument: str, shown: str) -> InputError:
    known = ", ".join(f"{name}://" for name in SCHEMES)
    return InputError(f"{argument} is {quote(shown)}; give a path of this machine or one of {known}", (argument,))


def _patient(scheme: str, address: str) -> str:
    """The address with a limit on the time for which Google's library retries."""
    if scheme != "gs" or "retry_limit_seconds" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}retry_limit_seconds=20"


def _azure(address: str) -> tuple[FileSystem, str]:
    """Azure's file system, with the account from the environment variables of Azure's own tools."""
    parts = urlsplit(address)
    connection = os.environ.get(f"{_AZURE}CONNECTION_STRING", "")
    given = dict(item.split("=", 1) for item in connection.split(";") if "=" in item)
    account = given.get("AccountName") or os.environ.get(f"{_AZURE}ACCOUNT")
    if not account:
        raise ValueError(f"set {_AZURE}ACCOUNT or {_AZURE}CONNECTION_STRING")
    options = {"account_key": given.get("AccountKey") or os.environ.get(f"{_AZURE}KEY"),
               "sas_token": given.get("SharedAccessSignature") or os.environ.get(f"{_AZURE}SAS_TOKEN")}  # fmt: skip
    if "BlobEndpoint" in given:  # an emulator or a private cloud
        endpoint = urlsplit(given["BlobEndpoint"])
        for service in ("blob", "dfs"):
            options |= {f"{service}_storage_authority": endpoint.netloc, f"{service}_storage_scheme": endpoint.scheme}
    return pa_fs.AzureFileSystem(account_name=account, **options), f"{parts.netloc}{unquote(parts.path)}"


def _without_secrets(address: str) -> str:
    """The address without user, password and options.

    >>> _without_secrets("s3://key:secret@lake/checkins?region=eu-west-1")
    's3://lake/checkins'
    """
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


@contextmanager
def store_errors(shown: str, what: str = "reached") -> Iterator[None]:
    """Turn errors of a folder or an object store into one sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{quote(shown)} cannot be {what}: {one_line(error)}") from None


class Store:
    """A folder, or a prefix in an object store, with files by name. Writing a file is atomic."""

    def __init__(self, place: Location, *, private: bool) -> None:
        self.place = place
        self._private = private

    @property
    def folder(self) -> Path:
        return self.place.folder

    def shown(self, name: str) -> str:
        return f"{self.place.shown}/{name}"

    def write(self, name: str, content: bytes) -> None:
        if self.place.is_local:
            with store_errors(self.shown(name), "written"):
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self.folder / name, content, private=self._private)
            return
        # An object appears only when its stream is closed successfully.
        with store_errors(self.shown(name)), self.place.filesystem.open_output_stream(self._at(name)) as stream:
            stream.write(content)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        with store_errors(self.shown(name)):
            if self._info(name).type != pa_fs.FileType.File:
                return None
            with self.place.filesystem.open_input_stream(self._at(name), compression=None) as stream:
                content: bytes = stream.read()
                return content

    def holds(self, name: str) -> bool:
        with store_errors(self.shown(name)):
            return bool(self._info(name).type == pa_fs.FileType.File)

    def size(self, name: str) -> int | None:
        """The size of a file in bytes; None if there is none."""
        with store_errors(self.shown(name)):
            found: int | None = self._info(name).size
            return found

    def names(self, below: str = "") -> list[str]:
        """The names of all files, or of those in a folder below, sorted."""
        at = f"{self._at('')}{below}".rstrip("/")
        with store_errors(self.shown(below)):
            found = self.place.filesystem.get_file_info(pa_fs.FileSelector(at, allow_not_found=True, recursive=True))
        base = len(self._at(""))
        return sorted(info.path[base:] for info in found if info.type == pa_fs.FileType.File)

    def delete(self, name: str) -> None:
        if self.holds(name):
            with store_errors(self.shown(name)):
                self.place.filesystem.delete_file(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self.place.path.rstrip('/')}/{name}"

    def _info(self, name: str) -> Any:
        return self.place.filesystem.get_file_info(self._at(name))
