"""Policies: all choices for a release, without the history, in one small TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from elsewhere import profiles
from elsewhere.files import read_bounded, write_atomic
from elsewhere.histories import read_weights
from elsewhere.histories.zones import is_file
from elsewhere.model.distances import find_distance
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import HasProfile, Profile, TargetLike
from elsewhere.model.names import name_key
from elsewhere.model.question import (
    DISTANCE_LIMITS,
    GOALS,
    MEMORY_LIMIT,
    METHODS,
    SIZES,
    Aim,
    Goal,
    Mechanism,
    Method,
    Size,
    check_popularity,
    chosen_aim,
    nonnegative,
)
from elsewhere.text import closest, one_line, quote

if TYPE_CHECKING:
    from elsewhere.model.guesses import Guess
    from elsewhere.model.taxonomy import Taxonomy
    from elsewhere.plan import Plan

By: TypeAlias = Literal["name", "kind"]
Weights: TypeAlias = Literal["target", "popularity"]

_FOR_TARGETS = ("target", "aim", "privacy", "size", "allow_mismatch", "allow_sensitive_rise")
_WEIGHTS: tuple[Weights, ...] = ("target", "popularity")
_FOR_ONE_GOAL = {"redistribute": "hide", "max_distance": "resemble", "min_distance": "avoid"}
#: The name of the shipped taxonomy in a policy.
SHIPPED = "shipped"
#: The most bytes of a policy file.
_MOST_BYTES = 2**24


@dataclass(frozen=True)
class Policy:
    """What you ask of a release, without the history. A policy file has these fields as its keys.

    Paths in a policy file are relative to the folder of the file. Names of locations match in any spelling, and may be
    patterns such as ``"*church*"``.

    See Also
    --------
    Policy.plan : Read the policy's files, then sanitize any number of histories.
    batch : Sanitize every user of a table under one policy.

    Examples
    --------
    >>> policy = Policy("hide", sensitive=("gym",))
    >>> dict(policy.plan().sanitize({"cafe": 7, "gym": 2}).histogram)
    {'cafe': 9}
    """

    goal: Goal
    #: Locations, patterns, nodes of the taxonomy, or presets such as "preset:health".
    sensitive: tuple[str, ...] = ()
    #: Locations to keep even though `sensitive` or `sensitive_zones` cover them.
    spared: tuple[str, ...] = ()
    #: A file, or "shipped".
    taxonomy: str | None = None
    #: Kinds of single places, by location: nodes of the taxonomy, or "none". They count more than names and exports.
    kinds: Mapping[str, str] = field(default_factory=dict)
    #: Whether the release has the "name" of each place or only its "kind".
    by: By = "name"
    #: The level of the taxonomy for by = "kind", counted from 1 at the top.
    depth: int = 2
    #: The weights of the taxonomy's levels, if distances are measured over it, or "equal".
    levels: tuple[float, ...] | str | None = None
    #: A file, or the name of a profile.
    target: str | None = None
    max_quality_loss: float | None = None
    max_distance: float | None = None
    min_distance: float | None = None
    #: What resemble and avoid optimise: "near" or "far", the privacy distance; "least-loss", the quality loss. Default:
    #: the quality loss if `max_quality_loss` is not given.
    aim: Aim | None = None
    quality: str = "js"
    privacy: str = "js"
    method: Method = "optimal"
    #: Whether each user of a batch gets a release of their own ("single"), or two with opposite secrets "shared" ones.
    mechanism: Mechanism = "single"
    #: A file with weights by location, or the name of a profile, for method = "drawn".
    popularity: str | None = None
    #: The size of the release: that of the history or of the target, or "free": the history and as few more visits as
    #: meet `max_distance` or `min_distance`.
    size: Size = "original"
    redistribute: int | None = None
    visited_only: bool = False
    #: A file such as an earlier release, or counts by location.
    lower: str | Mapping[str, int] | None = None
    upper: str | Mapping[str, int] | None = None
    candidates: tuple[str, ...] = ()
    #: Files with histograms that must not be released.
    forbidden: tuple[str, ...] = ()
    #: Compare with a target even if most of its weight is at places that the history does not have.
    allow_mismatch: bool = False
    #: Let resemble and avoid add visits to places of kinds that are often sensitive.
    allow_sensitive_rise: bool = False
    time_limit: float | None = None
    gap: float = 0.0
    memory_limit: int = MEMORY_LIMIT
    #: Zones in which every place of the history is sensitive: circles such as "52.5186,13.3763,300m" (latitude,
    #: longitude, radius), or GeoJSON files with polygons.
    sensitive_zones: tuple[str, ...] = ()
    folder: Path = field(default=Path(), repr=False, compare=False)

    def __post_init__(self) -> None:
        for key in (*_LISTS, "levels"):
            if isinstance(value := getattr(self, key), list):
                object.__setattr__(self, key, tuple(value))
        _check(asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read the policy in the TOML file at `path`."""
        try:
            content = read_bounded(path, _MOST_BYTES)
        except (OSError, ValueError) as error:
            raise InputError(f"the policy {quote(os.fspath(path))} cannot be read: {one_line(error)}") from None
        return replace(cls.parse(os.fspath(path), content), folder=Path(path).parent)

    @classmethod
    def parse(cls, name: str, content: bytes) -> Policy:
        """Read a policy from the `content` of a file; `name` is its name in errors."""
        try:
            entries = tomllib.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"the policy {quote(name)} is not valid TOML: {one_line(error)}") from None
        try:
            return cls.of(entries)
        except InputError as error:
            raise InputError(f"the policy {quote(name)}: {error}") from None

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Policy:
        """Make a policy from `entries`: the keys and values of a policy file or a report."""
        return cls(**_typed(entries))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to the file at `path`. Only you can read the file, because it may name sensitive places."""
        write_atomic(path, self.at(Path(path).parent).as_toml().encode(), private=True)

    def as_toml(self) -> str:
        """Return the text of the policy's file."""
        import tomli_w

        chosen = self.chosen()
        tables = {name: value for name, value in chosen.items() if isinstance(value, Mapping)}
        return tomli_w.dumps({**chosen, **tables})

    def chosen(self) -> dict[str, Any]:
        """Return the choices that differ from the defaults, as a policy file has them."""
        standard = _standard()
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name != "folder" and value != standard[name]
        }

    @property
    def takes_key(self) -> bool:
        """Whether releases depend on a secret key."""
        return self.method == "drawn" or self.mechanism == "shared"

    @property
    def chosen_aim(self) -> Aim | None:
        """The aim, given the limits; None in hide."""
        if self.goal == "hide":
            return None
        limit = getattr(self, DISTANCE_LIMITS[self.goal])
        return chosen_aim(self.goal, self.max_quality_loss, limit, self.aim, self.method, self.size)

    def at(self, folder: Path) -> Policy:
        """Return the same policy with its paths relative to `folder`."""
        return replace(self._paths(lambda name: _path(os.path.relpath(self._at(name), folder))), folder=folder)

    def fingerprint(self) -> dict[str, Any]:
        """Return a value that changes when the policy or one of its files changes."""
        contents: dict[str, Any] = {}
        for name in ("taxonomy", "target", "popularity", "lower", "upper"):
            value = getattr(self, name)
            if isinstance(value, str) and self._at(value).exists():
                contents[name] = _content_hash(self._at(value))
        for what in _WEIGHTS:
            if getattr(self, what) is not None and what not in contents:  # a stored profile, perhaps the user's own
                weights = self.weights(what)
                told = (sorted(weights.items()), weights.spread if isinstance(weights, Profile) else None)
                contents[what] = sha256(repr(told).encode()).hexdigest()
        if zones := [self._at(zone) for zone in self.sensitive_zones if is_file(zone)]:
            contents["sensitive_zones"] = list(map(_content_hash, zones))
        contents["forbidden"] = [_content_hash(self._at(name)) for name in self.forbidden]
        return {**self.chosen(), "contents": contents}

    def weights(self, what: Weights = "target") -> Mapping[str, Any]:
        """Read the policy's target or popularity, as `what` says: the weights in a file, or of a stored profile."""
        found = self.table(what)
        return found.profile if isinstance(found, profiles.StoredProfile) else found

    def table(self, what: Weights) -> Mapping[str, Any] | profiles.StoredProfile:
        """Read the policy's target or popularity, as `what` says: weights in a file, or a stored profile as it is."""
        name = self.target if what == "target" else self.popularity
        assert name is not None
        path = self._at(name)
        if path.suffix == ".toml" and path.is_file():
            return profiles.load(path)
        if path.exists() or name == "-":
            return read_weights(path)
        if name not in (known := profiles.names()):
            raise InputError(f"the {what} {quote(name)} is neither a file nor a profile{closest(name, known)}")
        return profiles.stored(name)

    def guesses(self, continued: bool = False) -> tuple[Guess, ...]:
        """Return what a stranger could guess from releases under this policy, for all histories together.

        If `continued`, each release continues the user's earlier one.
        """
        from elsewhere.model.guesses import Guess, Situation, guesses, hidden_kinds, unmeasured
        from elsewhere.model.taxonomy import PRESET

        if self.mechanism == "shared":
            told = "Nobody can tell from a shared release which of its two users has the secret, unless they know more."
            unknown = "Nobody has measured what else a stranger could guess from it."
            return Guess(None, told), Guess(None, unknown)
        places = [name for name in self.sensitive if not name.startswith(PRESET)]
        kinds, others = hidden_kinds(dict.fromkeys(self.sensitive, ()), places)
        return guesses(
            Situation(
                self.goal,
                self.method,
                self.chosen_aim,
                hides=self.goal == "hide" or bool(self.sensitive or self.sensitive_zones),
                hidden=None,
                limit=self.max_quality_loss,
                lower=continued or self.lower is not None,
                kinds=kinds,
                other_kinds=others or bool(self.sensitive_zones),
                popularity=not self.visited_only and (self.popularity is not None or self.by == "kind"),
                unmeasured=unmeasured(
                    [self.quality] if self.goal == "hide" else [self.quality, self.privacy],
                    over_taxonomy=self.levels is not None,
                    resized=self.redistribute is not None or self.size != "original",
                ),
            )
        )

    def plan(
        self,
        *,
        target: Mapping[str, Any] | HasProfile | None = None,
        taxonomy: Taxonomy | None = None,
        popularity: TargetLike | None = None,
    ) -> Plan:
        """Read the policy's files and return a `Plan` for any number of histories.

        Parameters
        ----------
        target
            The target, if you have read it already; it replaces the policy's.
        taxonomy
            The taxonomy, if you have read it already.
        popularity
            Weights by location, or a profile, for ``method = "drawn"``, if you have read them already.
        """
        from elsewhere.plan import Plan

        return Plan(self, target, taxonomy, popularity)

    def _at(self, name: str) -> Path:
        return self.folder / name

    def _paths(self, change: Callable[[str], str]) -> Policy:
        """The policy with changed paths; names of profiles and of the shipped taxonomy are not paths."""

        def changed(value: Any) -> Any:
            return change(value) if isinstance(value, str) else value

        def changed_file(value: str | None) -> str | None:
            return change(value) if value is not None and self._at(value).exists() else value

        return replace(
            self,
            taxonomy=self.taxonomy if self.taxonomy == SHIPPED else changed(self.taxonomy),
            target=changed_file(self.target),
            popularity=changed_file(self.popularity),
            lower=changed(self.lower),
            upper=changed(self.upper),
            forbidden=tuple(map(change, self.forbidden)),
            sensitive_zones=tuple(change(zone) if is_file(zone) else zone for zone in self.sensitive_zones),
        )


