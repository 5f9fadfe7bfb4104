"""Atomic writes, and temporary folders."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from elsewhere.model.errors import InputError
from elsewhere.text import quote

# A process that waits until its parent ends (its standard input closes), and then removes what the parent left.
_SWEEPER = "import sys, shutil; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


def read_bounded(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file; raise if it has more bytes than allowed."""
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most >> 20} MB")
    return content


def write_atomic(path: str | os.PathLike[str], content: bytes, *, private: bool) -> None:
    """Write the content to the path atomically: a reader sees the old content or all of the new one.

    A private file can be read only by its owner. Any other file keeps the permissions of the file that it replaces, or
    gets those of new files.
    """
    try:
        _replace(Path(path), content, private)
    except (OSError, ValueError) as error:  # a ValueError for a null byte in the path
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{quote(str(path))} cannot be written: {why}") from None


@contextmanager
def temporary_directory(name: str, inside: Path | None = None) -> Iterator[Path]:
    """A folder that only its owner can read, and that is removed when this process ends, for whatever reason."""
    folder = tempfile.mkdtemp(prefix=f"{name}-", dir=inside)
    command = [sys.executable, "-I", "-c", _SWEEPER, folder]
    sweeper = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        assert sweeper.stdin is not None
        sweeper.stdin.close()
        sweeper.wait()


def _replace(path: Path, content: bytes, private: bool) -> None:
    path = Path(os.path.realpath(path))  # replace the target of a link, not the link
    if path.exists() and not path.is_file():
        raise OSError(0, "it exists and is not a file")
    mode = 0o600 if private else _mode(path)
    temporary = path.parent / f".elsewhere-{secrets.token_hex(8)}"
    try:
        with _unnamed(path.parent, temporary) as file:
            file.write(content)
            file.flush()
            if hasattr(os, "fchmod"):  # not on every Windows
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            if not temporary.exists():
                # With any folder given, Python uses the system call that follows the link behind the number.
                os.link(f"/proc/self/fd/{file.fileno()}", temporary, src_dir_fd=file.fileno(), follow_symlinks=True)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _unnamed(folder: Path, otherwise: Path) -> BinaryIO:
    """A new file without a name, so that nothing is left if the process is killed; else a file with a name."""
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600), "wb")
    except (AttributeError, OSError):  # not every system and every file system has such files
        return os.fdopen(os.open(otherwise, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def _mode(path: Path) -> int:
    """The permissions of an existing file, or those of new files; their mask can only be read by setting it."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
