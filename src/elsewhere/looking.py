"""What a history reveals about a person, in plain words, before anything is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elsewhere.model.comparison import Comparison
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, Profile, TableLike
from elsewhere.model.kinds import Kind
from elsewhere.model.places import SENSITIVE_PRESETS, Places
from elsewhere.model.question import Question, as_histogram, check_size
from elsewhere.model.taxonomy import PRESET, Taxonomy
from elsewhere.model.trees import KindDistance
from elsewhere.profiles import StoredProfile
from elsewhere.text import plural
from elsewhere.verification.verify import check_release

#: The number of places that count as the most visited.
_TOP = 4
#: The level of the taxonomy at which kinds are compared, as in a policy.
_DEPTH = 2
#: A history and a profile are compared only if at least this share of the profile matches.
_LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Place:
    """A place of a history."""

    name: str
    visits: int
    #: The kind of place, such as "Church"; empty if unknown.
    kind: str
    #: The reason for the kind, as a clause.
    reason: str
    #: The presets that cover it, without home and work.
    presets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Members:
    """How far a history is from a profile, compared with the profile's members."""

    #: The name of the profile.
    profile: str
    #: The distance of the history from the profile, by `privacy`.
    distance: float
    privacy: str
    #: The share of the members who are nearer to the profile than the history is.
    nearer: float
    #: Whether the members are made up, as those of the shipped profiles are.
    made_up: bool


@dataclass(frozen=True)
class Look:
    """What a history reveals.

    Attributes
    ----------
    places
        All places with visits, the most visited first.
    home, work
        Where the person seems to live and to work; None if nothing says so.
    members
        How far it is from a profile; None unless it was compared with one.
    """

    places: tuple[Place, ...]
    home: Place | None
    work: Place | None
    members: Members | None = None

    @property
    def visits(self) -> int:
        """All visits."""
        return sum(place.visits for place in self.places)

    @property
    def top_visits(self) -> int:
        """The visits to the four places that were visited most."""
        return sum(place.visits for place in self.places[:_TOP])

    @property
    def visited_once(self) -> int:
        """The number of places with a single visit."""
        return sum(place.visits == 1 for place in self.places)

    @property
    def sensitive(self) -> tuple[Place, ...]:
        """The places of kinds that are often sensitive."""
        return tuple(place for place in self.places if place.presets)

    @property
    def unrecognised(self) -> tuple[Place, ...]:
        """The places of unknown kind."""
        return tuple(place for place in self.places if not place.kind)

    @property
    def presets(self) -> tuple[str, ...]:
        """The presets that hide all of `sensitive`; of presets that cover the same places, the widest."""
        left, chosen = {place.name for place in self.sensitive}, []
        covered = {name: {place.name for place in self.places if name in place.presets} for name in SENSITIVE_PRESETS}
        while left:
            widest = max(covered, key=lambda name: len(covered[name] & left))
            chosen.append(widest)
            left -= covered[widest]
        return tuple(chosen)


