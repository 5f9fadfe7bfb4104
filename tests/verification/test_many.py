"""The check of many users at once finds what the check of one user finds, and nothing where there is nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsewhere import ElsewhereError, Histogram
from elsewhere.model.distances import DISTANCES, find_distance
from elsewhere.model.question import Goal, Question, SearchLimits
from elsewhere.model.result import Sanitized
from elsewhere.solve import solve
from elsewhere.verification import many
from elsewhere.verification.many import Bins, check_hidden, check_results
from elsewhere.verification.verify import check_release
from tests.support.instances import Instance, hidings, targetings

#: The distances whose least costs in avoid are found without a look at every count.
BENT = [name for name, distance in DISTANCES.items() if distance.bend is not None]
#: Only a search of its own tells the check of one user about these.
_SEARCHED = "a better objective than the bound"


def results(goal: Goal, instances: list[Instance], **asked: Any) -> Iterator[Sanitized]:
    for instance in instances:
        question = Question(goal, instance.histogram, instance.target, **instance.asked, **asked)
        try:
            yield solve(question, explain=False)
        except ElsewhereError:  # no release, nothing to check
            continue


def problems(answers: list[Sanitized]) -> dict[int, str]:
    return dict(check_results(answers).items())


def tampered(draw: Callable[[Any], Any], result: Sanitized) -> Sanitized:
    """The result with one thing changed."""
    counts = dict(result.histogram)
    what = draw(st.sampled_from(["move", "add", "quality_loss", "bound", "gap", "certificate", "place"]))
    if what == "move":
        problem = result.question.problem
        giver, taker = draw(st.sampled_from(sorted(counts))), draw(st.sampled_from(problem.locations))
        counts[giver] -= 1
        counts[taker] = counts.get(taker, 0) + 1
        return replace(result, histogram=Histogram(counts))
    if what in ("add", "place"):
        name = min(counts) if what == "add" else "nowhere"
        return replace(result, histogram=Histogram({**counts, name: counts.get(name, 0) + 1}))
    if what == "certificate" and result.certificate is not None and result.goal != "hide":
        moved = result.certificate.size_multiplier + draw(st.sampled_from([-1.0, 0.25, 1e308, math.inf]))
        return replace(result, certificate=replace(result.certificate, size_multiplier=moved))
    name = what if what in ("quality_loss", "bound", "gap") else "quality_loss"
    return replace(result, **{name: getattr(result, name) + draw(st.sampled_from([-0.01, 1e-6, 0.5]))})


@settings(deadline=None, max_examples=150)
@given(data=st.data())
@pytest.mark.parametrize("goal", ["hide", "resemble", "avoid"])
def test_as_one_by_one(goal: Goal, data: st.DataObject) -> None:
    quality, privacy = (data.draw(st.sampled_from(sorted(DISTANCES))) for _ in range(2))
    instances = st.lists(hidings() if goal == "hide" else targetings(quality), min_size=1, max_size=4)
    method = (
        {} if goal == "hide" else {"privacy": privacy, "method": data.draw(st.sampled_from(["optimal", "heuristic"]))}
    )
    answers = list(results(goal, data.draw(instances), quality=quality, **method))
    if not answers:
        return
    assert problems(answers) == {}
    at = data.draw(st.integers(0, len(answers) - 1))
    answers[at] = tampered(data.draw, answers[at])
    found = problems(answers)
    alone = check_release(answers[at].question, answers[at]).problems
    assert set(found) <= {at}
    assert (at in found) == bool([problem for problem in alone if _SEARCHED not in problem])


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
def test_limited_searches_pass(goal: Goal) -> None:
    """Their bounds are weaker, or have no certificate."""
    dice = np.random.default_rng(1)
    for search in (SearchLimits(gap=0.05), SearchLimits(memory_limit=20_000), SearchLimits(time_limit=0.001)):
        answers = []
        for _ in range(20):
            history = Histogram({f"{at}": int(dice.integers(1, 60)) for at in range(12)})
            target = {f"{at}": float(dice.random()) for at in range(6, 15)}
            answers.append(solve(Question(goal, history, target, 0.1, search=search), explain=False))
        assert problems(answers) == {}


def test_what_takes_too_long_is_taken_on_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is the bound in avoid with two distances, and nothing else."""
    question = Question("avoid", Histogram({"a": 50, "b": 30}), {"a": 1.0, "c": 2.0}, 0.1, privacy="variational")
    result = solve(question)
    assert result.certificate is not None
    moved = replace(result, certificate=replace(result.certificate, size_multiplier=1.0))
    assert problems([result, moved]) == {1: "the certificate does not prove its bound"}
    monkeypatch.setattr(many, "_MOST_COUNTS", 10)
    assert problems([result, moved, replace(moved, privacy_distance=0.9)]) == {2: "the privacy distance is wrong"}


