"""From a track to a history: stays, places, and names for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Reading
from elsewhere.histories.shapes import add_type
from elsewhere.histories.tracks.gazetteer import Gazetteer
from elsewhere.histories.tracks.points import WORST_ACCURACY, Labelled, Track
from elsewhere.histories.tracks.stays import Stays, find_stays
from elsewhere.histories.tracks.visited import Place, find_places
from elsewhere.model.errors import InputError
from elsewhere.text import plural

STAY, RADIUS = 300.0, 100.0
#: How a place is called that has no other name. The number goes by its visits.
UNNAMED = "place"


def reading_of(track: Track, options: Options, usual_gap: float = math.inf) -> Reading:
    """The visits of a track. `usual_gap` is the longest pause within a stay, in seconds, unless an option says more."""
    stay, radius = options.stay or STAY, options.radius or RADIUS
    notes = [*track.notes, *_left_out(track)]
    if track.visits or not len(track):
        return _of_visits(track.visits or track.places, radius, options, notes)
    points = track.points()
    stays = find_stays(points, stay, radius, options.max_gap or usual_gap)
    if not len(stays):
        where = f"you were nowhere for {_duration(stay)} within {radius:g} m"
        told = f"it has {plural(len(points.times), 'position')}, but {where}"
        gap = " or max_gap" if math.isfinite(options.max_gap or usual_gap) else ""
        raise InputError(f"{told}; lower stay, or raise radius{gap}", ("stay", "radius", "max_gap"))
    places = find_places(stays, stay, radius / 2)
    notes.append(
        f"Found {plural(sum(place.visits for place in places), 'visit')} to {plural(len(places), 'place')} in "
        f"{plural(len(points.times), 'position')}: at least {_duration(stay)} within {radius:g} m each."
    )
    return _named(places, Gazetteer(track.places), radius, options, notes)


def with_names(reading: Reading, options: Options) -> Reading:
    """Visits to places that are only ids, with the names that the person's places have for them."""
    if options.places is None:
        return reading
    names: dict[str, str] = {}
    types: dict[str, tuple[str, ...]] = {}
    for location in reading.counts:
        at = reading.coordinates.get(location)
        found = None if at is None else options.places.nearest(at, options.radius or RADIUS)
        names[location] = location if found is None else found.name
        for type_ in (*((found.kind,) if found and found.kind else ()), *reading.types.get(location, ())):
            add_type(types, names[location], type_)
    counts: Counter[str] = Counter()
    coordinates: dict[str, Coordinates] = {}
    for location, count in reading.counts.items():
        counts[names[location]] += count
        if location in reading.coordinates:
            coordinates.setdefault(names[location], reading.coordinates[location])
    return reading._replace(counts=counts, types=types, coordinates=coordinates)


def _of_visits(visits: Sequence[Labelled], radius: float, options: Options, notes: list[str]) -> Reading:
    """Visits that the file has, each to a place with a name or, without one, to wherever it is."""
    import numpy as np

    named = [visit for visit in visits if visit.name]
    unnamed = np.array([visit.at for visit in visits if not visit.name and visit.at], dtype=np.float64).reshape(-1, 2)
    no_time = np.zeros(len(unnamed))
    # What has no time is a visit each, so none of them goes on in the next.
    places = find_places(Stays(no_time, no_time, unnamed[:, 0], unnamed[:, 1]), 0.0, radius / 2)
    reading = _named(places, Gazetteer(named), radius, options, notes)
    counts, coordinates = Counter(reading.counts), dict(reading.coordinates)
    types = {name: tuple(said) for name, said in reading.types.items()}
    for name, at, kind in named:
        counts[name] += 1
        found = None
        if at is not None:
            coordinates.setdefault(name, at)
            found = options.places and options.places.nearest(at, radius)
        for type_ in filter(None, (kind, found.kind if found else "")):
            add_type(types, name, type_)
    return reading._replace(counts=counts, types=types, coordinates=coordinates)


def _named(places: Sequence[Place], own: Gazetteer, radius: float, options: Options, notes: list[str]) -> Reading:
    """The places with their names: what the person's table says, what the file says, home and work, or a number."""
    counts: Counter[str] = Counter()
    types: dict[str, tuple[str, ...]] = {}
    coordinates: dict[str, Coordinates] = {}
    hours: dict[str, float] = {}
    unnamed = 0
    for place in places:
        found = options.places and options.places.nearest(place.at, radius)
        found = found or own.nearest(place.at, radius) or Labelled(place.role, place.at)
        unnamed += not found.name
        name = found.name or f"{UNNAMED} {unnamed}"
        counts[name] += place.visits
        if place.hours:
            hours[name] = hours.get(name, 0.0) + place.hours
        coordinates.setdefault(name, place.at)
        for type_ in filter(None, (found.kind, place.role)):
            add_type(types, name, type_)
    if roles := sorted(place.role for place in places if place.role):
        told = {"home": "most of your nights", "work": "most of your working hours"}
        notes.append(f"Guessed {' and '.join(f'{role} from {told[role]}' for role in roles)}.")
    if unnamed:
        has, them = ("has", "it") if unnamed == 1 else ("have", "them")
        notes.append(f"{plural(unnamed, 'place')} {has} no name. To name {them}, add places or labels.")
    return Reading(counts, notes, types, coordinates, hours)


def _left_out(track: Track) -> Iterable[str]:
    if track.incomplete:
        yield f"Left out {plural(track.incomplete, 'position')} without a valid time and place."
    if track.inexact:
        yield f"Left out {plural(track.inexact, 'position')} that may be off by more than {WORST_ACCURACY:g} m."


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g} min"
