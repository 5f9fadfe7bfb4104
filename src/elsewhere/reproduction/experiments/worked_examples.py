"""The paper's worked examples: Alice hides g and h, and Bob resembles a budget traveller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from elsewhere import paper
from elsewhere.model.distances import distance
from elsewhere.model.histogram import Histogram
from elsewhere.paper.terms import term
from elsewhere.reproduction.claims import Claim, at_least, at_most, near, same
from elsewhere.reproduction.experiment import Dataset, Drawing, Experiment, Panel, Series, Study
from elsewhere.reproduction.rows import Rows
from elsewhere.verbs import hide, resemble

_BINS = "abcdefgh"
_HISTOGRAM = Histogram(zip(_BINS, (7, 2, 3, 2, 13, 12, 8, 3), strict=True))
_TARGET = Histogram(zip(_BINS, (10, 8, 6, 2, 13, 4, 4, 3), strict=True))
_SENSITIVE = ("g", "h")
_THRESHOLD = 0.05
#: The releases that the paper prints: of hiding, and of RO. RH's is only in a figure.
_HIDDEN = (9, 3, 4, 3, 16, 15, 0, 0)
_RESEMBLING = (10, 6, 5, 2, 14, 5, 5, 3)
_WHY = "another tie or another rounding"

_QUESTION = (_HISTOGRAM, _TARGET, _THRESHOLD)
_ANSWERS: dict[str, Callable[[], Histogram | None]] = {
    "LHO": lambda: paper.lho(_HISTOGRAM, _SENSITIVE),
    "hide": lambda: hide(_HISTOGRAM, _SENSITIVE).histogram,
    "RO": lambda: paper.ro(*_QUESTION),
    "resemble (RO)": lambda: resemble(*_QUESTION).histogram,
    "RH": lambda: paper.rh(*_QUESTION),
    "RH, tabulated": lambda: paper.rh_tabulated(*_QUESTION),
    "resemble (RH)": lambda: resemble(*_QUESTION, method="heuristic").histogram,
}


def run(study: Study, dataset: Dataset) -> Rows:
    if dataset is not study.sets[0]:  # the examples do not depend on the data
        return Rows()
    return Rows(
        dataset.row(algorithm=name, bin=at, location=location, count=count)
        for name, answer in _ANSWERS.items()
        for at, (location, count) in enumerate(zip(_BINS, _counts(answer()), strict=True), 1)
    )


def draw(rows: Rows) -> list[Drawing]:
    bins = range(1, len(_BINS) + 1)
    given = [Series("H", bins, _counts(_HISTOGRAM))]
    target = [*given, Series("H'' in TR", bins, _counts(_TARGET))]
    resembling = [_series(rows, "RO"), _series(rows, "RH")]
    return [Drawing("releases", "Figure 1", "The worked examples: counts of the locations a to h", [
        Panel("LHO hides g and h", "location, a to h", "visits", [*given, _series(rows, "LHO")]),
        Panel("RO and RH resemble H''", "location, a to h", "visits", [*target, *resembling]),
    ])]  # fmt: skip


def claims(rows: Rows) -> Iterator[Claim]:
    for algorithms, counts, says in (
        (("LHO", "hide"), _HIDDEN, "example 1: the release that hides g and h"),
        (("RO", "resemble (RO)"), _RESEMBLING, "examples 2 and 3: RO's release"),
    ):
        for name in algorithms:
            yield same(says, _written(counts), _written(_found(rows, name)), name, _WHY)
    yield near("example of LHO: adding 2 counts to the first bin costs", 1.8e-3,
               term("js", _HISTOGRAM.size, _HISTOGRAM.size)(7, 9), "JS", _WHY)  # fmt: skip
    yield near("example of RO: the quality error of 10 counts in the first bin", 3.8e-3,
               term("js", _HISTOGRAM.size, _HISTOGRAM.size)(7, 10), "JS", _WHY)  # fmt: skip
    best = distance("js", _TARGET, _histogram(rows, "RO"))
    for name in ("RH", "RH, tabulated", "resemble (RH)"):
        release = _histogram(rows, name)
        yield at_most("example 3: RH's quality loss does not exceed the threshold", _THRESHOLD,
                      distance("js", _HISTOGRAM, release), name, _WHY)  # fmt: skip
        yield at_least("example 3: RH's release is slightly less similar to the target than RO's (ratio of d_p)", 1.0,
                       distance("js", _TARGET, release) / best, name, _WHY)  # fmt: skip
        yield same("example 3: f and g are equal in RO's release, and not in RH's", "equal, not equal",
                   ", ".join(_equal(_histogram(rows, it)) for it in ("RO", name)), name, _WHY)  # fmt: skip


def _series(rows: Rows, name: str) -> Series:
    own = rows.where(algorithm=name)
    return Series(f"H' of {name}", own.column("bin"), own.column("count"))


def _counts(histogram: Histogram | None) -> list[int]:
    return [0 if histogram is None else histogram[location] for location in _BINS]


def _found(rows: Rows, name: str) -> list[int]:
    return [row["count"] for row in rows.where(algorithm=name)]


def _histogram(rows: Rows, name: str) -> Histogram:
    return Histogram(zip(_BINS, _found(rows, name), strict=True))


def _written(counts: Sequence[int]) -> str:
    return f"({', '.join(map(str, counts))})"


def _equal(histogram: Histogram) -> str:
    return "equal" if histogram["f"] == histogram["g"] else "not equal"


EXPERIMENT = Experiment(
    order=1,
    title="The worked examples",
    method="Examples 1 to 3 of the introduction, and the examples of LHO and RO in the section on algorithms. They do "
    "not depend on the data. RH's release is printed only in a figure, so it is checked against what the text says.",
    run=run,
    draw=draw,
    claims=claims,
)
