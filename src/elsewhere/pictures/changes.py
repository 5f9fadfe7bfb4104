"""A release beside its history: which locations are shown, in what order, and a note about the others."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsewhere.text import as_sentence, printable

TITLE = "How the release differs from the history"
PRIVATE = "Private: not part of the release."

#: The most rows; further locations are folded into one line.
MOST_ROWS = 25


class Row(NamedTuple):
    """One location."""

    location: str
    before: int
    after: int
    target: float | None
    sensitive: bool

    @property
    def name(self) -> str:
        """The location as one printable line."""
        return printable(self.location)


class Changes(NamedTuple):
    """A history and its release, one number per location; the target is None in hide."""

    goal: Literal["hide", "resemble", "avoid"]
    locations: tuple[str, ...]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    target: NDArray[np.float64] | None
    sensitive: NDArray[np.bool_]
    quality_loss: float
    privacy_distance: float | None
    notes: tuple[str, ...]

    def top_rows(self) -> list[Row]:
        """The rows that are not folded."""
        return self._rows(self._by_interest()[:MOST_ROWS])

    def all_rows(self) -> list[Row]:
        """All rows."""
        return self._rows(np.arange(len(self.locations)))

    def folded_note(self) -> str:
        """A line about the locations that are not shown; empty if all are."""
        rest = self._by_interest()[MOST_ROWS:]
        if not len(rest):
            return ""
        locations = "1 more location" if len(rest) == 1 else f"{len(rest):,} more locations"
        most = int(self._changed()[rest].max())
        return f"and {locations}, which " + (f"changed by at most {most:,}" if most else "did not change")

    def in_words(self) -> str:
        """The goal and the figures, in one line."""
        if self.privacy_distance is None:
            hidden = int(self.sensitive.sum())
            asked = f"Hide {hidden:,} sensitive location{'' if hidden == 1 else 's'}"
        else:
            asked = f"{self.goal.capitalize()} the target"
        return f"{asked}: {figures(self.quality_loss, self.privacy_distance)}"

    def remarks(self) -> list[str]:
        """The text below: the notes as sentences, and that it is private."""
        return [*map(as_sentence, self.notes), PRIVATE]

    def _changed(self) -> NDArray[np.int64]:
        changed: NDArray[np.int64] = np.abs(self.after - self.before)
        return changed

    def _by_interest(self) -> NDArray[np.intp]:
        """Sensitive locations first, so that they are never folded, then the others, largest changes first."""
        return np.lexsort((-self.before, -self._changed(), ~self.sensitive))

    def _rows(self, chosen: NDArray[np.intp]) -> list[Row]:
        """The given rows, largest changes first, then most visited, then by name."""
        chosen = chosen[np.lexsort((chosen, -self.before[chosen], -self._changed()[chosen]))]
        target: list[Any] = [None] * len(chosen) if self.target is None else self.target[chosen].tolist()
        return [
            Row(self.locations[at], *numbers)
            for at, *numbers in zip(
                chosen.tolist(),
                self.before[chosen].tolist(),
                self.after[chosen].tolist(),
                target,
                self.sensitive[chosen].tolist(),
                strict=True,
            )
        ]


def figures(quality_loss: float, privacy_distance: float | None) -> str:
    """The two figures of a result, in words."""
    words = f"quality loss {figure(quality_loss)}"
    return words if privacy_distance is None else f"{words}, privacy distance {figure(privacy_distance)}"


def figure(distance: float) -> str:
    """A distance, rounded for people."""
    return "infinite" if math.isinf(distance) else f"{distance:.4g}"


def number(count: float) -> str:
    """A count, or a target's number, which may be fractional, rounded for people."""
    if float(count).is_integer():
        return f"{int(count):,}"
    return f"{count:,.1f}" if count >= 100 else f"{count:.3g}"
