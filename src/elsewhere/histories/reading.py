"""`read`, `read_weights` and `read_users`: what is in a file, whatever its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import get_args

from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.documents import Document, Source, opened
from elsewhere.histories.formats import Format, recognised
from elsewhere.histories.labels import Labels, parse_labels, with_kinds
from elsewhere.histories.options import Locations, Options
from elsewhere.histories.reader import TRACK_OPTIONS, Export, Reading, TableFormat, TrackFormat
from elsewhere.histories.shapes import add_type, items_of_all
from elsewhere.histories.tables import Table, columns_of, count_by_user, count_visits, real, whole
from elsewhere.histories.tracks.gazetteer import Gazetteer
from elsewhere.histories.tracks.points import Track
from elsewhere.histories.tracks.reading import reading_of
from elsewhere.histories.tracks.table import places_in, track_in
from elsewhere.histories.units import metres, seconds
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex, merge_spellings, spelling_note
from elsewhere.model.taxonomy import Types
from elsewhere.text import as_sentence, name_list, plural, quote


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


def read(
    path: Source | Sequence[Source],
    *,
    format: str | None = None,  # noqa: A002
    locations: Locations | None = None,
    location_column: str | None = None,
    count_column: str | None = None,
    user_column: str | None = None,
    user: str | None = None,
    labels: Source | None = None,
    stay: str | float | None = None,
    radius: str | float | None = None,
    max_gap: str | float | None = None,
    places: Source | None = None,
) -> History:
    r"""Read a history from a file, a folder or a zip; the format is recognised by the content.

    Parameters
    ----------
    path
        The file, folder or zip. ``"-"`` is standard input; an `InMemoryFile` is in memory already. A list of them is
        one history in several files, such as the zips of one Takeout.
    format
        The name of the format: csv, json, jsonl, parquet, foursquare, takeout, timeline, swarm, browser, or one with
        positions over time: records, gpx, kml, tcx, overland, polarsteps, geojson, owntracks, geolife, or tracks for a
        folder or a zip with several of them. Default: recognise it.
    locations
        What an export's location is: the ``"name"`` of the place, its ``"category"`` or its ``"id"``. Default: depends
        on the export.
    location_column
        The column of a table with the locations. Default: a column with a usual name, such as location or place.
    count_column
        The column of a table with the counts. Default: a column with a usual name, such as count; without one, each row
        is one visit.
    user_column
        The column of a table with the users. Default: a column with a usual name, such as user.
    user
        Read only the rows of this user. Required if the table has several users.
    labels
        A table with the columns id and label. A location called id is renamed to label, unless that is empty. A column
        kind, if there is one, says what kind of place it is: a node of the shipped taxonomy, or none. ``elsewhere
        labels`` writes such a table.
    stay
        The shortest stay, such as ``"5min"`` or a number of seconds, where a file has positions over time. Default: 5
        minutes.
    radius
        How far from its first position a stay may reach, such as ``"100m"`` or a number of metres. A name in `places`
        may be as far from a place. Default: 100 metres.
    max_gap
        The longest pause between two positions of a stay, such as ``"15min"`` or a number of seconds. Default: 15
        minutes for gpx, kml, tcx and geolife, and no limit for phones, which send nothing while they rest.
    places
        Places with names: a table with the columns name, latitude and longitude, and perhaps category, or GeoJSON, GPX
        or KML. A place of a track, or of a Timeline, gets the name of the nearest one within `radius`.

    Returns
    -------
    History
        The `histogram`, the `format` that was recognised, `notes`: what was left out, merged or guessed, `types`: what
        the file says about locations, `coordinates`: where they are, and `hours`: how long a track was there. The verbs
        accept a `History`.

    Raises
    ------
    InputError
        The file cannot be read; the message names it and says why.

    See Also
    --------
    read_users : Read the histograms of many users.
    read_weights : Read a target.
    Histogram.from_frame : Read a data frame.

    Examples
    --------
    >>> from elsewhere.histories import InMemoryFile
    >>> history = read(InMemoryFile("history.csv", b"location,count\ncafe,7\ngym,2\n"))
    >>> dict(history.histogram), history.format
    ({'cafe': 7, 'gym': 2}, 'csv')
    """
    options = Options(
        locations,
        location_column,
        count_column,
        user_column,
        user,
        None if stay is None else seconds(stay, "stay"),
        None if radius is None else metres(radius, "radius"),
        None if max_gap is None else seconds(max_gap, "max_gap"),
        None if places is None else _gazetteer(places),
    )
    with opened(path) as documents:
        reader, chosen = recognised(documents, format)
        reading = _counts(reader, chosen, options)
        if not reading.counts:
            raise InputError("it has no visits")
        history = _history(reading, reader.name)
        return history if labels is None else relabelled(history, labels)


def read_labels(path: Source) -> Labels:
    """Read a table with the columns id and label, and perhaps kind."""
    with _table(path, None) as table:
        return parse_labels(table)


def relabelled(history: History, labels: Source | Labels) -> History:
    """Return `history` with its locations renamed by `labels`, a table with the columns id and label, perhaps kind."""
    known = labels if isinstance(labels, Labels) else read_labels(labels)
    counts: Counter[str] = Counter()
    types: dict[str, tuple[str, ...]] = {}
    coordinates: dict[str, Coordinates] = {}
    hours: dict[str, float] = {}
    kinds: dict[str, str] = {}
    unlabelled = []
    for location, count in history.histogram.items():
        row = known.of(location)
        if not row.label and not row.kind:
            unlabelled.append(location)
        label = row.label or location
        counts[label] += count
        for type_ in history.types.get(location, ()):
            add_type(types, label, type_)
        if location in history.coordinates:
            coordinates.setdefault(label, history.coordinates[location])
        if location in history.hours:
            hours[label] = hours.get(label, 0.0) + history.hours[location]
        if row.kind:
            kinds.setdefault(label, row.kind)
    notes = [*history.notes, *known.notes]
    if unlabelled:
        notes.append(f"{plural(len(unlabelled), 'location')} without a label: {name_list(unlabelled)}.")
    made = _history(Reading(counts, notes, types, coordinates, hours), history.format)
    return replace(made, types=with_kinds(made.histogram, made.types, kinds))


def read_weights(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    location_column: str | None = None,
    count_column: str | None = None,
    user_column: str | None = None,
    user: str | None = None,
) -> dict[str, float]:
    r"""Read a target from a table: nonnegative weights by location.

    Parameters
    ----------
    path
        The file. ``"-"`` is standard input; an `InMemoryFile` is in memory already.
    format
        The name of the table's format: csv, json, jsonl, parquet or foursquare. Default: recognise it.
    location_column
        The column with the locations. Default: a column with a usual name, such as location or place.
    count_column
        The column with the weights. Default: a column with a usual name, such as count or weight; without one, each row
        counts as 1.
    user_column
        The column with the users. Default: a column with a usual name, such as user.
    user
        Read only the rows of this user. Required if the table has several users.

    Returns
    -------
    dict
        The weights by location; spellings of one place are added up.

    Raises
    ------
    InputError
        The file cannot be read or is not a table; the message names it and says why.

    See Also
    --------
    resemble, avoid : Use the weights as a target.

    Examples
    --------
    >>> from elsewhere.histories import InMemoryFile
    >>> read_weights(InMemoryFile("target.csv", b"location,weight\ncafe,0.5\nmuseum,1.5\n"))
    {'cafe': 0.5, 'museum': 1.5}
    """
    options = Options(None, location_column, count_column, user_column, user)
    with _table(path, format) as table:
        return merge_spellings(count_visits(table, options, real))[0]


def read_users(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    location_column: str | None = None,
    count_column: str | None = None,
    user_column: str | None = None,
) -> dict[str, Counter[str]]:
    """Read the counts of every user in a table.

    Parameters
    ----------
    path
        The file. ``"-"`` is standard input; an `InMemoryFile` is in memory already.
    format
        The name of the table's format: csv, json, jsonl, parquet or foursquare. Default: recognise it.
    location_column
        The column with the locations. Default: a column with a usual name, such as location or place.
    count_column
        The column with the counts. Default: a column with a usual name, such as count; without one, each row is one
        visit.
    user_column
        The column with the users. Default: a column with a usual name, such as user.

    Returns
    -------
    dict
        A `collections.Counter` of locations for each user, by name of the user. A place that is spelt in several ways
        has one name for all users.

    Raises
    ------
    InputError
        The file cannot be read or has no column of users; the message names it and says why.

    See Also
    --------
    batch : Sanitize every user of a table that need not fit into memory.
    profiles.learn : Learn a profile from the users.
    audit : Attack the users' releases.
    """
    with _table(path, format) as table:
        return count_by_user(table, Options(None, location_column, count_column, user_column))


def _counts(reader: Format, documents: list[Document], options: Options) -> Reading:
    _check(reader, options)
    if isinstance(reader, Export):
        return reader.read(documents, options)
    if isinstance(reader, TrackFormat):
        return reading_of(_track(reader, documents), options, reader.usual_gap)
    if options.locations is not None and options.location_column is None:
        options = replace(options, location_column=reader.locations[options.locations])
    return _of_tables(reader, documents, options)


def _of_tables(reader: TableFormat, documents: list[Document], options: Options) -> Reading:
    """The visits in tables, or in the tracks that they are, all together."""
    tracks: list[Track] = []
    counts: Counter[str] = Counter()
    notes: list[str] = []
    coordinates: dict[str, Coordinates] = {}
    for document in documents:
        with document.named(), reader.open(document) as table:
            track = track_in(table, options)
            if track is not None:
                tracks.append(track)
                continue
            for name in TRACK_OPTIONS:
                if getattr(options, name) is not None:
                    raise InputError(f"{name} is for positions over time, but the table has locations", (name,))
            notes += [*table.notes, *columns_of(table, options).notes(table.numeric)]
            counts.update(count_visits(table, options, whole, coordinates))
    if not tracks:
        return Reading(counts, list(dict.fromkeys(notes)), coordinates=coordinates)
    if len(tracks) < len(documents):
        raise InputError("some of the tables have positions and others locations; give one kind of them")
    for other in tracks[1:]:
        tracks[0].merge(other)
    return reading_of(tracks[0], options)


def _track(reader: TrackFormat, documents: list[Document]) -> Track:
    """All documents as one track."""
    whole_track = Track()
    for track in items_of_all(documents, lambda document: [reader.read(document)], whole_track.notes):
        whole_track.merge(track)
    return whole_track


def _gazetteer(path: Source) -> Gazetteer:
    """The places with names in a file."""
    with opened(path) as documents:
        reader, chosen = recognised(documents, None)
        if isinstance(reader, TrackFormat):
            track = _track(reader, chosen)
            found = Gazetteer([*track.places, *track.visits])
        elif isinstance(reader, TableFormat):
            with reader.open(chosen[0]) as table:
                found = Gazetteer(places_in(table))
        else:
            raise InputError(f"it is in the format {reader.name}; give a table or GeoJSON of places", ("places",))
        if not len(found):
            raise InputError("it has no places with a name, a latitude and a longitude", ("places",))
        return found


def _check(reader: Format, options: Options) -> None:
    """Whether the format understands the options."""
    for option in fields(options):
        given = getattr(options, option.name)
        if given is not None and option.name not in reader.options:
            used = f"; it uses {', '.join(reader.options)}" if reader.options else ""
            raise InputError(
                f"the format {reader.name} does not use {option.name}{used}", (option.name, *reader.options)
            )
    if options.locations is not None and options.locations not in reader.locations:
        if options.locations not in get_args(Locations):
            raise InputError(
                f"locations is {quote(options.locations)}; it must be 'name', 'category' or 'id'", ("locations",)
            )
        raise InputError(
            f"in the format {reader.name} a place has no {options.locations}, only {' and '.join(reader.locations)}; "
            "add one with labels",
            ("labels",),
        )


@contextmanager
def _table(path: Source, name: str | None) -> Iterator[Table]:
    with opened(path) as documents:
        reader, chosen = recognised(documents, name)
        if not isinstance(reader, TableFormat):
            raise InputError(f"it is in the format {reader.name}; give a table")
        with reader.open(chosen[0]) as table:
            yield table


def _history(reading: Reading, name: str) -> History:
    for location in reading.counts:
        # Half a character, which JSON can spell, could not be written to any release.
        if not location.isascii() and any("\ud800" <= letter <= "\udfff" for letter in location):
            raise InputError(f"the location {quote(location)} is not valid Unicode")
    merged, spellings = merge_spellings(reading.counts)
    notes = reading.notes + [as_sentence(spelling_note(spellings))] * bool(spellings)
    known = NameIndex(list(merged))
    types: dict[str, tuple[str, ...]] = {}
    for location, said in reading.types.items():
        for type_ in said:
            add_type(types, known.find(location) or location, type_)
    coordinates: dict[str, Coordinates] = {}
    for location, at in reading.coordinates.items():
        coordinates.setdefault(known.find(location) or location, at)
    hours: dict[str, float] = {}
    for location, long in reading.hours.items():
        at_all = known.find(location) or location
        hours[at_all] = hours.get(at_all, 0.0) + long
    return History(Histogram(merged), name, tuple(notes), types, coordinates, hours)
