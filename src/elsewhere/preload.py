"""Importing this asks one question of each kind, so that the next one finds the solvers compiled and loaded."""

from contextlib import suppress

from elsewhere.kernels.first_answers import compile_at_once
from elsewhere.model.errors import PrivacyNotMet
from elsewhere.verbs import avoid, frontier, hide, resemble

_HISTORY, _TARGET = {"a": 7, "b": 2, "c": 3}, {"a": 3, "d": 4}

compile_at_once()
hide(_HISTORY, ["c"])
frontier(_HISTORY, _TARGET, [0.1, 0.2])
avoid(_HISTORY, _TARGET, 0.05)
for _verb in (resemble, avoid):
    _verb(_HISTORY, _TARGET, 0.05, method="heuristic")
with suppress(PrivacyNotMet):
    resemble(_HISTORY, _TARGET, 0.05, max_distance=0.01)
