"""The page's server: that it answers as the interface says and as the package would, and what is taken along."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from benchmarks.data import skewed
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.app import curves, interface, queries, server, session, workers
from elsewhere.app.session import FORGOTTEN_AFTER, Session
from elsewhere.cli import main
from elsewhere.histories import InMemoryFile
from elsewhere.model.question import Question
from elsewhere.solve import solve
from elsewhere.verification.verify import Check, check_release
from tests.support.client import TOKEN, Client, Reply, serving
from tests.support.cluster import wait_for
from tests.support.exports import EXPORTS, MEDIA

#: Names that a shell, a command or a table could take for something else.
HISTORY = {
    "--help": 5, "-x": 2, "Bar": 3, "Casino \"Royal\", 'East'": 4, "The Anchor Bar": 6, "$HOME; ls": 7, "café": 12,
    "病院": 3, "hospital": 2, "Museum": 9, "Hotel": 1, "two\nlines": 4,
}  # fmt: skip
RESEMBLE = {"goal": "resemble", "target": "tourist", "max_quality_loss": 0.1}


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers do not depend on how far a search gets in the seconds that the page gives it."""
    monkeypatch.setattr(queries, "SECONDS", 600.0)
    for limit in ("_SECONDS", "_ADVICE"):
        monkeypatch.setattr(curves, limit, 600.0)


@pytest.fixture(scope="module")
def open_desk() -> Session:
    return Session()


@pytest.fixture(scope="module")
def client(open_desk: Session) -> Iterator[Client]:
    with serving(open_desk) as client:
        yield client


def table(counts: dict[str, int]) -> bytes:
    content = io.BytesIO()
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    parquet.write_table(arrow.table({"location": list(counts), "count": list(counts.values())}), content)
    return content.getvalue()


@pytest.fixture(scope="module")
def history(client: Client) -> str:
    return str(client.upload("history.parquet", table(HISTORY))["id"])


# Loading


EXPORTED = sorted(path.name for path in EXPORTS.iterdir() if path.is_file())


@pytest.mark.parametrize("name", EXPORTED)
def test_every_file_is_read_as_from_the_disk(client: Client, name: str) -> None:
    reading = {"user": "1"} if name.startswith("tsmc") else {}
    expected = ew.read(EXPORTS / name, **reading)  # type: ignore[arg-type]
    shown = client.upload(name, (EXPORTS / name).read_bytes(), **reading)
    assert {it["name"]: it["count"] for it in shown["locations"]} == dict(expected.histogram)
    assert (shown["name"], shown["format"], tuple(shown["notes"])) == (name, expected.format, expected.notes)
    assert (shown["size"], shown["length"]) == (expected.histogram.size, expected.histogram.length)