@pytest.mark.parametrize("distance", BENT)
@pytest.mark.parametrize("seed", range(20))
def test_no_count_costs_less(distance: str, seed: int) -> None:
    """The search for the least cost in avoid finds what a look at every count finds."""
    dice, number = np.random.default_rng(seed), 400
    size = np.full(number, float(dice.choice([12, 60, 400])))

    def measure(reference_size: float) -> many._Measure:
        reference = np.where(dice.random(number) < 0.2, 0.0, reference_size * dice.random(number) ** 3)
        reference = np.floor(reference) if dice.random() < 0.5 else reference
        return many._Measure(find_distance(distance), reference, np.full(number, reference_size), size)

    quality, privacy = measure(float(dice.choice([10, 300]))), measure(float(dice.choice([1, 50])))
    low = dice.integers(0, 4, number)
    high = np.minimum(low + dice.integers(0, 400, number), size.astype(np.int64))
    # About as large as the ratio of the bends, so that neither term always wins; the slope places the least cost.
    cost = dice.choice([0.0, 0.01, 0.5, 1.0, 1.5, 20.0], number) * dice.random(number) ** dice.choice([0.0, 1.0])
    middle = low + (dice.random(number) * (high - low)).astype(np.int64)
    costs = many._Cost(quality, privacy, -1.0, cost, np.zeros(number))
    costs = costs._replace(size_multiplier=costs.terms(np.minimum(middle + 1, high)) - costs.terms(middle))
    found = many._lowest_bent(costs, dice.integers(0, 400, number), low, high)
    assert ((low <= found) & (found <= high)).all()
    for at in range(number):
        counts = np.arange(low[at], high[at] + 1)
        same = costs.of(np.full(len(counts), at))
        every, magnitude = same.terms(counts), same._replace(sign=1.0, size_multiplier=-np.abs(same.size_multiplier))
        rounding = 1e-12 * magnitude.terms(counts).max()
        assert every[found[at] - low[at]] <= every.min() + rounding


@pytest.mark.parametrize("distance", BENT)
def test_bends(distance: str) -> None:
    """For any two references, the ratio of the bends is that of the second derivatives, and only rises or falls."""
    found, x = find_distance(distance), np.geomspace(1.0, 45.0, 30)
    assert found.bend is not None
    step, curved, bends = 0.01 * x, [], []
    for reference, size in ((0.0, 30.0), (0.5, 30.0), (3.0, 40.0), (20.0, 30.0)):
        before, here, after = (found.terms(np.array(reference), at, size, 50.0) for at in (x - step, x, x + step))
        curved.append((before - 2.0 * here + after) / step**2)
        bends.append(found.bend(np.array(reference), x, size, 50.0))
    for one, other in combinations(range(4), 2):
        np.testing.assert_allclose(bends[one] * curved[other], bends[other] * curved[one], rtol=1e-3, atol=1e-9)
        ratio = np.diff(bends[one] / bends[other])
        assert (ratio >= -1e-12).all() or (ratio <= 1e-12).all()


@pytest.mark.parametrize("scale", [10, 10**5, 10**7, 10**12])
def test_large_counts_to_avoid_are_no_false_alarm(scale: int) -> None:
    dice = np.random.default_rng(scale)
    answers = []
    for kind in (lambda count: 1.0, float, lambda count: float(dice.random())):
        counts = {f"{at:02d}": int(scale * dice.pareto(1.0)) + 1 for at in range(12)}
        target = {name: kind(count) for name, count in counts.items()}
        question = Question("avoid", Histogram(counts), target, 0.05, search=SearchLimits(time_limit=0.3))
        answers.append(solve(question, explain=False))
    assert problems(answers) == {}


@pytest.mark.parametrize("quality", sorted(DISTANCES))
@pytest.mark.parametrize("scale", [10, 10**5, 10**9, 10**15])
def test_large_counts_are_no_false_alarm(quality: str, scale: int) -> None:
    """Also where one count is next to nothing."""
    dice = np.random.default_rng(scale)
    answers = []
    for _ in range(10):
        counts = {f"{at:02d}": int(scale * dice.pareto(1.0)) + 1 for at in range(20)}
        answers.append(solve(Question("hide", Histogram(counts), quality=quality, sensitive=["03", "07"])))
    assert problems(answers) == {}


@pytest.mark.parametrize("quality", sorted(DISTANCES))
def test_hidden_badly(quality: str) -> None:
    """A count that could be better placed, one that is lost, one that stays, a figure: the user is found, no other."""
    dice = np.random.default_rng(5)
    histories = [{f"{at}": int(dice.integers(3, 40)) for at in range(8)} for _ in range(6)]
    answers = [
        solve(Question("hide", Histogram(history), quality=quality, sensitive=["2", "5"])) for history in histories
    ]
    original = np.concatenate([list(history.values()) for history in histories])
    released = np.concatenate([[answer.histogram[name] for name in map(str, range(8))] for answer in answers])
    sensitive = np.tile(np.isin(range(8), (2, 5)), 6)
    sizes = original.reshape(6, 8).sum(axis=1)
    loss = np.array([answer.quality_loss for answer in answers])

    def found(released: Any, loss: Any) -> dict[int, str]:
        bins = Bins(np.arange(0, 49, 8), original, released, np.where(sensitive, 0, original),
                    np.where(sensitive, 0, np.repeat(sizes, 8)), sensitive, sizes)  # fmt: skip
        return dict(check_hidden(bins, find_distance(quality), loss).items())

    assert found(released, loss) == {}
    grown = np.flatnonzero((released > original)[8:16]) + 8
    for change, why in (
        ({grown[0]: -1}, "number of counts"),
        ({10: 1, grown[0]: -1}, "sensitive location"),
        ({8: -1 - released[8] + original[8], 9: 1 + released[8] - original[8]}, "bounds"),
    ):
        wrong = released.copy()
        wrong[list(change)] += list(change.values())
        assert list(found(wrong, loss)) == [1]
        assert why in found(wrong, loss)[1]
    assert found(released, loss + np.eye(6)[1] * 1e-6) == {1: "the quality loss is wrong"}
    # All of it to one place, with the figure that belongs to it.
    worse = np.where(sensitive, 0, original)
    worse[8] += sizes[1] - worse[8:16].sum()
    worse[:8], worse[16:] = released[:8], released[16:]
    moved = Histogram(dict(zip(map(str, range(8)), worse[8:16].tolist(), strict=True)))
    loss[1] = check_release(answers[1].question, moved).quality_loss
    # Variational distance does not care where they go.
    assert found(worse, loss) == ({} if quality == "variational" else {1: "a better release exists"})
