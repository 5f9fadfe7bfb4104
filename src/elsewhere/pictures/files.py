"""Pictures on the disk: whole or not at all, readable by their owner alone, with no trace of who made them when."""

from __future__ import annotations

import os
import reprlib
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elsewhere.model.errors import InputError
from elsewhere.pictures import canvas, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What Matplotlib would add on its own: its version, and the time.
_UNSAID: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


def ending(path: str | os.PathLike[str] | None) -> str:
    """The ending of the path, which says what to write; refused, before any work, if nothing is written so."""
    if path is None:
        return ""
    if isinstance(path, str | os.PathLike):
        known = Path(path).suffix.lower()
        if known == ".html" or known in _UNSAID:
            return known
    raise InputError(f"a picture's path ends in .png, .svg, .pdf or .html; {reprlib.repr(path)} does not")


def save(figure: Figure, path: str | os.PathLike[str], ending: str, title: str, table: Callable[[], str]) -> None:
    """Write the figure; a page gets the table as well."""
    if ending == ".html":
        svg = _rendered(figure, ".svg", transparent=True).decode()
        _write(Path(path), tables.page(title, _of_the_page(svg), table()).encode())
    else:
        _write(Path(path), _rendered(figure, ending))


def _rendered(figure: Figure, ending: str, transparent: bool = False) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=ending[1:], metadata=_UNSAID[ending], transparent=transparent)
    return content.getvalue()


def _of_the_page(svg: str) -> str:
    """The drawing as a part of a page: without the head of a file, and in the page's colour for text."""
    inside = svg[svg.index(">", svg.index("<svg ")) :]
    size = svg[svg.index("viewBox=") :].split('"')[1]
    return f'<svg viewBox="{size}" aria-hidden="true"{inside.replace(canvas.INK, "currentColor")}'


def _write(path: Path, content: bytes) -> None:
    try:
        _replace(path, content)
    except (OSError, ValueError) as error:  # a ValueError for a null byte in the path
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{reprlib.repr(str(path))} cannot be written: {why}") from None


def _replace(path: Path, content: bytes) -> None:
    # Only its owner may read a file that mkstemp makes.
    descriptor, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
