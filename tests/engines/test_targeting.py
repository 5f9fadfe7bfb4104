"""resemble and avoid for all users at once: the same as one by one, whatever the policy says."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import elsewhere as ew
from elsewhere.engines import kernel
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.outcome import FAILED_CHECK
from elsewhere.engines.targeting import on_arrays
from elsewhere.engines.users import EARLIER
from elsewhere.solvers import one_call

pa: Any = import_module("pyarrow")
PLACES = ["bar", "café", "casino", "church", "cinema", "clinic", "gym", "museum", "office", "park", "school", "shop"]
TARGET = {"Museum": 6, "park": 3, "BAR": 2, "clinic": 1, "opera": 4, "zoo": 1}
POLICIES: dict[str, dict[str, Any]] = {
    "usual": {},
    "visited only": {"visited_only": True},
    "sensitive": {"sensitive": ("clinic", "Opera", "preset:health")},
    "candidates": {"candidates": ("theatre", "PARK", "hospital"), "allow_sensitive_rise": True},
    "target's size": {"size": "target", "max_quality_loss": 0.4},
    "a distance": {"max_distance": 0.35, "min_distance": 0.35},
    "counts": {"quality": "l2", "privacy": "squared-l2", "max_quality_loss": 4.0},
    "never to 0": {"quality": "neyman", "max_quality_loss": 3.0},
    "never from 0": {"quality": "pearson", "privacy": "variational", "max_quality_loss": 6.0, "sensitive": ("gym",)},
    "infinite": {"privacy": "neyman", "max_quality_loss": 0.7},
    "types": {"kinds": {"shop": "Hospital", "clinic": "none"}},
}


def people(number: int) -> Any:
    """Users who spell places in any way, some with places that they never visited."""
    dice = random.Random(3)
    rows = []
    for user in range(number):
        for name in dice.sample(PLACES, dice.randint(1, len(PLACES))):
            spelt = dice.choice([name, name, name.upper(), f" {name}"])
            rows.append((f"user {user}", spelt, dice.choice([0, 1, 1, 2, 3, 8, 20])))
    return pa.table(dict(zip(("user", "location", "count"), map(list, zip(*rows, strict=True)), strict=True)))


def results(plan: Any, table: Any) -> list[dict[str, Any]]:
    return [row for batch in sanitize_batches(plan, table.to_batches()) for row in batch.to_pylist()]


def plan_of(goal: Any, asked: dict[str, Any], target: Any = TARGET) -> Any:
    other = {"resemble": "min_distance", "avoid": "max_distance"}[goal]
    known = {name: value for name, value in asked.items() if name != other}
    return ew.Policy(goal, target="it", **{"max_quality_loss": 0.1, **known}).plan(target=target)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@pytest.mark.parametrize("name", POLICIES)
def test_all_at_once_as_one_by_one(name: str, goal: Any) -> None:
    plan, table = plan_of(goal, POLICIES[name]), people(120)
    assert on_arrays(plan.policy)
    with patch.object(kernel, "_one_by_one", wraps=kernel._one_by_one) as rest:
        found = results(plan, table)
    left = sum(len(call.args[2]) for call in rest.call_args_list)
    with patch.object(kernel, "on_arrays", return_value=False):
        assert found == results(plan, table)
    answered = sum(row["status"] == "optimal" for row in found)
    assert answered > 10
    # Users who cannot be answered have to be told why, and avoid at an infinite distance is another search.
    assert left < 120 - answered / 2 or (goal == "avoid" and name == "infinite")


@pytest.mark.parametrize("target", [ew.Profile({"Café": 2, "Museum": 1}), {"Food": 3, "Arts & Entertainment": 1}])
def test_targets_of_kinds(target: Any) -> None:
    """Whether a user is compared by name or by kind depends on the user's places."""
    plan, table = plan_of("resemble", {"allow_mismatch": True}, target), people(60)
    found = results(plan, table)
    with patch.object(kernel, "on_arrays", return_value=False):
        assert found == results(plan, table)


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_equal_histograms_are_answered_once(goal: Any) -> None:
    """Users of one or two visits: most of them have the histogram of another one."""
    dice = random.Random(5)
    rows = [(f"user {user}", place, 1) for user in range(200) for place in sorted({dice.choice(PLACES[:4]), "gym"})]
    table = pa.table(dict(zip(("user", "location", "count"), map(list, zip(*rows, strict=True)), strict=True)))
    plan = plan_of(goal, {"max_quality_loss": 0.4, "sensitive": ("bar",)})
    with patch.object(one_call, "answers", wraps=one_call.answers) as answers:
        found = results(plan, table)
    assert sum(call.args[1].sizes.shape[1] for call in answers.call_args_list) == 4
    with patch.object(kernel, "on_arrays", return_value=False):
        assert found == results(plan, table)
    assert {row["status"] for row in found} == {"optimal"}


