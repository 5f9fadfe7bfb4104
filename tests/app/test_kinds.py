"""Kinds of place on the page's server: corrections, reasons, what is asked about, and questions by kind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.app import interface, queries
from elsewhere.app.session import OpenHistory, Session
from elsewhere.histories import InMemoryFile
from tests.support.client import Client, serving
from tests.support.exports import EXPORTS

HISTORY = {
    "Klinikum Nord": 4, "Ty's Bar": 5, "Blue Lantern": 3, "Iron Works": 2, "City Museum": 6, "Hotel Adlon": 3,
    "Café Morgenrot": 7, "Bar": 1, "a=b; $HOME": 2,
}  # fmt: skip
CONTENT = "location,count\n" + "".join(f"{name},{count}\n" for name, count in HISTORY.items())
#: As a person might correct them: by name, with odd characters, and not at all.
KINDS = {"Ty's Bar": "Gay bar", "Iron Works": "Gym", "a=b; $HOME": "Hospital", "Klinikum Nord": "none"}
TOURIST = {"goal": "resemble", "target": "tourist", "max_quality_loss": 0.1}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(Session()) as client:
        yield client


@pytest.fixture(scope="module")
def history(client: Client) -> str:
    return str(client.upload("history.csv", CONTENT.encode())["id"])


def own_of(shown: dict[str, Any]) -> dict[str, set[str]]:
    """The nodes that each location is at."""
    at: dict[str, set[str]] = {}
    for node in shown["nodes"]:
        for location in node["own"]:
            at.setdefault(location, set()).add(node["id"])
    return at


def test_each_place_is_filed_under_its_kind_with_the_reason(client: Client, history: str) -> None:
    shown = client.tree(history)
    told = {it["name"]: it for it in shown["places"]}
    for kind in ew.kinds(HISTORY):
        assert (told[kind.name]["reason"], told[kind.name]["confidence"]) == (kind.reason, kind.confidence)
        assert own_of(shown)[kind.name] == {kind.node or ""}
    assert dict(ew.by_kind(HISTORY)) == _totals(shown)


def _totals(shown: dict[str, Any]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for place in shown["places"]:
        totals[place["kind"]] = totals.get(place["kind"], 0) + HISTORY[place["name"]]
    return totals


def test_the_export_tells_more_than_the_name(client: Client) -> None:
    name = "google_takeout_2023_MARCH.json"
    home = {place for place, types in ew.read(EXPORTS / name).types.items() if "home" in types}
    opened = client.upload(name, (EXPORTS / name).read_bytes())["id"]
    shown = client.tree(opened)
    assert home
    assert home <= set(shown["presets"]["preset:home"])
    assert {it["reason"] for it in shown["places"] if it["name"] in home} == {"given as 'home'"}
    answer = client.release(opened, {"goal": "hide", "sensitive": ["preset:home"]})
    assert home <= {bar["location"] for bar in answer["bars"] if bar["sensitive"]}


def test_a_correction_moves_a_place_and_counts_for_presets(client: Client, history: str) -> None:
    before, after = client.tree(history), client.tree(history, kinds=KINDS)
    at = own_of(after)
    assert [at[name] for name in KINDS] == [{"gay_bar"}, {"gym"}, {"hospital"}, {""}]
    assert {it["reason"] for it in after["places"] if it["name"] in KINDS} == {"you said so"}
    others = HISTORY.keys() - KINDS
    assert {name: own_of(before)[name] for name in others} == {name: at[name] for name in others}
    assert before["presets"]["preset:health"] == ["Klinikum Nord"]
    assert after["presets"]["preset:health"] == ["a=b; $HOME"]
    assert after["presets"]["preset:sex-life"] == ["Ty's Bar"]
    hidden = client.release(
        history, {"goal": "hide", "sensitive": ["preset:health", "preset:sex-life"], "kinds": KINDS}
    )
    assert {bar["location"] for bar in hidden["bars"] if bar["sensitive"]} == {"a=b; $HOME", "Ty's Bar"}


def test_kinds_to_choose_from(client: Client) -> None:
    """Each is called so that a policy means it, and nothing else."""
    ambiguous = b"id,name,parent_id\n1,Shop,\n2,Books,1\n3,Music,\n4,Books,3\n5,A=B,\n"
    own = client.send("api/taxonomies", ambiguous, name="kinds.csv").json(interface.TABLE)["id"]
    listed = client.ask("GET", f"api/kinds?taxonomy={own}").json(interface.KINDS)
    assert [(it["value"], it["depth"]) for it in listed] == [("Shop", 0), ("2", 1), ("Music", 0), ("4", 1), ("5", 0)]
    shipped = ew.Taxonomy.shipped()
    values = [it["value"] for it in client.ask("GET", "api/kinds").json(interface.KINDS)]
    nodes = [shipped.node(value) for value in values]
    assert nodes == [node for _, node in shipped.tree()]
    opened = client.upload("h.csv", b"location,count\nX,3\nY,2\n")["id"]
    shown = client.tree(opened, taxonomy=own, kinds={"X": "4"})
    assert own_of(shown) == {"X": {"4"}, "Y": {""}}
    assert {it["name"]: it["reason"] for it in shown["places"]} == {"X": "you said so", "Y": None}


def test_the_page_asks_about_what_no_name_tells(client: Client, history: str) -> None:
    assert client.tree(history)["unsure"] == ["Ty's Bar", "Blue Lantern", "Iron Works", "a=b; $HOME", "Bar"]
    assert client.tree(history, kinds=KINDS)["unsure"] == ["Blue Lantern", "Bar"]
    assert client.tree(history, by="kind")["unsure"] == ["Unknown", "Bar"]
    many = "location,count\n" + "".join(f"Xyzzy {at},{at + 1}\n" for at in range(40))
    unsure = client.tree(client.upload("h.csv", many.encode())["id"])["unsure"]
    assert unsure == [f"Xyzzy {at}" for at in range(39, 27, -1)]
    assert client.tree(client.upload("h.csv", b"location,count\nCity Museum,2\n")["id"])["unsure"] == []


def test_a_tree_of_kinds(client: Client, history: str) -> None:
    """With corrections: the locations are the kinds that the release would have."""
    shown = client.tree(history, by="kind", kinds=KINDS, target="tourist")
    totals = ew.by_kind(HISTORY, types={name: (kind,) for name, kind in KINDS.items()})
    tourist = {ew.Taxonomy.shipped().kind_at(name, 2) for name in ew.profiles.stored("tourist").profile}
    locations = own_of(shown)
    assert set(locations) == {*totals, *tourist}
    assert shown["presets"]["preset:health"] == ["Hospital"]
    counted = {node["name"]: node["count"] for node in shown["nodes"] if node["own"] == [node["name"]]}
    assert {name: counted[name] for name in totals if name != "Unknown"} == {
        name: count for name, count in totals.items() if name != "Unknown"
    }
    # A place that is called like a kind and is none does not make the kind unknown.
    assert (
        "Hospital" in client.tree(history, by="kind", kinds={**KINDS, "Hospital": "none"})["presets"]["preset:health"]
    )


def test_a_target_of_kinds_brings_no_places(client: Client, history: str) -> None:
    """The release keeps names, so there is nothing of the target to tick."""
    assert set(own_of(client.tree(history, target="tourist"))) == set(HISTORY)


@pytest.mark.parametrize(
    ("ground", "match"),
    [
        ({"kinds": ["Bar"]}, "kinds is"),
        ({"kinds": {"Bar": 1}}, "kinds is {'Bar': 1}"),
        ({"kinds": {"Bar": "Gim"}}, "which is not in the taxonomy; did you mean 'Gym'"),
        ({"by": "kinds"}, "by is 'kinds'"),
        ({"depth": 0}, "depth is 0"),
        ({"taxonomy": ["x"]}, "taxonomy is ['x']; it must be a text"),
        ({"kind": {}}, "unknown key 'kind'"),
        ([], "the body is []; it must be an object"),
    ],
)
def test_bad_grounds_are_refused_in_a_sentence(client: Client, history: str, ground: Any, match: str) -> None:
    reply = client.ask("POST", f"api/histories/{history}/tree", json.dumps(ground).encode())
    assert reply.status == 400
    assert match in reply.json({})["error"]


# Questions by kind


def test_a_release_of_kinds(client: Client, history: str) -> None:
    for question in ({"goal": "hide"}, {**TOURIST, "max_quality_loss": 0.3}):
        asked = {**question, "by": "kind", "kinds": KINDS}
        expected = ew.Policy.of({**asked, "sensitive": ["Gay bar", "LGBT venue", "Hospital"]}).plan().sanitize(HISTORY)
        ticked = ["LGBT venue", "Hospital"]  # gay bars are LGBT venues at this level
        answer = client.release(history, {**asked, "ticked": ticked})
        assert {bar["location"]: bar["after"] for bar in answer["bars"] if bar["after"]} == dict(expected.histogram)
        assert not {*HISTORY, *ticked} - {"Bar"} & dict(expected.histogram).keys()
    refused = client.release(history, {"goal": "hide", "by": "kind", "ticked": ["Klinikum Nord"]})
    assert "'Klinikum Nord' is not in the history" in refused["error"], "ticks of places are no ticks of kinds"


def test_a_target_that_matches_little_is_refused_with_ways_on(client: Client, history: str) -> None:
    for kind in ("frontier", "release"):
        refused = client.question(history, kind, TOURIST).json({})
        assert refused["error"].startswith("only ")
        assert ";" not in refused["error"]
        assert refused["hint"] == "Compare kinds of place instead, choose another target, or compare anyway."
        assert refused["ways"] == ["kind", "mismatch"]
    assert client.release(history, {**TOURIST, "by": "kind"})["possible"]
    anyway = client.release(history, {**TOURIST, "allow_mismatch": True})
    assert {bar["location"] for bar in anyway["bars"]} == set(HISTORY)
    odd = client.send("api/targets", b"location,count\nqwx,3\n", name="t.csv").json(interface.TABLE)["id"]
    assert client.release(history, {**TOURIST, "target": odd, "by": "kind"})["ways"] == ["mismatch"]


def test_counts_at_sensitive_kinds_rise_only_if_allowed(client: Client) -> None:
    opened = client.upload("h.csv", b"location,count\nKlinikum Nord,1\nCity Museum,9\nHotel Adlon,9\n")["id"]
    weights = b"location,count\nKlinikum Nord,9\nCity Museum,9\nHotel Adlon,1\n"
    target = client.send("api/targets", weights, name="t.csv").json(interface.TABLE)["id"]
    asked = {"goal": "resemble", "target": target, "max_quality_loss": 0.2}
    assert client.tree(opened, target=target)["watched"] == 1
    for allowed in (None, True):
        answer = client.release(opened, {**asked, "allow_sensitive_rise": allowed})
        after = {bar["location"]: bar["after"] for bar in answer["bars"]}
        assert (after["Klinikum Nord"] > 1) == bool(allowed)
        assert any("adds visits to places of often sensitive kinds" in note for note in answer["notes"]) == bool(
            allowed
        )
        assert any("often sensitive kinds from rising" in note for note in answer["notes"]) != bool(allowed)


def test_every_place_ticked_is_said_although_the_target_has_more_kinds(client: Client, history: str) -> None:
    ticked = {**TOURIST, "allow_mismatch": True, "ticked": list(HISTORY)}
    assert "Every place is ticked" in client.release(history, ticked)["sentence"]


# What is taken along


def _opened(session: Session) -> OpenHistory:
    return session.put(session.read(InMemoryFile("history.csv", CONTENT.encode()), {}))


@pytest.mark.parametrize("taxonomy", [None, "shipped"])
@pytest.mark.parametrize("by", ["name", "kind"])
def test_the_policy_hides_what_is_ticked_and_nothing_else(taxonomy: str | None, by: str) -> None:
    """A ticked name may be that of a kind as well, which covers more: Bar, or Ty's Bar too."""
    session = Session()
    opened = _opened(session)
    choices = {"number": 1, "by": by, "taxonomy": taxonomy, "kinds": KINDS, **TOURIST, "allow_mismatch": True}
    locations = list(HISTORY) if by == "name" else ["Bar", "Gym", "Unknown", "Hotel", "Museum", "Hospital"]
    for ticked in list(combinations(locations, 2))[::3]:
        for names in ([], ["preset:health"], *([["nightlife"]] if taxonomy else [])):
            asked = queries.resolve(session, opened, {**choices, "sensitive": names, "ticked": list(ticked)})
            covered = asked.policy.plan().question(opened.history).covered.locations
            assert covered == asked.question.covered.locations
            assert {name for name in covered if name in asked.question.history} == set(ticked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        {"goal": "hide", "sensitive": ["preset:health"], "ticked": ["a=b; $HOME", "Bar"], "taxonomy": "shipped"},
        {"goal": "hide", "by": "kind", "depth": 1, "ticked": ["Health care"]},
        {**TOURIST, "by": "kind", "ticked": ["Hospital"], "allow_sensitive_rise": True},
        {**TOURIST, "goal": "avoid", "allow_mismatch": True, "ticked": ["Ty's Bar"]},
    ],
    ids=["corrected", "hide kinds", "resemble kinds", "anyway"],
)
def test_what_is_taken_does_the_same_again(client: Client, tmp_path: Path, question: dict[str, Any]) -> None:
    (tmp_path / "history.csv").write_text(CONTENT, encoding="utf-8")
    opened = client.upload("history.csv", CONTENT.encode())["id"]
    question = {**question, "kinds": KINDS}
    taken = {what: client.take(opened, question, what) for what in interface.TAKEN}
    command = taken["command.sh"].decode().replace("elsewhere ", f"{sys.executable} -m elsewhere ", 1)
    (tmp_path / "command.sh").write_text(command, encoding="utf-8")
    (tmp_path / "script.py").write_bytes(taken["script.py"])
    for run in (["sh", "command.sh"], [sys.executable, "script.py"]):
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "release.csv").read_bytes() == taken["release.csv"]
        (tmp_path / "release.csv").unlink()
    assert ew.Policy.parse("p", taken["policy.toml"]).kinds == KINDS
    assert json.loads(taken["report.json"])
    loaded = client.send(f"api/histories/{opened}/policy", taken["policy.toml"], name="policy.toml")
    again = loaded.json(interface.POLICY)["question"]
    assert client.take(opened, {**again, "number": 2}, "release.csv") == taken["release.csv"]
    for key in ("kinds", "by", "depth", "allow_mismatch", "allow_sensitive_rise"):
        assert again.get(key) == question.get(key)


def test_a_policy_over_levels_is_for_the_command_line(client: Client, history: str) -> None:
    written = b'goal = "hide"\nsensitive = ["Bar"]\ntaxonomy = "shipped"\nlevels = "equal"'
    refused = client.send(f"api/histories/{history}/policy", written, name="policy.toml").json(interface.POLICY)
    assert "the page cannot apply 'levels'; run the policy with: elsewhere hide --policy FILE" in refused["error"]
