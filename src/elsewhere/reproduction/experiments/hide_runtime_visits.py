"""Hiding: runtime against K, the number of sensitive visits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction import timing
from elsewhere.reproduction.claims import Claim, at_most, grows_as, moves
from elsewhere.reproduction.experiment import (
    FULL,
    QUICK,
    Dataset,
    Drawing,
    Experiment,
    Fit,
    Panel,
    Series,
    Study,
    enough,
)
from elsewhere.reproduction.releases import drawn
from elsewhere.reproduction.rows import Rows

_SMALL = "another machine and other code"
_FASTER = "faster code: it moves all counts at once, whatever K is"
#: Below this, building the graph does not dominate the runtime.
_LARGE = 20


def run(study: Study, dataset: Dataset) -> Rows:
    rows = Rows()
    length = dataset.defaults.hiding_length
    fitting = [history for history in dataset.histograms if history.length == length]
    fitting = list(enough(fitting, 3, dataset, f"of length {length}"))
    random = study.random("sensitive", dataset.name)
    for at in range(study.scale.timed):
        history = fitting[at % len(fitting)]
        sensitive = drawn(history, dataset.defaults.sensitive, random)
        rows.append(dataset.row(**timing.hiding(history, sensitive, study.scale)))
    return rows


def draw(rows: Rows) -> list[Drawing]:
    return [Drawing("seconds", "Figure 15", "Runtime of hiding against the sensitive visits K", [
        Panel(f"{name}, each histogram with n = {own[0]['n']}", "sensitive visits K", "seconds",
              [Series("LHO", own.column("K"), own.column("paper")),
               Series("hide", own.column("K"), own.column("verbs"))],
              log_x=True, log_y=True, fit=Fit(least=_LARGE))
        for name, own in rows.sets()
    ])]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        large = Rows(row for row in own if row["K"] >= _LARGE)
        yield moves("runtime increases with K", "rises", own.column("K"), own.column("paper"), f"LHO, {name}", _SMALL)
        yield grows_as("runtime is quadratic in K", 2, large.column("K"), large.column("paper"),
                       f"LHO, {name}, K >= {_LARGE}", _SMALL)  # fmt: skip
        yield grows_as("runtime is quadratic in K", 2, large.column("K"), large.column("verbs"),
                       f"hide, {name}, K >= {_LARGE}", _FASTER)  # fmt: skip
        for code, algorithm in (("paper", "LHO"), ("verbs", "hide")):
            # NaN if any run did not finish, because that run may have been the slowest.
            slowest = float(np.max(own.column(code)))
            yield at_most("the slowest histogram", 100.0, slowest, f"{algorithm}, {name}", "another machine", " s")


EXPERIMENT = Experiment(
    order=60,
    title="Hiding: runtime against the number of sensitive visits K",
    method="Histograms of one length (30 in NYC, 40 in TKY). Five random locations of each are hidden, several times: "
    f"{FULL.timed} runs in all ({QUICK.timed} in a quick run). LHO is not run if its graph would be too large for the "
    "memory of a usual machine, and it is ended if it takes too long. Then its slowest run is unknown.",
    run=run,
    draw=draw,
    claims=claims,
    timed=True,
)