_TEXTS = ("taxonomy", "target", "quality", "privacy", "popularity")
_LISTS = ("sensitive", "sensitive_zones", "spared", "candidates", "forbidden")
_NUMBERS = ("max_quality_loss", "max_distance", "min_distance", "time_limit", "gap", "redistribute", "memory_limit")
_CHOICES = {
    "goal": GOALS,
    "method": ("optimal", "heuristic", "drawn"),
    "mechanism": ("single", "shared"),
    "size": SIZES,
    "by": ("name", "kind"),
    "visited_only": (True, False),
    "allow_mismatch": (True, False),
    "allow_sensitive_rise": (True, False),
}
#: Keys that two users cannot share, because they concern one history, another size or other bins.
_NOT_SHARED = ("aim", "size", "redistribute", "visited_only", "lower", "upper", "candidates", "forbidden", "levels",
               "by", "time_limit", "gap")  # fmt: skip
#: Distances of shares that are never infinite, so histories of any size can be compared with one release.
SHARED_DISTANCES = ("js", "variational")
#: The value of `levels` if all levels have the same weight.
EQUAL = "equal"


def _standard() -> dict[str, Any]:
    """The defaults by key."""
    return {
        item.name: item.default if item.default_factory is MISSING else item.default_factory()
        for item in fields(Policy)
    }


