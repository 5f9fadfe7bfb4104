"""Zones: every place inside is sensitive, and none is missed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elsewhere as ew
from elsewhere.histories.zones import Area, Circle, read_zone
from tests.support.command import Run, run
from tests.support.tracks import PLACES, TRACKS

__all__ = ["run"]

CLINIC = "12.3533,-45.6225,200m"
TABLE = "location,latitude,longitude\nhome,12.34,-45.67\nhome,12.3401,-45.67\ncafe,12.35,-45.66\nCAFE,12.40,-45.66\n"


def zone_file(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content))
    return str(path)


def square(west: float, south: float, size: float) -> list[list[float]]:
    east, north = west + size, south + size
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def metres(*spots: tuple[float, float]) -> float:
    """The distance of two spots by the angle between the two directions from the middle of the earth."""
    one, other = (
        np.array([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
        for north, east in np.radians(spots)
    )
    return float(6_371_000 * np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other))


def test_circles() -> None:
    rng = np.random.default_rng(1)
    for middle in ((12.3, -45.6), (60.0, 179.9999), (-89.999, 0.0)):
        zone = Circle(middle, 150.0)
        for north, east in rng.normal(0, 2e-3, (300, 2)):
            at = (min(max(middle[0] + north, -90), 90), (middle[1] + east + 180) % 360 - 180)
            assert zone.has(at) == (metres(middle, at) <= 150.0)


def test_polygons_as_shapely_has_them(tmp_path: Path) -> None:
    shapely = import_module("shapely")
    rng = np.random.default_rng(2)
    for _ in range(40):
        # A star around the middle never crosses itself.
        angles = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 9)))
        star = np.column_stack((np.cos(angles), np.sin(angles))) * rng.uniform(0.5, 2, (len(angles), 1))
        rings = [[*star.tolist(), star[0].tolist()], (0.2 * star).tolist()]
        polygons = [rings, [square(3.0, 3.0, 1.0)]]
        zone = read_zone(zone_file(tmp_path / "z.geojson", {"type": "MultiPolygon", "coordinates": polygons}))
        twin = shapely.MultiPolygon([(rings[0], rings[1:]), (polygons[1][0], [])])
        spots = [*rng.uniform(-2, 4, (200, 2)).tolist(), *rings[0], [3.0, 3.5], [3.5, 4.0]]
        for east, north in spots:
            assert zone.has((north, east)) == twin.covers(shapely.Point(east, north))


def test_the_date_line(tmp_path: Path) -> None:
    zone = read_zone(zone_file(tmp_path / "z.json", {"type": "Polygon", "coordinates": [square(179.0, 0.0, 2.0)]}))
    assert [zone.has((1.0, east)) for east in (179.5, -179.5, -178.5, 178.5)] == [True, True, False, False]


def test_rings_that_are_written_across_the_date_line(tmp_path: Path) -> None:
    """However its longitudes are written, a ring is the same: with a hole, in any turn and from any corner."""
    easts, spots = (179.0, 180.0, 181.0, 183.0), [(1.0, at / 4) for at in range(-720, 721)]
    for turns in ((0, 0, 0, 0), (0, 0, -360, -360), (0, -360, -360, -360), (-360, -360, -360, -360)):
        west, middle, east, end = (at + turn for at, turn in zip(easts, turns, strict=True))
        outer = [[west, 0], [middle, 0], [middle - 360 if middle == 180 else middle, 0], [end, 0], [end, 3], [west, 3]]
        hole = [[east, 0.5], [east + 1.5, 0.5], [east + 1.5, 2], [east, 2]]
        for first in range(6):
            rings = [outer[first:] + outer[:first], hole]
            zone = read_zone(zone_file(tmp_path / "z.json", {"type": "Polygon", "coordinates": rings}))
            assert [at for at in spots if zone.has(at)] == [
                at for at in spots if 179 <= at[1] % 360 <= 183 and not 181 < at[1] % 360 < 182.5
            ]


def test_all_longitudes(tmp_path: Path) -> None:
    for rings in (
        [[[-180, 60], [180, 60], [180, 90], [-180, 90]]],
        [[[0, 60], [360, 60], [360, 90], [0, 90]]],
        [[[-180, 90], [-180, 60], [-60, 60], [60, 60], [180, 60], [180, 90]]],
    ):
        zone = read_zone(zone_file(tmp_path / "z.json", {"type": "Polygon", "coordinates": rings}))
        assert all(zone.has((61.0, east)) and not zone.has((59.0, east)) for east in (-180.0, -90.0, 0.0, 90.0, 180.0))


def test_all_kinds_of_objects(tmp_path: Path) -> None:
    polygon = {"type": "Polygon", "coordinates": [square(0, 0, 1)]}
    for content in (
        {"type": "Feature", "properties": None, "geometry": polygon},
        {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": polygon}]},
        {"type": "GeometryCollection", "geometries": [polygon]},
        {"type": "MultiPolygon", "coordinates": [polygon["coordinates"]]},
    ):
        assert read_zone(zone_file(tmp_path / "z.json", content)) == Area(
            [read_zone(zone_file(tmp_path / "a.json", polygon)).polygons[0]]  # type: ignore[attr-defined]
        )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"type": "Point", "coordinates": [0, 0]}, "it has an object of the type 'Point'; give polygons only"),
        ({"type": "FeatureCollection", "features": []}, "it has no polygon"),
        ({"type": "Polygon", "coordinates": []}, "it has None where a list should be"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}, "a ring of 2 corners; a polygon needs three"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [0.1, 0.1], [0.3, 0.3]]]}, "a ring of 3 corners without area"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [2, 0], [1, 1]]]}, "a ring of 4 corners without area"),
        ({"type": "Polygon", "coordinates": [[[9, 9], [9, 9], [9, 9]]]}, "a ring of 2 corners without area"),
        ({"type": "Polygon", "coordinates": [[[0, 60], [120, 60], [-120, 60]]]}, "a ring around a pole; give a circle"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 91], [2, 2]]]}, "a corner that is not on the map"),
        ({"type": "Polygon", "coordinates": [[[0, 0], ["1", 1], [2, 2]]]}, "a corner without a longitude"),
        ([1], "is not an object of GeoJSON"),
    ],
)
def test_broken_files(tmp_path: Path, content: Any, why: str) -> None:
    with pytest.raises(ew.InputError, match=why):
        read_zone(zone_file(tmp_path / "z.json", content))


@pytest.mark.parametrize(
    ("zone", "why"),
    [
        ("91,0,300m", "the zone '91,0,300m' is not on the map"),
        ("12,-45,300", "the zone '12,-45,300': its radius is '300'; give a length"),
        ("12,-45", "neither LAT,LON,RADIUS, .* nor a GeoJSON file"),
    ],
)
def test_broken_circles(zone: str, why: str) -> None:
    with pytest.raises(ew.InputError, match=why):
        read_zone(zone)


def test_every_visit_counts(tmp_path: Path) -> None:
    """A name may be that of several places: one visit inside is enough."""
    (tmp_path / "a.csv").write_text(TABLE)
    history = ew.read(tmp_path / "a.csv")
    assert history.coordinates["CAFE"] == (12.35, -45.66)
    for spot in ("12.35,-45.66,10m", "12.40,-45.66,10m"):
        assert ew.in_zones(history, [spot]) == {"CAFE"}
    assert ew.in_zones(history, ["0,0,1km", "12.34,-45.67,1m"]) == {"home"}
    with pytest.raises(ew.InputError, match="zones is '0,0,1km'; give a list"):
        ew.in_zones(history, "0,0,1km")


def test_tracks_and_policies(tmp_path: Path) -> None:
    history = ew.read(TRACKS / "monday.gpx", places=PLACES)
    policy = ew.Policy("hide", sensitive_zones=(CLINIC,))
    result = policy.plan().sanitize(history)
    assert "Northside Fertility Clinic" not in result.histogram
    assert result.question.covered == {f"zone {CLINIC}": {"Northside Fertility Clinic"}}
    assert result.histogram == ew.hide(history, sensitive=ew.in_zones(history, [CLINIC])).histogram
    assert policy.plan().verify(history, result).ok
    assert not policy.plan().verify(history, history.histogram).ok
    by_kind = ew.Policy("hide", sensitive_zones=(CLINIC,), by="kind").plan().sanitize(history)
    assert "Doctor or clinic" not in by_kind.histogram
    assert by_kind.histogram.size == history.histogram.size
    area = zone_file(tmp_path / "z.geojson", {"type": "Polygon", "coordinates": [square(-45.63, 12.35, 0.01)]})
    (tmp_path / "p").mkdir()
    ew.Policy("hide", sensitive_zones=(area, CLINIC)).save(tmp_path / "p" / "policy.toml")
    loaded = ew.Policy.load(tmp_path / "p" / "policy.toml")
    assert loaded.sensitive_zones == ("../z.geojson", CLINIC)
    before = loaded.fingerprint()
    assert loaded.plan().sanitize(history).histogram == result.histogram
    zone_file(tmp_path / "z.geojson", {"type": "Polygon", "coordinates": [square(0, 0, 1)]})
    assert loaded.fingerprint() != before


def test_zones_hold_for_all_bins_of_a_place(run: Run, tmp_path: Path) -> None:
    """The visit inside may be in another bin, in another spelling, or in another cluster of a track."""
    (tmp_path / "a.csv").write_text(
        "location,latitude,longitude,time\nClinic,10,20,2023-03-03 18:00\nclinic,50,20,2023-03-03 08:00\n"
        "CLINIC,,,2023-03-04 01:00\ngym,51,20,2023-03-04 10:00\n"
    )
    for by in ("place,daypart", "place,weekend", "place,daypart,weekend"):
        history = ew.read(tmp_path / "a.csv", by=by)
        inside = {name for name in history.histogram if name.lower().startswith("clinic")}
        assert ew.in_zones(history, ["10,20,1km"]) == inside
        policy = ew.Policy("hide", sensitive_zones=("10,20,1km",))
        assert policy.plan().question(history).covered.locations == inside
        assert not policy.plan().verify(history, history.histogram).ok
    kept = ew.Policy("hide", sensitive_zones=("10,20,1km",), spared=("Clinic · morning",)).plan()
    covered = kept.question(ew.read(tmp_path / "a.csv", by="place,daypart")).covered.locations
    assert {name.lower() for name in covered} == {"clinic · evening", "clinic · night"}
    positions = [
        f"{latitude},20,2023-03-0{day}T{hour}:{minute}0:00Z\n"
        for day, hour, latitude in ((3, "10", 10.0), (4, "20", 10.001))
        for minute in range(3)
    ]
    (tmp_path / "t.csv").write_text("latitude,longitude,time\n" + "".join(positions))
    (tmp_path / "p.csv").write_text("name,latitude,longitude\nClinic,10.0005,20\n")
    track = ew.read(tmp_path / "t.csv", places=tmp_path / "p.csv", radius="60m", by="place,daypart")
    assert len(track.histogram) == 2
    assert ew.in_zones(track, ["10,20,30m"]) == set(track.histogram)


def test_a_zone_that_covers_nothing(run: Run, tmp_path: Path) -> None:
    """It may be misspelt, as a name may be; beside what is hidden, that would not show."""
    (tmp_path / "a.csv").write_text(TABLE + "gym,12.5,-45.5\n")
    code, _, err = run("hide", "a.csv", "--sensitive", "gym", "--sensitive-zone", "20,10,1km")
    why = "elsewhere: the zone 20,10,1km covers no place of the history; correct it or leave it out\n"
    assert (code, err) == (2, why)
    assert run("hide", "a.csv", "--sensitive-zone", "20,10,1km", "--sensitive-zone", "12.5,-45.5,1m")[::2] == (2, why)
    assert run("hide", "a.csv", "--sensitive", "gym", "--sensitive-zone", "20,10,1km", "--by", "kind")[::2] == (2, why)
    assert run("hide", "a.csv", "--sensitive-zone", "20,10,1km")[0] == 3
    assert run("hide", "a.csv", "--sensitive-zone", "20,10,1km", "--allow-unchanged")[0] == 0
    spared = ["--sensitive-zone", "12.5,-45.5,1m", "--spare", "gym", "--sensitive", "home"]
    assert run("hide", "a.csv", *spared)[0] == 0
    for radius, told in (("0m", "it must be positive"), ("-5m", "give a length such as '100m'")):
        code, _, err = run("hide", "a.csv", "--sensitive-zone", f"10,20,{radius}")
        assert (code, err.startswith(f"elsewhere: the zone '10,20,{radius}': its radius is '{radius}'; {told}")) == (
            2,
            True,
        )


def test_a_place_that_may_be_inside(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE + "gym,,\nbar,,\n")
    history = ew.read(tmp_path / "a.csv")
    zones = ("12.34,-45.67,100m",)
    with pytest.raises(ew.InputError, match="2 places without coordinates may be in a zone: 'bar', 'gym'; add each"):
        ew.Policy("hide", sensitive_zones=zones).plan().sanitize(history)
    with pytest.raises(ew.InputError, match="2 places without coordinates"):
        ew.in_zones(history, zones)
    settled = ew.Policy("hide", sensitive=("gym",), spared=("bar",), sensitive_zones=zones)
    assert set(settled.plan().sanitize(history).histogram) == {"CAFE", "bar"}
    spared = ew.Policy("hide", sensitive=("gym",), spared=("bar", "home"), sensitive_zones=zones)
    assert set(spared.plan().sanitize(history).histogram) == {"CAFE", "bar", "home"}
    for nowhere in (history.histogram, {"home": 2, "bar": 1}):
        with pytest.raises(ew.InputError, match="does not say where its places are, so sensitive_zones cannot be used"):
            ew.Policy("hide", sensitive_zones=zones).plan().sanitize(nowhere)


def test_another_zone_for_the_same_plan() -> None:
    history = ew.read(TRACKS / "monday.gpx", places=PLACES)
    plan = ew.Policy("hide", sensitive_zones=("0,0,1m",)).plan().about(history)
    moved = plan.with_choices({"sensitive_zones": (CLINIC,)})
    assert moved.covered_in(history.histogram).locations == {"Northside Fertility Clinic"}


def test_a_batch_has_no_zones() -> None:
    pa: Any = import_module("pyarrow")
    table = pa.table({"user": ["a"], "location": ["home"], "latitude": [12.34], "longitude": [-45.67]})
    with pytest.raises(ew.InputError, match="sensitive_zones needs the coordinates of a single history; a batch"):
        ew.batch(ew.Policy("hide", sensitive_zones=(CLINIC,)), table)


def test_on_the_command_line(run: Run) -> None:
    track = [str(TRACKS / "monday.gpx"), "--places", str(PLACES)]
    code, out, err = run("hide", *track, "--sensitive-zone", CLINIC, "--report", "report.json")
    assert (code, out.count("\n")) == (0, 4)
    assert f"zone {CLINIC} covers 1 location with 1 visit: Northside Fertility Clinic (1)" in err
    Path("release.csv").write_text(out)
    for options in (["--sensitive-zone", CLINIC], ["--report", "report.json"]):
        assert run("verify", track[0], "release.csv", *track[1:], *options)[0] == 0
    code, _, err = run("hide", "history.csv", "--sensitive-zone", CLINIC)
    nowhere = "the history does not say where its places are, so --sensitive-zone cannot be used"
    assert (code, err) == (2, f"elsewhere: {nowhere}; name the places with --sensitive\n")
