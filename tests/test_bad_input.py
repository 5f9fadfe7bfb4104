"""Bad input gets one sentence that names the offending value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import elsewhere as ew

H = {"cafe": 7, "gym": 2}
T = {"cafe": 1.0, "gym": 3.0}


def hide(sensitive: Any = ("gym",), **asked: Any) -> ew.Sanitized:
    return ew.hide(H, sensitive, **asked)


def resemble(**asked: Any) -> ew.Sanitized:
    return ew.resemble(H, T, **{"max_quality_loss": 0.05, **asked})


def frontier(budgets: Any = (0.1,), goal: Any = "resemble", histogram: Any = H) -> list[ew.Sanitized]:
    return ew.frontier(histogram, T, budgets, goal=goal)


def verify(**asked: Any) -> ew.Check:
    return ew.verify(H, H, **{"target": T, "max_quality_loss": 1.0, **asked})


CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: ew.Histogram({"cafe": -3}), "'cafe' the count -3;"),
    (lambda: ew.Histogram({"cafe": 2.5}), "'cafe' the count 2.5;"),
    (lambda: ew.Histogram({"cafe": math.nan}), "'cafe' the count nan;"),
    (lambda: ew.Histogram({"cafe": math.inf}), "'cafe' the count inf;"),
    (lambda: ew.Histogram({"cafe": 2**63}), "'cafe' the count 9223372036854775808,"),
    (lambda: ew.Histogram({"cafe": 10**400}), "'cafe' the count 1000000"),
    (lambda: ew.Histogram({"cafe": 2**62, "gym": 2**62}), "sum to 9223372036854775808,"),
    (lambda: ew.Histogram({"cafe": "7"}), "'cafe' the count '7',"),
    (lambda: ew.Histogram({"cafe": None}), "'cafe' the count None,"),
    (lambda: ew.Histogram([("cafe", 1), ("gym", 1), ("cafe", 2)]), "'cafe' more than once"),
    (lambda: ew.Histogram({7: 1}), "location 7, which"),
    (lambda: ew.Histogram({}), "empty"),
    (lambda: ew.Histogram("cafe"), "'cafe'"),  # type: ignore[arg-type]
    (lambda: ew.Histogram(7), "int"),  # type: ignore[arg-type]
    (lambda: ew.hide({"cafe": 0}, []), "empty"),
    (lambda: ew.hide(H, {"Gyn"}), "'Gyn' is not in the histogram; did you mean 'gym'?"),
    (lambda: ew.hide(H, {"*gyn*"}), "the sensitive pattern '*gyn*' matches nothing in the histogram"),
    (lambda: ew.hide(H, {"gym"}, quality="l2", candidates=[""]), "candidates has an empty name"),
    (lambda: ew.hide(H, {"gym"}, quality="l2", candidates=[" \u200b"]), "candidates has an empty name"),
    (lambda: ew.hide(H, {"gym"}, candidates=["s*"]), "candidates has the pattern 's*'"),
    (lambda: ew.hide(H, {"gym"}, lower={"Cafe": 1, "cafe": 2}), "lower has two bounds for 'cafe'"),
    (lambda: ew.hide(H, "gym"), "sensitive is 'gym'; give a collection"),
    (lambda: hide([3]), "location 3, which"),
    (lambda: hide(None), "sensitive is None;"),
    (lambda: hide(candidates=3), "candidates is 3;"),
    (lambda: hide(forbidden=3), "forbidden is 3;"),
    (lambda: hide(visited_only="yes"), "visited_only is 'yes';"),
    (lambda: hide(redistribute=10**400), "redistribute is 1000"),
    (lambda: hide(candidates=["x", 3]), "location 3, which"),
    (lambda: ew.hide(H, {"gym"}, redistribute=-1), "redistribute is -1;"),
    (lambda: hide(redistribute=1.5), "redistribute is 1.5;"),
    (lambda: ew.hide(H, {"gym"}, redistribute=2**63), "redistribute is 9223372036854775808,"),
    (lambda: ew.hide(H, {"gym"}, quality="kl"), "unknown distance 'kl'"),
    (lambda: ew.hide(H, {"gym"}, quality="jefreys"), "did you mean 'jeffreys'?"),
    (lambda: hide(quality=3), "3 is neither"),
    (lambda: ew.hide(H, {"gym"}, quality=lambda r, x: math.nan), "returned nan for"),
    (lambda: ew.hide(H, {"gym"}, quality=lambda r, x: 1 / 0), "failed for (7.0, 0): ZeroDivisionError"),
    (lambda: ew.hide(H, {"gym"}, lower={"gym": 1}), "lower bound 1 of 'gym' cannot be met: the location is sensitive"),
    (lambda: ew.hide(H, {"gym"}, lower={"jim": 1}), "lower names 'jim'"),
    (lambda: ew.hide(H, {"gym"}, upper={"cafe": -1}), "upper['cafe'] is -1;"),
    (lambda: hide(upper=3), "upper is 3;"),
    (lambda: ew.hide(H, {"gym"}, forbidden=[{"cafe": -1}]), "'cafe' the count -1;"),
    (lambda: resemble(max_quality_loss=-0.1), "max_quality_loss is -0.1;"),
    (lambda: resemble(max_quality_loss=math.nan), "max_quality_loss is nan;"),
    (lambda: resemble(max_quality_loss="much"), "max_quality_loss is 'much';"),
    (lambda: resemble(max_distance=-1), "max_distance is -1;"),
    (lambda: resemble(max_distance=math.nan), "max_distance is nan;"),
    (lambda: ew.avoid(H, T, 0.05, min_distance=-2.0), "min_distance is -2.0;"),
    (lambda: resemble(time_limit=-1), "time_limit is -1;"),
    (lambda: resemble(gap=math.nan), "gap is nan;"),
    (lambda: resemble(method="magic"), "method is 'magic';"),
    (lambda: resemble(size="huge"), "size is 'huge';"),
    (lambda: resemble(lower={"cafe": 5}, upper={"cafe": 3}), "lower bound 5 of 'cafe' is above its upper bound 3"),
    (lambda: resemble(privacy="l3"), "unknown distance 'l3'"),
    (lambda: resemble(sensitive={"jim"}), "'jim' is not in the histogram"),
    (lambda: resemble(memory_limit=10), "memory_limit=10"),
    (lambda: ew.resemble(H, {"cafe": 0, "gym": 0}, 0.05), "target sum to 0.0;"),
    (lambda: ew.resemble(H, {}, 0.05), "target is empty"),
    (lambda: ew.resemble(H, ew.Histogram({"cafe": 0}), 0.05), "target sum to 0.0;"),
    (lambda: ew.resemble(H, {"cafe": 10**400}, 0.05), "'cafe' the weight 1000"),
    (lambda: ew.resemble(H, {"cafe": 1e308, "gym": 1e308}, 0.05), "target sum to inf;"),
    (lambda: ew.resemble(H, {"cafe": -1.0}, 0.05), "'cafe' the weight -1.0;"),
    (lambda: ew.resemble(H, {"cafe": math.inf}, 0.05), "'cafe' the weight inf;"),
    (lambda: ew.resemble(H, {"cafe": "lots"}, 0.05), "'cafe' the weight 'lots',"),
    (lambda: ew.resemble(H, {"cafe": 1.5}, 0.05, size="target"), "they sum to 1.5"),
    (lambda: ew.resemble(H, ew.Profile(T), 0.05, size="target"), "a profile has only shares"),
    (lambda: ew.resemble(H, T), "resemble needs max_quality_loss or max_distance"),
    (lambda: ew.resemble(H, T, 0.1, aim="least-loss"), "aim='least-loss' needs max_distance"),
    (lambda: ew.avoid(H, T, min_distance=0.5, aim="far"), "aim='far' needs max_quality_loss"),
    (lambda: resemble(aim="far"), "aim is 'far'; for resemble it must be one of 'near', 'least-loss'"),
    (lambda: resemble(aim=3), "aim is 3;"),
    (lambda: ew.resemble(H, T, max_distance=-1), "max_distance is -1;"),
    (lambda: ew.avoid(H, T, min_distance=0.5, method="heuristic"), "method='heuristic' cannot search for"),
    (lambda: ew.verify(H, ew.resemble(H, T, max_distance=0.3), target=T), "aim='least-loss' needs max_distance"),
    (lambda: ew.frontier(H, T, [0.1], aim="nearest"), "aim is 'nearest';"),  # type: ignore[arg-type]
    (lambda: ew.Policy("hide", sensitive=("gym",), aim="near"), "aim is for resemble and avoid, not for hide"),
    (lambda: ew.frontier(H, T, [0.1, -0.1]), "budgets is -0.1;"),
    (lambda: frontier(goal="forget"), "goal is 'forget';"),
    (lambda: frontier(None), "budgets is None;"),
    (lambda: frontier(0.1), "budgets is 0.1;"),
    (lambda: frontier([], histogram={"cafe": -1}), "'cafe' the count -1;"),
    (lambda: ew.resemble({"a": 2**63 - 2, "b": 1}, {"a": 1, "b": 1}, 1e-30), "9223372036854775807 visits;"),
    (lambda: hide(redistribute=2**63 - 31), "redistribute is 9223372036854775777,"),
    (lambda: hide(redistribute=True), "redistribute is True;"),
    (lambda: resemble(max_quality_loss=False), "max_quality_loss is False;"),
    (lambda: hide(np.array("gym")), "sensitive is array('gym'"),
    (lambda: hide(candidates=np.array(3)), "candidates is array(3);"),
    (lambda: hide(forbidden=np.array(3)), "forbidden is array(3);"),
    (lambda: hide(sensitive="gym\n" * 1000), "sensitive is 'gym"),
    (lambda: ew.resemble(H, {"cafe": 1e300}, 0.05, size="target"), "they sum to 1e+300"),
    (lambda: ew.resemble(H, {"cafe": 2.0**63}, 0.05, size="target"), "they sum to 9.223372036854776e+18"),
    (lambda: verify(max_distance=math.nan), "max_distance is nan;"),
    (lambda: verify(min_distance="far"), "min_distance is 'far';"),
    (lambda: verify(min_distance=10**400), "min_distance is 1000"),
    (lambda: verify(sensitive="gym"), "sensitive is 'gym';"),
    (lambda: verify(candidates="xyz"), "candidates is 'xyz';"),
    (lambda: ew.distance("js", {"a": 0}, {"a": 1}), "reference sum to 0.0;"),
]


@pytest.mark.parametrize(("call", "named"), CASES, ids=[named for _, named in CASES])
def test_one_sentence_names_the_value(call: Callable[[], object], named: str) -> None:
    with pytest.raises(ew.InputError) as error:
        call()
    message = str(error.value)
    assert named in message
    assert "\n" not in message
    assert len(message) < 300
    assert isinstance(error.value, ew.ElsewhereError)
    assert isinstance(error.value, ValueError)


def test_candidates_may_be_sensitive() -> None:
    result = ew.hide(H, {"gym", "clinic"}, candidates=["clinic", "park"])
    assert "clinic" not in result.histogram
    assert result.histogram.size == 9


def test_room_that_is_not_there_is_infeasible() -> None:
    for asked in ({"upper": {"cafe": 3, "gym": 3}}, {"lower": {"cafe": 9, "gym": 9}}):
        with pytest.raises(ew.Infeasible) as error:
            resemble(**asked)
        assert error.value.needed_quality_loss == math.inf


def test_infinite_terms_are_infeasible_or_said() -> None:
    with pytest.raises(ew.Infeasible, match="'gym'"):
        resemble(quality="jeffreys", sensitive={"gym"})
    result = ew.hide(H, {"gym"}, quality="neyman")
    assert math.isfinite(result.quality_loss)
    assert "leaves out the sensitive locations" in result.notes[0]


def test_inputs_are_never_changed() -> None:
    history, target, lower = dict(H), dict(T), {"cafe": 1}
    ew.resemble(history, target, 9.0, lower=lower, sensitive={"gym"}, visited_only=True, quality="l2")
    assert (history, target, lower) == (H, T, {"cafe": 1})
    with pytest.raises(ValueError, match="read-only"):
        ew.Histogram(H).counts[0] = 5


def test_numbers_of_any_kind_are_counts() -> None:
    assert ew.Histogram({"a": np.int32(3), "b": 2.0, "c": True}) == ew.Histogram({"a": 3, "b": 2, "c": 1})


def test_tiny_weights_are_weights() -> None:
    tiny = {"l0": 3.025139394280329e-14, "l1": 0.057582707186784154, "l2": 0.06488996981754598}
    result = ew.resemble({"l0": 4, "l1": 1, "l2": 1}, tiny, 1.4, "variational", "pearson")
    assert (result.status, math.isfinite(result.bound)) == ("optimal", True)
    assert ew.resemble(H, {"cafe": 5e-324}, 0.5).status == "optimal"
    assert ew.resemble(H, {"cafe": 1e-310, "gym": 0}, 0.5, privacy="pearson", sensitive={"gym"}).status == "optimal"
