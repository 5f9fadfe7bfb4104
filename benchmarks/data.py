"""Histograms for measurements: the evaluation sets if they are beside the project, else generated ones like them."""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from elsewhere import Histogram

_FOLDERS = (Path(__file__).parents[2] / "shared" / "data", Path("data"))
#: Users, mean and spread of the length, and mean size: the paper's table of characteristics.
_SHAPES = {"nyc": (1_083, 40.28, 209.99), "tky": (2_293, 32.36, 221.57)}


def users(name: str) -> tuple[list[Histogram], str]:
    """The histograms of all users of a set, and their origin."""
    file = f"synthetic_{name}.csv.gz"
    if folder := folder_with(file):
        return read(folder / file), file
    count, length, size = _SHAPES[name]
    rng = np.random.default_rng(7)
    lengths = np.clip(rng.gamma(3.0, length / 3.0, count), 5, 160).astype(int)
    sizes = np.maximum(100, rng.lognormal(np.log(size) - 0.3, 0.75, count)).astype(int)
    return [skewed(int(n), int(max(n, s)), seed) for seed, (n, s) in enumerate(zip(lengths, sizes, strict=True))], (
        "generated"
    )


def folder_with(file: str) -> Path | None:
    """The folder of the evaluation sets, if it has the file."""
    return next((folder for folder in _FOLDERS if (folder / file).exists()), None)


def skewed(n: int, size: int, seed: int) -> Histogram:
    """A histogram of n visited locations, with counts by Zipf's law."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, n + 1)
    counts = 1 + rng.multinomial(size - n, weights / weights.sum())
    return Histogram({f"{at:06d}": int(count) for at, count in enumerate(counts)})


def uniform(histogram: Histogram) -> dict[str, float]:
    """The paper's target: the same weight for all locations."""
    return dict.fromkeys(histogram.locations, 1.0)


def read(path: Path, column: str = "category") -> list[Histogram]:
    """The histograms in a file of the evaluation sets; the column has the locations."""
    visits: dict[int, Counter[str]] = defaultdict(Counter)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            visits[int(row["user"])][row[column]] += int(row["count"])
    return [Histogram(visits[user]) for user in sorted(visits)]
