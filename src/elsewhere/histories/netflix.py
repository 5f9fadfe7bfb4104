"""What somebody watched on Netflix: ``ViewingActivity.csv``, or ``NetflixViewingHistory.csv``, which has only dates.

A location is a film or a series. Trailers and the like do not count. Times are in UTC.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from elsewhere.histories.columns import called
from elsewhere.histories.delimited import open_table
from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.histories.shapes import Repeats, items_of_all
from elsewhere.histories.tables import check_user, rows_of_user
from elsewhere.model.errors import InputError
from elsewhere.text import plural

_HEADER = re.compile(rb'"?(?:Profile Name"?,"?Start Time"?,.*"?Title"?,|Title"?,"?Date"?\r?\n)')
#: Where the name of a series ends: "Dark: Season 1: Secrets", in any language.
_EPISODE = re.compile(r":\s+(?:[^\W\d_]+\s+\d+(?::|$)|(?:Limited Series|Miniseries)(?::|$))")

#: The most parts of a title: those of the series, the season and the episode.
_MOST_PARTS = 6

_OPTIONAL = ("Profile Name", "Start Time", "Supplemental Video Type")


class _Title(NamedTuple):
    profile: str
    title: str
    time: str | None
    #: Whether it is a trailer or the like.
    is_extra: bool
    #: The whole title, the start and the profile, if all are known.
    identity: tuple[str | None, ...]


def _read(documents: Sequence[Document], options: Options) -> Reading:
    counts: Counter[str] = Counter()
    notes: list[str] = []
    users: set[str] = set()
    extras, repeats = 0, Repeats()
    titles = list(items_of_all(documents, lambda document: _titles(document, options.user, users), notes))
    known = {name for title in titles if (name := _series(title.title)) != title.title}
    for title in titles:
        if title.is_extra:
            extras += 1
        elif not repeats.has(*title.identity):
            counted = options.bin(_name(title.title, known), title.time)
            if counted is not None:
                counts[counted] += 1
    # Checked for all files together, because each file alone may have a single user.
    check_user(options.user, users)
    if extras:
        notes.append(f"Left out {plural(extras, 'trailer')} and the like.")
    if repeats.number:
        notes.append(f"Counted {plural(repeats.number, 'repeated title')} only once.")
    return Reading(counts, notes)


def _users(documents: Sequence[Document]) -> Counter[str]:
    return Counter(
        title.profile
        for title in items_of_all(documents, lambda document: _titles(document, None, set()), [])
        if not title.is_extra
    )


def _titles(document: Document, user: str | None, users: set[str]) -> Iterator[_Title]:
    with open_table(document) as table:
        titles = called(table.columns, "Title")
        wanted = [titles, *(name for name in _OPTIONAL if name in table.columns)]
        for columns, where in table.batches([table.columns.index(name) for name in wanted]):
            values = dict(zip(wanted, columns, strict=True))
            profiles, times, extras = (values.get(name) for name in _OPTIONAL)
            rows = range(len(values[titles]))
            for at in rows if profiles is None else rows_of_user(profiles, where, users, user):
                title = values[titles][at]
                if not title.strip():
                    raise InputError(f"{where(at)} has an empty title")
                time = times[at].strip() if times else None
                identity = (title, time, profiles[at] if profiles else None)
                is_extra = bool(extras and extras[at].strip())
                profile = profiles[at] if profiles else ""
                yield _Title(profile, title, f"{time}Z" if time else None, is_extra, identity)


def _series(title: str) -> str:
    """The name of a series, or of a film.

    >>> _series("Dark: Staffel 1: Geheimnisse"), _series("Mission: Impossible"), _series("Blade Runner: 2049")
    ('Dark', 'Mission: Impossible', 'Blade Runner: 2049')
    >>> _series("Stranger Things: Stranger Things 4: Chapter One")
    'Stranger Things'
    """
    name, *season = title.split(": ", 2)
    if len(season) == 2 and season[0].casefold().startswith(f"{name} ".casefold()):
        return name
    found = _EPISODE.search(title)
    return title[: found.start()] if found and found.start() else title


def _name(title: str, known: Collection[str]) -> str:
    """The name of a series or a film; a season may have any name if other titles show that it is a series.

    >>> _name("Dark: Finale: Secrets", {"Dark"}), _name("Dark: The Film", {"Dark"})
    ('Dark', 'Dark: The Film')
    """
    parts = title.split(": ", _MOST_PARTS)
    begins = (": ".join(parts[:at]) for at in range(1, len(parts) - 1))
    return next((begin for begin in begins if begin in known), _series(title))


EXPORT = Export(
    "netflix",
    lambda document: bool(_HEADER.match(document.beginning)),
    _read,
    is_table=True,
    more_options=("user",),
    users=_users,
)
