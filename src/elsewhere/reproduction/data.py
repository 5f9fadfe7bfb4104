"""The histograms for the experiments: read from files, or generated like those of the paper."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elsewhere.histories import read_users
from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.reproduction.experiment import Dataset, Like
from elsewhere.text import quote


class Data(NamedTuple):
    """Sets of users, and sentences that say where they come from."""

    sets: tuple[Dataset, ...]
    generated: bool
    notes: tuple[str, ...]

    def digest(self) -> str:
        """A digest that identifies these sets."""
        content = hashlib.sha256()
        for dataset in self.sets:
            content.update(repr((dataset.name, dataset.like)).encode())
            for history in dataset.histograms:
                content.update(repr((history.locations, history.counts.tolist())).encode())
        return content.hexdigest()


def load(path: str | PathLike[str], columns: Mapping[str, str | None]) -> Data:
    """Read the tables of users in a folder, or one file; a note names the files that are not such tables.

    A file whose name contains NYC or TKY stands for that set of the paper. Any other file stands for NYC.
    """
    place = Path(path)
    try:
        if not place.exists():
            raise InputError(f"{quote(str(path))} does not exist")
        files = sorted(it for it in place.iterdir() if it.is_file()) if place.is_dir() else [place]
    except OSError as error:
        raise InputError(f"{quote(str(path))} cannot be read: {error.strerror}") from None
    sets: list[Dataset] = []
    skipped: list[str] = []
    for file in files:
        try:
            sets.append(_dataset(file, columns))
        except InputError as error:
            if not place.is_dir():
                raise
            skipped.append(f"{file.name} ({str(error).removeprefix(f'{file}: ')})")
    if not sets:
        why = f": {quote('; '.join(skipped))}" if skipped else "; it has no files"
        raise InputError(f"no table of users can be read from the folder {quote(str(path))}{why}")
    names = [dataset.name for dataset in sets]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the folder {quote(str(path))} has {names.count(name)} tables for the set {name}")
    notes = [_characteristics(dataset) for dataset in sets]
    if skipped:
        notes.append(f"Not read: {'; '.join(skipped)}.")
    return Data(tuple(sets), False, tuple(notes))


def generate(seed: int) -> Data:
    """Made-up users: as many as in the paper, with the same mean length and mean size."""
    sets = tuple(_generated(like, seed) for like in TABLE)
    return Data(sets, True, tuple(_characteristics(dataset) for dataset in sets))


def _dataset(file: Path, columns: Mapping[str, str | None]) -> Dataset:
    histograms = (Histogram(counts) for _, counts in sorted(read_users(file, **columns).items()))
    visited = tuple(history for history in histograms if history.size)
    if not visited:
        raise InputError(f"{file}: it has no visits")
    likes: tuple[Like, ...] = ("NYC", "TKY")
    for like in likes:
        if like.lower() in file.name.lower():
            return Dataset(like, like, visited)
    return Dataset(file.name.partition(".")[0], "NYC", visited)


def _characteristics(dataset: Dataset) -> str:
    lengths = [history.length for history in dataset.histograms]
    sizes = [history.size for history in dataset.histograms]
    return (
        f"{dataset.name}: {len(lengths):,} histograms, mean length {np.mean(lengths):.2f}, greatest length "
        f"{max(lengths)}, mean size {np.mean(sizes):.2f}."
    )


class Shape(NamedTuple):
    """One row of the paper's table of characteristics, and two parameters that the paper does not give."""

    users: int
    mean_length: float
    greatest_length: int
    mean_size: float
    #: The number of locations in the whole set.
    locations: int
    #: The shape of the gamma distribution of lengths. With it, about as many are above 75 as in the paper (17 and 7).
    evenness: float


TABLE: dict[Like, Shape] = {
    "NYC": Shape(1_083, 40.28, 139, 209.99, 251, 10.0),
    "TKY": Shape(2_293, 32.36, 158, 221.57, 247, 7.5),
}
#: No user of the research files has fewer check-ins.
_LEAST_SIZE, _LARGEST_SIZE = 100, 3_000
_LEAST_LENGTH = 3


def _generated(like: Like, seed: int) -> Dataset:
    shape = TABLE[like]
    random = np.random.default_rng([seed, shape.users])
    lengths = _lengths(shape, random)
    beyond = random.pareto(2.0, size=shape.users)
    sizes = _LEAST_SIZE + _adjusted(beyond, shape.mean_size - _LEAST_SIZE, 0, _LARGEST_SIZE - _LEAST_SIZE, random)
    # Users with more locations tend to have more visits, and the longest histogram is also the largest.
    order = np.argsort(np.argsort(np.argsort(sizes)) + random.normal(scale=0.3 * shape.users, size=shape.users))
    sizes = sizes[order]
    largest = int(sizes.argmax())
    sizes[[largest, -1]] = sizes[[-1, largest]]
    popularity = 1.0 / np.arange(1, shape.locations + 1)
    histograms = [
        _histogram(int(length), max(int(length), int(size)), popularity, random)
        for length, size in zip(lengths, sizes, strict=True)
    ]
    random.shuffle(histograms)
    return Dataset(like, like, tuple(histograms))


def _lengths(shape: Shape, random: np.random.Generator) -> Ints:
    """Lengths in ascending order. The greatest is fixed, and the others are adjusted a little to keep the mean."""
    values = random.gamma(shape.evenness, size=shape.users)
    lengths = np.sort(_adjusted(values, shape.mean_length, _LEAST_LENGTH, shape.greatest_length, random))
    others = int(lengths.sum()) - shape.greatest_length
    rest = np.sort(_with_total(lengths[:-1], others, _LEAST_LENGTH, shape.greatest_length, random))
    return np.append(rest, shape.greatest_length)


def _histogram(length: int, size: int, popularity: Floats, random: np.random.Generator) -> Histogram:
    """Popular places have more visitors and more visits. Each user visits only a few places often."""
    places = random.choice(popularity.size, length, replace=False, p=popularity / popularity.sum())
    weights = popularity[places] * random.gamma(0.5, size=length) + 1e-9
    counts = 1 + random.multinomial(size - length, weights / weights.sum())
    return Histogram({f"place {at:03d}": count for at, count in zip(places.tolist(), counts.tolist(), strict=True)})


def _adjusted(values: Floats, mean: float, least: int, most: int, random: np.random.Generator) -> Ints:
    """Integers in proportion to the values, within bounds and with the given mean."""
    total = round(mean * values.size)
    low, high = 0.0, 1.0
    while np.clip(values * high, least, most).sum() < total:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(values * middle, least, most).sum() < total else (low, middle)
    return _with_total(np.clip(np.rint(values * high), least, most).astype(np.int64), total, least, most, random)


def _with_total(numbers: Ints, total: int, least: int, most: int, random: np.random.Generator) -> Ints:
    """The numbers, some of them changed by 1, at random, until they have the given total."""
    whole = numbers.copy()
    while off := total - int(whole.sum()):
        step = 1 if off > 0 else -1
        movable = np.flatnonzero((whole + step >= least) & (whole + step <= most))
        whole[random.choice(movable, min(abs(off), movable.size), replace=False)] += step
    return whole
