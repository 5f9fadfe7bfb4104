"""The kernel as an engine of one's own calls it: whatever the batches look like, nobody is lost or released twice."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from itertools import product
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere import solve
from elsewhere.engines import kernel
from elsewhere.engines.kernel import sanitize_batches, sanitize_users
from elsewhere.engines.outcome import FAILED_CHECK, outcomes, releases
from elsewhere.engines.plans import Plans
from tests.support.batches import expected, people
from tests.support.batches import rows as rows_of

pa: Any = import_module("pyarrow")
HIDE = ew.Policy("hide", sensitive=("clinic",))
COLUMNS: dict[str, Any] = {"user": ["ann", "ann", "bob"], "location": ["café", "clinic", "gym"], "count": [7, 2, 4]}


def released(results: Iterable[Any], keys: tuple[str, ...] = ("user",)) -> dict[Any, dict[str, int]]:
    found: dict[Any, dict[str, int]] = {}
    for batch in results:
        for row in releases(batch).to_pylist():
            whose = row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys)
            assert row["location"] not in found.setdefault(whose, {})
            found[whose][row["location"]] = row["count"]
    return found


@pytest.mark.parametrize("policy", [HIDE, ew.Policy("hide", sensitive=("clinic",), candidates=("library",))])
def test_more_keys_than_the_user(policy: ew.Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_CHUNK_ROWS", 50)  # so that there are several chunks
    months = ["2026-01", "2026-02"]
    by_month = {month: people(40, seed=at) for at, month in enumerate(months)}
    visits = [
        (user, 7, month, *row)
        for user, month in product(people(40), months)
        for row in by_month[month][user].items()
    ]  # fmt: skip
    names = ("uid", "tenant", "month", "location", "count")
    table = pa.table(dict(zip(names, map(list, zip(*visits, strict=True)), strict=True)))
    keys = ("uid", "tenant", "month")
    results = list(sanitize_batches(policy, table.to_batches(max_chunksize=7), keys=keys))
    wanted = {
        (user, 7, month): counts for month in months for user, counts in expected(policy, by_month[month]).items()
    }
    assert len(results) > 3
    assert released(results, keys) == wanted
    assert outcomes(results[0]).schema.names[:4] == [*keys, "status"]


@pytest.mark.parametrize("name", ["location", "reason", "sensitive", "__bucket"])
def test_a_key_that_is_called_like_another_column(name: str) -> None:
    with pytest.raises(ew.InputError, match=f"the key '{name}' has the name of"):
        list(sanitize_batches(HIDE, [], keys=("user", name)))


def test_rows_that_are_not_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a chunk they are brought together; beyond it, the user would have two releases."""
    histograms = people(30)
    shuffled = pa.Table.from_pylist(
        [{"user": user, "location": name, "count": count} for user, name, count in rows_of(histograms, shuffled=True)]
    )
    assert released(sanitize_batches(HIDE, shuffled.to_batches())) == expected(HIDE, histograms)
    monkeypatch.setattr(kernel, "_CHUNK_ROWS", 20)
    with pytest.raises(ew.InputError, match=r"the rows of the user 'user \d+' are not together; sort the rows by user"):
        list(sanitize_batches(HIDE, shuffled.to_batches()))
    assert released(sanitize_batches(HIDE, shuffled.sort_by("user").to_batches())) == expected(HIDE, histograms)


def encoded(values: list[str]) -> Any:
    return pa.array(values).dictionary_encode()


