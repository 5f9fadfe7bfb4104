"""A repository of named profiles: distributions to resemble or to avoid.

Section 3.3 of the paper asks for such a repository: profiles that experts made and labelled, to choose a target from.
Each profile is a TOML file with the keys `label`, `description`, `source` and optionally `users`, and a table
`weights` that maps locations to numbers. A table `spread` says how members of the profile differ, for
``method="drawn"``: lists `distances`, `places` and perhaps `others` of 21 quantiles each, and a table `visited`.

>>> from elsewhere import profiles
>>> "tourist" in profiles.all_profiles()
True
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeAlias

from elsewhere.files import write_atomic
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, Profile, TableLike, TargetLike, parse_weights
from elsewhere.model.question import as_histogram, as_list, check_size
from elsewhere.model.spread import DISTANCES, Spread
from elsewhere.model.spread_of_users import measured_spread
from elsewhere.text import closest, one_line, quote

__all__ = [
    "FEW_USERS",
    "Repository",
    "StoredProfile",
    "all_profiles",
    "folder",
    "learn",
    "load",
    "names",
    "parse",
    "save",
    "shipped",
    "spread_of",
    "stored",
]

#: A profile of fewer users than this may reveal single ones.
FEW_USERS = 20

_TEXTS = ("label", "description", "source")
_KEYS = (*_TEXTS, "users", "weights", "spread")
_LISTS = ("distances", "places", "others")
_SPREAD_KEYS = ("privacy", *_LISTS, "visited")
_ENDING = ".toml"

Users: TypeAlias = Mapping[str, TableLike] | Iterable[tuple[str, TableLike]]


@dataclass(frozen=True)
class StoredProfile:
    """A profile with the text that helps a person to choose it."""

    #: The name of its file without the ending; `stored` and `--target` find it by this.
    name: str
    label: str
    description: str
    source: str
    profile: Profile
    #: Number of users it was learned from, if any.
    users: int | None = None
    #: Whether it comes with this package.
    shipped: bool = False

    @property
    def warning(self) -> str | None:
        """A caution if the profile was learned from fewer than `FEW_USERS` users; otherwise None."""
        if self.users is None or self.users >= FEW_USERS:
            return None
        who = "1 user is" if self.users == 1 else f"{self.users} users are"
        return f"only {who} behind this profile; with fewer than {FEW_USERS} it can reveal a single person's history"


class Repository(dict[str, StoredProfile]):
    """Profiles by name. `notes` has a sentence for each broken file that was skipped."""

    def __init__(self, profiles: Iterable[StoredProfile], notes: Iterable[str]) -> None:
        super().__init__((stored.name, stored) for stored in profiles)
        self.notes = tuple(notes)


def names() -> list[str]:
    """Return the names of the shipped profiles and of those in your `folder`, sorted, without reading the files."""
    return sorted(_files())


def all_profiles() -> Repository:
    """Return the shipped profiles and those in your `folder`, by name. Your own take precedence."""
    found, notes = [], []
    for _, file in sorted(_files().items()):
        try:
            found.append(_read(file))
        except InputError as error:
            notes.append(str(error))
    return Repository(found, notes)


def shipped() -> list[StoredProfile]:
    """Return the profiles that come with this package, by name, whatever is in your `folder`."""
    return [_read(file) for file in sorted(_shipped(), key=_name) if file.name.endswith(_ENDING)]


def stored(name: str) -> StoredProfile:
    """Return the profile called `name`: your own, or else the shipped one.

    >>> tourist = stored("tourist")
    >>> tourist.label, tourist.profile["Museum"] > tourist.profile["Office"]
    ('Tourist', True)
    """
    known = _files()
    if not isinstance(name, str) or name not in known:
        suggestion = closest(str(name), known) or f"; the profiles are {', '.join(sorted(known))}"
        raise InputError(f"there is no profile {quote(name)}{suggestion}")
    return _read(known[name])


def folder() -> Path:
    """Return the folder of your own profiles: ``$ELSEWHERE_PROFILES``, or a folder among your settings."""
    if chosen := os.environ.get("ELSEWHERE_PROFILES"):
        return Path(chosen)
    import click

    return Path(click.get_app_dir("elsewhere")) / "profiles"


def load(path: str | os.PathLike[str]) -> StoredProfile:
    """Read the profile in the TOML file at `path`."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path of a profile is {quote(path)}; give a string or a path")
    return _read(Path(path))


def parse(name: str, content: bytes) -> StoredProfile:
    """Read a profile from the `content` of a file; `name` is its name in errors."""
    return _parsed(name.removesuffix(_ENDING), content, f"profile {quote(name)}", shipped=False)


