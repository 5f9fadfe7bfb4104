"""When visits were: periods, parts of the day and the week, and local time."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.histories.calendar import Calendar, calendar_of
from elsewhere.model.parts import DAYPARTS, place_of
from tests.support.command import Run, run
from tests.support.exports import EXPORTS
from tests.support.tracks import PLACES, TRACKS

__all__ = ["run"]

VISITS = """place,time
Clinic,2023-03-03 18:00
Clinic,2023-03-04 05:59
cafe,2023-03-04T06:00:00
cafe,2023-03-05 23:59:59
cafe,2023-03-06T09:00:00+05:00
gym,2023-03-06T11:59
"""


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path / "visits.csv"


def bins(path: Path, **options: Any) -> dict[str, int]:
    return dict(ew.read(path, **options).histogram)


def test_bins(visits: Path) -> None:
    assert bins(visits, by="place,daypart") == {
        "Clinic · evening": 1, "Clinic · night": 1, "cafe · morning": 2, "cafe · evening": 1, "gym · morning": 1,
    }  # fmt: skip
    assert bins(visits, by=["place", "weekend"]) == {
        "Clinic · weekday": 1, "Clinic · weekend": 1, "cafe · weekend": 2, "cafe · weekday": 1, "gym · weekday": 1,
    }  # fmt: skip
    both = bins(visits, by="weekend, place, daypart")
    assert both == bins(visits, by="place,daypart,weekend")
    assert (both["Clinic · weekday evening"], both["cafe · weekend morning"]) == (1, 1)
    assert bins(visits, by="place") == bins(visits) == {"Clinic": 2, "cafe": 3, "gym": 1}


def test_periods(visits: Path) -> None:
    assert bins(visits, start="2023-03-05") == {"cafe": 2, "gym": 1}
    assert bins(visits, until="2023-03-05") == {"Clinic": 2, "cafe": 2}
    assert bins(visits, start=date(2023, 3, 4), until=date(2023, 3, 4)) == {"Clinic": 1, "cafe": 1}
    assert bins(visits, start="2023-03-04T06:00", until=datetime(2023, 3, 6, 9)) == {"cafe": 3}
    assert "Left out 3 visits outside of the period." in ew.read(visits, start="2023-03-05").notes


@given(st.lists(st.integers(0, 14 * 24), min_size=1, max_size=30), st.integers(0, 14), st.integers(0, 14))
def test_whole_days_against_a_loop(hours: list[int], first: int, last: int) -> None:
    begin = date(2023, 3, 1)
    calendar = calendar_of(begin + timedelta(first), begin + timedelta(max(first, last)), "place,daypart,weekend", None)
    assert calendar is not None
    for hour in hours:
        moment = datetime(2023, 3, 1) + timedelta(hours=hour, minutes=30)
        expected = None
        if begin + timedelta(first) <= moment.date() <= begin + timedelta(max(first, last)):
            day = "weekend" if moment.strftime("%a") in ("Sat", "Sun") else "weekday"
            expected = f"a · {day} {next(part for at, part in enumerate(DAYPARTS) if moment.hour < 6 * at + 6)}"
        assert calendar.bin("a", moment.isoformat()) == expected
        assert expected is None or place_of(expected) == "a"


@pytest.mark.parametrize(
    ("moment", "at", "offset", "zone", "local"),
    [
        ("2023-07-01T12:00", (0.0, 150.0), None, "Asia/Tokyo", 12),  # as it is written
        ("2023-07-01T12:00+02:00", (0.0, 150.0), None, "Asia/Tokyo", 12),  # the file's own offset
        ("2023-07-01T12:00:00+00:00", (0.0, 150.0), None, "Asia/Tokyo", 12),  # which may be 0
        ("2023-07-01 12:00+0000", (0.0, 150.0), None, None, 12),
        ("2023-07-01T12:00:00+00:00", (0.0, 150.0), -180, None, 9),
        (datetime(2023, 1, 1, 12, tzinfo=ZoneInfo("Europe/Lisbon")), (0.0, -9.14), None, None, 12),
        (datetime(2023, 1, 1, 12, tzinfo=UTC), (0.0, -9.14), None, None, 11),
        ("2023-07-01", (0.0, 150.0), -180, "Asia/Tokyo", 0),  # a day is the same in all zones
        ("2023-7-1 6:30 PM", (0.0, 150.0), None, None, 18),
        ("2023/07/01 12:05 am", None, None, None, 0),
        ("2023-07-01 9:05", None, None, None, 9),
        ("2023-07-01T12:00Z", (0.0, 150.0), -180, "Asia/Tokyo", 9),
        ("2023-07-01 12:00", None, -180, None, 9),  # with an offset beside it, it is in UTC
        ("2023-07-01T12:00Z", (0.0, 150.0), None, "Europe/Berlin", 14),
        ("2023-07-01T12:00Z", (0.0, -45.0), None, None, 9),
        (1688212800, (0.0, 14.0), None, None, 13),
        ("1688212800000", None, None, None, 12),
        ("Sat Jul 01 12:00:00 +0000 2023", None, 60, None, 13),
    ],
)
def test_local_time(moment: Any, at: Any, offset: Any, zone: str | None, local: int) -> None:
    calendar = calendar_of("2023-01-01", None, None, zone)
    assert calendar is not None
    assert calendar.part(moment, at, offset) == ""
    assert calendar.seen[0].hour == local
    assert calendar.in_utc == (moment == "1688212800000")


def test_what_is_no_time() -> None:
    missing: tuple[Any, ...] = (None, "", " ", float("nan"))
    nonsense: tuple[Any, ...] = ("soon", "2023-02-30", True, {}, 1e300, [1], "2023-3-4 18:00 pm", "2023-13-1")
    # A year, an hour, days of a spreadsheet, and dates with no sign between the parts.
    numbers: tuple[Any, ...] = (2023, "2023", 18, 9.5, "45000.25", 45000.25, 20230304, 202303041000, "20230304100000")
    several: tuple[Any, ...] = ("3/4/2023 10:00", "01.03.2023", "6:30 PM", datetime(2023, 3, 4, 6).time())
    for moment in (*missing, *nonsense, *numbers, *several):
        calendar = Calendar(by=("daypart",))
        assert calendar.part(moment) is None
        assert (calendar.untimed, calendar.unread) == ((1, 0) if moment in missing else (0, 1)), moment


def test_styles_that_are_not_read(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("location,time\na,3/4/2023 10:00\nb,01.03.2023\n")
    with pytest.raises(ew.InputError, match="a style that is not read, such as '3/4/2023 10:00'; write them as 2023-"):
        ew.read(table, by="place,daypart")
    table.write_text("location,time\na,3/4/2023 10:00\nb,2023-03-04 10:00\nc,\n")
    assert ew.read(table, start="2023-01-01").notes == (
        "Left out 1 visit without a time.",
        "Left out 1 visit with a time in a style that is not read, such as '3/4/2023 10:00'.",
    )


def test_dates_have_no_part_of_the_day(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("location,date\na,2023-04-01\nb,2023-04-03\n")
    with pytest.raises(ew.InputError, match="no time of the day, such as '2023-04-01', so by cannot have daypart; "):
        ew.read(table, by="place,daypart,weekend")
    assert bins(table, by="place,weekend", start="2023-04-01") == {"a · weekend": 1, "b · weekday": 1}
    table.write_text("location,date,time\na,2023-04-01,\nb,2023-04-03,6:30 PM\nc,2023-04-03,7 am\n")
    mixed = ew.read(table, by="place,daypart")
    assert dict(mixed.histogram) == {"b · evening": 1, "c · morning": 1}
    assert mixed.notes == ("Left out 1 visit with a date and no time of the day, such as '2023-04-01'.",)
    parquet, pa = import_module("pyarrow.parquet"), import_module("pyarrow")
    day, evening = datetime(2023, 4, 1), datetime(2023, 4, 1, 18).time()
    for days in ([day], [day.date()], ["2023-04-01"]):  # cells of a spreadsheet are such, too
        parquet.write_table(pa.table({"location": ["a"], "date": days, "time": [evening]}), tmp_path / "a.parquet")
        assert bins(tmp_path / "a.parquet", by="place,daypart") == {"a · evening": 1}


def test_every_format_tells_times(tmp_path: Path) -> None:
    clinic = {
        "google_takeout_2023_MARCH.json": {},
        "google_takeout_2023_MARCH_ms.json": {},
        "google_timeline_android_Timeline.json": {},
        "google_timeline_ios_location-history.json": {},
        "swarm_export": {},
        "swarm_api_checkins.json": {},
        "tsmc2014_sample.txt": {"user": "1"},
        "google_Records.json": {},
    }
    for name, options in clinic.items():
        whole = ew.read(EXPORTS / name, **options)  # type: ignore[arg-type]
        parts = ew.read(EXPORTS / name, by="place,daypart", **options)  # type: ignore[arg-type]
        assert parts.histogram.size == whole.histogram.size, name
        assert {place_of(at) for at in parts.histogram} == set(whole.histogram), name
        assert {place_of(at): said for at, said in parts.types.items()} == whole.types, name
        assert {at for spots in parts.spots.values() for at in spots} == {
            at for spots in whole.spots.values() for at in spots
        }
        hour = "06" if "timeline" in name else "03"  # what the others have is in UTC
        first, second = (
            bins(EXPORTS / name, **options, **period)
            for period in ({"until": f"2023-03-06T{hour}:29:59"}, {"start": f"2023-03-06T{hour}:30"})
        )
        assert sum(first.values()) + sum(second.values()) == whole.histogram.size, name
        assert min(len(first), len(second)) > 0, name
    for name in ("monday.gpx", "timeline.kml", "polarsteps_trip.json", "Records.json"):
        parts = ew.read(TRACKS / name, places=PLACES, by="place,weekend")
        assert {place_of(at) for at in parts.histogram} == set(ew.read(TRACKS / name, places=PLACES).histogram)
        assert all(at.endswith(" · weekday") for at in parts.histogram)
        with pytest.raises(ew.InputError, match="no visit between start and until; its visits are from 2023-03-06 to"):
            ew.read(TRACKS / name, until="2023-03-05")


def test_a_track_in_parts() -> None:
    whole = ew.read(TRACKS / "monday.gpx", places=PLACES)
    parts = ew.read(TRACKS / "monday.gpx", places=PLACES, by="place,daypart")
    assert parts.hours["Northside Fertility Clinic · morning"] == whole.hours["Northside Fertility Clinic"]
    assert sum(parts.hours.values()) == pytest.approx(sum(whole.hours.values()))
    assert parts.spots["Northside Fertility Clinic · morning"] == whole.spots["Northside Fertility Clinic"]


def test_browsers(tmp_path: Path) -> None:
    seconds = int(datetime.fromisoformat("2023-03-06T20:00Z").timestamp())
    for name, statements in {
        "places.sqlite": (
            "CREATE TABLE moz_places (id INTEGER, url TEXT); CREATE TABLE moz_historyvisits (place_id, visit_date);"
            f"INSERT INTO moz_places VALUES (1, 'https://a.example'); INSERT INTO moz_historyvisits VALUES "
            f"(1, {seconds}000000), (1, {seconds + 86400}000000), (1, {seconds}000000), (1, NULL)"
        ),
        "History": (
            "CREATE TABLE urls (id INTEGER, url TEXT); CREATE TABLE visits (url, visit_time);"
            f"INSERT INTO urls VALUES (1, 'https://a.example'); INSERT INTO visits VALUES "
            f"(1, {seconds + 11644473600}000000), (1, {seconds + 11644560000}000000), "
            f"(1, {seconds + 11644473600}000000), (1, NULL)"
        ),
    }.items():
        with sqlite3.connect(tmp_path / name) as database:
            database.executescript(statements)
        database.close()
        later = ew.read(tmp_path / name, until="2023-03-06", by="place,daypart")
        assert dict(later.histogram) == {"a.example · evening": 2}
        assert later.notes == (
            "Left out 1 visit outside of the period.",
            "Left out 1 visit without a time.",
            "The times of 3 visits are in UTC, because nothing tells the local time. To give it, set the time zone.",
        )


def test_a_taxonomy_of_bins(visits: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("id,name,parent_id\n1,Private,\n2,Clinic · night,1\n")
    plan = ew.Policy("hide", sensitive=("Private",), taxonomy=str(tmp_path / "own.csv")).plan()
    assert plan.question(ew.read(visits, by="place,daypart")).covered.locations == {"Clinic · night"}


def test_dates_beside_times(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("location,count,date,time\ncafe,2,2023-03-04,9:05\ngym,1,2023-03-04,21:00:00\n")
    assert bins(tmp_path / "a.csv", by="place,daypart") == {"cafe · morning": 2, "gym · evening": 1}
    (tmp_path / "n.csv").write_text("location,timestamp\ncafe,1677963600\n")
    assert not any("Ignored" in note for note in ew.read(tmp_path / "n.csv", until="2024-01-01").notes)
    (tmp_path / "a.csv").write_text("location,date,timestamp\ncafe,2023-03-01,2023-03-04T21:00\n")
    assert bins(tmp_path / "a.csv", by="place,daypart", start="2023-03-04") == {"cafe · evening": 1}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"start": "March"}, "start is 'March'; give a date such as 2023-03-31 or a time"),
        ({"until": "2023-03-05T10:00Z"}, "until is '2023-03-05T10:00Z'; give a local time, without a time zone"),
        ({"start": "2023-03-05", "until": "2023-03-04"}, "start is '2023-03-05', which is after until, '2023-03-04'"),
        ({"by": "daypart"}, "by is 'daypart'; give place, place,daypart, place,weekend or all three"),
        ({"by": "place,place"}, "by is 'place,place'; give"),
        ({"time_zone": "Europe/Berlin"}, "time_zone has no effect without start, until or by"),
        ({"start": "2023-03-05", "time_zone": "Berlin"}, "time_zone is 'Berlin', which is not a known time zone"),
        ({"start": "2024-01-01"}, "no visit between start and until; its visits are from 2023-03-03 to 2023-03-06"),
    ],
)
def test_refusals(visits: Path, options: dict[str, str], why: str) -> None:
    with pytest.raises(ew.InputError, match=why):
        ew.read(visits, **options)  # type: ignore[arg-type]


def test_a_history_without_times(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("location,count\ncafe,2\n")
    for options in ({"start": "2023-01-01"}, {"by": "place,daypart"}):
        with pytest.raises(ew.InputError, match="it does not say when visits were, so start, until and by cannot"):
            ew.read(tmp_path / "a.csv", **options)  # type: ignore[arg-type]


def test_places_cover_their_bins(visits: Path, tmp_path: Path) -> None:
    history = ew.read(visits, by="place,daypart")
    for sensitive in (["clinic"], ["cl*ic"], ["Clinic · *"], ["Clinic", "Clinic · night"]):
        assert set(ew.hide(history, sensitive=sensitive).histogram) == {
            "cafe · evening",
            "cafe · morning",
            "gym · morning",
        }
    assert "Clinic · night" in ew.hide(history, sensitive=["Clinic · evening"]).histogram
    plan = ew.Policy("hide", sensitive=("preset:health",), spared=("CLINIC · night",)).plan()
    assert plan.question(history).covered == {"preset:health": {"Clinic · evening"}}
    kept = ew.Policy("hide", sensitive=("preset:health", "gym"), spared=("Clinic",)).plan().question(history)
    assert kept.covered.locations == {"gym · morning"}
    said = ew.Policy("hide", sensitive=("preset:health",), kinds={"gym": "Hospital", "Clinic": "none"}).plan()
    assert said.question(history).covered.locations == {"gym · morning"}
    own = tmp_path / "own.csv"
    own.write_text("id,name,parent_id\n1,Sport,\n2,gym,1\n")
    chosen = ew.Policy("hide", sensitive=("Sport",), taxonomy=str(own)).plan().question(history)
    assert chosen.covered.locations == {"gym · morning"}
    assert [kind.node for kind in ew.kinds(history)] == [kind.node for kind in ew.kinds(
        [place_of(name) for name in history.histogram]
    )]  # fmt: skip
    with pytest.raises(ew.InputError, match="the sensitive location 'clinique' is not in the hist"):
        ew.hide(history, sensitive=["clinique"])


def test_a_kind_of_target_and_an_earlier_release(visits: Path) -> None:
    history = ew.read(visits, by="place,daypart")
    near = ew.resemble(history, ew.profiles.all_profiles()["tourist"], max_quality_loss=0.1)
    assert near.histogram.size == history.histogram.size
    earlier = ew.Histogram({"Clinic · morning": 1, "cafe · morning": 1})
    with pytest.raises(ew.Infeasible, match="places that are sensitive now: 'Clinic · morning'"):
        ew.hide(history, sensitive=["Clinic"], lower=earlier)


def test_labels_name_the_places(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label,kind\nChIJexampleCLIN0000000000004,Dr. Weber,Psychotherapist\n")
    timeline = EXPORTS / "google_timeline_android_Timeline.json"
    history = ew.read(timeline, labels=labels, by="place,daypart")
    assert "Dr. Weber · evening" in history.histogram
    plan = ew.Policy("hide", sensitive=("preset:mental-health",)).plan()
    assert plan.question(history).covered.locations == {"Dr. Weber · evening"}


def test_on_the_command_line(run: Run, visits: Path) -> None:
    code, out, err = run("hide", str(visits), "--by", "place,daypart", "--sensitive", "Clinic", "--until", "2023-03-05")
    assert (code, out) == (0, "location,count\ncafe · evening,2\ncafe · morning,2\n")
    assert "Clinic covers 2 locations with 2 visits: Clinic · evening (1), Clinic · night (1)" in err
    assert "Nobody has measured this for bins of place and time; " in err
    Path("release.csv").write_text(out)
    options = ["--by", "place,daypart", "--sensitive", "Clinic", "--until", "2023-03-05"]
    assert run("verify", str(visits), "release.csv", *options)[0] == 0
    assert run("verify", str(visits), "release.csv", "--sensitive", "Clinic", "--until", "2023-03-05")[0] == 1
    saved = run("hide", str(visits), *options, "--save-policy", "p.toml", "-o", "saved.csv")[2]
    again = "give this again with the policy: --until 2023-03-05 --by place,daypart"
    assert f"--save-policy does not save how HISTORY is read; {again}\n" in saved
    assert run("hide", str(visits), "--policy", "p.toml", *again.split(": ")[1].split(), "--quiet")[1] == out
    assert run("hide", str(visits), "--by", "kind", "--sensitive", "Clinic", "--from", "2023-03-04")[0] == 0
    assert run("hide", "history.csv", "--by", "day", "--sensitive", "gym")[::2] == (
        2, "elsewhere: --by is 'day'; give place, place,daypart, place,weekend or all three, or name or kind\n"
    )  # fmt: skip
    assert run("hide", "history.csv", "--from", "2023-03-04", "--sensitive", "gym")[::2] == (
        2,
        "elsewhere: history.csv: it does not say when visits were, so --from, --until and --by cannot be used\n",
    )
