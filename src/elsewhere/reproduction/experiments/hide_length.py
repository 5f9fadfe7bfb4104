"""Hiding: quality loss and NCE against the length n."""

from __future__ import annotations

from collections.abc import Iterator

from elsewhere.reproduction.claims import Claim, moves
from elsewhere.reproduction.experiment import DEFAULTS, Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.releases import hidden
from elsewhere.reproduction.rows import Rows

_OTHER_DATA = "other data: it depends on how the size grows with the length"


def run(study: Study, dataset: Dataset) -> Rows:
    return hidden(study, dataset, dataset.defaults.sensitive)


def draw(rows: Rows) -> list[Drawing]:
    return [
        Drawing("js", "Figure 8", "JS against the length n", _panels(rows, "JS", "js_path", "js")),
        Drawing("nce", "Figure 9", "NCE against the length n", [
            Panel(f"{name}, medians", "length n", "NCE", [Series("median", *own.medians("n", "nce"))])
            for name, own in rows.sets()
        ]),
        Drawing("l2", "Figure 24", "L2 against the length n", _panels(rows, "L2", "l2_path", "l2")),
    ]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for name, own in rows.sets():
        for measure, column in (("JS", "js_path"), ("NCE", "nce"), ("L2", "l2_path")):
            yield moves(
                f"median {measure} decreases with n", "falls", *own.medians("n", column), f"hide, {name}", _OTHER_DATA
            )


def _panels(rows: Rows, measure: str, path: str, whole: str) -> Iterator[Panel]:
    for name, own in rows.sets():
        visits = DEFAULTS[own[0]["like"]].visits
        fixed = own.where(K=visits)
        series = [Series("all bins", *own.medians("n", whole)), Series("LHO's path", *own.medians("n", path))]
        yield Panel(f"{name}, medians", "length n", measure, series, log_y=True)
        each = [Series("all bins", fixed.column("n"), fixed.column(whole)),
                Series("LHO's path", fixed.column("n"), fixed.column(path))]  # fmt: skip
        yield Panel(f"{name}, each histogram with K = {visits}", "length n", measure, each, log_y=True)


EXPERIMENT = Experiment(
    order=10,
    title="Hiding: impact of the length n",
    method="Five locations of each user, chosen uniformly at random, are hidden. 'LHO's path' adds up the terms of the "
    "bins that are not sensitive, as the paper does. 'All bins' is the distance of the release from the histogram.",
    run=run,
    draw=draw,
    claims=claims,
)
