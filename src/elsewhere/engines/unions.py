"""The bins of many users: their own places, and other places that may get visits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from elsewhere.engines.users import Rows, Users, lengths, rows_of
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.names import name_keys

#: Bins that are processed together: few enough for the processor's cache.
_MOST_BINS = 1 << 16
#: If fewer than one of this many numbers is taken, sorting them takes less time than looking at all.
_SPARSE = 16


class Layout(NamedTuple):
    """Bins of some users: those of user u are offset[u]:offset[u + 1], sorted by name."""

    offset: Ints
    #: For each bin: the user, the number of the name, the original count, and whether the user has a row for it.
    user: Ints
    location: Ints
    original: Ints
    is_own: Flags
    #: The rows of the users, and the bin of each.
    rows: Rows
    at: Ints


class Union(NamedTuple):
    """All names, sorted: those of some users, and the others, which apply to everybody."""

    names: list[str]
    keys: list[str]
    #: The number here of each name of the users; -1 if none of these users has it.
    own: Ints
    #: The numbers of the other names, and for each name the number of its spelling among them, or -1.
    beyond: Ints
    same: Ints

    def layout(self, users: Users, some: Ints) -> Layout:
        """The bins as in `model.problem`: a place that a user has keeps the user's name."""
        rows, number = rows_of(users, some), len(self.names)
        of = number * np.repeat(np.arange(len(some)), lengths(users, some))
        own = self.own[users.location[rows]]
        others = (number * np.arange(len(some))[:, None] + self.beyond).ravel()
        otherwise = (self.same[own] >= 0) & (self.same[own] != own)
        if otherwise.any():
            others = others[~np.isin(others, (of + self.same[own])[otherwise])]
        bins = _sorted_union(of + own, others, number * len(some))
        at = np.searchsorted(bins, of + own)
        user, location = np.divmod(bins, number)
        original, is_own = np.zeros(len(bins), np.int64), np.zeros(len(bins), np.bool_)
        original[at], is_own[at] = users.counts[rows], True
        offset = np.searchsorted(user, np.arange(len(some) + 1))
        return Layout(offset, user, location, original, is_own, rows, at)


def _sorted_union(some: Ints, others: Ints, end: int) -> Ints:
    """The numbers in one of two arrays, sorted; all are below `end`."""
    if end > _SPARSE * (len(some) + len(others)):
        both: Ints = np.sort(np.concatenate((some, others)))
        different: Ints = both[np.append(True, np.diff(both) > 0)]
        return different
    found = np.zeros(end, np.bool_)
    found[some] = True
    found[others] = True
    return np.flatnonzero(found)


def union_of(users: Users, members: Ints, beyond: Mapping[str, str]) -> Union:
    """The names of some users and the other names `beyond`, which are given by key."""
    used = np.unique(users.location[rows_of(users, members)])
    own_names = [users.names[at] for at in used]
    names = sorted({*own_names, *beyond.values()})
    number = {name: at for at, name in enumerate(names)}
    keys, own = name_keys(names), np.full(len(users.names), -1)
    own[used] = [number[name] for name in own_names]
    return Union(
        names,
        keys,
        own,
        np.array(sorted(number[name] for name in beyond.values()), np.int64),
        np.array([number[beyond[key]] if key in beyond else -1 for key in keys]),
    )


def blocks(users: Users, members: Ints, beyond: int) -> Iterator[Ints]:
    """Split users into blocks whose bins are few enough to be processed together."""
    until = np.cumsum(lengths(users, members) + beyond)
    begin = 0
    while begin < len(members):
        before = until[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(until, before + _MOST_BINS, "right")))
        yield members[begin:end]
        begin = end
