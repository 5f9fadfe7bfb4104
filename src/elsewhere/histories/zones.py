"""Zones on the map: every place of a history that is in one of them is sensitive."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from elsewhere.files import read_bounded
from elsewhere.histories.coordinates import Coordinates, in_degrees
from elsewhere.histories.history import History
from elsewhere.histories.units import metres
from elsewhere.model.errors import InputError
from elsewhere.model.names import name_key
from elsewhere.model.parts import place_of
from elsewhere.text import name_list, one_line, plural, quote

_EARTH = 6_371_000.0
#: The most bytes of a file of zones.
_MOST_BYTES = 2**26
_NUMBER = r"\s*([-+]?\d+(?:\.\d*)?)\s*"
_CIRCLE = re.compile(rf"{_NUMBER},{_NUMBER},\s*([^,]+)", re.ASCII)

#: The coordinates of all visits to each place, as in `History.spots`.
Spots: TypeAlias = Mapping[str, Collection[Coordinates]]
#: The corners of a ring as longitudes and latitudes, as in GeoJSON.
Ring: TypeAlias = list[tuple[float, float]]


class Zone(Protocol):
    """An area. Its border counts as inside, to be safe."""

    def has(self, at: Coordinates) -> bool: ...


class Circle(NamedTuple):
    """Everything within `radius` metres of a spot."""

    middle: Coordinates
    radius: float

    def has(self, at: Coordinates) -> bool:
        north, other_north = math.radians(self.middle[0]), math.radians(at[0])
        east = math.radians(at[1] - self.middle[1])
        half = math.sin((other_north - north) / 2) ** 2
        half += math.cos(north) * math.cos(other_north) * math.sin(east / 2) ** 2
        return 2 * _EARTH * math.asin(min(math.sqrt(half), 1.0)) <= self.radius


class Polygon(NamedTuple):
    """An outer ring and the holes in it. Its sides are straight lines between longitudes and latitudes."""

    outer: Ring
    holes: list[Ring]

    def has(self, at: Coordinates) -> bool:
        # A ring across the date line continues beyond 180 degrees, but its hole may be written with negative ones.
        spots = [(at[1] + turn, at[0]) for turn in (0.0, 360.0)]
        if any(_on_border(ring, *spot) for ring in (self.outer, *self.holes) for spot in spots):
            return True
        outside_of_holes = not any(_inside(hole, *spot) for hole in self.holes for spot in spots)
        return outside_of_holes and any(_inside(self.outer, *spot) for spot in spots)


class Area(NamedTuple):
    """Several polygons."""

    polygons: list[Polygon]

    def has(self, at: Coordinates) -> bool:
        return any(polygon.has(at) for polygon in self.polygons)


def read_zone(given: str, folder: Path | None = None) -> Zone:
    """A zone: a text such as ``"52.5186,13.3763,300m"``, or a GeoJSON file of polygons, relative to `folder`.

    >>> read_zone("52.5186, 13.3763, 0.3 km")
    Circle(middle=(52.5186, 13.3763), radius=300.0)
    """
    found = _CIRCLE.fullmatch(given)
    if found is None:
        return _read_area(Path(folder or "") / given, given)
    middle = in_degrees(found[1], found[2])
    if middle is None:
        raise InputError(
            f"the zone {quote(given)} is not on the map; give LAT,LON,RADIUS such as 52.5186,13.3763,300m",
            ("sensitive_zones",),
        )
    try:
        return Circle(middle, metres(found[3], "its radius"))
    except InputError as error:
        raise InputError(f"the zone {quote(given)}: {error}") from None


def is_file(given: str) -> bool:
    """Whether a zone is a file, and not a circle."""
    return _CIRCLE.fullmatch(given) is None


def in_zones(history: History, zones: Sequence[str]) -> frozenset[str]:
    """Return the places of a history that lie in any of the zones. Pass them as `sensitive` to hide them.

    Parameters
    ----------
    history
        What `read` returns. Each of its places must have coordinates, so that none is missed.
    zones
        Circles such as ``"52.5186,13.3763,300m"`` (latitude, longitude, radius), or GeoJSON files with polygons.

    Returns
    -------
    frozenset
        The places with at least one visit inside, or all bins of such a place. The border is inside.

    Raises
    ------
    InputError
        A zone is invalid, the history has no coordinates, or some of its places have none.

    See Also
    --------
    hide : Remove the visits to the places.
    Policy : Its `sensitive_zones` do the same.

    Examples
    --------
    >>> from elsewhere.histories import InMemoryFile, read
    >>> table = b"location,latitude,longitude\\ncafe,12.34,-45.67\\ngym,12.35,-45.67\\n"
    >>> sorted(in_zones(read(InMemoryFile("a.csv", table)), ["12.3401,-45.6701,300m"]))
    ['cafe']
    """
    if isinstance(zones, str):
        raise InputError(f"zones is {quote(zones)}; give a list of zones", ("zones",))
    check_located(history.spots, history.histogram.locations)
    return inside(history.spots, [read_zone(zone) for zone in zones], history.histogram.locations)


def inside(spots: Spots, zones: Sequence[Zone], names: Iterable[str]) -> frozenset[str]:
    """The names of places with at least one spot in a zone, and of all bins of such places.

    The visit inside the zone may be in another bin of the place.
    """
    places = {_place(name) for name, all_at in spots.items() if any(zone.has(at) for zone in zones for at in all_at)}
    return frozenset(name for name in names if _place(name) in places)


def check_located(spots: Spots, names: Iterable[str]) -> None:
    """Raise unless all places in `names` have coordinates, because a place without them may be in a zone."""
    if not spots:
        raise InputError(
            "the history does not say where its places are, so sensitive_zones cannot be used; name the places with "
            "sensitive",
            ("sensitive_zones", "sensitive"),
        )
    places = set(map(_place, spots))
    lost = [name for name in names if _place(name) not in places]
    if lost:
        raise InputError(
            f"{plural(len(lost), 'place')} without coordinates may be in a zone: {name_list(lost, 5)}; add each to "
            "sensitive to hide it, or to spared to keep it",
            ("sensitive", "spared"),
        )


def _place(name: str) -> str:
    """The key of a bin's place: equal for two bins of one place."""
    return name_key(place_of(name))


