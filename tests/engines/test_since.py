"""A batch that continues the releases of an earlier one, on every engine: no count of anybody ever falls."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.engines import kernel
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.outcome import releases
from elsewhere.model.keys import Key
from elsewhere.solve import solve
from tests.engines.test_spark_input import spark
from tests.support.batches import People, caught, people, released, rows, write
from tests.support.java import java_version

__all__ = ["spark"]

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
HIDE = ew.Policy("hide", sensitive=("clinic",))
SECRET = bytes(range(100, 132))
POLICIES = {
    "optimal": HIDE,
    "drawn": replace(HIDE, method="drawn"),
    "resemble": ew.Policy("resemble", ("clinic",), target="target.csv", max_quality_loss=0.4, allow_mismatch=True),
}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE_KEY", SECRET.hex())


def grown(histograms: People, seed: int) -> People:
    """The same users later: more visits to the same places, more places, and more users."""
    dice = random.Random(seed)
    more = people(len(histograms) + 10, seed)
    return {
        user: {
            place: histograms.get(user, {}).get(place, 0) + dice.choice([0, 0, 1, 3])
            for place in sorted({*histograms.get(user, {}), *(more[user] if user not in histograms else ["park"])})
        }
        for user in more
    }


def falls(earlier: People, later: People) -> list[str]:
    """Users with a count that is below the earlier one."""
    return [
        user for user in earlier
        if user in later and any(later[user].get(place, 0) < count for place, count in earlier[user].items())
    ]  # fmt: skip


def one_by_one(policy: ew.Policy, histograms: People, earlier: People) -> People:
    """What the engines must release, found with the solver for a single person."""
    plan, found = policy.plan(), {}
    for user, counts in histograms.items():
        try:
            question = plan.question_about(ew.Histogram(counts), caught(plan, counts))
            if user in earlier:
                question = replace(question, lower=ew.Histogram(earlier[user]))
            found[user] = dict(solve(replace(question, key=key_of(policy, user))).histogram)
        except ew.ElsewhereError:
            continue
    return found


def key_of(policy: ew.Policy, user: str) -> Key | None:
    return Key(SECRET).derived("user", user) if policy.method == "drawn" else None


@pytest.mark.parametrize("method", POLICIES)
def test_no_count_falls_over_a_series(tmp_path: Path, method: str) -> None:
    (tmp_path / "target.csv").write_text("location,count\npark,3\ncafé,2\nmuseum,1\n", encoding="utf-8")
    policy = replace(POLICIES[method], folder=tmp_path)
    users = people(60 if method == "resemble" else 300)
    wanted: People = {}
    fell, since = 0, None
    for week in range(3):
        write(tmp_path / "in.parquet", users)
        alone = ew.batch(policy, tmp_path / "in.parquet", threads=1)
        fell += len(falls(wanted, as_people(alone)))
        before, wanted = wanted, one_by_one(policy, users, wanted)
        out = tmp_path / f"week{week}"
        summary = ew.batch(policy, tmp_path / "in.parquet", out, since=since, threads=2)
        assert released(out) == wanted
        assert summary["failed_checks"] == 0
        assert not falls(before, wanted)
        assert before.keys() <= wanted.keys() or method == "resemble"
        since, users = out, grown(users, week)
    assert fell > 20 or method == "resemble"  # without the earlier release they do


def as_people(result: Any) -> People:
    found: People = {}
    for row in result.releases.to_pylist():
        found.setdefault(row["user"], {})[row["location"]] = row["count"]
    return found


def test_what_was_drawn_stays_until_true_visits_use_it_up() -> None:
    """The new visits that are drawn are those for which there is no room in what was released already."""
    history = {"bar": 4, "café": 4, "clinic": 9, "gym": 4, "park": 4}
    users = {f"user {at}": history for at in range(50)}
    first = as_people(ew.batch(POLICIES["drawn"], table(users)))
    # As many visits to a place as were released beyond the truth: nothing else changes, because nothing else is hidden.
    later = {user: {**history, "gym": first[user]["gym"]} for user in users}
    second = as_people(ew.batch(POLICIES["drawn"], table(later), since=table(first)))
    for user, release in second.items():
        used = first[user]["gym"] - history["gym"]
        assert sum(release.values()) == sum(history.values()) + used
        assert sum(release[place] - first[user][place] for place in release) == used
        assert not falls({user: first[user]}, {user: release})
    assert any(first[user]["gym"] > 4 for user in users)


def table(histograms: People, columns: Iterable[str] = ("user", "location", "count")) -> Any:
    return pa.table(dict(zip(columns, zip(*rows(histograms), strict=True), strict=True)))


EARLIER = {"ann": {"café": 8, "gym": 2}, "bob": {"gym": 7}, "gone": {"café": 3}}
NOW = {
    "ann": {"café": 7, "clinic": 3, "gym": 1}, "bob": {"bar": 5, "clinic": 3, "gym": 4}, "new": {"bar": 2, "clinic": 1}
}  # fmt: skip
CONTINUED = {"ann": {"café": 9, "gym": 2}, "bob": {"bar": 5, "gym": 7}, "new": {"bar": 3}}


@pytest.mark.parametrize("kind", ["arrow", "reader", "pandas", "polars", "lazy", "duckdb", "csv", "folder", "dataset"])
def test_all_that_an_input_may_be(kind: str, tmp_path: Path) -> None:
    past = table(EARLIER)
    given: Any = past
    if kind == "reader":
        given = past.to_reader()
    elif kind == "pandas":
        given = past.to_pandas()
    elif kind in ("polars", "lazy"):
        given = pytest.importorskip("polars").from_arrow(past)
        given = given.lazy() if kind == "lazy" else given
    elif kind == "duckdb":
        given = pytest.importorskip("duckdb").from_arrow(past)
    elif kind == "dataset":
        pq.write_table(past, tmp_path / "a.parquet")
        given = import_module("pyarrow.dataset").dataset(tmp_path / "a.parquet")
    elif kind == "csv":
        given = tmp_path / "a.csv"
        import_module("pyarrow.csv").write_csv(past, given)
    elif kind == "folder":
        given = tmp_path / "past"
        ew.batch(HIDE, past, given, allow_unchanged=True)
    result = ew.batch(HIDE, table(NOW), since=given)
    assert as_people(result) == CONTINUED
    assert result["notes"] == ["1 user with an earlier release is not in the input."]


@pytest.mark.parametrize("policy", [HIDE, replace(HIDE, method="drawn"), replace(HIDE, by="kind")])
def test_a_place_that_only_the_earlier_release_has_may_be_sensitive(policy: ew.Policy) -> None:
    policy = replace(policy, sensitive=("clinic", "preset:religion"))
    past = {"ann": {"Church": 2}, "bob": {"Zoo": 1}}
    now = table({user: {"gym": 3, "clinic": 2} for user in past})
    result = ew.batch(policy, now, since=table(past), allow_unchanged=True)
    reasons = {row["user"]: row["reason"] for row in result.outcomes.to_pylist()}
    assert "sensitive now: 'Church'" in reasons["ann"]
    assert as_people(result)["bob"]["Zoo"] >= 1


def test_why_somebody_cannot_continue() -> None:
    past = {"ann": {"clinic": 2}, "bob": {"zoo": 1}, "cy": {"café": 9}, "dee": {"Café ": 4}}
    now = {user: {"café": 3, "clinic": 2} for user in past}
    result = ew.batch(HIDE, table(now), since=table(past))
    reasons = {row["user"]: row["reason"] for row in result.outcomes.to_pylist()}
    assert "sensitive now: 'clinic'" in reasons["ann"]
    assert "9 visits, and this one would have only 5" in reasons["cy"]
    assert as_people(result) == {"bob": {"café": 4, "zoo": 1}, "dee": {"café": 5}}


@pytest.mark.parametrize("types", [("int32", "int64"), ("int64", "string"), ("string", "int64"), ("int32", "float64")])
def test_users_are_compared_as_they_are_written(types: tuple[str, str], tmp_path: Path) -> None:
    now, past = (getattr(pa, name)() for name in types)
    columns = {"uid": pa.array([7, 7, 8, 8], pa.int64()), "month": ["1", "1", "1", "2"]}
    later = pa.table({**columns, "location": ["café", "clinic", "gym", "gym"], "count": [3, 3, 2, 2]})
    later = later.set_column(0, "uid", later.column("uid").cast(now))
    columns = {"uid": pa.array([7, 8]).cast(past), "month": [1, 2]}
    earlier = pa.table({**columns, "location": ["café", "gym"], "count": [5, 2]})
    result = ew.batch(HIDE, later, keys=["month"], since=earlier)
    assert result["released"] == 3
    assert result.releases.schema.field("uid").type == now
    bad = earlier.set_column(0, "uid", pa.array(["07", "08"]))
    with pytest.raises(ew.InputError, match="since: none of its users is in the input; write users the same way"):
        ew.batch(HIDE, later, keys=["month"], since=bad)


def test_keys_in_folders_and_parts_that_are_lost(tmp_path: Path) -> None:
    visits = [(f"u{at}", f"2026-0{month}", place, 1 + at % 3) for at in range(60) for month in (1, 2)
              for place in ("bar", "clinic", "gym")]  # fmt: skip
    given = pa.table(dict(zip(("user", "month", "location", "count"), zip(*visits, strict=True), strict=True)))
    asked: dict[str, Any] = {"keys": ["month"], "partition_by": ["month"], "part_rows": 40}
    ew.batch(HIDE, given, tmp_path / "one", **asked)
    more = given.set_column(3, "count", pa.array([count + (at % 5 == 0) for at, (*_, count) in enumerate(visits)]))
    pq.write_table(more, tmp_path / "more.parquet")
    asked["since"] = tmp_path / "one"
    ew.batch(HIDE, tmp_path / "more.parquet", tmp_path / "two", **asked)
    first, second = (pq.read_table(tmp_path / name).to_pylist() for name in ("one", "two"))
    count = {(row["user"], row["month"], row["location"]): row["count"] for row in second}
    assert all(count[row["user"], row["month"], row["location"]] >= row["count"] for row in first)
    parts = {path: path.read_bytes() for path in (tmp_path / "two").rglob("part-*")}
    assert len(parts) > 6
    lost = sorted(parts)[len(parts) // 2]
    lost.unlink()
    ew.batch(HIDE, tmp_path / "more.parquet", tmp_path / "two", **asked)
    assert {path: path.read_bytes() for path in (tmp_path / "two").rglob("part-*")} == parts
    asked["since"] = pq.read_table(tmp_path / "one")
    with pytest.raises(ew.InputError, match="started with another input"):
        ew.batch(HIDE, tmp_path / "more.parquet", tmp_path / "two", **asked)


def test_mistakes_are_named(tmp_path: Path) -> None:
    now = table(NOW)
    ew.batch(HIDE, table(EARLIER), tmp_path / "past", allow_unchanged=True)
    with pytest.raises(ew.InputError, match="in the folder of the earlier releases"):
        ew.batch(HIDE, now, tmp_path / "past" / "new", since=tmp_path / "past")
    with pytest.raises(ew.InputError, match="since and the policy's lower both set"):
        ew.batch(replace(HIDE, lower={"gym": 1}), now, since=tmp_path / "past")
    (tmp_path / "past" / "_SUCCESS").unlink()
    with pytest.raises(ew.InputError, match=r"since: .*past' has no _SUCCESS"):
        ew.batch(HIDE, now, since=tmp_path / "past")
    for column, wrong in (("count", pa.array([8, None, 7, 3])), ("location", pa.array(["café", None, "gym", "café"]))):
        past = table(EARLIER)
        past = past.set_column(past.column_names.index(column), column, wrong)
        with pytest.raises(ew.InputError, match="since: the release of the user 'ann' has a row without a location or"):
            ew.batch(HIDE, now, since=past, on_error="skip")
    with pytest.raises(ew.InputError, match="since: earlier releases need counts"):
        ew.batch(HIDE, now, since=table(EARLIER).drop_columns(["count"]))


def test_rows_that_are_visits_and_users_with_choices_of_their_own() -> None:
    visits = pa.table({"user": ["ann"] * 4 + ["bob"] * 2, "location": ["café", "clinic", "gym", "gym", "gym", "zoo"]})
    own = pa.table({"user": ["bob"], "sensitive": ["zoo"]})
    past = table({"ann": {"café": 2}, "bob": {"gym": 1}})
    result = ew.batch(HIDE, visits, since=past, personal=own)
    assert as_people(result) == {"ann": {"café": 2, "gym": 2}, "bob": {"gym": 2}}


def test_rows_of_users_who_are_gone_make_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_CHUNK_ROWS", 1)
    past = table({"a": {"café": 1}, "b": {"gym": 2}}).append_column("__earlier", pa.array([True, True]))
    now = table({"b": {"clinic": 1, "gym": 2}}).append_column("__earlier", pa.array([False, False]))
    found = [row for batch in sanitize_batches(HIDE, pa.concat_tables([past, now]).to_batches())
             for row in releases(batch).to_pylist()]  # fmt: skip
    assert found == [{"user": "b", "location": "gym", "count": 3}]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(java_version() < 17, reason="no JDK 17 is found")
def test_spark_continues_the_same(tmp_path: Path, spark: Any) -> None:
    """The releases of Spark are those of this machine, over a series that each engine continues by itself."""
    for method in ("optimal", "drawn"):
        users, past = people(40), None
        for week in range(3):
            write(tmp_path / "in.parquet", users)
            names = {engine: tmp_path / f"{engine}-{method}-{week}" for engine in ("local", "spark")}
            since: Any = None if past is None else past["local"]
            ew.batch(POLICIES[method], tmp_path / "in.parquet", names["local"], since=since)
            if past is not None:  # a folder, then a DataFrame
                since = past["spark"] if week == 1 else spark.read.parquet(str(past["spark"]))
            frame = spark.read.parquet(str(tmp_path / "in.parquet"))
            ew.batch(POLICIES[method], frame, names["spark"], since=since)
            assert released(names["local"]) == released(names["spark"])
            if past is not None:
                assert not falls(released(past["spark"]), released(names["spark"]))
            past, users = names, grown(users, week)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(java_version() < 17, reason="no JDK 17 is found")
def test_spark_names_the_same_mistakes(tmp_path: Path, spark: Any) -> None:
    now = spark.createDataFrame(table(NOW).to_pandas())
    past = spark.createDataFrame(table(EARLIER).to_pandas())
    assert ew.batch(HIDE, now, tmp_path / "one", since=past)["notes"] == [
        "1 user with an earlier release is not in the input."
    ]
    assert released(tmp_path / "one") == CONTINUED
    (tmp_path / "one" / "_SUCCESS").unlink()
    with pytest.raises(ew.InputError, match=r"since: .*one' has no _SUCCESS"):
        ew.batch(HIDE, now, tmp_path / "two", since=tmp_path / "one")
    with pytest.raises(ew.InputError, match="since: none of its users is in the input"):
        ew.batch(HIDE, now, tmp_path / "two", since=past.filter("user = 'gone'"))
    with pytest.raises(ew.InputError, match="since: a release has a row without a location or a whole count from 0 up"):
        ew.batch(HIDE, now, tmp_path / "two", since=past.replace("gym", "", "location"), on_error="skip")
