"""What a history tells about a person, in plain words, before anything is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsewhere.model.histogram import TableLike
from elsewhere.model.kinds import Kind
from elsewhere.model.places import SENSITIVE_PRESETS, Places
from elsewhere.model.question import as_histogram
from elsewhere.model.taxonomy import PRESET, Taxonomy
from elsewhere.text import plural


@dataclass(frozen=True)
class Place:
    """A place of a history."""

    name: str
    visits: int
    #: What kind of place it is, such as "Church"; empty if that is not known.
    kind: str
    #: A clause on what tells the kind.
    reason: str
    #: The presets that cover it, without home and work.
    presets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """What a history tells.

    Attributes
    ----------
    places
        All places with visits, the most visited first.
    home, work
        Where the person seems to live and to work; None if nothing says so.
    """

    places: tuple[Place, ...]
    home: Place | None
    work: Place | None

    @property
    def sensitive(self) -> tuple[Place, ...]:
        """The places of kinds that are often sensitive."""
        return tuple(place for place in self.places if place.presets)

    @property
    def unrecognised(self) -> tuple[Place, ...]:
        """The places of which nothing tells the kind."""
        return tuple(place for place in self.places if not place.kind)

    @property
    def presets(self) -> tuple[str, ...]:
        """The presets that hide all of `sensitive`: of those that cover the same places, the widest."""
        left, chosen = {place.name for place in self.sensitive}, []
        covered = {name: {place.name for place in self.places if name in place.presets} for name in SENSITIVE_PRESETS}
        while left:
            widest = max(covered, key=lambda name: len(covered[name] & left))
            chosen.append(widest)
            left -= covered[widest]
        return tuple(chosen)


def look(history: TableLike) -> Look:
    """Say what a history tells: home, work, places of kinds that are often sensitive, and what was not recognised.

    Parameters
    ----------
    history
        A histogram, or what `read` returns; what an export says about its places counts more than their names.

    Returns
    -------
    Look
        The places with their kinds, and what tells them.

    See Also
    --------
    kinds : The kinds of all places.
    hide : Remove the visits to some of them.

    Examples
    --------
    >>> found = look({"Home": 9, "Northside Fertility Clinic": 1, "Blue Lantern Café": 4, "Qqq": 2})
    >>> found.home.name, [place.name for place in found.sensitive], found.presets
    ('Home', ['Northside Fertility Clinic'], ('health',))
    >>> [place.name for place in found.unrecognised]
    ['Qqq']
    """
    histogram = as_histogram(history)
    shipped = Places().with_types(getattr(history, "types", None) or {})
    names = [name for name, count in histogram.items() if count]
    covering = {name: shipped.select([PRESET + name], among=names) for name in (*SENSITIVE_PRESETS, "home", "work")}
    labels = {node.id: node.name for _, node in Taxonomy.shipped().tree()}

    def place(kind: Kind) -> Place:
        presets = tuple(name for name in SENSITIVE_PRESETS if kind.name in covering[name])
        return Place(kind.name, histogram[kind.name], labels.get(kind.node or "", ""), kind.reason, presets)

    found = [place(shipped.kind(name)) for name in names]
    found.sort(key=lambda place: (-place.visits, place.name))
    home, work = (next((one for one in found if one.name in covering[role]), None) for role in ("home", "work"))
    return Look(tuple(found), home, work)


@dataclass(frozen=True)
class Line:
    """A sentence on what a history tells, and the places that it is about."""

    sentence: str
    places: tuple[Place, ...] = ()


def lines(found: Look) -> Iterator[Line]:
    """What a history tells, a sentence each, with the places to hide so that it no longer does."""
    visits = sum(place.visits for place in found.places)
    yield Line(f"Your history has {plural(visits, 'visit')} to {plural(len(found.places), 'place')}.")
    for place, does in ((found.home, "live"), (found.work, "work")):
        if place is not None:
            evidence = f"{place.visits:,} of {plural(visits, 'visit')}; {place.reason}"
            yield Line(f"You seem to {does} at {place.name} ({evidence}).", (place,))
    for place in found.sensitive:
        what = f"{plural(place.visits, 'visit')} to {place.name}"
        told = f"{place.kind} ({place.reason}), which may tell about {_told(place.presets)}"
        yield Line(f"It shows {what}: {told}.", (place,))
    if not found.sensitive:
        yield Line("No place is of a kind that is often sensitive, as far as the names tell.")
    if found.unrecognised:
        lost = sum(place.visits for place in found.unrecognised)
        counted = f"{plural(len(found.unrecognised), 'place')} with {plural(lost, 'visit')}"
        yield Line(f"Not recognised: {counted}.", found.unrecognised)


def sentences(found: Look) -> Iterator[str]:
    """What a history tells, a sentence each."""
    return (line.sentence for line in lines(found))


def _told(presets: tuple[str, ...]) -> str:
    names = [name.replace("-", " ") for name in presets]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
