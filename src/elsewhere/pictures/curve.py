"""A frontier in plain numbers."""

from __future__ import annotations

from typing import Literal, NamedTuple

from elsewhere.pictures.changes import figures

TITLE = "What each quality loss buys"


class Point(NamedTuple):
    """The result for one budget."""

    budget: float
    quality_loss: float
    privacy_distance: float


class Curve(NamedTuple):
    """The points in the given order of their budgets, one of them marked with a word."""

    goal: Literal["resemble", "avoid"]
    points: tuple[Point, ...]
    #: The points that no other point dominates, by quality loss.
    undominated: tuple[int, ...]
    marked: int
    mark: str
    #: Whether the budgets are privacy distances to meet; otherwise they are limits on the quality loss.
    of_distance: bool = False

    @property
    def limit(self) -> str:
        """The name of a budget, in words."""
        if not self.of_distance:
            return "quality loss at most"
        return f"privacy distance at {'most' if self.goal == 'resemble' else 'least'}"

    def in_words(self) -> str:
        """The marked point in one line."""
        point = self.points[self.marked]
        return f"{self.mark.capitalize()}: {figures(point.quality_loss, point.privacy_distance)}"
