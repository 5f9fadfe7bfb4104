"""Stays, places and hours against slow twins, DBSCAN and trackintel."""

from __future__ import annotations

import math
import os
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsewhere.histories.tracks.points import Points, Track
from elsewhere.histories.tracks.stays import Stays, find_stays, same_place
from elsewhere.histories.tracks.visited import find_places
from elsewhere.model.arrays import Floats

HOUR, DAY = 3600.0, 86400.0


def walk(seed: int, number: int = 400, latitude: float = 12.3, longitude: float = -45.6) -> Points:
    """Somebody who rests and moves by turns; some pauses are long."""
    rng = np.random.default_rng(seed)
    pauses = rng.integers(5, 120, number) + 1200 * (rng.random(number) < 0.02)
    step = np.where(np.arange(number) // 20 % 2 == 0, 60.0, 3.0) / 111_000
    north, east = (np.cumsum(rng.normal(0, 1, number) * step) for _ in range(2))
    turned = (longitude + east + 180) % 360 - 180
    return Points(np.cumsum(pauses).astype(float), np.clip(latitude + north, -90, 90), turned)


def metres(a: float, b: float, c: float, d: float) -> float:
    """The haversine formula, as textbooks have it."""
    north, other = math.radians(a), math.radians(c)
    half = math.sin((other - north) / 2) ** 2
    half += math.cos(north) * math.cos(other) * math.sin(math.radians(d - b) / 2) ** 2
    return 2 * 6_371_000 * math.asin(math.sqrt(half))


def slow_stays(points: Points, stay: float, radius: float, gap: float) -> list[tuple[float, float]]:
    """The stays by the definition: from each start the first position outside ends the search."""
    times, latitudes, longitudes = (column.tolist() for column in points)
    found, start = [], 0
    while start < len(times):
        end = start + 1
        while end < len(times) and times[end] - times[end - 1] <= gap and (
            metres(latitudes[start], longitudes[start], latitudes[end], longitudes[end]) < radius
        ):  # fmt: skip
            end += 1
        cut = end < len(times) and times[end] - times[end - 1] > gap
        last = times[min(end, len(times) - 1)]
        if not cut and last - times[start] >= stay:
            found.append((times[start], last))
        start = end
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([60.0, 300.0, 900.0]),
    st.sampled_from([30.0, 100.0, 400.0]),
    st.sampled_from([110.0, 900.0, math.inf]),
)
def test_stays_are_those_of_the_definition(seed: int, stay: float, radius: float, gap: float) -> None:
    points = walk(seed)
    stays = find_stays(points, stay, radius, gap)
    assert list(zip(stays.begins.tolist(), stays.ends.tolist(), strict=True)) == slow_stays(points, stay, radius, gap)


def test_short_tracks() -> None:
    for number in (0, 1, 2):
        assert len(find_stays(Points(*walk(1, number)), 300, 100)) == 0
    far = Points(np.array([0.0, 300.0]), np.array([0.0, 1.0]), np.zeros(2))
    assert find_stays(far, 300, 100).ends.tolist() == [300.0]  # the only position of a stay may be one
    assert len(find_stays(far, 301, 100)) == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gap", [15.0, 10_000.0])
def test_stays_agree_with_trackintel(seed: int, gap: float) -> None:
    """The same stays, at the same parameters: the library that people in the field use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not os.environ.get("CI"):
            pytest.importorskip("trackintel")
        expected = of_trackintel(walk(seed, 3000), gap)
    stays = find_stays(walk(seed, 3000), 5 * 60, 100, gap * 60)
    assert len(stays) == len(expected) > 10
    for name, ours in (("started_at", stays.begins), ("finished_at", stays.ends)):
        theirs = [time.timestamp() for time in expected[name]]
        assert theirs == ours.tolist()
    for at, geometry in enumerate(expected.geometry):
        assert metres(stays.latitudes[at], stays.longitudes[at], geometry.y, geometry.x) < 1


def of_trackintel(points: Points, gap: float) -> Any:
    pandas, trackintel = import_module("pandas"), import_module("trackintel")
    frame = pandas.DataFrame({
        "user_id": 0,
        "tracked_at": pandas.to_datetime(points.times, unit="s", utc=True),
        "latitude": points.latitudes,
        "longitude": points.longitudes,
    })  # fmt: skip
    fixes = trackintel.io.read_positionfixes_gpd(
        import_module("geopandas").GeoDataFrame(
            frame[["user_id", "tracked_at"]],
            geometry=import_module("geopandas").points_from_xy(frame.longitude, frame.latitude),
            crs="EPSG:4326",
        ),
        geom_col="geometry",
    )
    _, found = fixes.generate_staypoints(dist_threshold=100, time_threshold=5, gap_threshold=gap, include_last=True)
    return found


@pytest.mark.parametrize("where", [(12.3, -45.6), (60.0, 179.9999), (-89.999, 10.0), (0.0, 0.0)])
@pytest.mark.parametrize("reach", [5.0, 50.0, 400.0])
def test_places_are_those_of_dbscan(where: tuple[float, float], reach: float) -> None:
    points = walk(3, 2000, *where)
    found = same_place(points.latitudes, points.longitudes, reach)
    dbscan = import_module("sklearn.cluster").DBSCAN(
        eps=reach / 6_371_000, min_samples=1, metric="haversine", algorithm="ball_tree"
    )
    expected = dbscan.fit_predict(np.radians(np.column_stack((points.latitudes, points.longitudes))))
    assert found.tolist() == expected.tolist()


def stays_at(*spans: tuple[float, float, float]) -> Stays:
    """Stays from one hour to another, at latitudes, on the meridian of Greenwich; hour 0 is a Monday's midnight."""
    monday = 4 * DAY
    begins, ends, where = (np.array(column, dtype=float) for column in zip(*spans, strict=True))
    return Stays(monday + HOUR * begins, monday + HOUR * ends, where, np.zeros(len(spans)))


