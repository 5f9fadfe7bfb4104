"""Attacks: what is planted is found, what is not there is not, and the figures are those of literal loops."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import elsewhere as ew
from elsewhere.attacks.baselines import deleted, rounded, sanitized
from elsewhere.attacks.detection import detect
from elsewhere.attacks.features import Features
from elsewhere.attacks.inference import infer
from elsewhere.attacks.knowledge import by_members
from elsewhere.attacks.learning import Judged, View, _attackers, auc, guess, over_splits, share
from elsewhere.attacks.repetition import repeat
from elsewhere.attacks.result import Attack, Rate
from elsewhere.attacks.setting import Setting
from elsewhere.attacks.table import Table, as_histogram
from elsewhere.model.arrays import Flags
from elsewhere.policy import Policy
from tests.support.command import Run, run

__all__ = ["run"]

PLACES = [f"place {at:02d}" for at in range(12)]
NONE = np.zeros(3, np.bool_)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer parts to split users into, and fewer trees; nothing else depends on them. Noise that takes a seed."""
    monkeypatch.setattr("elsewhere.attacks.learning._TREES", 15)
    monkeypatch.setattr("elsewhere.attacks.learning._ROUNDS", 15)
    monkeypatch.setattr("elsewhere.attacks.noise.from_opendp", lambda: False)
    monkeypatch.setattr("elsewhere.attacks.learning._FOLDS", 3)
    monkeypatch.setattr("elsewhere.attacks.learning._INNER", 2)


def made_up(number: int, *, telling: bool, hidden: int = 4, seed: int = 3) -> dict[str, dict[str, int]]:
    """Users of whom every other one is at the clinic; if it is telling, those are at the pharmacy as well."""
    random = np.random.default_rng(seed)
    users = {}
    for at in range(number):
        counts = {name: int(random.geometric(0.2)) for name in PLACES if random.random() < 0.7} | {"home": 9}
        if at % 2:
            counts["clinic"] = 1 + int(random.integers(hidden))
        if telling and at % 2:
            counts["pharmacy"] = 2
        users[f"user {at:04d}"] = counts
    return users


def guessed(counts: Any, labels: Flags, seed: int) -> Judged:
    return guess([View.of(Features.of(csr_array(counts), NONE), labels)], [seed])


def right(attacks: Iterable[Attack], protection: str) -> Rate:
    return next(attack.right for attack in attacks if attack.protection == protection)


# The figures


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=20))
def test_auc_is_a_count_of_pairs(users: list[tuple[int, bool]]) -> None:
    scores, labels = np.array([s for s, _ in users], float), np.array([label for _, label in users])
    if min(labels.sum(), (~labels).sum()) < 2:
        return
    yes, no = scores[labels], scores[~labels]
    wins = [[(a > b) + (a == b) / 2 for b in no] for a in yes]
    area = np.mean(wins)
    by_yes, by_no = np.mean(wins, axis=1), np.mean(wins, axis=0)
    variance = sum((by_yes - area) ** 2) / (len(yes) - 1) / len(yes) + sum((by_no - area) ** 2) / (len(no) - 1) / len(
        no
    )
    assert auc(scores, labels) == pytest.approx((area, variance))


def test_intervals_cover_the_truth() -> None:
    """Scores that mean nothing: the interval of a share has a half in it in about 95 of 100 cases."""
    random = np.random.default_rng(2)
    covered = []
    for _ in range(400):
        area, variance = auc(random.random(80), np.arange(80) < 30)
        rate = share(random.random(50) < 0.3)
        covered.append((abs(area - 0.5) < 1.96 * variance**0.5, rate.low <= 0.3 <= rate.high))
    assert np.mean(covered, axis=0) == pytest.approx([0.95, 0.95], abs=0.03)
    assert share(np.zeros(50, np.bool_)).high == pytest.approx(0.0713, abs=1e-4)  # Wilson's, by hand: z² / (n + z²)


def test_attackers_learn_what_is_there_and_nothing_else() -> None:
    random = np.random.default_rng(5)
    labels = np.arange(200) < 100
    counts = random.integers(1, 9, (200, 3))
    nothing = guessed(counts, labels, 1)
    assert nothing.right.low < 0.5 < nothing.right.high
    assert max(rate.low for rate in nothing.by.values()) < 0.5
    parity = np.where(labels, 2 * counts[:, 1], 2 * counts[:, 1] + 1)  # no line can be drawn between the two
    planted = guessed(np.column_stack([counts[:, 0] * 2, parity, counts[:, 2] * 2]), labels, 1)
    assert planted.right.value > 0.95
    assert planted.by["boosting"].value > planted.by["places"].value > planted.by["size"].high
    assert guessed(counts, labels, 1 + 2**32) == nothing != guessed(counts, labels, 2)


