"""How well names indicate kinds of place: precision and recall of the presets, on names that people labelled.

The lists: real names of venues in New York, if they are beside the project; made-up names in many languages; web sites.
A finding is a name with a preset; rows of a sample are weighted. The rival is the rule that every word of our own list
counts, at any position in a name. The intervals (95%) are bootstrapped over the rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.data import folder_with
from benchmarks.measure import Row, best_of, duration
from elsewhere import Taxonomy
from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.words import words

_LISTS = Path(__file__).with_name("lists")
_FILES = {
    "500 names in 20 languages": "names",
    "100 names in 10 other languages": "other_languages",
    "200 web sites": "sites",
}
_LABELS = "venue_labels.csv"
#: Names that version 0.1.0 missed were sampled, so each of them stands for several.
_SAMPLED = 23_431 / 2_500
#: Home and workplace are found by other means than words, so they have separate rows.
_PRIVATE = ("home", "work")
_DRAWS = 1_000


@dataclass(frozen=True)
class Labelled:
    """A name, the presets that a person gave it, and its weight."""

    name: str
    presets: frozenset[str]
    weight: float


@dataclass(frozen=True)
class Score:
    """Precision and recall in percent, each with the ends of its interval."""

    precision: tuple[float, float, float]
    recall: tuple[float, float, float]

    def __str__(self) -> str:
        shown = [f"{what} {value:.0f}% ({low:.0f} to {high:.0f})" for what, (value, low, high) in (
            ("precision", self.precision), ("recall", self.recall))]  # fmt: skip
        return ", ".join(shown)


def measure() -> Iterator[Row]:
    lists = {what: read(_LISTS / f"{file}.csv") for what, file in _FILES.items()}
    if folder := folder_with(_LABELS):
        lists = {"real venues of New York": read(folder / _LABELS), **lists}
    for what, labelled in lists.items():
        yield from _rows(what, labelled)
    yield _speed([row.name for row in lists[next(iter(_FILES))]])


def read(path: Path) -> list[Labelled]:
    """The rows of a list; those of a sample weigh more."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Labelled(row["name"], frozenset(filter(None, row["classes"].split(";"))),
                     _SAMPLED if row.get("stratum") == "sample" else 1.0)
            for row in csv.DictReader(file)
        ]  # fmt: skip


def _rows(what: str, labelled: list[Labelled]) -> Iterator[Row]:
    names = [row.name for row in labelled]
    found, plain = presets_of(names), plain_presets_of(names)
    present = sorted({preset for row in labelled for preset in row.presets})
    sensitive = [preset for preset in _presets() if preset not in _PRIVATE]
    total, rival = score(labelled, found, sensitive), score(labelled, plain, sensitive)
    met = total.precision[0] >= 90 and total.recall[0] >= 80
    yield Row(f"{what}, all presets but home and work", str(total), str(rival), "", "precision 90%, recall 80%", met)
    for preset in present:
        yield Row(f"{what}, {preset}", str(score(labelled, found, [preset])), str(score(labelled, plain, [preset])))


def score(labelled: list[Labelled], found: Mapping[str, set[str]], presets: Iterable[str]) -> Score:
    """How good the findings are, over some presets together."""
    wanted = frozenset(presets)
    weights = np.array([row.weight for row in labelled])
    right = np.array([len(row.presets & found[row.name] & wanted) for row in labelled])
    said = np.array([len(found[row.name] & wanted) for row in labelled])
    true = np.array([len(row.presets & wanted) for row in labelled])
    drawn = np.random.default_rng(7).multinomial(len(labelled), np.full(len(labelled), 1 / len(labelled)), _DRAWS)
    return Score(*(_share(right * weights, of * weights, drawn) for of in (said, true)))


def _share(part: Floats, whole: Floats, drawn: Ints) -> tuple[float, float, float]:
    """A share in percent, and its interval; 100 if the denominator is 0."""
    shares = 100 * (drawn @ part) / np.maximum(drawn @ whole, 1e-12)
    low, high = np.quantile(shares[drawn @ whole > 0], [0.025, 0.975]) if whole.any() else (100.0, 100.0)
    return 100.0 * part.sum() / whole.sum() if whole.any() else 100.0, float(low), float(high)


def presets_of(names: list[str]) -> dict[str, set[str]]:
    """The presets that select each name."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for preset in _presets():
        for name in Taxonomy.shipped().select([f"preset:{preset}"], among=names):
            found[name].add(preset)
    return found


def plain_presets_of(names: list[str]) -> dict[str, set[str]]:
    """The same by the plain rule: every node with an alias in the name, as whole words."""
    runs: dict[tuple[str, ...], set[str]] = {}
    for preset in _presets():
        for _, node in Taxonomy.shipped().tree(f"preset:{preset}"):
            for text in (node.name, *node.aliases):
                runs.setdefault(tuple(words(text)), set()).add(preset)
    longest = max(map(len, runs))
    found: dict[str, set[str]] = {}
    for name in names:
        split = words(name)
        spans = ((start, end) for start in range(len(split)) for end in range(start + 1, start + longest + 1))
        found[name] = set().union(*(runs.get(tuple(split[start:end]), ()) for start, end in spans))
    return found


@cache
def _presets() -> tuple[str, ...]:
    return tuple(preset for preset in Taxonomy.shipped().presets if preset != "all")


def _speed(names: list[str]) -> Row:
    many = [f"{name} {at}" for at in range(200) for name in names]
    seconds = best_of(3, Taxonomy.shipped().select, ["preset:health"], many)
    rival = best_of(1, plain_presets_of, many)
    ratio = f"{rival / seconds:.1f}"
    return Row("`select` over 100,000 names", duration(seconds), duration(rival), ratio, "< 2 s", seconds < 2)