#: Other types of the same values.
TYPES: dict[str, list[dict[str, Any]]] = {
    "views": [
        {name: pa.array(COLUMNS[name], pa.string_view()) for name in ("user", "location")}
        | {"sensitive": pa.array(["clinic", "clinic", None], pa.string_view())}
    ],
    "large text": [{name: pa.array(COLUMNS[name], pa.large_string()) for name in ("user", "location")}],
    "bytes": [{name: pa.array(COLUMNS[name], pa.binary()) for name in ("user", "location")}],
    "dictionaries": [{name: encoded(COLUMNS[name]) for name in ("user", "location")}],
    "some dictionaries": [{}, {"location": encoded(COLUMNS["location"])}, {"user": encoded(COLUMNS["user"])}],
    "dictionary of views": [{"location": pa.array(COLUMNS["location"], pa.string_view()).dictionary_encode()}],
    "counts": [{"count": pa.array(COLUMNS["count"], kind)} for kind in (pa.int8(), pa.uint64(), pa.float64())],
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_that_mean_the_same(kind: str) -> None:
    users = iter(["ann", "bob"] + [f"{name}{at}" for at in range(9) for name in ("ann", "bob")])
    batches, wanted = [], dict[str, dict[str, int]]()
    for columns in TYPES[kind]:
        ann, bob = next(users), next(users)
        values = {**COLUMNS, "user": [ann, ann, bob], **columns}
        if "user" in columns:
            values["user"] = pa.array([ann, ann, bob]).cast(columns["user"].type)
        batches.append(pa.record_batch(values))
        wanted |= {ann: {"café": 9}, bob: {"gym": 4}}
    assert released(sanitize_batches(HIDE, batches)) == wanted


UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"user": [{"id": "ann"}] * 3}, "the column 'user' is of type struct<id: string>; give text or numbers"),
    ({"user": [["ann"]] * 3}, "the column 'user' is of type list<"),
    ({"user": pa.array([UUID(int=1).bytes] * 3, pa.uuid())}, "the column 'user' is of type extension<arrow.uuid>"),
    ({"location": [{"id": "gym"}] * 3}, "the column 'location' is of type struct<id: string>; it must be string"),
    ({"location": pa.array([b"cl\xc3nica"] * 3)}, "the column 'location' is of type binary; it must be string"),
    ({"count": [1.5, 2.0, 3.0]}, "the column 'count' is of type double; it must be int64"),
    ({"count": pa.array([2**64 - 1] * 3, pa.uint64())}, "the column 'count' is of type uint64; it must be int64"),
    ({"location": [["gym"]] * 3}, "the column 'count' is of type int64; give lists"),
    ({"location": [["gym"]] * 3, "count": [[1], [1, 2], [1]]}, "the user 'ann' has 1 locations and 2 counts"),
]


@pytest.mark.parametrize(("columns", "named"), UNFIT, ids=[named for _, named in UNFIT])
def test_types_that_are_refused(columns: dict[str, Any], named: str) -> None:
    with pytest.raises(ew.InputError) as error:
        list(sanitize_batches(HIDE, [pa.record_batch({**COLUMNS, **columns})]))
    assert named in str(error.value)


def test_batches_that_disagree() -> None:
    text, numbers = pa.record_batch(COLUMNS), pa.record_batch({**COLUMNS, "user": [1, 1, 2]})
    with pytest.raises(ew.InputError, match="'user' is of different types in different batches: string and int64"):
        list(sanitize_batches(HIDE, [text, numbers]))
    more = text.append_column("sensitive", pa.array(["gym"] * 3))
    with pytest.raises(ew.InputError, match="batches have different columns"):
        list(sanitize_batches(HIDE, [text, more]))


def test_users_with_nothing_have_a_reason() -> None:
    nested = {
        "user": ["ann", "bob", "eve", "joe"],
        "location": [["gym"], [], None, ["bar"]],
        "count": [[1], [], [], [2]],
    }
    (result,) = sanitize_batches(HIDE, [pa.record_batch(nested)])
    assert result.column("user").to_pylist() == nested["user"]
    empty = "the histogram is empty: all its counts are 0"
    assert result.column("reason").to_pylist() == [None, empty, empty, None]


