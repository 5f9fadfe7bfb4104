"""Every format that can be read, with counts worked out by hand, and its malformed twins."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from tests.support.exports import EXPORTS, MEDIA, chromium, firefox
from tests.support.tracks import TRACKS

#: The two days that the made-up exports tell of, counted by eye.
DAYS = {"HOME": 6, "WORK": 4, "STAT": 4, "CAFE": 2, "CLIN": 1, "GYM": 1, "CHUR": 1, "BAR": 1}
NAMES = {
    "HOME": "Willow Court 12",
    "WORK": "Harbour Analytics Ltd",
    "STAT": "Grand Union Station",
    "CAFE": "Blue Lantern Café",
    "CLIN": "Northside Fertility Clinic",
    "GYM": "Iron Works Gym",
    "CHUR": "St. Brendan Church",
    "BAR": "The Anchor Bar",
}
NUMBERS = {"HOME": 1, "WORK": 2, "CAFE": 3, "CLIN": 4, "GYM": 5, "CHUR": 6, "STAT": 7, "BAR": 8}
BY_NAME = {NAMES[place]: count for place, count in DAYS.items()}
BY_PLACE_ID = {f"ChIJexample{place}{NUMBERS[place]:0>{17 - len(place)}}": count for place, count in DAYS.items()}
BY_VENUE_ID = {f"aa{NUMBERS[place]:022}": count for place, count in DAYS.items()}
BY_CATEGORY = {
    "Home (private)": 6,
    "Office": 4,
    "Train Station": 4,
    "Café": 2,
    "Doctor's Office": 1,
    "Gym": 1,
    "Church": 1,
    "Bar": 1,
}


def read(path: Path, **options: Any) -> dict[str, int]:
    return dict(ew.read(path, **options).histogram)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refuses(match: str, path: Path, **options: Any) -> None:
    """The error is one sentence, names the file and says what is wrong."""
    with pytest.raises(ew.InputError, match=match) as caught:
        ew.read(path, **options)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


# Tables


@pytest.mark.parametrize(
    "content",
    [
        "location,count\ncafe,7\ngym,2\n",
        "location,count\r\ncafe,7\r\ngym,2",
        "location,count\rcafe,7\rgym,2\r",
        "\ufefflocation,count\ncafe,7\ngym,2\n",
        "location\tcount\ncafe\t7\ngym\t2\n",
        "Count;LOCATION \n7.0;cafe\n2;gym\n",
        'place|visits\n"cafe"|7\n\n"gym"|2\n\n',
        "site,n\ncafe,3\ngym,2e0\ncafe,4\n",
        "location\ncafe\ncafe\ncafe\ngym\ncafe\ncafe\ncafe\ngym\ncafe\n",
        "when,location\n1,cafe\n2,cafe\n3,cafe\n4,gym\n5,cafe\n6,cafe\n7,cafe\n8,gym\n9,cafe\n",
        '{"cafe": 7, "gym": 2}',
        '[{"location": "cafe", "count": 7}, {"count": 2.0, "location": "gym"}]',
        '["cafe", "gym", "cafe", "cafe", "cafe", "cafe", "gym", "cafe", "cafe"]',
        '{"location": ["cafe", "gym"], "count": [7, 2]}',
        '{"location": "cafe", "count": 7}\n\n{"location": "gym", "count": 2}\n',
    ],
)
def test_ways_to_write_a_table(tmp_path: Path, content: str) -> None:
    for written in (content.encode(), content.removeprefix("\ufeff").encode("utf-16"), gzip.compress(content.encode())):
        assert read(write(tmp_path / "table", written)) == {"cafe": 7, "gym": 2}


@pytest.mark.parametrize(
    ("name", "encoding", "guess"),
    [
        ("Café €", "utf-8", None),
        ("Café €", "utf-8-sig", None),
        ("Café €", "utf-16", None),
        ("喫茶店 カフェ", "utf-8", None),
        ("Café €", "cp1252", "Windows-1252"),
        # Two bytes that are a Japanese character each, which no Japanese would put there.
        ("Cafés, Zoë's brûlée", "cp1252", "Windows-1252"),
        ("\x81é", "latin-1", "Latin-1"),
        ("喫茶店 カフェ", "shift_jis", "Shift-JIS"),
        ("駅", "shift_jis", "Shift-JIS"),
        ("スターバックス① 渋谷店", "cp932", "Shift-JIS"),
        ("喫茶店 カフェ", "euc_jp", "EUC-JP"),
        ("病院", "euc_jp", "EUC-JP"),
        ("ABC病院 3号館", "euc_jp", "EUC-JP"),
    ],
)
def test_encodings(tmp_path: Path, name: str, encoding: str, guess: str | None) -> None:
    history = ew.read(write(tmp_path / "t", f'location,count\n"{name}",7\n'.encode(encoding)))
    assert dict(history.histogram) == {name: 7}
    told = f"The file is not UTF-8; it was read as {guess}. If names look wrong, save it as UTF-8."
    assert history.notes == (() if guess is None else (told,))


def test_parquet(tmp_path: Path) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    path = tmp_path / "history"
    parquet.write_table(arrow.table({"location": ["cafe", "gym", "cafe"], "count": [3, 2, 4]}), path)
    assert read(path) == {"cafe": 7, "gym": 2}
    parquet.write_table(arrow.table({"location": ["cafe", None]}), path)
    refuses("row 2 has an empty location", path)
    parquet.write_table(arrow.table({"location": ["cafe"], "count": [0.5]}), path)
    refuses("row 1 gives 'cafe' the count 0.5; counts must be whole numbers", path)
    refuses("not valid Parquet", write(tmp_path / "cut", path.read_bytes()[:100]))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "empty"),
        ("\n\n", "no header line with the names of its columns"),
        ("location,count\n", "no visit"),
        ("where,count\ncafe,7\n", "no location column is known; choose one of 'where', 'count' with location_column"),
        ("place,venue,count\na,b,7\n", "several columns could be the location: 'place', 'venue'; choose one with"),
        ("location,location\na,b\n", "several columns could be the location"),
        ('[{"location": "cafe", "count": [0, [1, 2], 0]}]', "counts must be numbers"),
        ("location,count\ncafe,7\n,2\n", "line 3 has an empty location"),
        ("location,count\ncafe,7\n\n\n  ,2\n", "line 5 has an empty location"),
        ('location,count\n"ca\nfe",7\ngym,x\n', "line 4 gives 'gym' the count 'x'; counts must be numbers"),
        ("location,count\ncafe,-1\n", "line 2 gives 'cafe' the count '-1'; counts must not be negative"),
        ("location,count\ncafe,7.5\n", "the count '7.5'; counts must be whole numbers"),
        ("location,count\ncafe,nan\n", "the count 'nan'; counts must be finite"),
        ("location,count\ncafe,1e999999999\n", "counts must be finite"),
        ("location,count\ncafe,9223372036854775808\n", "fit in 64 bits"),
        ("location,count\ncafe,9223372036854775807\ncafe,1\n", "does not fit in 64 bits"),
        ("location,count\ncafe," + "9" * 5000 + "\n", "counts must be finite"),
        ("location,count\ncafe,\n", "the count ''"),
        ("52.5,13.4\n52.6,13.4\n", ": the first line has numbers instead of the names of columns; add a first line"),
        ("Home,52.5,13.4\nGym,52.6,13.4,1\n", ": the first line has numbers instead of the names of columns"),
        ("location,count\ncafe\n", "line 2 has 1 value, but the table has 2 columns"),
        ("location\nthe cafe, by the sea\n", "line 2 has 2 values, but the table has 1 column"),
        ('location,count\n"cafe,7\n', "cannot be read"),
        ('location,count\n"Blue" cafe,7\n', "line 2 cannot be read"),
        ("location,count\n" + "x" * 200_000 + ",7\n", "field larger than field limit"),
        ("location\n" + "x" * 17_000_000, "a line of more than"),
        ("user,location\n1,cafe\n2,gym\n", "several users; choose one with user, such as '1', '2'"),
        ('{"cafe": 7', "not valid JSON"),
        ('{"cafe": 7, "cafe": 2}', "the key 'cafe' twice"),
        ('{"cafe": NaN}', "NaN"),
        ('{"cafe": 1e999}', "counts must be finite"),
        ('{"cafe": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"cafe": true}', "item 1 gives 'cafe' the count True"),
        ('{"cafe": null}', "item 1 gives 'cafe' no count; counts must be numbers"),
        ('{"cafe": {"a": 1}}', "the count {'a': 1}; counts must be numbers"),
        ('{"\\ud800": 1}', "not valid Unicode"),
        ("[" * 100_000, "nested too deeply"),
        ('["cafe", 1.5]', "item 2 has the location 1.5, which is not a name"),
        ('["cafe", ["gym"]]', "item 2 has the location \\['gym'\\]"),
        ('[{"location": "cafe"}, 3]', "item 2 is 3"),
        ('[{"location": "cafe"}, {}]', "item 2 has an empty location"),
        ('{"location": ["cafe", "gym"], "count": [7]}', "differ in length: 'location' 2, 'count' 1"),
        ("{}", "no visit"),
        ("[]", "no visit"),
        ('{"location": "cafe"}\n{"location": 3.5}\n', "line 2 has the location 3.5"),
        ('{"location": "cafe"}\n{"location": \n', "line 2: it is not valid JSON"),
        ('{"location": "cafe"}\n{"location": "gym"}\n7\n', "line 3 is 7"),
        (b"\x00\x01\x02", "this file format is not supported; the formats are"),
        (b"\xff\xfel\x00o\x00c", "not valid utf-16-le text"),
        (gzip.compress(b"location\ncafe\n" * 999, mtime=0)[:-9], "damaged"),
    ],
    ids=lambda value: repr(value[:30]),
)  # fmt: skip
def test_tables_that_are_wrong(tmp_path: Path, content: str | bytes, match: str) -> None:
    refuses(match, write(tmp_path / "table", content))


def test_one_user_of_a_table(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "user,category,count\n1,cafe,7\n2,gym,x\n1,cafe,1\n")
    assert read(path, user="1") == {"cafe": 8}
    refuses("line 3 gives 'gym' the count 'x'", path, user="2")
    refuses("no user '3', only '1', '2'", path, user="3")
    named = write(tmp_path / "n.csv", "who,Where,times\n1,cafe,7\n2,gym,2\n")
    options = {"location_column": "where", "count_column": "times", "user_column": "who"}
    assert read(named, **options, user="2") == {"gym": 2}
    refuses("no column is called 'wher'; the columns are .*; did you mean 'Where'", named, location_column="wher")
    refuses(
        "no user column is known; choose one of 'who', 'Where', 'times' with user_column",
        named,
        location_column="where",
        user="1",
    )


def test_weights_of_a_target(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "location,weight\ncafe,0.5\ngym,1e-3\ncafe,1\n")
    assert ew.read_weights(path) == {"cafe": 1.5, "gym": 0.001}
    assert ew.read_weights(write(tmp_path / "v.csv", "location\ncafe\ncafe\n")) == {"cafe": 2}
    with pytest.raises(ew.InputError, match=r"line 2 gives 'cafe' the count '-0\.5'; counts must not be negative"):
        ew.read_weights(write(tmp_path / "n.csv", "location,count\ncafe,-0.5\n"))
    with pytest.raises(ew.InputError, match="in the format swarm; give a table"):
        ew.read_weights(EXPORTS / "swarm_export")


def test_counts_of_every_user(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "user,location,count\n1,cafe,7\n2,gym,2\n1,gym,1\n1,cafe,1\n")
    assert ew.read_users(path) == {"1": {"cafe": 8, "gym": 1}, "2": {"gym": 2}}
    assert ew.read_users(EXPORTS / "tsmc2014_sample.txt")["1"] == BY_CATEGORY
    with pytest.raises(ew.InputError, match="no user column is known; choose one of 'location'"):
        ew.read_users(write(tmp_path / "n.csv", "location\ncafe\n"))


def test_numbers_that_are_not_read(tmp_path: Path) -> None:
    told = "Ignored the numeric column 'dwell': every row counts as one visit."
    remedy = "If it holds counts, name it as the count column."
    for content in (
        "location,dwell,note\ncafe,12,x\ngym,,\n",
        '[{"location": "cafe", "dwell": 1.5, "note": true}, {"location": "gym"}]',
        '{"location": "cafe", "dwell": "12"}\n{"location": "gym", "note": "7a"}\n',
    ):
        path = write(tmp_path / "t", content)
        history = ew.read(path)
        assert (dict(history.histogram), history.notes) == ({"cafe": 1, "gym": 1}, (f"{told} {remedy}",))
    both = write(tmp_path / "t", "location,count,dwell\ncafe,3,7\n")
    assert ew.read(both).notes == ("Ignored the numeric column 'dwell': the counts are in 'count'.",)
    assert ew.read(both, count_column="dwell") == ew.History(ew.Histogram({"cafe": 7}), "csv")


def test_a_named_column_has_no_second_use(tmp_path: Path) -> None:
    path = write(tmp_path / "t", "number,location\n7,cafe\n8,cafe\n")
    assert read(path, location_column="number") == {"7": 1, "8": 1}


def test_spellings_of_one_place(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.csv", "user,location,count\n1,clinic,1\n1,Clinic ,2\n1,gym,1\n1,cli\u200bnic,1\n2,CLINIC,1\n"
    )
    history = ew.read(path, user="1")
    assert dict(history.histogram) == {"Clinic ": 4, "gym": 1}
    assert history.notes == (r"Counted 3 spellings of 1 place together: 'Clinic ' (also 'clinic', 'cli\u200bnic').",)
    assert ew.read_users(path) == {"1": {"Clinic ": 4, "gym": 1}, "2": {"Clinic ": 1}}
    assert ew.read_weights(path, user="1") == {"Clinic ": 4, "gym": 1}
    labels = write(tmp_path / "labels.csv", "id,label\nCLINIC,Health\ngym,health\n")
    labelled = ew.read(path, user="1", labels=labels)
    assert dict(labelled.histogram) == {"Health": 5}
    assert labelled.notes[1:] == ("Counted 2 spellings of 1 place together: 'Health' (also 'health').",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_pipes_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elsewhere.histories.documents._MOST_UNPACKED", 1000)
    content = b"location\n" + b"cafe\n" * 200
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(ew.InputError, match="standard input: it has more than 1,000 bytes; save it to a file"):
        ew.read("-")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=write, args=(tmp_path / "pipe", content))
    writer.start()
    refuses("it has more than 1,000 bytes", tmp_path / "pipe")
    writer.join()


def test_standard_input(tmp_path: Path) -> None:
    code = "import elsewhere as ew; print(dict(ew.read('-').histogram))"
    for content in (b"location,count\ncafe,7\n", b'{"cafe": 7}', gzip.compress(b"location,count\ncafe,7\n")):
        result = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True, check=True)
        assert result.stdout == b"{'cafe': 7}\n"
    result = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True, check=False)
    assert b"InputError: standard input: it is empty" in result.stderr


# Exports


@pytest.mark.parametrize(
    ("name", "options", "format", "counts"),
    [
        ("google_takeout_2023_MARCH.json", {}, "takeout", BY_NAME),
        ("google_takeout_2023_MARCH.json", {"locations": "id"}, "takeout", BY_PLACE_ID),
        (
            "google_takeout_2023_MARCH_ms.json", {}, "takeout",
            {"Willow Court 12": 1, "Grand Union Station": 1, "Harbour Analytics Ltd": 1, "Blue Lantern Café": 1},
        ),
        ("google_timeline_android_Timeline.json", {}, "timeline", BY_PLACE_ID),
        ("google_timeline_ios_location-history.json", {}, "timeline", BY_PLACE_ID),
        ("swarm_export", {}, "swarm", BY_NAME),
        ("swarm_export", {"locations": "id"}, "swarm", BY_VENUE_ID),
        (
            "swarm_api_checkins.json", {}, "swarm",
            {"Home (private)": 3, "Train Station": 3, "Office": 2, "Café": 1, "Gym": 1},
        ),
        (
            "swarm_api_checkins.json", {"locations": "name"}, "swarm",
            {"Willow Court 12": 3, "Grand Union Station": 3, "Harbour Analytics Ltd": 2, "Blue Lantern Café": 1,
             "Iron Works Gym": 1},
        ),
        ("tsmc2014_sample.txt", {"user": "1"}, "foursquare", BY_CATEGORY),
        ("tsmc2014_sample.txt", {"user": "1", "locations": "id"}, "foursquare", BY_VENUE_ID),
    ],
)  # fmt: skip
def test_exports(name: str, options: dict[str, Any], format: str, counts: dict[str, int]) -> None:  # noqa: A002
    history = ew.read(EXPORTS / name, **options)
    assert history.format == format
    assert dict(history.histogram) == counts
    assert ew.read(EXPORTS / name, format=format, **options) == history


def zipped(path: Path, files: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def takeout() -> dict[str, bytes]:
    """A Takeout as it is downloaded: two months among other things."""
    months = "Takeout/Location History/Semantic Location History/2023/2023_"
    return {
        "Takeout/archive_browser.html": b"<html></html>",
        "Takeout/Location History/Records.json": (EXPORTS / "google_Records.json").read_bytes(),
        "Takeout/Location History/Settings.json": b'{"locations": "none"}',
        months + "MARCH.json": (EXPORTS / "google_takeout_2023_MARCH.json").read_bytes(),
        months + "APRIL.json": (EXPORTS / "google_takeout_2023_MARCH_ms.json").read_bytes().replace(b'"1678', b'"1680'),
    }


def test_folders_and_zips(tmp_path: Path, takeout: dict[str, bytes]) -> None:
    for name, content in takeout.items():
        (tmp_path / "all" / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / "all" / name, content)
    april = ("Willow Court 12", "Grand Union Station", "Harbour Analytics Ltd", "Blue Lantern Café")
    both = {name: count + (name in april) for name, count in BY_NAME.items()}
    assert read(tmp_path / "all") == read(zipped(tmp_path / "takeout", takeout)) == both
    swarm = {f"export/{file.name}": file.read_bytes() for file in (EXPORTS / "swarm_export").iterdir()}
    history = ew.read(zipped(tmp_path / "swarm", swarm))
    assert dict(history.histogram) == BY_NAME
    assert history.notes == ("Left out 1 check-in without a venue.",)
    assert ew.read(EXPORTS, format="timeline").histogram.size == 20  # of one person, twice
    refuses("several formats, takeout and timeline and swarm", EXPORTS)
    refuses("it holds nothing in the format takeout", zipped(tmp_path / "s", swarm), format="takeout")


def test_folders_and_zips_that_are_wrong(tmp_path: Path, takeout: dict[str, bytes]) -> None:
    refuses("it holds no export, no track and no table that can be read", tmp_path)
    month = next(name for name in takeout if "MARCH" in name)
    for name in ("../evil.json", "/etc/evil.json", "a\\..\\..\\evil.json", "C:\\evil.json", "a/../../b.txt"):
        refuses("points outside of it", zipped(tmp_path / "evil", {name: takeout[month], "fine.json": takeout[month]}))
    raw = {name: content for name, content in takeout.items() if "Semantic" not in name}
    assert ew.read(zipped(tmp_path / "raw", raw)).format == "records"
    whole = zipped(tmp_path / "whole", takeout).read_bytes()
    refuses("damaged", write(tmp_path / "cut", whole[:-30]))
    encrypted = bytearray(zipped(tmp_path / "plain", {"a.json": takeout[month]}, zipfile.ZIP_STORED).read_bytes())
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    refuses("encrypted", write(tmp_path / "encrypted", bytes(encrypted)))


@pytest.mark.parametrize(
    ("name", "number"),
    [("google_takeout_2023_MARCH.json", 20), ("google_timeline_android_Timeline.json", 20)],
)
def test_a_month_that_is_there_twice(tmp_path: Path, name: str, number: int) -> None:
    month = (EXPORTS / name).read_bytes()
    once = ew.read(zipped(tmp_path / "once", {"a/2023_MARCH.json": month}))
    twice = ew.read(zipped(tmp_path / "twice", {"a/2023_MARCH.json": month, "b/2023_MARCH (1).json": month}))
    assert twice.histogram == once.histogram
    assert f"Counted {number} repeated visits only once." in twice.notes
    untimed = re.sub(rb'"(start|end)Time', rb'"no\1Time', month)
    assert ew.read(zipped(tmp_path / "untimed", {"1.json": untimed, "2.json": untimed})).histogram.size == 2 * number


def test_a_month_in_both_forms_of_time(tmp_path: Path) -> None:
    months = {name: (EXPORTS / name).read_bytes() for name in
              ("google_takeout_2023_MARCH.json", "google_takeout_2023_MARCH_ms.json")}  # fmt: skip
    history = ew.read(zipped(tmp_path / "both", months))
    assert dict(history.histogram) == BY_NAME
    assert history.notes == ("Counted 4 repeated visits only once.",)


def test_broken_files_of_an_export(tmp_path: Path, takeout: dict[str, bytes]) -> None:
    march, april = (next(name for name in takeout if month in name) for month in ("MARCH", "APRIL"))
    whole = ew.read(zipped(tmp_path / "whole", {march: takeout[march]}))
    shapeless = b'{"timelineObjects": [{"placeVisit": {"location": {"name": "cafe"}}}, 3]}'
    for broken, told in (
        (takeout[april][:-5], "it is not valid JSON"),
        (b"", "it is empty"),
        (shapeless, "it has 3 where an object"),
    ):
        history = ew.read(zipped(tmp_path / "some", {**takeout, april: broken}))
        assert history.histogram == whole.histogram
        (note,) = history.notes
        assert note.startswith(f"Skipped a broken file: {april}: {told}")
        refuses(f"{re.escape(april)}: {told}", zipped(tmp_path / "none", {april: broken}))
    damaged = bytearray(zipped(tmp_path / "stored", takeout, zipfile.ZIP_STORED).read_bytes())
    damaged[damaged.index(b"timelineObjects", damaged.index(b"APRIL.json"))] ^= 1
    history = ew.read(write(tmp_path / "crc", bytes(damaged)))
    assert (history.histogram, len(history.notes)) == (whole.histogram, 1)
    assert "Bad CRC-32" in history.notes[0]


def test_bombs(tmp_path: Path) -> None:
    bomb = b'{"timelineObjects": [' + b" " * 60_000_000 + b"]}"
    refuses("far too large when unpacked", zipped(tmp_path / "bomb", {"a.json": bomb}))
    refuses(
        "far too large when unpacked",
        write(tmp_path / "bomb.gz", gzip.compress(b"location\n" + b"a\n" * 30_000_000)),
    )
    lying = bytearray((tmp_path / "bomb").read_bytes())
    at = lying.index(b"PK\x01\x02") + 24  # the size that the directory of the zip tells
    lying[at : at + 4] = (1000).to_bytes(4, "little")
    refuses("damaged", write(tmp_path / "lying", bytes(lying)))


def test_more_files_than_any_export_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elsewhere.histories.documents._MOST_FILES", 10)
    (tmp_path / "folder").mkdir()
    files = {f"{at}.txt": b"" for at in range(11)}
    for name in files:
        (tmp_path / "folder" / name).touch()
    refuses("more than 10 files", zipped(tmp_path / "many", files))
    refuses("more than 10 files", tmp_path / "folder")


def test_noticed_visits_are_refused() -> None:
    refuses("detected by itself", EXPORTS / "swarm_export" / "visits.json")


def test_visits_without_a_name(tmp_path: Path) -> None:
    places: list[Any] = [
        {"name": " ", "address": "1 Example Quay", "placeId": "a"},
        {"placeId": "b"},
        {},
        None,
        {"name": "cafe", "placeId": "c"},
    ]
    inner = {"childVisits": [{"location": {"name": "shop"}}], "otherCandidateLocations": [{"name": "bar"}]}
    visits = [{"placeVisit": {"location": place, **inner}} for place in places]
    path = write(tmp_path / "m", json.dumps({"timelineObjects": visits}))
    history = ew.read(path)
    assert dict(history.histogram) == {"1 Example Quay": 1, "b": 1, "cafe": 1}
    assert history.notes == (
        "2 places without a name, listed by address or id: '1 Example Quay', 'b'.",
        "Left out 2 visits without a place.",
    )
    assert read(path, locations="id") == {"a": 1, "b": 1, "c": 1}


def test_notes_on_the_timeline() -> None:
    notes = ew.read(EXPORTS / "google_timeline_android_Timeline.json").notes
    assert "ids instead of names" in notes[0]
    assert notes[1:] == (
        "The phone knows some of them: 'ChIJexampleHOME0000000000001' is home, 'ChIJexampleWORK0000000000002' is work.",
        "Left out 1 visit within a visit to a larger place.",
    )


def test_checkins_found_twice_or_without_a_category(tmp_path: Path) -> None:
    cafe = {"name": "Blue", "categories": [{"name": "Bar"}, {"name": "Café", "primary": True}]}
    items = [
        {"id": "1", "type": "checkin", "venue": cafe},
        {"id": "2", "type": "checkin", "venue": {"name": "Pier", "categories": []}},
        {"id": "1", "type": "checkin", "venue": cafe},
    ]
    history = ew.read(write(tmp_path / "c", json.dumps({"response": {"checkins": {"items": items}}})))
    assert dict(history.histogram) == {"Café": 1, "Pier": 1}
    assert history.notes == (
        "1 venue without a category, listed by name or id: 'Pier'.",
        "Counted 1 repeated check-in only once.",
    )


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ('{"timelineObjects": [3]}', "3 where an object with 'placeVisit' should be"),
        ('{"timelineObjects": [{"placeVisit": []}]}', r"\[\] under 'placeVisit', where an object should be"),
        ('{"timelineObjects": [{"placeVisit": {"location": {"name": 3}}}]}', "3 under 'name', where a text should be"),
        ('{"timelineObjects": []}', "no visit"),
        ('{"semanticSegments": [{"visit": {"topCandidate": "a"}}]}', "'a' under 'topCandidate'"),
        ('{"rawSignals": [], "semanticSegments": {}}', "{} under 'semanticSegments', where a list should be"),
        ('[{"startTime": "", "visit": 3}]', "3 under 'visit'"),
        ('{"items": [{"type": "checkin", "venue": "cafe"}]}', "'cafe' under 'venue'"),
        (
            '{"items": [{"type": "checkin", "venue": {"name": "a", "categories": [1]}}]}',
            "1 where an object with 'name'",
        ),
    ],
)
def test_exports_that_are_wrong(tmp_path: Path, content: str, match: str) -> None:
    refuses(match, write(tmp_path / "export", content))


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "location\ncafe\n")
    month = EXPORTS / "google_takeout_2023_MARCH.json"
    refuses(
        "the format 'swarn' is not supported; did you mean 'swarm'.*the formats are browser, takeout",
        table,
        format="swarn",
    )
    refuses("not valid JSON", table, format="takeout")
    refuses("not valid Parquet", month, format="parquet")
    refuses("not a valid database", month, format="browser")
    refuses("the table has 8 columns", table, format="foursquare")
    refuses("no location column is known", month, format="csv")
    refuses("the format takeout does not use user; it uses locations", month, user="1")
    refuses("the format csv does not use locations", table, locations="id")
    refuses("a place has no category, only name and id; add one with labels", month, locations="category")
    refuses("locations is 'kind'; it must be 'name', 'category' or 'id'", month, locations="kind")
    refuses("no categories; add them with labels", EXPORTS / "swarm_export", locations="category")


def test_paths_that_make_no_sense(tmp_path: Path) -> None:
    refuses("cannot be read", tmp_path / "missing")
    for path in (None, 3, "a\0b", b"\xff"):
        with pytest.raises(ew.InputError):
            ew.read(path)  # type: ignore[arg-type]
    if Path("/dev/null").is_char_device():
        refuses("neither a file nor a folder", Path("/dev/null"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="takes permissions away")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "location\ncafe\n")
    path.chmod(0)
    refuses("cannot be read", path)


def test_labels(tmp_path: Path) -> None:
    labels = ["id,label", "ChIJexampleHOME0000000000001,home", "ChIJexampleSTAT0000000000007,station", "unheard of,x"]
    labels += ["ChIJexampleBAR00000000000008,fun", "ChIJexampleCAFE0000000000003,fun"]
    path = write(tmp_path / "labels.csv", "\n".join(labels))
    history = ew.read(EXPORTS / "google_timeline_android_Timeline.json", labels=path)
    unnamed = {name: count for name, count in BY_PLACE_ID.items() if name[11:14] in ("WOR", "CLI", "GYM", "CHU")}
    assert dict(history.histogram) == {"home": 6, "station": 4, "fun": 3, **unnamed}
    assert history.notes[-1] == f"4 locations without a label: {', '.join(map(repr, sorted(unnamed)))}."
    mapping = write(tmp_path / "labels.json", '{"cafe": "fun", "gym": "sport"}')
    table = write(tmp_path / "t.csv", "location,count\ncafe,7\ngym,2\n")
    assert ew.read(table, labels=mapping) == ew.History(ew.Histogram({"fun": 7, "sport": 2}), "csv")
    refuses("labels.csv: it needs the columns id and label", table, labels=write(path, "a,b\n1,2\n"))
    refuses("two values of label for 'a': 'b' and 'c'", table, labels=write(path, "id,label\na,b\na,c\n"))
    refuses("missing: it cannot be read", table, labels=tmp_path / "missing")
    refuses("it needs the columns id and label", table, labels=table)


# Browsers


@pytest.fixture
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever is written for a moment is written to a folder that is empty again in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.usefixtures("nothing_left")
def test_browsers_at_rest(tmp_path: Path, mode: str) -> None:
    for make in (firefox, chromium):
        path = tmp_path / "profile 100%?" / make.__name__
        path.parent.mkdir(exist_ok=True)
        with closing(make(path)) as database:
            database.execute(f"PRAGMA journal_mode = {mode}")
        history = ew.read(path)
        assert dict(history.histogram) == {"cafe.example": 3, "gym.example": 1}
        assert history.format == "browser"
        left_out = {"firefox": "2 visits", "chromium": "1 visit"}[make.__name__]
        assert history.notes == (f"Left out {left_out} to addresses that are not web sites.",)
    assert {file.name for file in path.parent.iterdir()} == {"firefox", "chromium"}


@pytest.mark.usefixtures("nothing_left")
def test_a_browser_that_runs(tmp_path: Path) -> None:
    """What is committed counts, though it is in the log alone; what is not, does not; nothing beside it changes."""
    path = tmp_path / "profile" / "places.sqlite"
    path.parent.mkdir()
    with closing(firefox(path)) as database:
        database.execute("PRAGMA journal_mode = wal")
        database.execute("INSERT INTO moz_historyvisits (place_id) VALUES (3)")
        database.commit()
        database.execute("INSERT INTO moz_historyvisits (place_id) VALUES (5)")
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        assert "places.sqlite-wal" in before
        assert read(path) == {"cafe.example": 3, "gym.example": 2}
        assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.mark.usefixtures("nothing_left")
def test_a_browser_that_holds_its_lock(tmp_path: Path) -> None:
    """A relative of Chromium, also in the middle of writing: its journal tells how the database was."""
    path = tmp_path / "profile" / "History"
    path.parent.mkdir()
    with closing(chromium(path)) as database:
        database.execute("PRAGMA locking_mode = exclusive")
        database.execute("PRAGMA cache_size = 1")
        database.execute("PRAGMA cache_spill = ON")
        database.execute("BEGIN EXCLUSIVE")
        assert read(path) == {"cafe.example": 3, "gym.example": 1}
        database.executemany("INSERT INTO visits (url) VALUES (?)", [(3,)] * 50_000)
        assert (path.parent / "History-journal").stat().st_size
        assert read(path) == {"cafe.example": 3, "gym.example": 1}


def test_a_browser_that_never_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "History"
    with closing(chromium(path)):
        pass
    changes = iter(range(1, 10))
    monkeypatch.setattr("elsewhere.histories.browser._query", lambda *_: os.utime(path, (0, next(changes))))
    refuses("keeps writing to it; close the browser", path)


@pytest.mark.usefixtures("nothing_left")
def test_databases_that_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cookies (id INTEGER)")
    refuses("not the history of Firefox", path)
    with closing(firefox(tmp_path / "places")):
        pass
    whole = (tmp_path / "places").read_bytes()
    refuses("not a valid database", write(tmp_path / "cut", whole[:5000]))
    write(tmp_path / "cut-wal", b"not a log")
    refuses("not a valid database", tmp_path / "cut")


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("location,user", ["cafe,{user}"]),
        ("latitude,longitude,time,user", ["1,1,2023-01-01T10:00Z,{user}", "1,1,2023-01-01T10:30Z,{user}"]),
    ],
)
def test_users_of_several_files(tmp_path: Path, header: str, rows: list[str]) -> None:
    """Two people are never one history, and the one who is wanted may be in any of the files."""
    files = [
        write(tmp_path / f"{user}.csv", "\n".join([header, *rows]).format(user=user)) for user in ("ann", "bob", "ann2")
    ]
    with pytest.raises(ew.InputError, match="several users; choose one with user, such as 'ann', 'ann2', 'bob'"):
        ew.read(files)
    assert ew.read(files, user="ann").histogram.size == 1
    assert ew.read([files[0], files[0]]).histogram.length == 1
    with pytest.raises(ew.InputError, match="it has no user 'cy', only 'ann', 'ann2', 'bob'"):
        ew.read(files, user="cy")


@pytest.mark.parametrize(
    ("names", "left", "form"),
    [
        (("f.csv", "spotify.zip"), "'f.csv'", "spotify"),
        (("f.csv", "monday.gpx"), "'f.csv'", "gpx"),
        (("monday.gpx", "march.json"), "'monday.gpx'", "takeout"),
        (("march.json", "spotify.zip", "f.csv"), "'spotify.zip', 'f.csv'", "takeout"),
        (("f.csv", "table.zip"), "'table.zip'", "csv"),
    ],
)
def test_files_that_are_named_are_read_or_refused(tmp_path: Path, names: list[str], left: str, form: str) -> None:
    write(tmp_path / "f.csv", "location,count\ncafe,3\n")
    zipped(tmp_path / "spotify.zip", {"a.json": (MEDIA / "StreamingHistory_music_0.json").read_bytes()})
    zipped(tmp_path / "table.zip", {"a.csv": b"location,count\ncafe,3\n"})
    write(tmp_path / "monday.gpx", (TRACKS / "monday.gpx").read_text())
    write(tmp_path / "march.json", (EXPORTS / "google_takeout_2023_MARCH.json").read_text(encoding="utf-8"))
    told = f"nothing in {left} is in the format {form}, as the rest is; give files of one format"
    with pytest.raises(ew.InputError, match=re.escape(told)):
        ew.read([tmp_path / name for name in names])


def test_zips_of_one_export_are_one(tmp_path: Path) -> None:
    """Of a large Takeout some zips have pictures alone, or videos."""
    march = {"Takeout/2023_MARCH.json": (EXPORTS / "google_takeout_2023_MARCH.json").read_bytes()}
    places = zipped(tmp_path / "1.zip", march)
    others = [
        zipped(tmp_path / "2.zip", {"Takeout/Google Photos/a.jpg": b"jpg"}),
        zipped(tmp_path / "3.zip", {"Takeout/Google Photos/a.jpg.json": b'{"title": "a.jpg"}'}),
        zipped(tmp_path / "4.zip", {"Takeout/YouTube/watch-history.json": (MEDIA / "watch-history.json").read_bytes()}),
    ]
    assert ew.read([places, *others]).histogram == ew.read(places).histogram
    with pytest.raises(ew.InputError, match=r"2\.zip: it holds nothing that can be read"):
        ew.read([others[0], others[0]])


def test_what_is_named_but_empty_is_refused(tmp_path: Path) -> None:
    table = write(tmp_path / "f.csv", "location,count\ncafe,3\n")
    with pytest.raises(ew.InputError, match=r"empty\.csv: it is empty"):
        ew.read([table, write(tmp_path / "empty.csv", "")])
    with pytest.raises(ew.InputError, match=r"pictures: it holds nothing that can be read; leave it out"):
        ew.read([table, zipped(tmp_path / "pictures", {"a.png": b"png"})])


def test_a_folder_with_several_tables(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        write(tmp_path / name, "location,count\ncafe,3\n")
    refuses("it holds 2 tables, 'a.csv', 'b.csv'; give those that you want one by one", tmp_path)
