"""RO and AO if the counts of a bin are too many to tabulate: only those near the dual solution are tabulated.

The dual needs no tables (`large_dual.py`). The search needs only small ones: any counts better than the known ones have
reduced costs within the gap, and that leaves few counts per bin.

In avoid, a bin's share of the dual may have two minima far apart. Then the bin's counts are split between them, and
both halves are searched, each with its own multipliers. This is branch and bound; usually one or two bins branch.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from elsewhere.model.arrays import Floats, Ints, exact_sum
from elsewhere.model.problem import Problem
from elsewhere.solvers import knapsack, terms
from elsewhere.solvers.choices import BYTES_PER_ENTRY, KINDS, Shortage, table, values_within
from elsewhere.solvers.knapsack import Best, Effort, Limits, SearchGaveUp, Solution, Tables
from elsewhere.solvers.large_dual import Node, Shares

#: From this many counts on, they are not all tabulated; and the number that is tabulated at a time.
LARGE = 1 << 16
_WINDOW = 1 << 17
_LEAST_GAP = 1e-12
#: The memory of a bin in bytes, with its name, its bounds and the counts that are searched.
_BYTES_PER_BIN = 900
#: The work, in labels, that is done once the relative gap is small (less than for small sizes, because many gaps never
#: close), and the work of a last try. The dual and the windows of a part count as this many labels, plus some per bin.
_ENOUGH = 4e6
_LAST_TRY = 20e6
_WORK_PER_PART = 1e6
_WORK_PER_BIN = 500.0
#: The counts per bin of a first, cheap search.
_PROBE = 8
#: A hole of at least one in this many counts is worth a cut; the search for a gap stops at this precision.
_HOLE = 4.0
_NEAR = 4.0
#: With fewer counts per bin, all of them are searched even if the multipliers hardly distinguish them.
_MANY = 32
#: Around counts that use up the budget: how many counts on either side to search, the least gain to continue, and the
#: number of bins between which counts are moved to find such counts.
_CORE = 4
_CORE_GAIN = 0.5
_LARGEST_BINS = 8
_WIDER = 8.0


class Window(NamedTuple):
    """The counts first..last of each bin. They include all whose share is within the gap of the bin's least."""

    gap: float
    first: Ints
    last: Ints


class LargeChoices(NamedTuple):
    """Stands in for `Choices` if the values of a problem are too many to tabulate."""

    #: The bound holds for all values, whether the search visited them or not.
    whole: bool = True
    short_of: Shortage = ""


def is_large(problem: Problem) -> bool:
    """Whether a flat problem of built-in distances has too many counts to tabulate, all at finite distances."""
    privacy = problem.privacy
    if privacy is None or problem.tree is not None or problem.smoothed or problem.budget == math.inf:
        return False
    if not (problem.quality.distance.builtin and privacy.distance.builtin):
        return False
    if float((problem.upper - problem.lower).sum(dtype=np.float64)) < LARGE:
        return False
    low, number = values_within(problem, problem.budget)
    if number.sum(dtype=np.float64) < LARGE:
        return False
    if problem.goal == "resemble" or not privacy.distance.unbounded:
        return True
    ends = (low.astype(np.float64), (low + np.minimum(number - 1, 1)).astype(np.float64))
    return all(bool(np.isfinite(privacy.terms(end)).all()) for end in ends)


def optimum(problem: Problem, known: Ints, limits: Limits) -> Solution:
    """The counts nearest to the target (RO) or farthest from it (AO), as `exact.optimum` finds them with tables."""
    return _Search(problem, known, limits).run()


def bounded(problem: Problem, counts: Ints, limits: Limits) -> Solution:
    """The given counts, with the dual bound on the optimum."""
    search = _Search(problem, counts, limits)
    by = search.shares.root(counts, search.found).by
    return Solution(counts, search.found, min(by.bound, search.found), by.bound, by.lam, by.mu)


