"""What attackers got out of releases, as it was measured: the figures in ``data/measured.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from elsewhere.model.question import Aim, Goal, Method

Attack: TypeAlias = Literal["detection", "profiling", "inference", "repetition", "reidentification"]

#: The kind of a figure that holds for single places, whatever their kinds.
ANY_KIND = "*"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """How often one attack on the releases of one goal and method is right, and how that was measured."""

    goal: Goal
    method: Method
    attack: Attack
    #: A share of pairs or users, and its 95% confidence interval.
    value: float
    low: float
    high: float
    #: What the users are, and how many there were.
    data: str
    users: int
    command: str
    #: What was optimised, if it was not the goal's own distance.
    aim: Aim | None = None
    #: The median share of the visits that were hidden.
    hidden: float | None = None
    #: The limit on the quality loss.
    limit: float | None = None
    target: str | None = None
    #: Further conditions, in words.
    where: str | None = None
    #: The hidden kind of place that was asked about, and what sentences call it.
    kind: str | None = None
    place: str | None = None
    #: Whether drawn visits also went to popular places where the person never was.
    popularity: bool = False
    #: Whether the first of two releases bounded the second.
    lower: bool = False
    #: What the attacker knows about the person who is looked for; None: half of the visits, released is the other half.
    knows: str | None = None


def parse(text: str) -> tuple[Figure, ...]:
    """The figures in the text of a file. What a run says holds for each of its figures."""
    content = tomllib.loads(text)
    return tuple(_figure(run, figure, content["data"]) for run in content["run"] for figure in run["figures"])


def _figure(run: dict[str, Any], figure: dict[str, Any], data: dict[str, Any]) -> Figure:
    told = {**run, **figure}
    del told["figures"]
    users = data[told["data"]]
    return Figure(**{**told, "data": users["name"], "users": users["users"]})


@cache
def figures() -> tuple[Figure, ...]:
    """The figures that come with this package."""
    return parse(files("elsewhere").joinpath("data", "measured.toml").read_text(encoding="utf-8"))
