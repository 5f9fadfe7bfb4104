"""Labels, kinds and coordinates, as the readers give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.histories import InMemoryFile, label_table, relabelled
from elsewhere.histories.coordinates import in_degrees, in_e7, in_text
from elsewhere.histories.labels import escaped, unescaped
from tests.support.exports import EXPORTS

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'=+-@ \t\r\n\0,\""), min_size=1, max_size=8)


def read(content: str, labels: str | None = None) -> ew.History:
    given_back = None if labels is None else InMemoryFile("labels.csv", labels.encode())
    return ew.read(InMemoryFile("history", content.encode()), labels=given_back)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXTS.filter(str.strip), st.integers(0, 9), min_size=1, max_size=6))
def test_any_name_survives(counts: dict[str, int]) -> None:
    history = read(json.dumps([{"location": name, "count": count} for name, count in counts.items()]))
    table = label_table(history)
    back = relabelled(history, InMemoryFile("labels.csv", table.encode()))
    assert dict(back.histogram) == dict(history.histogram)
    assert back.types == history.types
    order = [(-row.count, row.id) for row in table.rows]
    assert order == sorted(order)


@given(TEXTS)
def test_escaping(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert escaped(text).lstrip()[0:1] not in ("=", "+", "-", "@") or not text.strip()


def test_kinds_of_labels() -> None:
    visits = "location,count\nCafé A,3\nKlinik B,2\nC,1\nD,1\nMedical Center,1\n"
    rows = "id,label,kind,more\nCafé A,,Hospital,x\nKlinik B,Klinik B,NONE,\nc,Bar,,\nD,d, office ,\n"
    history = read(visits, rows + "Medical Center,,Health care,\n")
    assert dict(history.histogram) == {"Café A": 3, "Klinik B": 2, "Bar": 1, "d": 1, "Medical Center": 1}
    # A guess that was left in the table is no more than a guess: this name may also mean a hospital.
    assert history.types == {"Café A": ("Hospital",), "Klinik B": ("none",), "d": ("office",)}
    nodes = {kind.name: kind.node for kind in ew.kinds(history)}
    assert (nodes["Café A"], nodes["Klinik B"], nodes["d"]) == ("hospital", None, "office")
    assert "Medical Center" in ew.Taxonomy.shipped().select(["Hospital"], among=["Medical Center"])
    assert history.notes == ()
    twice = read(visits, "id,label,kind\nC,c,\nC,c,Bar\nC,c,\n")
    assert twice.types == {"c": ("Bar",)}
    untold = read(visits, "id,label,kind\nC,,\nD,,Bar\n")
    assert untold.notes[-1] == "4 locations without a label: 'C', 'Café A', 'Klinik B', 'Medical Center'."


def test_a_kind_comes_before_what_the_export_says() -> None:
    takeout = EXPORTS / "google_takeout_2023_MARCH.json"
    labels = InMemoryFile("l.csv", b"id,label,kind\nWillow Court 12,Refuge,Women's shelter\n")
    history = ew.read(takeout, labels=labels)
    assert history.types["Refuge"] == ("Women's shelter",)
    assert history.coordinates["Refuge"] == (12.3401, -45.6702)
    assert "Willow Court 12" not in history.coordinates


@pytest.mark.parametrize("path", sorted(EXPORTS.glob("google_t*.json")), ids=lambda path: path.name)
def test_where_google_says_places_are(path: Path) -> None:
    history = ew.read(path)
    home = next(name for name in history.histogram if "HOME" in name or "Willow" in name)
    assert history.coordinates[home] == (12.3401, -45.6702)
    assert history.coordinates.keys() == history.histogram.keys()


def test_where_swarm_says_places_are() -> None:
    venue = {"name": "Café", "location": {"lat": 1, "lng": 2}}
    items: list[dict[str, Any]] = [
        {"type": "checkin", "id": "1", "venue": {"name": "Bar"}, "lat": 3, "lng": "4"},
        {"type": "checkin", "id": "2", "venue": venue, "lat": 9, "lng": 9},
        {
            "type": "checkin",
            "id": "3",
            "venue": {"name": "Gym", "location": {"lat": 91, "lng": 0}},
            "lat": True,
            "lng": 1,
        },
    ]
    assert read(json.dumps({"items": items})).coordinates == {"Bar": (3, 4), "Café": (1, 2)}


@pytest.mark.parametrize("columns", ["latitude,longitude", "Lat,LON", "lat,lng", "lat,long"])
def test_where_tables_say_places_are(columns: str) -> None:
    """The first coordinates that make sense count; what does not is no reason to refuse a table."""
    header = f"user,location,{columns}\n"
    rows = "a,cafe,x,1\nb,cafe,7,7\na,Cafe,1.5,-2\na,cafe,5,5\na,gym,,\na,bar,-91,3\na,cafe,1,1\n"
    history = ew.read(InMemoryFile("h.csv", (header + rows).encode()), user="a")
    assert history.coordinates == {"cafe": (1.5, -2)}
    assert history.notes[:-1] == ()
    assert dict(history.histogram) == {"cafe": 4, "gym": 1, "bar": 1}
    twice = "location,lat,latitude,lng\ncafe,1,2,3\n"
    assert ew.read(InMemoryFile("h.csv", twice.encode())).coordinates == {}


def test_what_is_no_coordinate() -> None:
    wrong: list[Any] = [None, True, "", "x", "1,5", float("nan"), float("inf"), 10**400, [], 90.1, "-91"]
    for value in wrong:
        assert in_degrees(value, 0) is None
    assert in_degrees(0, 180.5) is None
    assert in_e7(None, 1) is in_e7(2**31 - 1, 0) is in_e7(0, 2**33) is None
    assert in_e7(2**32 - 1, -1) == (-1e-7, -1e-7)
    for text in ("", "geo:", "1", "91°, 0°", "1°; 2°", 5, None, "٣,٤", "1,2 and more"):
        assert in_text(text) is None
    assert in_text("geo:1.5,-2;u=35") == (1.5, -2)
