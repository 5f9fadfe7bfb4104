"""Every format with positions over time, with the visits counted by eye, and its malformed twins."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

import elsewhere as ew
from tests.support.exports import EXPORTS
from tests.support.tracks import PLACES, TRACKS

#: At home, in a café, at work, in a clinic, at home: what each file tells of one Monday.
MONDAY = {"Willow Court 12": 2, "Blue Lantern Café": 1, "Harbour Analytics Ltd": 1, "Northside Fertility Clinic": 1}
FILES = {
    "Records.json": "records",
    "raw_signals.json": "timeline",
    "monday.gpx": "gpx",
    "monday.kml": "kml",
    "timeline.kml": "kml",
    "monday.tcx": "tcx",
    "monday.geojson": "geojson",
    "line.geojson": "geojson",
    "overland.json": "overland",
    "polarsteps_locations.json": "polarsteps",
    "polarsteps_trip.json": "polarsteps",
    "2023-03.rec": "owntracks",
    "20230306060000.plt": "geolife",
    "positions.csv": "csv",
}
NOTE = "Found 5 visits to 4 places in 51 positions: at least 5 min within 100 m each."


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refuses(match: str, path: Path, **options: str) -> None:
    with pytest.raises(ew.InputError, match=match) as caught:
        ew.read(path, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    # Nothing that is refused tells where anybody was.
    assert not any(degrees in str(caught.value).removeprefix(str(path)) for degrees in ("12.3", "45.6"))


def test_every_fixture_is_read() -> None:
    others = {"places.csv", "google_Saved_Places.json"}
    assert {path.name for path in TRACKS.iterdir()} == {*FILES, *others}


@pytest.mark.parametrize("name", FILES)
def test_one_monday(name: str) -> None:
    history = ew.read(TRACKS / name, places=PLACES)
    assert history.format == FILES[name]
    assert dict(history.histogram) == MONDAY
    assert ew.read(TRACKS / name, places=PLACES, format=history.format) == history
    assert history.types["Northside Fertility Clinic"] == ("fertility_clinic",)
    where = history.coordinates["Northside Fertility Clinic"]
    assert where == pytest.approx((12.3533, -45.6225), abs=2e-4)
    if NOTE in history.notes:  # those that are not visits already
        assert history.hours["Northside Fertility Clinic"] == pytest.approx(42 / 60)
        unnamed = dict(ew.read(TRACKS / name).histogram)
        assert unnamed.pop("Blue Lantern Café", 1) == 1  # which two of the formats name
        assert sorted(unnamed.values(), reverse=True)[:3] == [2, 1, 1]
        assert list(unnamed)[:3] == ["place 1", "place 2", "place 3"]
        kept = ew.read(TRACKS / name, keep_coordinates=True)
        assert all(location == "{:.5f},{:.5f}".format(*at) for location, at in kept.coordinates.items()
                   if location != "Blue Lantern Café")  # fmt: skip
    else:
        assert name in ("timeline.kml", "polarsteps_trip.json")


def test_saved_places() -> None:
    history = ew.read(TRACKS / "google_Saved_Places.json")
    # A pin without a name is called by its coordinates, which must not get into a release.
    names = {"Blue Lantern Café": 1, "Northside Fertility Clinic": 1, "Iron Works Gym": 1, "place 1": 1}
    assert (history.format, dict(history.histogram)) == ("geojson", names)
    assert "Iron Works Gym" not in history.coordinates


def test_the_sample_of_google() -> None:
    history = ew.read(EXPORTS / "google_Records.json")
    assert (history.format, dict(history.histogram)) == (
        "records",
        {"place 1": 2, "place 2": 2, "place 3": 1, "place 4": 1},
    )


def test_options() -> None:
    track = TRACKS / "monday.gpx"
    assert ew.read(track, stay="45min").histogram.size == 3  # home, work, home
    assert ew.read(track, stay=45 * 60).histogram == ew.read(track, stay="0.75h").histogram
    assert ew.read(track, radius="20km").histogram.length == 1
    refuses("51 positions, but you were nowhere for 600 min within 100 m; lower stay", track, stay="10h")
    assert any("within 20,000,000 m each" in note for note in ew.read(track, radius="20000km").notes)
    refuses("nowhere for 5 min within 100 m; lower stay, or raise radius or max_gap", track, max_gap="1min")
    for option, value in (("stay", "5"), ("stay", "-1min"), ("radius", "0m"), ("radius", "near"), ("max_gap", "1m")):
        with pytest.raises(ew.InputError, match=f"{option} is '{value}'; "):
            ew.read(track, **{option: value})  # type: ignore[arg-type]
    with pytest.raises(ew.InputError, match="stay is for positions over time, but the table has locations"):
        ew.read(PLACES, stay="5min")
    with pytest.raises(ew.InputError, match="the format takeout does not use radius"):
        ew.read(EXPORTS / "google_takeout_2023_MARCH.json", radius="5m")


def test_tables_of_positions(tmp_path: Path) -> None:
    header, *rows = (TRACKS / "positions.csv").read_text().splitlines()
    expected = ew.read(TRACKS / "positions.csv").histogram
    shuffled = "\n".join([header, *reversed(rows), *rows])
    assert ew.read(write(tmp_path / "shuffled.csv", shuffled)).histogram == expected
    of_two = "\n".join([f"{header},user", *(f"{row},a" for row in rows), *(f"{row},b" for row in rows[:14])])
    users = write(tmp_path / "users.csv", of_two)
    refuses("rows of several users; choose one with user, such as 'a', 'b'", users)
    refuses("it has no user 'c', only 'a', 'b'", users, user="c")
    assert ew.read(users, user="a").histogram == expected
    assert ew.read(users, user="b").histogram.length == 2  # home and café
    unclear = write(tmp_path / "unclear.csv", shuffled.replace("2023-03-06T06:10:00Z,12", "soon,12"))
    assert "Left out 2 positions without a valid time and place." in ew.read(unclear).notes
    objects = [dict(zip(("lat", "lng", "tst"), (row.split(",")[at] for at in (1, 2, 0)), strict=True)) for row in rows]
    for name, content in (
        ("a.json", json.dumps(objects)),
        ("a.jsonl", "\n".join(map(json.dumps, objects))),
        ("a.gz", gzip.compress(shuffled.encode())),
    ):
        assert ew.read(write(tmp_path / name, content)).histogram == expected
    untimed = "lat;lon\n12.34;-45.67\n12.34;-45.67\n12.4;-45.7\n"
    assert dict(ew.read(write(tmp_path / "u.csv", untimed)).histogram) == {"place 1": 2, "place 2": 1}
    refuses(
        "line 3 has 4 values, but the table has 3 columns$",
        write(tmp_path / "w.csv", f"{header}\n{rows[0]}\n{rows[1]},1"),
    )


@pytest.mark.parametrize("name", sorted({*FILES} - {"positions.csv"}))
def test_damaged_files(tmp_path: Path, name: str) -> None:
    content = (TRACKS / name).read_bytes()
    cut = write(tmp_path / "cut", content[: len(content) * 2 // 3])
    if name.endswith((".plt", ".rec")):
        cut = write(tmp_path / "cut", content[: content.rindex(b",")] + b"\n")
        refuses("line [0-9]+ ", cut)
    else:
        refuses("it is not valid (JSON|XML)", cut)


def test_entities_are_refused(tmp_path: Path) -> None:
    entities = '<!DOCTYPE gpx [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    for name in ("monday.gpx", "monday.tcx", "monday.kml"):
        declaration, _, rest = (TRACKS / name).read_text().strip().partition("\n")
        refuses("document type, which is not allowed", write(tmp_path / name, f"{declaration}{entities}{rest}"))
    deep = "<gpx>" + "<a>" * 300 + "</a>" * 300 + "</gpx>"
    refuses("nested too deeply", write(tmp_path / "deep", deep))


def packed(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_archives_with_tracks(tmp_path: Path) -> None:
    gpx, tcx, kml = ((TRACKS / f"monday.{kind}").read_bytes() for kind in ("gpx", "tcx", "kml"))
    assert dict(ew.read(packed(tmp_path / "a.kmz", {"doc.kml": kml}), places=PLACES).histogram) == MONDAY
    strava = {"activities.csv": b"Activity ID\n1\n", "activities/1.gpx": gpx, "activities/2.tcx.gz": gzip.compress(tcx)}
    history = ew.read(packed(tmp_path / "strava.zip", strava), places=PLACES)
    # The same positions, twice.
    assert (history.format, dict(history.histogram)) == ("tracks", MONDAY)
    assert ew.read(tmp_path / "strava.zip", places=PLACES, format="tracks") == history
    broken = ew.read(packed(tmp_path / "broken.zip", {**strava, "activities/3.gpx": gpx[:300]}), places=PLACES)
    assert dict(broken.histogram) == MONDAY
    assert any(note.startswith("Skipped a broken file: activities/3.gpx: it is not valid XML") for note in broken.notes)
    table = packed(tmp_path / "table.zip", {"readme.txt": b"", "visits/all.csv": b"location\ncafe\ngym\ncafe\n"})
    assert dict(ew.read(table).histogram) == {"cafe": 2, "gym": 1}


def tarred(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, inner in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(inner)
            archive.addfile(member, io.BytesIO(inner))
    return content.getvalue()


def test_other_ways_to_pack(tmp_path: Path) -> None:
    gpx = (TRACKS / "monday.gpx").read_bytes()
    month = (EXPORTS / "google_takeout_2023_MARCH.json").read_bytes()
    takeout = tarred({"Takeout/a/2023_MARCH.json": month, "Takeout/index.html": b"<html>"})
    expected = ew.read(EXPORTS / "google_takeout_2023_MARCH.json").histogram
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        assert dict(ew.read(write(tmp_path / "packed", pack(gpx)), places=PLACES).histogram) == MONDAY
        assert ew.read(write(tmp_path / "packed", pack(takeout))).histogram == expected
        refuses("damaged|cannot be read", write(tmp_path / "cut", pack(takeout)[:-20]))
        refuses("far too large", write(tmp_path / "bomb", pack(b"location\n" + b"a\n" * 30_000_000)))
    assert ew.read(write(tmp_path / "plain.tar", takeout)).histogram == expected
    refuses("damaged", write(tmp_path / "cut.tar", takeout[:2000]))
    refuses("points outside of it", write(tmp_path / "evil.tar", tarred({"../evil.json": month})))
    in_zip = packed(tmp_path / "a.zip", {"a/monday.gpx.bz2": bz2.compress(gpx), "a/broken.gpx.gz": b"\x1f\x8b nothing"})
    history = ew.read(in_zip, places=PLACES)
    assert dict(history.histogram) == MONDAY
    assert any("broken.gpx.gz" in note for note in history.notes)


def test_several_files_of_one_history(tmp_path: Path) -> None:
    header, *rows = (TRACKS / "positions.csv").read_text().splitlines()
    halves = [write(tmp_path / f"{at}.csv", "\n".join([header, *rows[at::2]])) for at in range(2)]
    assert dict(ew.read(halves, places=PLACES).histogram) == MONDAY
    visits = [write(tmp_path / f"v{at}.csv", f"location,count\ncafe,{at}\ngym,1\n") for at in range(2)]
    assert dict(ew.read(visits).histogram) == {"cafe": 1, "gym": 2}
    months = "google_takeout_2023_MARCH.json", "google_takeout_2023_MARCH_ms.json"
    zips = [packed(tmp_path / f"{name}.zip", {name: (EXPORTS / name).read_bytes()}) for name in months]
    both = ew.read(zips)
    assert both.histogram == ew.read(EXPORTS / months[0]).histogram
    assert both.notes == ("Counted 4 repeated visits only once.",)
    mixed = ew.read([TRACKS / "monday.gpx", str(TRACKS / "monday.tcx")], places=PLACES)
    assert (mixed.format, dict(mixed.histogram)) == ("tracks", MONDAY)
    for wrong, match in (
        ([visits[0], tmp_path / "no.csv"], r"v0\.csv and 1 more: .*no\.csv: it cannot be read"),
        ([visits[0], halves[0]], "some of the tables have positions and others locations"),
        ([visits[0], write(tmp_path / "v.json", '{"cafe": 1}')], "they are in several formats, csv and json"),
        ([], "give at least one file"),
    ):
        with pytest.raises(ew.InputError, match=match):
            ew.read(wrong)
