"""The number of visits of each user of a file, so that a person can choose one."""

from __future__ import annotations

from collections import Counter

from elsewhere.histories.documents import Source, opened
from elsewhere.histories.formats import recognised
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, TableFormat
from elsewhere.histories.tables import count_by_user
from elsewhere.histories.tracks.points import Track
from elsewhere.histories.tracks.reading import reading_of
from elsewhere.histories.tracks.table import tracks_by_user
from elsewhere.model.errors import InputError


def visits_by_user(
    path: Source,
    *,
    format: str | None = None,  # noqa: A002
    location_column: str | None = None,
    count_column: str | None = None,
    user_column: str | None = None,
) -> dict[str, int]:
    """The number of visits of every user in a file with several users, which `read` refuses; empty without users."""
    options = Options(None, location_column, count_column, user_column)
    visits: Counter[str] = Counter()
    with opened(path) as documents:
        reader, chosen = recognised(documents, format)
        if isinstance(reader, Export):
            return dict(reader.users(chosen)) if reader.users else {}
        if not isinstance(reader, TableFormat):
            return {}
        for document in chosen:
            with document.named(), reader.open(document) as table:
                tracks = tracks_by_user(table, options)
                if tracks is None:
                    visits.update({user: it.total() for user, it in count_by_user(table, options).items()})
                else:
                    visits.update({user: _visits(track, options) for user, track in tracks.items()})
    return dict(visits)


def _visits(track: Track, options: Options) -> int:
    """The number of visits of a track, which may have no stay."""
    try:
        return sum(reading_of(track, options).counts.values())
    except InputError:
        return 0
