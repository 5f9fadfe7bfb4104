"""What a stranger could still guess: sentences made of whatever figures are in the file, and of nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import elsewhere as ew
from elsewhere.model import guesses, measured
from elsewhere.model.measured import Figure
from elsewhere.model.taxonomy import Taxonomy
from tests.support.command import Run, run

__all__ = ["run"]

HISTORY = {"café": 60, "gym": 10, "hospital": 10, "office": 20}
FILE = """\
[data.mars]
name = "users of Rover on Mars"
users = 4321

[data.moon]
name = "users of Lander on the Moon"
users = 77

[[run]]
data = "mars"
command = "elsewhere audit mars.csv --sensitive Food"
hidden = 0.4
knows = "an earlier month"
goal = "hide"
method = "optimal"
figures = [
    { attack = "detection", value = 0.81, low = 0.8, high = 0.82 },
    { attack = "reidentification", value = 0.3, low = 0.2, high = 0.4 },
]

[[run]]
data = "mars"
command = "elsewhere audit mars.csv --sensitive preset:health"
hidden = 0.08
figures = [
    { goal = "hide", method = "optimal", attack = "detection", value = 0.6, low = 0.55, high = 0.65 },
    { goal = "hide", method = "drawn", attack = "detection", value = 0.53, low = 0.5, high = 0.56 },
    { goal = "hide", method = "optimal", attack = "repetition", value = 0.17, low = 0.1, high = 0.2 },
    { goal = "hide", method = "optimal", attack = "repetition", lower = true, value = 0.0, low = 0.0, high = 0.004 },
]

[[run]]
data = "mars"
command = "elsewhere audit mars.csv --sensitive preset:health"
hidden = 0.08
kind = "preset:health"
place = "a place of health"
figures = [
    { goal = "hide", method = "optimal", attack = "inference", value = 0.7, low = 0.6, high = 0.8 },
]

[[run]]
data = "moon"
command = "elsewhere audit moon.csv --sensitive preset:health"
hidden = 0.1
figures = [
    { goal = "hide", method = "optimal", attack = "detection", value = 0.66, low = 0.61, high = 0.71 },
]

