"""What can go wrong, as types that a program can tell apart and sentences that a person can read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsewhere.model.result import Sanitized


class ElsewhereError(ValueError):
    """Anything that this package refuses to do; the message is one sentence for the person who asked."""


class InputError(ElsewhereError):
    """The input makes no sense; the message names the offending value."""


class Infeasible(ElsewhereError):
    """No histogram satisfies the constraints.

    `needed_quality_loss` is the least quality loss with which one would; infinity if none would at any.
    """

    def __init__(self, message: str, needed_quality_loss: float) -> None:
        super().__init__(message)
        self.needed_quality_loss = needed_quality_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.needed_quality_loss)


class PrivacyNotMet(ElsewhereError):
    """The best histogram within the quality limit misses the wanted privacy distance, so nothing may be released.

    `best` is that best result, and `needed_quality_loss` the least quality loss with which the wanted distance
    would be met; infinity if it never would. A limit that ended the search for it makes it any loss that would do
    (the message says so), or NaN if none was found.
    """

    def __init__(self, message: str, best: Sanitized, needed_quality_loss: float) -> None:
        super().__init__(message)
        self.best = best
        self.needed_quality_loss = needed_quality_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.best, self.needed_quality_loss)


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def quoted(value: object) -> str:
    """The value as a message names it: on one line, and shortened if it is long."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except ValueError:  # an int of more digits than Python cares to print
        return f"a {type(value).__name__}"


def closest(name: str, known: Iterable[str]) -> str:
    """A clause that suggests the known name nearest to a misspelt one, or nothing."""
    names = list(known)
    folded = {other.casefold(): other for other in names}
    matches = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[matches[0]]!r}?" if matches else ""


def enough(needed: float) -> str:
    """A positive limit that would do, as a number that is short and not below the one that is needed.

    >>> enough(0.072681167)
    '0.07269'
    """
    step = 10.0 ** (math.floor(math.log10(needed)) - 3)
    return f"{math.ceil(needed / step) * step:.10g}"
