"""The check of many users at once finds what the check of one user finds, and nothing where there is nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
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
    """That is the bound in avoid, and nothing else."""
    question = Question("avoid", Histogram({"a": 50, "b": 30}), {"a": 1.0, "c": 2.0}, 0.1)
    result = solve(question)
    assert result.certificate is not None
    moved = replace(result, certificate=replace(result.certificate, size_multiplier=1.0))
    assert problems([result, moved]) == {1: "the certificate does not prove its bound"}
    monkeypatch.setattr(many, "_MOST_COUNTS", 10)
    assert problems([result, moved, replace(moved, privacy_distance=0.9)]) == {2: "the privacy distance is wrong"}


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
