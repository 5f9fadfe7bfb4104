"""Policies: every choice that leads from a history to its release, as one small TOML file."""

from __future__ import annotations

import math
import os
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from elsewhere import profiles
from elsewhere.files import write_atomic
from elsewhere.histories import read, read_weights
from elsewhere.model.distances import distance, find_distance, slack
from elsewhere.model.errors import Infeasible, InputError, PrivacyNotMet
from elsewhere.model.histogram import Histogram, Profile, TableLike
from elsewhere.model.problem import Size, nonnegative
from elsewhere.model.result import Frontier, Goal, Method, Sanitized
from elsewhere.model.taxonomy import PRESET, Selection, Taxonomy
from elsewhere.text import closest, quote
from elsewhere.verbs import MEMORY_LIMIT, avoid, frontier, hide, resemble
from elsewhere.verification.verify import Check, verify

_GOALS: tuple[Goal, ...] = ("hide", "resemble", "avoid")
_FOR_TARGETS = ("target", "max_quality_loss", "privacy", "method", "size")
_FOR_ONE_GOAL = {"redistribute": "hide", "max_distance": "resemble", "min_distance": "avoid"}
#: What a policy calls the taxonomy that comes with this package.
SHIPPED = "shipped"
_POINTS = 20
#: The part of a privacy distance that is not worth a longer curve.
_LITTLE = 0.001


