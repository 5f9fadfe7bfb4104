"""The results of an experiment: one row per measurement, with plain columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from elsewhere.model.arrays import Floats


class Rows(list[dict[str, Any]]):
    """Rows with the same columns. Each value is a string or a number.

    >>> rows = Rows([{"n": 2, "js": 0.3}, {"n": 1, "js": 0.5}, {"n": 2, "js": 0.1}])
    >>> rows.medians("n", "js")
    ([1, 2], [0.5, 0.2])
    """

    def where(self, **values: object) -> Rows:
        """The rows that have these values."""
        return Rows(row for row in self if all(row[name] == value for name, value in values.items()))

    def column(self, name: str) -> Floats:
        """The numbers in one column."""
        return np.array([row[name] for row in self], dtype=np.float64)

    def by(self, name: str) -> Iterator[tuple[Any, Rows]]:
        """Each distinct value of a column, in order, with its rows."""
        groups: dict[Any, Rows] = {}
        for row in self:
            groups.setdefault(row[name], Rows()).append(row)
        for value in sorted(groups):
            yield value, groups[value]

    def medians(self, by: str, of: str) -> tuple[list[Any], list[float]]:
        """Each distinct value of one column, and the median of another column over its rows."""
        groups = [(value, float(np.median(rows.column(of)))) for value, rows in self.by(by)]
        return [value for value, _ in groups], [median for _, median in groups]

    def sets(self, like: str | None = None) -> Iterator[tuple[str, Rows]]:
        """Each set of users with its rows; if `like` is given, only the sets that stand for that set of the paper."""
        for name in dict.fromkeys(row["set"] for row in self if like in (None, row["like"])):
            yield name, self.where(set=name)

    def as_csv(self) -> str:
        """The rows as CSV."""
        text = io.StringIO(newline="")
        if self:
            writer = csv.DictWriter(text, list(self[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self)
        return text.getvalue()