def test_sums_that_no_integer_holds() -> None:
    """They are refused for their size, not released as what is left after an overflow."""
    many = pa.record_batch({"user": ["ann", "ann", "bob"], "location": ["gym"] * 3, "count": [2**62, 2**62 + 1, 3]})
    spelt = pa.record_batch({"user": ["eve"] * 4, "location": ["gym", "Gym", "GYM", "gYm"], "count": [2**62] * 4})
    for batch in (many, spelt):
        (result,) = sanitize_batches(HIDE, [batch])
        first = result.to_pylist()[0]
        assert first["location"] is None
        assert first["reason"] == "the histogram has more than 4e+18 counts"


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_just_enough_for_everybody(goal: Any, tmp_path: Any) -> None:
    """Users get the smallest change that meets the distance; those for whom none does get a reason."""
    (tmp_path / "target.csv").write_text("location,count\ncafé,3\ngym,2\nclinic,1\n")
    name, wanted = ("max_distance", 0.1) if goal == "resemble" else ("min_distance", 0.2)
    choices = {"goal": goal, "target": str(tmp_path / "target.csv"), name: wanted, "visited_only": True}
    policy = ew.Policy.of({**choices, "allow_mismatch": True, "allow_sensitive_rise": True})
    users = {"ann": {"café": 7, "gym": 2, "clinic": 4}, "bob": {"café": 1, "gym": 1, "clinic": 9}, "eve": {"gym": 4}}
    rows = [(user, location, count) for user, counts in users.items() for location, count in counts.items()]
    table = pa.table(dict(zip(("user", "location", "count"), map(list, zip(*rows, strict=True)), strict=True)))
    (results,) = sanitize_batches(policy, table.to_batches())
    verb = ew.resemble if goal == "resemble" else ew.avoid
    asked: dict[str, Any] = {name: wanted, "visited_only": True}
    for row in results.to_pylist():
        if goal == "resemble" and row["user"] == "eve":  # who was at one place only
            assert row["status"] == "none"
            assert row["reason"].endswith("no quality loss would meet it")
            continue
        alone = verb(users[row["user"]], {"café": 3, "gym": 2, "clinic": 1}, **asked)
        assert (row["status"], row["quality_loss"], row["gap"]) == ("optimal", alone.quality_loss, 0.0)
        assert dict(zip(row["location"], row["count"], strict=True)) == dict(alone.histogram)


_VISITS = st.lists(st.tuples(st.sampled_from(["café", "clinic", "gym"]), st.integers(1, 2)), min_size=1, max_size=2)


@pytest.mark.parametrize(
    "choices",
    [
        {"goal": "hide", "max_quality_loss": 0.2},
        {"goal": "avoid", "target": "tourist", "max_quality_loss": 0.3, "method": "heuristic", "allow_mismatch": True},
        {
            "goal": "resemble",
            "target": "tourist",
            "max_quality_loss": 0.3,
            "time_limit": 3600.0,
            "allow_mismatch": True,
        },
    ],
)
@settings(max_examples=15)
@given(users=st.lists(_VISITS, min_size=2, max_size=12))
def test_equal_histograms_are_searched_once(choices: dict[str, Any], users: list[list[tuple[str, int]]]) -> None:
    """Users asked one by one, in several chunks: as if each was the only one, and no question is put twice."""
    plan = ew.Policy(sensitive=("clinic",), **choices).plan()
    chunks = [
        pa.table({"user": [f"user {at}"] * len(rows), "location": [n for n, _ in rows], "count": [c for _, c in rows]})
        for at, rows in enumerate(users)
    ]
    plans = Plans(plan)
    with patch.object(solve, "solve", wraps=solve.solve) as searched:
        some = sanitize_users(plans, pa.concat_tables(chunks[:-1])).to_pylist()
        found = some + sanitize_users(plans, chunks[-1]).to_pylist()
    asked = [tuple(call.args[0].history.items()) for call in searched.call_args_list]
    assert len(set(asked)) == len(asked)
    assert found == [row for chunk in chunks for row in sanitize_users(Plans(plan), chunk).to_pylist()]


def test_a_failed_check_is_everybodys_with_that_histogram() -> None:
    """And it is not kept: a later user is asked again."""
    plans = Plans(ew.Policy("hide", sensitive=("clinic",), max_quality_loss=0.9).plan())
    table = pa.table({"user": ["ann", "ann", "bob", "bob"], "location": ["gym", "clinic"] * 2, "count": [3, 1] * 2})
    with patch.object(kernel, "check_results", return_value={0: "it is wrong"}):
        failed = sanitize_users(plans, table).to_pylist()
    assert [row["reason"] for row in failed] == [f"{FAILED_CHECK}: it is wrong"] * 2
    assert [row["location"] for row in failed] == [None, None]
    assert [row["location"] for row in sanitize_users(plans, table).to_pylist()] == [["gym"], ["gym"]]
