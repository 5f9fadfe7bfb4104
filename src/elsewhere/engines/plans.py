"""The plan of each user: the common one, or one with the user's own choices; and what its sensitive names cover."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from elsewhere.engines.answers import Answers
from elsewhere.engines.users import Users, column_of
from elsewhere.model.arrays import Flags, Ints
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.text import closest, quote

#: The keys of the policy that a user may choose.
PERSONAL = (
    "sensitive", "spared", "max_quality_loss", "max_distance", "min_distance", "redistribute", "candidates"
)  # fmt: skip
LISTS = ("sensitive", "spared", "candidates")
_PLANS = 4096
#: The most names whose covering sensitive names are cached.
_MOST_NAMES = 1 << 18


class Group(NamedTuple):
    """Users with the same plan, or with a sentence that says why their choices make no plan."""

    plan: Plan | str
    members: Ints
    #: Whether the sensitive names are the users' own.
    own_names: bool = False


class Plans:
    """The common plan, and the plans of users with their own choices."""

    def __init__(self, everybody: Plan, allow_unchanged: bool = False, answers: Answers | None = None) -> None:
        check_many(everybody.policy)
        self.everybody = everybody
        self.allow_unchanged = allow_unchanged
        self._personal = lru_cache(_PLANS)(self._made)
        #: For each name seen so far, the numbers of the common policy's sensitive names that cover it.
        self._covering: dict[str, tuple[int, ...]] = {}
        #: The answers of users who were answered alone.
        self.answers = Answers() if answers is None else answers

    def of(self, users: Users) -> list[Group]:
        """All users, grouped by plan."""
        check_choices(users.own)
        if not users.own:
            return [Group(self.everybody, np.arange(len(users.keys)))]
        rows = zip(*(map(_plain, column_of(users, name)) for name in users.own), strict=True)
        of: dict[tuple[Any, ...], list[int]] = {}
        for at, row in enumerate(rows):
            of.setdefault(row, []).append(at)
        return [self._group(tuple(users.own), row, np.array(members)) for row, members in of.items()]

    def _group(self, names: tuple[str, ...], row: tuple[Any, ...], members: Ints) -> Group:
        plan, own_names = self._personal(names, row)
        hides_nothing = isinstance(plan, Plan) and plan.policy.goal == "hide" and not plan.policy.sensitive
        if hides_nothing and "sensitive" in names and not self.allow_unchanged:
            plan = "neither the policy nor the user names a sensitive place"
        return Group(plan, members, own_names and not self.allow_unchanged)

    def _made(self, names: tuple[str, ...], row: tuple[Any, ...]) -> tuple[Plan | str, bool]:
        try:
            chosen = {name: _choice(name, value) for name, value in zip(names, row, strict=True)}
            chosen = {name: value for name, value in chosen.items() if value is not None}
            plan = self.everybody.with_choices(chosen) if chosen else self.everybody
        except ElsewhereError as error:
            return str(error), False
        return plan, "sensitive" in chosen

    def covering(self, plan: Plan, names: list[str]) -> Covering:
        """Which sensitive names of a plan cover each of the names."""
        if plan is not self.everybody:
            return Covering.of(_covering(plan, names))
        if len(names) > _MOST_NAMES:  # a user with this many places, or many users with different places
            return Covering.of(_covering(plan, names))
        new = [name for name in names if name not in self._covering]
        if len(self._covering) + len(new) > _MOST_NAMES:
            self._covering, new = {}, names
        self._covering.update(zip(new, _covering(plan, new), strict=True))
        return Covering.of([self._covering[name] for name in names])

    def sensitive(self, plan: Plan, names: list[str]) -> frozenset[str]:
        """The names that are sensitive under a plan."""
        return frozenset(compress(names, self.covering(plan, names).sensitive))


def _covering(plan: Plan, names: list[str]) -> list[tuple[int, ...]]:
    """For each name, the numbers of the policy's sensitive names that cover it."""
    found: dict[str, tuple[int, ...]] = {}
    for number, covered in enumerate(plan.covered(names).values() if names else ()):
        for name in covered:
            found[name] = (*found.get(name, ()), number)
    return [found.get(name, ()) for name in names]


class Covering(NamedTuple):
    """The sensitive names of a policy that cover each name: those of name `at` are number[first[at]:first[at + 1]]."""

    first: Ints
    number: Ints

    @classmethod
    def of(cls, covering: list[tuple[int, ...]]) -> Covering:
        first = np.append(0, np.cumsum(list(map(len, covering)), dtype=np.int64))
        return cls(first, np.array(list(chain.from_iterable(covering)), dtype=np.int64))

    @property
    def sensitive(self) -> Flags:
        """Which names are covered by any."""
        return np.diff(self.first) > 0


def check_many(policy: Policy) -> None:
    """Raise if the policy works for a single user only."""
    if policy.size == "free":
        raise InputError("the policy has size = 'free', which takes one history; a batch does not support it")
    if policy.sensitive_zones:
        raise InputError("sensitive_zones needs the coordinates of a single history; a batch reads names only")


def check_choices(columns: Iterable[str], besides: Collection[str] = ()) -> list[str]:
    """The columns with users' own choices. Raise if there is none, or one that is neither a choice nor in `besides`."""
    others = [name for name in columns if name not in besides]
    for at, name in enumerate(others):
        if name not in PERSONAL:
            raise InputError(f"the column {quote(name)} is not a personal choice{_meant(name)}")
        if name in others[:at]:
            raise InputError(f"two columns are called {quote(name)}; rename one")
    if besides and not others:
        raise InputError(f"no column has personal choices; they are called {', '.join(PERSONAL)}")
    return others


def _meant(name: str) -> str:
    return closest(name, PERSONAL) or f"; those are {', '.join(PERSONAL)}"


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _choice(name: str, value: Any) -> Any:
    """A user's choice in the form of the policy; None if the cell is empty. A text may hold a list or a number."""
    if value is None or value != value or (isinstance(value, str) and not value.strip()):  # an empty cell may be NaN
        return None
    if name in LISTS:
        names = value.split(";") if isinstance(value, str) else value if isinstance(value, tuple) else (value,)
        return tuple(filter(None, (str(each).strip() for each in names if each is not None))) or None
    whole = name == "redistribute"
    try:
        number = float(value)
        if whole and number != int(number):
            raise ValueError
        return int(number) if whole else number
    except (ValueError, OverflowError, TypeError):
        needed = "a whole number" if whole else "a number"
        raise InputError(f"the user's own {name} is {quote(value)}; it must be {needed}") from None
