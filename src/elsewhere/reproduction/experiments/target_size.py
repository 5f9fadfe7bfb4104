"""Resembling and avoiding: d_p, d_q, NCE and L2 against the size N."""

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


def run(study: Study, dataset: Dataset) -> Rows:
    length = dataset.defaults.length
    fitting = [history for history in dataset.histograms if history.length == length]
    chosen = one_each(enough(fitting, 4, dataset, f"of length {length}"), "size", study.random("size", dataset.name))
    return Rows(compared(dataset, chosen, [dataset.defaults.threshold]))


def draw(rows: Rows) -> list[Drawing]:
    figures = {"d_p": "Figure 18 c", "d_q": "Figure 18 d", "nce": "Figure 19", "l2": "Figure 27 c"}
    return drawings(rows, "N", "size N", figures, log_x=True)


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        resembling, avoiding = own.where(goal="resemble"), own.where(goal="avoid")
        for method, algorithm in (("optimal", "RO"), ("heuristic", "RH")):
            group = resembling.where(method=method)
            on = f"resemble ({algorithm}), {name}"
            yield moves("d_p increases with N", "rises", group.column("N"), group.column("d_p"), on, OTHER_DATA)
            yield moves(
                "L2 increases with N, as d_p does", "rises", group.column("N"), group.column("l2"), on, OTHER_DATA
            )
            yield moves("d_q is not affected by N", "stays", group.column("N"), group.column("d_q"), on,
                        "with more visits, steps are finer, so d_q comes closer to the threshold")  # fmt: skip
        yield at_most("excess of RH's d_p over RO's", 1.8, 100 * max(excess(resembling)), f"resemble, {name}",
                      "other data: the paper's claim is about the histograms that it chose", "%")  # fmt: skip
        yield from introduction(resembling, name)
        yield from within_threshold(resembling, name)
        yield from clusters_kept(resembling, name)
        yield beyond("largest shortfall of AH's d_p below AO's", 100 * max(excess(avoiding)), f"avoid, {name}", "%")


EXPERIMENT = Experiment(
    order=90,
    title="Resembling and avoiding: impact of the size N",
    method="One histogram of each size, chosen at random from those of one length (25 in NYC, and 35 in TKY, which the "
    f"paper leaves out). {TARGET_METHOD}",
    run=run,
    draw=draw,
    claims=claims,
)
