"""Write pictures atomically, readable only by their owner, and without metadata about who made them and when."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elsewhere.files import write_atomic
from elsewhere.model.errors import InputError
from elsewhere.pictures import canvas, tables
from elsewhere.text import quote

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The metadata that Matplotlib would add: its version, and the time.
_UNSAID: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


def ending(path: str | os.PathLike[str] | None) -> str:
    """The suffix of the path, which decides the format; raise, before any work, if it is not supported."""
    if path is None:
        return ""
    if isinstance(path, str | os.PathLike):
        known = Path(path).suffix.lower()
        if known == ".html" or known in _UNSAID:
            return known
    raise InputError(f"a picture's path ends in .png, .svg, .pdf or .html; {quote(path)} does not")


def save(figure: Figure, path: str | os.PathLike[str], ending: str, title: str, table: Callable[[], str]) -> None:
    """Write the figure; a page also gets the table."""
    if ending == ".html":
        svg = rendered(figure, ".svg", transparent=True).decode()
        write_atomic(path, tables.page(title, of_the_page(svg), table()).encode(), private=True)
    else:
        write_atomic(path, rendered(figure, ending), private=True)


def rendered(figure: Figure, ending: str, transparent: bool = False) -> bytes:
    """The bytes of a file with that suffix."""
    content = BytesIO()
    figure.savefig(content, format=ending[1:], metadata=_UNSAID[ending], transparent=transparent)
    return content.getvalue()


def of_the_page(svg: str) -> str:
    """The drawing as part of a page: without the file header, and with text in the page's colour."""
    inside = svg[svg.index(">", svg.index("<svg ")) :]
    size = svg[svg.index("viewBox=") :].split('"')[1]
    return f'<svg viewBox="{size}" aria-hidden="true"{inside.replace(canvas.INK, "currentColor")}'
