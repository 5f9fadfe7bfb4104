"""Many users at once: the kernel answers as the verbs do, and the local engine loses, leaks and repeats nothing."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from itertools import count as count_from
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
import elsewhere.solve
from elsewhere.engines import kernel
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.local import grouping, pipeline
from elsewhere.engines.outcome import outcomes, releases
from elsewhere.model.errors import Unchanged
from elsewhere.plan import Plan
from tests.support.batches import BAD, NAMES, batches, caught, expected, people, released, rows, write
from tests.support.instances import DISTANCES
from tests.support.processes import left_of_session, of_session, on_linux

pa: Any = import_module("pyarrow")
pa_csv: Any = import_module("pyarrow.csv")
pc: Any = import_module("pyarrow.compute")
pq: Any = import_module("pyarrow.parquet")


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_all_users_at_once_are_as_one_by_one(data: st.DataObject) -> None:
    """hide has a way of its own for many users; ties, bounds and users without a release must be the same."""
    histograms = data.draw(
        st.dictionaries(
            st.text("uvw", min_size=1, max_size=3),
            st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), min_size=1),
            min_size=1,
            max_size=6,
        )
    )
    histograms = dict(sorted(histograms.items()))
    redistribute = data.draw(st.sampled_from([None, 0, 1, 7]))
    policy = ew.Policy(
        "hide", sensitive=("casino", "preset:health"), quality=data.draw(st.sampled_from(DISTANCES)),
        redistribute=redistribute,
    )  # fmt: skip
    results = [row for batch in sanitize_batches(policy, batches(histograms, 3)) for row in batch.to_pylist()]
    assert [row["user"] for row in results] == list(histograms)
    found = {row["user"]: dict(zip(row["location"], row["count"], strict=True)) for row in results if row["location"]}
    assert found == expected(policy, histograms)
    for row in results:
        assert (row["status"] == "none") == (row["reason"] is not None)
        if row["location"]:
            one = ew.hide(
                histograms[row["user"]], caught(policy.plan(), histograms[row["user"]]), policy.quality,
                redistribute,
            )  # fmt: skip
            assert row["quality_loss"] == pytest.approx(one.quality_loss, abs=1e-12)


def test_lists_of_a_user_are_as_rows() -> None:
    histograms = people(50)
    nested = pa.record_batch(
        {
            "user": list(histograms),
            "location": [list(counts) for counts in histograms.values()],
            "count": [list(counts.values()) for counts in histograms.values()],
        }
    )
    policy = ew.Policy("hide", sensitive=("clinic",))
    (of_lists,), (of_rows,) = sanitize_batches(policy, [nested]), sanitize_batches(policy, batches(histograms, 10**6))
    assert of_lists.equals(of_rows)
    encoded = [
        rows.set_column(0, "user", rows.column("user").dictionary_encode()).slice(40)  # some are in no row
        for rows in batches(histograms, 10**6)
    ]
    kept = [row for row in of_rows.to_pylist() if row["user"] in set(encoded[0].column("user").to_pylist())]
    assert [batch.column("user").to_pylist() for batch in sanitize_batches(policy, encoded)] == [
        [row["user"] for row in kept]
    ]
    assert set(outcomes(of_lists).schema.names).isdisjoint({"location", "count"})
    assert "clinic" not in releases(of_lists).column("location").to_pylist()


def test_users_of_a_bucket_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    histograms = people(300)
    write(tmp_path / "people.parquet", histograms)
    policy = ew.Policy("hide", sensitive=("clinic",))
    ew.batch(policy, tmp_path / "people.parquet", tmp_path / "usual")
    monkeypatch.setattr(grouping, "BUCKET_BITS", 1)
    ew.batch(policy, tmp_path / "people.parquet", tmp_path / "crowded")
    assert released(tmp_path / "crowded") == released(tmp_path / "usual") != {}


def test_the_dictionary_of_a_part_has_no_hidden_name(tmp_path: Path) -> None:
    write(tmp_path / "people.parquet", people(50))
    ew.batch(ew.Policy("hide", sensitive=("clinic",)), tmp_path / "people.parquet", tmp_path / "out")
    part = pq.read_table(tmp_path / "out" / "part-00000.parquet", read_dictionary=["location"])
    assert set(part.column("location").chunk(0).dictionary.to_pylist()) == set(NAMES) - {"clinic"}


@pytest.mark.parametrize("goal", ["hide", "resemble", "avoid"])
def test_every_verb_and_thread_gives_the_same_bytes(tmp_path: Path, goal: Any) -> None:
    histograms = people(600)
    write(tmp_path / "in.parquet", histograms)
    (tmp_path / "target.csv").write_text("location,count\npark,3\nmuseum,2\ncasino,1\n", encoding="utf-8")
    asked: dict[str, Any] = {"sensitive": ("casino",), "candidates": ("library",) if goal == "hide" else ()}
    if goal != "hide":
        asked |= {"target": "target.csv", "max_quality_loss": 0.2, "folder": tmp_path}
    policy = ew.Policy(goal, **asked)
    for threads in (1, 2):
        summary = ew.batch(policy, tmp_path / "in.parquet", tmp_path / f"out{threads}", threads=threads)
    found = released(tmp_path / "out1")
    assert found == expected(policy, histograms)
    assert list(found) == sorted(found)
    assert summary["users"] == 600
    assert summary["released"] == len(found) == 600 - sum(summary["reasons"].values())
    parts = sorted(path.name for path in (tmp_path / "out1").iterdir())
    assert parts == ["_SUCCESS", "part-00000.parquet"]
    for part in parts:
        assert (tmp_path / "out1" / part).read_bytes() == (tmp_path / "out2" / part).read_bytes()


@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_visits_in_text(tmp_path: Path, ending: str, delimiter: str) -> None:
    histograms = people(40)
    with (tmp_path / f"visits.{ending}").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(("who", "where"))
        for user, name, count in rows(histograms, shuffled=True):
            writer.writerows([(user, name)] * count)
    policy = ew.Policy("hide", sensitive=("clinic",))
    ew.batch(policy, tmp_path / f"*.{ending}", tmp_path / "out", user_column="who", location_column="where")
    assert released(tmp_path / "out", "who") == expected(policy, histograms)


def test_choices_of_users_own(tmp_path: Path) -> None:
    """What is empty is the policy's, and a name that says nothing about the user is no reason to release everything."""
    histograms = people(30)
    users = list(histograms)
    write(tmp_path / "in.parquet", histograms)
    own = {
        users[0]: ("; ".join(sorted(histograms[users[0]])[:1]), None),
        users[1]: (None, 0),
        users[2]: ("nonsense; " + min(histograms[users[2]]), None),
        users[3]: ("", None),
    }
    sensitive, redistribute = zip(*own.values(), strict=True)
    table = pa.table({"user": list(own), "sensitive": sensitive, "redistribute": redistribute})
    pq.write_table(table, tmp_path / "own.parquet")
    policy = ew.Policy("hide", sensitive=("gym",))
    paths = (tmp_path / "in.parquet", tmp_path / "out")
    summary = ew.batch(policy, *paths, personal=tmp_path / "own.parquet")
    found = released(tmp_path / "out")
    assert users[2] not in found
    assert summary["reasons"]["the user's own choice 'nonsense' covers none of the user's places"] == 1
    for user in {*users} - {users[2]}:
        names, received = own.get(user, (None, None))
        asked = ew.Policy("hide", sensitive=(names,) if names else ("gym",), redistribute=received)
        assert found.get(user) == expected(asked, {user: histograms[user]}).get(user), user
    ew.batch(policy, paths[0], tmp_path / "insisted", personal=tmp_path / "own.parquet", allow_unchanged=True)
    assert users[2] in released(tmp_path / "insisted")