def save(path: str | os.PathLike[str], stored: StoredProfile) -> None:
    """Write the profile `stored` to the ``.toml`` file at `path`.

    Only you can read the file, because it may tell something about the users behind the profile.
    """
    if not isinstance(path, str | os.PathLike) or Path(path).suffix != _ENDING:
        raise InputError(f"the path of a profile is {quote(str(path))}; it must end in {_ENDING}")
    import tomli_w

    entries: dict[str, Any] = {key: getattr(stored, key) for key in _TEXTS}
    if stored.users is not None:
        entries["users"] = stored.users
    entries["weights"] = dict(stored.profile)
    if (spread := stored.profile.spread) is not None:
        lists = {name: list(quantiles) for name in _LISTS if (quantiles := getattr(spread, name))}
        entries["spread"] = {"privacy": spread.privacy, **lists, "visited": dict(spread.visited)}
    text = tomli_w.dumps(entries)
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        odd = quote(text[error.start : error.end])
        raise InputError(f"the profile has the character {odd}, which cannot be written to a file") from None
    write_atomic(path, content, private=True)


def learn(users: Users, *, visited: Collection[str] = ()) -> StoredProfile:
    r"""Learn a profile from many users: the mean of their shares, so that every user counts the same.

    .. math:: h''[i] = \frac{1}{|U|} \sum_{u \in U} \frac{H_u[i]}{N_u}

    where H_u is the histogram of user u and N_u its size.

    Parameters
    ----------
    users
        The histograms by user, as `read_users` returns them, or pairs of user and histogram. Pairs are read once, and
        the histograms are kept until the distances to their mean are known.
    visited
        Use only users who visited at least one of these locations. Default: use all users.

    Returns
    -------
    StoredProfile
        The profile with its spread and the number of users. If these are fewer than `FEW_USERS`, its `warning` says so,
        and there is no spread, which could reveal a single one. `dataclasses.replace` sets its label.

    Raises
    ------
    InputError
        There are no such users, or a user has no visits.

    See Also
    --------
    read_users : Read the histograms of many users.
    resemble : Use the profile as a target.
    spread_of : Measure the spread of other users, or also that of people who are no members.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4, section 3.3.

    Examples
    --------
    >>> users = {"ann": {"cafe": 1, "gym": 1}, "bob": {"cafe": 30, "zoo": 10}, "eve": {"bar": 9}}
    >>> learned = learn(users, visited=["cafe"])
    >>> dict(learned.profile), learned.users
    ({'cafe': 0.625, 'gym': 0.25, 'zoo': 0.125}, 2)
    """
    wanted = as_list("visited", visited, "location names")
    sums: dict[str, float] = {}
    members: list[Histogram] = []
    seen = 0
    for histogram in _histograms(users):
        seen += 1
        if wanted and not any(histogram[location] for location in wanted):
            continue
        members.append(histogram)
        for location, count in histogram.items():
            if count:
                sums[location] = sums.get(location, 0.0) + count / histogram.size
    kept = len(members)
    if not kept:
        whom = f"none of the {seen} users visited any of {quote(wanted)}" if seen else "there are no users"
        raise InputError(f"{whom}, so no profile can be learned")
    profile = Profile(sums)
    few = "" if kept >= FEW_USERS else " It has no spread, because a spread of so few users could reveal a single one."
    if not few:
        profile = Profile(profile, measured_spread(profile, members, [], "js"))
    among = f" All of them visited one of: {', '.join(map(str, wanted))}." if wanted else ""
    return StoredProfile(
        name="learned",
        label="Learned profile",
        description=f"The mean of the users' shares; every user counts the same.{among}{few}",
        source="Learned from histograms with elsewhere.",
        profile=profile,
        users=kept,
    )


def spread_of(profile: TargetLike, users: Users, privacy: str = "js", *, others: Users = ()) -> Profile:
    """Give a profile, such as a shipped one, the spread of its members: how they differ from it and from each other.

    Parameters
    ----------
    profile
        The profile, or anything that `Profile` accepts.
    users
        The histograms of members by user, or pairs of user and histogram, at least `FEW_USERS`.
    privacy
        The distance from the profile to measure: ``"js"`` (the default) or ``"variational"``.
    others
        The histograms of people who are no members, again at least `FEW_USERS`: `avoid` draws from their distances.
        Default: none, and then only `resemble` can draw.

    Returns
    -------
    Profile
        The same profile with a `spread`. It has aggregates only. But the first and the last quantile are the distances
        of single users, and a share may be that of one.

    Raises
    ------
    InputError
        There are too few users, or a user has no visits.

    See Also
    --------
    learn : Learns a profile, and the spread with it.

    Examples
    --------
    >>> users = {f"user {at}": {"museum": 1 + at, "zoo": at % 2, "hotel": 1} for at in range(20)}
    >>> spread = spread_of({"museum": 3, "zoo": 1}, users).spread
    >>> dict(spread.visited), round(spread.distances[10], 3)
    ({'museum': 1.0, 'zoo': 0.5}, 0.151)
    """
    known = profile if isinstance(profile, Profile) else Profile(profile)
    if not isinstance(privacy, str) or privacy not in DISTANCES:
        raise InputError(f"privacy is {quote(privacy)}; it must be one of {', '.join(DISTANCES)}", ("privacy",))
    members, strangers = (list(_histograms(group)) for group in (users, others))
    for what, group in (("users", members), ("others", strangers)):
        if len(group) < FEW_USERS and (group or what == "users"):
            raise InputError(
                f"{what} has {len(group)} histograms; with fewer than {FEW_USERS} a spread could reveal a single one",
                (what,),
            )
    return Profile(known, measured_spread(known, members, strangers, privacy))


