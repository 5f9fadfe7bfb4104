"""Shared releases of many users: who is served, and what nobody can tell from the output."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.engines import shared
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.local import pipeline
from elsewhere.engines.outcome import releases
from tests.support.batches import People, batches, people, released, write

pa: Any = import_module("pyarrow")
POLICY = ew.Policy("hide", sensitive=("clinic",), max_quality_loss=0.25, mechanism="shared")
TARGET = {"bar": 5, "casino": 3, "café": 1}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE_KEY", bytes(range(32)).hex())


def distinct(number: int, seed: int = 1) -> People:
    """Users of whom no two have the same history: between those the key decides, not the name."""
    found = {tuple(sorted(history.items())): user for user, history in people(number, seed).items()}
    return {user: dict(history) for history, user in sorted(found.items(), key=lambda item: item[1])}


def shared_by(policy: ew.Policy, users: People, size: int = 1000) -> tuple[People, dict[str, Any]]:
    """The releases by user, and the private outcomes."""
    found: People = {}
    outcomes: dict[str, Any] = {}
    for batch in sanitize_batches(policy, batches(users, size)):
        outcomes |= {row["user"]: row for row in batch.to_pylist()}
        for row in releases(batch).to_pylist():
            found.setdefault(row["user"], {})[row["location"]] = row["count"]
    return found, outcomes


def pairs(found: People) -> list[tuple[str, str]]:
    """The users with one release; of some releases there may be more than two."""
    by_release: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for user, release in found.items():
        by_release.setdefault(tuple(release.items()), []).append(user)
    return [(users[0], users[1]) for users in by_release.values() if len(users) == 2]


def test_two_users_of_opposite_kinds_have_the_same_release() -> None:
    users = people(80)
    found, outcomes = shared_by(POLICY, users)
    assert 30 < len(found) < 80
    assert not any("clinic" in release for release in found.values())
    for user, release in found.items():
        row = outcomes[user]
        assert row["has_secret"] == ("clinic" in users[user])
        assert row["quality_loss"] == pytest.approx(ew.distance("js", users[user], release))
        assert row["quality_loss"] <= 0.25
        assert row["is_shared"]
    kinds = {kind: sorted(tuple(found[user].items()) for user in found if outcomes[user]["has_secret"] == kind)
             for kind in (True, False)}  # fmt: skip
    assert kinds[True] == kinds[False]
    alone = [row for user, row in outcomes.items() if user not in found]
    assert {row["reason"] for row in alone} == {
        "no other user of the opposite kind can share a release within max_quality_loss"
    }


def test_nothing_that_is_released_tells_which_of_two_users_has_the_secret(tmp_path: Path) -> None:
    """If the two had each other's histories, every byte of the output would be the same."""
    users = distinct(60)
    write(tmp_path / "users.parquet", users)
    ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "out")
    written = _files(tmp_path / "out")
    some = pairs(released(tmp_path / "out"))
    assert len(some) > 10
    for at, (one, other) in enumerate(some[:4]):
        swapped = {**users, one: users[other], other: users[one]}
        write(tmp_path / f"{at}.parquet", swapped)
        ew.batch(POLICY, tmp_path / f"{at}.parquet", tmp_path / f"out-{at}")
        assert _files(tmp_path / f"out-{at}") == written


def test_of_equal_histories_the_key_decides_which_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    users = {f"twin {at}": {"bar": 4, "park": 4} for at in range(6)} | {"ann": {"bar": 4, "clinic": 1, "park": 4}}
    chosen = set()
    for secret in range(40):
        monkeypatch.setenv("ELSEWHERE_KEY", secret.to_bytes(32, "big").hex())
        found, _ = shared_by(POLICY, users)
        chosen |= {*found} - {"ann"}
        assert len(found) == 2
    assert len(chosen) == 6


def test_the_order_of_rows_and_batches_does_not_matter() -> None:
    users = people(60)
    found, _ = shared_by(POLICY, users)
    assert shared_by(POLICY, dict(reversed(users.items())), 7)[0] == found


def test_users_of_blocks_share_among_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shared, pipeline):
        monkeypatch.setattr(module, "BLOCK_USERS", 16)
    users = distinct(100)
    write(tmp_path / "users.parquet", users)
    one = ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "one", threads=1)
    ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "parts", threads=1, part_rows=20)
    found = released(tmp_path / "one")
    assert released(tmp_path / "parts") == found
    assert len([*(tmp_path / "parts").glob("part-*")]) > 2
    assert one["released"] == len(found) > 40

    def interrupt(progress: pipeline.Progress) -> None:
        if progress.users > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "again", threads=1, part_rows=20, progress=interrupt)
    assert not (tmp_path / "again" / "_SUCCESS").exists()
    ew.batch(POLICY, tmp_path / "users.parquet", tmp_path / "again", threads=1, part_rows=20)
    assert _files(tmp_path / "again") == _files(tmp_path / "parts")
    pair = pairs(found)[0]
    swapped = {**users, pair[0]: users[pair[1]], pair[1]: users[pair[0]]}
    write(tmp_path / "swapped.parquet", swapped)
    ew.batch(POLICY, tmp_path / "swapped.parquet", tmp_path / "swapped", threads=1)
    assert _files(tmp_path / "swapped") == _files(tmp_path / "one")