def test_own_choices_take_no_look_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are looked at for the users that have them: twice the users with choices are twice the work."""
    looked_at = 0
    covered = Plan.covered

    def counting(plan: Plan, locations: Sequence[str]) -> Any:
        nonlocal looked_at
        looked_at += len(locations)
        return covered(plan, locations)

    monkeypatch.setattr(Plan, "covered", counting)
    work = []
    for number in (200, 400):
        looked_at = 0
        rows = [(f"{at:04d}", f"{kind} of {at}") for at in range(number) for kind in ("home", "clinic", "gym")]
        user, location = zip(*rows, strict=True)
        own = [f"clinic of {int(name)}" for name in user]
        batch = pa.record_batch({"user": user, "location": location, "count": [1] * len(rows), "sensitive": own})
        (result,) = sanitize_batches(ew.Policy("hide", sensitive=("bar",)), [batch])
        assert set(result.column("status").to_pylist()) == {"optimal"}
        work.append(looked_at)
    assert work == [600, 1200]


def test_two_rows_of_choices_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(3))
    pq.write_table(pa.table({"user": ["user 00001"] * 2, "redistribute": [0, 1]}), tmp_path / "own.parquet")
    with pytest.raises(ew.InputError, match="personal: the user 'user 00001' has more than one row"):
        ew.batch(
            ew.Policy("hide", sensitive=("gym",)),
            tmp_path / "in.parquet",
            tmp_path / "out",
            personal=tmp_path / "own.parquet",
        )


@pytest.mark.parametrize(("text", "named"), BAD, ids=[named for _, named in BAD])
def test_rows_that_make_no_sense(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    policy = ew.Policy("hide", sensitive=("gym",))
    with pytest.raises(ew.InputError, match=named) as error:
        ew.batch(policy, tmp_path / "in.csv", tmp_path / "out", allow_unchanged=True)
    assert error.value.arguments == ("on_error",)
    assert not (tmp_path / "out" / "_SUCCESS").exists()
    summary = ew.batch(policy, tmp_path / "in.csv", tmp_path / "skipped", on_error="skip", allow_unchanged=True)
    assert released(tmp_path / "skipped") == {"ann": {"café": 1}}
    assert summary["skipped_rows"] == 1


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda path: path.write_bytes(b"PAR1 not really"), "cannot be read"),
        (
            lambda path: pq.write_table(pa.table({"who": ["ann"], "location": ["gym"]}), path),
            "no user column is known; choose one of 'who', 'location' with user_column",
        ),
        (lambda path: pq.write_table(pa.table({"user": ["a"], "location": ["b"], "count": [[1]]}), path), "of type"),
        (lambda path: path.mkdir(), "there is no file"),
    ],
)
def test_input_that_cannot_be_read(tmp_path: Path, make: Any, named: str) -> None:
    make(tmp_path / "in.parquet")
    with pytest.raises(ew.InputError, match=named) as error:
        ew.batch(ew.Policy("hide", sensitive=("b",)), tmp_path / "in.parquet", tmp_path / "out")
    assert "\n" not in str(error.value)


_SEARCH = """
import sys, time, elsewhere as ew
from elsewhere.engines.local import grouping
grouping.FEW_ROWS = 0
ew.batch(ew.Policy("resemble", target="tourist", max_quality_loss=0.1, time_limit=3600), *sys.argv[1:], threads=2,
         progress=lambda _: (print("begun", flush=True), time.sleep(3600)))
