"""Importing this module asks one question of each kind, which compiles and loads the solvers."""

from contextlib import suppress

from elsewhere.kernels.first_answers import compile_at_once
from elsewhere.model.errors import PrivacyNotMet
from elsewhere.verbs import avoid, frontier, hide, resemble

_HISTORY, _TARGET = {"a": 7, "b": 2, "c": 3}, {"a": 3, "d": 4}
#: A question with this many visits uses the search for large sizes.
_LONG = {"a": 200_000, "b": 100_000, "c": 50_000}

#: In this question, either of the first two places may take visits from the other, so its search is split.
_FORKED = {"a": 1200, "b": 1200, "c": 10, "d": 20}

compile_at_once()
hide(_HISTORY, ["c"])
frontier(_HISTORY, _TARGET, [0.1, 0.2])
avoid(_HISTORY, _TARGET, 0.05)
for _verb in (resemble, avoid):
    _verb(_HISTORY, _TARGET, 0.05, method="heuristic")
    _verb(_LONG, _TARGET, 0.05)
avoid(_FORKED, dict.fromkeys("abcd", 1) | {"e": 100}, 0.05, visited_only=True)
with suppress(PrivacyNotMet):
    resemble(_HISTORY, _TARGET, 0.05, max_distance=0.01)
