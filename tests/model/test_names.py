"""One place, many spellings."""

from __future__ import annotations

import sys
import unicodedata

import hypothesis.strategies as st
import pytest
from hypothesis import given

from elsewhere.model.names import _UNUSUAL, NameIndex, merge_spellings, name_key, name_keys

_LETTERS = [letter for letter in map(chr, range(sys.maxunicode + 1)) if not _UNUSUAL.search(letter)]
_PLACES = st.text(st.one_of(st.characters(), st.sampled_from(" \t\u00a0\u200b\u00ad\ufe0f\u0301AaİßŠ*")), max_size=8)


@pytest.mark.parametrize(
    "spelling",
    [
        "clinic", "Clinic", "CLINIC ", "\tclinic", "cli\u200bnic", "cli\u00adnic", "\ufeffclinic", "\uff23\uff4cinic",
        "clinic\ufe0f", "\u202eclinic", "cl\x00inic",
    ],
)  # fmt: skip
def test_spellings_of_one_place(spelling: str) -> None:
    assert name_key(spelling) == "clinic"
    assert NameIndex(["cafe", "clinic"]).find(spelling) == "clinic"


def test_what_stays_apart() -> None:
    names = ["clinic", "klinik", "clínica", "clinica", "clinic 2", "the clinic", "cl inic"]
    assert len({name_key(name) for name in names}) == len(names)
    assert name_key("clínica") == name_key(unicodedata.normalize("NFD", "CLÍNICA"))


@given(_PLACES)
def test_a_key_is_its_own_key(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)


def test_simple_letters_have_the_same_key_either_way() -> None:
    """An invisible character makes a name take the long way."""
    for letter in _LETTERS:
        assert name_key(letter) == name_key(f"{letter}\u200b")


def test_simple_letters_never_combine() -> None:
    parts = [unicodedata.normalize("NFD", letter) for letter in map(chr, range(sys.maxunicode + 1))]
    combining = {mark for part in parts for mark in part[1:]}
    assert combining.isdisjoint("".join(_LETTERS).casefold())


@given(st.lists(_PLACES, max_size=5))
def test_many_at_once_are_the_same(names: list[str]) -> None:
    assert name_keys(names) == [name_key(name) for name in names]


def test_simple_letters_at_once() -> None:
    assert name_keys(_LETTERS) == [name_key(letter) for letter in _LETTERS]
    assert name_keys(["Café", "Straße 1", "ПАРК"]) == ["café", "strasse 1", "парк"]
    assert name_keys(["Café ", "B  c", "É\n"]) == ["café", "b c", "é"]


def test_plain_names_at_once() -> None:
    assert name_keys(["Cafe", "old gym"]) == ["cafe", "old gym"]
    assert name_keys(["a ", " b"]) == ["a", "b"]
    assert name_keys([]) == []
    assert name_keys([""]) == [""]


def test_spellings_are_counted_together_under_the_commonest() -> None:
    counts = {"clinic\u200b": 1, "gym": 4, "clinic": 2, "Clinic": 3, "cafe": 1, "Cafe": 1, "b": 0.5}
    merged, others = merge_spellings(counts)
    assert merged == {"Clinic": 6, "gym": 4, "Cafe": 2, "b": 0.5}
    assert others == {"Clinic": ("clinic", "clinic\u200b"), "Cafe": ("cafe",)}
    assert merge_spellings(dict(reversed(counts.items()))) == (merged, others)


@given(st.dictionaries(_PLACES, st.integers(0, 9)))
def test_no_count_is_lost(counts: dict[str, int]) -> None:
    merged, others = merge_spellings(counts)
    assert sum(merged.values()) == sum(counts.values())
    assert sorted([*merged, *(name for names in others.values() for name in names)]) == sorted(counts)
    assert len({name_key(name) for name in merged}) == len(merged)


def test_patterns() -> None:
    known = NameIndex(["St. Mary's Church", "church hall", "Church", "searching", "a.c", "abc", "5*"])
    assert set(known.match("*CHURCH*")) == {"St. Mary's Church", "church hall", "Church"}
    assert set(known.match("church*")) == {"church hall", "Church"}
    assert known.match("a.*") == ["a.c"]
    assert known.match("5*") == ["5*"]
    assert known.match("nothing*") == []