"""


@on_linux
def test_workers_end_with_a_batch_that_is_killed(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(50))
    (tmp_path / "search.py").write_text(_SEARCH, encoding="utf-8")
    given = [str(tmp_path / name) for name in ("search.py", "in.parquet", "out")]
    process = subprocess.Popen([sys.executable, *given], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"begun\n"
        assert len(of_session(process.pid)) > 2
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert left_of_session(process.pid) == []


def test_the_order_of_the_rows_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for the bytes either, where users bring in names that nobody has been to."""
    monkeypatch.setattr(grouping, "BUCKET_BITS", 1)
    rows = [(user, place, count) for user, counts in people(200).items() for place, count in counts.items()]
    own = pa.table({"user": list(people(200)), "candidates": [f"home of {user}" for user in people(200)]})
    pq.write_table(own, tmp_path / "own.parquet")
    bytes_ = set()
    for at in range(3):
        random.Random(at).shuffle(rows)
        columns = zip(*rows, strict=True)
        table = dict(zip(("user", "location", "count"), columns, strict=True))
        pq.write_table(pa.table(table), tmp_path / f"{at}.parquet")
        policy = ew.Policy("hide", sensitive=("clinic",))
        ew.batch(policy, tmp_path / f"{at}.parquet", tmp_path / f"out{at}", personal=tmp_path / "own.parquet",
                 threads=1 + at % 2)  # fmt: skip
        bytes_.add((tmp_path / f"out{at}" / "part-00000.parquet").read_bytes())
    assert len(bytes_) == 1


