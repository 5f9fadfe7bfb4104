"""The errors of this package: types for programs, and sentences for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsewhere.model.result import Sanitized


class ElsewhereError(ValueError):
    """Base class of all errors of this package; the message is one sentence.

    `arguments` has the names of the Python arguments that the message mentions. The command line replaces them by its
    options.
    """

    arguments: tuple[str, ...] = ()


class InputError(ElsewhereError):
    """An argument or a file is not valid; the message names the value."""

    def __init__(self, message: str, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.arguments = arguments


class TargetMismatch(InputError):
    """Most of the target's weight is at places or kinds of place that the history does not have."""


class Infeasible(ElsewhereError):
    """No histogram satisfies the constraints.

    `needed_quality_loss` is the least quality loss with which one would, or infinity if there is none.
    """

    arguments = ("candidates", "redistribute", "visited_only")

    def __init__(self, message: str, needed_quality_loss: float) -> None:
        super().__init__(message)
        self.needed_quality_loss = needed_quality_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.needed_quality_loss)


class Unchanged(ElsewhereError):
    """The release protects nothing: no visit is hidden, or it equals the history."""


class TooFewReleased(ElsewhereError):
    """Fewer users than asked for have a release, so the batch was not finished.

    `summary` is the private summary of the batch.
    """

    arguments = ("min_released",)

    def __init__(self, message: str, summary: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.summary = summary

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.summary)


class PrivacyNotMet(ElsewhereError):
    """The best histogram within the quality limit misses the privacy parameter, so nothing may be released.

    `best` is that best result. `needed_quality_loss` is the least quality loss that would meet the parameter, or
    infinity if none would. If a limit ended the search early, it is some quality loss that suffices (the message says
    so), or NaN if none was found.
    """

    arguments = ("max_distance", "min_distance")

    def __init__(self, message: str, best: Sanitized, needed_quality_loss: float) -> None:
        super().__init__(message)
        self.best = best
        self.needed_quality_loss = needed_quality_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.best, self.needed_quality_loss)


def sufficient_limit(needed: float) -> str:
    """A sufficient positive limit, as a short number that is not below the needed one.

    >>> sufficient_limit(0.072681167)
    '0.07269'
    """
    step = 10.0 ** (math.floor(math.log10(needed)) - 3)
    return f"{math.ceil(needed / step) * step:.10g}"
