"""`elsewhere labels` lists the places of a history; filled in and given back, the table names them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from tests.support.command import Run, rows, run, write_table
from tests.support.exports import EXPORTS, MEDIA, firefox

__all__ = ["run"]

COLUMNS = ["id", "label", "kind", "count", "reason", "map"]
TIMELINE = str(EXPORTS / "google_timeline_android_Timeline.json")
CLINIC = "ChIJexampleCLIN0000000000004"


def table(text: str) -> dict[str, dict[str, str]]:
    """The rows of a table by id."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    assert reader.fieldnames == COLUMNS
    return {row["id"]: row for row in reader}


def save(path: str, content: dict[str, dict[str, str]]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(content.values())


def test_the_columns(run: Run) -> None:
    write_table("history.csv", {"Blue Café": 2, "Charing Cross": 1, "Klinikum Nord": 2, "0f" * 12: 7})
    status, out, err = run("labels", "history.csv", "-o", "labels.csv")
    assert (status, out) == (0, "")
    assert err == "2 of 4 places have a kind, and 1 needs a label.\n"
    assert Path("labels.csv").stat().st_mode & 0o077 == 0
    search = "https://www.openstreetmap.org/search?query="
    assert Path("labels.csv").read_text("utf-8").splitlines() == [
        "id,label,kind,count,reason,map",
        f"{'0f' * 12},,,7,,{search}{'0f' * 12}",
        f"Blue Café,Blue Café,Café,2,the word 'cafe',{search}Blue%20Caf%C3%A9",
        f"Klinikum Nord,Klinikum Nord,Hospital,2,the word 'klinikum',{search}Klinikum%20Nord",
        f"Charing Cross,Charing Cross,,1,,{search}Charing%20Cross",
    ]
    for output in ((), ("-o", "-")):
        status, out, err = run("labels", "history.csv", "--quiet", *output)
        assert (status, out.encode(), err) == (0, Path("labels.csv").read_bytes(), "")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("google_takeout_2023_MARCH.json", ()),
        ("google_takeout_2023_MARCH.json", ("--locations", "id")),
        ("google_takeout_2023_MARCH_ms.json", ()),
        ("google_timeline_android_Timeline.json", ()),
        ("google_timeline_ios_location-history.json", ()),
        ("swarm_export", ()),
        ("swarm_api_checkins.json", ()),
        ("swarm_api_checkins.json", ("--locations", "id")),
        ("tsmc2014_sample.txt", ("--user", "1")),
        ("tsmc2014_sample.txt", ("--user", "1", "--locations", "id")),
    ],
)
def test_given_back_unchanged_it_changes_nothing(run: Run, name: str, options: tuple[str, ...]) -> None:
    """Every export has coordinates, so every place has a link to the map; what is only an id needs a label."""
    assert run("labels", str(EXPORTS / name), *options, "-o", "labels.csv")[0] == 0
    given: Any = dict(zip((option[2:] for option in options[::2]), options[1::2], strict=True))
    before, after = ew.read(EXPORTS / name, **given), ew.read(EXPORTS / name, labels="labels.csv", **given)
    assert dict(after.histogram) == dict(before.histogram)
    assert (after.types, after.coordinates) == (before.types, before.coordinates)
    written = table(Path("labels.csv").read_text("utf-8"))
    assert {id_: int(row["count"]) for id_, row in written.items()} == dict(before.histogram)
    ids = "id" in options or "timeline" in name
    for id_, row in written.items():
        assert row["label"] == ("" if ids else id_)
        latitude, longitude = before.coordinates[id_]
        assert (abs(latitude - 12.35) < 0.02, abs(longitude + 45.66) < 0.02) == (True, True)
        assert row["map"] == (
            f"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}#map=18/{latitude}/{longitude}"
        )


def test_a_label_and_a_kind_are_used(run: Run) -> None:
    hide = ("hide", TIMELINE, "--labels", "labels.csv", "--sensitive", "preset:health", "-o", "release.csv")
    assert run("labels", TIMELINE, "-o", "labels.csv")[0] == 0
    assert run(*hide)[0] == 3  # ids tell nothing
    filled = table(Path("labels.csv").read_text("utf-8"))
    filled[CLINIC]["kind"] = "hospital"
    filled["ChIJexampleBAR00000000000008"]["label"] = "Praxis Dr. Weber"
    filled["ChIJexampleGYM00000000000005"] |= {"label": "Doctor Espresso", "kind": "Café"}
    filled["ChIJexampleCAFE0000000000003"] |= {"label": "Klinik Bar", "kind": "None"}
    save("labels.csv", filled)
    status, _, err = run(*hide)
    assert status == 0
    assert f"preset:health covers 2 locations with 2 visits: {CLINIC} (1), Praxis Dr. Weber (1)" in err
    assert "2 locations without a label: 'ChIJexampleCHUR0000000000006', 'ChIJexampleSTAT0000000000007'." in err
    assert {"Praxis Dr. Weber", CLINIC}.isdisjoint(rows("release.csv"))
    assert {"Doctor Espresso", "Klinik Bar"} <= rows("release.csv").keys()
    assert b"12.3" not in Path("release.csv").read_bytes()  # all latitudes begin so
    # The filled table can be brought up to date; its ids stay those of the export.
    status, out, _ = run("labels", TIMELINE, "--labels", "labels.csv", "--quiet")
    updated = table(out)
    assert updated.keys() == filled.keys()
    assert updated[CLINIC]["label"] == ""
    assert (updated[CLINIC]["kind"], updated[CLINIC]["reason"]) == ("hospital", "your labels")
    assert updated["ChIJexampleBAR00000000000008"]["label"] == "Praxis Dr. Weber"
    assert updated["ChIJexampleBAR00000000000008"]["kind"] == "Doctor's office"
    assert updated["ChIJexampleCAFE0000000000003"]["kind"] == "none"
    Path("updated.csv").write_text(out, encoding="utf-8")
    assert ew.read(TIMELINE, labels="updated.csv").types == ew.read(TIMELINE, labels="labels.csv").types