def _read_area(path: Path, given: str) -> Area:
    try:
        content = read_bounded(path, _MOST_BYTES)
    except ValueError as error:
        raise InputError(f"the zones in {quote(given)}: {one_line(error)}") from None
    except OSError as error:
        raise InputError(
            f"the zone {quote(given)} is neither LAT,LON,RADIUS, such as 52.5186,13.3763,300m, nor a GeoJSON file "
            f"({one_line(error)})",
            ("sensitive_zones",),
        ) from None
    return parse_area(given, content)


def parse_area(name: str, content: bytes) -> Area:
    """The polygons in the content of a GeoJSON file; `name` is its name in errors."""
    try:
        parsed = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the zones in {quote(name)} are not valid JSON ({one_line(error)})") from None
    try:
        polygons = list(_polygons(parsed))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the zones in {quote(name)}: {error}") from None
    if not polygons:
        raise InputError(f"the zones in {quote(name)}: it has no polygon")
    return Area(polygons)


def _polygons(content: Any) -> Iterator[Polygon]:
    """The polygons in any object of GeoJSON. Anything else in it would be left unprotected, so it is an error."""
    if not isinstance(content, dict):
        raise ValueError(f"{quote(content)} is not an object of GeoJSON")
    kind = content.get("type")
    lists = {"FeatureCollection": "features", "GeometryCollection": "geometries"}
    if kind in lists:
        for part in _list(content.get(lists[kind])):
            yield from _polygons(part)
    elif kind == "Feature":
        yield from _polygons(content.get("geometry"))
    elif kind in ("Polygon", "MultiPolygon"):
        coordinates = _list(content.get("coordinates"))
        for rings in coordinates if kind == "MultiPolygon" else [coordinates]:
            outer, *holes = map(_ring, _list(rings) or [None])
            yield Polygon(outer, holes)
    else:
        raise ValueError(f"it has an object of the type {quote(kind)}; give polygons only")


