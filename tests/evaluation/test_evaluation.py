"""Evaluation, against the slow and obvious: brute force over cuts, definitions as loops, examples worked by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from itertools import combinations, product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.evaluation import (
    Spread,
    Tables,
    compare_recommendations,
    conditional_entropies,
    evaluate,
    quality_losses,
    recommendation_errors,
)
from elsewhere.evaluation.clusters import cluster_all
from elsewhere.evaluation.recommendation import MeanOver, predict
from elsewhere.model.distances import DISTANCES
from tests.support.command import Run, run

__all__ = ["run"]

Counts = Mapping[str, int]
histograms = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 9), min_size=1).filter(
    lambda counts: sum(counts.values()) > 0
)
tables = st.lists(st.tuples(histograms, histograms), min_size=1, max_size=4)


def numbered(pairs: list[tuple[Counts, Counts]]) -> Tables:
    return Tables.of({str(at): h for at, (h, _) in enumerate(pairs)}, {str(at): x for at, (_, x) in enumerate(pairs)})


# Clusters


def spread(cluster: list[int]) -> Fraction:
    mean = Fraction(sum(cluster), len(cluster))
    return sum(((value - mean) ** 2 for value in cluster), Fraction(0))


def brute_clusters(values: list[int], clusters: int) -> list[int]:
    """Every way to cut the distinct values; of the best, that with the last cuts farthest up."""
    distinct = sorted(set(values))

    def rank(cuts: tuple[int, ...]) -> tuple[Fraction, list[int]]:
        parts = [[v for v in values if sum(v >= distinct[cut] for cut in cuts) == c] for c in range(len(cuts) + 1)]
        return sum(map(spread, parts), Fraction(0)), [-cut for cut in reversed(cuts)]

    cuts = min(combinations(range(1, len(distinct)), min(clusters, len(distinct)) - 1), key=rank)
    return [sum(value >= distinct[cut] for cut in cuts) for value in values]


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=9), min_size=1, max_size=3), st.integers(1, 5))
def test_clusters_are_the_best_of_all(rows: list[list[int]], clusters: int) -> None:
    offset = np.cumsum([0, *map(len, rows)])
    labels = cluster_all(np.concatenate(rows).astype(np.float64), offset, clusters)
    assert labels.tolist() == [label for row in rows for label in brute_clusters(row, clusters)]


def test_clusters_of_huge_counts() -> None:
    """A sum of squares minus a square of sums would see no difference here."""
    counts = np.array([0.0, 1.0, 4.0, 5.0, 9.0]) + 1e12
    assert cluster_all(counts, np.array([0, 5]), 3).tolist() == [0, 0, 1, 1, 2]


# NCE


def literal_nce(h: Counts, x: Counts, clusters: int) -> float:
    bins = sorted(h)
    old = brute_clusters([h[name] for name in bins], clusters)
    new = brute_clusters([x.get(name, 0) for name in bins], clusters)
    conditional = entropy = 0.0
    for after in set(new):
        pr_after = new.count(after) / len(bins)
        entropy -= pr_after * math.log(pr_after)
        for before in set(old):
            together = list(zip(old, new, strict=True)).count((before, after)) / len(bins)
            if together:
                conditional += together * math.log(old.count(before) / len(bins) / together)
    return conditional / entropy if len(set(new)) > 1 else 0.0


@given(tables, st.integers(1, 4))
def test_nce_is_the_definition(pairs: list[tuple[Counts, Counts]], clusters: int) -> None:
    found = conditional_entropies(numbered(pairs), clusters)
    assert found == pytest.approx([literal_nce(h, x, clusters) for h, x in pairs], abs=1e-12)


def test_nce_by_hand() -> None:
    """Two places are rare and two are frequent; then one of the frequent is rare as well."""
    h, x = {"a": 1, "b": 1, "c": 9, "d": 9}, {"a": 2, "b": 2, "c": 2, "d": 14}
    # H(C'|C) = (1/2) ln 2, for half of the bins have an even chance; H(C') = (3/4) ln(4/3) + (1/4) ln 4.
    expected = 0.5 * math.log(2) / (0.75 * math.log(4 / 3) + 0.25 * math.log(4))
    assert conditional_entropies(numbered([(h, x)]), 2) == pytest.approx([expected])
    # One new cluster has no entropy; a place that the original has not is no bin of it.
    assert conditional_entropies(numbered([(h, dict.fromkeys(h, 5)), (h, {**h, "new": 40})]), 2).tolist() == [0, 0]


# Quality loss


@given(tables)
def test_quality_loss_is_the_distance(pairs: list[tuple[Counts, Counts]]) -> None:
    losses = quality_losses(numbered(pairs))
    assert list(losses) == list(DISTANCES)
    for name, found in losses.items():
        assert found == pytest.approx([ew.distance(name, h, x) for h, x in pairs], rel=1e-12, abs=1e-12)


#: Nodes at three levels; two share a name, a location may be at an inner node, at two nodes, or at none.
TREE = ew.Taxonomy.parse("tree.csv", b"""id,name,parent_id
1,food,
11,a,1
12,b,1
121,c,12
122,d,12
123,g,12
13,g,1
14,f,1
2,shop,
21,e,2
22,f,2
""")  # fmt: skip
weights = st.sampled_from([None, [1.0], [0.5, 0.5], [0.0, 0.5, 2.0], [0.7, 0.0, 0.3]])


@given(tables, weights)
def test_loss_over_a_taxonomy_is_the_tree_distance(
    pairs: list[tuple[Counts, Counts]], levels: list[float] | None
) -> None:
    """Level by level here, node by node there."""
    for name, found in quality_losses(numbered(pairs), TREE, levels).items():
        expected = [ew.distance(ew.TreeDistance(name, TREE, levels), h, x) for h, x in pairs]
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_spread_counts_users() -> None:
    assert Spread.of(np.arange(10.0)) == Spread(4.0, 8.0, 4.5, 9.0, zero=0.1, infinite=0.0)
    assert Spread.of(np.array([0.0, math.inf, 2.0, 1.0])) == Spread(1.0, math.inf, math.inf, math.inf, 0.25, 0.25)


# Recommendation


def mean(h: Counts) -> Fraction:
    visited = [count for count in h.values() if count]
    return Fraction(sum(visited), len(visited))


def literal_prediction(
    user: Counts, hidden: str, others: list[Counts], neighbours: int, mean: Callable[[Counts], Fraction] = mean
) -> float:
    """The paper's formulas, with exact fractions up to the root."""
    similar = []
    for at, other in enumerate(others):
        common = [name for name in user if name != hidden and user[name] and other.get(name, 0)]
        pairs = [(user[name] - mean(user), other[name] - mean(other)) for name in common]
        together = sum((a * u for a, u in pairs), Fraction(0))
        squares = sum((a * a for a, _ in pairs), Fraction(0)) * sum((u * u for _, u in pairs), Fraction(0))
        if together > 0:
            similar.append((-together * together / squares, -len(common), at))
    above = below = 0.0
    for square, _, at in sorted(similar)[:neighbours]:
        correlation = math.sqrt(-square)
        above += float(others[at].get(hidden, 0) - mean(others[at])) * correlation
        below += correlation
    return float(mean(user)) + (above / below if below else 0.0)


