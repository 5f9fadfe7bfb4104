"""A repository of named profiles: the distributions that one may want to resemble or to avoid.

The paper's section 3.3 asks for one, made by experts and labelled, to choose a target from. Each profile is a TOML file
with the keys `label`, `description`, `source` and perhaps `users`, and a table `weights` from locations to numbers.
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
from elsewhere.model.histogram import Histogram, Profile, TableLike, parse_weights
from elsewhere.model.question import as_histogram, as_list, check_size
from elsewhere.text import closest, quote

__all__ = [
    "FEW_USERS",
    "Repository",
    "StoredProfile",
    "all_profiles",
    "folder",
    "learn",
    "load",
    "parse",
    "save",
    "stored",
]

#: With fewer users than this a profile is taken to tell about single ones.
FEW_USERS = 20

_TEXTS = ("label", "description", "source")
_KEYS = (*_TEXTS, "users", "weights")
_ENDING = ".toml"

Users: TypeAlias = Mapping[str, TableLike] | Iterable[tuple[str, TableLike]]


@dataclass(frozen=True)
class StoredProfile:
    """A profile with what a person needs to know to choose it."""

    #: What it is asked for by: the name of its file, without the ending.
    name: str
    label: str
    description: str
    source: str
    profile: Profile
    #: How many users are behind it, if it was learned from any.
    users: int | None = None
    #: Whether it comes with this package.
    shipped: bool = False

    @property
    def warning(self) -> str | None:
        """What to mind before it is used or given away, if so few users are behind it."""
        if self.users is None or self.users >= FEW_USERS:
            return None
        who = "1 user is" if self.users == 1 else f"{self.users} users are"
        return f"only {who} behind this profile; with fewer than {FEW_USERS} it is nearly somebody's history"


class Repository(dict[str, StoredProfile]):
    """Profiles by name; `notes` has a sentence for each file that was passed over because it is broken."""

    def __init__(self, profiles: Iterable[StoredProfile], notes: Iterable[str]) -> None:
        super().__init__((stored.name, stored) for stored in profiles)
        self.notes = tuple(notes)


def all_profiles() -> Repository:
    """The shipped profiles and those in the user's `folder`, by name; of two with the same name the user's."""
    found, notes = [], []
    for _, file in sorted(_files().items()):
        try:
            found.append(_read(file))
        except InputError as error:
            notes.append(str(error))
    return Repository(found, notes)


def stored(name: str) -> StoredProfile:
    """The profile of that name, the user's own before a shipped one.

    >>> tourist = stored("tourist")
    >>> tourist.label, tourist.profile["Museum"] > tourist.profile["Office"]
    ('Tourist', True)
    """
    known = _files()
    if not isinstance(name, str) or name not in known:
        suggestion = closest(str(name), known) or f"; there are {', '.join(sorted(known))}"
        raise InputError(f"there is no profile {quote(name)}{suggestion}")
    return _read(known[name])


def folder() -> Path:
    """Where the user's own profiles are: ``$ELSEWHERE_PROFILES``, or a folder among the user's settings."""
    if chosen := os.environ.get("ELSEWHERE_PROFILES"):
        return Path(chosen)
    import click

    return Path(click.get_app_dir("elsewhere")) / "profiles"


def load(path: str | os.PathLike[str]) -> StoredProfile:
    """The profile in a file."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path of a profile is {quote(path)}; give a string or a path")
    return _read(Path(path))


def parse(name: str, content: bytes) -> StoredProfile:
    """The profile in the content of a file of that name."""
    return _parsed(name.removesuffix(_ENDING), content, f"profile {quote(name)}", shipped=False)


def save(path: str | os.PathLike[str], stored: StoredProfile) -> None:
    """Write the profile to a file, which only its owner may read: it may tell about the users behind it."""
    if not isinstance(path, str | os.PathLike) or Path(path).suffix != _ENDING:
        raise InputError(f"a profile's path ends in {_ENDING}; {quote(str(path))} does not")
    import tomli_w

    entries: dict[str, Any] = {key: getattr(stored, key) for key in _TEXTS}
    if stored.users is not None:
        entries["users"] = stored.users
    text = tomli_w.dumps(entries | {"weights": dict(stored.profile)})
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        odd = quote(text[error.start : error.end])
        raise InputError(f"the profile has the character {odd}, which no file can hold") from None
    write_atomic(path, content, private=True)