def look(history: TableLike, against: StoredProfile | Profile | None = None) -> Look:
    """Show what a history reveals: home, work, often sensitive places, and what was not recognised.

    Parameters
    ----------
    history
        A histogram, or what `read` returns; what an export says about its places counts more than their names.
    against
        A profile with a spread, such as one that `profiles.learn` makes of many people's histories. The history's
        distance from it is compared with its members' distances. Default: compare with nobody.

    Returns
    -------
    Look
        The places with their kinds, and the reason for each kind.

    Raises
    ------
    InputError
        The history has no visits, or `against` has no spread or is about other places than the history.

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
    check_size(histogram)
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
    return Look(tuple(found), home, work, None if against is None else _members(histogram, shipped, against))


def _members(histogram: Histogram, shipped: Places, against: StoredProfile | Profile) -> Members:
    """How far a history is from a profile, compared with the profile's members."""
    profile, name, made_up = against, "the profile", False
    if isinstance(against, StoredProfile):
        profile, name, made_up = against.profile, against.label, against.shipped
    assert isinstance(profile, Profile)
    if profile.spread is None:
        raise InputError("against has no spread: nothing says how far its members are from it", ("against",))
    match = Comparison(profile, (), shipped, _DEPTH).match(histogram.index)
    share, what = match.share, "of the weight of against is at places of the history"
    if match.kinds is not None:  # a missing kind is a real difference, so only unknown kinds prevent a comparison
        share = sum(count for name, count in histogram.items() if shipped.path(name)) / histogram.size
        what = "of the visits are at places of a known kind"
    if share < _LEAST_SHARE:
        raise InputError(f"only {share:.0%} {what}, so the history cannot be compared with against", ("against",))
    privacy = profile.spread.privacy
    measure = privacy if match.kinds is None else KindDistance(privacy, match.kinds)
    question = Question("resemble", histogram, match.target, privacy=measure)
    distance = check_release(question, histogram).privacy_distance
    assert distance is not None
    distances = profile.spread.distances
    nearer = float(np.interp(distance, distances, np.linspace(0.0, 1.0, len(distances)), left=0.0, right=1.0))
    return Members(name, distance, privacy, nearer, made_up)


@dataclass(frozen=True)
class Line:
    """A sentence about what a history reveals, and the places that it is about."""

    sentence: str
    places: tuple[Place, ...] = ()


def lines(found: Look) -> Iterator[Line]:
    """What a history reveals: sentences, each with the places to hide to prevent it."""
    visits = found.visits
    yield Line(f"Your history has {plural(visits, 'visit')} to {plural(len(found.places), 'place')}.")
    for place, does in ((found.home, "live"), (found.work, "work")):
        if place is not None:
            evidence = f"{place.visits:,} of {plural(visits, 'visit')}; {place.reason}"
            yield Line(f"You seem to {does} at {place.name} ({evidence}).", (place,))
    for place in found.sensitive:
        what = f"{plural(place.visits, 'visit')} to {place.name}"
        told = f"{place.kind} ({place.reason}), which may hint at {_told(place.presets)}"
        yield Line(f"It shows {what}: {told}.", (place,))
    if not found.sensitive:
        yield Line("No name tells of a kind of place that is often sensitive.")
    yield from map(Line, unusual(found))
    if found.unrecognised:
        lost = sum(place.visits for place in found.unrecognised)
        counted = f"{plural(len(found.unrecognised), 'place')} with {plural(lost, 'visit')}"
        yield Line(f"Not recognised: {counted}.", found.unrecognised)


def sentences(found: Look) -> Iterator[str]:
    """What a history reveals, as sentences."""
    return (line.sentence for line in lines(found))


def unusual(found: Look) -> Iterator[str]:
    """How unusual a history is, as far as it is known, as sentences."""
    many, visits = len(found.places), found.visits
    if many > 1:
        top = f"{found.top_visits:,} of {plural(visits, 'visit')} ({found.top_visits / visits:.0%})"
        once = f"{plural(found.visited_once, 'place')} of {many:,} {'has' if found.visited_once == 1 else 'have'}"
        yield f"Your {min(_TOP, many)} most visited places have {top}, and {once} only one visit."
    known = "Four points of place and time single out 95% of 1.5 million people (de Montjoye and others, 2013)"
    compared = "" if found.members else " It was not compared with other people's histories."
    yield f"{known}, so assume that this history identifies you.{compared}"
    if members := found.members:
        some = f"about {100 * members.nearer:.0f} of 100 of"
        whom = "all" if members.nearer == 1.0 else "none of" if members.nearer == 0.0 else some
        made_up = ", who are made up" if members.made_up else ""
        far = f"from the profile {members.profile} (distance {members.distance:.3g})"
        yield f"It is farther {far} than {whom} its members{made_up}."


def _told(presets: tuple[str, ...]) -> str:
    names = [name.replace("-", " ") for name in presets]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
