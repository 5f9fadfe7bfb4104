"""The measured success of attackers on releases: the figures in ``data/measured.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from elsewhere.model.question import Aim, Goal, Method

Attack: TypeAlias = Literal["detection", "profiling", "inference", "repetition", "reidentification"]

#: The kind of a figure that holds for single places of any kind.
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
    #: The set of users, and their number.
    data: str
    users: int
    command: str
    #: The aim, if it was not the goal's own distance.
    aim: Aim | None = None
    #: The median share of the visits that were hidden.
    hidden: float | None = None
    #: The limit on the quality loss.
    limit: float | None = None
    target: str | None = None
    #: Further conditions, in words.
    where: str | None = None
    #: The hidden kind of place, and its name in sentences.
    kind: str | None = None
    place: str | None = None
    #: Whether drawn visits also went to popular places where the person never was.
    popularity: bool = False
    #: Whether the first of two releases bounded the second.
    lower: bool = False
    #: What the attacker knows about the person. None: half of the visits, while the other half is released.
    knows: str | None = None


def parse(text: str) -> tuple[Figure, ...]:
    """Parse the figures in the text of a file. Properties of a run apply to each of its figures."""
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
