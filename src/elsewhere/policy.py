"""Policies: all choices that lead from a history to its release, in one small TOML file."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import Path
from typing import Any

from elsewhere import profiles
from elsewhere.files import read_bounded, write_atomic
from elsewhere.histories import read, read_weights
from elsewhere.model.distances import find_distance
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.names import NameIndex
from elsewhere.model.question import (
    MEMORY_LIMIT,
    Covered,
    Goal,
    Method,
    Question,
    SearchLimits,
    Size,
    as_histogram,
    nonnegative,
)
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.model.taxonomy import PRESET, Taxonomy
from elsewhere.text import closest, one_line, quote
from elsewhere.verification.verify import Check, check_release

_GOALS: tuple[Goal, ...] = ("hide", "resemble", "avoid")
_FOR_TARGETS = ("target", "max_quality_loss", "privacy", "method", "size")
_FOR_ONE_GOAL = {"redistribute": "hide", "max_distance": "resemble", "min_distance": "avoid"}
#: What a policy calls the taxonomy that comes with this package.
SHIPPED = "shipped"
#: No policy has more bytes.
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
    #: Locations to keep even though `sensitive` covers them.
    spared: tuple[str, ...] = ()
    #: A file, or "shipped".
    taxonomy: str | None = None
    #: A file, or the name of a profile.
    target: str | None = None
    max_quality_loss: float | None = None
    max_distance: float | None = None
    min_distance: float | None = None
    quality: str = "js"
    privacy: str = "js"
    method: Method = "optimal"
    size: Size = "original"
    redistribute: int | None = None
    visited_only: bool = False
    #: A file such as an earlier release, or counts by location.
    lower: str | Mapping[str, int] | None = None
    upper: str | Mapping[str, int] | None = None
    candidates: tuple[str, ...] = ()
    #: Files with histograms that must not be released.
    forbidden: tuple[str, ...] = ()
    time_limit: float | None = None
    gap: float = 0.0
    memory_limit: int = MEMORY_LIMIT
    folder: Path = field(default=Path(), repr=False, compare=False)

    def __post_init__(self) -> None:
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
        """Read a policy from the `content` of a file; `name` is how errors call the file."""
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
        standard = {item.name: item.default for item in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name != "folder" and value != standard[name]
        }

    def at(self, folder: Path) -> Policy:
        """Return the same policy with its paths relative to `folder`."""
        return replace(self._paths(lambda name: _path(os.path.relpath(self._at(name), folder))), folder=folder)

    def fingerprint(self) -> dict[str, Any]:
        """Return a value that changes when the policy or one of its files changes."""
        contents: dict[str, Any] = {}
        for name in ("taxonomy", "target", "lower", "upper"):
            value = getattr(self, name)
            if isinstance(value, str) and self._at(value).exists():
                contents[name] = _content_hash(self._at(value))
            elif name == "target" and value is not None:  # a stored profile, which may be the user's own
                weights = _target(self._at(value), value)
                contents[name] = sha256(repr(sorted(weights.items())).encode()).hexdigest()
        contents["forbidden"] = [_content_hash(self._at(name)) for name in self.forbidden]
        return {**self.chosen(), "contents": contents}

    def plan(self, *, target: Mapping[str, Any] | None = None, taxonomy: Taxonomy | None = None) -> Plan:
        """Read the policy's files and return a `Plan` for any number of histories.

        Pass `target` or `taxonomy` if you have read them already; they replace the policy's files.
        """
        return Plan(self, target, taxonomy)

    def _at(self, name: str) -> Path:
        return self.folder / name

    def _paths(self, change: Callable[[str], str]) -> Policy:
        """The policy with its paths changed; names of profiles and of the shipped taxonomy are none."""

        def changed(value: Any) -> Any:
            return change(value) if isinstance(value, str) else value

        return replace(
            self,
            taxonomy=self.taxonomy if self.taxonomy == SHIPPED else changed(self.taxonomy),
            target=changed(self.target) if self.target is not None and self._at(self.target).exists() else self.target,
            lower=changed(self.lower),
            upper=changed(self.upper),
            forbidden=tuple(map(change, self.forbidden)),
        )


class Plan:
    """A policy whose files have been read, ready for any number of histories. `Policy.plan` makes one."""

    def __init__(self, policy: Policy, target: Mapping[str, Any] | None, taxonomy: Taxonomy | None) -> None:
        self.policy = policy
        self.target = target
        if target is None and policy.target is not None:
            self.target = _target(policy._at(policy.target), policy.target)
        self._taxonomy = _taxonomy(policy) if taxonomy is None else taxonomy
        self._lower, self._upper = _bounds(policy, policy.lower), _bounds(policy, policy.upper)
        self._forbidden = [read(policy._at(name)).histogram for name in policy.forbidden]

    def with_choices(self, choices: Mapping[str, Any]) -> Plan:
        """Return the same plan with other `choices`, by field of `Policy`. None of them may be a file."""
        other = copy(self)
        other.__dict__.pop("_beyond", None)
        other.policy = replace(self.policy, **choices)
        return other

    def question(self, history: TableLike) -> Question:
        """Return what the policy asks of `history`, with the locations that each sensitive name covers.

        An unknown name raises `InputError`. If `hide` would hide nothing at all, this does not raise; saving the result
        raises `Unchanged` instead.
        """
        histogram = as_histogram(history)
        covered = self.covered_in(histogram)
        if self.policy.goal != "hide" or any(covered.values()):
            covered.check_known()
        known = self._known(histogram.index)
        for name in self.policy.spared:
            if not known.positions(name):
                raise InputError(f"the spared location {quote(name)} is not in the history{closest(name, known.names)}")
        return self.question_about(histogram, covered)

    def covered_in(self, history: Histogram) -> Covered:
        """Return the locations that each sensitive name covers in `history`, the target and the candidates.

        A name that is neither a location nor a node of the policy's taxonomy is looked up in the shipped one.
        """
        known = self._known(history.index)
        covered = self._covered(known)
        for name, locations in covered.items():
            # A place of the target or a candidate by that name does not mean that it is not a kind, too.
            if any(location in history for location in locations) or self._taxonomy_of(name):
                continue
            if self._taxonomy is None and Taxonomy.shipped().knows(name):
                spared = chain.from_iterable(map(known.match, self.policy.spared))
                kind = Taxonomy.shipped().select([name], among=known.names).difference(spared)
                covered[name] = locations | kind
            elif not locations:
                kinds = () if self._taxonomy is None else (node.name for _, node in self._taxonomy.tree())
                covered.unknown[name] = closest(name, [*known.names, *kinds])
        return covered

    def question_about(self, history: Histogram, sensitive: Iterable[str] | Covered) -> Question:
        """Return what the policy asks of `history` when its `sensitive` locations are known already."""
        policy = self.policy
        return Question(
            policy.goal,
            history,
            self.target,
            math.inf if policy.max_quality_loss is None else policy.max_quality_loss,
            policy.max_distance if policy.goal == "resemble" else policy.min_distance,
            policy.quality,
            policy.privacy,
            policy.method,
            policy.size,
            policy.redistribute,
            sensitive,
            policy.visited_only,
            self._lower,
            self._upper,
            self._forbidden,
            policy.candidates,
            SearchLimits(policy.time_limit, policy.gap, policy.memory_limit),
        )

    def covered(self, locations: Sequence[str]) -> Covered:
        """Return which of the `locations` of many users each sensitive name covers, in all spellings."""
        return self._covered(NameIndex(locations))

    @property
    def elsewhere(self) -> frozenset[str]:
        """The sensitive locations among those that only the target and the candidates have."""
        known = self._known(NameIndex(()))
        return frozenset(chain.from_iterable(self._covered(known).values()))

    def sanitize(self, history: TableLike) -> Sanitized:
        """Return the release of `history` and what it cost."""
        from elsewhere.solve import solve

        return solve(self.question(history))

    def frontier(self, history: TableLike, budgets: Sequence[float]) -> Frontier:
        """Return what each limit in `budgets` would buy for `history`, in place of the policy's own limit."""
        if self.policy.goal == "hide":
            raise InputError("hide has no frontier; only resemble and avoid have one")
        from elsewhere.solve import solve_frontier

        return solve_frontier(self.question(history).within(max(budgets, default=0.0)), budgets)

    def verify(self, history: TableLike, release: TableLike | Sanitized) -> Check:
        """Check whether `release`, a histogram or a whole `Sanitized`, satisfies what the policy asks of `history`."""
        return check_release(self.question(history), release)

    @cached_property
    def _beyond(self) -> NameIndex:
        """The places that the candidates and the target bring in."""
        return NameIndex([*self.policy.candidates, *(self.target or ())])

    def _known(self, history: NameIndex) -> NameIndex:
        return history.union(self._beyond)

    def _covered(self, known: NameIndex) -> Covered:
        spared = set(chain.from_iterable(map(known.match, self.policy.spared)))
        return Covered((name, frozenset(self._matched(name, known)) - spared) for name in self.policy.sensitive)

    def _matched(self, name: str, known: NameIndex) -> set[str]:
        """The known locations that a name means: a place of that name, and what is below a node or a preset."""
        matched = set(known.match(name))
        taxonomy = self._taxonomy_of(name)
        return matched if taxonomy is None else matched | taxonomy.select([name], among=known.names)

    def _taxonomy_of(self, name: str) -> Taxonomy | None:
        """The taxonomy in which a name is a node or a preset, if there is one."""
        if self._taxonomy is not None and self._taxonomy.knows(name):
            return self._taxonomy
        if name.startswith(PRESET):
            return Taxonomy.shipped()
        return None


