"""The results of the verbs: `Sanitized`, its `Certificate`, and `Frontier`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import compress
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

from elsewhere.model.distances import align
from elsewhere.model.errors import InputError, Unchanged
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Goal, Question
from elsewhere.model.trees import KindDistance
from elsewhere.text import quote

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from elsewhere.model.guesses import Guess
    from elsewhere.pictures.changes import Changes
    from elsewhere.pictures.curve import Curve

Status: TypeAlias = Literal["optimal", "feasible"]

#: The rounding error in the distance of a point from a straight line.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Certificate:
    r"""A bound on the best possible objective that you can check in one pass over the bins.

    Let f be the term that is minimised (the quality term in hide, the privacy term in resemble, its negative in avoid),
    q the quality term, B the limit on the sum of q, and M the size. For these multipliers no histogram within the
    constraints has an objective below

    .. math:: \sum_i \min_x \left( f_i(x) + \lambda q_i(x) - \mu x \right) - \lambda B + \mu M

    where x runs over the counts that bin i may have. `bound` is that number on the scale of the objective: with its
    sign restored in avoid, and with the root taken for ``l2``.

    Over a taxonomy the terms are those of the nodes of the tree, the minimum is one over all histograms of size M, and
    there is no size multiplier. The bound of hide is then the loss itself: no move of one visit lowers it, which proves
    it least.

    For the least quality loss that meets a privacy distance c the two distances change places: f is the quality term,
    q the privacy term and B is c, so that `quality_multiplier` is the price of the privacy distance. In avoid, q is the
    negative of the privacy term, or of the least number that is enough if the term is larger, and B is -c. Then x runs
    over the counts that a histogram may have whose quality loss is no greater than that of the release.

    A smoothed distance couples the bins. Then let g be the slopes of f + :math:`\lambda` q at `point`, z. The bound is

    .. math:: f(z) + \lambda (q(z) - B) + \mu \Big( M - \sum_i z_i \Big) + \sum_i \min_x \left(
        (g_i - \mu)(x - z_i) + \tfrac{1}{2} c_i (x - z_i)^2 \right)

    where c is the `curvature`: a part of the second derivatives that is separable. It need only hold for histograms
    that are better than the released one.
    """

    quality_multiplier: float
    size_multiplier: float
    bound: float
    #: Only for a smoothed distance.
    point: tuple[float, ...] = ()
    curvature: tuple[float, ...] = ()


@dataclass(frozen=True)
class Sanitized:
    """A release and what it cost. Only `histogram` may be shared; everything else is private.

    See Also
    --------
    Sanitized.save : Write the release to a file.
    verify : Check the result without trusting the solvers.
    """

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
    #: "optimal" when the gap is closed, "feasible" when a heuristic or a limit ended the search first, or it was drawn.
    status: Status
    #: Multipliers that prove, without the search, a bound at most as strong as `bound`; None for an infinite objective.
    certificate: Certificate | None
    #: Sentences on what is special about this result.
    notes: tuple[str, ...]
    #: What was asked.
    question: Question = field(repr=False, compare=False)

    @classmethod
    def _unfinished(cls, loss: float, distance: float | None, finished: Callable[[], Sanitized]) -> Sanitized:
        """The result that `finished` returns, which is called only if more is asked for than these two distances."""
        result = object.__new__(cls)
        result.__dict__.update(quality_loss=loss, privacy_distance=distance, _finished=finished)
        return result

    if not TYPE_CHECKING:  # the fields are typed above

        def __getattr__(self, name: str) -> Any:
            """A field that has not been made yet."""
            if name not in self.__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            self.__dict__.update(vars(self._finished()))
            return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """What copies have: all fields."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def objective(self) -> float:
        """What was optimised: the quality loss, or the privacy distance."""
        return self.question.objective(self.quality_loss, self.privacy_distance)

    @property
    def regret(self) -> float | None:
        """The quality loss above the least that is proven possible; None if the privacy distance was optimised.

        In resemble and avoid that is the least that meets the privacy parameter, at any places.
        """
        return self.gap if self.question.minimises_loss else None

    @property
    def added(self) -> dict[str, int]:
        """How many visits the release has beyond those of the history, by location, most first: a list of things to do.

        With ``size="free"`` the release differs from the history in nothing else.
        """
        history = self.question.history
        more = {name: count - history[name] for name, count in self.histogram.items() if count > history[name]}
        return dict(sorted(more.items(), key=lambda item: (-item[1], item[0])))

    @property
    def unchanged(self) -> bool:
        """Whether the release protects nothing: no visit is hidden, or the release equals the history."""
        return self.histogram == self.question.history or (self.goal == "hide" and not self.question.hidden_visits)

    @property
    def guesses(self) -> tuple[Guess, ...]:
        """What a stranger could still guess from the release: sentences with measured figures and their sources."""
        from elsewhere.model.guesses import guesses_about

        return guesses_about(self.question, self.quality_loss)

    def save(self, path: str | PathLike[str], *, allow_unchanged: bool = False) -> None:
        """Write the release, and nothing else, to a file.

        The file has positive counts only, sorted by location. An existing file is replaced completely or not at all.

        Parameters
        ----------
        path
            The file to write; it ends in ``.csv``, ``.json`` or ``.parquet``.
        allow_unchanged
            If True, write a release even if it protects nothing. Default: raise `Unchanged`.

        Raises
        ------
        Unchanged
            No visit is hidden, or the release equals the history.
        InputError
            The file cannot be written.
        """
        from elsewhere import release_files
        from elsewhere.files import write_atomic

        if not isinstance(path, str | PathLike) or fspath(path) == "-":
            raise InputError(f"path is {quote(path)}; it must be a file", ("path",))
        content = release_files.encode(path, self.histogram.items())
        self.check_changed(allow_unchanged)
        write_atomic(path, content, private=False)

    def check_changed(self, allow_unchanged: bool = False) -> None:
        """Raise `Unchanged` if the release protects nothing, unless `allow_unchanged` is True."""
        if self.unchanged and not allow_unchanged:
            raise Unchanged(_why_unchanged(self))

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the histogram before and after, and the target, as a Matplotlib figure with the largest changes first.

        If `path` is given, the figure is also written there: ``.png``, ``.svg``, ``.pdf`` or ``.html``. The figure
        shows the history, so it is private.
        """
        from elsewhere.pictures import bars

        return bars.draw(self.changes(), path)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from elsewhere.pictures import tables

        changes = self.changes()
        return tables.changes_table(changes, changes.top_rows(), changes.folded_note())

    def changes(self) -> Changes:
        """Return the histogram before and after, side by side, for display."""
        from elsewhere.pictures.changes import Changes

        problem = self.question.problem
        after = align(problem.names, self.histogram.index, self.histogram.counts)
        # A target of kinds has no counts for single locations.
        of_kinds = isinstance(self.question.privacy, KindDistance)
        shown = problem.is_location
        return Changes(
            self.goal,
            tuple(compress(problem.locations, shown.tolist())),
            problem.original[shown],
            after[shown],
            None if problem.privacy is None or of_kinds else problem.privacy.reference,
            problem.sensitive[shown],
            self.quality_loss,
            self.privacy_distance,
            self.notes,
        )


class Frontier(list[Sanitized]):
    """A list of results, one for each limit in `budgets`, in the same order.

    The limits are on the quality loss, or on the privacy distance if each result has the least quality loss.

    See Also
    --------
    frontier : Computes one.
    """

    def __init__(self, points: Iterable[Sanitized], budgets: Iterable[float]) -> None:
        super().__init__(points)
        self.budgets = tuple(budgets)

    @overload
    def __getitem__(self, at: SupportsIndex, /) -> Sanitized: ...

    @overload
    def __getitem__(self, at: slice, /) -> Frontier: ...

    def __getitem__(self, at: SupportsIndex | slice, /) -> Sanitized | Frontier:
        """A point, or a frontier of some of the points."""
        if isinstance(at, slice):
            return Frontier(super().__getitem__(at), self.budgets[at])
        return super().__getitem__(at)

    def suggest(self) -> Sanitized:
        """Return the knee of the curve: the point after which more quality loss gains little.

        Points that another point beats in both distances are ignored, and both distances are scaled to 0..1. The knee
        is the point farthest on the better side of the straight line from the first point to the last. If no point is
        on that side, the last one is returned: the best privacy distance, at the least quality loss.

        >>> import elsewhere as ew
        >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
        >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
        >>> round(ew.frontier(bob, frugal, [0.01, 0.02, 0.04, 0.06, 0.1]).suggest().quality_loss, 4)
        0.0396
        """
        return self[self._knee()]

    def distinct(self, chosen: float | None = None) -> Frontier:
        """Drop each point whose histogram equals the one before, but keep the point of the budget `chosen`."""
        kept = [
            at
            for at, point in enumerate(self)
            if at == 0 or point.histogram != self[at - 1].histogram or self.budgets[at] == chosen
        ]
        return Frontier([self[at] for at in kept], [self.budgets[at] for at in kept])

    def plot(self, path: str | PathLike[str] | None = None, chosen: float | None = None) -> Figure:
        """Draw the privacy distance against the quality loss as a Matplotlib figure. It is private.

        Parameters
        ----------
        path
            Also write the figure to this file: ``.png``, ``.svg``, ``.pdf`` or ``.html``.
        chosen
            The budget to mark. Default: the one that `suggest` returns.
        """
        from elsewhere.pictures import steps

        return steps.draw(self._curve(chosen), path)

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        from elsewhere.pictures import tables

        return tables.curve_table(self._curve(None)) if self else None

    def _curve(self, chosen: float | None) -> Curve:
        from elsewhere.pictures.curve import Curve, Point

        if chosen is not None and chosen not in self.budgets:
            raise InputError(f"chosen is {quote(chosen)}; it must be one of the budgets")
        marked, mark = (self._knee(), "suggested") if chosen is None else (self.budgets.index(chosen), "chosen")
        points = tuple(
            Point(budget, result.quality_loss, _distance(result))
            for budget, result in zip(self.budgets, self, strict=True)
        )
        goal: Literal["resemble", "avoid"] = "avoid" if self[0].goal == "avoid" else "resemble"
        of_distance = self[0].question.aim == "least-loss"
        return Curve(goal, points, tuple(self._undominated()), marked, mark, of_distance)

    def _knee(self) -> int:
        if not self:
            raise InputError("the frontier has no points; give budgets")
        curve = self._undominated()
        first, last = self[curve[0]], self[curve[-1]]
        spent, gained = last.quality_loss - first.quality_loss, _distance(last) - _distance(first)
        if len(curve) < 3 or math.isinf(gained):
            return curve[-1]

        def ahead(at: int) -> float:
            gain = (_distance(self[at]) - _distance(first)) / gained
            return gain - (self[at].quality_loss - first.quality_loss) / spent

        knee = max(curve, key=ahead)
        return knee if ahead(knee) > _ROUNDING else curve[-1]

    def _undominated(self) -> list[int]:
        """The points that no other point dominates, by quality loss."""
        sign = 1.0 if self[0].goal == "avoid" else -1.0
        order = sorted(
            range(len(self)), key=lambda at: (self[at].quality_loss, -sign * _distance(self[at]), self.budgets[at])
        )
        best, kept = -math.inf, []
        for at in order:
            if sign * _distance(self[at]) > best:
                best = sign * _distance(self[at])
                kept.append(at)
        return kept or order[:1]


def _why_unchanged(result: Sanitized) -> str:
    if result.question.size == "free":
        return "your history already meets the privacy distance, so no visit needs to be added"
    if result.goal != "hide" and result.question.method == "drawn":
        return "the release equals your history, which meets what was drawn"
    if result.goal != "hide":
        return "the release equals your history: no other release within these limits is better"
    asked = [quote(name) for name in result.question.covered]
    if not asked:
        return "nothing was hidden, because no sensitive place is named; the release would equal your history"
    hints = "".join(dict.fromkeys(result.question.covered.unknown.values()))
    covers = "covers" if len(asked) == 1 else "cover"
    return f"nothing was hidden: {', '.join(asked)} {covers} no visit of your history{hints}"


def _distance(result: Sanitized) -> float:
    assert result.privacy_distance is not None
    return result.privacy_distance
