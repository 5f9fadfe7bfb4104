"""What users who are asked alone are told, kept for others with the same histogram: each question is searched once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import Lock
from typing import NamedTuple

from elsewhere.model.arrays import Ints

#: Places of all histograms and releases that are kept: some ten megabytes.
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
    """Answers by question: a plan and a histogram; threads share them. Those of releases have passed their check."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Answer] = {}
        self._places = 0
        self._lock = Lock()

    def get(self, question: Hashable) -> Answer | None:
        return self._known.get(question)

    def keep(self, question: Hashable, answer: Answer, places: int) -> None:
        """Keep an answer to a histogram with so many places, if need be instead of all others."""
        needed = places + len(answer.locations)
        if needed > _MOST_PLACES:
            return
        with self._lock:
            if self._places + needed > _MOST_PLACES:
                self._known, self._places = {}, 0
            if question not in self._known:
                self._places += needed
            self._known[question] = answer