def test_no_cell_is_a_formula_and_names_survive(run: Run) -> None:
    names = ["=HYPERLINK(1)", "'=x", "''+x", "+49 Bar", "-x", "@x", " =x", "\t=x", "\uff1dx", "'s-Hertogenbosch", "x=1"]
    write_table("history.csv", dict.fromkeys(names, 1))
    assert run("labels", "history.csv", "-o", "labels.csv")[0] == 0
    written = table(Path("labels.csv").read_text("utf-8"))
    for row in written.values():
        for cell in row.values():
            assert not cell.strip().startswith(("=", "+", "-", "@", "\uff1d"))
    assert {"'s-Hertogenbosch", "x=1", "'=HYPERLINK(1)", "'''+x"} <= written.keys()
    before = ew.read("history.csv").histogram
    assert dict(ew.read("history.csv", labels="labels.csv").histogram) == dict(before)
    # A name that a person types begins with whatever it likes.
    Path("labels.csv").write_text("id,label\n=HYPERLINK(1),+1 Bar\n'-x,'@home\n", encoding="utf-8")
    assert {"+1 Bar", "@home"} <= ew.read("history.csv", labels="labels.csv").histogram.keys()


def test_links(run: Run) -> None:
    visit = '{"visit": {"topCandidate": {"placeId": "%s"%s}}, "startTime": "%d"}'
    segments = [visit % ("a b", "", 1), visit % ("c", ', "placeLocation": {"latLng": "91.0°, 0.0°"}', 2)]
    Path("t.json").write_text(f'{{"semanticSegments": [{", ".join(segments)}]}}', encoding="utf-8")
    google = "https://www.google.com/maps/place/?q=place_id:"
    maps = [row["map"] for row in table(run("labels", "t.json")[1]).values()]
    assert maps == [f"{google}a%20b", f"{google}c"]
    firefox(Path("places.sqlite")).close()
    sites = table(run("labels", "places.sqlite")[1])
    assert {row["id"]: row["map"] for row in sites.values()} == {
        "cafe.example": "https://cafe.example", "gym.example": "https://gym.example"
    }  # fmt: skip
    assert sites["gym.example"]["label"] == "gym.example"
    sites = table(run("labels", str(MEDIA / "History.json"))[1])
    assert all(row["map"] == f"https://{row['id']}" for row in sites.values())
    for name in ("watch-history.json", "StreamingHistory_music_0.json", "NetflixViewingHistory.csv"):
        assert {row["map"] for row in table(run("labels", str(MEDIA / name))[1]).values()} == {""}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("id,name\na,b\n", "it needs the columns id and label; no column is called 'label'"),
        ("id,label,kind\ngym,,hopsital\n", "the kind 'hopsital', which the shipped taxonomy does not have; did you"),
        ("id,label,kind\ngym,,*\n", "it has the kind '*', which the shipped taxonomy does not have"),
        ("id,label,kind\ngym,,preset:health\n", "it has the kind 'preset:health', which is a preset; give a kind"),
        ("id,label,kind\ngym,a,Gym\npark,A,Bar\n", "it has two kinds for the label 'A': 'Gym' and 'Bar'; choose one"),
        ("id,label,kind\ngym,a,\ngym,b,\n", "it has two values of label for 'gym': 'a' and 'b'"),
        ("id,label,kind,kind\ngym,a,Gym,Bar\n", "several columns are called 'kind'"),
        ("id,label\n,a\n", "line 2 has an empty id"),
        ('id,label\n"gym,a\n', "cannot be read"),
        ("", "it is empty"),
    ],
)
def test_damaged_labels(run: Run, content: str, reason: str) -> None:
    Path("labels.csv").write_text(content, encoding="utf-8")
    for *command, named in (("labels", ""), ("hide", "--sensitive", "gym", "history.csv: ")):
        status, out, err = run(*command, "history.csv", "--labels", "labels.csv", "-o", "out.csv")
        assert (status, out) == (2, "")
        assert err.startswith(f"elsewhere: {named}labels.csv: ")
        assert reason in err
        assert err.count("\n") == 1
    assert not Path("out.csv").exists()


def test_nothing_is_overwritten(run: Run) -> None:
    Path("labels.csv").write_text("id,label\n", encoding="utf-8")
    for asked, also in (
        (("-o", "history.csv"), "HISTORY"),
        (("-o", "labels.csv", "--labels", "labels.csv"), "--labels"),
    ):
        status, _, err = run("labels", "history.csv", *asked)
        assert status == 2
        assert f"which is also {also}; give another file" in err
    status, _, err = run("labels", "history.csv", "-o", "missing/labels.csv")
    assert status == 2
    assert "not writable" in err
