"""Quality loss: how far each user's release is from the original, in every built-in distance."""

from __future__ import annotations

import numpy as np

from elsewhere.evaluation.tables import Tables
from elsewhere.model.arrays import Floats
from elsewhere.model.distances import DISTANCES


def quality_losses(tables: Tables) -> dict[str, Floats]:
    """Return the quality loss of every user in `tables`, by name of the distance. It can be infinite.

    >>> tables = Tables.of({"ann": {"gym": 3}, "bob": {"gym": 2}}, {"ann": {"spa": 4}, "bob": {"gym": 2}})
    >>> quality_losses(tables)["l2"].tolist()
    [5.0, 0.0]
    """
    before, after = tables.before.astype(np.float64), tables.after.astype(np.float64)
    lengths = np.diff(tables.offset)
    sizes = [np.repeat(tables.sums(counts), lengths) for counts in (before, after)]
    losses = {}
    for name, distance in DISTANCES.items():
        total = tables.sums(distance.terms(before, after, *sizes))
        losses[name] = np.sqrt(total) if distance.root else total
    return losses
