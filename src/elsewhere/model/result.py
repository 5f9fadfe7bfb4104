"""What a verb answers with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.histogram import Histogram

Goal: TypeAlias = Literal["hide", "resemble", "avoid"]
Method: TypeAlias = Literal["optimal", "heuristic"]
Status: TypeAlias = Literal["optimal", "feasible"]


@dataclass(frozen=True)
class Certificate:
    r"""A bound on the best possible objective that anybody can check in one pass over the bins.

    Let f be the term that is minimised (the quality term in hide, the privacy term in resemble, its negative in
    avoid), q the quality term, B the limit on the sum of q and M the size. For these multipliers no histogram within
    the constraints has an objective below

    .. math:: \sum_i \min_x \left( f_i(x) + \lambda q_i(x) - \mu x \right) - \lambda B + \mu M

    where x runs over the counts that bin i may have. `bound` is that number in the objective's own terms: negated back
    in avoid, and under the root for ``l2``.
    """

    quality_multiplier: float
    size_multiplier: float
    bound: float


class Question(NamedTuple):
    """What a result was asked for: a number a location, for pictures and reports."""

    locations: tuple[str, ...]
    #: H.
    history: Ints
    #: H'' as it was compared with, scaled unless its own size was wanted; None in hide.
    target: Floats | None
    sensitive: Flags


@dataclass(frozen=True)
class Sanitized:
    """A histogram that may leave, and what it cost. All but `histogram` is private."""

    goal: Goal
    #: H': positive counts only, sorted by location.
    histogram: Histogram
    #: d_q(H, H').
    quality_loss: float
    #: d_p(H', H''); None in hide.
    privacy_distance: float | None
    #: No histogram within the constraints has a better objective than this.
    bound: float
    #: How far the objective is from `bound`.
    gap: float
    #: "optimal" when the gap is closed, "feasible" when a heuristic or a limit ended the search first.
    status: Status
    #: Multipliers that prove, without the search, a bound at most as strong as `bound`; None for an infinite objective.
    certificate: Certificate | None
    #: Sentences on what is special about this result.
    notes: tuple[str, ...] = ()
    question: Question | None = field(default=None, repr=False, compare=False)
