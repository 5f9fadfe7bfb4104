"""Hiding: quality loss and NCE against K, the number of sensitive visits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.reproduction.claims import Claim, moves, near
from elsewhere.reproduction.experiment import DEFAULTS, Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.releases import hidden
from elsewhere.reproduction.rows import Rows

_OTHER_DATA = "other data"
#: NCE 'on average', by set, read as the median over users at |L'| = 5. For NYC the paper also gives it as 0.14.
_MEDIAN_NCE = {"NYC": 0.15, "TKY": 0.25}


def run(study: Study, dataset: Dataset) -> Rows:
    return hidden(study, dataset, dataset.defaults.sensitive)


def draw(rows: Rows) -> list[Drawing]:
    return [
        Drawing("js", "Figure 10", "JS against the sensitive visits K", _panels(rows, "JS", "js_path", "js")),
        Drawing("nce", "Figure 11", "NCE against the sensitive visits K", [
            Panel(f"{name}, medians", "sensitive visits K", "NCE", [Series("median", *own.medians("K", "nce"))],
                  log_x=True)
            for name, own in rows.sets()
        ]),
        Drawing("l2", "Figure 25", "L2 against the sensitive visits K", _panels(rows, "L2", "l2_path", "l2")),
    ]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        on = f"hide, {name}"
        for measure, column in (("JS", "js_path"), ("NCE", "nce"), ("L2", "l2_path")):
            yield moves(f"median {measure} increases with K", "rises", *own.medians("K", column), on, _OTHER_DATA)
        median, number = float(np.median(own.column("nce"))), own[0]["sensitive"]
        yield near(f"NCE on average (median over users at |L'| = {number})", _MEDIAN_NCE[own[0]["like"]], median, on,
                   _OTHER_DATA, share=True)  # fmt: skip
    for name, own in rows.sets("TKY"):
        many = Rows(row for row in own if row["K"] >= 60)
        share = float(np.mean(many.column("K") / many.column("N"))) if many else np.nan
        yield near("where K >= 60, the mean share of sensitive visits", 0.46, share, f"hide, {name}", _OTHER_DATA,
                   share=True)  # fmt: skip


def _panels(rows: Rows, measure: str, path: str, whole: str) -> Iterator[Panel]:
    for name, own in rows.sets():
        length = DEFAULTS[own[0]["like"]].hiding_length
        fixed = own.where(n=length)
        series = [Series("all bins", *own.medians("K", whole)), Series("LHO's path", *own.medians("K", path))]
        yield Panel(f"{name}, medians", "sensitive visits K", measure, series, log_x=True, log_y=True)
        each = [Series("all bins", fixed.column("K"), fixed.column(whole)),
                Series("LHO's path", fixed.column("K"), fixed.column(path))]  # fmt: skip
        yield Panel(
            f"{name}, each histogram with n = {length}", "sensitive visits K", measure, each, log_x=True, log_y=True
        )


EXPERIMENT = Experiment(
    order=20,
    title="Hiding: impact of the number of sensitive visits K",
    method="As before, five random locations of each user are hidden. K is the number of visits to them.",
    run=run,
    draw=draw,
    claims=claims,
)