def _typed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file as arguments of a policy."""
    known = [item.name for item in fields(Policy) if item.name != "folder"]
    for key in content:
        if key not in known:
            raise InputError(f"unknown key {quote(key)}{closest(key, known)}")
    if "goal" not in content:
        raise InputError(f"the key 'goal' is missing; it must be one of {', '.join(GOALS)}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}


def _check(values: Mapping[str, Any]) -> None:
    """Raise unless the values are valid, alone and in combination."""
    for key, choices in _CHOICES.items():
        if values[key] not in choices or type(values[key]) is not type(choices[0]):
            raise InputError(
                f"{key} is {quote(values[key])}; it must be one of {', '.join(map(str, choices)).lower()}", (key,)
            )
    for key in _TEXTS:
        if not isinstance(values[key], str | None):
            raise InputError(f"{key} is {quote(values[key])}; it must be a string", (key,))
    for key in _LISTS:
        if not isinstance(values[key], tuple) or not all(isinstance(item, str) for item in values[key]):
            raise InputError(f"{key} is {quote(values[key])}; it must be a list of strings", (key,))
    if not all(map(name_key, values["candidates"])):
        raise InputError("candidates has an empty name", ("candidates",))
    for key in _NUMBERS:
        if values[key] is not None:
            nonnegative(key, values[key])
    for key in ("lower", "upper"):
        if not isinstance(values[key], str | Mapping | None):
            raise InputError(f"{key} is {quote(values[key])}; it must be a file or a table of counts", (key,))
    _check_kinds(values)
    find_distance(values["quality"])
    find_distance(values["privacy"])
    _check_goal(values)
    if values["mechanism"] == "shared":
        _check_shared(values)


def _check_kinds(values: Mapping[str, Any]) -> None:
    """Raise unless the keys about kinds of place are valid."""
    kinds, depth, levels = values["kinds"], values["depth"], values["levels"]
    if not isinstance(kinds, Mapping) or not all(isinstance(text, str) for pair in kinds.items() for text in pair):
        raise InputError(f"kinds is {quote(kinds)}; it must be a table of kinds by location", ("kinds",))
    if type(depth) is not int or depth < 1:
        raise InputError(f"depth is {quote(depth)}; it must be a whole number from 1 up", ("depth",))
    if not isinstance(levels, tuple | None) and levels != EQUAL:
        raise InputError(f"levels is {quote(levels)}; it must be a list of weights, or 'equal'", ("levels",))
    for weight in levels if isinstance(levels, tuple) else ():
        nonnegative("levels", weight)


def _check_goal(values: Mapping[str, Any]) -> None:
    goal = values["goal"]
    standard = _standard()
    for key in _FOR_TARGETS:
        if goal == "hide" and values[key] != standard[key]:
            raise InputError(f"{key} is for resemble and avoid, not for hide", (key,))
    if goal == "hide" and values["by"] == "name" and values["depth"] != standard["depth"]:
        raise InputError("depth is for hide only if by is 'kind'", ("depth", "by"))
    for key, only in _FOR_ONE_GOAL.items():
        if goal != only and values[key] is not None:
            raise InputError(f"{key} is for {only}, not for {goal}", (key,))
    if values["method"] not in METHODS[goal]:
        raise InputError(
            f"method is {quote(values['method'])}; for {goal} it must be one of {', '.join(METHODS[goal])}", ("method",)
        )
    check_popularity(goal, values["method"], values["popularity"])
    if goal == "hide":
        return
    if values["target"] is None:
        raise InputError(f"{goal} needs target", ("target",))
    limit = values[DISTANCE_LIMITS[goal]]
    aim = chosen_aim(goal, values["max_quality_loss"], limit, values["aim"], values["method"], values["size"])
    if values["size"] == "free":
        for key in ("lower", "levels"):
            if values[key] is not None:
                raise InputError(f"{key} cannot be combined with a free size, which only adds visits", (key,))
    if values["method"] == "drawn" and values["levels"] is not None:
        raise InputError(f"levels cannot be combined with method='drawn' for {goal}", ("levels", "method"))
    if aim == "least-loss" and values["method"] == "heuristic":
        raise InputError("method='heuristic' cannot search for the least quality loss", ("method",))


def _check_shared(values: Mapping[str, Any]) -> None:
    """Raise unless two users can share a release under this policy."""
    standard = _standard()
    for key in _NOT_SHARED:
        if values[key] != standard[key]:
            raise InputError(f"{key} cannot be combined with mechanism = 'shared'", (key,))
    if values["quality"] not in SHARED_DISTANCES:
        known = " or ".join(map(repr, SHARED_DISTANCES))
        told = f"quality is {quote(values['quality'])}; with mechanism = 'shared' it must be {known}"
        raise InputError(f"{told}, which compare shares", ("quality",))
    if values["goal"] != "hide" and values["method"] != "optimal":
        told = (
            f"method is {quote(values['method'])}; with mechanism = 'shared' it must be 'optimal' for {values['goal']}"
        )
        raise InputError(told, ("method",))
    limits = {"max_quality_loss": "the limit for both users of a pair"}
    if values["goal"] != "hide":
        limits[DISTANCE_LIMITS[values["goal"]]] = "the distance from the target that tells the two kinds of user apart"
    for key, meaning in limits.items():
        if values[key] is None:
            raise InputError(f"mechanism = 'shared' needs {key}, {meaning}", (key,))


def _content_hash(path: Path) -> str:
    """A hash of the content of a file, or of all files in a folder."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listed = "".join(f"{file.relative_to(path)} {_content_hash(file)}\n" for file in files)
        return sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _path(name: str) -> str:
    """The path, written so that it is not mistaken for the name of the shipped taxonomy."""
    return f"./{name}" if name == SHIPPED else name
