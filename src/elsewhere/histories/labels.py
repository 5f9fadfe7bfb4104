"""Names and kinds that a person gives to locations: a table with the columns id and label, and perhaps kind.

A spreadsheet runs a cell as a formula if it begins with a sign such as =, and strangers choose the names of places. So
`elsewhere labels` puts an apostrophe before such a cell, and this module removes it again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import NamedTuple

from elsewhere.histories.tables import Table, text_rows
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex, is_pattern, name_key
from elsewhere.model.places import kinds
from elsewhere.model.taxonomy import NO_KIND, PRESET, Taxonomy, Types
from elsewhere.text import closest, quote

#: A formula, behind any number of apostrophes; full-width signs count, and blanks do not protect.
_FORMULA = re.compile(r"'*(?:\s*[-=+@\uff0b\uff0d\uff1d\uff20]|[\t\r\n])")


class Label(NamedTuple):
    """The label and the kind of a location; "" if the cell is empty."""

    label: str = ""
    kind: str = ""


class Labels:
    """Labels by location, in any spelling."""

    def __init__(self, rows: Mapping[str, Label], notes: Collection[str] = ()) -> None:
        self.notes = tuple(notes)
        self._rows = rows
        self._ids = NameIndex(list(rows))

    def of(self, location: str) -> Label:
        """The label of a location; an empty label if it has none."""
        id_ = location if location in self._rows else self._ids.find(location)
        return Label() if id_ is None else self._rows[id_]


def parse_labels(table: Table) -> Labels:
    """The labels in a table. Each location has one label, and each label one kind."""
    rows: dict[str, Label] = {}
    kinds_by_label: dict[str, str] = {}
    for id_, label, kind in text_rows(table, "id", "label", "kind"):
        location = unescaped(id_)
        row = Label(unescaped(label), NO_KIND if name_key(kind) == NO_KIND else kind.strip())
        before = rows.get(location, row)
        if before.label != row.label:
            two = f"{quote(before.label)} and {quote(row.label)}"
            raise InputError(f"it has two values of label for {quote(location)}: {two}")
        rows[location] = row if row.kind else before
        if row.kind:
            named = row.label or location
            first = kinds_by_label.setdefault(name_key(named), row.kind)
            if nodes_of(first) != nodes_of(row.kind):
                told = f"it has two kinds for the label {quote(named)}: {quote(first)} and {quote(row.kind)}"
                raise InputError(f"{told}; choose one")
    return Labels(rows, table.notes)


@cache
def nodes_of(kind: str) -> tuple[str, ...]:
    """The ids of the nodes that a kind stands for; none if it is empty."""
    if kind == NO_KIND:
        return ()
    shipped = Taxonomy.shipped()
    if kind.startswith(PRESET):
        raise InputError(f"it has the kind {quote(kind)}, which is a preset; give a kind of place, such as 'Hospital'")
    if is_pattern(kind) or not shipped.knows(kind):
        told = f"it has the kind {quote(kind)}, which the shipped taxonomy does not have"
        raise InputError(f"{told}{closest(kind, (node.name for _, node in shipped.tree()))}")
    return tuple(node.id for depth, node in shipped.tree(kind) if depth == 0)


def with_kinds(histogram: Histogram, types: Types, chosen: Mapping[str, str]) -> Types:
    """The types by label, with the chosen kinds instead of those in the export.

    A kind that would be found anyway is left out. A guess that the person merely left in the table must not override
    the place's own name, which may stand for several kinds, or be in the person's own taxonomy.
    """
    if not chosen:
        return types
    known = NameIndex(histogram.locations)
    by_location = {known.find(label) or label: kind for label, kind in chosen.items()}
    made = dict(types)
    for found in kinds(by_location, types):
        kind = by_location[found.name]
        if kind == NO_KIND:
            made[found.name] = (NO_KIND,)
        elif nodes_of(kind) != (found.node,):
            made[found.name] = (kind,)
    return made


def escaped(text: str) -> str:
    """The text as a cell that no spreadsheet runs as a formula.

    >>> escaped("=1+1"), escaped("'=1+1"), escaped("'s-Hertogenbosch"), unescaped(escaped("'=1+1"))
    ("'=1+1", "''=1+1", "'s-Hertogenbosch", "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unescaped(cell: str) -> str:
    """The text that is in a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