def test_rows_are_skipped_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that were read before a batch was ended, and are read again."""
    monkeypatch.setattr(pipeline, "_PLAIN_ROWS", 100)
    lines = [f"{user},{place},{count}" for user, counts in people(300).items() for place, count in counts.items()]
    bad = [f"user{at},gym,-1" for at in range(100)]
    (tmp_path / "in.csv").write_text("\n".join(["user,location,count", *lines, *bad]), encoding="utf-8")
    policy = ew.Policy("hide", sensitive=("clinic",))
    whole = ew.batch(policy, tmp_path / "in.csv", tmp_path / "whole", on_error="skip", part_rows=200)
    parts = 0

    def end(_: object) -> None:
        nonlocal parts
        parts += 1
        if parts == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.batch(policy, tmp_path / "in.csv", tmp_path / "ended", on_error="skip", part_rows=200, progress=end)
    again = ew.batch(policy, tmp_path / "in.csv", tmp_path / "ended", on_error="skip", part_rows=200)
    assert {**again, "lineage": None} == {**whole, "lineage": None}
    assert whole["skipped_rows"] == 100
    (tmp_path / "in.csv").write_text("\n".join(["user,location,count", *bad]), encoding="utf-8")
    with pytest.raises(ew.TooFewReleased, match="0 of 0 users can have a release") as nothing:
        ew.batch(policy, tmp_path / "in.csv", tmp_path / "nothing", on_error="skip", allow_unchanged=True)
    assert (nothing.value.summary["users"], nothing.value.summary["skipped_rows"]) == (0, 100)


def test_dictionaries_of_any_kind() -> None:
    """With a name twice, and with none."""
    for names in (["gym", "gym", "bar"], ["gym", "bar", None]):
        location = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(names))
        batch = pa.record_batch({"user": ["a"] * 3, "location": location, "count": [1, 2, 4]})
        (result,) = sanitize_batches(ew.Policy("hide"), [batch])
        found = dict(zip(*(result.column(name)[0].as_py() for name in ("location", "count")), strict=True))
        assert found == ({"gym": 7} if names[1] == "gym" else {"gym": 5, "bar": 2})


def test_too_little_memory_is_said(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(20))
    with pytest.raises(ew.InputError, match="fit neither into the allowed memory"):
        ew.batch(ew.Policy("hide", sensitive=("gym",)), tmp_path / "in.parquet", tmp_path / "out", memory=10_000)


def test_another_question_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(20))
    ew.batch(ew.Policy("hide", sensitive=("gym",)), tmp_path / "in.parquet", tmp_path / "out")
    before = (tmp_path / "out" / "part-00000.parquet").read_bytes()
    with pytest.raises(ew.InputError, match="another input, policy, key or version"):
        ew.batch(ew.Policy("hide", sensitive=("bar",)), tmp_path / "in.parquet", tmp_path / "out")
    write(tmp_path / "in.parquet", people(21))
    with pytest.raises(ew.InputError, match="another input, policy, key or version"):
        ew.batch(ew.Policy("hide", sensitive=("gym",)), tmp_path / "in.parquet", tmp_path / "out")
    assert (tmp_path / "out" / "part-00000.parquet").read_bytes() == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    policy = ew.Policy("hide", sensitive=("gym",))
    with pytest.raises(ew.InputError, match="holds files of something else"):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "full")
    with pytest.raises(ew.InputError, match="in the folder of the releases"):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "new", report=tmp_path / "new" / "report")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "in.parquet", "out", "out.private"]


MISSING: list[tuple[ew.Policy, type[ew.ElsewhereError], str]] = [
    (ew.Policy("hide"), ew.InputError, "the policy hides nothing: it names no sensitive place"),
    (ew.Policy("hide", sensitive=("gym", "clinik")), Unchanged, "called 'clinik'; did you mean 'clinic'?"),
    (ew.Policy("hide", sensitive=("*spa*",)), Unchanged, "'*spa*' covers no place of any user"),
    (ew.Policy("hide", sensitive=("preset:religion",)), Unchanged, "'preset:religion' covers no place of any user"),
    (ew.Policy("hide", sensitive=("church",)), Unchanged, 'set taxonomy = "shipped"'),
    (ew.Policy("hide", sensitive=("church",), taxonomy="shipped"), Unchanged, "'church' covers no place"),
    (
        ew.Policy("avoid", sensitive=("harbour",), target="tourist", max_quality_loss=0.1),
        Unchanged,
        "no user has a place called 'harbour'",
    ),
]


@pytest.mark.parametrize(("policy", "error", "named"), MISSING, ids=[named for *_, named in MISSING])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_name_that_no_user_has(tmp_path: Path, policy: ew.Policy, error: Any, named: str, ending: str) -> None:
    """It ends the batch before there is a folder."""
    histograms = people(5) | {"eve": {"clinic": 1, "gym": 2}}
    write(tmp_path / "in.parquet", histograms)
    if ending == "csv":
        pa_csv.write_csv(pq.read_table(tmp_path / "in.parquet"), tmp_path / "in.csv")
    with pytest.raises(error) as raised:
        ew.batch(policy, tmp_path / f"in.{ending}", tmp_path / "out")
    assert named in str(raised.value)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("goal", ["hide", "resemble"])
def test_few_rows_are_looked_at_if_all_names_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goal: Any
) -> None:
    """And only once, however many checks need their names."""
    monkeypatch.setattr(grouping, "_ROWS", 2048)
    write(tmp_path / "in.parquet", people(5000))
    seen = []

    def unique(names: Any) -> Any:
        seen.append(names)
        return pc.unique(names)

    monkeypatch.setattr(grouping, "pc", SimpleNamespace(unique=unique))
    (tmp_path / "target.csv").write_text("location,count\npark,1\n")
    asked: dict[str, Any] = {"target": str(tmp_path / "target.csv"), "max_quality_loss": 0.1}
    policy = ew.Policy(goal, sensitive=("clinic", "*asino"), **(asked if goal == "resemble" else {}))
    ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out")
    assert len(seen) == 1


def test_each_name_has_its_users_and_visits(tmp_path: Path) -> None:
    histograms = people(40) | {"twice": {"Gym": 5, "gym ": 2, "bar": 1}, "only": {"gym": 3}}
    write(tmp_path / "in.parquet", histograms)
    policy = ew.Policy("hide", sensitive=("gym", "*asino*", "spa"))
    summary = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", allow_unchanged=True)
    given = [histograms[user] for user in released(tmp_path / "out")]
    assert list(summary["hidden"]) == ["gym", "*asino*", "spa"]
    for name, spellings in (("gym", ("gym", "gym ", "Gym")), ("*asino*", ("casino",)), ("spa", ("spa",))):
        visits = [sum(counts.get(spelling, 0) for spelling in spellings) for counts in given]
        assert summary["hidden"][name] == {"users": sum(map(bool, visits)), "visits": sum(visits)}
    assert summary["merged_spellings"] == 1
    assert summary["failed_checks"] == 0


@pytest.mark.parametrize("goal", ["hide", "resemble"])
def test_a_release_that_is_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goal: Any) -> None:
    """Whatever made it: the user gets a reason, the others their releases, and the summary says so."""
    # No two are the same: those would have the same release.
    histograms = {user: counts | {"park": 10 + at} for at, (user, counts) in enumerate(people(100).items())}
    write(tmp_path / "in.parquet", histograms)
    asked: dict[str, Any] = {} if goal == "hide" else {"target": "tourist", "max_quality_loss": 0.1}
    policy = ew.Policy(goal, sensitive=("clinic",), **asked)
    ew.batch(policy, tmp_path / "in.parquet", tmp_path / "right", threads=1)
    right = released(tmp_path / "right")
    victim = 0 if goal == "hide" else 7

    def wrong_solve(*given: Any, **options: Any) -> Any:
        result = right_solve(*given, **options)
        return replace(result, quality_loss=result.quality_loss + 1e-6) if next(counter) == victim else result

    def wrong_hide(plan: Any, users: Any, members: Any, sensitive: Any, least: Any, outcome: Any) -> None:
        right_hide(plan, users, members, sensitive, least, outcome)
        of, location, count = outcome.rows[-1]
        counts = count.copy()
        counts[np.flatnonzero(of == members[victim])[0]] += 1
        outcome.rows[-1] = of, location, counts

    right_hide, right_solve, counter = kernel._hide_all, elsewhere.solve.solve, count_from(0)
    monkeypatch.setattr(kernel, "_hide_all", wrong_hide)
    monkeypatch.setattr("elsewhere.solve.solve", wrong_solve)
    monkeypatch.setattr(kernel, "on_arrays", lambda _: False)
    summary = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "wrong", threads=1)
    missing = right.keys() - released(tmp_path / "wrong").keys()
    assert summary["failed_checks"] == len(missing) > 0
    # Who has the same histogram shares the answer, and its fate.
    assert len({tuple(sorted(histograms[user].items())) for user in missing}) == 1
    assert released(tmp_path / "wrong").items() <= right.items()
    for row in pq.read_table(tmp_path / "wrong.private" / "outcomes-00000.parquet").to_pylist():
        if row["user"] in missing:
            assert row["reason"].startswith("the release failed its check: ")
            assert (row["status"], row["quality_loss"], row["gap"]) == ("none", None, None)


_SMALL_PARTS = """
import sys, time, elsewhere as ew
from elsewhere.engines.local import grouping
grouping.FEW_ROWS = 0
ew.batch(ew.Policy("hide", sensitive=("clinic", "casino")), sys.argv[1], sys.argv[2], threads=2, part_rows=300,
         progress=lambda _: time.sleep(0.05))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    histograms = people(2000)
    write(tmp_path / "in.parquet", histograms)

    def start(folder: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", _SMALL_PARTS, tmp_path / "in.parquet", tmp_path / folder])

    assert start("whole").wait() == 0
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert len(whole) > 10
    seen = []
    for _ in range(4):
        process = start("killed")
        done = len(list((tmp_path / "killed").glob("part-*"))) if (tmp_path / "killed").exists() else 0
        while process.poll() is None and len(list((tmp_path / "killed").glob("part-*"))) < done + 2:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        parts = {path.name: path.read_bytes() for path in (tmp_path / "killed").iterdir()}
        assert parts.items() <= whole.items()  # each part is whole, and there is nothing else
        seen.append(len(parts))
        # Another process removes the folder of what did not fit into memory.
        end = time.monotonic() + 300
        while list(tmp_path.glob(".killed-spill-*")):
            assert time.monotonic() < end, "the folder stays"
            time.sleep(0.01)
        if "_SUCCESS" in parts:
            break
    assert seen == sorted(seen)
    assert start("killed").wait() == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "killed").iterdir()} == whole
    for content in whole.values():
        assert b"clinic" not in content
        assert b"casino" not in content
    assert (tmp_path / "killed.private").stat().st_mode & 0o077 == 0
