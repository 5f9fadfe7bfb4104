"""Made-up users of a batch, and what a batch must give for them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import elsewhere as ew
from elsewhere.model.taxonomy import Selection
from elsewhere.plan import Plan
from elsewhere.solve import solve

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
#: Rows that no batch accepts, and what it says about them.
BAD: list[tuple[str, str]] = [
    ("user,location,count\n,café,3\nann,café,1\n", "1 row without a user"),
    ("user,location,count\nann,,3\nann,café,1\n", "rows of the user 'ann' without a location"),
    ("user,location,count\nann,gym,-3\nann,café,1\n", "the user 'ann' at 'gym' that is not a whole number"),
    ("user,location,count\nann,gym,2.5\nann,café,1\n", "the user 'ann' at 'gym' that is not a whole number"),
    (
        "user,location,count\nann,gym,many\nann,café,1\n",
        "the user 'ann' at 'gym' that is not a whole number",
    ),
]
NAMES = ["bar", "café", "casino", "clinic", "gym", "park"]
People = dict[str, dict[str, int]]


def people(number: int, seed: int = 1) -> People:
    dice = random.Random(seed)
    return {
        f"user {at:05d}": {name: dice.randint(1, 9) for name in dice.sample(NAMES, dice.randint(1, len(NAMES)))}
        for at in range(number)
    }


def rows(histograms: People, shuffled: bool = False) -> list[tuple[str, str, int]]:
    found = [(user, name, count) for user, counts in histograms.items() for name, count in counts.items()]
    return random.Random(2).sample(found, len(found)) if shuffled else found


def batches(histograms: People, size: int) -> Iterator[Any]:
    user, location, count = zip(*rows(histograms), strict=True)
    table = pa.table({"user": user, "location": location, "count": count})
    return iter(table.to_batches(max_chunksize=size))


def expected(policy: ew.Policy, histograms: People) -> People:
    """One user after the other, with the verb itself; those without a release are left out."""
    plan, found = policy.plan(), {}
    for user, counts in histograms.items():
        try:
            found[user] = dict(solve(plan.question_about(ew.Histogram(counts), caught(plan, counts))).histogram)
        except ew.ElsewhereError:
            continue
    return found


def caught(plan: Plan, counts: Mapping[str, int]) -> Selection:
    """The sensitive ones of a user's locations, and of the target's and the candidates'."""
    return Selection(plan.elsewhere.union(*plan.covered(list(counts)).values()))


def released(folder: Path, user: str = "user") -> People:
    found: People = {}
    for part in sorted(folder.glob("part-*.parquet")):
        for row in pq.read_table(part).to_pylist():
            found.setdefault(row[user], {})[row["location"]] = row["count"]
    return found


def write(path: Path, histograms: People) -> None:
    user, location, count = zip(*rows(histograms, shuffled=True), strict=True)
    pq.write_table(pa.table({"user": user, "location": location, "count": count}), path)
