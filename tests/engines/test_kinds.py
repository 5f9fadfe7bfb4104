"""Batches whose policies are about kinds of place give each user what that user alone would get."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import elsewhere as ew
from tests.support.batches import People, released, write

PLACES = [
    "Hotel Adlon", "Hotel Hilde", "Museum of Glass", "Trattoria Roma", "Café Mitte", "Bar Lu", "Grand Station",
    "City Park", "Klinikum Nord", "St. Mary Church", "Xyzzy", "Plugh",
]  # fmt: skip
KINDS = {"Hotel": 4.0, "Museum": 2.0, "Café": 2.0, "Train station": 1.0, "Park": 1.0}


def people(number: int) -> People:
    dice = random.Random(7)
    return {
        f"user {at}": {name: dice.randint(1, 9) for name in dice.sample(PLACES, dice.randint(3, len(PLACES)))}
        for at in range(number)
    }


def alone(policy: ew.Policy, users: People) -> People:
    plan, found = policy.plan(), {}
    for user, counts in users.items():
        try:
            found[user] = dict(plan.sanitize(counts).histogram)
        except ew.ElsewhereError:
            continue
    return found


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "target.csv"
    path.write_text("location,weight\n" + "".join(f"{kind},{weight}\n" for kind, weight in KINDS.items()), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    "choices",
    [
        {"goal": "hide", "sensitive": ["preset:health"], "by": "kind", "depth": 1},
        {"goal": "hide", "sensitive": ["preset:religion"], "levels": "equal"},
        {"goal": "hide", "sensitive": ["preset:health"], "kinds": {"*yzz*": "hospital", "Klinikum Nord": "none"}},
        {"goal": "resemble", "max_quality_loss": 0.05},  # totals of kinds
        {"goal": "avoid", "max_quality_loss": 0.05, "min_distance": 0.2},
        {"goal": "resemble", "max_quality_loss": 0.05, "by": "kind"},
        {"goal": "resemble", "max_quality_loss": 0.05, "levels": [0.5, 0.5]},
    ],
    ids=str,
)
def test_each_user_gets_what_that_user_alone_would(tmp_path: Path, target: str, choices: dict[str, object]) -> None:
    users = people(40)
    aimed = {} if choices["goal"] == "hide" else {"target": target}
    policy = ew.Policy.of({**choices, **aimed})
    write(tmp_path / "in.parquet", users)
    summary = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out", threads=1)
    found = released(tmp_path / "out")
    assert found == alone(policy, users)
    assert 5 < len(found) <= summary["users"] == 40
    assert summary["failed_checks"] == 0


def test_users_whose_places_match_little_have_no_release(tmp_path: Path, target: str) -> None:
    write(tmp_path / "in.parquet", {"ann": {"Xyzzy": 3, "Plugh": 1}, "bob": dict.fromkeys(PLACES, 2)})
    policy = ew.Policy("resemble", target=target, max_quality_loss=0.05)
    summary = ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out")
    assert list(released(tmp_path / "out")) == ["bob"]
    (reason,) = summary["reasons"]
    assert reason.startswith("only #% of the target's weight is at kinds of place")


def test_a_target_that_no_user_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(5))
    (tmp_path / "names.csv").write_text("location,weight\nXyzzy,1\nNowhere,3\n")
    policy = ew.Policy("resemble", target=str(tmp_path / "names.csv"), max_quality_loss=0.05)
    with pytest.raises(ew.TargetMismatch, match="only 25% of the target's weight is at places that the history has"):
        ew.batch(policy, tmp_path / "in.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    allowed = ew.Policy("resemble", target=policy.target, max_quality_loss=0.05, allow_mismatch=True)
    assert ew.batch(allowed, tmp_path / "in.parquet", tmp_path / "out")["released"] == 5
