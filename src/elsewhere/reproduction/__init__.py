"""The paper's evaluation repeated: all its experiments, its claims about them, and a report.

An experiment is a file in the folder `experiments`. `docs/reproduce.md` says how to add one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from elsewhere.extras import load
from elsewhere.model.errors import InputError
from elsewhere.reproduction.claims import Claim
from elsewhere.text import closest, quote

__all__ = ["Claim", "Reproduction", "reproduce"]


class Reproduction(NamedTuple):
    """The path of the page, and the paper's claims with their verdicts."""

    page: Path
    claims: tuple[Claim, ...]
    #: A sentence that says how many of them hold.
    verdicts: str


def reproduce(
    report: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    runs: int | None = None,
    patience: float | None = None,
    seed: int = 1,
    only: Iterable[str] = (),
    user_column: str | None = None,
    location_column: str | None = None,
    count_column: str | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Reproduction:
    """Run the experiments and write the report.

    Experiments run in separate processes, so call this below ``if __name__ == "__main__":`` in a script.

    Parameters
    ----------
    report
        The folder for the page, the figures, and the data needed to resume an interrupted run.
    data
        A table of users, or a folder of such tables. Default: made-up users like the paper's.
    quick
        Finish in under two minutes, with fewer users, splits and runs.
    runs
        Number of histograms in one series of runtimes. Default: 40, or 8 if `quick`.
    patience
        Seconds of processor time after which a run of one of the paper's algorithms is ended. Default: 20, or 0.5 if
        `quick`.
    seed
        The same seed gives the same numbers, apart from runtimes.
    only
        The names of the experiments to run. Default: all.
    user_column, location_column, count_column
        As in `read_users`.
    say
        Called with sentences about the progress.
    """
    from elsewhere.evaluation.choices import check_whole
    from elsewhere.reproduction import experiments, running
    from elsewhere.reproduction import report as reports
    from elsewhere.reproduction.cache import Cache
    from elsewhere.reproduction.data import generate, load
    from elsewhere.reproduction.experiment import FULL, QUICK, Study

    check_whole("seed", seed, 0)
    scale = QUICK if quick else FULL
    if runs is not None:
        check_whole("runs", runs, 1)
        scale = replace(scale, timed=runs)
    if patience is not None:
        if not patience > 0:
            raise InputError(f"patience is {quote(patience)}; it must be a positive number of seconds", ("patience",))
        scale = replace(scale, patience=float(patience))
    _check_libraries()
    known = {name: module.EXPERIMENT for name, module in experiments.modules().items()}
    chosen = _chosen(only, known)
    columns = {"user_column": user_column, "location_column": location_column, "count_column": count_column}
    read = None if data is None else load(data, columns)
    folder = Path(report)
    reports.make(folder)
    users = read or generate(seed)
    for note in (*([reports.GENERATED] if users.generated else []), *users.notes):
        say(note)
    study = Study(users.sets, seed, scale)
    cache = Cache(folder / "done", study, users.digest())
    found = running.run(chosen, study, cache, folder, reports.footer(users), say)
    parts = [reports.section(name, known[name], outcome) for name, outcome in found.items()]
    for part in parts:
        if part.outcome.refused:
            say(f"{part.name} is {part.left_out}")
    page = reports.write(folder, parts, study, users)
    return Reproduction(page, tuple(claim for part in parts for claim in part.claims), reports.verdicts(parts))


def _chosen(only: Iterable[str], known: Iterable[str]) -> list[str]:
    wanted = set(only)
    for name in sorted(wanted.difference(known)):
        raise InputError(f"there is no experiment {quote(name)}{closest(name, known)}; choose from {', '.join(known)}")
    return [name for name in known if not wanted or name in wanted]


def _check_libraries() -> None:
    for module in ("matplotlib", "scipy"):
        load(module, f"reproduce needs {module}", "reproduce")
