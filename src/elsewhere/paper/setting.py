"""The input of RO, AO, RH and AH, from Section 'The Target Resemblance problem'.

'H and H'' have been expanded to be defined on the same set of locations': both run over the union of the locations, in
order of name. 'Each entry h''[i] is multiplied by the size N': the target is scaled, not rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from elsewhere.model.distances import DistanceLike
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike, parse_weights
from elsewhere.model.names import NameIndex
from elsewhere.paper.terms import Term, term, threshold

Size: TypeAlias = Literal["original", "target"]


@dataclass(frozen=True)
class Setting:
    """A TR or TA problem over bins 0..n-1, in order of location name."""

    locations: list[str]
    #: H.
    original: list[int]
    #: H''.
    target: list[float]
    #: The size of H': N, or the target's.
    size: int
    #: q(H[i], x) and p(H''[i], x).
    q: Term
    p: Term
    #: The limit on the sum of the quality terms.
    threshold: float

    def histogram(self, counts: Iterable[int]) -> Histogram:
        """The counts with their locations."""
        return Histogram(zip(self.locations, counts, strict=True))


def prepare(
    histogram: Histogram,
    target: TableLike,
    max_quality_loss: float,
    quality: DistanceLike,
    privacy: DistanceLike,
    size: Size | int,
    candidates: Iterable[str] = (),
) -> Setting:
    """Expand H and H'' to the union of their locations and scale H'' to the size that H' will have."""
    names, weights = parse_weights(target, "target")
    target_size = float(weights.sum())
    if size == "original" or isinstance(size, int):
        final_size = histogram.size if isinstance(size, str) else size
        weights = weights * (final_size / target_size)
        target_size = float(final_size)
    elif size == "target":
        final_size = round(target_size)
        if abs(target_size - final_size) > 1e-9:
            raise InputError(f"the target's size is {target_size!r}; with size='target' it must be a whole number")
    else:
        raise InputError(f"size is {size!r}; it must be 'original' or 'target'")
    scaled = dict(zip(names.keys, weights.tolist(), strict=True))
    union = histogram.index.union(names).union(NameIndex(list(candidates)))
    return Setting(
        locations=list(union.names),
        original=[histogram[location] for location in union.names],
        target=[scaled.get(key, 0.0) for key in union.keys],
        size=final_size,
        q=term(quality, float(histogram.size), float(final_size)),
        p=term(privacy, target_size, float(final_size)),
        threshold=threshold(quality, max_quality_loss),
    )


def counts_to_add(histogram: Histogram, sensitive: Iterable[str], redistribute: int | None) -> int:
    """K, the total count of the sensitive locations, or r instead (SLH_r)."""
    if redistribute is None:
        return sum(histogram[location] for location in set(sensitive))
    if redistribute < 0:
        raise InputError(f"redistribute is {redistribute!r}; it must not be negative")
    return redistribute
