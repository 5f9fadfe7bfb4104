"""Names for places: the person's own table, what the file says, home and work, a number."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import elsewhere as ew
from elsewhere.histories import label_table
from elsewhere.histories.tracks.gazetteer import Gazetteer
from elsewhere.histories.tracks.points import Labelled
from tests.histories.tracks.test_stays import metres
from tests.support.exports import EXPORTS
from tests.support.tracks import PLACES, TRACKS


def test_the_nearest_place() -> None:
    rng = np.random.default_rng(1)
    for north, east in ((12.3, -45.6), (60.0, 179.999), (-89.999, 0.0)):
        spots = [(min(max(north + a, -90), 90), (east + b + 180) % 360 - 180) for a, b in rng.normal(0, 2e-3, (300, 2))]
        gazetteer = Gazetteer(Labelled(str(at), spot) for at, spot in enumerate(spots))
        for radius in (10.0, 100.0):
            for spot in spots[:50]:
                at = (min(max(spot[0] + 3e-4, -90), 90), spot[1])
                distances = [metres(*at, *other) for other in spots]
                nearest = min(range(len(spots)), key=distances.__getitem__)
                found = gazetteer.nearest(at, radius)
                assert (found and found.name) == (str(nearest) if distances[nearest] <= radius else None)
    assert Gazetteer([Labelled("b", (1, 1)), Labelled("a", (1, 1)), Labelled("", (1, 1))]).nearest(
        (1, 1), 1
    ) == Labelled("a", (1, 1))


@pytest.mark.parametrize("form", ["csv", "geojson", "overture"])
def test_forms_of_a_table_of_places(tmp_path: Path, form: str) -> None:
    rows = [line.split(",") for line in PLACES.read_text().splitlines()[1:]]
    path = PLACES
    if form == "geojson":
        path = tmp_path / "places.geojson"
        features = [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [float(east), float(north)]},
                "properties": {"name": name, "category": kind},
            }
            for name, north, east, kind in rows
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    elif form == "overture":
        path = tmp_path / "places.parquet"
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        table = {
            "id": [str(at) for at in range(len(rows))],
            "names": [{"primary": name, "common": None} for name, *_ in rows],
            "categories": [{"primary": kind} for *_, kind in rows],
            "bbox": [{"xmin": float(x), "xmax": float(x), "ymin": float(y), "ymax": float(y)} for _, y, x, _ in rows],
        }
        parquet.write_table(arrow.table(table), path)
    history = ew.read(TRACKS / "Records.json", places=path)
    assert history == ew.read(TRACKS / "Records.json", places=PLACES)
    assert history.histogram["Willow Court 12"] == 2
    assert history.types["Willow Court 12"] == ("home",)


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    for content, match in (
        ("place,lat\na,1\n", "a table of places needs the column longitude; the columns are 'place', 'lat'"),
        ("name,lat,lon\na,91,1\n", "it has no places with a name, a latitude and a longitude"),
    ):
        path = tmp_path / "places.csv"
        path.write_text(content)
        with pytest.raises(ew.InputError, match=match):
            ew.read(TRACKS / "Records.json", places=path)
    with pytest.raises(ew.InputError, match="in the format takeout; give a table or GeoJSON of places"):
        ew.read(TRACKS / "Records.json", places=EXPORTS / "google_takeout_2023_MARCH.json")


def test_names_for_the_ids_of_a_timeline(tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text("name,lat,lon,kind\nmy bar,12.3533,-45.6625,Wine Bar\n")
    history = ew.read(EXPORTS / "google_timeline_android_Timeline.json")
    at = {round(north, 4) for north, _ in history.coordinates.values()}
    named = ew.read(EXPORTS / "google_timeline_android_Timeline.json", places=places)
    assert 12.3533 in at
    assert named.histogram["my bar"] == 2
    assert named.types["my bar"] == ("Wine Bar",)
    assert named.histogram.size == history.histogram.size


def test_home_and_work_in_a_track(tmp_path: Path) -> None:
    """Two weeks of nights in one place and working days in another, on the meridian of Greenwich."""
    lines = ["time,latitude,longitude"]
    for hour in range(14 * 24):
        north = 20 if 9 <= hour % 24 < 17 and hour // 24 % 7 < 5 else 30 if hour % 24 in (18, 19) else 10
        lines.append(f"{(4 * 24 + hour) * 3600},{north},0")
    path = tmp_path / "weeks.csv"
    path.write_text("\n".join(lines))
    history = ew.read(path)
    assert dict(history.histogram) == {"home": 25, "work": 10, "place 1": 14}
    assert history.types == {"home": ("home",), "work": ("work",)}
    assert "Guessed home from most of your nights and work from most of your working hours." in history.notes
    release = ew.hide(history, sensitive={"place 1"}).histogram
    assert set(release) == {"home", "work"}


def test_the_table_of_labels_asks_for_names() -> None:
    history = ew.read(TRACKS / "monday.gpx")
    rows = {row.id: row for row in label_table(history).rows}
    assert {id_: row.label for id_, row in rows.items()} == {
        "Blue Lantern Café": "Blue Lantern Café",
        "place 1": "",
        "place 2": "",
        "place 3": "",
    }
    assert "mlat=12.340" in rows["place 1"].map


def test_a_release_has_no_coordinates(tmp_path: Path) -> None:
    history = ew.read(TRACKS / "monday.kml")
    for kind in ("csv", "json", "parquet"):
        release = tmp_path / f"release.{kind}"
        ew.hide(history, sensitive={"place 3"}).save(release)
        assert not any(degrees in release.read_bytes() for degrees in (b"12.3", b"45.6"))
