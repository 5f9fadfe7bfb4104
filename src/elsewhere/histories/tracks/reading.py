"""Turn a track into a history: find stays, places, and names for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from elsewhere.histories.coordinates import Spots, add_spots
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Reading
from elsewhere.histories.shapes import add_type
from elsewhere.histories.tracks.gazetteer import Gazetteer
from elsewhere.histories.tracks.points import WORST_ACCURACY, Labelled, Track, epochs
from elsewhere.histories.tracks.stays import Stays, find_stays
from elsewhere.histories.tracks.visited import Place, find_places
from elsewhere.model.errors import InputError
from elsewhere.model.parts import split, with_part
from elsewhere.text import plural

STAY, RADIUS = 300.0, 100.0
#: The name of a place without another name. Places are numbered by their visits.
UNNAMED = "place"


def reading_of(track: Track, options: Options, usual_gap: float = math.inf) -> Reading:
    """The visits of a track. `usual_gap` is the default of the longest pause within a stay, in seconds."""
    stay, radius = options.stay or STAY, options.radius or RADIUS
    notes = [*track.notes, *_left_out(track)]
    if track.visits or not len(track):
        return _of_visits(track.visits or track.places, radius, options, notes)
    points = track.points()
    stays = find_stays(points, stay, radius, options.max_gap or usual_gap)
    if not len(stays):
        where = f"you were nowhere for {_duration(stay)} within {_length(radius)}"
        told = f"it has {plural(len(points.times), 'position')}, but {where}"
        gap = " or max_gap" if math.isfinite(options.max_gap or usual_gap) else ""
        raise InputError(f"{told}; lower stay, or raise radius{gap}", ("stay", "radius", "max_gap"))
    places = find_places(stays, stay, radius / 2, None if options.calendar is None else options.calendar.part)
    notes.append(
        f"Found {plural(sum(place.visits for place in places), 'visit')} to {plural(len(places), 'place')} in "
        f"{plural(len(points.times), 'position')}: at least {_duration(stay)} within {_length(radius)} each."
    )
    return _named(places, Gazetteer(track.places), radius, options, notes)


def with_names(reading: Reading, options: Options) -> Reading:
    """Visits to places that are only ids, with names from the person's places."""
    if options.places is None:
        return reading
    names: dict[str, str] = {}
    types: dict[str, tuple[str, ...]] = {}
    for location in reading.counts:
        at = next(iter(reading.spots.get(location, ())), None)
        found = None if at is None else options.places.nearest(at, options.radius or RADIUS)
        names[location] = location if found is None else with_part(found.name, split(location)[1])
        for type_ in (*((found.kind,) if found and found.kind else ()), *reading.types.get(location, ())):
            add_type(types, names[location], type_)
    counts: Counter[str] = Counter()
    spots: Spots = {}
    for location, count in reading.counts.items():
        counts[names[location]] += count
        add_spots(spots, names[location], *reading.spots.get(location, ()))
    return reading._replace(counts=counts, types=types, spots=spots)


def _of_visits(visits: Sequence[Labelled], radius: float, options: Options, notes: list[str]) -> Reading:
    """The visits in a file, each to a place with a name or, without one, to its coordinates."""
    import numpy as np

    named = [visit for visit in visits if visit.name]
    others = [visit for visit in visits if not visit.name and visit.at]
    unnamed = np.array([visit.at for visit in others], dtype=np.float64).reshape(-1, 2)
    times = epochs([0.0 if options.calendar is None else visit.time for visit in others])
    # Each is one visit: none continues in the next, and the duration is unknown.
    stays = Stays(times, times, unnamed[:, 0], unnamed[:, 1])
    part_of = None if options.calendar is None else options.calendar.part
    places = find_places(stays, -math.inf, radius / 2, part_of)
    reading = _named(places, Gazetteer(named), radius, options, notes)
    counts, spots = Counter(reading.counts), {name: dict.fromkeys(at) for name, at in reading.spots.items()}
    types = {name: tuple(said) for name, said in reading.types.items()}
    for name, at, kind, time in named:
        counted = options.bin(name, time, at)
        if counted is None:
            continue
        counts[counted] += 1
        add_spots(spots, counted, at)
        found = options.places.nearest(at, radius) if options.places and at is not None else None
        for type_ in filter(None, (kind, found.kind if found else "")):
            add_type(types, counted, type_)
    return reading._replace(counts=counts, types=types, spots=spots)


def _named(places: Sequence[Place], own: Gazetteer, radius: float, options: Options, notes: list[str]) -> Reading:
    """The places with their names: from the person's table, from the file, home and work, or a number.

    Instead of a number, it is the coordinates (to about a metre) if the person wants them in the release.
    """
    counts: Counter[str] = Counter()
    types: dict[str, tuple[str, ...]] = {}
    spots: Spots = {}
    hours: dict[str, float] = {}
    unnamed = 0
    for place in places:
        found = options.places and options.places.nearest(place.at, radius)
        found = found or own.nearest(place.at, radius) or Labelled(place.role, place.at)
        unnamed += not found.name
        number = f"{place.at[0]:.5f},{place.at[1]:.5f}" if options.keep_coordinates else f"{UNNAMED} {unnamed}"
        name = found.name or number
        for part, (visits, long) in place.parts.items():
            counted = with_part(name, part)
            counts[counted] += visits
            if long:
                hours[counted] = hours.get(counted, 0.0) + long
            add_spots(spots, counted, place.at, *place.spots)
            for type_ in filter(None, (found.kind, place.role)):
                add_type(types, counted, type_)
    if roles := sorted(place.role for place in places if place.role):
        told = {"home": "most of your nights", "work": "most of your working hours"}
        notes.append(f"Guessed {' and '.join(f'{role} from {told[role]}' for role in roles)}.")
    if unnamed:
        has, them = ("has", "it") if unnamed == 1 else ("have", "them")
        notes.append(f"{plural(unnamed, 'place')} {has} no name. To name {them}, add places or labels.")
    return Reading(counts, notes, types, spots, hours)


def _left_out(track: Track) -> Iterable[str]:
    if track.incomplete:
        yield f"Left out {plural(track.incomplete, 'position')} without a valid time and place."
    if track.inexact:
        yield f"Left out {plural(track.inexact, 'position')} that may be off by more than {WORST_ACCURACY:g} m."


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g} min"


def _length(metres: float) -> str:
    return f"{metres:,.12g} m"