@given(st.lists(histograms, min_size=2, max_size=9), st.integers(1, 5), st.data())
def test_predictions_are_the_formulas(users: list[Counts], neighbours: int, data: st.DataObject) -> None:
    both = numbered([(h, h) for h in users])
    tested = data.draw(st.integers(1, len(users) - 1))
    hidden = [data.draw(st.sampled_from(sorted(name for name in h if h[name]))) for h in users[:tested]]
    counts, columns = both.matrices()[0], np.array([both.locations.index(name) for name in hidden])
    found = predict(counts[:tested], counts[tested:], columns, neighbours)
    expected = [literal_prediction(h, name, users[tested:], neighbours) for h, name in zip(users, hidden, strict=False)]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(histograms, min_size=2, max_size=9), st.integers(1, 5), st.data())
def test_means_may_be_over_all_bins(users: list[Counts], neighbours: int, data: st.DataObject) -> None:
    """Bins that a release has emptied count, as they do in the paper: hiding preserves the length."""
    both = numbered([(h, h) for h in users])
    hidden = data.draw(st.sampled_from(sorted(name for name in users[0] if users[0][name])))
    counts, lengths = both.matrices()[0], np.array([len(h) for h in users])
    column = np.array([both.locations.index(hidden)])
    found = predict(counts[:1], counts[1:], column, neighbours, (lengths[:1], lengths[1:]))
    expected = literal_prediction(
        users[0], hidden, users[1:], neighbours, lambda h: Fraction(sum(h.values()), max(1, len(h)))
    )
    assert found == pytest.approx([expected], rel=1e-9, abs=1e-9)