[[run]]
data = "moon"
command = "elsewhere audit moon.csv --target tourist --max-distance 0.3"
limit = 0.1
target = "tourist"
aim = "least-loss"
figures = [
    { goal = "resemble", method = "optimal", attack = "profiling", value = 0.9, low = 0.8, high = 1.0 },
]
"""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> tuple[Figure, ...]:
    figures = measured.parse(FILE)
    monkeypatch.setattr(guesses, "figures", lambda: figures)
    return figures


def told(result: ew.Sanitized) -> list[str]:
    return [str(guess) for guess in result.guesses]


@pytest.mark.usefixtures("known")
def test_sentences_take_what_is_in_the_file() -> None:
    assert told(ew.hide(HISTORY, {"hospital"})) == [
        # Of each set the nearest condition; the worst figure of all sets comes first.
        "A stranger who has seen many releases tells one like this from a genuine history in about 66 of 100 cases "
        "(50 is guessing). Measured: 66 (95% interval 61 to 71) on 77 users of Lander on the Moon, 10% of the visits "
        "hidden. Measured: 60 (95% interval 55 to 65) on 4,321 users of Rover on Mars, 8% of the visits hidden; you "
        "hide 10%.",
        "Other places may give away a visit to a place of health: a stranger tells who was there in about 70 of 100 "
        "cases (50 is guessing). Measured: 70 (95% interval 60 to 80) on 4,321 users of Rover on Mars, 8% of the "
        "visits hidden; you hide 10%.",
        "A later release can prove that something is hidden: some count falls for about 17 of 100 people, unless it "
        "continues the earlier release (--since, or lower in Python). Measured: 17 (95% interval 10 to 20) on 4,321 "
        "users of Rover on Mars, 8% of the visits hidden; you hide 10%.",
        "Somebody who knows an earlier month finds the release among those of 4,321 people in about 30 of 100 cases. "
        "Measured: 30 (95% interval 20 to 40) on 4,321 users of Rover on Mars, 40% of the visits hidden; you hide 10%.",
    ]


@pytest.mark.usefixtures("known")
def test_every_choice_has_its_own_figures() -> None:
    drawn = ew.hide(HISTORY, {"hospital"}, method="drawn", key=bytes(32))
    assert "in about 53 of 100 cases" in told(drawn)[0]
    later = told(ew.hide(HISTORY, {"hospital"}, lower={"café": 61}))
    assert "for about 0 of 100 people. Measured: 0 (95% interval 0 to 0.4) on" in later[2]
    much = told(ew.hide(HISTORY, {"café"}))
    assert (
        "81 (95% interval 80 to 82) on 4,321 users of Rover on Mars, 40% of the visits hidden; you hide 60%." in much[0]
    )
    halves = [replace(figure, knows=None) for figure in measured.parse(FILE) if figure.attack == "reidentification"]
    situation = guesses.Situation("hide", "optimal", None, False, 0.0, None, False, (), False)
    found = str(guesses.guesses(situation, halves)[0])
    assert found.startswith("Somebody who knows half of a person's visits finds a release of the other half among")
    least = told(ew.resemble(HISTORY, {"café": 1, "gym": 1}, max_distance=0.2))
    assert least[0].startswith("A stranger who has seen many releases tells one like this from the history of somebody")
    assert "90 of 100 cases" in least[0]
    assert "profile tourist, quality loss at most 0.1; yours is" in least[0]


@pytest.mark.usefixtures("known")
def test_what_is_unknown_is_said_to_be() -> None:
    target = {"café": 1, "gym": 1}
    for result, sentence in (
        (ew.avoid(HISTORY, target, 0.1), "what a stranger could guess from releases of avoid."),
        (
            ew.resemble(HISTORY, target, 0.1, method="heuristic"),
            "what a stranger could guess from heuristic releases of resemble.",
        ),
    ):
        assert told(result) == [f"Nobody has measured {sentence}"]
    # No figure of hidden health is one of hidden gyms.
    found = told(ew.hide(HISTORY, {"gym"}))
    assert not any("a place of health" in sentence for sentence in found)
    assert found[-1] == "Nobody has measured what other places tell about the hidden ones."
    over = told(ew.hide(HISTORY, {"hospital"}, taxonomy=Taxonomy.shipped()))
    assert over[0].startswith("Nobody has measured this for distances over a taxonomy;")
    assert told(ew.hide(HISTORY, {"hospital"}, quality="l2", redistribute=0))[0].startswith(
        "Nobody has measured this for the distance l2 and releases of another size than the history;"
    )


def test_a_draw_has_figures_of_its_own_whatever_its_aim_is_called(known: tuple[Figure, ...]) -> None:
    drawn = [replace(figure, method="drawn", aim=None) for figure in known if figure.goal == "resemble"]
    for aim in ("near", "least-loss"):
        asked = guesses.Situation("resemble", "drawn", aim, False, 0.0, 0.1, False, (), False)
        assert "90 of 100 cases" in str(guesses.guesses(asked, drawn)[0])
        nothing = "Nobody has measured what a stranger could guess from drawn releases of resemble."
        assert [str(guess) for guess in guesses.guesses(asked, known)] == [nothing]


@pytest.mark.usefixtures("known")
def test_a_policy_has_the_figures_of_all_conditions() -> None:
    first = str(ew.Policy("hide", ("preset:health",)).guesses()[0])
    assert "in up to 81 of 100 cases" in first
    for share in ("8%", "10%", "40%"):
        assert f"{share} of the visits hidden." in first


def test_the_shipped_figures_make_sense() -> None:
    assert measured.figures()
    for figure in measured.figures():
        assert 0.0 <= figure.low <= figure.value <= figure.high <= 1.0
        assert figure.users > 0
        assert figure.command.startswith("elsewhere audit ")
        if figure.attack == "inference":
            assert figure.place
            assert figure.kind == measured.ANY_KIND or Taxonomy.shipped().knows(figure.kind or "")
        if figure.attack in ("detection", "repetition"):
            assert figure.hidden
        if figure.attack == "profiling":
            assert figure.limit
    for goal in ("hide", "resemble", "avoid"):
        assert any(figure.goal == goal for figure in measured.figures())


def test_sentences_are_on_standard_error_and_in_the_report_alone(run: Run) -> None:
    asked = ["hide", "history.csv", "--sensitive", "hospital"]
    _, release, said = run(*asked, "--report", "report.json")
    sentences = [str(guess) for guess in ew.hide(ew.read("history.csv"), {"hospital"}).guesses]
    assert said.splitlines()[-len(sentences) - 1 :] == [
        "What a stranger could still guess:",
        *(f"- {sentence}" for sentence in sentences),
    ]
    report = json.loads(Path("report.json").read_text())
    assert [f"{it['sentence']} {it['source'] or ''}".strip() for it in report["guesses"]] == sentences
    assert report["guesses"][0]["figures"][0]["command"].startswith("elsewhere audit")
    assert "stranger" not in release
    assert run(*asked, "--quiet")[1:] == (release, "")