def test_who_continues_an_earlier_release_is_asked_alone() -> None:
    """A third of the users have an earlier release."""
    plan, table = plan_of("resemble", {"max_quality_loss": 0.3}), people(60)
    earlier = [(f"user {user}", place, 1) for user in range(0, 60, 3) for place in ("clinic", "opera", "zoo")]
    columns = zip(table.column_names, map(list, zip(*earlier, strict=True)), strict=True)
    rows = [table.append_column(EARLIER, [[False] * len(table)]), pa.table({**dict(columns), EARLIER: [True] * 60})]
    both = pa.concat_tables(rows).combine_chunks().sort_by("user")
    found = results(plan, both)
    with patch.object(kernel, "on_arrays", return_value=False):
        assert found == results(plan, both)
    released = [row["location"] for row in found if row["status"] == "optimal"]
    assert len(released) > 40
    assert 10 < sum({"clinic", "opera", "zoo"}.issubset(map(str.lower, names)) for names in released) < 40


@pytest.mark.parametrize("asked", [{"forbidden": ()}, {"time_limit": 5.0}, {"gap": 0.1}, {"lower": {"bar": 1}},
                                   {"method": "heuristic"}, {"method": "drawn"}, {"candidates": ("b*",)},
                                   {"by": "kind"}, {"levels": "equal", "taxonomy": "shipped"}])  # fmt: skip
def test_what_is_answered_one_by_one(asked: dict[str, Any]) -> None:
    policy = ew.Policy("resemble", target="tourist", **{"max_quality_loss": 0.1, **asked})
    assert on_arrays(policy) == ("forbidden" in asked)
    assert not on_arrays(ew.Policy("resemble", target="tourist", max_distance=0.1))


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (None, "it has the wrong number of counts"),
        (one_call.QUALITY, "the quality loss is wrong"),
        (one_call.PRIVACY, "the privacy distance is wrong"),
        (one_call.DUAL_BOUND, "the certificate does not prove its bound"),
        (one_call.COST_MULTIPLIER, "the certificate does not prove its bound"),
    ],
)
def test_every_release_is_checked(row: int | None, wrong: str) -> None:
    answers = one_call.answers

    def mistaken(*asked: Any) -> Any:
        counts, reached = answers(*asked)
        if row is None:
            counts[np.flatnonzero(counts)[0]] += 1
        else:
            reached[row, 0] += 0.125
        return counts, reached

    with patch.object(one_call, "answers", mistaken):
        found = results(plan_of("resemble", {}), people(20))
        twins = results(
            plan_of("resemble", {}), pa.table({"user": [*"abcde"], "location": ["bar"] * 5, "count": [9] * 5})
        )
    assert [row["reason"] for row in found if row["reason"]] == [f"{FAILED_CHECK}: {wrong}"]
    assert [row["reason"] for row in twins] == [f"{FAILED_CHECK}: {wrong}"] * 5
