"""A cache of answers to single users, so that users with the same histogram are searched only once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import Lock
from typing import NamedTuple

from elsewhere.model.arrays import Ints

#: The most places of all cached histograms and releases: about ten megabytes.
_MOST_PLACES = 1 << 18


class Answer(NamedTuple):
    """A release with its figures, or the reason why there is none."""

    status: str = "none"
    quality_loss: float | None = None
    privacy_distance: float | None = None
    gap: float | None = None
    locations: Sequence[str] = ()
    counts: Ints | None = None
    reason: str | None = None


class Answers:
    """Answers by plan and histogram, shared by threads. Every cached release has passed its check."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Answer] = {}
        self._places = 0
        self._lock = Lock()

    def get(self, question: Hashable) -> Answer | None:
        return self._known.get(question)

    def keep(self, question: Hashable, answer: Answer, places: int) -> None:
        """Cache the answer for a histogram with this many places. If the cache is full, empty it first."""
        needed = places + len(answer.locations)
        if needed > _MOST_PLACES:
            return
        with self._lock:
            if self._places + needed > _MOST_PLACES:
                self._known, self._places = {}, 0
            if question not in self._known:
                self._places += needed
            self._known[question] = answer