def test_nobody_is_judged_by_who_saw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner that knows by heart whom it saw gets nowhere, neither in the choice nor in the test."""
    seen: list[set[int]] = []

    def by_heart(view: View) -> Any:
        def attack(train: Any, test: Any) -> Any:
            seen.append(set(train.tolist()) & set(test.tolist()))
            known = dict(zip(train.tolist(), view.labels[train].tolist(), strict=True))
            return np.array([float(known.get(at, 0.5)) for at in test.tolist()])

        return attack

    monkeypatch.setattr(
        "elsewhere.attacks.learning._attackers", lambda view, seed: {"one": by_heart(view), "two": by_heart(view)}
    )
    assert guessed(np.ones((60, 3), np.int64), np.arange(60) < 30, 1).right.value == 0.5
    assert len(seen) == 2 * 3 * (1 + 1)
    assert not set().union(*seen)


def test_learners_look_at_those_whom_they_learn_from_alone() -> None:
    """What others are like changes nothing about a user's score, nor do further draws of theirs."""
    random = np.random.default_rng(4)
    counts = random.integers(0, 5, (120, 150)) * random.integers(0, 2, (120, 150))
    other = counts.copy()
    other[41:60] = other[101:] = 1000 * (np.arange(150) > 75)
    members = np.arange(120) % 2 == 1
    labels, train, test, draws = ~members[:60], np.arange(40), np.array([40]), np.arange(60)
    found = []
    for rows in (counts, other):
        matrix = csr_array(rows)
        informed = by_members(matrix, rows[:, 0] / 7.0, np.arange(150) < 5, members)
        features = Features.of(matrix, np.zeros(150, np.bool_), informed)
        with import_module("threadpoolctl").threadpool_limits(1):
            attackers = _attackers(View.of(features, labels, more=(draws, draws + 60)), 1)
            found.append({name: float(attack(train, test)[0]) for name, attack in attackers.items()})
    assert len(found[0]) == 10
    assert found[0] == found[1]


def test_further_draws_are_learned_from() -> None:
    """What a user's own row does not show, further draws do; nobody is judged by them."""
    random = np.random.default_rng(6)
    labels = np.arange(80) < 40
    own, more = random.integers(1, 9, (80, 3)), random.integers(1, 9, (80, 3))
    more[:, 2] = np.where(labels, 1, 40)
    judged = own.copy()
    judged[:, 2] = more[:, 2]
    features = Features.of(csr_array(np.vstack([own, judged, more])), NONE)
    users = np.arange(80)
    view = View.of(features, labels, users, users + 80, more=(users, users + 160))
    by = guess([view], [1]).by
    assert by["boosting, several draws"].value > 0.95 > by["boosting"].value


def test_figures_over_splits() -> None:
    same = over_splits([Rate(0.7, 0.6, 0.8)] * 3)
    assert (same.value, same.low, same.high) == pytest.approx((0.7, 0.6, 0.8))
    apart = over_splits([Rate(0.6, 0.5, 0.7), Rate(0.8, 0.7, 0.9)])  # by hand: within 0.1², between 1.96² * 0.02
    assert (apart.value, apart.high - apart.value) == pytest.approx((0.7, (0.01 + 1.95996**2 * 0.02) ** 0.5), abs=1e-5)


# The rivals

histograms = st.lists(st.integers(0, 9), min_size=4, max_size=4)


