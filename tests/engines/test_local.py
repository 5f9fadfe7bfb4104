"""Many users at once: the kernel answers as the verbs do, and the local engine loses, leaks and repeats nothing."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.engines import grouping, local
from elsewhere.engines.kernel import outcomes, releases, sanitize_batches
from elsewhere.model.taxonomy import Selection
from elsewhere.policy import Plan
from elsewhere.solve import solve
from tests.support.instances import DISTANCES

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
NAMES = ["bar", "café", "casino", "clinic", "gym", "park"]
People = dict[str, dict[str, int]]


def people(number: int, seed: int = 1) -> People:
    dice = random.Random(seed)
    return {
        f"user {at:05d}": {name: dice.randint(1, 9) for name in dice.sample(NAMES, dice.randint(1, len(NAMES)))}
        for at in range(number)
    }


def rows(histograms: People, shuffled: bool = False) -> list[tuple[str, str, int]]:
    found = [(user, name, count) for user, counts in histograms.items() for name, count in counts.items()]
    return random.Random(2).sample(found, len(found)) if shuffled else found


def batches(histograms: People, size: int) -> Iterator[Any]:
    user, location, count = zip(*rows(histograms), strict=True)
    table = pa.table({"user": user, "location": location, "count": count})
    return iter(table.to_batches(max_chunksize=size))


def expected(policy: ew.Policy, histograms: People) -> People:
    """One user after the other, with the verb itself; those without a release are left out."""
    plan, found = policy.plan(), {}
    for user, counts in histograms.items():
        try:
            found[user] = dict(solve(plan.question_about(ew.Histogram(counts), caught(plan, counts))).histogram)
        except ew.ElsewhereError:
            continue
    return found


def caught(plan: Plan, counts: Mapping[str, int]) -> Selection:
    """The sensitive ones of a user's locations, and of the target's and the candidates'."""
    return Selection(plan.elsewhere.union(*plan.covered(list(counts)).values()))


def released(folder: Path) -> People:
    found: People = {}
    for part in sorted(folder.glob("part-*.parquet")):
        for row in pq.read_table(part).to_pylist():
            found.setdefault(row["user"], {})[row["location"]] = row["count"]
    return found


def write(path: Path, histograms: People) -> None:
    user, location, count = zip(*rows(histograms, shuffled=True), strict=True)
    pq.write_table(pa.table({"user": user, "location": location, "count": count}), path)


@settings(deadline=None, max_examples=150, derandomize=True)
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
    assert released(tmp_path / "out") == expected(policy, histograms)


def test_choices_of_users_own(tmp_path: Path) -> None:
    histograms = people(30)
    users = list(histograms)
    write(tmp_path / "in.parquet", histograms)
    own = pa.table(
        {"user": users[:3], "sensitive": ["casino; clinic", None, "nonsense"], "redistribute": [None, 0, None]}
    )
    pq.write_table(own, tmp_path / "own.parquet")
    ew.batch(ew.Policy("hide", sensitive=("gym",)), tmp_path / "in.parquet", tmp_path / "out",
             personal=tmp_path / "own.parquet")  # fmt: skip
    found, chosen = released(tmp_path / "out"), {users[0]: ("casino", "clinic"), users[2]: ("nonsense",)}
    for user in users:
        policy = ew.Policy("hide", sensitive=chosen.get(user, ("gym",)), redistribute=0 if user == users[1] else None)
        assert found.get(user) == expected(policy, {user: histograms[user]}).get(user), user


def test_two_rows_of_choices_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(3))
    pq.write_table(pa.table({"user": ["user 00001"] * 2, "redistribute": [0, 1]}), tmp_path / "own.parquet")
    with pytest.raises(ew.InputError, match="'user 00001' has more than one row"):
        ew.batch(ew.Policy("hide"), tmp_path / "in.parquet", tmp_path / "out", personal=tmp_path / "own.parquet")


BAD: list[tuple[str, str]] = [
    ("user,location,count\n,café,3\nann,café,1\n", "1 rows have no user"),
    ("user,location,count\nann,,3\nann,café,1\n", "'ann' has rows without a location"),
    ("user,location,count\nann,gym,-3\nann,café,1\n", "'ann' has a count at 'gym' that is no whole number"),
    ("user,location,count\nann,gym,2.5\nann,café,1\n", "'ann' has a count at 'gym' that is no whole number"),
    ("user,location,count\nann,gym,many\nann,café,1\n", "'ann' has a count at 'gym' that is no whole number"),
]


