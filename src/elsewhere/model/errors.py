"""What can go wrong, as types that a program can tell apart and sentences that a person can read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsewhere.model.result import Sanitized


class ElsewhereError(ValueError):
    """Anything that this package refuses to do; the message is one sentence for the person who asked.

    `arguments` are the arguments that the message tells the reader to change, under their names in Python. The command
    line puts its options in their place.
    """

    arguments: tuple[str, ...] = ()


class InputError(ElsewhereError):
    """The input makes no sense; the message names the offending value."""

    def __init__(self, message: str, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.arguments = arguments


class Infeasible(ElsewhereError):
    """No histogram satisfies the constraints.

    `needed_quality_loss` is the least quality loss with which one would; infinity if none would at any.
    """

    arguments = ("candidates", "redistribute")

    def __init__(self, message: str, needed_quality_loss: float) -> None:
        super().__init__(message)
        self.needed_quality_loss = needed_quality_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.needed_quality_loss)


class Unchanged(ElsewhereError):
    """The release would protect nothing: no visit is hidden, or it equals the history."""


class PrivacyNotMet(ElsewhereError):
    """The best histogram within the quality limit misses the wanted privacy distance, so nothing may be released.

    `best` is that best result, and `needed_quality_loss` the least quality loss with which the wanted distance
    would be met; infinity if it never would. A limit that ended the search for it makes it any loss that would do
    (the message says so), or NaN if none was found.
    """

    arguments = ("max_distance", "min_distance")

    def __init__(self, message: str, best: Sanitized, needed_quality_loss: float) -> None:
        super().__init__(message)
        self.best = best
        self.needed_quality_loss = needed_quality_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.best, self.needed_quality_loss)


def sufficient_limit(needed: float) -> str:
    """A positive limit that would do, as a number that is short and not below the one that is needed.

    >>> sufficient_limit(0.072681167)
    '0.07269'
    """
    step = 10.0 ** (math.floor(math.log10(needed)) - 3)
    return f"{math.ceil(needed / step) * step:.10g}"
