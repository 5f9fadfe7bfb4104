"""The common parts of drawings: settings, colours, fonts, and the text around the axes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from elsewhere.extras import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The palette of Okabe and Ito, which is distinguishable with any colour vision.
BEFORE, AFTER, TARGET, SENSITIVE = "#56b4e9", "#0072b2", "#e69f00", "#d55e00"
#: The colour of text and lines. On a page it is replaced by the page's own colour, so nothing else may use it.
INK = "#1f2329"

#: Inches from the left edge to the title.
MARGIN = 0.3

#: The first font comes with Matplotlib; the others, if installed, draw the characters that it lacks.
_FAMILIES = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Nirmala UI",
    "Arial Unicode MS",
    "Noto Emoji",
    "Segoe UI Emoji",
)
_LONGEST_NAME = 32
#: Stands for a character that no font here can draw.
NO_GLYPH = "\N{WHITE SQUARE}"


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib's defaults with a few changes, independent of the user's style, which is restored afterwards."""
    matplotlib = load("matplotlib", "a picture needs matplotlib", "plot")
    from matplotlib.font_manager import fontManager

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        installed = set(fontManager.get_font_names())
        matplotlib.rcParams.update(
            {
                "font.family": [name for name in _FAMILIES if name in installed],
                "font.size": 9,
                "svg.hashsalt": "elsewhere",
                **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), INK),
                **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
            }
        )
        yield


def sheet(width: float, height: float, title: str, subtitle: str, footer: Sequence[str]) -> Figure:
    """A figure of the given size in inches, with text above and below the space for the axes."""
    figure = _blank(width, height)
    left = MARGIN / width
    figure.text(left, 1 - 0.25 / height, title, va="top", fontsize=14, fontweight="bold", parse_math=False)
    figure.text(left, 1 - 0.56 / height, subtitle, va="top", fontsize=10, parse_math=False)
    figure.text(left, 0.15 / height, "\n".join(footer), va="bottom", fontsize=7.5, alpha=0.7, parse_math=False)
    return figure


def text_width(texts: Iterable[str], fontsize: float) -> float:
    """The width of the widest text in inches."""
    scratch = _blank(1, 1)
    drawn = [scratch.text(0, 0, text, fontsize=fontsize, parse_math=False) for text in texts]
    return max(text.get_window_extent().width for text in drawn) / scratch.dpi


def _blank(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150)
    FigureCanvasAgg(figure)
    return figure


def drawable(names: Sequence[str]) -> list[str]:
    """Names that the fonts can show: of limited length, with a square for missing characters."""
    import matplotlib
    from matplotlib.font_manager import findfont, get_font

    glyphs = {
        glyph for family in matplotlib.rcParams["font.family"] for glyph in get_font(findfont(family)).get_charmap()
    }
    return [_elided("".join(_drawable(letter, glyphs) for letter in name)) for name in names]


def _drawable(letter: str, glyphs: set[int]) -> str:
    if ord(letter) in glyphs:
        return letter
    # Joiners, selectors and marks only change a neighbour: without a glyph, leave them out.
    return "" if unicodedata.category(letter) in ("Cf", "Mn", "Me") else NO_GLYPH


def _elided(name: str) -> str:
    """The name without its middle if it is long, because names with equal beginnings often have different ends."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME * 2 // 3].rstrip()}\N{HORIZONTAL ELLIPSIS}{name[-_LONGEST_NAME // 3 + 1 :].lstrip()}"