def _histograms(users: Users) -> Iterator[Histogram]:
    """The users' histograms, one at a time."""
    if not isinstance(users, Iterable):
        raise InputError(f"users is {quote(users)}; give histograms by user, or pairs of user and histogram")
    for pair in users.items() if isinstance(users, Mapping) else users:
        try:
            user, counts = pair
        except (TypeError, ValueError):
            raise InputError(f"users has {quote(pair)}; give pairs of user and histogram") from None
        try:
            histogram = as_histogram(counts)
            check_size(histogram)
        except InputError as error:
            raise InputError(f"the user {quote(user)}: {error}") from None
        yield histogram


def _files() -> dict[str, Traversable]:
    """The files of all profiles by name; the user's own replace shipped ones."""
    own = folder()
    try:
        listing = list(own.iterdir())
    except FileNotFoundError:
        listing = []
    except (OSError, ValueError) as error:
        raise InputError(f"the folder of profiles {quote(str(own))} cannot be read: {one_line(error)}") from None
    every = [*_shipped(), *listing]
    return {_name(file): file for file in every if file.name.endswith(_ENDING) and not file.name.startswith(".")}


def _shipped() -> list[Traversable]:
    return list(files("elsewhere").joinpath("data", "profiles").iterdir())


def _name(file: Traversable) -> str:
    return file.name.removesuffix(_ENDING)


def _read(file: Traversable) -> StoredProfile:
    what = f"profile {quote(str(file))}"
    try:
        content = file.read_bytes()
    except (OSError, ValueError) as error:  # a ValueError for a null byte in the path
        raise InputError(f"the {what} cannot be read: {one_line(error)}") from None
    return _parsed(_name(file), content, what, shipped=file in _shipped())


def _parsed(name: str, content: bytes, what: str, shipped: bool) -> StoredProfile:
    entries = _entries(content, what)
    for key in entries:
        if key not in _KEYS:
            raise InputError(f"the {what} has the unknown key {quote(key)}{closest(key, _KEYS)}")
    for key in _TEXTS:
        if not isinstance(entries.get(key), str) or not entries[key].strip():
            has = f"has the {key} {quote(entries[key])}, which is not a string" if key in entries else f"has no {key}"
            raise InputError(f"the {what} {has}")
    users = entries.get("users")
    if users is not None and (type(users) is not int or users < 1):
        raise InputError(f"the {what} has users = {quote(users)}; it must be a whole number above 0")
    texts = {key: entries[key] for key in _TEXTS}
    profile = _weights(entries.get("weights"), what)
    if "spread" in entries:
        profile = _with_spread(profile, entries["spread"], what)
    return StoredProfile(name, **texts, profile=profile, users=users, shipped=shipped)


def _entries(content: bytes, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} is not UTF-8 text at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the {what} is not valid TOML: {error}") from None


def _weights(weights: Any, what: str) -> Profile:
    if not isinstance(weights, dict):
        raise InputError(f"the {what} has no table of weights")
    for location, weight in weights.items():
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            raise InputError(f"the {what} gives {quote(location)} the weight {quote(weight)}, which is not a number")
    names, numbers = parse_weights(weights, what)
    return Profile(zip(names.names, numbers, strict=True))


def _with_spread(profile: Profile, entries: Any, what: str) -> Profile:
    """The profile with the spread in a file."""
    if not isinstance(entries, dict):
        raise InputError(f"the {what} has spread = {quote(entries)}; it must be a table")
    for key in entries:
        if key not in _SPREAD_KEYS:
            raise InputError(f"the {what} has the unknown key {quote(key)} in its spread{closest(key, _SPREAD_KEYS)}")
    for key in ("distances", "places", "visited"):
        if key not in entries:
            raise InputError(f"the {what} has a spread without {key}")
    try:
        return Profile(profile, Spread(**entries))
    except InputError as error:
        raise InputError(f"the {what}: {error}") from None
