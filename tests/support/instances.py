"""Random questions, small enough for brute force, with every constraint that there is."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st

from elsewhere import Histogram, distance

DISTANCES = ("js", "jeffreys", "variational", "l2", "squared-l2", "pearson", "neyman")
LOCATIONS = "abcd"


def bumpy(reference: float, count: int) -> float:
    """A distance of a user's own that is not convex, and infinite here and there."""
    if count == 3 and reference == 2:
        return math.inf
    return math.sqrt(abs(reference - count)) + (0.25 if count % 2 else 0.0)


def wild(reference: float, count: int) -> float:
    """A distance of a user's own that has no sense at all: negative, infinite, and not 0 where nothing changes."""
    dice = random.Random(f"{reference:.6g} {count}").random()
    return math.inf if dice < 0.15 else 20 * dice - 10


@dataclass
class Instance:
    """A histogram with what is asked of it."""

    histogram: Histogram
    target: dict[str, float] | None = None
    asked: dict[str, Any] = field(default_factory=dict)


@st.composite
def histograms(draw: st.DrawFn, most: int = 5) -> Histogram:
    """A histogram over some of the locations with at least one visit."""
    locations = draw(st.lists(st.sampled_from(LOCATIONS), min_size=1, max_size=4, unique=True))
    counts = draw(st.lists(st.integers(0, most), min_size=len(locations), max_size=len(locations)))
    counts[0] = max(1, counts[0])
    return Histogram(zip(locations, counts, strict=True))


@st.composite
def constraints(draw: st.DrawFn, histogram: Histogram, known: list[str], hiding: bool) -> dict[str, Any]:
    """Any combination of constraints that is not nonsense in itself."""
    asked: dict[str, Any] = {}
    if hiding or draw(st.booleans()):
        sensitive = draw(st.lists(st.sampled_from(known), max_size=2, unique=True))
        if set(sensitive) < set(known):
            asked["sensitive"] = sensitive
    open_ = [name for name in known if name not in asked.get("sensitive", ())]
    if draw(st.integers(0, 3)) == 0:
        asked["visited_only"] = True
        open_ = [name for name in open_ if histogram[name]]
    if draw(st.booleans()) and open_:
        raised = draw(st.lists(st.sampled_from(open_), max_size=2, unique=True))
        asked["lower"] = {name: draw(st.integers(0, 3)) for name in raised}
    if draw(st.booleans()) and open_:
        capped = draw(st.lists(st.sampled_from(open_), max_size=2, unique=True))
        asked["upper"] = {name: asked.get("lower", {}).get(name, 0) + draw(st.integers(0, 5)) for name in capped}
    return asked


@st.composite
def hidings(draw: st.DrawFn) -> Instance:
    """A question for hide."""
    histogram = draw(histograms())
    candidates = draw(st.lists(st.sampled_from("xy"), max_size=1))
    asked = draw(constraints(histogram, sorted({*histogram, *candidates}), hiding=True))
    asked["candidates"] = candidates
    asked.setdefault("sensitive", [])
    if draw(st.booleans()):
        asked["redistribute"] = draw(st.integers(0, 6))
    return Instance(histogram, None, asked)


@st.composite
def targetings(draw: st.DrawFn, quality: str) -> Instance:
    """A question for resemble or avoid; the limit is often one that some histogram meets exactly."""
    histogram = draw(histograms())
    locations = draw(st.lists(st.sampled_from(LOCATIONS), min_size=1, max_size=3, unique=True))
    weight = st.one_of(st.integers(0, 6), st.floats(0.1, 6.0))
    target = {name: draw(weight) for name in locations}
    target[locations[0]] = max(1, target[locations[0]])
    candidates = draw(st.lists(st.sampled_from("x"), max_size=1))
    known = sorted({*histogram, *target, *candidates})
    asked = draw(constraints(histogram, known, hiding=False))
    asked["candidates"] = candidates
    if draw(st.integers(0, 3)) == 0:
        target = {name: math.ceil(number) for name, number in target.items()}
        asked["size"] = "target"
    size = sum(target.values()) if asked.get("size") else histogram.size
    if draw(st.booleans()):
        shares = draw(st.lists(st.integers(0, int(size)), min_size=len(known) - 1, max_size=len(known) - 1))
        cuts = [0, *sorted(shares), int(size)]
        other = {name: cuts[at + 1] - cuts[at] for at, name in enumerate(known)}
        limit = distance(quality, histogram, other)
        asked["max_quality_loss"] = limit if limit < math.inf else 10.0
    else:
        scale = 1.0 if quality in ("js", "jeffreys", "variational") else 10.0
        asked["max_quality_loss"] = draw(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0])) * scale
    return Instance(histogram, target, asked)


@st.composite
def kind_targetings(draw: st.DrawFn, quality: str) -> dict[str, Any]:
    """A question with a target of kinds, some of which no location has, or which are names of locations too."""
    histogram = draw(histograms())
    candidates = draw(st.lists(st.sampled_from("xy"), max_size=1))
    known = sorted({*histogram, *candidates})
    asked: dict[str, Any] = draw(constraints(histogram, known, hiding=False))
    kinds = draw(st.dictionaries(st.sampled_from("abcdxy"), st.sampled_from(["k", "l", "a", "z"])))
    weight = st.one_of(st.integers(0, 6), st.floats(0.1, 6.0))
    target = draw(st.dictionaries(st.sampled_from(["k", "l", "a", "b", "z"]), weight, min_size=1, max_size=3))
    target[min(target)] = max(1, target[min(target)])
    asked.update(candidates=candidates, target=target, histogram=histogram)
    if draw(st.integers(0, 3)) == 0:
        asked.update(target={kind: math.ceil(number) for kind, number in target.items()}, size="target")
    scale = 1.0 if quality in ("js", "jeffreys", "variational") else 10.0
    asked["max_quality_loss"] = draw(st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.3, 1.0])) * scale
    asked["quality"] = quality
    asked["kinds"] = kinds
    return asked
