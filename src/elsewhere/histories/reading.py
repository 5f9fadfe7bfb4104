"""`read` and its two sisters: which format a file is in, and what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
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
from elsewhere.histories.documents import Document, Source, opened
from elsewhere.histories.options import Locations, Options
from elsewhere.histories.reader import Export, Reading, TableFormat
from elsewhere.histories.tables import Table, columns_of, count_by_user, count_visits, pairs, real, whole
from elsewhere.histories.unsupported import refuse_unsupported
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.names import NameIndex, merge_spellings, spelling_note
from elsewhere.text import as_sentence, closest, name_list, plural, quote

_EXPORTS = (takeout.EXPORT, timeline.EXPORT, swarm.EXPORT)
_TABLES = (parquet.FORMAT, json_lines.FORMAT, json_table.FORMAT, foursquare.FORMAT, delimited.FORMAT)
#: By name, in the order in which they are asked whether they know a file.
_FORMATS: dict[str, Export | TableFormat] = {it.name: it for it in (browser.EXPORT, *_EXPORTS, *_TABLES)}


@dataclass(frozen=True)
class History:
    """What a file says about where a person was."""

    histogram: Histogram
    #: The name of the format that was recognised.
    format: str
    #: Sentences for the person: what was left out, what has no name.
    notes: tuple[str, ...] = ()


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
    """The histogram in a file, a folder or a zip, whose format is recognised by its content.

    Parameters
    ----------
    path
        The file; ``"-"`` is standard input, and a `InMemoryFile` is in memory already.
    format
        The name of the format, if it is not to be recognised: csv, json, jsonl, parquet, foursquare, takeout, timeline,
        swarm or browser.
    locations
        What a location of an export is: the ``"name"`` of the place, its ``"category"`` or its ``"id"``.
    location_column, count_column, user_column
        The columns of a table, if they are not called location, count and user. Without counts a row is a visit.
    user
        The one whose rows are read.
    labels
        A table with the columns id and label: locations that are called id become label.
    """
    options = Options(locations, location_column, count_column, user_column, user)
    with opened(path) as documents:
        reader, chosen = _recognised(documents, format)
        counts, notes = _counts(reader, chosen, options)
        if not counts:
            raise InputError("there is no visit in it")
        history = _history(counts, reader.name, notes)
        return history if labels is None else relabelled(history, labels)


def relabelled(history: History, labels: Source) -> History:
    """The history with each location under its label in a table with the columns id and label."""
    with _table(labels, None) as table:
        known = pairs(table, "id", "label")
        notes = [*history.notes, *table.notes]
    ids = NameIndex(list(known))
    counts: Counter[str] = Counter()
    unlabelled = []
    for location, count in history.histogram.items():
        id_ = location if location in known else ids.find(location)
        if id_ is None:
            unlabelled.append(location)
        counts[location if id_ is None else known[id_]] += count
    if unlabelled:
        notes.append(f"{plural(len(unlabelled), 'location')} without a label: {name_list(unlabelled)}.")
    return _history(counts, history.format, notes)


def read_weights(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    location_column: str | None = None,
    count_column: str | None = None,
    user_column: str | None = None,
    user: str | None = None,
) -> dict[str, float]:
    """The weights in a table, for a target: any numbers that are not negative. The options are those of `read`."""
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
    """The counts of every user in a table, by name of the user. The options are those of `read`."""
    with _table(path, format) as table:
        return count_by_user(table, Options(None, location_column, count_column, user_column))


def _recognised(documents: list[Document], name: str | None) -> tuple[Export | TableFormat, list[Document]]:
    """The format of the documents, and those of them that are in it."""
    if name is not None and name not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise InputError(f"the format {quote(name)} is not known{closest(str(name), _FORMATS)}; known are {known}")
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
    raise InputError(f"it is in no format that is known, which are {', '.join(_FORMATS)}")


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
        raise InputError(f"no file in it is an export in the format {wanted}")
    return found[0]


def _counts(reader: Export | TableFormat, documents: list[Document], options: Options) -> Reading:
    _check(reader, options)
    if isinstance(reader, Export):
        return reader.read(documents, options)
    if options.locations is not None and options.location_column is None:
        options = replace(options, location_column=reader.locations[options.locations])
    with reader.open(documents[0]) as table:
        notes = [*table.notes, *columns_of(table, options).notes(table.numeric)]
        return Reading(count_visits(table, options, whole), notes)


def _check(reader: Export | TableFormat, options: Options) -> None:
    """Whether the format understands the options."""
    for option in fields(options):
        given = getattr(options, option.name)
        if given is not None and option.name not in reader.options:
            understood = f", which understands {', '.join(reader.options)}" if reader.options else ""
            raise InputError(
                f"{option.name} means nothing in the format {reader.name}{understood}", (option.name, *reader.options)
            )
    if options.locations is not None and options.locations not in reader.locations:
        if options.locations not in get_args(Locations):
            raise InputError(
                f"locations is {quote(options.locations)}; it is 'name', 'category' or 'id'", ("locations",)
            )
        raise InputError(
            f"a place has no {options.locations} in the format {reader.name}, only {' and '.join(reader.locations)}; "
            "labels can give it one",
            ("labels",),
        )


@contextmanager
def _table(path: Source, name: str | None) -> Iterator[Table]:
    with opened(path) as documents:
        reader, chosen = _recognised(documents, name)
        if not isinstance(reader, TableFormat):
            raise InputError(f"it is in the format {reader.name}, but a table is needed here")
        with reader.open(chosen[0]) as table:
            yield table


def _history(counts: Mapping[str, int], name: str, notes: Iterable[str]) -> History:
    for location in counts:
        # Half a character, which JSON can spell, could not be written to any release.
        if not location.isascii() and any("\ud800" <= letter <= "\udfff" for letter in location):
            raise InputError(f"the location {quote(location)} is not valid Unicode")
    merged, spellings = merge_spellings(counts)
    if spellings:
        notes = (*notes, as_sentence(spelling_note(spellings)))
    return History(Histogram(merged), name, tuple(notes))
