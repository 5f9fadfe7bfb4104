"""Tables of positions: columns with the latitude, the longitude and the time, and none with a location."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from elsewhere.histories.columns import PositionColumns, find_places, find_positions, find_user
from elsewhere.histories.coordinates import in_degrees
from elsewhere.histories.options import Options
from elsewhere.histories.tables import Table, check_several, names_in, rows_of_user
from elsewhere.histories.tracks.points import Labelled, Track, epochs, name_of, numbers


def track_in(table: Table, options: Options, users: set[str]) -> Track | None:
    """The positions of one user in a table, or None if it has no positions; its users are added to `users`."""
    found = _columns(table, options)
    if found is None:
        return None
    if options.user is not None:
        found = found._replace(user=find_user(table.columns, options.user_column))
    track = Track(notes=list(table.notes))
    own_users: set[str] = set()
    for values, where in _batches(table, found):
        chosen: Sequence[int] = range(len(values[found.latitude]))
        if found.user is not None:
            chosen = rows_of_user(values[found.user], where, own_users, options.user)
            check_several(options.user, own_users)
        _extend(track, found, values, chosen)
    users |= own_users
    return track


def tracks_by_user(table: Table, options: Options) -> dict[str, Track] | None:
    """The positions of every user in a table, or None if it has no positions."""
    found = _columns(table, options)
    if found is None:
        return None
    column = find_user(table.columns, options.user_column)
    tracks: dict[str, Track] = defaultdict(Track)
    for values, where in _batches(table, found._replace(user=column)):
        users: dict[str, list[int]] = defaultdict(list)
        for at, user in enumerate(names_in(values[column], where, "user")):
            users[user].append(at)
        for user, chosen in users.items():
            _extend(tracks[user], found, values, chosen)
    return dict(tracks)


def _columns(table: Table, options: Options) -> PositionColumns | None:
    """The columns of a table of positions, or None if it has no positions."""
    if options.count_column is not None:
        return None
    return find_positions(table.columns, options.location_column, options.user_column)


def _batches(table: Table, found: PositionColumns) -> Iterator[tuple[dict[str, list[Any]], Callable[[int], str]]]:
    """The values of the columns that matter, batch by batch, with a function that locates a row in the file."""
    wanted = [name for name in found if name is not None]
    for columns, where in table.batches([table.columns.index(name) for name in wanted]):
        yield dict(zip(wanted, columns, strict=True)), where


def _extend(track: Track, found: PositionColumns, values: dict[str, list[Any]], chosen: Sequence[int]) -> None:
    """Add the chosen rows to a track."""
    rows = {name: [column[at] for at in chosen] for name, column in values.items()}
    latitudes, longitudes = numbers(rows[found.latitude]), numbers(rows[found.longitude])
    if found.time is None:
        positions = map(in_degrees, latitudes.tolist(), longitudes.tolist())
        track.places += [Labelled("", at) for at in positions if at is not None]
    else:
        track.extend(epochs(rows[found.time]), latitudes, longitudes)


def places_in(table: Table) -> Iterator[Labelled]:
    """The places in a table with the columns name, latitude and longitude, and perhaps category."""
    found = find_places(table.columns)
    wanted = [name for name in found if name is not None]
    for columns, _ in table.batches([table.columns.index(name) for name in wanted]):
        names, latitudes, longitudes, *kinds = columns
        north, east = numbers(latitudes), numbers(longitudes)
        valid = (np.abs(north) <= 90) & (np.abs(east) <= 180)
        for at in np.flatnonzero(valid).tolist():
            if name := name_of(names[at]):
                kind = kinds[0][at] if kinds else None
                yield Labelled(name, (float(north[at]), float(east[at])), kind if isinstance(kind, str) else "")