def test_the_summary_has_both_kinds_and_what_is_proven(tmp_path: Path) -> None:
    users = people(60)
    write(tmp_path / "users.parquet", users)
    result = ew.batch(POLICY, tmp_path / "users.parquet", threads=1)
    figures, outcomes = result["shared"], result.outcomes.to_pylist()
    for kind, name in ((True, "with_secret"), (False, "without_secret")):
        of_kind = [row for row in outcomes if row["has_secret"] == kind]
        served = sum(row["is_shared"] for row in of_kind)
        assert figures[name] == {"users": len(of_kind), "served": served}
    served = result["released"]
    assert figures["with_secret"]["served"] == figures["without_secret"]["served"] == served // 2
    assert figures["most_served"] == served  # all pairs of one block are looked at
    assert figures["total_quality_loss"] == pytest.approx(sum(row["quality_loss"] or 0.0 for row in outcomes))
    assert figures["least_total_quality_loss"] == pytest.approx(figures["total_quality_loss"], abs=1e-3)


def test_those_without_a_partner_may_all_have_a_drawn_release() -> None:
    users = {user: counts for user, counts in people(80).items() if {*counts} != {"clinic"}}
    policy = replace(POLICY, max_quality_loss=0.05)
    found, _ = shared_by(policy, users)
    all_found, all_outcomes = shared_by(replace(policy, method="drawn"), users)
    assert {user: all_found[user] for user in found} == found != {}
    more = {*all_found} - {*found}
    assert {all_outcomes[user]["has_secret"] for user in more} == {True, False}
    assert not any(all_outcomes[user]["is_shared"] for user in more)
    assert all((row["status"] == "none") == (row["reason"] is not None) for row in all_outcomes.values())
    assert {*all_found} == {*users}


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_who_is_near_a_target_shares_with_who_is_not(goal: Any, tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text("location,count\n" + "".join(f"{at},{n}\n" for at, n in TARGET.items()))
    limit = {"resemble": "max_distance", "avoid": "min_distance"}[goal]
    choices: dict[str, Any] = {limit: 0.3, "max_quality_loss": 0.2, "allow_sensitive_rise": True}
    policy = ew.Policy(goal, target=str(tmp_path / "target.csv"), mechanism="shared", **choices)
    users = people(80)
    found, outcomes = shared_by(policy, users)
    assert 10 < len(found) < 70
    for user, row in outcomes.items():
        near = ew.distance("js", TARGET, users[user]) <= 0.3
        assert row["has_secret"] == (near if goal == "resemble" else not near)
    kinds = [sorted(tuple(found[user].items()) for user in found if outcomes[user]["has_secret"] == kind)
             for kind in (True, False)]  # fmt: skip
    assert kinds[0] == kinds[1]


def test_no_visits_are_added_to_places_of_often_sensitive_kinds(tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text("location,count\nbar,5\npark,3\n")
    users = people(80)
    found, outcomes = shared_by(
        ew.Policy("resemble", target=str(tmp_path / "target.csv"), max_quality_loss=0.3, max_distance=0.3,
                  mechanism="shared"), users,
    )  # fmt: skip
    assert len(found) > 10
    for user, release in found.items():
        assert release.get("clinic", 0) <= users[user].get("clinic", 0)
    assert any("clinic" in release for release in found.values())
    assert all(row["quality_loss"] is None or row["quality_loss"] <= 0.3 for row in outcomes.values())


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"max_quality_loss": None}, "mechanism = 'shared' needs max_quality_loss"),
        ({"quality": "pearson"}, "quality is 'pearson'; with mechanism = 'shared' it must be 'js' or 'variational'"),
        ({"lower": {"bar": 1}}, "lower cannot be combined with mechanism = 'shared'"),
        ({"by": "kind"}, "by cannot be combined"),
        ({"redistribute": 3}, "redistribute cannot be combined"),
        ({"goal": "resemble", "target": "tourist"}, "needs max_distance, the distance from the target"),
        ({"goal": "avoid", "target": "tourist", "min_distance": 0.5, "method": "heuristic"}, "it must be 'optimal'"),
        ({"mechanism": "both"}, "mechanism is 'both'; it must be one of single, shared"),
    ],
)
def test_what_cannot_be_shared_is_refused(choices: dict[str, Any], said: str) -> None:
    asked: dict[str, Any] = {"goal": "hide", "sensitive": ("clinic",), "max_quality_loss": 0.2, "mechanism": "shared"}
    with pytest.raises(ew.InputError, match=said):
        ew.Policy(**(asked | choices))


def test_one_person_cannot_share_and_a_batch_has_one_release_a_user() -> None:
    plan = POLICY.plan()
    for ask in (plan.sanitize, plan.question):
        with pytest.raises(ew.InputError, match="takes many users; use it for a batch"):
            ask({"bar": 3, "clinic": 1})
    table = pa.table({"user": ["a"], "location": ["bar"], "count": [1], "month": ["may"]})
    with pytest.raises(ew.InputError, match="keys has 'month'"):
        ew.batch(POLICY, table, keys=["month"])
    with pytest.raises(ew.InputError, match="does not support users' own choices"):
        ew.batch(POLICY, table, personal=pa.table({"user": ["a"], "sensitive": ["bar"]}))
    with pytest.raises(ew.InputError, match="does not support users' own choices"):
        list(sanitize_batches(POLICY, table.drop_columns(["month"]).append_column("spared", [["bar"]]).to_batches()))


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_who_has_only_sensitive_visits_is_not_the_only_one_without_a_release() -> None:
    users: People = {"ann": {"cafe": 6, "clinic": 1, "gym": 3}, "bob": {"cafe": 5, "gym": 5}}
    users |= {"eve": {"clinic": 9}, "zed": {"pier": 3}}
    policy = ew.Policy("hide", sensitive=("clinic",), max_quality_loss=0.2, mechanism="shared", method="drawn")
    found, outcomes = shared_by(policy, users)
    assert set(found) == {"ann", "bob"}
    assert outcomes["eve"]["reason"] == outcomes["zed"]["reason"]
