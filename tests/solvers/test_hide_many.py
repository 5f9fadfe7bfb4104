"""Many users at once are hidden as each would be alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.model.distances import DISTANCES
from elsewhere.solvers.hide_many import hide_many

NAMES = "abcdef"
_bins = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=len(NAMES))
_users = st.lists(_bins.filter(lambda bins: any(count for count, _ in bins)), min_size=1, max_size=5)


@pytest.mark.parametrize("redistribute", [None, 0, 1, 40])
@pytest.mark.parametrize("quality", DISTANCES)
@settings(max_examples=60)
@given(users=_users)
def test_as_one_by_one(quality: str, redistribute: int | None, users: list[list[tuple[int, bool]]]) -> None:
    offset = np.append(0, np.cumsum([len(bins) for bins in users]))
    original = np.array([count for bins in users for count, _ in bins])
    sensitive = np.array([marked for bins in users for _, marked in bins])
    released, loss = hide_many(DISTANCES[quality], offset, original, sensitive, redistribute, original)
    for at, bins in enumerate(users):
        names = NAMES[: len(bins)]
        history = ew.Histogram(zip(names, (count for count, _ in bins), strict=True))
        caught = [name for name, (_, marked) in zip(names, bins, strict=True) if marked]
        counts = released[offset[at] : offset[at + 1]].tolist()
        try:
            alone = ew.hide(history, caught, quality, redistribute)
        except (ew.InputError, ew.Infeasible):
            assert math.isnan(loss[at])
            assert not any(counts)
            continue
        assert counts == [alone.histogram[name] for name in names]
        assert loss[at] == pytest.approx(alone.quality_loss, abs=1e-12)


@pytest.mark.parametrize("quality", DISTANCES)
@settings(max_examples=60)
@given(user=_bins.filter(lambda bins: any(count for count, marked in bins if not marked)), data=st.data())
def test_least_counts_that_leave_room(quality: str, user: list[tuple[int, bool]], data: st.DataObject) -> None:
    """As alone, too, if bins with a visit must keep more than that: the counts of an earlier release."""
    original, sensitive = (np.array(column) for column in zip(*user, strict=True))
    least, room = original.copy(), int(original[sensitive].sum())
    for at in np.flatnonzero(~sensitive & (original > 0)).tolist():
        more = data.draw(st.integers(0, room))
        least[at], room = least[at] + more, room - more
    offset = np.array([0, len(user)])
    released, loss = hide_many(DISTANCES[quality], offset, original, sensitive, None, least)
    names = NAMES[: len(user)]
    history, earlier = (ew.Histogram(zip(names, counts.tolist(), strict=True)) for counts in (original, least))
    caught = [name for name, (_, marked) in zip(names, user, strict=True) if marked]
    alone = ew.hide(history, caught, quality, lower={name: earlier[name] for name in names if name not in caught})
    assert released.tolist() == [alone.histogram[name] for name in names]
    assert loss[0] == pytest.approx(alone.quality_loss, abs=1e-12)
