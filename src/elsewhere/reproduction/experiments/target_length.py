"""Resembling and avoiding: d_p, d_q, NCE and L2 against the length n."""

from __future__ import annotations

from collections.abc import Iterator

from elsewhere.reproduction.claims import Claim, at_most, beyond, moves
from elsewhere.reproduction.comparing import (
    OTHER_DATA,
    TARGET_METHOD,
    clusters_kept,
    compared,
    drawings,
    introduction,
    one_each,
    within_threshold,
)
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Study, enough
from elsewhere.reproduction.releases import excess
from elsewhere.reproduction.rows import Rows

_OTHER_CHOICE = "other data: the paper's claim is about the histograms that it chose"
#: The most by which RH's d_p is above RO's, in percent, by set.
_EXCESS = {"NYC": 1.0, "TKY": 2.1}


def run(study: Study, dataset: Dataset) -> Rows:
    size = dataset.defaults.size
    fitting = [history for history in dataset.histograms if history.size == size]
    chosen = one_each(enough(fitting, 4, dataset, f"of size {size}"), "length", study.random("length", dataset.name))
    return Rows(compared(dataset, chosen, [dataset.defaults.threshold]))


def draw(rows: Rows) -> list[Drawing]:
    figures = {"d_p": "Figure 17 a, b", "d_q": "Figure 17 c, d", "nce": "Figure 18 a, b", "l2": "Figure 27 a, b"}
    return drawings(rows, "n", "length n", figures)


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        resembling, avoiding = own.where(goal="resemble"), own.where(goal="avoid")
        for method, algorithm in (("optimal", "RO"), ("heuristic", "RH")):
            group = resembling.where(method=method)
            on = f"resemble ({algorithm}), {name}"
            yield moves("d_p decreases with n", "falls", group.column("n"), group.column("d_p"), on, OTHER_DATA)
            yield moves(
                "L2 decreases with n, as d_p does", "falls", group.column("n"), group.column("l2"), on, OTHER_DATA
            )
            yield moves("d_q is not affected by n", "stays", group.column("n"), group.column("d_q"), on, OTHER_DATA)
        yield at_most("excess of RH's d_p over RO's", _EXCESS[own[0]["like"]], 100 * max(excess(resembling)),
                      f"resemble, {name}", _OTHER_CHOICE, "%")  # fmt: skip
        yield from introduction(resembling, name)
        yield from within_threshold(resembling, name)
        yield from clusters_kept(resembling, name)
        yield beyond("largest shortfall of AH's d_p below AO's", 100 * max(excess(avoiding)), f"avoid, {name}", "%")


EXPERIMENT = Experiment(
    order=80,
    title="Resembling and avoiding: impact of the length n",
    method=f"One histogram of each length, chosen at random from those of size 100. {TARGET_METHOD}",
    run=run,
    draw=draw,
    claims=claims,
)
