"""A release that continues an earlier one: no count falls, and where that cannot be, one sentence says why."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.model.keys import Key
from tests.support.command import Run, rows, run, write_table

__all__ = ["run"]

FIRST = {"cafe": 7, "clinic": 3, "gym": 2, "office": 9}
SECOND = {"bar": 1, "cafe": 9, "clinic": 4, "gym": 3, "office": 9}


def test_the_names_of_an_earlier_release_are_places_and_not_patterns() -> None:
    history, earlier = {"clinic": 4, "dance *": 1, "dance hall": 1}, ew.Histogram({"dance *": 4})
    assert dict(ew.hide(history, {"clinic"}, lower=earlier).histogram) == {"dance *": 4, "dance hall": 2}


@pytest.mark.parametrize("method", ["optimal", "drawn"])
def test_a_history_that_grows_can_always_be_continued(method: Any) -> None:
    """Whatever is hidden, and however much of what grew is: the sum of the larger counts is never above the size."""
    dice = random.Random(5)
    for at in range(100):
        history = {place: dice.randint(0, 6) for place in "abcdef"} | {"a": 1, "b": 1}
        earlier = ew.hide(history, {"b", "c"}, method=method, key=bytes([at] * 32)).histogram
        for _ in range(3):
            history = {place: count + dice.choice([0, 0, 1, 3]) for place, count in history.items()}
            later = ew.hide(history, {"b", "c"}, method=method, key=bytes([at] * 32), lower=earlier).histogram
            assert all(later[place] >= max(count, history[place]) for place, count in earlier.items())
            assert later.size == sum(history.values())
            earlier = later


def test_popular_places_that_left_the_table_are_kept_and_never_sensitive() -> None:
    history, later = {"clinic": 60, "office": 9}, {"clinic": 63, "office": 10}
    plan = ew.Policy("hide", sensitive=("clinic", "preset:religion"), method="drawn").plan
    key = Key(bytes(32))
    first = plan(popularity={"office": 1, "pier": 4, "zoo": 5}).with_key(key).sanitize(history).histogram
    assert first["pier"] > 0
    assert first["zoo"] > 0
    again = plan(popularity={"office": 1, "plaza": 1}).with_key(key).continuing(first).sanitize(later).histogram
    assert all(again[place] >= count for place, count in first.items())
    assert again.size == 73
    with pytest.raises(ew.Infeasible, match="sensitive now: 'Old Church'; spare them"):
        plan().with_key(key).continuing(ew.Histogram({"Old Church": 1, "office": 9})).sanitize(later)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"sensitive": {"clinic", "Gym"}}, "visits at places that are sensitive now: 'gym'; spare them"),
        ({"histogram": {**FIRST, "clinic": 2}}, "has 21 visits, and this one would have only 20: the history has not"),
        ({"redistribute": 1}, "need 24 visits together, and this one would have only 23"),
        (
            {"histogram": {**SECOND, "gym": 0}, "visited_only": True},
            "that were never visited: 'gym'; leave out",
        ),
        ({"upper": {"office": 10}}, "the earlier release's count 11 of 'office' is above its upper bound 10"),
        ({"max_quality_loss": 0.08}, "0.08"),
    ],
)
def test_what_cannot_be_continued_is_said(asked: dict[str, Any], sentence: str) -> None:
    earlier = ew.hide(FIRST, {"clinic"}).histogram
    given = {"histogram": SECOND, "sensitive": {"clinic"}} | asked
    with pytest.raises(ew.ElsewhereError) as raised:
        ew.hide(**given, lower=earlier)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_command_continues_a_release_or_writes_nothing(run: Run) -> None:
    write_table("one.csv", FIRST)
    write_table("two.csv", dict(reversed(SECOND.items())))
    assert run("hide", "one.csv", "--sensitive", "clinic", "-o", "first.csv")[0] == 0
    hide = ("hide", "two.csv", "--sensitive", "clinic")
    assert run(*hide, "--since", "first.csv", "-o", "second.csv", "--report", "report.json")[0] == 0
    assert rows("second.csv") == {"bar": 1, "cafe": 10, "gym": 4, "office": 11}
    assert run("verify", "two.csv", "second.csv", "--report", "report.json")[0] == 0
    assert run("verify", "two.csv", "first.csv", "--sensitive", "clinic", "--since", "second.csv")[0] == 1
    for options, status, sentence in [
        (("--since", "first.csv", "--sensitive", "gym"), 3, "sensitive now: 'gym'"),
        (("--since", "two.csv"), 2, "--since is 'two.csv', which is not a release"),
        (("--since", "none.csv"), 2, "'none.csv' is not a release: No such file"),
        (("--since", "first.csv", "--lower", "cafe=2"), 2, "--since and --lower both set"),
    ]:
        found, _, told = run(*hide, *options, "-o", "third.csv")
        assert (found, told.count("\n")) == (status, 1)
        assert sentence in told
    assert not Path("third.csv").exists()
