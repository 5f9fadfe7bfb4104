"""The figures of an audit; they can be printed or written as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Rate:
    """A share with its 95% confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True)
class Attack:
    """How well an attacker tells two kinds of user apart."""

    question: str
    #: How the histograms that the attacker sees are protected.
    protection: str
    #: Number of users of each kind: those for whom the answer is yes, and the others.
    yes: int
    no: int
    #: How often the attacker tells one user of each kind apart correctly (AUC); guessing gives 50%. The attacker takes
    #: the learner that does best among the users that it learns from.
    right: Rate
    #: The same for each single learner, by name.
    by: Mapping[str, Rate] = field(default_factory=dict)
    #: The median quality loss of the releases; None if the attacker sees none.
    quality_loss: float | None = None


@dataclass(frozen=True)
class Profiling:
    """How often a user is taken for another kind of user."""

    goal: str
    #: The privacy parameter c: users within this distance of the target count as members.
    threshold: float
    #: Number of users who want to be taken for the other kind.
    users: int
    #: The share whom the paper's adversary misjudges; the others have no release within the quality loss.
    wrong: Rate
    #: Baselines, then the adversary who knows the method; empty if too few users have a release.
    attacks: tuple[Attack, ...]
    #: The share of users with a release under each mechanism, by name.
    released: Mapping[str, Rate] = field(default_factory=dict)


@dataclass(frozen=True)
class Repetition:
    """What two releases of a growing histogram reveal."""

    attacks: tuple[Attack, ...]
    #: By protection, the share of users with a falling count, which proves that something was changed.
    proven: Mapping[str, Rate]


@dataclass(frozen=True)
class Reidentification:
    """How often the release of a user is found among those of all users."""

    #: What the attacker knows of the user: half of the visits, or an earlier period.
    knowledge: str
    protection: str
    #: Number of releases.
    users: int
    #: How often the user's own release is ranked first, and how often among the first ten.
    first: Rate
    first_ten: Rate
    #: The median quality loss of the releases; None without any.
    quality_loss: float | None = None


_HEADING = "How often an attacker tells two users apart correctly (50% is guessing), with 95% confidence intervals."


@dataclass(frozen=True)
class AuditResult:
    """How successful attackers are against the releases of many users."""

    users: int
    locations: int
    seed: int
    inference: tuple[Attack, ...]
    detection: tuple[Attack, ...]
    profiling: tuple[Profiling, ...]
    repetition: Repetition | None
    reidentification: tuple[Reidentification, ...]
    sharing: tuple[Attack, ...]
    #: The number of random splits; a figure is the mean over them.
    splits: int = 1
    #: Sentences for the reader: who was left out, what was sampled, what could not be measured.
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        parts = (
            [_HEADING],
            _inferred(self.inference),
            _detected(self.detection),
            _repeated(self.repetition),
            _profiled(self.profiling),
            _shared(self.sharing),
            _reidentified(self.reidentification),
        )
        return "\n\n".join("\n".join(part) for part in parts if part)


def _inferred(attacks: tuple[Attack, ...]) -> list[str]:
    lines = ["Inference: which of two users was there"] if attacks else []
    for question in dict.fromkeys(attack.question for attack in attacks):
        of = [attack for attack in attacks if attack.question == question]
        lines.append(f"  {question}: {of[0].yes:,} users who were there, {of[0].no:,} who were not")
        lines += _attacked(of)
    return lines


def _detected(attacks: tuple[Attack, ...]) -> list[str]:
    if not attacks:
        return []
    return [
        "Detection: which of two histograms is a release, and which is genuine",
        f"  {attacks[0].yes:,} releases, {attacks[0].no:,} genuine histograms",
        *_attacked(attacks),
    ]


def _repeated(found: Repetition | None) -> list[str]:
    if found is None:
        return []
    return [
        "Repeated release: the same, when two histograms of each user are known",
        f"  {found.attacks[0].yes:,} with releases, {found.attacks[0].no:,} with genuine histograms",
        *_attacked(found.attacks),
        "  users whose releases show a falling count, which proves that something is hidden",
        *_rows(found.proven.items()),
    ]


def _profiled(found: tuple[Profiling, ...]) -> list[str]:
    if not found:
        return []
    lines = [f"Profiling: users within distance {found[0].threshold:.4g} of the target count as members"]
    for one in found:
        kind = "are not members, and resemble" if one.goal == "resemble" else "are members, and avoid"
        lines.append(f"  {one.goal}: {one.users:,} users who {kind} the target")
        lines += _rows([("the paper's adversary is wrong", one.wrong)])
        if one.attacks:
            lines.append(
                f"  an attacker who learns is right: {one.attacks[0].yes:,} releases, {one.attacks[0].no:,} genuine"
            )
            lines += _attacked(one.attacks)
    return lines


def _shared(attacks: tuple[Attack, ...]) -> list[str]:
    lines = ["Shared releases: which of two users has the secret, one from each of two pairs"] if attacks else []
    for attack in attacks:
        lines.append(f"  {attack.yes:,} pairs")
        lines += _attacked([attack])
    return lines


def _reidentified(found: tuple[Reidentification, ...]) -> list[str]:
    lines = ["Re-identification: whose release is it, among those of all users"] if found else []
    for knowledge in dict.fromkeys(one.knowledge for one in found):
        lines.append(f"  the attacker knows {knowledge}; a user's own release comes first (and among the first ten)")
        for one in found:
            if one.knowledge == knowledge:
                loss = "" if one.quality_loss is None else f"   quality loss {one.quality_loss:.3f}"
                text = f"{one.first!s:<24} {one.first_ten.value:.1%} of {one.users:,}"
                lines.append(f"    {one.protection:<36}{text}{loss}")
    return lines


def _attacked(attacks: Iterable[Attack]) -> list[str]:
    lines = []
    for attack in attacks:
        loss = "" if attack.quality_loss is None else f"   quality loss {attack.quality_loss:.3f}"
        lines.append(f"    {attack.protection:<36}{attack.right!s:<24}{loss}".rstrip())
    return lines


def _rows(rows: Iterable[tuple[str, Rate]]) -> list[str]:
    return [f"    {name:<36}{rate}" for name, rate in rows]
