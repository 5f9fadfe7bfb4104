"""Drawn releases of many users: a user's depends on the key, the user and the policy, and on nothing else."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import pytest

import elsewhere as ew
from elsewhere.engines import kernel
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.outcome import releases
from elsewhere.model.keys import Key
from elsewhere.plan import Plan
from elsewhere.solve import solve
from tests.support.batches import People, batches, people, released, write

pa: Any = import_module("pyarrow")
POLICY = ew.Policy("hide", sensitive=("clinic",), method="drawn")
SECRET = bytes(range(100, 132))
GOALS: tuple[Literal["resemble", "avoid"], ...] = ("resemble", "avoid")


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("ELSEWHERE_KEY", SECRET.hex())
    return POLICY.plan().with_key()


def drawn(plan: Plan, histograms: People, size: int = 1000) -> People:
    found: People = {}
    for batch in sanitize_batches(plan, batches(histograms, size)):
        for row in releases(batch).to_pylist():
            found.setdefault(row["user"], {})[row["location"]] = row["count"]
    return found


def test_a_users_draw_does_not_depend_on_the_others(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    users = people(60)
    everybody = drawn(plan, users)
    assert 40 < len(everybody) < 60  # some have nothing but the clinic
    assert drawn(plan, dict(reversed(users.items()))) == everybody
    some = dict(list(users.items())[10:20])
    assert drawn(plan, some) == {user: everybody[user] for user in some if user in everybody}
    monkeypatch.setattr(kernel, "_CHUNK_ROWS", 7)
    assert drawn(plan, users, 3) == everybody
    monkeypatch.setenv("ELSEWHERE_KEY", bytes(32).hex())
    assert drawn(POLICY.plan(), users) != everybody


def test_a_user_can_be_drawn_alone_with_a_key_that_follows_from_the_batchs(plan: Plan) -> None:
    users = people(20)
    for user, release in drawn(plan, users).items():
        names = {"clinic"} & set(users[user])
        alone = ew.hide(users[user], names, method="drawn", key=Key(SECRET).derived("user", user))
        assert dict(alone.histogram) == release


def test_users_with_one_history_have_draws_of_their_own(plan: Plan) -> None:
    history = {"bar": 4, "café": 4, "clinic": 9, "gym": 4, "park": 4}
    found = drawn(plan, {f"user {at}": history for at in range(20)})
    assert len({tuple(release.items()) for release in found.values()}) > 15


def test_the_local_engine_draws_the_same_and_writes_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = people(60)
    monkeypatch.setenv("ELSEWHERE_KEY", SECRET.hex())
    wanted = drawn(POLICY.plan(), users)
    write(tmp_path / "users.parquet", users)
    ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "one", threads=1)
    monkeypatch.delenv("ELSEWHERE_KEY")
    (tmp_path / "key").write_text(base64.b64encode(SECRET).decode())
    summary = ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "two", threads=2, key_file=tmp_path / "key")
    assert released(tmp_path / "one") == released(tmp_path / "two") == wanted
    assert summary["released"] == len(wanted)
    assert (summary["notes"], summary["guesses"]) == ([], [guess.as_dict() for guess in POLICY.guesses()])
    assert json.loads((tmp_path / "two.private" / "summary.json").read_text())["guesses"] == summary["guesses"]
    forms = (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET))
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file.name != "key"]
    assert not any(form in content for content in written for form in forms)
    with pytest.raises(ew.InputError, match=r"the key file .* does not exist; make one with: elsewhere key"):
        ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "two", key_file=tmp_path / "other")
    monkeypatch.setenv("ELSEWHERE_KEY_FILE", str(tmp_path / "own"))
    made = ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "four")
    assert [note.partition(";")[0] for note in made["notes"]] == [f"Made your secret key in {tmp_path / 'own'}"]
    with pytest.raises(ew.InputError, match="two"):  # another key is another question, which another folder is for
        ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "two")
    with pytest.raises(ew.InputError, match="key_file is for a policy with method = 'drawn' only"):
        ew.batch(ew.Policy("hide", ("clinic",)), tmp_path / "users.parquet", tmp_path / "three", key_file="key")


def test_batches_draw_what_a_release_has_to_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = people(120)
    members = {user: counts for user, counts in users.items() if "bar" in counts}
    others = {user: counts for user, counts in users.items() if "bar" not in counts}
    learned = ew.profiles.learn(members)
    profile = ew.profiles.spread_of(learned, members, others=others)
    ew.profiles.save(tmp_path / "bars.toml", replace(learned, profile=profile))
    write(tmp_path / "users.parquet", others)
    monkeypatch.setenv("ELSEWHERE_KEY", SECRET.hex())
    for goal in GOALS:
        policy = ew.Policy(goal, target=str(tmp_path / "bars.toml"), max_quality_loss=0.15, method="drawn")
        found = drawn(policy.plan(), others)
        assert len(others) / 2 < len(found)
        for user, release in found.items():
            question = policy.plan().question_about(ew.Histogram(others[user]), ())
            assert dict(solve(replace(question, key=Key(SECRET).derived("user", user))).histogram) == release
        summary = ew.batch(policy, tmp_path / "users.parquet", tmp_path / goal, threads=2)
        assert released(tmp_path / goal) == found
        assert summary["released"] == len(found)
