"""A private temporary folder for rows that do not fit into memory. Nothing of it stays on the disk."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elsewhere.files import temporary_directory
from elsewhere.model.errors import InputError

#: Seconds between two checks of the files in the folder.
_PAUSE = 0.02


@contextmanager
def spill_folder(beside: Path | None) -> Iterator[Path]:
    """A folder for DuckDB's temporary files, beside an output or in the system's temporary directory.

    The files contain rows of the input, so they are unlinked while DuckDB has them open. When the process ends, however
    it ends, the system frees them, even if nothing removes the folder.
    """
    name = "elsewhere-spill" if beside is None else _name(beside)
    with temporary_directory(name, None if beside is None else _existing(beside.parent)) as folder:
        ended = threading.Event()
        watcher = threading.Thread(target=_take_names, args=(folder, ended), daemon=True)
        if os.name == "posix":
            watcher.start()
        try:
            yield folder
        finally:
            ended.set()
            if watcher.is_alive():
                watcher.join()


def no_room() -> InputError:
    """The error for rows that do not fit into memory and onto the disk."""
    places = "neither into the allowed memory nor onto the disk of the output"
    return InputError(f"the rows fit {places}; allow more memory, or free disk space")


def remove_left(beside: Path | None, own: Path) -> None:
    """Remove folders that a crash left from earlier runs with the same output; no such run is active."""
    if beside is None:
        return
    begin = f"{_name(beside)}-"
    for left in own.parent.glob(f"{begin}*"):
        # Leave the folders of an output whose name starts with this one's.
        if left != own and len(left.name) == len(own.name) and "-" not in left.name.removeprefix(begin):
            shutil.rmtree(left, ignore_errors=True)


def _name(beside: Path) -> str:
    return f".{beside.name}-spill"


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.is_dir())


def _take_names(folder: Path, ended: threading.Event) -> None:
    """Replace each non-empty file by an empty one; a process that has the old file open can still use it."""
    empty = folder / "empty"
    while not ended.wait(_PAUSE):
        with os.scandir(folder) as files:
            for file in files:
                with suppress(OSError):  # it no longer exists
                    if file.name.endswith(".tmp") and file.stat().st_size:
                        empty.touch(mode=0o600)
                        empty.replace(file.path)