def learn(users: Users, *, visited: Collection[str] = ()) -> StoredProfile:
    r"""The profile of typical users: the mean of their shares, so that every user counts the same.

    .. math:: h''[i] = \frac{1}{|U|} \sum_{u \in U} \frac{H_u[i]}{N_u}

    Parameters
    ----------
    users
        The histograms H_u by user, or pairs of user and histogram, which are taken one at a time.
    visited
        If given, U is the users that visited at least one of these locations; otherwise it is all.

    Returns
    -------
    StoredProfile
        With the number of users; its `warning` says when they are few. `dataclasses.replace` gives it a label.

    >>> users = {"ann": {"cafe": 1, "gym": 1}, "bob": {"cafe": 30, "zoo": 10}, "eve": {"bar": 9}}
    >>> learned = learn(users, visited=["cafe"])
    >>> dict(learned.profile), learned.users
    ({'cafe': 0.625, 'gym': 0.25, 'zoo': 0.125}, 2)
    """
    wanted = as_list("visited", visited, "location names")
    sums: dict[str, float] = {}
    seen = kept = 0
    for histogram in _histograms(users):
        seen += 1
        if wanted and not any(histogram[location] for location in wanted):
            continue
        kept += 1
        for location, count in histogram.items():
            if count:
                sums[location] = sums.get(location, 0.0) + count / histogram.size
    if not kept:
        whom = f"none of the {seen} users visited any of {quote(wanted)}" if seen else "there is no user"
        raise InputError(f"{whom}, so there is nothing to learn a profile from")
    among = f" They all were at one of: {', '.join(map(str, wanted))}." if wanted else ""
    return StoredProfile(
        name="learned",
        label="Learned profile",
        description=f"The mean of the shares of users, each of whom counts the same.{among}",
        source="Learned from histograms with elsewhere.",
        profile=Profile(sums),
        users=kept,
    )


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
            raise InputError(f"the user {quote(user)} cannot be learned from: {error}") from None
        yield histogram


def _files() -> dict[str, Traversable]:
    """The files of all profiles by name, the user's own in the place of shipped ones."""
    own = folder()
    try:
        listing = list(own.iterdir())
    except FileNotFoundError:
        listing = []
    except (OSError, ValueError) as error:
        raise InputError(f"the folder of profiles {quote(str(own))} cannot be read: {_why(error)}") from None
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
        raise InputError(f"the {what} cannot be read: {_why(error)}") from None
    return _parsed(_name(file), content, what, shipped=file in _shipped())


def _parsed(name: str, content: bytes, what: str, shipped: bool) -> StoredProfile:
    entries = _entries(content, what)
    for key in entries:
        if key not in _KEYS:
            raise InputError(f"the {what} has the key {quote(key)}, which means nothing{closest(key, _KEYS)}")
    for key in _TEXTS:
        if not isinstance(entries.get(key), str) or not entries[key].strip():
            has = f"has the {key} {quote(entries[key])}, which is not a text" if key in entries else f"has no {key}"
            raise InputError(f"the {what} {has}")
    users = entries.get("users")
    if users is not None and (type(users) is not int or users < 1):
        raise InputError(f"the {what} has the users {quote(users)}; it must be a whole number above 0")
    texts = {key: entries[key] for key in _TEXTS}
    weights = _weights(entries.get("weights"), what)
    return StoredProfile(name, **texts, profile=weights, users=users, shipped=shipped)


def _entries(content: bytes, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} is not UTF-8 text at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the {what} is not TOML: {error}") from None


def _weights(weights: Any, what: str) -> Profile:
    if not isinstance(weights, dict):
        raise InputError(f"the {what} has no table of weights")
    for location, weight in weights.items():
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            raise InputError(f"the {what} gives {quote(location)} the weight {quote(weight)}, which is not a number")
    names, numbers = parse_weights(weights, what)
    return Profile(zip(names.names, numbers, strict=True))


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
