"""Hiding: how quality loss and NCE are distributed, by the number of sensitive locations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, at_most, moves, near
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.releases import hidden
from elsewhere.reproduction.rows import Rows

NUMBERS = (1, 2, 5, 10)
_OTHER_DATA = "other data"
_OTHER_SUM = "the paper adds up LHO's path, which leaves out the emptied bins: half of their share of the visits"
_MEDIAN_NCE = {1: 0.0, 2: 0.0, 5: 0.14, 10: 0.3}


def run(study: Study, dataset: Dataset) -> Rows:
    return Rows(row for number in NUMBERS for row in hidden(study, dataset, number))


def draw(rows: Rows) -> list[Drawing]:
    return [
        Drawing("js", "Figure 12 a, b", "Distribution of JS by |L'|", _panels(rows, "JS, LHO's path", "js_path", True)),
        Drawing("nce", "Figure 12 c, d", "Distribution of NCE by |L'|", _panels(rows, "NCE", "nce", False)),
        Drawing("l2", "Figure 26", "Distribution of L2 by |L'|", _panels(rows, "L2, LHO's path", "l2_path", True)),
        Drawing("whole", "", "Distribution of JS over all bins by |L'|", _panels(rows, "JS, all bins", "js", True)),
    ]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for measure, column in (("JS", "js_path"), ("NCE", "nce"), ("L2", "l2_path")):
            yield moves(f"{measure} increases with |L'|", "rises", own.column("sensitive"), own.column(column),
                        f"hide, {name}", _OTHER_DATA)  # fmt: skip
    for name, own in rows.sets("NYC"):
        by = dict(own.by("sensitive"))
        for number, paper in ((1, 7.6e-6), (10, 1.2e-2)):
            for column, sums, why in (("js_path", "LHO's path", _OTHER_DATA), ("js", "all bins", _OTHER_SUM)):
                median = _median(by.get(number), column)
                yield near(f"median JS at |L'| = {number}", paper, median, f"hide, {name}, {sums}", why)
        ten = by.get(10, Rows())
        for column, sums, why in (("js_path", "LHO's path", _OTHER_DATA), ("js", "all bins", _OTHER_SUM)):
            ninth = float(np.quantile(ten.column(column), 0.9)) if ten else np.nan
            yield at_most("at |L'| = 10, JS of 90% of the histograms", 0.07, ninth, f"hide, {name}, {sums}", why)
        rest = Rows(row for row in ten if row["js_path"] > 0.07)
        share = float(np.mean(10 / rest.column("n"))) if rest else np.nan
        yield near("of the others, the mean share of locations that are sensitive", 0.7, share,
                   f"hide, {name}, LHO's path", _OTHER_DATA, share=True)  # fmt: skip
        for number, paper in ((1, 0.7), (10, 0.2)):
            zero = float(np.mean(by[number].column("nce") == 0)) if number in by else np.nan
            yield near(f"share of histograms with NCE = 0 at |L'| = {number}", paper, zero, f"hide, {name}",
                       _OTHER_DATA, share=True)  # fmt: skip
        for number, paper in _MEDIAN_NCE.items():
            yield near(f"median NCE at |L'| = {number}", paper, _median(by.get(number), "nce"), f"hide, {name}",
                       _OTHER_DATA, share=True)  # fmt: skip


def _median(rows: Rows | None, column: str) -> float:
    return float(np.median(rows.column(column))) if rows else np.nan


def _panels(rows: Rows, measure: str, column: str, log: bool) -> Iterator[Panel]:
    for name, own in rows.sets():
        series = []
        for number, group in own.by("sensitive"):
            values = np.sort(group.column(column))
            series.append(Series(f"|L'| = {number}", values, np.arange(1, len(values) + 1) / len(values), "steps"))
        yield Panel(name, measure, "share of histograms", series, log_x=log)


EXPERIMENT = Experiment(
    order=30,
    title="Hiding: impact of the number of sensitive locations |L'|",
    method="1, 2, 5 and 10 locations of each user, chosen uniformly at random, are hidden. Users with no more "
    "locations than that are left out.",
    run=run,
    draw=draw,
    claims=claims,
)
