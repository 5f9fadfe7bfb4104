"""The formats, and how a file's format is recognised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TypeAlias, TypeVar

from elsewhere.histories import (
    browser,
    chrome,
    delimited,
    foursquare,
    json_lines,
    json_table,
    netflix,
    parquet,
    sheets,
    spotify,
    swarm,
    takeout,
    timeline,
    youtube,
)
from elsewhere.histories.documents import Document
from elsewhere.histories.reader import Export, TableFormat, TrackFormat
from elsewhere.histories.tracks import geojson, geolife, gpx, kml, overland, owntracks, polarsteps, records, tcx
from elsewhere.histories.tracks.points import Track
from elsewhere.histories.unsupported import refuse_unsupported
from elsewhere.model.errors import InputError
from elsewhere.text import closest, name_list, quote

_EXPORTS = (takeout.EXPORT, timeline.EXPORT, swarm.EXPORT)
#: Exports of media and sites, which are used only if there are no places.
_MEDIA = (chrome.EXPORT, youtube.EXPORT, spotify.EXPORT, netflix.EXPORT)
_TABLES = (sheets.FORMAT, parquet.FORMAT, json_lines.FORMAT, json_table.FORMAT, foursquare.FORMAT, delimited.FORMAT)
_TRACKS = (
    records.FORMAT,
    gpx.FORMAT,
    kml.FORMAT,
    tcx.FORMAT,
    overland.FORMAT,
    polarsteps.FORMAT,
    geojson.FORMAT,
    owntracks.FORMAT,
    geolife.FORMAT,
)
Format: TypeAlias = Export | TableFormat | TrackFormat
_Kind = TypeVar("_Kind", bound=Export | TrackFormat)
#: Formats by name, in the order in which they are tried.
_FORMATS: dict[str, Format] = {it.name: it for it in (browser.EXPORT, *_EXPORTS, *_MEDIA, *_TRACKS, *_TABLES)}
#: The name of several formats of tracks in one folder or zip.
_MIXED = "tracks"


def recognised(documents: list[Document], name: str | None) -> tuple[Format, list[Document]]:
    """The format of the documents, and those of them that are in it."""
    if name is not None and name not in (*_FORMATS, _MIXED):
        known = ", ".join(_FORMATS)
        raise InputError(
            f"the format {quote(name)} is not supported{closest(str(name), _FORMATS)}; the formats are {known}",
            ("format",),
        )
    alone = [it for it in documents if not it.among_others]
    if not alone:
        reader, chosen = _among(documents, name)
        _check_all(documents, chosen, reader)
        return reader, chosen
    if not alone[0].head:
        raise InputError("it is empty")
    if name is not None:
        return _mixed(_TRACKS) if name == _MIXED else _FORMATS[name], alone
    refuse_unsupported(alone)
    for reader in _FORMATS.values():
        if reader.recognises(alone[0]):
            return reader, alone
    raise InputError(f"this file format is not supported; the formats are {', '.join(_FORMATS)}")


def _among(documents: list[Document], name: str | None) -> tuple[Format, list[Document]]:
    """The export, the tracks or the only table among the files of a folder or a zip, and any broken files of it.

    An export has visits, so positions beside it are not read. Places take precedence over media and sites.
    """
    readable = [it for it in documents if it.is_readable]
    unreadable = [it for it in documents if not it.is_readable]
    if found := _one_export(_in_format(_EXPORTS, readable, name)):
        return found[0], found[1] + unreadable
    tracks = _in_format(_TRACKS, readable, None if name == _MIXED else name)
    if tracks:
        chosen = [document for _, some in tracks for document in some]
        formats = [reader for reader, _ in tracks]
        return formats[0] if len(formats) == 1 and name != _MIXED else _mixed(formats), chosen + unreadable
    if found := _one_export(_in_format(_MEDIA, readable, name)):
        return found[0], found[1] + unreadable
    if name is None:
        refuse_unsupported(readable)
    for document in unreadable:
        if document.name.lower().endswith(".json"):
            with document.named():
                document.json()  # raises the error
    if name is None or isinstance(_FORMATS.get(name), TableFormat):
        if given := [it for it in readable if it.is_given]:
            return _tables(given, name)
        tables = [it for it in readable if it.is_table]
        if len(tables) == 1:
            return recognised([replace(tables[0], among_others=False)], name)
        if tables:
            told = f"it holds {len(tables)} tables, {name_list([it.name for it in tables])}"
            raise InputError(f"{told}; give those that you want one by one")
    if name is not None:
        raise InputError(f"it holds nothing in the format {name}")
    raise InputError("it holds no export, no track and no table that can be read")


def _check_all(documents: list[Document], chosen: list[Document], reader: Format) -> None:
    """Raise if nothing is read of one of the files, folders or zips that the person gave.

    Several folders or zips without files are the parts of one export, and some parts may have nothing of interest.
    """
    if not any(it.is_given for it in documents):
        return
    used = {it.source for it in chosen}
    left = [it for it in documents if it.source not in used]
    for document in left:
        with document.named():
            if not document.head:
                raise InputError("it is empty")
    if left:
        names = name_list(list(dict.fromkeys(PurePath(it.source).name for it in left)))
        raise InputError(f"nothing in {names} is in the format {reader.name}, as the rest is; give files of one format")


def _one_export(found: list[tuple[Export, list[Document]]]) -> tuple[Export, list[Document]] | None:
    """The export that was found, if there is exactly one."""
    if len(found) > 1:
        names = " and ".join(reader.name for reader, _ in found)
        raise InputError(f"it holds exports of several formats, {names}; choose one with format", ("format",))
    return found[0] if found else None


def _tables(documents: list[Document], name: str | None) -> tuple[Format, list[Document]]:
    """The one format of several tables that a person gives together."""
    formats = {recognised([replace(document, among_others=False)], name)[0].name for document in documents}
    if len(formats) > 1:
        raise InputError(f"they are in several formats, {' and '.join(sorted(formats))}; give files of one format")
    return _FORMATS[formats.pop()], documents


def _in_format(
    formats: Iterable[_Kind], documents: list[Document], name: str | None
) -> list[tuple[_Kind, list[Document]]]:
    """The formats (or the one with that name) that recognise any of the documents, with those documents."""
    left, found = list(documents), list[tuple[_Kind, list[Document]]]()
    for reader in formats:
        is_table = isinstance(reader, Export) and reader.is_table
        fitting = [it for it in left if it.is_table == is_table] if name in (None, reader.name) else []
        chosen = [it for it in fitting if reader.recognises(it)]
        if chosen:
            found.append((reader, chosen))
            taken = set(map(id, chosen))
            left = [it for it in left if id(it) not in taken]
    return found


def _mixed(formats: Sequence[TrackFormat]) -> TrackFormat:
    """Several formats of tracks as one."""

    def read_any(document: Document) -> Track:
        for reader in formats:
            if reader.recognises(document):
                return reader.read(document)
        raise InputError("it is not a track")

    return TrackFormat(_MIXED, lambda _: True, read_any, max(reader.usual_gap for reader in formats))