def test_a_folder_and_the_same_as_a_zip(client: Client) -> None:
    expected = ew.read(EXPORTS / "swarm_export")
    folder = client.send("api/folders", b"", name="swarm_export").json(interface.FOLDER)["id"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for at, path in enumerate(sorted((EXPORTS / "swarm_export").iterdir()), start=1):
            sent = client.send(f"api/folders/{folder}/files", path.read_bytes(), name=f"swarm_export/{path.name}")
            assert sent.json(interface.FOLDER)["files"] == at
            archive.write(path, path.name)
    for shown in (
        client.read(client.send(f"api/folders/{folder}/read", b"")),
        client.upload("export.zip", packed.getvalue()),
    ):
        assert {it["name"]: it["count"] for it in shown["locations"]} == dict(expected.histogram)
        assert tuple(shown["notes"]) == expected.notes
    assert client.send(f"api/folders/{folder}/read", b"").status == 404


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_browser_s_database_stays_in_memory(client: Client, tmp_path: Path, journal: str) -> None:
    with closing(sqlite3.connect(tmp_path / "History")) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("CREATE TABLE urls (id INTEGER, url TEXT)")
        database.execute("CREATE TABLE visits (url INTEGER)")
        database.execute("INSERT INTO urls VALUES (1, 'https://www.example.org/a'), (2, 'https://clinic.example/')")
        database.execute("INSERT INTO visits VALUES (1), (2), (1)")
        database.commit()
    shown = client.upload("History", (tmp_path / "History").read_bytes())
    assert shown["locations"] == [{"name": "clinic.example", "count": 1}, {"name": "example.org", "count": 2}]
    assert ["newest visits are missing" in note for note in shown["notes"]] == ([True] if journal == "WAL" else [])


def test_labels_come_afterwards_and_may_be_replaced(client: Client) -> None:
    timeline = EXPORTS / "google_timeline_android_Timeline.json"
    opened = client.upload(timeline.name, timeline.read_bytes())
    ids = [it["name"] for it in opened["locations"]]
    for words in (("one", "two"), ("three", "four")):
        labels = "id,label\n" + "".join(f"{at},{word}\n" for at, word in zip(ids, words, strict=False))
        shown = client.read(client.send(f"api/histories/{opened['id']}/labels", labels.encode(), name="labels.csv"))
        assert shown["id"] == opened["id"]
        assert {*words, *ids[2:]} == {it["name"] for it in shown["locations"]}


# Asking


def test_release_is_what_the_package_answers(client: Client, history: str) -> None:
    for question in (
        {"goal": "hide", "sensitive": ["preset:health"]},
        RESEMBLE,
        {**RESEMBLE, "goal": "avoid", "quality": "variational"},
    ):
        expected = ew.Policy.of(question).plan().sanitize(HISTORY)
        answer = client.release(history, question)
        assert answer["possible"]
        assert {bar["location"]: bar["after"] for bar in answer["bars"] if bar["after"]} == dict(expected.histogram)
        assert {bar["location"]: bar["before"] for bar in answer["bars"] if bar["before"]} == HISTORY
        assert answer["quality_loss"] == expected.quality_loss
        assert answer["privacy_distance"] == expected.privacy_distance
        assert f"{expected.quality_loss:.4g}" in answer["exact"]
    assert client.ask("GET", f"api/histories/{history}").json(interface.HISTORY)["question"]["quality"] == "variational"


def test_what_a_stranger_could_guess_and_what_chance_costs(
    client: Client, history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = bytes(range(32))
    monkeypatch.setenv("ELSEWHERE_KEY", key.hex())
    asked = {"goal": "hide", "ticked": ["hospital", "café"]}
    for method in (None, "drawn"):
        result = ew.hide(HISTORY, ["hospital", "café"], method=method or "optimal", key=key)
        answer = client.release(history, {**asked, "method": method})
        assert answer["guesses"] == [{"sentence": it.sentence, "source": it.source} for it in result.guesses]
        assert answer["quality_words"].endswith("above the least possible") == (method == "drawn")
        assert key.hex() not in json.dumps(answer)
    assert client.ask("GET", "api/start").json(interface.START)["methods"]["hide"] == ["optimal", "drawn"]


def test_what_is_ticked_is_sensitive_and_nothing_else(client: Client, history: str) -> None:
    """Bar is a node of the taxonomy as well, and would cover The Anchor Bar."""
    for ticked in (["Bar"], ["The Anchor Bar", "hospital"], ["--help", "café"], []):
        for names in ([], ["preset:health"], ["Bar"]):
            asked = {"goal": "hide", "sensitive": names, "ticked": ticked, "taxonomy": "shipped"}
            answer = client.release(history, asked)
            assert {bar["location"] for bar in answer["bars"] if bar["sensitive"]} == set(ticked)


def test_a_ticked_place_takes_no_other_of_the_target_along(client: Client) -> None:
    """Bar is a node, too, but not ticked as one; a branch that is covers what the target has of it."""
    opened = client.upload("h.csv", b"location,count\nHospital,3\nBar,2\ncafe,4\n")["id"]
    weights = b"location,count\nBar,1\nWine Bar,2\nMuseum,3\nDental Clinic,1\n"
    target = client.send("api/targets", weights, name="t.csv").json(interface.TABLE)["id"]
    asked = {"goal": "resemble", "target": target, "max_quality_loss": 0.9, "taxonomy": "shipped"}
    answer = client.release(opened, {**asked, "sensitive": ["health_care"], "ticked": ["Hospital", "Bar"]})
    assert {bar["location"] for bar in answer["bars"] if bar["sensitive"]} == {"Hospital", "Bar", "Dental Clinic"}


def test_tree(client: Client, history: str) -> None:
    shown = client.tree(history, target="tourist")
    nodes = {node["id"]: node for node in shown["nodes"]}
    counts = ew.Taxonomy.shipped().counts(HISTORY)
    seen: set[str | None] = {None}
    for node in shown["nodes"]:
        assert node["parent"] in seen
        seen.add(node["id"])
        assert node["count"] == sum(HISTORY.get(name, 0) for name in node["locations"])
        if node["known"]:
            assert node["count"] == counts.below[node["id"]]
    assert "Museum" in nodes["museum"]["own"]
    assert set(counts.unknown) <= set(shown["nodes"][-1]["locations"])
    assert shown["presets"]["preset:health"] == ["hospital", "病院"]


def test_frontier_rises_and_says_what_is_needed(client: Client, history: str) -> None:
    ticked = {**RESEMBLE, "ticked": ["Museum"], "max_distance": 0.3}
    shown = client.frontier(history, ticked)
    budgets = [point["max_quality_loss"] for point in shown["points"]]
    distances = [point["privacy_distance"] for point in shown["points"]]
    assert budgets == sorted(budgets)
    assert distances == sorted(distances, reverse=True)
    assert shown["suggested"] in budgets
    policy = ew.Policy.of({**RESEMBLE, "sensitive": ["Museum"], "max_distance": 0.3})
    with pytest.raises(ew.PrivacyNotMet) as missed:
        replace(policy, max_quality_loss=budgets[0]).plan().sanitize(HISTORY)
    assert shown["needed"] == pytest.approx(missed.value.needed_quality_loss)
    with pytest.raises(ew.Infeasible) as none:
        replace(policy, max_quality_loss=0.0).plan().sanitize(HISTORY)
    assert budgets[0] == pytest.approx(none.value.needed_quality_loss)


def test_the_smallest_change_that_meets_a_distance(client: Client, history: str) -> None:
    asked = {**RESEMBLE, "max_quality_loss": None, "max_distance": 0.3, "aim": "least-loss"}
    shown = client.release(history, asked)
    alone = ew.Policy.of({key: value for key, value in asked.items() if value is not None}).plan().sanitize(HISTORY)
    assert shown["quality_loss"] == alone.quality_loss
    assert shown["privacy_distance"] <= 0.3
    assert shown["certificate"] == "Proven: no release that meets the privacy distance is closer to your history."
    curve = client.frontier(history, asked)
    assert curve["needed"] == pytest.approx(alone.quality_loss)
    command = client.take(history, asked, "command.sh").decode()
    assert "--max-distance 0.3 --aim least-loss" in command
    assert "--max-quality-loss" not in command
    never = client.release(history, {**asked, "max_distance": 0.0, "ticked": ["Museum"]})
    assert never["needed_quality_loss"] is None
    assert never["best"]["privacy_distance"] > 0.0


def test_the_curve_of_a_long_history_is_what_could_be_reached_at_best(client: Client) -> None:
    sample = client.read(client.ask("POST", "api/samples/year"))["id"]
    for goal, sign in (("resemble", 1), ("avoid", -1)):
        asked = {**RESEMBLE, "goal": goal}
        shown = client.frontier(sample, asked)
        assert not shown["exact"]
        point = shown["points"][len(shown["points"]) // 3]
        reached = client.release(sample, {**asked, "max_quality_loss": point["max_quality_loss"], "number": 2})
        assert -1e-9 <= sign * (reached["privacy_distance"] - point["privacy_distance"]) < 0.01


def test_questions_without_an_answer_are_answered(client: Client, history: str) -> None:
    everything = client.release(history, {"goal": "hide", "ticked": list(HISTORY)})
    assert "Every place" in everything["sentence"]
    assert "Untick" in everything["hint"]
    all_of_both = {**RESEMBLE, "ticked": [*HISTORY, *ew.profiles.stored("tourist").profile]}
    assert client.question(history, "frontier", all_of_both).json({})["error"] == everything["sentence"]
    refused = client.question(history, "take", {"goal": "hide", "ticked": list(HISTORY)}, what="release.csv")
    assert "every place" in refused.json({})["error"]
    too_tight = client.release(history, {**RESEMBLE, "max_quality_loss": 0.001, "ticked": ["café"]})
    assert 0 < too_tight["needed_quality_loss"] < 1
    assert too_tight["hint"].startswith("A quality loss of 0.")
    missed = client.release(history, {**RESEMBLE, "max_distance": 0.001})
    assert missed["best"]["privacy_distance"] > 0.001
    assert not everything["possible"]
    assert not too_tight["possible"]
    assert not missed["possible"]
    none = client.question(history, "frontier", {"goal": "hide"}).json({})
    assert "no frontier" in none["error"]
    never = client.release(history, {**RESEMBLE, "max_distance": 0.0, "ticked": ["Museum"]})
    assert never["needed_quality_loss"] is None


@pytest.mark.parametrize(
    ("question", "match"),
    [
        ({"goal": "hid"}, "goal is 'hid'"),
        ({}, "the key 'goal' is missing"),
        ({**RESEMBLE, "max_quality_los": 1}, "did you mean 'max_quality_loss'"),
        ({**RESEMBLE, "max_quality_loss": "much"}, "max_quality_loss is 'much'"),
        ({**RESEMBLE, "max_quality_loss": -1}, "max_quality_loss is -1"),
        ({**RESEMBLE, "time_limit": "long"}, "time_limit is 'long'"),
        ({**RESEMBLE, "target": "/etc/passwd"}, "your target was cleared from memory"),
        ({**RESEMBLE, "target": ["tourist"]}, r"target is \['tourist'\]; it must be a text"),
        ({"goal": "hide", "sensitive": "preset:health"}, "sensitive is 'preset:health'; it must be a list"),
        ({"goal": "hide", "ticked": [1]}, r"ticked is \[1\]"),
        ({"goal": "hide", "ticked": ["nowhere"]}, "'nowhere' is not in the history"),
        ({"goal": "hide", "taxonomy": "/etc/passwd"}, "your taxonomy was cleared from memory"),
        ({"goal": "hide", "number": "one"}, "whole number"),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(
    client: Client, history: str, question: dict[str, Any], match: str
) -> None:
    reply = client.question(history, "release", question)
    assert reply.status == 400, "a 404 says that the history itself is gone"
    assert re.search(match, reply.json({})["error"]), reply.content


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
def test_no_question_is_kept_that_json_cannot_say(client: Client, history: str, number: str) -> None:
    asked = json.dumps({**RESEMBLE, "number": 1, "max_quality_loss": 0.125}).replace("0.125", number).encode()
    assert client.ask("POST", f"api/histories/{history}/release", asked).status == 400
    assert client.ask("GET", f"api/histories/{history}").status == 200


KEYS = st.sampled_from(list(interface.QUESTION["properties"]))
ODD = st.sampled_from([None, True, -1, 0.5, 1e308, 10**400, "", "a", "l2", "target", [], [1], ["Bar"], {"a": 1}])


@settings(max_examples=60, deadline=None)
@given(
    odd=st.dictionaries(KEYS, ODD), usual=st.sampled_from([{"goal": "hide"}, RESEMBLE, {**RESEMBLE, "goal": "avoid"}])
)
def test_no_question_is_a_mistake_of_ours(odd: dict[str, Any], usual: dict[str, Any]) -> None:
    session = Session()
    opened = session.read(InMemoryFile("h.csv", b"location,count\nBar,2\nHotel,3\na,4\n"), {})
    for ask in (queries.release, partial(curves.frontier, tell=lambda line: None)):
        with suppress(ew.ElsewhereError):
            ask(session, opened, {**usual, **odd, "number": 1, "time_limit": 0.1})


def test_files_that_cannot_be_read(client: Client) -> None:
    for name, content, match in (
        ("empty.csv", b"", "empty.csv: it is empty"),
        ("nothing.csv", b"location,count\n", "nothing.csv: it has no visits"),
        ("cut.zip", b"PK\x03\x04 and no more", "cut.zip: it is damaged"),
        ("cut.sqlite", b"SQLite format 3\0", "cut.sqlite: it is not a valid database"),
        ("visits.json", (EXPORTS / "swarm_export" / "visits.json").read_bytes(), "detected by itself"),
        ("broken.json", b'{"a": ', "broken.json: it is not valid JSON"),
    ):
        assert match in client.upload(name, content)["error"]
    for path in ("targets", "taxonomies"):
        assert client.send(f"api/{path}", b"\0", name="odd").json({})["error"]
    assert client.send("api/histories", b"location\na\n").json({})["error"] == "the query has no name"


def test_a_mistake_of_our_own_tells_nothing(
    client: Client, history: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("Northside Clinic")

    monkeypatch.setattr(queries, "release", fail)
    monkeypatch.setattr(session, "read", fail)
    assert client.question(history, "release", RESEMBLE).status == 500
    assert "internal error" in client.upload("history.csv", b"location\nNorthside Clinic\n")["error"]
    said = "".join(capfd.readouterr())
    assert said.count("KeyError in test_server.py") == 2
    assert "Northside" not in said


def test_more_than_the_page_takes(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "UPLOAD_BYTES", 1000)
    monkeypatch.setattr(session, "UPLOAD_BYTES", 1000)
    long = b"location\n" + b"a\n" * 1000
    assert client.send("api/histories", long, name="long.csv").status == 413
    folder = client.send("api/folders", b"", name="f").json(interface.FOLDER)["id"]
    sent = [client.send(f"api/folders/{folder}/files", long[:600], name=f"{at}.json").status for at in range(2)]
    assert sent == [200, 413]
    other = client.send("api/folders", b"", name="f").json(interface.FOLDER)["id"]
    assert client.send(f"api/folders/{other}/files", long[:600], name="0.json").status == 200
    for at in (folder, other):
        assert client.ask("DELETE", f"api/folders/{at}").json(interface.NOTHING) == {}
        assert client.send(f"api/folders/{at}/files", b"{}", name="1.json").status == 404


def test_what_becomes_too_large(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    content, packed = b"location\n" + b"a\n" * 500, io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("checkins.json", content)
    monkeypatch.setattr(session, "_MOST_UNPACKED", 1000)
    for large in (gzip.compress(content), packed.getvalue()):
        assert "too large when unpacked" in client.upload("large", large)["error"]


# Overtaking and forgetting


def test_overtaken_questions_are_dropped(
    open_desk: Session, client: Client, history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, asked = threading.Semaphore(0), threading.Event(), []
    answer = queries.release

    def slow(session: Session, opened: Any, question: Any) -> Any:
        asked.append(question["number"])
        begun.release()
        go_on.wait(600)
        return answer(session, opened, question)

    monkeypatch.setattr(queries, "release", slow)
    monkeypatch.setattr(workers, "TURN", 600.0)  # so that two are worked on, and the others wait
    statuses: dict[int, int] = {}

    def ask(number: int) -> None:
        statuses[number] = client.question(history, "release", {**RESEMBLE, "number": number}).status

    threads = [threading.Thread(target=ask, args=[number]) for number in (10, 11, 12, 13)]
    for number, thread in enumerate(threads, start=10):
        thread.start()
        while open_desk.histories[history].newest.get("release", 0) < number:
            time.sleep(0.001)
        if number < 12:
            begun.acquire(timeout=300)
    go_on.set()
    for thread in threads:
        thread.join()
    assert statuses == {10: 409, 11: 409, 12: 409, 13: 200}
    assert asked == [10, 11, 13]
    ask(5)
    assert statuses[5] == 409


def test_big_questions_do_not_hold_up_a_small_one(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three people: the questions of two have no end in sight when the third is answered."""
    begun, go_on = threading.Semaphore(0), threading.Event()
    answer, ended = queries.release, []

    def endless(session: Session, opened: Any, question: Any) -> Any:
        if question["goal"] == "resemble":
            begun.release()
            go_on.wait(600)
        return answer(session, opened, question)

    monkeypatch.setattr(queries, "release", endless)
    people = [client.upload("h.csv", b"location,count\na,3\nb,2\n")["id"] for _ in range(3)]

    def ask(person: int, question: dict[str, Any]) -> None:
        assert client.release(people[person], question)["possible"]
        ended.append(person)

    anyway = {**RESEMBLE, "allow_mismatch": True}
    threads = [threading.Thread(target=ask, args=[person, anyway]) for person in (0, 1)]
    for thread in threads:
        thread.start()
        assert begun.acquire(timeout=300)
    third = threading.Thread(target=ask, args=[2, {"goal": "hide", "ticked": ["a"]}])
    third.start()
    third.join(300)
    go_on.set()
    for thread in (*threads, third):
        thread.join()
    assert ended[0] == 2


def test_a_search_that_is_overtaken_ends(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """To go far from oneself is hard, and keeps the search busy for as long as it may."""
    begun, answer = threading.Semaphore(0), queries.release

    def told(session: Session, opened: Any, question: Any) -> Any:
        begun.release()
        return answer(session, opened, question)

    monkeypatch.setattr(queries, "release", told)
    table = "location,count\n" + "".join(f"{location},{count}\n" for location, count in skewed(60, 600, 7).items())
    target = client.send("api/targets", table.encode(), name="target.csv").json(interface.TABLE)["id"]
    opened = client.upload("history.csv", table.encode())["id"]
    hard = {"goal": "avoid", "target": target, "max_quality_loss": 0.05}
    statuses: list[int] = []

    def ask(question: dict[str, Any]) -> None:
        statuses.append(client.question(opened, "release", question).status)

    threads = [threading.Thread(target=ask, args=[{**hard, "number": number}]) for number in (1, 1)]
    for thread in threads:
        thread.start()
        assert begun.acquire(timeout=300)
    ask({"goal": "hide", "ticked": ["000001"], "number": 2})
    for thread in threads:
        thread.join()
    assert statuses.count(409) == 2, "a search that goes on to its end is answered with 200"


def test_what_is_stopped_while_it_is_read_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And the terminal is told nothing."""
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(held: InMemoryFile, **_: str) -> ew.History:
        begun.set()
        go_on.wait(600)
        try:
            return ew.read(held)
        finally:
            ended.set()

    noticed, drop = threading.Event(), server._Service._drop

    def told(service: server._Service, reading: Any) -> None:
        drop(service, reading)
        noticed.set()

    monkeypatch.setattr(session, "read", slow)
    monkeypatch.setattr(server._Service, "_drop", told)
    full = Session()
    with serving(full) as client:
        connection = socket.create_connection(("127.0.0.1", client.port))
        host = f"127.0.0.1:{client.port}"
        head = [f"POST /{TOKEN}/api/histories?name=h.csv HTTP/1.1", f"Host: {host}", f"Origin: http://{host}"]
        head += ["X-Elsewhere: 1", "Content-Type: application/octet-stream", "Content-Length: 11", "", "location\na\n"]
        connection.sendall("\r\n".join(head).encode())
        assert begun.wait(300)
        connection.close()
        assert noticed.wait(300)
        go_on.set()
        assert ended.wait(300)
    assert not full.histories
    gc.collect()
    assert caplog.text == ""


def test_what_is_forgotten_does_not_come_back_with_labels() -> None:
    session = Session()
    opened = session.put(session.read(InMemoryFile("h.csv", b"location,count\na,3\nb,2\n"), {}))
    labelled = session.label(opened.id, InMemoryFile("labels.csv", b"id,label\na,Clinic\n"))
    session.forget(opened.id)
    with pytest.raises(ew.ElsewhereError, match="your history was cleared from memory"):
        session.put(labelled)
    assert not session.histories


def test_histories_are_forgotten() -> None:
    now = [0.0]
    session = Session(clock=lambda: now[0])
    with serving(session) as client:
        kept, left, removed = (client.upload("h.csv", b"location,count\na,3\nb,2\n")["id"] for _ in range(3))
        target = client.send("api/targets", b"location,count\na,3\n", name="t.csv").json(interface.TABLE)["id"]
        everything = {at: weakref.ref(session.histories[at]) for at in (kept, left, removed)}

        def left_in_memory() -> set[str]:
            gc.collect()
            return {at for at, it in everything.items() if it() is not None}

        for at in everything:
            client.release(at, {"goal": "hide", "ticked": ["a"]})
        assert client.ask("DELETE", f"api/histories/{removed}").json(interface.NOTHING) == {}
        now[0] += FORGOTTEN_AFTER - 1
        assert client.ask("POST", f"api/histories/{kept}/keep").json(interface.NOTHING) == {}
        now[0] += 2
        session.forget_old()
        # The thread that has given an answer may hold the history for a moment.
        wait_for(lambda: left_in_memory() == {kept})
        assert client.ask("POST", f"api/histories/{left}/keep").status == 404
        assert client.release(left, {"goal": "hide", "ticked": ["a"]})["hint"] == "Please load it again."
        asked = {"goal": "avoid", "target": target, "max_quality_loss": 0.1}
        assert client.release(kept, asked)["possible"], "a target stays as long as a history does"
        client.ask("DELETE", f"api/histories/{kept}")
        wait_for(lambda: not left_in_memory())
        assert not session.targets


# Taking


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person's files are, and a shell finds the command."""
    command = tmp_path / "bin" / "elsewhere"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m elsewhere "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ELSEWHERE_KEY_FILE", str(tmp_path / "key"))
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def put(folder: Path, name: str, content: bytes) -> tuple[str, bytes]:
    (folder / name).write_bytes(content)
    return name, content


def hiding(client: Client, folder: Path) -> tuple[str, dict[str, Any]]:
    """Presets, a branch, single places and a spared one, in a history whose name a shell could misread."""
    name, content = put(folder, "-my history; $(ls).parquet", table(HISTORY))
    taxonomy, nodes = put(folder, "shipped", b"Places\n  Bar\n    The Anchor Bar\n  Museum\n")
    own = client.send("api/taxonomies", nodes, name=taxonomy).json(interface.TABLE)["id"]
    ticked = ["--help", "-x", "Bar", "Casino \"Royal\", 'East'", "$HOME; ls", "hospital", "two\nlines"]
    question = {"goal": "hide", "sensitive": ["preset:health", "Bar"], "ticked": ticked, "taxonomy": own}
    return client.upload(name, content)["id"], question


def drawing(client: Client, folder: Path) -> tuple[str, dict[str, Any]]:
    """Chance decides, with a key that is made now."""
    name, content = put(folder, "history.parquet", table(HISTORY))
    history = client.upload(name, content)["id"]
    question = {"goal": "hide", "ticked": ["--help", "café", "Museum"], "method": "drawn"}
    assert "Made your secret key in" in client.release(history, question)["notes"][0]
    assert not client.release(history, {**question, "ticked": ["café"]})["notes"]
    return history, question


def resembling(client: Client, folder: Path) -> tuple[str, dict[str, Any]]:
    """A target of the person's own, and an export whose places got names from a table."""
    name, content = put(folder, "Timeline.json", (EXPORTS / "google_timeline_android_Timeline.json").read_bytes())
    opened = client.upload(name, content)
    ids = [it["name"] for it in opened["locations"]]
    labels = "".join(f"{at},Museum {number % 3}\n" for number, at in enumerate(ids[1:]))
    label_name, label_content = put(folder, "my labels.csv", f"id,label\n{labels}".encode())
    client.read(client.send(f"api/histories/{opened['id']}/labels", label_content, name=label_name))
    target = put(folder, "target.json", b'{"Museum 1": 2.5, "Museum 2": 1, "caf\\u00e9": 1}')
    own = client.send("api/targets", target[1], name=target[0]).json(interface.TABLE)["id"]
    question = {"goal": "resemble", "target": own, "max_quality_loss": 0.2, "ticked": [ids[0]], "visited_only": True}
    return opened["id"], question


def avoiding(client: Client, folder: Path) -> tuple[str, dict[str, Any]]:
    """A stored profile, another distance and method, and a table whose columns have names of their own."""
    rows = "".join(f"{at},{where}\n" for at, where in enumerate(["Hotel", *["Museum"] * 4, *["Bar"] * 15]))
    name, content = put(folder, "visits.csv", f"kind,where\n{rows}".encode())
    question = {"goal": "avoid", "target": "tourist", "max_quality_loss": 0.3, "quality": "variational",
                "privacy": "l2", "method": "heuristic", "min_distance": 0.5}  # fmt: skip
    return client.upload(name, content, location_column="where")["id"], question


def continuing(client: Client, folder: Path) -> tuple[str, dict[str, Any]]:
    """An earlier release that has a place which the history lacks, and another place that may get visits."""
    name, content = put(folder, "history.parquet", table(HISTORY))
    earlier = put(folder, "a=1.csv", b"location,count\nMuseum,14\nPark,2\n")
    own = client.send("api/releases", earlier[1], name=earlier[0]).json(interface.TABLE)["id"]
    question = {"goal": "hide", "ticked": ["hospital", "\u75c5\u9662", "Bar"], "lower": own, "candidates": ["-y"]}
    return client.upload(name, content)["id"], question


@pytest.mark.slow
@pytest.mark.parametrize("case", [hiding, drawing, resembling, avoiding, continuing])
def test_what_is_taken_does_the_same_again(
    client: Client, folder: Path, case: Callable[[Client, Path], tuple[str, dict[str, Any]]]
) -> None:
    history, question = case(client, folder)
    answer = client.release(history, question)
    expected = {what: client.take(history, question, what) for what in interface.TAKEN}
    after = {bar["location"]: bar["after"] for bar in answer["bars"] if bar["after"]}
    assert {row["location"]: row["count"] for row in json.loads(expected["release.json"])} == after

    def run(*command: str) -> bytes:
        (folder / "release.csv").unlink(missing_ok=True)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return (folder / "release.csv").read_bytes()

    put(folder, "script.py", expected["script.py"])
    put(folder, "command.sh", expected["command.sh"].rstrip() + b" --report report.json --save-policy policy.toml\n")
    assert run(sys.executable, "script.py") == expected["release.csv"]
    assert run("sh", "command.sh") == expected["release.csv"]
    assert (folder / "report.json").read_bytes() == expected["report.json"]
    assert ew.Policy.load(folder / "policy.toml") == _loaded(folder, expected["policy.toml"])
    assert expected["command.sh"].startswith(f"elsewhere {question['goal']} ".encode())


def _loaded(folder: Path, content: bytes) -> ew.Policy:
    put(folder, "taken.toml", content)
    return ew.Policy.load(folder / "taken.toml")


def test_a_release_continues_an_earlier_one(client: Client) -> None:
    """Another one of the same name is another question; what is no release is refused."""
    history = client.upload("history.parquet", table(HISTORY))["id"]
    for most in (20, 21):
        content = f"location,count\nMuseum,{most}\n".encode()
        lower = client.send("api/releases", content, name="old.csv").json(interface.TABLE)["id"]
        answer = client.release(history, {"goal": "hide", "ticked": ["café"], "lower": lower})
        assert {bar["location"]: bar["after"] for bar in answer["bars"]}["Museum"] >= most
    untidy = client.send("api/releases", b"location,count\nb,0\na,1\n", name="old.csv").json(interface.TABLE)["id"]
    refused = client.release(history, {"goal": "hide", "ticked": ["café"], "lower": untidy})
    assert "'old.csv' is not a release: the file has a count of 0" in refused["error"]


def test_how_much_changed_in_plain_words(client: Client) -> None:
    opened = client.upload("h.csv", b"location,count\nClinic,1\nCafe,16\nPark,3\n")["id"]
    hide = {"goal": "hide", "ticked": ["Clinic"]}
    assert client.release(opened, hide)["plain"] == "1 of 20 visits moved (5%): hardly noticeable."
    told = "1 of 20 visits removed (5%), 2 visits added: noticeable to somebody who knows your habits."
    assert client.release(opened, {**hide, "redistribute": 2})["plain"] == told
    assert client.release(opened, {**hide, "ticked": ["Cafe"]})["plain"].endswith("(80%): mostly another history.")


def test_a_file_is_verified(client: Client, history: str) -> None:
    """By what is asked, and down to its bytes."""
    question = {"goal": "hide", "ticked": ["café", "Bar"]}
    release = client.take(history, question, "release.csv")

    def check(content: bytes, question: dict[str, Any]) -> Any:
        at = client.send("api/releases", content, name="mine.csv").json(interface.TABLE)["id"]
        return client.question(history, "verify", question, release=at).json(interface.CHECKED)

    assert check(release, question)["ok"]
    found = check(release, {**question, "ticked": ["Museum"]})
    assert not found["ok"]
    assert any("'Museum'" in sentence for sentence in found["sentences"])
    assert "does not meet what you chose" in found["sentences"][0]
    for saved_again in (release + b"\n", release.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + release):
        found = check(saved_again, question)
        assert not found["ok"]
        assert found["sentences"][0].startswith("The counts in 'mine.csv' meet what you chose, but the file")
        assert "bytes differ" in found["sentences"][-1]
    assert check(release, {"goal": "hide"})["hint"] == "Tick what the file must not show."


def test_a_candidate_has_a_name(client: Client) -> None:
    history = client.upload("h.csv", b"location,count\nBar,2\nHotel,3\n")["id"]
    question = {"goal": "hide", "ticked": ["Bar"], "quality": "l2", "candidates": [""]}
    assert "candidates has an empty name" in client.question(history, "release", question).json({})["error"]


def test_a_track_is_read_with_its_options(client: Client) -> None:
    """Ten minutes are a stay of five, but not of twenty."""
    rows = "".join(f"2024-05-01T10:{minute:02}:00Z,52.5,13.4\n" for minute in range(11))
    track = f"time,latitude,longitude\n{rows}".encode()
    assert client.upload("track.csv", track, radius="50m")["size"] == 1
    assert "you were nowhere for 20 min" in client.upload("track.csv", track, stay="20min")["error"]


def test_users_to_pick_from(client: Client) -> None:
    rows = b"user,location,count\nben,Cafe,1\nanna,Cafe,3\nanna,Park,4\n"
    refused = client.upload("many.csv", rows)
    assert "several users" in refused["error"]
    assert refused["users"] == [{"name": "anna", "visits": 7}, {"name": "ben", "visits": 1}]
    assert client.upload("many.csv", rows, user="anna")["size"] == 7
    assert client.upload("many.csv", rows, user="carl")["users"] == []
    activity = (MEDIA / "ViewingActivity.csv").read_bytes()
    assert client.upload("ViewingActivity.csv", activity)["users"] == [
        {"name": "Ada", "visits": 3},
        {"name": "Ben", "visits": 1},
    ]
    times = ("10:00", "10:30")
    moved = "".join(f"{user},1,1,2023-01-01T{time}Z\n" for user in ("ann", "bob") for time in times)
    positions = f"user,lat,lon,time\n{moved}cy,1,1,2023-01-01T10:00Z\n".encode()
    listed = client.upload("positions.csv", positions)["users"]
    assert listed == [{"name": "ann", "visits": 1}, {"name": "bob", "visits": 1}, {"name": "cy", "visits": 0}]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_every_form_of_release(client: Client, history: str, tmp_path: Path, ending: str) -> None:
    name, _ = put(tmp_path, "history.parquet", table(HISTORY))
    release = tmp_path / f"release.{ending}"
    with pytest.raises(SystemExit):
        main(["hide", str(tmp_path / name), "--sensitive", "Bar", "-o", str(release)])
    assert client.take(history, {"goal": "hide", "ticked": ["Bar"]}, release.name) == release.read_bytes()


def test_files_with_the_same_name(client: Client) -> None:
    """Another target of the same name is another question, and a command does not mix files up."""
    opened = client.upload("release.csv", b"location,count\na,30\nb,20\nc,10\n")["id"]
    after = []
    for weights in (b"a,1\n", b"c,1\n"):
        target = client.send("api/targets", b"location,count\n" + weights, name="target.csv").json(interface.TABLE)
        question = {"goal": "resemble", "target": target["id"], "max_quality_loss": 0.1}
        after.append(client.take(opened, question, "release.csv"))
    assert after[0] != after[1]
    assert client.take(opened, question, "command.sh").endswith(b" -o new-release.csv\n")
    new = client.send("api/targets", b"location,count\na,1\n", name="new-release.csv").json(interface.TABLE)["id"]
    assert client.take(opened, {**question, "target": new}, "command.sh").endswith(b" -o new-new-release.csv\n")
    same = client.send("api/targets", b"location,count\na,1\n", name="release.csv").json(interface.TABLE)["id"]
    reply = client.question(opened, "take", {**question, "target": same}, what="command.sh")
    assert "called 'release.csv'" in reply.json({})["error"]


def test_nothing_ticked_is_not_taken(client: Client, history: str) -> None:
    for choice, names in (("ticked", []), ("sensitive", ["preset:religion"])):
        reply: Reply = client.question(history, "take", {"goal": "hide", choice: names}, what="release.csv")
        assert reply.json({})["hint"] == "Tick what to hide."
    assert client.question(history, "take", RESEMBLE, what="../x").status == 400


def test_the_history_itself_is_given_out_only_to_who_insists(client: Client) -> None:
    """To avoid a target that has nothing in common with the history, nothing need be changed; and that is said."""
    history = client.upload("h.csv", b"location,count\nBlue Lantern,3\nWillow Court,2\n")["id"]
    question = {"goal": "avoid", "target": "tourist", "max_quality_loss": 0.1, "allow_mismatch": True}
    answer = client.release(history, question)
    assert answer["unchanged"]
    assert answer["notes"][-1] == "Warning: nothing was hidden. The release would equal your history."
    assert "0% of the target's weight is at kinds that the history has" in answer["notes"][0]
    for what in ("release.csv", "release.json", "release.parquet"):
        reply = client.question(history, "take", question, what=what)
        assert (reply.status, "would equal your history" in reply.json({})["error"]) == (400, True)
        assert client.question(history, "take", question, what=what, allow_unchanged="1").status == 200
    assert client.take(history, question, "policy.toml")
    assert not client.release(history, {"goal": "hide", "ticked": ["Willow Court"]})["unchanged"]


# Policies


def policy(client: Client, history: str, content: bytes, **loaded: str) -> Any:
    return client.send(f"api/histories/{history}/policy", content, name="policy.toml", **loaded).json(interface.POLICY)


@pytest.mark.parametrize("case", [hiding, drawing, resembling, avoiding])
def test_a_saved_policy_asks_the_same_again(
    client: Client, folder: Path, case: Callable[[Client, Path], tuple[str, dict[str, Any]]]
) -> None:
    history, question = case(client, folder)
    release = client.take(history, question, "release.csv")
    loaded = {kind: question[kind] for kind in ("target", "taxonomy") if kind in question}
    shown = policy(client, history, client.take(history, question, "policy.toml"), **loaded)
    assert client.take(history, {**shown["question"], "number": 2}, "release.csv") == release
    assert shown["notes"] == []


def test_a_policy_in_the_words_of_a_person(client: Client, history: str) -> None:
    """Names become ticks; a branch is whole unless something below it is spared; what is not here is said."""
    written = b"""goal = "hide"\ntaxonomy = "shipped"\nsensitive = ["preset:health", "Bar", "Casino", "Atlantis"]
    spared = ["The Anchor Bar"]\ntime_limit = 60"""
    shown = policy(client, history, written)
    assert shown["question"]["ticked"] == ["Bar", "Casino \"Royal\", 'East'", "hospital", "病院"]
    assert shown["question"]["sensitive"] == ["preset:health", "casino"]
    assert [note.split(",")[0] for note in shown["notes"]] == [
        "The policy also names 'Atlantis'",
        "The page searches for up to 600 seconds",
    ]


def test_a_policy_asks_for_its_files(client: Client, history: str) -> None:
    written = b"""goal = "avoid"\ntarget = "../lists/own.csv"\ntaxonomy = "kinds.txt"\nlower = "/etc/passwd"
    max_quality_loss = 0.1"""
    files = {"target": "own.csv", "taxonomy": "kinds.txt", "lower": "passwd"}
    needs = [{"kind": kind, "name": name} for kind, name in files.items()]
    assert policy(client, history, written) == {"needs": needs}
    target = client.send("api/targets", b"location,count\nBar,3\n", name="other.csv").json(interface.TABLE)["id"]
    assert policy(client, history, written, target=target) == {"needs": needs[1:]}
    taxonomy = client.send("api/taxonomies", b"Places\n  Bar\n", name="kinds.txt").json(interface.TABLE)["id"]
    lower = client.send("api/releases", b"location,count\nBar,3\n", name="old.csv").json(interface.TABLE)["id"]
    question = policy(client, history, written, target=target, taxonomy=taxonomy, lower=lower)["question"]
    assert (question["target"], question["taxonomy"], question["lower"]) == (target, taxonomy, lower)
    assert question["max_quality_loss"] == 0.1


@pytest.mark.parametrize(
    ("written", "match"),
    [
        (b"goal = ", "the policy 'policy.toml' is not valid TOML"),
        (b"goal = 'hid'", "the policy 'policy.toml': goal is 'hid'"),
        (b"\xff", "is not valid TOML"),
        (b'goal = "hide"\nlower = {Bar = 1}', "cannot apply 'lower'; run the policy with: elsewhere hide"),
        (b'goal = "resemble"\ntarget = "tourist"', "resemble needs max_quality_loss"),
        (b'goal = "resemble"\ntarget = "tourist"\nmax_distance = 0.1\nsize = "free"', "apply 'size'"),
    ],
)
def test_policies_that_the_page_cannot_use(client: Client, history: str, written: bytes, match: str) -> None:
    assert match in policy(client, history, written)["error"]


def test_a_stopped_curve_has_the_points_that_were_found(open_desk: Session, client: Client, history: str) -> None:
    opened, told = open_desk.histories[history], []

    def stop_after_two(line: dict[str, Any]) -> None:
        told.append(line)
        if len(told) == 3:  # the limits, and two points
            assert client.question(history, "stop", {"number": 500}).json(interface.NOTHING) == {}

    shown = curves.frontier(open_desk, opened, {**RESEMBLE, "number": 500}, stop_after_two)
    assert shown["stopped"]
    assert [{"point": point} for point in shown["points"]] == told[:0:-1]  # they come from the largest limit on
    assert shown["suggested"] is None, "the largest limits come first, and say nothing about a good one"
    none = client.question(history, "frontier", {**RESEMBLE, "number": 500})
    assert (none.status, none.json({})["ways"]) == (400, ["curve"])
    assert not client.frontier(history, {**RESEMBLE, "number": 501})["stopped"]


def test_a_curve_that_nobody_reads_ends(client: Client, history: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless(session: Session, opened: Any, question: Any, tell: Callable[[Any], None]) -> Any:
        try:
            while True:
                tell({"budgets": [0.0], "exact": True})
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(curves, "frontier", endless)
    headers = {"Origin": f"http://127.0.0.1:{client.port}", "X-Elsewhere": "1", "Content-Type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", client.port, timeout=300)) as connection:
        asked = json.dumps({**RESEMBLE, "number": 600}).encode()
        connection.request("POST", f"/{TOKEN}/api/histories/{history}/frontier", asked, headers)
        answer = connection.getresponse()
        assert json.loads(answer.readline())["exact"]
        answer.close()
    assert ended.wait(300)


def test_a_draft_is_within_the_limits_and_its_proof_is_checked_once(
    client: Client, history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[type] = []
    solved: list[Question] = []

    def check(question: Question, release: Any) -> Check:
        checked.append(type(release))
        return check_release(question, release)

    def counted(question: Question) -> ew.Sanitized:
        solved.append(question)
        return solve(question)

    monkeypatch.setattr(queries, "check_release", check)
    monkeypatch.setattr(queries, "solve", counted)
    asked = {**RESEMBLE, "max_quality_loss": 0.0789}
    draft = client.release(history, {**asked, "draft": True, "time_limit": 600.0, "number": 700})
    final = client.release(history, {**asked, "number": 701})
    client.take(history, {**asked, "number": 702}, "release.csv")
    assert (draft["draft"], final["draft"]) == (True, False)
    assert (draft["bars"], draft["status"]) == (final["bars"], "optimal")
    assert "checked when" in draft["certificate"]
    assert final["certificate"].startswith("Proven")
    assert (len(solved), checked) == (1, [ew.Histogram, ew.Sanitized])


def test_compiling_is_told_while_it_lasts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.ask("GET", "api/compiling").json(interface.COMPILING) == {"seconds": None}
    monkeypatch.setattr(server, "seconds_compiling", lambda: 4.5)
    assert client.ask("GET", "api/compiling").json(interface.COMPILING) == {"seconds": 4.5}