@given(st.lists(histograms.filter(lambda row: sum(row[1:]) > 0), min_size=1, max_size=4))
def test_rivals_are_literal(rows: list[list[int]]) -> None:
    counts, sensitive = csr_array(np.array(rows)), np.array([True, False, False, False])
    assert deleted(counts, sensitive).toarray().tolist() == [[0, *row[1:]] for row in rows]
    for row, found in zip(rows, rounded(counts, sensitive).toarray().tolist(), strict=True):
        size, left = sum(row), sum(row[1:])
        expected = [0, *(count * size // left for count in row[1:])]
        by_remainder = sorted(range(1, 4), key=lambda at: (-(row[at] * size % left), at))
        for at in by_remainder[: size - sum(expected)]:
            expected[at] += 1
        assert found == expected


def test_releases_are_those_of_hide() -> None:
    users = made_up(30, telling=True)
    table = Table.of(users)
    found = sanitized(Policy("hide", ("clinic",)).plan(), table.locations, table.counts)
    for at, user in enumerate(sorted(users)):
        release = ew.hide(users[user], {"clinic"} & users[user].keys()).histogram
        assert as_histogram(table.locations, found, at) == release


# The attacks


def hiding(users: Mapping[str, Mapping[str, int]], *sensitive: str) -> Setting:
    return Setting.of(Table.of(users), Policy("hide", sensitive).plan(), (1,))


def inferred(users: Mapping[str, Mapping[str, int]], *sensitive: str) -> list[Attack]:
    setting = hiding(users, *sensitive)
    return infer(setting, "clinic", setting.classes["clinic"])


def test_what_goes_together_gives_away() -> None:
    """Hiding the clinic does not hide the pharmacy; with both hidden there is little left to go by."""
    users = made_up(80, telling=True)
    found = inferred(users, "clinic")
    assert right(found, "hide").value > 0.95
    assert right(found, "no protection").value == 1.0
    assert right(inferred(users, "clinic", "pharmacy"), "deletion").value < 0.75
    assert [attack.protection for attack in found if attack.quality_loss is None] == ["size alone", "no protection"]
    losses = {attack.protection: attack.quality_loss or 0.0 for attack in found}
    assert 0 < losses["hide"] < losses["hide, drawn"] < losses["noise, 1 per visit"]


def test_traces_of_hiding() -> None:
    """Deletion is no other than genuine; much that is hidden leaves a trace, and two releases prove it."""
    setting = hiding(made_up(160, telling=False, hidden=120), "clinic")
    once, twice = detect(setting), repeat(setting)
    assert right(once, "noise, 1 per visit").value > 0.95
    by = next(attack.by for attack in once if attack.protection == "hide")
    assert by["inverting"].value > by["size"].value > 0.8
    control = right(once, "deletion")
    assert control.low < 0.5 < control.high
    assert right(once, "hide").low > 0.7
    assert right(twice.attacks, "hide, the second alone").low > 0.7
    assert twice.proven["deletion"].value == twice.proven["hide, continued"].value == 0.0
    assert twice.proven["hide"].value > 0.1
    assert twice.proven["hide, drawn"].value > twice.proven["hide, drawn, continued"].value == 0.0


def test_partners_are_a_coin() -> None:
    """The pharmacy tells who was at the clinic, but not who of two that have the same release."""
    found = ew.audit(made_up(120, telling=True), ["clinic"], max_quality_loss=0.5)
    (coin,) = found.sharing
    assert (coin.yes, coin.no) == (60, 60)
    assert coin.right.low < 0.5 < coin.right.high
    assert all(rate.low < 0.6 for rate in coin.by.values())
    assert right(found.inference, "hide").low > 0.9
    assert "60 pairs" in str(found)


def test_profiling(tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text("location,weight\nplace 00,3\nplace 01,1\nzoo,2\n")
    users = made_up(100, telling=False)
    asked: dict[str, Any] = {"target": str(tmp_path / "target.csv"), "max_quality_loss": 0.05}
    resemble, avoid = ew.audit(users, **asked, splits=1).profiling
    assert (resemble.users, avoid.users) == (75, 25)
    target = {"place 00": 3, "place 01": 1, "zoo": 2}
    distances = [ew.distance("js", target, history) for history in users.values()]
    assert resemble.threshold == sorted(distances)[24]
    far = [history for history, d in zip(users.values(), distances, strict=True) if d > resemble.threshold]
    reached = [ew.resemble(history, target, 0.05).privacy_distance or 0.0 for history in far]
    assert resemble.wrong.value == pytest.approx(np.mean(np.array(reached) <= resemble.threshold))
    near = [d for d in distances if d <= resemble.threshold]
    nearer = np.mean([[a < b for b in near] for a in reached if a <= resemble.threshold])
    assert right(resemble.attacks, "resemble, distance alone").value == pytest.approx(nearer, abs=0.1)
    # Nobody was at the zoo, where every release goes.
    assert right(resemble.attacks, "no protection").value < right(resemble.attacks, "resemble").value == 1.0
    # Who never saw a release looks for what resembling has changed.
    naive = right(resemble.attacks, "resemble, learned from originals")
    assert naive.value < right(resemble.attacks, "no protection").value - 0.1
    nobody = ew.audit(users, **asked | {"max_quality_loss": 0.0}, threshold=resemble.threshold, splits=1).profiling
    assert (nobody[0].wrong.value, nobody[0].attacks) == (0.0, ())
    for goal in (resemble, avoid):  # the same users are served, for less
        assert goal.released[goal.goal] == goal.released[f"{goal.goal}, just enough"]
        assert goal.released[f"{goal.goal}, drawn"].value <= goal.released[goal.goal].value
        losses = {attack.protection: attack.quality_loss or 0.0 for attack in goal.attacks}
        assert losses[f"{goal.goal}, just enough"] < losses[f"{goal.goal}, drawn"] <= losses[goal.goal] <= 0.05


# The command, and what is wrong


def write(path: str, users: Mapping[str, Mapping[str, int]]) -> None:
    lines = [f"{user},{name},{count}\n" for user, h in users.items() for name, count in h.items()]
    Path(path).write_text("user,location,count\n" + "".join(lines), encoding="utf-8")


def test_command(run: Run) -> None:
    users = made_up(44, telling=True)
    users |= {"empty": {"home": 0}, "exposed": {"clinic": 3}}
    write("users.csv", users)
    status, out, err = run("audit", "users.csv", "--sensitive", "clinic", "-o", "report.json", "--splits", "2")
    expected = ew.audit(dict(reversed(users.items())), ["clinic"], splits=2)
    assert (status, out) == (0, f"{expected}\n")
    assert "Left out 1 user without any visit." in err
    assert "Left out 1 user with sensitive visits only" in err
    assert "Skipped the detection of releases: it needs at least 20 users in each group; found 11 with a release" in err
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["inference"][0]["right"]["value"] == expected.inference[0].right.value
    assert "rivate" in report["private"]
    assert Path("report.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "there is nothing to attack"),
        (("--sensitive", "clinik"), "the sensitive location 'clinik' is not in the history; did you mean 'clinic'?"),
        (("--sensitive", "preset:helth"), "the taxonomy has no preset 'helth'"),
        (("--sensitive", "preset:politics"), "20 users in each group"),
        (("--sensitive", "home"), "20 users in each group; found 6 with such a visit and 0 without one"),
        (("--sensitive", "clinic", "--spare", "gym"), "the spared location 'gym' is not in the history"),
        (("--sensitive", "clinic", "--seed", "-1"), "seed is -1"),
        (("--sensitive", "clinic", "--splits", "0"), "splits is 0"),
        (("--sensitive", "clinic", "--threshold", "0.3"), "threshold is 0.3, but it has no effect without --target"),
        (("--sensitive", "clinic", "--max-quality-loss", "-7"), "--max-quality-loss is -7.0; it must be a number"),
        (("--sensitive", "clinic", "--privacy", "nonsense"), "privacy is 'nonsense', but it has no effect without"),
        (("--target", "target.csv", "--spare", "gym"), "--spare is ('gym',), but it has no effect without --sensitive"),
        (("--target", "target.csv", "--taxonomy", "shipped"), "taxonomy is 'shipped', but it has no effect without"),
        (("--target", "nobody", "--max-quality-loss", "0.1"), "the target 'nobody' is neither a file nor a profile"),
        (("--target", "target.csv"), "resemble needs --max-quality-loss"),
        (("--target", "target.csv", "--max-quality-loss", "0.1", "--threshold", "-1"), "threshold is -1"),
        (("--target", "target.csv", "--max-quality-loss", "0.1", "--threshold", "inf"), "threshold is inf"),
        (("--target", "target.csv", "--max-quality-loss", "0.1", "--privacy", "jeffreys"), "infinitely far"),
        (("--target", "target.csv", "--max-quality-loss", "0.1"), "20 users in each group"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    write("users.csv", made_up(6, telling=False))
    status, out, err = run("audit", "users.csv", *arguments)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        ({"ann": {"home": 0}}, "none of the 1 users has a visit"),
        ("users.csv", "users is 'users.csv'; give a mapping"),
        (None, "users is None; give a mapping"),
        ({1: {"home": 1}, "ann": {"home": 1}}, "users has the name 1, which is not a string"),
    ],
)
def test_bad_users(users: Any, sentence: str) -> None:
    with pytest.raises(ew.InputError, match=sentence):
        ew.audit(users, ["home"])


def test_import_is_light() -> None:
    code = "import sys, elsewhere.attacks; print({'sklearn', 'scipy', 'numba', 'pyarrow', 'click'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"set()\n"
