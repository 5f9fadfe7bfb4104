"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from elsewhere.model.errors import InputError, quoted


def write_whole(path: str | os.PathLike[str], content: bytes, *, private: bool) -> None:
    """Put the content at the path at once: a reader sees what was there before or all of it.

    What is private can be read by its owner alone; anything else has the permissions that new files have.
    """
    try:
        _replace(Path(path), content, private)
    except (OSError, ValueError) as error:  # a ValueError for a null byte in the path
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{quoted(str(path))} cannot be written: {why}") from None


def _replace(path: Path, content: bytes, private: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    # Only its owner may read a file that mkstemp makes. Its name tells nothing of the path's.
    descriptor, temporary = tempfile.mkstemp(prefix=".elsewhere-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not private:
            Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The permissions that new files do not have; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
