"""Tables of positions: columns with the latitude, the longitude and the time, and none with a location."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsewhere.histories.columns import find_places, find_positions, find_user
from elsewhere.histories.coordinates import in_degrees
from elsewhere.histories.options import Options
from elsewhere.histories.tables import Table, check_user, rows_of_user
from elsewhere.histories.tracks.points import Labelled, Track, epochs, name_of, numbers


def track_in(table: Table, options: Options) -> Track | None:
    """The positions of one user in a table, or None if the table has something else."""
    found = find_positions(table.columns, options.location_column, options.user_column)
    if found is None or options.count_column is not None:
        return None
    if options.user is not None:
        found = found._replace(user=find_user(table.columns, options.user_column))
    track = Track(notes=list(table.notes))
    users: set[str] = set()
    wanted = [name for name in found if name is not None]
    for columns, where in table.batches([table.columns.index(name) for name in wanted]):
        values = dict(zip(wanted, columns, strict=True))
        if found.user is not None:
            chosen = rows_of_user(values[found.user], where, users, options.user)
            values = {name: [column[at] for at in chosen] for name, column in values.items()}
        latitudes, longitudes = numbers(values[found.latitude]), numbers(values[found.longitude])
        if found.time is None:
            positions = map(in_degrees, latitudes.tolist(), longitudes.tolist())
            track.places += [Labelled("", at) for at in positions if at is not None]
        else:
            track.extend(epochs(values[found.time]), latitudes, longitudes)
    check_user(options.user, users)
    return track


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
