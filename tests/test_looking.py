"""What a history tells, in Python and on the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import elsewhere as ew
from tests.support.command import Run, run, write_table

__all__ = ["run"]

EXPORT = Path(__file__).parent / "fixtures" / "exports" / "google_takeout_2023_MARCH.json"


def test_what_the_export_says_counts_more_than_the_names() -> None:
    found = ew.look(ew.read(EXPORT))
    assert found.home is not None
    assert found.work is not None
    assert (found.home.name, found.home.visits) == ("Willow Court 12", 6)
    assert (found.work.name, found.work.reason) == ("Harbour Analytics Ltd", "given as 'work'")
    assert [place.name for place in found.sensitive] == ["Northside Fertility Clinic", "St. Brendan Church"]
    assert ew.look(ew.read(EXPORT).histogram).work != found.work


def test_the_presets_hide_all_that_is_often_sensitive() -> None:
    dice = random.Random(4)
    shipped = ew.Taxonomy.shipped()
    names = [node.name for _, node in shipped.tree()]
    for _ in range(20):
        history = {name: dice.randint(0, 3) for name in dice.sample(names, 12)} | {"Café": 5}
        found = ew.look(history)
        hidden = ew.hide(history, shipped.select([f"preset:{name}" for name in found.presets], among=history))
        assert not {place.name for place in found.sensitive}.intersection(hidden.histogram)
        assert {place.name for place in found.places} == {name for name, count in history.items() if count}
        # None of them could be left out.
        for name in found.presets:
            others = [f"preset:{other}" for other in found.presets if other != name]
            assert not {place.name for place in found.sensitive} <= shipped.select(others, among=history)


def test_the_command_says_it_and_how_to_hide_it(run: Run) -> None:
    write_table("my history.csv", {"Home": 9, "St. Mary's Hospital": 1, "Qqq": 2, "\x1b[31mXyz": 1})
    status, out, err = run("look", "my history.csv")
    assert (status, err) == (0, "")
    assert "You seem to live at Home (9 of 13 visits; " in out
    assert "It shows 1 visit to St. Mary's Hospital: Hospital (the word 'hospital'), which may hint at health" in out
    assert "Not recognised: 2 places with 3 visits.\n  Qqq (2)\n" in out
    assert out.endswith("To hide this: elsewhere hide 'my history.csv' --sensitive preset:health -o release.csv\n")
    assert "\x1b" not in out
    found = json.loads(run("look", "my history.csv", "--json")[1])
    assert (found["home"]["visits"], found["presets"], len(found["places"])) == (9, ["health"], 4)


@pytest.mark.parametrize("name", ["none.csv", "empty.csv"])
def test_what_cannot_be_read_is_one_sentence(run: Run, name: str) -> None:
    Path("empty.csv").write_text("location,count\n", encoding="utf-8")
    status, out, err = run("look", name)
    assert (status, out, err.count("\n")) == (2, "", 1)
