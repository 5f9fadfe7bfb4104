"""Attacks on releases: the risks that the paper discusses, measured on many users."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from elsewhere.attacks.learning import MOST, TooFewUsers, check_learners
from elsewhere.attacks.result import Attack, AuditResult, Profiling, Rate, Reidentification, Repetition
from elsewhere.evaluation.choices import check_whole
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import TableLike
from elsewhere.model.question import as_list, nonnegative
from elsewhere.plan import Plan
from elsewhere.policy import SHARED_DISTANCES, Policy
from elsewhere.text import as_sentence, plural, quote

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from elsewhere.attacks.profiling import Group
    from elsewhere.attacks.setting import Setting
    from elsewhere.attacks.table import Table

__all__ = ["Attack", "AuditResult", "Profiling", "Rate", "Reidentification", "Repetition", "TooFewUsers", "audit"]

#: The distance between the seeds of splits, so that neighbouring seeds share none.
_APART = 1_000_003

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
    earlier: Mapping[str, TableLike] | None = None,
    splits: int = 3,
    seed: int = 1,
) -> AuditResult:
    """Attack the releases of many users and measure how often the attackers are right.

    The attackers learn from other users than those they are tested on. With `sensitive`, they try to infer hidden
    visits, to tell releases from genuine histograms, and to exploit two releases of one user. With `target`, they try
    to tell who resembles or avoids it. In any case they try to find out whose release is whose. Everything that comes
    out is private.

    Parameters
    ----------
    users
        The histogram of every user, as `read_users` returns them.
    sensitive
        The classes of places to hide, all at once: locations in any spelling, patterns such as ``"*church*"``, nodes of
        the taxonomy, or presets such as ``"preset:health"``. Attackers try to infer visits to each of them.
    spared
        Locations to keep even though `sensitive` covers them.
    taxonomy
        The file with a taxonomy, or ``"shipped"`` for the one that comes with this package.
    quality
        The name of the distance that measures quality loss. Default: ``"js"``.
    target
        The name or file of a profile that users resemble or avoid.
    max_quality_loss
        The limit on the quality loss of `resemble`, `avoid` and shared releases. Required with `target`; without it,
        shared releases are not attacked.
    privacy
        The name of the distance from the target. Default: ``"js"``.
    threshold
        The privacy parameter c: users within this distance of the target count as members of its group. Default: the
        distance that includes the closest quarter of the users.
    earlier
        Histograms of the same users in an earlier period, by user. The attacker who looks for a user's release knows
        them, and the releases are of `users`. Without them, the attacker knows half of the visits, at random, and the
        releases are of the other half.
    splits
        Number of random splits of the users into those to learn from and those to judge, and of visits into halves. A
        figure is the mean over the splits; its variance is the mean variance within a split plus the variance between
        splits. Default: 3.
    seed
        Seed of the random choices; the same seed gives the same figures.

    Returns
    -------
    AuditResult
        The success rate of each attack with its 95% confidence interval. ``print`` shows a table.

    Raises
    ------
    InputError
        An argument is not valid, or there are too few users for any attack.

    See Also
    --------
    hide, resemble, avoid : Make the releases that are attacked.
    evaluation.evaluate : Measure the usefulness of releases.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4.
    """
    from elsewhere.attacks.setting import Setting
    from elsewhere.attacks.table import Table

    check_learners()
    check_whole("seed", seed, 0)
    check_whole("splits", splits, 1)
    seeds = tuple(seed + _APART * split for split in range(splits))
    names = tuple(dict.fromkeys(as_list("sensitive", sensitive, "names")))
    if not names and target is None:
        raise InputError("there is nothing to attack; give sensitive or target", ("sensitive", "target"))
    stay = tuple(as_list("spared", spared, "names"))
    if not names:
        _refuse("sensitive", spared=stay or None, taxonomy=taxonomy)
    if target is None:
        other = None if privacy == "js" else privacy
        _refuse("target", privacy=other, threshold=threshold)
    limit = None if threshold is None else nonnegative("threshold", threshold)
    if limit == math.inf:
        raise InputError("threshold is inf, so every user would be a member; give a finite number", ("threshold",))
    if max_quality_loss is not None:
        nonnegative("max_quality_loss", max_quality_loss)
    hiding = Policy("hide", names, stay, taxonomy, quality=quality).plan()
    targeting = None
    if target is not None:
        if max_quality_loss is None:
            raise InputError("resemble needs max_quality_loss", ("max_quality_loss",))
        targeting = Policy(
            "resemble", target=target, max_quality_loss=max_quality_loss, quality=quality, privacy=privacy
        ).plan()
    wanted = () if targeting is None else targeting.target or ()
    table = Table.of(users, [*wanted, *(() if earlier is None else Table.of(earlier).locations)])
    before = None if earlier is None else Table.of(earlier, table.locations)
    attacker = _Attacker(table)
    setting = Setting.of(table, hiding, seeds) if names else None
    group = None if targeting is None else attacker.group(targeting, limit, seeds)
    if setting is not None:
        attacker.hidden_places(setting)
    if group is not None:
        attacker.profiles(group)
    attacker.names(setting, group, before, seeds[0])
    if max_quality_loss is not None and quality in SHARED_DISTANCES:
        attacker.pairs(setting, group, max_quality_loss, seeds)
    return attacker.result(seeds)


class _Attacker:
    """Runs one attack after the other, and records which ones are not possible."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._notes: list[str] = []
        self._refused: list[TooFewUsers] = []
        self._inference: list[Attack] = []
        self._detection: list[Attack] = []
        self._profiling: list[Profiling] = []
        self._repetition: Repetition | None = None
        self._reidentification: list[Reidentification] = []
        self._sharing: list[Attack] = []
        if table.empty:
            self._notes.append(f"Left out {plural(table.empty, 'user')} without any visit.")

    def hidden_places(self, setting: Setting) -> None:
        """The attacks on hide."""
        from elsewhere.attacks.detection import detect
        from elsewhere.attacks.inference import infer
        from elsewhere.attacks.noise import MOST_PLACES, from_opendp
        from elsewhere.attacks.repetition import repeat

        if exposed := int((~setting.releasable).sum()):
            self._notes.append(
                f"Left out {plural(exposed, 'user')} with sensitive visits only: they get no release. "
                "Its absence may give them away."
            )
        if len(setting.table.locations) > MOST_PLACES:
            self._notes.append(f"Left out noise as a protection: the table has more than {MOST_PLACES:,} places.")
        elif from_opendp():
            self._notes.append("The noise is from OpenDP and takes no seed, so its rows differ from run to run.")
        for name, columns in setting.classes.items():
            self._inference += self._tried(infer, setting, name, columns) or ()
        self._detection += self._tried(detect, setting) or ()
        self._repetition = self._tried(repeat, setting)

    def group(self, plan: Plan, threshold: float | None, seeds: tuple[int, ...]) -> Group | None:
        """The group around the target of a plan, if there is one."""
        from elsewhere.attacks.profiling import Group

        return self._tried(Group.around, self._table, plan, threshold, seeds)

    def profiles(self, group: Group) -> None:
        """The attacks on resemble and avoid."""
        from elsewhere.attacks.profiling import GOALS, profile

        found = [self._tried(profile, group, goal) for goal in GOALS]
        self._profiling += [one for one in found if one is not None]

    def names(self, setting: Setting | None, group: Group | None, earlier: Table | None, seed: int) -> None:
        """The attacks on the names of the users."""
        from elsewhere.attacks.profiling import everybody_resembles
        from elsewhere.attacks.reidentification import Sought

        if earlier is None:
            sought = self._tried(Sought.by_half, self._table, seed)
        else:
            sought = self._tried(Sought.by_earlier, self._table, earlier, seed)
        if sought is None:
            return
        releases: dict[str, Callable[[], csr_array]] = {"no protection": lambda: sought.counts}
        if setting is not None:
            releases |= {name: partial(setting.protected, name, sought.counts) for name in setting.protections}
        if group is not None:
            plans = everybody_resembles(group)
            releases |= {name: partial(group.sanitized, plan, sought.counts) for name, plan in plans.items()}
        quality = next(part.plan.policy.quality for part in (setting, group) if part is not None)
        found = [sought.found(name, made(), quality) for name, made in releases.items()]
        self._reidentification += [one for one in found if one is not None]

    def pairs(self, setting: Setting | None, group: Group | None, limit: float, seeds: tuple[int, ...]) -> None:
        """The attacks on shared releases: which user of a pair was at a sensitive place, or is near the target."""
        from elsewhere.attacks.sharing import tell_partners

        sharing = {"mechanism": "shared", "max_quality_loss": limit}
        asked = []
        if setting is not None:
            asked.append((setting.table, setting.plan.with_choices(sharing)))
        if group is not None:
            asked.append((group.table, group.plan.with_choices({**sharing, "max_distance": group.threshold})))
        found = [self._tried(tell_partners, table, plan, seeds) for table, plan in asked]
        self._sharing += [one for one in found if one is not None]

    def result(self, seeds: tuple[int, ...]) -> AuditResult:
        """All results; raise if no attack was possible."""
        users, locations = self._table.counts.shape
        if users > MOST:
            self._notes.append(f"Each attack uses at most {MOST:,} users of each kind, drawn at random.")
        found = (tuple(self._inference), tuple(self._detection), tuple(self._profiling), self._repetition)
        if not any(found):
            raise self._refused[0]
        others = tuple(self._reidentification), tuple(self._sharing)
        return AuditResult(users, locations, seeds[0], *found, *others, len(seeds), tuple(self._notes))

    def _tried(self, attack: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Found | None:
        try:
            return attack(*given, **named)
        except TooFewUsers as error:
            self._refused.append(error)
            self._notes.append(as_sentence(str(error)))
            return None


def _refuse(needed: str, **given: object) -> None:
    """Raise if an argument is given that needs another one, which is missing."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is {quote(value)}, but it has no effect without {needed}", (name, needed))