@dataclass(frozen=True)
class Policy:
    """What is asked of a release, without the history. The keys of the file are the names of the fields.

    Paths in a policy's file are relative to the file's folder.
    """

    goal: Goal
    #: Locations, nodes of the taxonomy, or presets such as "preset:health".
    sensitive: tuple[str, ...] = ()
    #: Locations that stay although a node or a preset covers them.
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
    #: Files with histograms that must not come out.
    forbidden: tuple[str, ...] = ()
    time_limit: float | None = None
    gap: float = 0.0
    memory_limit: int = MEMORY_LIMIT
    folder: Path = field(default=Path(), repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """The policy in a file."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"the policy {quote(os.fspath(path))} cannot be read: {error.strerror}") from None
        return replace(cls.parse(os.fspath(path), content), folder=Path(path).parent)

    @classmethod
    def parse(cls, name: str, content: bytes) -> Policy:
        """The policy in the content of a file of that name."""
        try:
            choices = tomllib.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            why = " ".join(str(error).split())
            raise InputError(f"the policy {quote(name)} cannot be read: it is not TOML: {why}") from None
        try:
            return cls(**_typed(choices))
        except InputError as error:
            raise InputError(f"the policy {quote(name)}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy; it may name sensitive places, so its owner alone can read it."""
        write_atomic(path, self.at(Path(path).parent).as_toml().encode(), private=True)

    def as_toml(self) -> str:
        """The policy as its file has it."""
        import tomli_w

        chosen = self.chosen()
        tables = {name: value for name, value in chosen.items() if isinstance(value, Mapping)}
        return tomli_w.dumps({**chosen, **tables})

    def chosen(self) -> dict[str, Any]:
        """The choices that are not the usual ones, as a file has them."""
        standard = {item.name: item.default for item in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name != "folder" and value != standard[name]
        }

    def at(self, folder: Path) -> Policy:
        """The same policy with paths that are relative to another folder."""
        return replace(self._paths(lambda name: _path(os.path.relpath(self._at(name), folder))), folder=folder)

    def fingerprint(self) -> dict[str, Any]:
        """What tells whether the policy, or one of its files, has changed."""
        contents: dict[str, Any] = {}
        for name in ("taxonomy", "target", "lower", "upper"):
            value = getattr(self, name)
            if isinstance(value, str) and self._at(value).is_file():
                contents[name] = sha256(self._at(value).read_bytes()).hexdigest()
        contents["forbidden"] = [sha256(self._at(name).read_bytes()).hexdigest() for name in self.forbidden]
        return {**self.chosen(), "contents": contents}

    def plan(self, *, target: Mapping[str, Any] | None = None, taxonomy: Taxonomy | None = None) -> Plan:
        """The policy with its files read, ready for any number of histories; what is given here has been read."""
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
    """A policy whose files have been read."""

    def __init__(self, policy: Policy, target: Mapping[str, Any] | None, taxonomy: Taxonomy | None) -> None:
        self.policy = policy
        self.target = target
        if target is None and policy.target is not None:
            self.target = _target(policy._at(policy.target), policy.target)
        self._taxonomy = _taxonomy(policy) if taxonomy is None else taxonomy
        self._lower, self._upper = _bounds(policy, policy.lower), _bounds(policy, policy.upper)
        self._forbidden = [read(policy._at(name)).histogram for name in policy.forbidden]

    def with_choices(self, choices: Mapping[str, Any]) -> Plan:
        """The same plan but for some choices, none of which is a file."""
        other = copy(self)
        other.policy = replace(self.policy, **choices)
        return other

    def sensitive(self, history: Histogram) -> Selection:
        """The locations of the history, the target and the candidates that are sensitive."""
        known = self._known(history)
        for name in self.policy.spared:
            if name not in known:
                raise InputError(f"the spared location {quote(name)} is not in the history{closest(name, known)}")
        return Selection(chain.from_iterable(self._caught(name, known) for name in self.policy.sensitive))

    def sensitive_among(self, locations: Iterable[str]) -> Selection:
        """Those of many users' locations that are sensitive; a name that none of these users knows is no mistake."""
        known = self._known(locations)
        names = self.policy.sensitive
        return Selection(chain.from_iterable(self._caught(name, known, strict=False) for name in names))

    def caught(self, name: str, history: Histogram) -> Selection:
        """Those of the sensitive locations that one name of the policy covers: itself, or what is below it."""
        return self._caught(name, self._known(history))

    def sanitize(self, history: Histogram) -> Sanitized:
        """The release of a history, and what it cost."""
        wanted = {}
        if self.policy.goal == "resemble":
            wanted["max_distance"] = self.policy.max_distance
        if self.policy.goal == "avoid":
            wanted["min_distance"] = self.policy.min_distance
        return self._answer(history, self.sensitive(history), **wanted)

    def sanitize_one_of_many(self, history: Histogram, sensitive: Selection) -> Sanitized:
        """The same without advice: what misses the wanted privacy distance is refused, and no more is said."""
        result = self._answer(history, sensitive)
        low, high, reached = self.policy.min_distance, self.policy.max_distance, result.privacy_distance
        if high is not None and reached is not None and reached > high + slack(high):
            raise PrivacyNotMet(f"the privacy distance is {reached:.10g}, above max_distance {high}", result, math.nan)
        if low is not None and reached is not None and reached < low - slack(low):
            raise PrivacyNotMet(f"the privacy distance is {reached:.10g}, below min_distance {low}", result, math.nan)
        return result

    def _answer(self, history: Histogram, sensitive: Selection, **wanted: Any) -> Sanitized:
        policy = self.policy
        asked = {"quality": policy.quality, "sensitive": sensitive, **self._constraints(), **self._limits()}
        if policy.goal == "hide":
            return hide(history, redistribute=policy.redistribute, **asked)
        asked |= {"privacy": policy.privacy, "method": policy.method, "size": policy.size}
        asked["max_quality_loss"] = policy.max_quality_loss
        verb = resemble if policy.goal == "resemble" else avoid
        return verb(history, self.target, **wanted, **asked)

    def frontier(self, history: Histogram, budgets: Sequence[float]) -> Frontier:
        """What each budget of quality loss would buy, in place of the policy's own."""
        policy = self.policy
        assert policy.goal != "hide"
        question = (history, self.target, budgets, policy.goal, policy.quality, policy.privacy, policy.size)
        asked = {"sensitive": self.sensitive(history), **self._constraints(), **self._limits()}
        return frontier(*question, **asked)

    def budgets(self, history: Histogram) -> list[float]:
        """Limits on the quality loss to draw a frontier over: dense near the least, up to where nothing is to gain."""
        assert self.target is not None
        weights = Profile(self.target)
        if self.policy.goal == "resemble":
            extreme: TableLike = weights
        else:
            extreme = {min(history, key=lambda location: (weights[location], location)): 1}
        least, most = 0.0, distance(self.policy.quality, history, _scaled(extreme, history.size))
        try:
            self.frontier(history, [0.0])
        except Infeasible as error:
            least = error.needed_quality_loss
        if most == math.inf:
            most = self.frontier(history, [math.inf])[0].quality_loss
        if not max(least, most) < math.inf:
            raise InputError("no limit on the quality loss ends the curve; say with --budgets which ones to try")
        budgets = _spaced(least, max(most, 2.0 * least))
        if self.policy.goal == "resemble":
            return budgets
        nearly_all = (1.0 - _LITTLE) * self._at_most(history, budgets[-1])
        if nearly_all == math.inf:
            return budgets
        # It may come long before, and what is beyond takes longest to find.
        enough = bisect_left(budgets, nearly_all, key=lambda budget: self._at_most(history, budget))
        return _spaced(least, budgets[max(enough, 1)])

    def _at_most(self, history: Histogram, budget: float) -> float:
        """A bound on the privacy distance that a budget buys in avoid, found without a search."""
        return self.with_choices({"time_limit": 0.0}).frontier(history, [budget])[0].bound

    def verify(self, history: Histogram, release: TableLike | Sanitized) -> Check:
        """Whether a release of a history keeps to the policy."""
        policy = self.policy
        return verify(
            history,
            release,
            target=self.target,
            max_quality_loss=math.inf if policy.max_quality_loss is None else policy.max_quality_loss,
            quality=policy.quality,
            privacy=policy.privacy,
            max_distance=policy.max_distance,
            min_distance=policy.min_distance,
            size=policy.size,
            redistribute=policy.redistribute,
            sensitive=self.sensitive(history),
            **self._constraints(),
        )

    def _constraints(self) -> dict[str, Any]:
        policy = self.policy
        return {
            "visited_only": policy.visited_only,
            "lower": self._lower,
            "upper": self._upper,
            "forbidden": self._forbidden,
            "candidates": policy.candidates,
        }

    def _limits(self) -> dict[str, Any]:
        policy = self.policy
        return {"time_limit": policy.time_limit, "gap": policy.gap, "memory_limit": policy.memory_limit}

    def _known(self, locations: Iterable[str]) -> set[str]:
        return {*locations, *self.policy.candidates, *(self.target or ())}

    def _caught(self, name: str, known: set[str], strict: bool = True) -> Selection:
        """The known locations that a name covers: itself, and what is below a node or a preset of that name."""
        caught = {name} & known
        taxonomy = self._taxonomy
        if name.startswith(PRESET) and (taxonomy is None or not taxonomy.knows(name)):
            taxonomy = Taxonomy.shipped()
        if taxonomy is not None and (taxonomy.knows(name) or not caught):
            caught |= taxonomy.select([name], among=known)
        if taxonomy is None and not caught and strict:
            raise InputError(f"the sensitive location {quote(name)} is not in the history{closest(name, known)}")
        return Selection(caught - set(self.policy.spared))


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
        raise InputError(f"the key 'goal' is missing; it is one of {', '.join(_GOALS)}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}


def _check(values: Mapping[str, Any]) -> None:
    """Raise unless the values make sense, each by itself and together."""
    for key, choices in _CHOICES.items():
        if values[key] not in choices or type(values[key]) is not type(choices[0]):
            raise InputError(f"{key} is {quote(values[key])}; it is one of {', '.join(map(str, choices)).lower()}")
    for key in _TEXTS:
        if not isinstance(values[key], str | None):
            raise InputError(f"{key} is {quote(values[key])}; it must be a text")
    for key in _LISTS:
        if not isinstance(values[key], tuple) or not all(isinstance(item, str) for item in values[key]):
            raise InputError(f"{key} is {quote(values[key])}; it must be a list of texts")
    for key in _NUMBERS:
        if values[key] is not None:
            nonnegative(key, values[key])
    for key in ("lower", "upper"):
        if not isinstance(values[key], str | Mapping | None):
            raise InputError(f"{key} is {quote(values[key])}; it must be a file or a table of counts")
    find_distance(values["quality"])
    find_distance(values["privacy"])
    _check_goal(values)


def _check_goal(values: Mapping[str, Any]) -> None:
    goal = values["goal"]
    standard = {item.name: item.default for item in fields(Policy)}
    for key in _FOR_TARGETS:
        if goal == "hide" and values[key] != standard[key]:
            raise InputError(f"{key} is for resemble and avoid, not for hide")
    for key, only in _FOR_ONE_GOAL.items():
        if goal != only and values[key] is not None:
            raise InputError(f"{key} is for {only}, not for {goal}")
    for key in ("target", "max_quality_loss"):
        if goal != "hide" and values[key] is None:
            raise InputError(f"{goal} needs {key}")


def _spaced(least: float, most: float) -> list[float]:
    return [least + (most - least) * (at / _POINTS) ** 2 for at in range(_POINTS + 1)]


def _scaled(weights: TableLike, size: int) -> dict[str, float]:
    return {location: weight * size for location, weight in Profile(weights).items()}


def _path(name: str) -> str:
    """The path so that nobody takes it for the name of what comes along."""
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
