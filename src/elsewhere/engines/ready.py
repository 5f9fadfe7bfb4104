"""Imported by the process that workers are forked from, so that what all of them need is loaded once."""

from elsewhere.engines import kernel  # noqa: F401
from elsewhere.verbs import avoid, hide, resemble

_HISTORY, _OTHER = {"a": 2, "b": 1}, {"a": 1, "b": 2}

# The first answer of a process loads the solvers.
hide(_HISTORY, {"a"})
for _method in ("optimal", "heuristic"):
    resemble(_HISTORY, _OTHER, 0.1, method=_method)
    avoid(_HISTORY, _OTHER, 0.1, method=_method)