def test_visits_and_hours() -> None:
    # Back after two minutes without a stay elsewhere: one visit. After an hour, or a stay elsewhere: another.
    stays = stays_at((0, 1, 10), (1 + 2 / 60, 2, 10), (3, 4, 10), (4, 4.5, 20), (4.5, 5, 10))
    first, second = find_places(stays, 300, 50)
    assert (first.visits, second.visits) == (3, 1)
    assert first.hours == pytest.approx(1 + 58 / 60 + 1 + 0.5)
    assert first.at == pytest.approx((10, 0))


def test_home_and_work() -> None:
    week = [span for day in range(0, 120, 24) for span in ((day - 4, day + 7, 10), (day + 9, day + 17, 20))]
    saturdays = [(24 * 5 + 7 * 24 * at + 9, 24 * 5 + 7 * 24 * at + 17, 30) for at in range(9)]
    roles = {place.at[0]: place.role for place in find_places(stays_at(*week, *saturdays), 300, 50)}
    assert {round(north): role for north, role in roles.items()} == {10: "home", 20: "work", 30: ""}
    # Two long visits are too few to tell, and so are many short ones.
    assert not any(place.role for place in find_places(stays_at((-4, 60, 10), (70, 99, 10)), 300, 50))
    short = [(24 * day + 2, 24 * day + 3, 10) for day in range(11)]
    assert not any(place.role for place in find_places(stays_at(*short), 300, 50))
    # The hour is that of the place: half a world away, the nights are the other half of the day.
    stays = stays_at(*week)
    away = Stays(stays.begins, stays.ends, stays.latitudes, stays.longitudes + 180)
    roles = {place.at[0]: place.role for place in find_places(away, 300, 50)}
    assert {round(north): role for north, role in roles.items()} == {10: "work", 20: "home"}


def seconds_of(begin: float, end: float, wanted: Any) -> int:
    """The minutes within a span of which something holds, one by one."""
    return 60 * sum(bool(wanted(minute)) for minute in range(int(begin // 60), int(end // 60)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40_000), st.integers(0, 20_000))
def test_hours_of_night_and_work_minute_by_minute(begin: int, length: int) -> None:
    visited = import_module("elsewhere.histories.tracks.visited")
    ends: Floats = 60.0 * np.array([begin, begin + length])
    for name, wanted in (
        ("_nights", lambda minute: not 6 <= minute // 60 % 24 < 22),
        ("_working", lambda minute: 9 <= minute // 60 % 24 < 17 and (minute // 1440 + 3) % 7 < 5),
    ):
        until = getattr(visited, name)(ends)
        assert until[1] - until[0] == pytest.approx(seconds_of(ends[0], ends[1], wanted))


def test_points_come_in_the_order_of_their_times_and_once() -> None:
    track = Track()
    for time in (3.0, 1.0, 2.0, 1.0):
        track.add(time, (time, 0.0))
    track.add(None, (1.0, 1.0))
    track.add(1.0, None)
    other = Track()
    other.extend(np.array([0.0, np.nan, 5.0]), np.array([0.0, 0.0, 91.0]), np.zeros(3))
    track.merge(other)
    assert track.points().times.tolist() == track.points().latitudes.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert track.incomplete == 4
