"""A history: the histogram in a file, and what else the file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elsewhere.histories.coordinates import Coordinates, Spots, add_spots
from elsewhere.histories.reader import Reading
from elsewhere.histories.shapes import add_type
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex, merge_spellings, spelling_note
from elsewhere.model.taxonomy import Types
from elsewhere.text import as_sentence, quote


@dataclass(frozen=True)
class History:
    """The histogram in a file, and what else the file says. The verbs accept a `History`."""

    histogram: Histogram
    #: The name of the format that was recognised.
    format: str
    #: Sentences for the reader: what was left out, merged or guessed.
    notes: tuple[str, ...] = ()
    #: What the file says about locations beside their names, such as home or a category; `kinds` uses it.
    types: Types = field(default_factory=dict)
    #: Latitude and longitude of locations, where the file has them: those of a location's first visit.
    coordinates: Mapping[str, Coordinates] = field(default_factory=dict)
    #: Hours at locations, where the file has positions over time.
    hours: Mapping[str, float] = field(default_factory=dict)
    #: The coordinates of all visits to a location, each once: those of a chain's branches may differ.
    spots: Mapping[str, tuple[Coordinates, ...]] = field(default_factory=dict, repr=False)


def history_of(reading: Reading, name: str) -> History:
    """The history that was read from a file in the format `name`."""
    for location in reading.counts:
        # A lone surrogate, which JSON can contain, could not be written to a release.
        if not location.isascii() and any("\ud800" <= letter <= "\udfff" for letter in location):
            raise InputError(f"the location {quote(location)} is not valid Unicode")
    merged, spellings = merge_spellings(reading.counts)
    notes = reading.notes + [as_sentence(spelling_note(spellings))] * bool(spellings)
    known = NameIndex(list(merged))
    types: dict[str, tuple[str, ...]] = {}
    for location, said in reading.types.items():
        for type_ in said:
            add_type(types, known.find(location) or location, type_)
    spots: Spots = {}
    for location, all_at in reading.spots.items():
        add_spots(spots, known.find(location) or location, *all_at)
    first = {location: next(iter(all_at)) for location, all_at in spots.items()}
    hours: dict[str, float] = {}
    for location, long in reading.hours.items():
        at_all = known.find(location) or location
        hours[at_all] = hours.get(at_all, 0.0) + long
    everywhere = {location: tuple(all_at) for location, all_at in spots.items()}
    return History(Histogram(merged), name, tuple(notes), types, first, hours, everywhere)
