"""Attacks on releases: what the paper reasons about, measured on many users."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from elsewhere.attacks.learning import MOST, TooFewUsers, check_learners
from elsewhere.attacks.result import Attack, AuditResult, Profiling, Rate, Repetition
from elsewhere.evaluation.choices import check_whole
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import TableLike
from elsewhere.model.question import as_list, nonnegative
from elsewhere.policy import Plan, Policy
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.attacks.setting import Setting
    from elsewhere.attacks.table import Table

__all__ = ["Attack", "AuditResult", "Profiling", "Rate", "Repetition", "TooFewUsers", "audit"]

Given = ParamSpec("Given")
Found = TypeVar("Found")


def audit(
    users: Mapping[str, TableLike],
    sensitive: Collection[str] = (),
    *,
    spared: Collection[str] = (),
    taxonomy: str | None = None,
    quality: str = "js",
    target: str | None = None,
    max_quality_loss: float | None = None,
    privacy: str = "js",
    threshold: float | None = None,
    seed: int = 1,
) -> AuditResult:
    """Attack the releases that users would give away, with attackers who learn from other users.

    Parameters
    ----------
    users
        The histogram of every user.
    sensitive, spared, taxonomy, quality
        What is hidden, as a `Policy` says it. Each sensitive name is a class of places to which attackers try to
        infer visits; all of them are hidden at once.
    target, max_quality_loss, privacy
        A profile's name or file that users resemble, or avoid, within a limit on the quality loss.
    threshold
        The privacy parameter c; by default the nearest quarter of the users are within it.
    seed
        The same one gives the same figures.
    """
    from elsewhere.attacks.setting import Setting
    from elsewhere.attacks.table import Table

    check_learners()
    check_whole("seed", seed, 0)
    names = tuple(dict.fromkeys(as_list("sensitive", sensitive, "names")))
    if not names and target is None:
        raise InputError(
            "there is nothing to attack: name sensitive places to hide, or a target", ("sensitive", "target")
        )
    stay = tuple(as_list("spared", spared, "names"))
    if not names:
        _refuse("sensitive places", spared=stay or None, taxonomy=taxonomy)
    if target is None:
        other = None if privacy == "js" else privacy
        _refuse("a target", max_quality_loss=max_quality_loss, privacy=other, threshold=threshold)
    limit = None if threshold is None else nonnegative("threshold", threshold)
    if limit == math.inf:
        raise InputError("threshold is inf; everybody would belong to the group, so give a finite one", ("threshold",))
    hiding = Policy("hide", names, stay, taxonomy, quality=quality).plan()
    targeting = None
    if target is not None:
        targeting = Policy(
            "resemble", target=target, max_quality_loss=max_quality_loss, quality=quality, privacy=privacy
        ).plan()
    table = Table.of(users, () if targeting is None else targeting.target or ())
    attacker = _Attacker(table)
    if names:
        attacker.hidden_places(Setting.of(table, hiding, seed))
    if targeting is not None:
        attacker.profiles(targeting, limit, seed)
    return attacker.result(seed)


class _Attacker:
    """Makes one attack after the other, and notes which ones cannot be made."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._notes: list[str] = []
        self._refused: list[TooFewUsers] = []
        self._inference: list[Attack] = []
        self._detection: list[Attack] = []
        self._profiling: list[Profiling] = []
        self._repetition: Repetition | None = None
        if table.empty:
            self._notes.append(f"{_users(table.empty)} left out: no visit at all.")

    def hidden_places(self, setting: Setting) -> None:
        """The attacks on hide."""
        from elsewhere.attacks.detection import detect
        from elsewhere.attacks.inference import infer
        from elsewhere.attacks.repetition import repeat

        if exposed := int((~setting.releasable).sum()):
            self._notes.append(
                f"{_users(exposed)} left out: with nothing but sensitive visits there is no release to "
                "attack, but that there is none may tell enough."
            )
        for name, columns in setting.classes.items():
            self._inference += self._tried(infer, setting, name, columns) or ()
        self._detection += self._tried(detect, setting) or ()
        self._repetition = self._tried(repeat, setting)

    def profiles(self, plan: Plan, threshold: float | None, seed: int) -> None:
        """The attacks on resemble and avoid."""
        from elsewhere.attacks.profiling import GOALS, Group, profile

        group = self._tried(Group.around, self._table, plan, threshold, seed)
        found = [] if group is None else [self._tried(profile, group, goal) for goal in GOALS]
        self._profiling += [one for one in found if one is not None]

    def result(self, seed: int) -> AuditResult:
        """All that was found; an error if no attack could be made."""
        users, locations = self._table.counts.shape
        if users > MOST:
            self._notes.append(f"No more than {MOST:,} users of a kind, drawn at random, are attacked at a time.")
        found = (tuple(self._inference), tuple(self._detection), tuple(self._profiling), self._repetition)
        if not any(found):
            raise self._refused[0]
        return AuditResult(users, locations, seed, *found, tuple(self._notes))

    def _tried(self, attack: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Found | None:
        try:
            return attack(*given, **named)
        except TooFewUsers as error:
            self._refused.append(error)
            self._notes.append(f"{error}.")
            return None


def _refuse(needed: str, **given: object) -> None:
    """Raise if something is given that means nothing without what is needed, which there is not."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is {quote(value)}, which means nothing without {needed}", (name,))


def _users(number: int) -> str:
    return "1 user is" if number == 1 else f"{number:,} users are"
