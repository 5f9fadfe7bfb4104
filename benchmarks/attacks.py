"""``python -m benchmarks attacks``: the tables of docs/audit.md, as Markdown, from the evaluation sets.

Each table is one audit and is printed as soon as it is ready. Give names of tables to make only those; a name such as
``nyc`` or ``gowalla-resemble`` stands for all that begin with it. A column of a table is an attacker, and `strongest`
is the attacker with the learner that does best on its training users.

The sets: `nyc_partial`, with kinds of place from Foursquare's taxonomy; and `gowalla_nyc`, whose venues have names,
from which the shipped taxonomy infers the kinds. It uses users with 20 or more visits to places of known kind.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import elsewhere as ew
from benchmarks.data import folder_with
from elsewhere.attacks import Attack, AuditResult, Profiling, Rate, Reidentification

SPLITS = 3
_FEWEST_VISITS = 20
_PRESETS = ("health", "children", "sex-life", "religion")
_TARGETS = ("tourist", "student", "night-owl", "commuter")
_LIMITS = (0.05, 0.1)
#: With a smaller limit, hardly anybody shares a release.
_SHARED_LIMIT = 0.2
#: The attackers in the columns, by the beginning of their names; the others only count in `strongest`.
_SHOWN = (
    "size",
    "shape",
    "places",
    "inverting",
    "boosting",
    "informed",
    "inverting, several draws",
    "boosting, several draws",
)

Users = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Job:
    """One audit: its name, the users, and its arguments."""

    name: str
    users: Callable[[], Users]
    asked: Mapping[str, Any]

    def run(self) -> Iterator[str]:
        """The tables, as Markdown."""
        users = self.users()
        visits = sum(sum(counts.values()) for counts in users.values())
        yield f"## {self.name}: {len(users):,} users, {visits:,} visits, {SPLITS} splits\n"
        asked = {name: value() if callable(value) else value for name, value in self.asked.items()}
        yield from tables(ew.audit(users, splits=SPLITS, **asked))


def main(wanted: Iterable[str]) -> None:
    names = tuple(wanted)
    for job in jobs():
        if not names or job.name.startswith(names):
            for text in job.run():
                print(text, flush=True)


def evaluation_users() -> dict[str, Callable[[], Users]]:
    """The users of the available evaluation sets, by name."""
    found: dict[str, Callable[[], Users]] = {}
    if nyc := folder_with("nyc_partial.csv.gz"):
        found["nyc"] = partial(_kinds, nyc / "nyc_partial.csv.gz")
    if gowalla := folder_with("gowalla_nyc.csv.gz"):
        found["gowalla"] = lambda: _periods(gowalla)[0]
    return found


def jobs() -> list[Job]:
    """Every audit for which the evaluation sets are available."""
    found, users = [], evaluation_users()
    if nyc := folder_with("nyc_partial.csv.gz"):
        tree = {"taxonomy": str(nyc / "taxonomy.csv")}
        sets = {"nightlife": {"sensitive": ["Nightlife Spot"], **tree}, "food": {"sensitive": ["Food"], **tree}}
        found += _jobs("nyc", users["nyc"], sets)
    if gowalla := folder_with("gowalla_nyc.csv.gz"):
        tree = {"taxonomy": "shipped"}
        sets = {"nightlife": {"sensitive": ["Nightlife"], **tree}, "food": {"sensitive": ["Food and drink"], **tree}}
        found += _jobs("gowalla", users["gowalla"], sets)
        found.append(
            Job(
                "gowalla-earlier",
                lambda: _periods(gowalla)[2],
                {"sensitive": [f"preset:{name}" for name in _PRESETS], "earlier": lambda: _periods(gowalla)[1]},
            )
        )
    return found


def _jobs(name: str, users: Callable[[], Users], sets: Mapping[str, Mapping[str, Any]]) -> list[Job]:
    presets: dict[str, Mapping[str, Any]] = {
        "health": {"sensitive": ["preset:health"], "max_quality_loss": _SHARED_LIMIT},
        "presets": {"sensitive": [f"preset:{preset}" for preset in _PRESETS]},
    }
    hiding = [Job(f"{name}-{what}", users, asked) for what, asked in {**sets, **presets}.items()]
    return hiding + [
        Job(f"{name}-{target}-{limit}", users, {"target": target, "max_quality_loss": limit})
        for limit in _LIMITS
        for target in _TARGETS
    ]


@cache
def _kinds(path: Path) -> Users:
    users: dict[str, Counter[str]] = defaultdict(Counter)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            users[row["user"]][row["category"]] += int(row["count"])
    return users


@cache
def _periods(folder: Path) -> tuple[Users, Users, Users]:
    """All visits, the earlier half of each user's, and the later half, by kind of place."""
    with gzip.open(folder / "gowalla_nyc_venues.csv.gz", "rt", encoding="utf-8", newline="") as file:
        names = {row["venue"]: row["name"] for row in csv.DictReader(file)}
    label = {node.id: node.name for _, node in ew.Taxonomy.shipped().tree()}
    kinds = dict(zip(names, (kind.node for kind in ew.kinds(names.values())), strict=True))
    visits: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with gzip.open(folder / "gowalla_nyc.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if node := kinds.get(row["venue"]):
                visits[row["user"]].append((row["time"], label[node]))
    enough = {user: sorted(of) for user, of in visits.items() if len(of) >= _FEWEST_VISITS}

    def part(begin: float, end: float) -> Users:
        return {
            user: Counter(kind for _, kind in of[int(begin * len(of)) : int(end * len(of))])
            for user, of in enough.items()
        }

    return part(0.0, 1.0), part(0.0, 0.5), part(0.5, 1.0)


def tables(found: AuditResult) -> Iterator[str]:
    """The tables of one audit."""
    for question in dict.fromkeys(attack.question for attack in found.inference):
        of = [attack for attack in found.inference if attack.question == question]
        yield f"Inference of {question}: {of[0].yes:,} users who were there, {of[0].no:,} who were not\n"
        yield _attacks(of)
    if found.detection:
        yield f"Detection: {found.detection[0].yes:,} releases, {found.detection[0].no:,} genuine\n"
        yield _attacks(found.detection)
    if found.repetition is not None:
        yield "Two releases\n"
        yield _attacks(found.repetition.attacks)
        yield _table(
            ("protection", "a falling count proves it"),
            [(name, str(rate)) for name, rate in found.repetition.proven.items()],
        )
    for one in found.profiling:
        yield from _profiling(one)
    if found.sharing:
        yield f"Shared releases: {found.sharing[0].yes:,} pairs\n"
        yield _attacks(found.sharing)
    if found.reidentification:
        yield "Re-identification\n"
        yield _reidentification(found.reidentification)
    yield from (f"{note}\n" for note in found.notes)


def _profiling(found: Profiling) -> Iterator[str]:
    yield f"{found.goal}: {found.users:,} users, c = {found.threshold:.4g}\n"
    yield f"The paper's adversary is wrong: {found.wrong}\n"
    yield _table(("mechanism", "users with a release"), [(name, str(rate)) for name, rate in found.released.items()])
    if found.attacks:
        yield _attacks(found.attacks)


def _attacks(attacks: Iterable[Attack]) -> str:
    rows = [
        (
            attack.protection,
            "" if attack.quality_loss is None else f"{attack.quality_loss:.3f}",
            _percent(attack.right),
            *(f"{100 * attack.by[name].value:.1f}" if name in attack.by else "" for name in _SHOWN),
        )
        for attack in attacks
    ]
    return _table(("protection", "quality loss", "strongest", *_SHOWN), rows)


def _reidentification(found: Iterable[Reidentification]) -> str:
    rows = [
        (
            one.knowledge,
            one.protection,
            f"{one.users:,}",
            "" if one.quality_loss is None else f"{one.quality_loss:.3f}",
            _percent(one.first),
            _percent(one.first_ten),
        )
        for one in found
    ]
    return _table(("known", "protection", "users", "quality loss", "first", "among the first ten"), rows)


def _percent(rate: Rate) -> str:
    return f"{100 * rate.value:.1f}% ({100 * rate.low:.1f} to {100 * rate.high:.1f})"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