class _Search:
    """One search: the problem as arrays, and the best counts so far."""

    def __init__(self, problem: Problem, known: Ints, limits: Limits) -> None:
        assert problem.privacy is not None
        self.problem, self.limits = problem, limits
        self.quality, self.privacy = problem.quality, problem.privacy
        self.shares = Shares(problem, limits)
        self.sign = self.shares.sign
        self.size, self.budget = problem.size, problem.budget
        self.effort = Effort(limits, _ENOUGH)
        self.counts, self.found = known, self.objective(known)
        self.most = min(max(_WINDOW, 4 * len(known)), limits.memory // BYTES_PER_ENTRY)
        if self.most < len(known):
            raise SearchGaveUp(
                f"the search would have to tabulate {len(known)} counts, "
                f"more than memory_limit={limits.memory} bytes hold"
            )

    def objective(self, counts: Ints) -> float:
        privacy = self.privacy
        kind = KINDS[privacy.distance.name]
        return self.sign * terms.total(kind, privacy.reference, counts, privacy.reference_size, privacy.size)

    @property
    def tolerance(self) -> float:
        return self.limits.tolerance(self.found)

    def run(self) -> Solution:
        root = self.shares.root(self.counts, self.found)
        flat = self.is_flat(root)
        queue = [] if flat else [(root.by.bound, 0, root)]
        done = root.by.bound if flat else math.inf  # the least bound of the finished parts
        made = 1
        while queue and not self.limits.passed and not self.effort.spent:
            bound, _, node = heapq.heappop(queue)
            if min(bound, done) >= self.found - self.tolerance:
                done = min(done, bound)
                break
            self.effort.spend(_WORK_PER_PART + _WORK_PER_BIN * len(node.low))
            proven, parts = self.explore(node)
            done = min(done, max(bound, proven))
            for part in parts:  # the bound of the whole also holds for its parts
                heapq.heappush(queue, (max(bound, part.by.bound), made, part))
                made += 1
        bound = min([done, self.found, *(bound for bound, _, _ in queue)])
        if self.found - bound > max(self.tolerance, knapsack.GOOD_ENOUGH * abs(self.found)) and not self.limits.passed:
            self.effort.left = max(self.effort.left, _LAST_TRY)
            bound = min(max(bound, self.search_core(root)), self.found)
        by = root.by
        return Solution(self.counts, self.found, bound, min(by.bound, bound), by.lam, by.mu)

    def is_flat(self, node: Node) -> bool:
        """Whether the multipliers hardly distinguish any counts."""
        first, last, hole, hole_end = self.shares.within(node, _LEAST_GAP * (1.0 + abs(node.by.bound)))
        alike = float((last - first - (hole_end - hole)).sum(dtype=np.float64))
        every = float((node.high - node.low).sum(dtype=np.float64))
        return alike > 0.5 * every and every > _MANY * len(first)

    def explore(self, node: Node) -> tuple[float, list[Node]]:
        """Search a part around its dual solution. Returns a bound on it, and its halves if it must be split."""
        # Look for better counts first: a smaller gap leaves less to search.
        self.go((self.dual_solution(node) - self.counts).astype(np.float64))
        if self.found - node.by.bound <= self.tolerance:
            return min(node.by.bound, self.found), []
        near, too_wide = self.window(node, min(self.most, _PROBE * len(node.low)))
        if too_wide == math.inf:
            return self.search(node, near), []
        parts = self.halves(node, too_wide)
        if parts is not None:
            return math.inf, parts
        self.search(node, near)
        if self.found - node.by.bound <= self.tolerance:
            return min(node.by.bound, self.found), []
        window, too_wide = self.window(node, self.most)
        if too_wide < math.inf:
            parts = self.halves(node, too_wide)
            if parts is not None:
                return math.inf, parts
        return self.search(node, window), []

    def search(self, node: Node, window: Window | None) -> float:
        """Look for better counts in a window, and return the bound that is proven for all counts of the part."""
        bound = min(node.by.bound, self.found)
        if window is None or self.found - bound <= self.tolerance:
            return bound
        # Labels get the memory that the bins leave, but at least a quarter of it.
        memory = self.limits.memory
        memory = max(memory - _BYTES_PER_BIN * len(self.counts), memory // 4)
        best = knapsack.improve(
            self.tabulated(window.first, window.last), self.size, self.budget, node.by,
            Best(self.counts, self.found, bound), self.problem.forbidden, self.limits._replace(memory=memory),
            self.effort, window.gap,
        )  # fmt: skip
        if best.objective < self.found:
            assert best.counts is not None
            self.counts, self.found = best.counts, best.objective
        return min(best.bound, node.by.bound + window.gap)

    def window(self, node: Node, most: int) -> tuple[Window | None, float]:
        """The counts within the gap of the best known counts, or within a smaller gap that leaves about `most` counts.

        None if no gap does. Also returns a gap that leaves too many; it is infinite if the window has all that matter.
        """
        widest = self.found - node.by.bound
        narrowest = min(_LEAST_GAP * (1.0 + abs(node.by.bound)), widest)
        found, too_wide = None, math.inf
        trial = widest
        while True:
            first, last, hole, hole_end = self.shares.within(node, trial)
            entries = float((last - first).sum(dtype=np.float64)) + len(first)
            split = _HOLE * float((hole_end - hole).max()) > entries
            if entries <= most and not (split and (trial < widest or entries > _PROBE * len(first))):
                found = Window(trial, first, last)
                if trial == widest or entries > most / 2:
                    break
            else:
                too_wide = trial
                if trial == narrowest:
                    break
            if found is not None and too_wide < _NEAR * found.gap:
                break
            trial = narrowest if found is None else math.sqrt(found.gap * too_wide)
        return found, too_wide

    def halves(self, node: Node, gap: float) -> list[Node] | None:
        """The part split in two at a bin that has two minima far apart; None if no bin has."""
        begin, end, hole, hole_end = self.shares.within(node, gap)
        at = int(np.argmax(hole_end - hole))
        if _HOLE * float(hole_end[at] - hole[at]) <= float((end - begin).sum(dtype=np.float64)) + len(begin):
            return None
        middle = int(hole[at] + (hole_end[at] - hole[at]) // 2)
        parts = []
        for low_at, high_at in ((int(node.low[at]), middle), (middle + 1, int(node.high[at]))):
            low, high = node.low.copy(), node.high.copy()
            low[at], high[at] = low_at, high_at
            part = self.shares.part(low, high, node, self.found)
            if part is not None:
                parts.append(part)
        return parts

    def tabulated(self, begin: Ints, end: Ints) -> Tables:
        """Tables of the counts begin..end."""
        start = np.zeros(len(begin) + 1, np.int64)
        np.cumsum(end - begin + 1, out=start[1:])
        objective = self.sign * table(self.privacy, begin, start, self.limits)
        return Tables(start, begin, objective, table(self.quality, begin, start, self.limits))

    def search_core(self, node: Node) -> float:
        """Look for better counts around counts that use up the budget, if the multipliers distinguish none.

        Returns a bound, which is the dual bound unless the search covered all counts. This is subset sum in disguise,
        so a close solution is good enough.
        """
        self.go((self.dual_solution(node) - self.counts).astype(np.float64))
        self.use_up_budget()
        bound = node.by.bound
        while not self.effort.spent and not self.limits.passed:
            gap = self.found - node.by.bound
            if gap <= max(self.tolerance, knapsack.GOOD_ENOUGH * abs(self.found)):
                break
            first, last = (np.clip(self.counts + way * _CORE, node.low, node.high) for way in (-1, 1))
            proven = self.search(node, Window(gap, first, last))
            if (first == node.low).all() and (last == node.high).all():
                bound = proven
            if self.found - bound > _CORE_GAIN * gap:
                break
        return bound

    def use_up_budget(self) -> None:
        """Take better counts on a straight line: towards the target, or from one large bin to another."""
        low, high = self.problem.lower, self.problem.upper
        if self.sign > 0.0:
            p_peak = self.privacy.reference * (self.privacy.size / self.privacy.reference_size)
            self.go(np.clip(np.rint(p_peak), low, high) - self.counts)
            return
        start = self.counts
        largest = np.argsort(-start, kind="stable")[:_LARGEST_BINS]
        for i in largest:
            for j in largest:
                if i != j and not self.limits.passed:
                    way = np.zeros(len(start))
                    way[j] = min(start[i] - low[i], high[j] - start[j])
                    way[i] = -way[j]
                    self.go(way, start)

    def go(self, way: Floats, start: Ints | None = None) -> None:
        """Take the counts as far along the line as the budget allows, if they are better."""
        start = self.counts if start is None else start
        quality = self.quality
        kind = KINDS[quality.distance.name]
        fits, misses, share = 0.0, 1.0, 1.0
        # Until the next step is a fraction of a visit.
        for _ in range(2 + int(np.abs(way).max()).bit_length()):
            counts = start + _rounded(share * way, 0)
            inside = bool((counts >= self.problem.lower).all())  # outside the bounds, terms may be undefined
            cost = math.inf
            if inside:
                cost = terms.total(kind, quality.reference, counts, quality.reference_size, quality.size)
            fits, misses = (share, misses) if cost <= self.budget else (fits, share)
            if fits == 1.0:
                break
            share = 0.5 * (fits + misses)
        counts = start + _rounded(fits * way, 0)
        if self.objective(counts) < self.found and self.problem.is_within(counts):
            self.counts, self.found = counts, self.objective(counts)

    def dual_solution(self, node: Node) -> Ints:
        """Counts of the right size whose shares are close to the bins' least."""
        gap = _LEAST_GAP * (1.0 + abs(node.by.bound))
        while True:
            first, last, _, _ = self.shares.within(node, gap)
            if exact_sum(first) <= self.size <= exact_sum(last):
                break
            gap *= _WIDER
        missing = self.size - exact_sum(first)
        spans = (last - first).astype(np.float64)
        solution: Ints = first + _rounded(spans * (missing / max(1.0, float(spans.sum()))), missing)
        return solution


def _rounded(parts: Floats, total: int) -> Ints:
    """Integers near the given numbers that sum to `total`, as the numbers nearly do."""
    sums = np.floor(np.cumsum(parts) + 0.5).astype(np.int64)
    sums[-1] = total
    whole: Ints = np.diff(sums, prepend=0)
    return whole