def test_prediction_by_hand() -> None:
    """Of ann, whose mean is 3, c is hidden: bob is correlated by 1 and was there 3 above his mean 5, eve by -1."""
    ann, bob, eve = {"a": 1, "b": 5, "c": 3}, {"a": 2, "b": 5, "c": 8}, {"a": 9, "b": 1, "c": 5}
    both = numbered([(h, h) for h in (ann, bob, eve)])
    counts = both.matrices()[0]
    assert predict(counts[:1], counts[1:], np.array([2]), 2).tolist() == [6]


def random_users(number: int) -> dict[str, dict[str, int]]:
    random = np.random.default_rng(7)
    return {
        f"user {at:03d}": {name: int(random.integers(1, 20)) for name in "abcdefghijkl" if random.random() < 0.6}
        | {"clinic": int(random.integers(1, 20)), "home": 30}
        for at in range(number)
    }


def hidden_clinics(users: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    return {user: dict(ew.hide(h, {"clinic"}).histogram) for user, h in users.items()}


def test_errors_over_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same users and hidden places for both tables, true counts from the original, means over splits."""
    monkeypatch.setattr("elsewhere.evaluation.recommendation._HELD", 3 * 36)  # three of the four at a time
    users = random_users(40)
    released = hidden_clinics(users)
    names = sorted(users)
    errors: dict[str, list[list[float]]] = {"mae": [], "rmse": []}
    for split in range(3):
        random = np.random.default_rng([5, split])
        order = random.permutation(40)
        tested = [names[at] for at in sorted(order[:4])]
        others = [names[at] for at in sorted(order[4:])]
        turn = {(user, name): random.random() for user in names for name in sorted(users[user])}
        hidden = {
            user: min((name for name in users[user] if name in released[user]), key=lambda name: turn[user, name])
            for user in tested
        }
        truth = [users[user][hidden[user]] for user in tested]
        predicted = [
            [literal_prediction(one[user], hidden[user], [rest[other] for other in others], 6) for user in tested]
            for one, rest in ((users, users), (released, users), (released, released))
        ]
        misses = np.array(predicted) - truth
        errors["mae"].append(np.abs(misses).mean(axis=1).tolist())
        errors["rmse"].append(np.sqrt((misses**2).mean(axis=1)).tolist())
    found = recommendation_errors(Tables.of(users, released), neighbours=6, splits=3, seed=5)
    assert (found.tested, found.splits, found.neighbours) == (4, 3, 6)
    for name, (case, errors_found) in product(errors, ((1, found.alone), (2, found.everybody))):
        original, sanitized = np.array(errors[name]).T[[0, case]]
        contrast = getattr(errors_found, name)
        assert contrast.original.mean == pytest.approx(original.mean())
        assert contrast.sanitized.mean == pytest.approx(sanitized.mean())
        half = 4.302652729911275 * (sanitized - original).std(ddof=1) / math.sqrt(3)  # Student's, 2 degrees of freedom
        assert contrast.difference.high - contrast.difference.mean == pytest.approx(half)
        assert contrast.difference.mean - contrast.difference.low == pytest.approx(half)


def test_releases_that_are_compared_are_asked_the_same() -> None:
    """Only about what all of them keep, so that the originals come off the same, and alone is no better or worse."""
    users = random_users(40)
    one = hidden_clinics(users)
    two = {user: dict(ew.hide(h, {"clinic", "home"}).histogram) for user, h in users.items()}
    both = [Tables.of(users, released) for released in (one, two)]
    first, second = compare_recommendations(both, neighbours=6)
    assert first.alone.mae.original == second.alone.mae.original == second.everybody.mae.original
    assert second == recommendation_errors(both[1], neighbours=6), "it keeps the fewest"
    assert first != recommendation_errors(both[0], neighbours=6)
    with pytest.raises(ew.InputError, match="the tables must have the same users, original histograms and locations"):
        compare_recommendations([both[0], Tables.of(one, two)], neighbours=6)
    with pytest.raises(ew.InputError, match="releases is empty"):
        compare_recommendations([])


def test_means_over_the_original_bins() -> None:
    """A release that keeps the size keeps the mean, however many bins it empties."""
    users = random_users(40)
    both = Tables.of(users, hidden_clinics(users))
    over = {way: recommendation_errors(both, neighbours=6, mean_over=way) for way in get_args(MeanOver)}
    assert over["original"].alone.mae.original == over["visited"].alone.mae.original
    assert over["original"].alone.mae.sanitized != over["visited"].alone.mae.sanitized
    with pytest.raises(ew.InputError, match="mean_over is 'both'; it must be 'visited' or 'original'"):
        recommendation_errors(both, neighbours=6, mean_over="both")  # type: ignore[arg-type]


def test_what_is_not_changed_differs_by_nothing() -> None:
    users = random_users(40)
    found = evaluate(Tables.of(users, dict(reversed(users.items()))), neighbours=6)
    assert found.recommendation is not None
    assert found.recommendation.everybody.rmse.difference.mean == found.recommendation.alone.mae.difference.high == 0
    assert found.recommendation.alone.mae.original.mean > 0
    assert {spread.greatest for spread in (*found.quality_loss.values(), found.nce)} == {0}
    assert found == evaluate(Tables.of(users, users), neighbours=6)
    assert found != evaluate(Tables.of(users, users), neighbours=6, seed=2)


# Kinds

#: The kind of each location at a level; "f" is at two nodes that have none in common above, "h" is at none.
KINDS = {
    1: dict(zip("abcdefgh", ("food", "food", "food", "food", "shop", "f", "food", "h"), strict=True)),
    2: dict(zip("abcdefgh", ("a", "b", "b", "b", "e", "f", "g", "h"), strict=True)),
}


@given(tables, st.sampled_from([1, 2]))
def test_kinds_add_up(pairs: list[tuple[Counts, Counts]], depth: int) -> None:
    def added(h: Counts) -> dict[str, int]:
        counts = Counter[str]()
        for name, count in h.items():
            counts[KINDS[depth][name]] += count
        return counts

    found, expected = numbered(pairs).by_kind(TREE, depth), numbered([(added(h), added(x)) for h, x in pairs])
    assert (found.users, found.locations) == (expected.users, expected.locations)
    for field in ("offset", "location", "before", "after", "in_original"):
        assert getattr(found, field).tolist() == getattr(expected, field).tolist()


def test_kinds_of_huge_counts() -> None:
    """Sums are whole numbers: floats would lose the last visit."""
    both = numbered([({"a": 2**60, "b": 1}, {"c": 2**60 + 1})]).by_kind(TREE)
    assert both.before.tolist() == both.after.tolist() == [2**60 + 1]


def test_evaluation_of_kinds() -> None:
    """A move within a kind is a loss of locations, not of kinds."""
    users = random_users(40)
    moved = {
        user: {("d" if name == "c" else name): n for name, n in h.items() if name != "d"} for user, h in users.items()
    }
    tables_ = Tables.of(users, moved)
    found = evaluate(tables_, neighbours=6, taxonomy=TREE, levels=[0.9, 0.1])
    flat = evaluate(tables_, neighbours=6)
    assert flat.kinds is None
    assert (found.quality_loss, found.nce, found.recommendation) == (flat.quality_loss, flat.nce, flat.recommendation)
    assert found.kinds is not None
    added = tables_.by_kind(TREE)
    assert found.kinds.number == len(added.locations) == 2 + len("fhijkl") + len(["clinic", "home"])
    assert found.kinds.quality_loss["js"] == Spread.of(quality_losses(tables_, TREE, [0.9, 0.1])["js"])
    assert found.kinds.nce == Spread.of(conditional_entropies(added, 3))
    assert found.kinds.recommendation == recommendation_errors(added, neighbours=6)
    assert found.notes == ("The taxonomy does not have 8 of 14 locations; each is a kind of its own.",)


# Tables, files, and what is wrong with them


def test_users_who_are_left_out_are_counted() -> None:
    original = {"ann": {"a": 2, "b": 1}, "bob": {"a": 1}, "cat": {"b": 1}, "dan": {"a": 0}}
    sanitized = {"zoe": {"a": 1}, "cat": {"a": 0}, "ann": {"c": 3}}
    found = Tables.of(original, sanitized)
    assert (found.users, found.locations) == (("ann",), ("a", "b", "c"))
    assert (found.before.tolist(), found.after.tolist()) == ([2, 1, 0], [0, 0, 3])
    assert found.in_original.tolist() == [True, True, False]
    notes = evaluate(found).notes
    assert notes[:3] == (
        "Left out 2 users without a release.",
        "Left out 1 user without a visit.",
        "Left out 1 user found only in the sanitized table.",
    )
    assert "neighbours is 25, but only 0 of 1 user are left" in notes[3]


def test_command_reads_files_and_folders(run: Run, tmp_path: Path) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    users = random_users(40)
    released = hidden_clinics(users)
    lines = [f"{user},{name},{count}\n" for user, h in users.items() for name, count in h.items()]
    Path("original.csv").write_text("who,location,count\n" + "".join(lines), encoding="utf-8")
    (tmp_path / "releases").mkdir()
    rows = [(user, name, count) for user, h in released.items() for name, count in h.items()]
    for part, begin in enumerate(range(0, len(rows), 100)):  # a user may be in two parts
        columns = zip(("user", "location", "count"), zip(*rows[begin : begin + 100], strict=True), strict=True)
        parquet.write_table(arrow.table(dict(columns)), tmp_path / "releases" / f"part-{part}.parquet")
    asked = ("evaluate", "original.csv", "releases", "--user-column", "who", "--neighbours", "6", "--splits", "2")
    status, out, err = run(*asked, "--json")
    expected = evaluate(Tables.of(users, released), neighbours=6, splits=2)
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    assert found["quality_loss"]["js"]["median"] == expected.quality_loss["js"].median > 0
    assert found["quality_loss"]["jeffreys"]["mean"] == "inf"
    assert "rivate" in found["private"]
    assert found["nce"]["mean"] == expected.nce.mean
    assert expected.recommendation is not None
    assert (
        found["recommendation"]["alone"]["mae"]["difference"]["low"] == expected.recommendation.alone.mae.difference.low
    )
    status, out, err = run(*asked)
    assert (status, out) == (0, f"{expected}\n")
    assert err == "Compared 40 users with 14 locations.\n"
    Path("kinds.txt").write_text("Food\n  a\n  b\n  c\nPlaces\n  clinic\n  home\n", encoding="utf-8")
    status, out, err = run(*asked, "--taxonomy", "kinds.txt", "--levels", "0.9,0.1")
    over = evaluate(Tables.of(users, released), neighbours=6, splits=2,
                    taxonomy=ew.Taxonomy.load("kinds.txt"), levels=[0.9, 0.1])  # fmt: skip
    assert (status, out) == (0, f"{over}\n")
    assert err.endswith("Compared 40 users with 14 locations of 11 kinds.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("history.csv", "history.csv"), "no user column is known"),
        (("nowhere.csv", "users.csv"), "nowhere.csv: it cannot be read"),
        (("users.csv", "others.csv"), "no user has visits in both tables"),
        (("users.csv", "empty"), "the folder 'empty' has no Parquet files"),
        (("users.csv", "huge.csv"), "the user 'ann'"),
        (("users.csv", "users.csv", "--clusters", "0"), "clusters is 0"),
        (("users.csv", "users.csv", "--splits", "1"), "splits is 1"),
        (("users.csv", "users.csv", "--neighbours", "0"), "neighbours is 0"),
        (("users.csv", "users.csv", "--seed", "-1"), "seed is -1"),
        (("users.csv", "users.csv", "--levels", "1,1"), "--levels is given without a taxonomy"),
        (("users.csv", "users.csv", "--taxonomy", "shipped", "--levels", "1;1"), "--levels is '1;1'"),
        (("users.csv", "users.csv", "--taxonomy", "shipped", "--levels", "1,-1"), "--levels is (1.0, -1.0)"),
        (("users.csv", "users.csv", "--taxonomy", "nowhere.csv"), "nowhere.csv"),
        (("users.csv", "users.csv", "--user-column", "who"), "no column is called 'who'"),
    ],
)
def test_bad_input(run: Run, tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "empty").mkdir()
    for name, rows in {"users": "ann,a,1", "others": "bob,a,1", "huge": f"ann,a,{2**62}\nann,a,{2**62}"}.items():
        Path(f"{name}.csv").write_text(f"user,location,count\n{rows}\n")
    status, out, err = run("evaluate", *arguments)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_import_is_light() -> None:
    code = "import sys, elsewhere.evaluation; print({'scipy', 'numba', 'pyarrow', 'click'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"set()\n"
