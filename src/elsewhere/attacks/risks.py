"""The risk of re-identification by combinations of places, as scikit-mobility measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from elsewhere.model.arrays import Floats


def risks(
    users: Sequence[Mapping[str, int]],
    places: int,
    known: Literal["counts", "shares", "proportions"] = "counts",
    tolerance: float = 0.0,
) -> list[float]:
    """The greatest probability of finding each user, for somebody who knows a number of the user's places.

    For each combination of places, a histogram matches if it has all of them and the numbers agree: the visits there,
    their shares of all visits, or their proportions to the most visited of these places. With a tolerance t, the known
    number may differ by t times the number of the histogram. The probability is one over the number of histograms
    that match, and the risk is the maximum over all combinations. This is the measure of Pellungrini and others, as in
    scikit-mobility.

    References
    ----------
    .. [1] Roberto Pellungrini, Luca Pappalardo, Francesca Pratesi and Anna Monreale, "A Data Mining Approach to Assess
       Privacy Risk in Human Mobility Data", ACM Transactions on Intelligent Systems and Technology 9(3), 2017,
       doi:10.1145/3106774.

    Examples
    --------
    >>> risks([{"gym": 1, "spa": 1}, {"gym": 1, "spa": 2}, {"gym": 1}], 1)
    [1.0, 1.0, 0.3333333333333333]
    """
    rows = [{name: float(count) for name, count in user.items() if count} for user in users]
    if known == "shares":
        rows = [{name: count / sum(row.values()) for name, count in row.items()} for row in rows]

    def numbers(row: Mapping[str, float], names: Sequence[str]) -> Floats:
        found = np.array([row[name] for name in names])
        return found / found.max() if known == "proportions" else found

    def matches(names: Sequence[str], asked: Floats, row: Mapping[str, float]) -> bool:
        if not all(name in row for name in names):
            return False
        has = numbers(row, names)
        return bool(np.all((asked >= has - tolerance * has) & (asked <= has + tolerance * has)))

    def risk(row: Mapping[str, float]) -> float:
        some = combinations(sorted(row), min(places, len(row)))
        return max(1.0 / sum(matches(names, numbers(row, names), other) for other in rows) for names in some)

    return [risk(row) for row in rows]
