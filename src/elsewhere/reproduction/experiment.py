"""The types of an experiment, of its inputs and of its results. Each file in `experiments` declares one experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from zlib import crc32

import numpy as np

from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.reproduction.claims import Claim
from elsewhere.reproduction.rows import Rows

#: Which set of the paper a set of users stands for.
Like: TypeAlias = Literal["NYC", "TKY"]


@dataclass(frozen=True)
class Defaults:
    """The paper's table of defaults, and the histograms that its captions name."""

    #: n in the experiments with a target that fix it.
    length: int
    #: n of 'each histogram with n = ...' in the experiments on hiding.
    hiding_length: int
    #: n and N of the histogram that the paper pads with zeros.
    padded: tuple[int, int]
    #: K, the number of sensitive visits, and |L'|, the number of sensitive locations.
    visits: int = 20
    sensitive: int = 5
    threshold: float = 5e-3
    size: int = 100


DEFAULTS: Mapping[Like, Defaults] = {
    "NYC": Defaults(length=25, hiding_length=30, padded=(78, 192)),
    "TKY": Defaults(length=35, hiding_length=40, padded=(99, 642)),
}


@dataclass(frozen=True)
class Dataset:
    """A set of users."""

    name: str
    like: Like
    histograms: tuple[Histogram, ...]

    @property
    def defaults(self) -> Defaults:
        return DEFAULTS[self.like]

    def row(self, **values: Any) -> dict[str, Any]:
        """A row of results about this set."""
        return {"set": self.name, "like": self.like, **values}

    def nearest(self, length: int, size: int) -> Histogram:
        """The histogram whose length and size are nearest to these."""
        return min(self.histograms, key=lambda h: abs(h.length - length) + abs(h.size - size))


@dataclass(frozen=True)
class Scale:
    """How much work to do."""

    name: Literal["full", "quick"]
    #: Users per set for a recommender.
    users: int
    #: Random draws of sensitive locations per user.
    draws: int
    #: Splits of the users into test and training sets.
    splits: int
    #: Histograms in one series of runtimes of the paper's algorithms.
    timed: int
    #: Seconds for one run of the paper's algorithms.
    patience: float
    #: Most edges of a graph that the paper's algorithms may build. An edge takes about 200 bytes.
    edges: int
    #: Whether timed experiments run alone.
    alone: bool


FULL = Scale("full", users=1_000_000, draws=5, splits=10, timed=40, patience=20.0, edges=1_000_000, alone=True)
QUICK = Scale("quick", users=150, draws=1, splits=3, timed=8, patience=0.5, edges=150_000, alone=False)


def sampled(full: int, quick: int, what: str) -> str:
    """The size of a random sample in words, for the method of an experiment."""
    return f"{full} {what}, chosen at random ({quick} in a quick run; --runs changes this)"


@dataclass(frozen=True)
class Study:
    """The input of every experiment."""

    sets: tuple[Dataset, ...]
    seed: int
    scale: Scale

    def random(self, *about: object) -> np.random.Generator:
        """Random numbers for one purpose. They depend on the seed and the purpose only."""
        return np.random.default_rng([self.seed, crc32(repr(about).encode())])

    def users(self, dataset: Dataset) -> Sequence[Histogram]:
        """All users, or a random sample if the scale asks for fewer."""
        return self.sample(dataset.histograms, self.scale.users, dataset.name, "users")

    def sample(self, histograms: Sequence[Histogram], number: int, *about: object) -> Sequence[Histogram]:
        """A random sample of the given size, in the original order."""
        if len(histograms) <= number:
            return histograms
        chosen = self.random(*about).choice(len(histograms), number, replace=False)
        return [histograms[at] for at in np.sort(chosen)]


class TooFew(InputError):
    """A set has too few histograms of some kind for an experiment."""


def enough(found: Sequence[Histogram], least: int, dataset: Dataset, which: str) -> Sequence[Histogram]:
    """The histograms found, unless they are too few for a conclusion."""
    if len(found) < least:
        raise TooFew(f"{dataset.name} has {len(found)} histograms {which}; at least {least} are needed")
    return found


Style: TypeAlias = Literal["line", "points", "steps"]


@dataclass(frozen=True)
class Series:
    """One curve."""

    label: str
    x: Iterable[float]
    y: Iterable[float]
    style: Style = "points"
    #: The ends of the error bars, if any.
    low: Iterable[float] | None = None
    high: Iterable[float] | None = None


@dataclass(frozen=True)
class Fit:
    """A power law through the points of a curve: y = factor * (x - offset) ** exponent, from x = `least` on."""

    least: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    #: The power law that the claim is about, fitted to every curve; None if there is none.
    fit: Fit | None = None


@dataclass(frozen=True)
class Drawing:
    """One figure; `figure` is its number in the paper."""

    name: str
    figure: str
    title: str
    panels: Iterable[Panel]


@dataclass(frozen=True)
class Experiment:
    """One file of the folder `experiments`."""

    #: Its position in the paper's order.
    order: int
    title: str
    #: How it is done, in a few sentences.
    method: str
    #: Called with one set at a time, so that a set that is too small does not stop the others.
    run: Callable[[Study, Dataset], Rows]
    draw: Callable[[Rows], Sequence[Drawing]]
    claims: Callable[[Rows], Iterable[Claim]]
    #: Whether it measures runtimes, which differ from run to run whatever the seed.
    timed: bool = False