def _ring(positions: Any) -> Ring:
    ring = [_corner(position) for position in _list(positions)]
    if len(ring) < 3:
        raise ValueError(f"it has a ring of {plural(len(ring), 'corner')}; a polygon needs three")
    return _ring_on_map(ring if ring[0] == ring[-1] else [*ring, ring[0]])


def _ring_on_map(written: Ring) -> Ring:
    """The intended ring: a side of more than 180 degrees crosses the date line, not the whole map."""
    ring = _the_short_way(written)
    sides = [abs(east - west) for (west, _), (east, _) in pairwise(written)]
    if not _is_around_area(ring) and all(side <= 180 or side == 360 for side in sides):
        ring = _turned(written)  # with the longitudes as written
    if ring[0] != ring[-1]:
        raise ValueError("it has a ring around a pole; give a circle there, such as 90,0,300km")
    if not _is_around_area(ring):
        raise ValueError(f"it has a ring of {plural(len(ring) - 1, 'corner')} without area, which protects nothing")
    return ring


def _the_short_way(ring: Ring) -> Ring:
    """The ring with sides of at most 180 degrees, beyond the longitude of 180 degrees if need be.

    >>> _the_short_way([(179.0, 0.0), (-179.0, 0.0), (-179.0, 1.0), (179.0, 0.0)])
    [(179.0, 0.0), (181.0, 0.0), (181.0, 1.0), (179.0, 0.0)]
    """
    easts = [ring[0][0]]
    for east, _ in ring[1:]:
        easts.append(east - 360 * round((east - easts[-1]) / 360))
    return _turned([(east, north) for east, (_, north) in zip(easts, ring, strict=True)])


def _turned(ring: Ring) -> Ring:
    """The same ring, with its west end between -180 and 180 degrees."""
    turns = 360 * math.floor((min(east for east, _ in ring) + 180) / 360)
    return [(east - turns, north) for east, north in ring]


def _is_around_area(ring: Ring) -> bool:
    (x, y), extent = ring[0], max(max(column) - min(column) for column in zip(*ring, strict=True))
    area = sum((x0 - x) * (y1 - y) - (x1 - x) * (y0 - y) for (x0, y0), (x1, y1) in pairwise(ring)) / 2
    # The rounding error of an empty area is far below this, and the area of a street is far above it.
    return ring[0] == ring[-1] and abs(area) > 1e-9 * extent**2


def _corner(position: Any) -> tuple[float, float]:
    numbers = _list(position)[:2]
    if len(numbers) < 2 or not all(isinstance(it, int | float) and not isinstance(it, bool) for it in numbers):
        raise ValueError("it has a corner without a longitude and a latitude")
    east, north = map(float, numbers)
    if not (abs(east) <= 360 and abs(north) <= 90):
        raise ValueError("it has a corner that is not on the map; the longitude comes first")
    return east, north


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"it has {quote(value)} where a list should be")
    return value


def _inside(ring: Ring, x: float, y: float) -> bool:
    """Whether a ray to the east crosses the ring an odd number of times."""
    crossings = 0
    for (x0, y0), (x1, y1) in pairwise(ring):
        if (y0 > y) != (y1 > y):
            crossings += x < x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    return crossings % 2 == 1


def _on_border(ring: Ring, x: float, y: float) -> bool:
    return any(
        (x1 - x0) * (y - y0) == (y1 - y0) * (x - x0)
        and min(x0, x1) <= x <= max(x0, x1)
        and min(y0, y1) <= y <= max(y0, y1)
        for (x0, y0), (x1, y1) in pairwise(ring)
    )
