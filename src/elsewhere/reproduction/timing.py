"""Measure runtimes: the paper's algorithms to the letter, and the verbs, on the same question."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from elsewhere import paper
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.question import Goal, Method
from elsewhere.reproduction.experiment import Scale
from elsewhere.verbs import avoid, hide, resemble

#: Runs are repeated until they take this many seconds in all.
_LONG_ENOUGH = 0.05
_PAPER: dict[tuple[Goal, Method], Callable[..., object]] = {
    ("resemble", "optimal"): paper.ro,
    ("resemble", "heuristic"): paper.rh,
    ("avoid", "optimal"): paper.ao,
    ("avoid", "heuristic"): paper.ah,
}
#: The code that the paper's authors ran, to judge by their runtimes. The paper has none for avoid.
_SUGGESTED: dict[tuple[Goal, Method], Callable[..., object]] = {
    ("resemble", "optimal"): paper.ro_every_length,
    ("resemble", "heuristic"): paper.rh_tabulated,
}
_VERBS: dict[Goal, Callable[..., object]] = {"resemble": resemble, "avoid": avoid}


def hiding(history: Histogram, sensitive: Sequence[str], scale: Scale) -> dict[str, Any]:
    """The seconds of LHO and of `hide`, and the quantities that they depend on.

    LHO's seconds are NaN if its graph would be too large, or if the run was ended. In that case `paper_above` is the
    time at which it was ended.
    """
    visits, bins = sum(history[location] for location in sensitive), history.length - len(sensitive)
    edges = bins * (visits + 1) * (visits + 2) // 2
    grown = bins * visits**2
    small = edges <= scale.edges
    literal = seconds(paper.lho, history, sensitive, limit=scale.patience) if small else math.nan
    return {
        "n": history.length,
        "K": visits,
        "sensitive": len(sensitive),
        "bins": bins,
        "lambda": grown * math.log(grown) if grown > 1 else 0.0,
        "paper": literal,
        "paper_above": scale.patience if small and math.isnan(literal) else 0.0,
        "verbs": mean_seconds(hide, history, sensitive),
    }


def targeting(
    goal: Goal, history: Histogram, target: TableLike, threshold: float, scale: Scale
) -> Iterator[dict[str, Any]]:
    """The seconds of the optimal algorithm and of the heuristic."""
    yield optimals(goal, history, target, threshold, scale)
    yield heuristics(goal, history, target, threshold, scale)


def optimals(goal: Goal, history: Histogram, target: TableLike, threshold: float, scale: Scale) -> dict[str, Any]:
    """The seconds of the optimal algorithm, in three codes.

    `paper` is the pseudocode to the letter, `suggested` the code that the paper's runtimes suggest, and `verbs` the
    code of this package.
    """
    question = (history, target, threshold)
    edges = history.length * (history.size + 1) * (history.size + 2) // 2
    literal = math.nan if edges > scale.edges else seconds(_PAPER[goal, "optimal"], *question, limit=scale.patience)
    return {
        **_about(goal, "optimal", history, threshold),
        "paper": literal,
        "suggested": _suggested(goal, "optimal", *question, limit=every_length_patience(scale)),
        "verbs": mean_seconds(_VERBS[goal], *question),
    }


def heuristics(goal: Goal, history: Histogram, target: TableLike, threshold: float, scale: Scale) -> dict[str, Any]:
    """The seconds of the heuristic, in the same codes."""
    question = (history, target, threshold)
    return {
        **_about(goal, "heuristic", history, threshold),
        "paper": seconds(_PAPER[goal, "heuristic"], *question, limit=scale.patience),
        "suggested": _suggested(goal, "heuristic", *question, limit=scale.patience),
        "verbs": mean_seconds(_VERBS[goal], *question, method="heuristic"),
    }


def every_length_patience(scale: Scale) -> float:
    """The time limit for a run that keeps every length: shorter, because it may take another 400 MB every second."""
    return scale.patience / 2


def _suggested(goal: Goal, method: Method, *question: object, limit: float) -> float:
    code = _SUGGESTED.get((goal, method))
    return math.nan if code is None else seconds(code, *question, limit=limit)


def _about(goal: Goal, method: Method, history: Histogram, threshold: float) -> dict[str, Any]:
    return {"goal": goal, "method": method, "n": history.length, "N": history.size, "threshold": threshold}


def seconds(function: Callable[..., object], *args: object, limit: float) -> float:
    """The processor time of a function in seconds; NaN if it exceeds the limit."""
    try:
        with _ended_after(limit):
            return mean_seconds(function, *args)
    except TimeoutError:
        return math.nan


def mean_seconds(function: Callable[..., object], *args: object, **kwargs: object) -> float:
    """The mean processor time in seconds. Other programs on the machine affect it least.

    The clock may tick only a few hundred times a second, so a short function is run many times.
    """
    begin, runs = time.process_time(), 0
    while True:
        function(*args, **kwargs)
        runs += 1
        taken = time.process_time() - begin
        if taken >= _LONG_ENOUGH:
            return taken / runs


@contextmanager
def _ended_after(limit: float) -> Iterator[None]:
    """Raise TimeoutError when the time is up. On systems without such a timer, there is no limit."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
