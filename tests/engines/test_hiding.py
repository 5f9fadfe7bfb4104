"""hide with candidates and bounds for all users at once: the same as one by one, whatever the policy says."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.engines import kernel
from elsewhere.engines.hiding import hides_at_once, is_plain
from elsewhere.engines.kernel import sanitize_batches
from elsewhere.engines.outcome import FAILED_CHECK
from elsewhere.solvers import hide_many
from tests.support.instances import DISTANCES

pa: Any = import_module("pyarrow")
NAMES = ["bar", "Bar", "café", "casino", "clinic", "gym", "park"]
_user = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6), min_size=1)
_bounds = st.none() | st.dictionaries(st.sampled_from(["bar", "BAR", "café", "g*", "zoo", "*"]), st.integers(0, 6))
_policies = st.fixed_dictionaries(
    {
        "quality": st.sampled_from(DISTANCES),
        "redistribute": st.sampled_from([None, None, 0, 3, 40]),
        "candidates": st.sampled_from([(), ("zoo",), ("airport", "PARK"), ("clinic", "zoo", "Casino")]),
        "visited_only": st.booleans(),
        "lower": st.none() | _bounds,
        "upper": st.none() | _bounds,
    }
)


def table_of(users: list[dict[str, int]]) -> Any:
    rows = [(f"user {at}", *row) for at, counts in enumerate(users) for row in counts.items()]
    return pa.table(dict(zip(("user", "location", "count"), map(list, zip(*rows, strict=True)), strict=True)))


def results(policy: ew.Policy, table: Any) -> list[dict[str, Any]]:
    return [row for batch in sanitize_batches(policy, table.to_batches()) for row in batch.to_pylist()]


@settings(deadline=None, max_examples=300)
@given(asked=_policies, users=st.lists(_user, min_size=4, max_size=8))
def test_all_at_once_as_one_by_one(asked: dict[str, Any], users: list[dict[str, int]]) -> None:
    policy, table = ew.Policy("hide", sensitive=("casino", "preset:health"), **asked), table_of(users)
    assert hides_at_once(policy)
    found = results(policy, table)
    with patch.multiple(kernel, hides_at_once=lambda _: False, is_plain=lambda _: False):
        alone = results(policy, table)
    for row, wanted in zip(found, alone, strict=True):
        assert row.pop("quality_loss") == pytest.approx(wanted.pop("quality_loss"), abs=1e-12)
        if not is_plain(policy):  # which has a reason of its own
            assert row == wanted


def test_users_are_answered_on_arrays() -> None:
    """But for those without the place that a bound names."""
    policy = ew.Policy("hide", sensitive=("clinic",), candidates=("zoo",), upper={"bar": 4}, visited_only=False)
    users = [{"bar": 5, "clinic": 3}, {"bar": 1}, {"bar": 2, "gym": 7}, {"bar": 9, "clinic": 1}, {"gym": 3}]
    with patch.object(kernel, "_one_by_one", wraps=kernel._one_by_one) as rest:
        found = results(policy, table_of(users))
    assert [call.args[2].tolist() for call in rest.call_args_list] == [[4]]
    assert [row["count"] for row in found] == [[4, 4], [1], [2, 7], [4, 6], None]
    assert "upper names 'bar', which is not in the histogram" in found[4]["reason"]


@pytest.mark.parametrize(
    ("counts", "wrong"),
    [
        ([50, 0, 9], "the quality loss is wrong"),
        ([50, 0, 8], "it has the wrong number of counts"),
        ([50, 9, 0], "a visit to a sensitive location is left"),
        ([48, 0, 11], "a count is outside its bounds"),
    ],
)
def test_every_release_is_checked(counts: list[int], wrong: str) -> None:
    original = hide_many.hide_many

    def mistaken(*asked: Any) -> Any:
        released, losses = original(*asked)
        released[:3], losses[0] = counts, 0.0
        return released, losses

    with patch.object(hide_many, "hide_many", mistaken):
        policy = ew.Policy("hide", sensitive=("clinic",), candidates=("zoo",))
        found = results(policy, table_of([{"bar": 50, "clinic": 9}] * 4))
    assert found[0]["reason"] == f"{FAILED_CHECK}: {wrong}"
    assert found[0]["location"] is None
    assert found[1]["status"] == "optimal"


@pytest.mark.parametrize("asked", [{"max_quality_loss": 0.1}, {"method": "drawn"}, {"candidates": ("b*",)},
                                   {"by": "kind"}, {"lower": "earlier.csv"}])  # fmt: skip
def test_what_is_answered_one_by_one(asked: dict[str, Any]) -> None:
    assert not hides_at_once(ew.Policy("hide", sensitive=("clinic",), **asked))