_TEXTS = ("taxonomy", "target", "quality", "privacy")
_LISTS = ("sensitive", "spared", "candidates", "forbidden")
_NUMBERS = ("max_quality_loss", "max_distance", "min_distance", "time_limit", "gap", "redistribute", "memory_limit")
_CHOICES = {
    "goal": _GOALS,
    "method": ("optimal", "heuristic"),
    "size": ("original", "target"),
    "visited_only": (True, False),
}


def _typed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file as arguments of a policy."""
    known = [item.name for item in fields(Policy) if item.name != "folder"]
    for key in content:
        if key not in known:
            raise InputError(f"unknown key {quote(key)}{closest(key, known)}")
    if "goal" not in content:
        raise InputError(f"the key 'goal' is missing; it must be one of {', '.join(_GOALS)}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}


def _check(values: Mapping[str, Any]) -> None:
    """Raise unless the values are valid, each by itself and together."""
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
    for key in _NUMBERS:
        if values[key] is not None:
            nonnegative(key, values[key])
    for key in ("lower", "upper"):
        if not isinstance(values[key], str | Mapping | None):
            raise InputError(f"{key} is {quote(values[key])}; it must be a file or a table of counts", (key,))
    find_distance(values["quality"])
    find_distance(values["privacy"])
    _check_goal(values)


def _check_goal(values: Mapping[str, Any]) -> None:
    goal = values["goal"]
    standard = {item.name: item.default for item in fields(Policy)}
    for key in _FOR_TARGETS:
        if goal == "hide" and values[key] != standard[key]:
            raise InputError(f"{key} is for resemble and avoid, not for hide", (key,))
    for key, only in _FOR_ONE_GOAL.items():
        if goal != only and values[key] is not None:
            raise InputError(f"{key} is for {only}, not for {goal}", (key,))
    for key in ("target", "max_quality_loss"):
        if goal != "hide" and values[key] is None:
            raise InputError(f"{goal} needs {key}", (key,))


def _content_hash(path: Path) -> str:
    """A number for the content of a file, or of all files in a folder."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listed = "".join(f"{file.relative_to(path)} {_content_hash(file)}\n" for file in files)
        return sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _path(name: str) -> str:
    """The path, written so that it is not mistaken for the name of the shipped taxonomy."""
    return f"./{name}" if name == SHIPPED else name


def _target(path: Path, name: str) -> Mapping[str, Any]:
    """The weights in a file, or the stored profile of that name."""
    if path.suffix == ".toml" and path.is_file():
        return profiles.load(path).profile
    if path.exists() or name == "-":
        return read_weights(path)
    known = profiles.all_profiles()
    if name not in known:
        raise InputError(f"the target {quote(name)} is neither a file nor a profile{closest(name, known)}")
    return known[name].profile


def _taxonomy(policy: Policy) -> Taxonomy | None:
    if policy.taxonomy is None:
        return None
    return Taxonomy.shipped() if policy.taxonomy == SHIPPED else Taxonomy.load(policy._at(policy.taxonomy))


def _bounds(policy: Policy, given: str | Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Bounds by location; those in a file may be an earlier release."""
    return read(policy._at(given)).histogram if isinstance(given, str) else given
