"""`read`, `read_weights` and `read_users`: recognise the format of a file, and read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import get_args

from elsewhere.histories import (
    browser,
    delimited,
    foursquare,
    json_lines,
    json_table,
    parquet,
    swarm,
    takeout,
    timeline,
)
from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.documents import Document, Source, opened
from elsewhere.histories.labels import Labels, parse_labels, with_kinds
from elsewhere.histories.options import Locations, Options
from elsewhere.histories.reader import Export, Reading, TableFormat
from elsewhere.histories.shapes import add_type
from elsewhere.histories.tables import Table, columns_of, count_by_user, count_visits, real, whole
from elsewhere.histories.unsupported import refuse_unsupported
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex, merge_spellings, spelling_note
from elsewhere.model.taxonomy import Types
from elsewhere.text import as_sentence, closest, name_list, plural, quote

_EXPORTS = (takeout.EXPORT, timeline.EXPORT, swarm.EXPORT)
_TABLES = (parquet.FORMAT, json_lines.FORMAT, json_table.FORMAT, foursquare.FORMAT, delimited.FORMAT)
#: By name, in the order in which they are asked whether they know a file.
_FORMATS: dict[str, Export | TableFormat] = {it.name: it for it in (browser.EXPORT, *_EXPORTS, *_TABLES)}


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


def read(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    locations: Locations | None = None,
    location_column: str | None = None,
    count_column: str | None = None,
    user_column: str | None = None,
    user: str | None = None,
    labels: Source | None = None,
) -> History:
    r"""Read a history from a file, a folder or a zip; the format is recognised by the content.

    Parameters
    ----------
    path
        The file, folder or zip. ``"-"`` is standard input; an `InMemoryFile` is in memory already.
    format
        The name of the format: csv, json, jsonl, parquet, foursquare, takeout, timeline, swarm or browser. Default:
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

    Returns
    -------
    History
        The `histogram`, the `format` that was recognised, `notes`: what was left out, merged or guessed, `types`: what
        the file says about locations, and `coordinates`: where they are. The verbs accept a `History`.

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
    options = Options(locations, location_column, count_column, user_column, user)
    with opened(path) as documents:
        reader, chosen = _recognised(documents, format)
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
        if row.kind:
            kinds.setdefault(label, row.kind)
    notes = [*history.notes, *known.notes]
    if unlabelled:
        notes.append(f"{plural(len(unlabelled), 'location')} without a label: {name_list(unlabelled)}.")
    made = _history(Reading(counts, notes, types, coordinates), history.format)
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
    path: str | PathLike[str],
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
        The file; ``"-"`` is standard input.
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


def _recognised(documents: list[Document], name: str | None) -> tuple[Export | TableFormat, list[Document]]:
    """The format of the documents, and those of them that are in it."""
    if name is not None and name not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise InputError(
            f"the format {quote(name)} is not supported{closest(str(name), _FORMATS)}; the formats are {known}",
            ("format",),
        )
    alone = [it for it in documents if not it.among_others]
    if not alone:
        return _among(documents, name)
    if not alone[0].head:
        raise InputError("it is empty")
    if name is not None:
        return _FORMATS[name], alone
    refuse_unsupported(alone)
    for reader in _FORMATS.values():
        if reader.recognises(alone[0]):
            return reader, alone
    raise InputError(f"this file format is not supported; the formats are {', '.join(_FORMATS)}")


def _among(documents: list[Document], name: str | None) -> tuple[Export, list[Document]]:
    """The one export that is among the files of a folder or a zip, and whatever is broken, which may belong to it."""
    readable = [it for it in documents if it.is_readable]
    unreadable = [it for it in documents if not it.is_readable]
    found: list[tuple[Export, list[Document]]] = []
    for reader in _EXPORTS:
        chosen = [it for it in readable if name in (None, reader.name) and reader.recognises(it)]
        if chosen:
            found.append((reader, chosen + unreadable))
    if len(found) > 1:
        names = " and ".join(reader.name for reader, _ in found)
        raise InputError(f"it holds exports of several formats, {names}; choose one with format", ("format",))
    if not found and name is None:
        refuse_unsupported(readable)
    for document in () if found else unreadable:
        with document.named():
            document.json()  # says what is wrong with it
    if not found:
        wanted = name or " or ".join(reader.name for reader in _EXPORTS)
        raise InputError(f"it holds no export in the format {wanted}")
    return found[0]


def _counts(reader: Export | TableFormat, documents: list[Document], options: Options) -> Reading:
    _check(reader, options)
    if isinstance(reader, Export):
        return reader.read(documents, options)
    if options.locations is not None and options.location_column is None:
        options = replace(options, location_column=reader.locations[options.locations])
    with reader.open(documents[0]) as table:
        notes = [*table.notes, *columns_of(table, options).notes(table.numeric)]
        coordinates: dict[str, Coordinates] = {}
        return Reading(count_visits(table, options, whole, coordinates), notes, coordinates=coordinates)


def _check(reader: Export | TableFormat, options: Options) -> None:
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
        reader, chosen = _recognised(documents, name)
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
    return History(Histogram(merged), name, tuple(notes), types, coordinates)
