"""The names of columns that are known."""

from __future__ import annotations

from elsewhere.histories.columns import _KNOWN, _key


def test_a_known_name_can_be_found_and_means_one_thing() -> None:
    names = [name for ranks in _KNOWN.values() for rank in ranks for name in rank.split()]
    assert [_key(name) for name in names] == names
    assert len(set(names)) == len(names)