@pytest.mark.parametrize(("text", "named"), BAD, ids=[named for _, named in BAD])
def test_rows_that_make_no_sense(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    policy = ew.Policy("hide", sensitive=("clinic",))
    with pytest.raises(ew.InputError, match=named):
        ew.batch(policy, tmp_path / "in.csv", tmp_path / "out")
    assert not (tmp_path / "out" / "_SUCCESS").exists()
    summary = ew.batch(policy, tmp_path / "in.csv", tmp_path / "skipped", on_error="skip")
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
        ew.batch(ew.Policy("hide"), tmp_path / "in.parquet", tmp_path / "out")
    assert "\n" not in str(error.value)


_SEARCH = """
import sys, time, elsewhere as ew
if __name__ == "__main__":
    ew.batch(ew.Policy("resemble", target="tourist", max_quality_loss=0.1), sys.argv[1], sys.argv[2], threads=2,
             progress=lambda _: (print("begun", flush=True), time.sleep(60)))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_workers_end_with_a_batch_that_is_killed(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(50))
    (tmp_path / "search.py").write_text(_SEARCH, encoding="utf-8")
    given = [str(tmp_path / name) for name in ("search.py", "in.parquet", "out")]
    process = subprocess.Popen([sys.executable, *given], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    assert len(of_session(process.pid)) > 2
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 20
    while of_session(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert of_session(process.pid) == []


def of_session(number: int) -> list[str]:
    """The processes of a session that are at work."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
            if int(session) == number and state != "Z":
                found.append(path.parent.name)
    return found


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
    monkeypatch.setattr(local, "_PART_ROWS", 200)
    monkeypatch.setattr(local, "_PLAIN_ROWS", 100)
    lines = [f"{user},{place},{count}" for user, counts in people(300).items() for place, count in counts.items()]
    bad = [f"user{at},gym,-1" for at in range(100)]
    (tmp_path / "in.csv").write_text("\n".join(["user,location,count", *lines, *bad]), encoding="utf-8")
    policy = ew.Policy("hide", sensitive=("clinic",))
    whole = ew.batch(policy, tmp_path / "in.csv", tmp_path / "whole", on_error="skip")
    parts = 0

    def end(_: object) -> None:
        nonlocal parts
        parts += 1
        if parts == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.batch(policy, tmp_path / "in.csv", tmp_path / "ended", on_error="skip", progress=end)
    assert ew.batch(policy, tmp_path / "in.csv", tmp_path / "ended", on_error="skip") == whole
    assert whole["skipped_rows"] == 100
    (tmp_path / "in.csv").write_text("\n".join(["user,location,count", *bad]), encoding="utf-8")
    nothing = ew.batch(policy, tmp_path / "in.csv", tmp_path / "nothing", on_error="skip")
    assert (nothing["users"], nothing["skipped_rows"]) == (0, 100)


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
    with pytest.raises(ew.InputError, match="fit neither into the memory"):
        ew.batch(ew.Policy("hide"), tmp_path / "in.parquet", tmp_path / "out", memory=10_000)


def test_another_question_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(20))
    ew.batch(ew.Policy("hide", sensitive=("gym",)), tmp_path / "in.parquet", tmp_path / "out")
    before = (tmp_path / "out" / "part-00000.parquet").read_bytes()
    with pytest.raises(ew.InputError, match="another input, policy or version"):
        ew.batch(ew.Policy("hide", sensitive=("bar",)), tmp_path / "in.parquet", tmp_path / "out")
    write(tmp_path / "in.parquet", people(21))
    with pytest.raises(ew.InputError, match="another input, policy or version"):
        ew.batch(ew.Policy("hide", sensitive=("gym",)), tmp_path / "in.parquet", tmp_path / "out")
    assert (tmp_path / "out" / "part-00000.parquet").read_bytes() == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ew.InputError, match="not empty"):
        ew.batch(ew.Policy("hide"), tmp_path / "in.parquet", tmp_path / "full")
    with pytest.raises(ew.InputError, match="may not be in the folder"):
        ew.batch(ew.Policy("hide"), tmp_path / "in.parquet", tmp_path / "new", report=tmp_path / "new" / "report")


_SMALL_PARTS = """
import sys, time, elsewhere as ew
from elsewhere.engines import local
local._PART_ROWS, local._PLAIN_ROWS = 400, 200
ew.batch(ew.Policy("hide", sensitive=("clinic", "casino")), sys.argv[1], sys.argv[2], threads=2,
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
        time.sleep(0.3)
        assert not list((tmp_path / "killed.private").glob("spill-*"))
        if "_SUCCESS" in parts:
            break
    assert seen == sorted(seen)
    assert start("killed").wait() == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "killed").iterdir()} == whole
    for content in whole.values():
        assert b"clinic" not in content
        assert b"casino" not in content
    assert (tmp_path / "killed.private").stat().st_mode & 0o077 == 0
