"""The same numbers as HTML, for notebooks and for pages with a drawing. No scripts, and nothing from other sites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from elsewhere.pictures.canvas import AFTER, BEFORE, SENSITIVE, TARGET
from elsewhere.pictures.changes import PRIVATE, Changes, Row, figure, number
from elsewhere.pictures.curve import Curve

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
svg {{ width: 100%; height: auto; }}
</style>
</head>
<body>
{svg}
{table}
</body>
</html>
"""

# Styles are inline because notebooks drop style sheets; text keeps the surrounding colour.
_CELL = "padding:0.15em 1em 0.15em 0;text-align:left;white-space:nowrap;border-top:1px solid #8885"
_NAME = f"{_CELL};font-weight:normal;white-space:normal;overflow-wrap:anywhere;min-width:8em"
_NUMBER = "display:inline-block;min-width:3.5em;padding-right:0.5em;text-align:right;font-variant-numeric:tabular-nums"


def page(title: str, svg: str, table: str) -> str:
    """A self-contained page, in the light or dark colours that its reader prefers."""
    return _PAGE.format(title=escape(title), svg=svg, table=table)


def changes_table(changes: Changes, rows: Sequence[Row], folded: str = "") -> str:
    """Before, after and target of these rows, with bars, and a line about the others."""
    colours = {"before": BEFORE, "after": AFTER}
    if changes.target is not None:
        colours["target"] = TARGET
    most = max(max(row.before, row.after, row.target or 0) for row in rows)
    body = []
    for row in rows:
        numbers = (row.before, row.after, row.target or 0.0)
        mark = " (sensitive)" if row.sensitive else ""
        cells = [f'<th scope="row" style="{_NAME}"><bdi>{escape(row.name)}</bdi>{mark}</th>']
        for (name, colour), count in zip(colours.items(), numbers, strict=False):
            striped = row.sensitive and name == "before"
            cells.append(f'<td style="{_CELL}">{_bar(count, most, SENSITIVE if striped else colour, striped)}</td>')
        body.append("".join(cells))
    return _table(
        changes.in_words(),
        ["location", *(f'<span style="{_NUMBER}">{name}</span>' for name in colours)],
        body,
        [folded, *changes.remarks()],
    )


def curve_table(curve: Curve) -> str:
    """The results for all budgets."""
    body = []
    for at, (budget, quality_loss, privacy_distance) in enumerate(curve.points):
        mark = curve.mark if at == curve.marked else ""
        limit = "no limit" if math.isinf(budget) else figure(budget)
        cells = [limit, figure(quality_loss), figure(privacy_distance), mark]
        body.append("".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells))
    return _table(curve.in_words(), [curve.limit, "quality loss", "privacy distance", ""], body, [PRIVATE])


def _table(caption: str, columns: Sequence[str], body: Sequence[str], lines: Sequence[str]) -> str:
    head = "".join(f'<th scope="col" style="{_CELL}">{column}</th>' for column in columns)
    rows = "\n".join(f"<tr>{cells}</tr>" for cells in body)
    below = "".join(f"<div>{escape(line)}</div>" for line in lines if line)
    return (
        f'<div style="overflow-x:auto">\n<table style="border-collapse:collapse">\n'
        f'<caption style="padding:0.5em 0;text-align:left;color:inherit">{escape(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n{below}\n</div>"
    )


def _bar(count: float, most: float, colour: str, striped: bool) -> str:
    """A number with a proportional bar; sensitive ones are striped, so that they do not depend on colour."""
    fill = f"repeating-linear-gradient(135deg,{colour} 0 3px,transparent 3px 5px)" if striped else colour
    width = 6 * count / most if most else 0
    bar = f"display:inline-block;width:{width:.2f}em;height:0.7em;background:{fill}"
    return f'<span style="{_NUMBER}">{number(count)}</span><span style="{bar}"></span>'
