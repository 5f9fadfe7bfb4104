"""Paths in Spark's form, on any file system: what their parts mean, without accessing any file."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from urllib.parse import unquote

from elsewhere.model.errors import InputError
from elsewhere.text import quote

_SPECIAL = re.compile(r"([\[\]{}*?\\])")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//[^/]*)?(.*)", re.DOTALL)
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def escaped(path: str) -> str:
    """The pattern that matches only this path."""
    return _SPECIAL.sub(r"\\\1", path)


def is_pattern(path: str) -> bool:
    return _SPECIAL.search(path) is not None


def fixed_part(pattern: str) -> str:
    """The folder that contains all paths of a pattern."""
    found = _SPECIAL.search(pattern)
    return pattern if found is None else pattern[: found.start()].rpartition("/")[0]


def plain_name(file: str) -> str:
    """The file name as Spark lists it, from the file name that Spark gives for a row."""
    return unquote(file)


def base_of(path: str, files: Sequence[str]) -> str:
    """The full folder at a path, or of the file at the path, as it appears in Spark's file names."""
    store, inside = "".join(_parts(files[0])[:2]), [_parts(file)[2] for file in files]
    tail, common = posixpath.normpath(_parts(path)[2]), posixpath.commonpath(inside)
    if common in inside:  # the only file
        common = posixpath.dirname(common)
    if tail.startswith("/"):
        return store + (tail if f"{common}/".startswith(f"{tail}/") else common)
    before, found, _ = f"{common}/".rpartition(f"/{tail}/")
    return store + (f"{before}/{tail}" if found else common)


def is_folder(path: str, base: str) -> bool:
    """Whether the path itself is the folder that `base_of` found for it."""
    tail = posixpath.normpath(_parts(path)[2])
    return tail == "." or f"/{base}".endswith(f"/{tail.lstrip('/')}")


def below(folder: str, file: str) -> str:
    """The path of a file relative to a folder."""
    return file[len(folder) :].lstrip("/") if file.startswith(folder) else file.rpartition("/")[2]


def partition_values(folder: str, file: str) -> dict[str, str | None]:
    """The values in folder names such as month=5, for the rows of a file; always text."""
    found = {}
    for part in below(folder, file).split("/")[:-1]:
        name, is_value, value = part.partition("=")
        if is_value and name:
            found[unquote(name)] = None if value == _HIVE_NULL else unquote(value)
    return found


def check_outside(output: str, source: str) -> None:
    """Raise if an output would be among the files of the input."""
    if _is_inside(output, source):
        raise InputError(f"output is {quote(output)}, inside the input; name another folder", ("output",))


def check_apart(releases: str, private: str) -> None:
    """Raise if the private report would be inside the folder of releases."""
    if _is_inside(private, releases):
        told = f"report is {quote(private)}, in the folder of the releases; name another folder"
        raise InputError(told, ("report",))


def _is_inside(path: str, folder: str) -> bool:
    one, other = _parts(path), _parts(folder)
    same_store = not one[1] or not other[1] or one[1] == other[1]
    return same_store and f"{_real(one)}/".startswith(f"{_real(other).rstrip('/')}/")


def _real(parts: tuple[str, str, str]) -> str:
    scheme, _, path = parts
    return os.path.realpath(path) if scheme in ("", "file:") else posixpath.normpath(path)


def _parts(path: str) -> tuple[str, str, str]:
    """Scheme, authority and path."""
    found = _SCHEME.fullmatch(path)
    return ("", "", path) if found is None else (f"{found[1]}:", found[2] or "", found[3])
