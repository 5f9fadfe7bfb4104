"""Histories of what somebody looked at: sites, channels, artists, films."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from tests.support.exports import EXPORTS, MEDIA

ONCE = "Counted 1 repeated {} only once."
PLAYED = {"The Lanterns": 2, "Choir of St. Brendan": 1}
READ: dict[str, tuple[str, dict[str, int], tuple[str, ...]]] = {
    "History.json": (
        "chrome",
        {"lantern.example": 2, "northside-clinic.example": 1},
        ("Left out 1 visit to addresses that are not web sites.", ONCE.format("visit")),
    ),
    "watch-history.json": (
        "youtube",
        {"Harbour Knots": 2, "St. Brendan Church": 1},
        (
            "Left out 1 ad: advertisements.",
            "Left out 1 item: searches or removed videos.",
            ONCE.format("video"),
        ),
    ),
    "StreamingHistory_music_0.json": ("spotify", PLAYED, ("Left out 1 item that played for less than 30 s.",)),
    "StreamingHistory_podcast_0.json": ("spotify", {"Sober Talk": 1}, ()),
    "Streaming_History_Audio_2023_0.json": (
        "spotify",
        {**PLAYED, "Sober Talk": 1},
        ("Left out 1 item that played for less than 30 s.",),
    ),
    "NetflixViewingHistory.csv": ("netflix", {"Low Tide": 2, "Lantern: The Film": 1}, ()),
}


@pytest.mark.parametrize("name", READ)
def test_by_their_own_names(name: str) -> None:
    history = ew.read(MEDIA / name)
    assert (history.format, dict(history.histogram), history.notes) == READ[name]
    assert ew.read(MEDIA / name, format=history.format) == history


def test_profiles_of_netflix() -> None:
    path = MEDIA / "ViewingActivity.csv"
    with pytest.raises(ew.InputError, match="rows of several users; choose one with user, such as 'Ada', 'Ben'"):
        ew.read(path)
    history = ew.read(path, user="Ada")
    assert dict(history.histogram) == {"Low Tide": 2, "Lantern: The Film": 1}
    assert history.notes == ("Left out 1 trailer and the like.",)
    assert dict(ew.read(path, user="Ben").histogram) == {"Puppy School": 1}
    with pytest.raises(ew.InputError, match="it has no user 'Cy', only 'Ada', 'Ben'"):
        ew.read(path, user="Cy")


@pytest.mark.parametrize(
    ("name", "options", "evening"),
    [
        ("History.json", {}, "northside-clinic.example · evening"),
        ("watch-history.json", {}, "St. Brendan Church · evening"),
        ("Streaming_History_Audio_2023_0.json", {}, "Sober Talk · evening"),
        ("ViewingActivity.csv", {"user": "Ada"}, "Low Tide · evening"),
    ],
)
def test_times(name: str, options: dict[str, Any], evening: str) -> None:
    history = ew.read(MEDIA / name, by="place,daypart", **options)
    assert history.histogram[evening] == 1
    assert "are in UTC, because nothing tells the local time" in history.notes[-1]
    later = ew.read(MEDIA / name, by="place,daypart", time_zone="Asia/Tokyo", **options)
    assert later.histogram != history.histogram
    assert later.histogram.size == history.histogram.size


def test_in_folders(tmp_path: Path) -> None:
    """Places count before what somebody looked at; of several media one must be chosen."""
    folder = tmp_path / "Takeout"
    folder.mkdir()
    for name in ("History.json", "watch-history.json", "ViewingActivity.csv"):
        shutil.copy(MEDIA / name, folder / name)
    with pytest.raises(ew.InputError, match="exports of several formats, chrome and youtube and netflix; choose one"):
        ew.read(folder)
    assert ew.read(folder, format="youtube").histogram == ew.read(MEDIA / "watch-history.json").histogram
    assert ew.read(folder, format="netflix", user="Ben").histogram.size == 1
    shutil.copy(EXPORTS / "google_takeout_2023_MARCH.json", folder)
    assert ew.read(folder).format == "takeout"
    both = ew.read([MEDIA / f"StreamingHistory_{kind}_0.json" for kind in ("music", "podcast")])
    assert both.histogram == ew.read(MEDIA / "Streaming_History_Audio_2023_0.json").histogram


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"Browser History": [{"url": 7}]}, "it has 7 under 'url', where a text should be"),
        ([{"header": "YouTube", "subtitles": "x"}], "it has 'x' under 'subtitles', where a list should be"),
        ([{"header": "YouTube", "subtitles": ["x"]}], "it has 'x' where an object with 'name' should be"),
        ([{"artistName": "a", "msPlayed": "long"}], "an item that played for 'long' milliseconds"),
        ([{"artistName": "a", "msPlayed": 1}], "it has no visits"),
    ],
)
def test_broken_files(tmp_path: Path, content: Any, why: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(ew.InputError, match=why):
        ew.read(tmp_path / "a.json")
    (tmp_path / "a.csv").write_text("Title,Date\n ,3/4/23\n")
    with pytest.raises(ew.InputError, match="line 2 has an empty title"):
        ew.read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("cafe,7\ngym,2\n", {"cafe": 7, "gym": 2}),
        ("7;café Luna\n2;gym\n7;café Luna\n", {"café Luna": 14, "gym": 2}),
        ("\ncafe\ngym\ncafe\n", {"cafe": 2, "gym": 1}),
        ("Home\t1\n", {"Home": 1}),
    ],
)
def test_no_header(tmp_path: Path, content: str, expected: dict[str, int]) -> None:
    (tmp_path / "a.csv").write_text(content)
    history = ew.read(tmp_path / "a.csv")
    assert dict(history.histogram) == expected
    assert history.notes[0].startswith("The table has no header, so its columns were read as ")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Lokal\ncafe\ngym\n", "no location column is known; choose one of 'Lokal' .* or add a first line with"),
        ("region,2023\ncafe,7\n", "no location column is known"),
        ("cafe,7\ngym,two\n", "no location column is known"),
        ("1,2\n3,4\n", "no location column is known"),
        ("a,b,1\nb,c,2\n", "no location column is known"),
        ("cafe,7\ngym,1.5\n", "line 2 gives 'gym' the count '1.5'; counts must be whole numbers"),
    ],
)
def test_a_header_that_nobody_knows(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ew.InputError, match=why):
        ew.read(tmp_path / "a.csv")
