"""Histograms padded with bins that were never visited, as the paper does to get longer ones."""

from __future__ import annotations

from elsewhere.model.histogram import Histogram
from elsewhere.reproduction.experiment import Dataset

LONGEST = 400
_STEPS = 8


def padded(dataset: Dataset, longest: int = LONGEST) -> list[Histogram]:
    """The histogram nearest to the one that the paper names, padded with zeros up to 400 bins."""
    history = dataset.nearest(*dataset.defaults.padded)
    first = history.length
    lengths = [first + (longest - first) * step // (_STEPS - 1) for step in range(_STEPS)]
    return [
        Histogram({**history, **{f"never visited {at:03d}": 0 for at in range(length - first)}}) for length in lengths
    ]
