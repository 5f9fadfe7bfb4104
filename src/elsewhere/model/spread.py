"""How the members of a profile differ, so that a drawn release looks like one of them. Aggregates only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from elsewhere.model.arrays import Floats
from elsewhere.model.errors import InputError
from elsewhere.model.names import NameIndex
from elsewhere.text import closest, quote

#: The number of 5% quantiles, from the least value to the greatest.
QUANTILES = 21
#: Distances of shares that are never infinite, with their greatest values. Other distances mean little for members of
#: different sizes.
DISTANCES = {"js": 1.0, "variational": 2.0}


@dataclass(frozen=True)
class Spread:
    """How the members of a profile differ from it and from each other.

    See Also
    --------
    profiles.learn : Learns a profile with its spread.
    profiles.spread_of : Gives a profile the spread of some members.
    resemble, avoid : Draw releases from it with ``method="drawn"``.

    Examples
    --------
    >>> quantiles = [0.3 + 0.02 * at for at in range(21)]
    >>> spread = Spread({"museum": 0.9, "hotel": 0.4}, distances=quantiles, places=[1] * 10 + [2] * 11)
    >>> spread.shares(["Hotel", "zoo"])
    [0.4, 0.0]
    """

    #: The share of the members who visit each place of the profile; a place that is missing has 0.
    visited: Mapping[str, float]
    #: The 5% quantiles of the members' distances to the profile: 21 numbers from the least to the greatest.
    distances: Sequence[float]
    #: The 5% quantiles of the number of the profile's places that a member visits.
    places: Sequence[float]
    #: The 5% quantiles of the distances of people who are not members; empty if unknown.
    others: Sequence[float] = ()
    #: The distance that was measured.
    privacy: str = "js"
    #: Whether it is a guess, because places were merged after it was measured.
    merged: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.privacy, str) or self.privacy not in DISTANCES:
            raise InputError(
                f"the spread has privacy = {quote(self.privacy)}; it must be one of {', '.join(DISTANCES)}"
            )
        if not isinstance(self.visited, Mapping):
            raise InputError("the spread has no table of shares by place (visited)")
        for place, share in self.visited.items():
            if not _is_number(share) or not 0.0 <= share <= 1.0:
                raise InputError(f"the spread gives {quote(place)} the share {quote(share)}; it must be from 0 to 1")
        most = DISTANCES[self.privacy]
        for name, greatest in (("distances", most), ("places", np.inf), ("others", most)):
            if name != "others" or self.others:
                object.__setattr__(self, name, _quantiles(name, getattr(self, name), greatest))
        object.__setattr__(self, "visited", {place: float(share) for place, share in self.visited.items()})

    def check_places(self, known: NameIndex) -> None:
        """Raise if a place is not among the `known` ones, those of the profile."""
        for place in self.visited:
            if known.position(place) < 0:
                hint = closest(place, known.names)
                raise InputError(f"the spread names {quote(place)}, which is not a place of the profile{hint}")

    def shares(self, places: Iterable[str]) -> list[float]:
        """Return the share of the members who visit each of `places`, which may be spelt in any way."""
        known, shares = NameIndex(list(self.visited)), list(self.visited.values())
        return [shares[at] if at >= 0 else 0.0 for at in known.positions_of(NameIndex(list(places)))]

    def by_kind(self, kind_of: Callable[[str], str]) -> Spread:
        """Return the spread after places of the same `kind_of` were merged.

        It is an estimate that assumes that members choose their places independently. Merging brings histograms closer
        together, so the distances are, if anything, too large.
        """
        kinds = {place: kind_of(place) for place in self.visited}
        if len(set(kinds.values())) == len(kinds):
            shares = {kinds[place]: share for place, share in self.visited.items()}
            return replace(self, visited=shares)
        missed: dict[str, float] = {}
        for place, share in self.visited.items():
            missed[kinds[place]] = missed.get(kinds[place], 1.0) * (1.0 - share)
        visited = {kind: 1.0 - chance for kind, chance in missed.items()}
        fewer = sum(visited.values()) / (sum(self.visited.values()) or 1.0)
        return replace(self, visited=visited, places=tuple(number * fewer for number in self.places), merged=True)


def quantiles_of(values: Sequence[float] | Floats) -> tuple[float, ...]:
    """The 5% quantiles of some values, linear between two of them.

    >>> quantiles_of([3.0, 1.0, 2.0])[:3]
    (1.0, 1.1, 1.2)
    """
    found = np.quantile(np.array(values, np.float64), np.linspace(0.0, 1.0, QUANTILES))
    # Rounding may put a quantile slightly below the one before.
    return tuple(np.maximum.accumulate(found).tolist())


def _quantiles(name: str, values: Any, most: float) -> tuple[float, ...]:
    """Check quantiles; raise an error that says what is wrong with them."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InputError(f"the spread has {name} = {quote(values)}; it must be a list of {QUANTILES} numbers")
    if len(values) != QUANTILES:
        raise InputError(f"the spread has {len(values)} {name}; it must have {QUANTILES}, the 5% quantiles")
    for value in values:
        if not _is_number(value) or not 0.0 <= value <= most or value == np.inf:
            limit = "a number that is not negative" if most == np.inf else f"a number from 0 to {most:g}"
            raise InputError(f"the spread has {quote(value)} among its {name}; each must be {limit}")
    if list(values) != sorted(values):
        raise InputError(f"the spread has {name} that are not in ascending order")
    return tuple(map(float, values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
