"""What a history tells, in Python and on the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import elsewhere as ew
from elsewhere.looking import unusual
from tests.support.command import Run, run, write_table
from tests.support.tracks import TRACKS

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
    command = run("look", "my history.csv", "--format", "csv", "--count-column", "count")[1].splitlines()[-1]
    assert "'my history.csv' --format csv --count-column count --sensitive preset:health -o" in command
    found = json.loads(run("look", "my history.csv", "--json")[1])
    assert (found["home"]["visits"], found["presets"], len(found["places"])) == (9, ["health"], 4)


@pytest.mark.parametrize("name", ["none.csv", "empty.csv"])
def test_what_cannot_be_read_is_one_sentence(run: Run, name: str) -> None:
    Path("empty.csv").write_text("location,count\n", encoding="utf-8")
    status, out, err = run("look", name)
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_how_unusual_it_is() -> None:
    history = {"Home": 6, "Café Luna": 5, "Office": 4, "Park": 3, "Museum": 1, "Hospital": 1, "Zoo": 0}
    found = ew.look(history)
    assert (found.visits, found.top_visits, found.visited_once, found.members) == (20, 18, 2, None)
    first, second = unusual(found)
    assert first == "Your 4 most visited places have 18 of 20 visits (90%), and 2 places of 6 have only one visit."
    assert second.endswith("identifies you. It was not compared with other people's histories.")
    assert len([*unusual(ew.look({"Home": 2}))]) == 1


def test_the_members_of_a_profile() -> None:
    dice = random.Random(5)
    names = ["Aab", "Bbc", "Ccd", "Dde"]
    users = {str(user): {name: dice.randint(1, 9) for name in names} for user in range(40)}
    profile = ew.profiles.spread_of(ew.profiles.learn(users), users)
    distances = sorted(ew.distance("js", profile, counts) for counts in users.values())
    for counts in [*users.values()][:5]:
        members = ew.look(counts, profile).members
        assert members is not None
        assert members.distance == pytest.approx(ew.distance("js", profile, counts))
        # The quantiles lie between the distances of members.
        rank = sum(distance < members.distance for distance in distances)
        assert members.nearer == pytest.approx(rank / (len(users) - 1), abs=0.05)
    odd = ew.look({"Aab": 1, "Bbc": 90, "Ccd": 0, "Dde": 0}, profile)
    assert odd.members is not None
    assert (odd.members.nearer, odd.members.made_up) == (1.0, False)
    assert [*unusual(odd)][-1].endswith(") than all its members.")
    with pytest.raises(ew.InputError, match="only 0% of the weight of against is at places of the history"):
        ew.look({"Elm Street 5": 3}, profile)
    with pytest.raises(ew.InputError, match="the histogram is empty: all its counts are 0"):
        ew.look({"Elm Street 5": 0})
    with pytest.raises(ew.InputError, match="against has no spread"):
        ew.look({"cafe": 3}, ew.Profile({"cafe": 1}))


def test_kinds_of_a_shipped_profile(run: Run) -> None:
    status, out, _ = run("look", str(EXPORT), "--against", "tourist")
    assert status == 0
    assert "It is farther from the profile Tourist (distance 0." in out
    assert " of 100 of its members, who are made up.\n" in out
    told = json.loads(run("look", str(EXPORT), "--against", "tourist", "--json")[1])
    assert told["members"]["made_up"] is True
    assert told["members"]["distance"] == pytest.approx(
        ew.Policy("resemble", target="tourist", max_quality_loss=0.0, allow_mismatch=True)
        .plan()
        .sanitize(ew.read(EXPORT))
        .privacy_distance
    )
    write_table("ids.csv", {"ChIJ1": 3, "ChIJ2": 1})
    assert run("look", "ids.csv", "--against", "tourist")[::2] == (
        2,
        "elsewhere: only 0% of the visits are at places of a known kind, so the history cannot be compared with "
        "--against\n",
    )
    assert run("look", str(EXPORT), "--against", "nobody")[0] == 2


def test_the_command_reads_a_track_as_look_did(run: Run) -> None:
    read_as = ("--places", str(TRACKS / "places.csv"), "--keep-coordinates")
    command = run("look", str(TRACKS / "monday.gpx"), *read_as)[1].splitlines()[-1]
    assert f"monday.gpx {' '.join(read_as)} --sensitive preset:health" in command
