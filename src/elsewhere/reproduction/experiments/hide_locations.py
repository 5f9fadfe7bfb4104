"""Hiding: distribution of quality loss and NCE, by the number of sensitive locations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from elsewhere.paper.terms import term
from elsewhere.reproduction.claims import Claim, at_most, beyond, moves, near, other_reading
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.releases import hidden
from elsewhere.reproduction.rows import Rows

NUMBERS = (1, 2, 5, 10)
_OTHER_DATA = "other data"
#: The paper's median JS by |L'|.
_MEDIAN_JS = {1: 7.6e-6, 10: 1.2e-2}
#: The first of them is presumably a misprint for this value.
_PRESUMABLY = 7.6e-5
#: Numbers of clusters other than the paper's 3. The paper says that their results are 'similar'.
_CLUSTERS = (2, 4, 5)
_MEDIAN_NCE = {1: 0.0, 2: 0.0, 5: 0.14, 10: 0.3}


def run(study: Study, dataset: Dataset) -> Rows:
    return Rows(row for number in NUMBERS for row in hidden(study, dataset, number, _CLUSTERS))


def draw(rows: Rows) -> list[Drawing]:
    return [
        Drawing("js", "Figure 12 a, b", "Distribution of JS by |L'|", _panels(rows, "JS, LHO's path", "js_path", True)),
        Drawing("nce", "Figure 12 c, d", "Distribution of NCE by |L'|", _panels(rows, "NCE", "nce", False)),
        Drawing("l2", "Figure 26", "Distribution of L2 by |L'|", _panels(rows, "L2, LHO's path", "l2_path", True)),
        Drawing("clusters", "", "Median NCE by |L'| and by the number k of clusters", [
            Panel(name, "|L'|", "median NCE", [
                Series(f"k = {k}", *own.medians("sensitive", column), "line") for k, column in _nce_columns().items()
            ])
            for name, own in rows.sets()
        ]),
        Drawing("whole", "", "Distribution of JS over all bins by |L'|", _panels(rows, "JS, all bins", "js", True)),
    ]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for measure, column in (("JS", "js_path"), ("NCE", "nce"), ("L2", "l2_path")):
            yield moves(f"{measure} increases with |L'|", "rises", own.column("sensitive"), own.column(column),
                        f"hide, {name}", _OTHER_DATA)  # fmt: skip
        yield from _other_clusters(own, name)
    for name, own in rows.sets("NYC"):
        by = dict(own.by("sensitive"))
        yield from _medians_of_js(by, name)
        ten = by.get(10, Rows())
        ninths = [float(np.quantile(ten.column(column), 0.9)) if ten else np.nan for column in ("js_path", "js")]
        says = "at |L'| = 10, JS of 90% of the histograms"
        yield at_most(says, 0.07, ninths[0], f"hide, {name}, LHO's path", _OTHER_DATA)
        yield other_reading(at_most(says, 0.07, ninths[1], f"hide, {name}, all bins", ""))
        rest = Rows(row for row in ten if row["js_path"] > 0.07)
        share = float(np.mean(rest.column("K") / rest.column("N"))) if rest else np.nan
        yield near("at |L'| = 10, mean share of sensitive visits (K/N) where JS > 0.07", 0.7, share,
                   f"hide, {name}, LHO's path", _OTHER_DATA, share=True)  # fmt: skip
        for number, paper in ((1, 0.7), (10, 0.2)):
            zero = float(np.mean(by[number].column("nce") == 0)) if number in by else np.nan
            yield near(f"share of histograms with NCE = 0 at |L'| = {number}", paper, zero, f"hide, {name}",
                       _OTHER_DATA, share=True)  # fmt: skip
        for number, paper in _MEDIAN_NCE.items():
            yield near(f"median NCE at |L'| = {number}", paper, _median(by.get(number), "nce"), f"hide, {name}",
                       _OTHER_DATA, share=True)  # fmt: skip


def _medians_of_js(by: Mapping[int, Rows], name: str) -> Iterator[Claim]:
    for number, paper in _MEDIAN_JS.items():
        path, whole = (_median(by.get(number), column) for column in ("js_path", "js"))
        says, on = f"median JS at |L'| = {number}", f"hide, {name}, LHO's path"
        if number == 1:
            least = _least_possible(by[1]) if 1 in by else np.nan
            why = (
                f"the least possible median for these sizes is {least:.1e}; {paper:.1e} is presumably a misprint "
                f"for {_PRESUMABLY:.1e}"
            )
            yield near(says, paper, path, on, why)
            yield near(f"{says}, if {paper:.1e} is a misprint", _PRESUMABLY, path, on, _OTHER_DATA)
        else:
            yield near(says, paper, path, on, _OTHER_DATA)
        yield other_reading(near(says, paper, whole, f"hide, {name}, all bins", ""))


def _least_possible(rows: Rows) -> float:
    """The median if every user hides a single visit, and has all other visits at one location, which receives it.

    No histogram of that size has a shorter path: merging bins, or hiding fewer visits, never makes the path longer.
    """
    return float(np.median([term("js", size, size)(size - 1, size) for size in rows.column("N")]))


def _other_clusters(rows: Rows, name: str) -> Iterator[Claim]:
    """'Results with different k are similar', read as the same trend."""
    for k in _CLUSTERS:
        on = f"hide, {name}, k = {k}"
        yield moves("NCE increases with |L'| also for other numbers k of clusters", "rises", rows.column("sensitive"),
                    rows.column(f"nce_{k}"), on, _OTHER_DATA)  # fmt: skip
        yield beyond("median NCE at |L'| = 5", _median(rows.where(sensitive=5), f"nce_{k}"), on)


def _nce_columns() -> dict[int, str]:
    return dict(sorted({3: "nce", **{k: f"nce_{k}" for k in _CLUSTERS}}.items()))


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
    "locations than that are left out. 'LHO's path' adds up the terms of the bins that are not sensitive, as the paper "
    "does; the paper is judged by it. 'All bins' includes the emptied bins, each with half of its share of the visits.",
    run=run,
    draw=draw,
    claims=claims,
)
