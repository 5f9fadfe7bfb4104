"""Where tables lie: on this machine or in an object store, through Arrow's file systems."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from elsewhere.engines.arrow import FileSystem, pa, pa_fs
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

#: How an address begins that the local engine can read from and write to.
SCHEMES = ("s3", "gs", "az", "file")
_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_AZURE = "AZURE_STORAGE_"


class Location(NamedTuple):
    """A file system, and a path in it."""

    filesystem: FileSystem
    path: str
    #: As the caller wrote it, without what an address may carry for the connection, such as a key.
    shown: str
    is_local: bool


def locate(place: str | os.PathLike[str], argument: str) -> Location:
    """Where a path or an address of `SCHEMES` leads; whether anything is there is not looked at."""
    given = os.fspath(place)
    address = _ADDRESS.match(given)
    if address is None:
        return Location(pa_fs.LocalFileSystem(), given, given, True)
    scheme, shown = address[1].lower(), _without_secrets(given)
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise InputError(f"{argument} is {quote(shown)}; give a path of this machine or one of {known}", (argument,))
    if scheme == "file":
        parts = urlsplit(given)
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{argument} is {quote(shown)}, on another machine; use file:///path", (argument,))
        path = unquote(parts.path)
        return Location(pa_fs.LocalFileSystem(), path, path, True)
    try:
        filesystem, path = _azure(given) if scheme == "az" else pa_fs.FileSystem.from_uri(given)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = one_line(str(error)).replace(given, shown)
        raise InputError(f"{argument} is {quote(shown)}, which makes no address: {reason}", (argument,)) from None
    return Location(filesystem, path.rstrip("/"), shown.rstrip("/"), False)


def _azure(address: str) -> tuple[FileSystem, str]:
    """The account is the one that the variables of Azure's own tools name."""
    parts = urlsplit(address)
    connection = os.environ.get(f"{_AZURE}CONNECTION_STRING", "")
    given = dict(item.split("=", 1) for item in connection.split(";") if "=" in item)
    account = given.get("AccountName") or os.environ.get(f"{_AZURE}ACCOUNT")
    if not account:
        raise ValueError(f"set {_AZURE}ACCOUNT or {_AZURE}CONNECTION_STRING")
    options = {"account_key": given.get("AccountKey") or os.environ.get(f"{_AZURE}KEY"),
               "sas_token": given.get("SharedAccessSignature") or os.environ.get(f"{_AZURE}SAS_TOKEN")}  # fmt: skip
    if "BlobEndpoint" in given:  # an emulator, or a cloud of one's own
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
def store_errors(shown: str) -> Iterator[None]:
    """What goes wrong between here and an object store, in one sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{quote(shown)} cannot be reached: {one_line(str(error))}") from None


def as_address(location: Location, path: str) -> str:
    """Another path of the same file system, as the caller would write it."""
    if location.is_local:
        return path
    return f"{location.shown.partition('://')[0]}://{path}"
