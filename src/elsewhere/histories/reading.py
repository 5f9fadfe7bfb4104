"""`read`, `read_weights` and `read_users`: read a file of any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import date
from typing import get_args

from elsewhere.histories.calendar import calendar_of
from elsewhere.histories.coordinates import Spots, add_spots
from elsewhere.histories.documents import Document, Source, opened
from elsewhere.histories.formats import Format, recognised
from elsewhere.histories.history import History, history_of
from elsewhere.histories.labels import Labels, parse_labels, with_kinds
from elsewhere.histories.options import Locations, Options
from elsewhere.histories.reader import TRACK_OPTIONS, Export, Reading, TableFormat, TrackFormat
from elsewhere.histories.shapes import add_type, items_of_all
from elsewhere.histories.tables import Table, check_user, columns_of, count_by_user, count_visits, real, whole
from elsewhere.histories.tracks.gazetteer import Gazetteer
from elsewhere.histories.tracks.points import Track
from elsewhere.histories.tracks.reading import reading_of
from elsewhere.histories.tracks.table import places_in, track_in
from elsewhere.histories.units import metres, seconds
from elsewhere.model.errors import InputError
from elsewhere.model.names import merge_spellings
from elsewhere.model.parts import split, with_part
from elsewhere.text import name_list, plural, quote


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
    keep_coordinates: bool = False,
    start: str | date | None = None,
    until: str | date | None = None,
    by: str | Collection[str] | None = None,
    time_zone: str | None = None,
) -> History:
    r"""Read a history from a file, a folder or a zip; the format is recognised by the content.

    Parameters
    ----------
    path
        The file, folder or zip. ``"-"`` is standard input; an `InMemoryFile` is in memory already. A list of them is
        one history in several files, such as the zips of one Takeout.
    format
        The name of the format: csv, json, jsonl, parquet, sheet, foursquare, takeout, timeline, swarm, browser,
        chrome, youtube, spotify, netflix, or one with positions over time: records, gpx, kml, tcx, overland,
        polarsteps, geojson, owntracks, geolife, or tracks for a folder or a zip with several of them. Default:
        recognise it.
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
    keep_coordinates
        If True, places of a track that have no name are called by their coordinates, such as ``"52.51860,13.37630"``,
        and a release shows them. Default: they are called ``"place 1"``, ``"place 2"``.
    start, until
        Count only the visits that begin from `start` on and until `until`: dates such as ``"2023-03-31"``, whose whole
        day counts, or times such as ``"2023-03-31T18:00"``, in the local time of the visit.
    by
        What a location is: the ``"place"`` (the default), or a bin of it and of the time when the visit began:
        ``"place,daypart"`` for night, morning, afternoon and evening, six hours each from midnight,
        ``"place,weekend"`` for weekdays and weekends, or ``"place,daypart,weekend"``. A bin is called ``"Clinic ·
        evening"``; what is asked of the place holds for all its bins.
    time_zone
        The time zone of visits whose local time the file does not tell, such as ``"Europe/Berlin"``. Default: what the
        longitude of the place tells, otherwise UTC.

    Returns
    -------
    History
        The `histogram`, the `format` that was recognised, `notes`: what was left out, merged or guessed, `types`: what
        the file says about locations, `coordinates`: where they are, `hours`: how long a track was there, and `spots`:
        all coordinates of visits. The verbs accept a `History`.

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
        keep_coordinates or None,
        calendar_of(start, until, by, time_zone),
    )
    with opened(path) as documents:
        reader, chosen = recognised(documents, format)
        reading = _counts(reader, chosen, options)
        if options.calendar is not None:
            options.calendar.check(bool(reading.counts))
            reading.notes.extend(options.calendar.notes())
        if not reading.counts:
            raise InputError("it has no visits")
        history = history_of(reading, reader.name)
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
    spots: Spots = {}
    hours: dict[str, float] = {}
    kinds: dict[str, str] = {}
    unlabelled = dict[str, None]()
    for location, count in history.histogram.items():
        place, part = split(location)
        row = known.of(place)
        if not row.label and not row.kind:
            unlabelled[place] = None
        label = with_part(row.label or place, part)
        counts[label] += count
        for type_ in history.types.get(location, ()):
            add_type(types, label, type_)
        add_spots(spots, label, *history.spots.get(location, ()))
        if location in history.hours:
            hours[label] = hours.get(label, 0.0) + history.hours[location]
        if row.kind:
            kinds.setdefault(label, row.kind)
    notes = [*history.notes, *known.notes]
    if unlabelled:
        notes.append(f"{plural(len(unlabelled), 'location')} without a label: {name_list([*unlabelled])}.")
    made = history_of(Reading(counts, notes, types, spots, hours), history.format)
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
    """The visits in tables, or in tracks written as tables, all together."""
    tracks: list[Track] = []
    counts: Counter[str] = Counter()
    notes: list[str] = []
    spots: Spots = {}
    users: set[str] = set()
    for document in documents:
        with document.named(), reader.open(document) as table:
            track = track_in(table, options, users)
            if track is not None:
                tracks.append(track)
                continue
            for name in TRACK_OPTIONS:
                if getattr(options, name) is not None:
                    raise InputError(f"{name} is for positions over time, but the table has locations", (name,))
            found = columns_of(table, options)
            read_too = [] if options.calendar is None else found.moments
            notes += [*table.notes, *found.notes(name for name in table.numeric if name not in read_too)]
            counts.update(count_visits(table, options, whole, spots, users))
    check_user(options.user, users)
    if not tracks:
        return Reading(counts, list(dict.fromkeys(notes)), spots=spots)
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
    """Raise if the format does not support an option."""
    for option in fields(options):
        given = getattr(options, option.name)
        if given is not None and option.name not in (*reader.options, "calendar"):
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
