"""The public verbs: `hide`, `resemble`, `avoid` and `frontier`.

Each verb builds a `Question` from its arguments and passes it to `elsewhere.solve`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Literal

from elsewhere.model.distances import DistanceLike, over_taxonomy
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import TableLike, TargetLike
from elsewhere.model.keys import KeyLike, as_key
from elsewhere.model.question import (
    MEMORY_LIMIT,
    Aim,
    BoundsLike,
    Method,
    Question,
    SearchLimits,
    Size,
    as_histogram,
    as_list,
    chosen_aim,
    nonnegative,
)
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.model.taxonomy import Taxonomy, informed
from elsewhere.text import quote


def hide(
    histogram: TableLike,
    sensitive: Iterable[str],
    quality: DistanceLike = "js",
    redistribute: int | None = None,
    *,
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
    method: Literal["optimal", "drawn"] = "optimal",
    max_quality_loss: float | None = None,
    popularity: TargetLike | None = None,
    key: KeyLike | None = None,
) -> Sanitized:
    r"""Remove every visit to the sensitive locations, at the least possible quality loss.

    This is the Sensitive Location Hiding problem (SLH) of [1]_, section 3.2:

    .. math::
        \min_{H'} d_q(H, H') \quad \text{s.t.} \quad H'[i] = 0 \ (i \text{ sensitive}), \quad
        H'[i] \ge H[i] \ (\text{otherwise}), \quad \sum_i H'[i] = N

    where H is the histogram, H' the release and N the size of H. With `redistribute` = r the release has size
    N - K + r, where K is the number of sensitive visits (the problem SLH_r).

    Parameters
    ----------
    histogram
        The history H: a `Histogram`, what `read` returns, or anything that `Histogram` accepts (a mapping, pairs, a
        `collections.Counter`, a pandas Series).
    sensitive
        Names of the locations to hide. Any spelling of a name matches, and so do patterns such as ``"*church*"``. The
        result of `Taxonomy.select` is accepted too; its names need not all be in the history.
    quality
        The distance d_q: ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"``,
        ``"neyman"``, a `TreeDistance`, a `SmoothedJS`, or your own function of (original count, released count) for one
        location.
    redistribute
        Number of visits to add to the other locations. Default: as many as are hidden, so the size stays the same.
        0 only deletes.
    visited_only
        If True, locations with count 0 stay at 0. Default: they may receive visits.
    lower
        The least count of each location, by name or pattern. Pass an earlier release to keep a series of releases
        consistent.
    upper
        The greatest count of each location, by name or pattern.
    forbidden
        Complete histograms that must not be released. You get the best of the others.
    candidates
        Names of locations that you never visited but that may receive visits. Patterns are not allowed here.
    time_limit
        Seconds after which the search stops with the best release found so far. Default: no limit.
    gap
        Absolute distance to the proven bound at which the search may stop. Default: 0, an exact optimum.
    memory_limit
        Bytes that the search may use. Default: 1 GiB.
    taxonomy
        Measure the quality loss over this `Taxonomy`, so that a move to a similar place costs less; `TreeDistance` has
        the formula. Default: places are alike or different, nothing in between.
    levels
        The weights of the taxonomy's levels, from the top down to the locations. Default: equal shares.
    method
        ``"optimal"`` (the paper's LHO, the default) or ``"drawn"``: each visit that is moved goes to a place chosen at
        random, so that knowing the method does not help to undo it. You give up only the least quality loss.
    max_quality_loss
        The limit on d_q(H, H'). A drawn release satisfies it, too. Default: no limit.
    popularity
        Weights by location, such as a `Profile`, for ``method="drawn"``: what everybody does. Unless `visited_only`,
        its 1,000 most popular places may receive visits even if they are not in the history, but no home and none of a
        kind that is often sensitive; of a learned profile, only places that at least 20 users visited. A place without
        a weight keeps its share of the history. Default: weights by kind of place, the mean of the shipped profiles,
        which are made up; visits then go to places of the history alone.
    key
        The secret that is used to draw, or to break ties if the method is ``"optimal"``: bytes, 32 random ones at best.
        Default: to draw, your own key: ``$ELSEWHERE_KEY``, or your private key file, which is made on first use; ties
        are broken by name.

    Returns
    -------
    Sanitized
        The release, its quality loss, and a proven bound. Its `regret` is the quality loss above the least possible
        one. ``result.save(path)`` writes the release. It raises `Unchanged` if the release protects nothing.

    Raises
    ------
    InputError
        An argument is not valid; the message names the value.
    Infeasible
        No histogram satisfies the constraints, for example because every visit is sensitive. If only the limit on the
        quality loss is missed, `needed_quality_loss` is the least sufficient limit.

    See Also
    --------
    resemble : Move a histogram towards a target.
    avoid : Move a histogram away from a target.
    verify : Check a release without trusting the solvers.
    Taxonomy.select : Choose the sensitive locations by kind of place.

    Notes
    -----
    Each next visit goes to the location where it costs least. Ties go to the location that received fewest visits so
    far, then to the name that sorts first. Over a taxonomy, a visit to location i costs

    .. math:: \sum_{v \text{ at or above } i} w_v \left( \mathrm{term}(H(v), H'(v) + 1) - \mathrm{term}(H(v), H'(v))
        \right)

    A drawn visit goes to a place with the probability

    .. math:: 0.8 \, \frac{H[i]}{\sum_j H[j]} + 0.2 \, \frac{g[i]}{\sum_j g[j]}

    where the sums run over the places that may receive visits, and g is the popularity. Limits and forbidden histograms
    are conditions on the draw. It depends on the key and the history alone: the same question has the same answer on
    any machine. A history that has grown has another draw; pass the earlier release as `lower` to continue it.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4.

    Examples
    --------
    >>> alice = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> result = hide(alice, sensitive={"g", "h"})
    >>> dict(result.histogram), result.status
    ({'a': 9, 'b': 3, 'c': 4, 'd': 3, 'e': 16, 'f': 15}, 'optimal')

    Over a taxonomy the visits to an Italian restaurant go to a French one rather than to a cinema:

    >>> from elsewhere import Taxonomy
    >>> kinds = Taxonomy.parse("kinds.txt", b"Food\n  Italian Restaurant\n  French Restaurant\nArts\n  Cinema\n")
    >>> evenings = {"Italian Restaurant": 4, "French Restaurant": 5, "Cinema": 5}
    >>> dict(hide(evenings, sensitive={"Italian Restaurant"}).histogram)
    {'Cinema': 7, 'French Restaurant': 7}
    >>> dict(hide(evenings, sensitive={"Italian Restaurant"}, taxonomy=kinds).histogram)
    {'Cinema': 6, 'French Restaurant': 8}

    A drawn release costs more, and says how much:

    >>> result = hide(alice, sensitive={"g", "h"}, method="drawn", key=bytes(32))
    >>> dict(result.histogram), round(result.quality_loss, 4), round(result.regret, 4)
    ({'a': 8, 'b': 4, 'c': 4, 'd': 2, 'e': 17, 'f': 15}, 0.1227, 0.0023)
    """
    from elsewhere.popularity import Popularity

    taxonomy = informed(taxonomy, histogram)
    table = None if popularity is None else Popularity.of(popularity)
    if table is not None and method == "drawn" and not visited_only:
        candidates = [*as_list("candidates", candidates, "location names"), *table.receivers]
    return _solver()(
        Question(
            "hide",
            as_histogram(histogram),
            max_quality_loss=math.inf if max_quality_loss is None else max_quality_loss,
            quality=over_taxonomy(quality, taxonomy, levels),
            method=method,
            redistribute=redistribute,
            sensitive=sensitive,
            visited_only=visited_only,
            lower=lower,
            upper=upper,
            forbidden=forbidden,
            candidates=candidates,
            search=SearchLimits(time_limit, gap, memory_limit),
            popularity=None if table is None else table.weights,
            key=None if key is None else as_key(key),
        )
    )


def resemble(
    histogram: TableLike,
    target: TargetLike,
    max_quality_loss: float | None = None,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    method: Method = "optimal",
    max_distance: float | None = None,
    size: Size = "original",
    *,
    aim: Literal["near", "least-loss"] | None = None,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
    key: KeyLike | None = None,
) -> Sanitized:
    r"""Move a histogram as close to a target as a limit on the quality loss allows.

    This is the Target Resemblance problem (TR) of [1]_, section 3.3:

    .. math:: \min_{H'} d_p(H', H'') \quad \text{s.t.} \quad d_q(H, H') \le \epsilon, \quad \sum_i H'[i] = N

    where H is the histogram, N its size, H' the release, H'' the target scaled to size N, and :math:`\epsilon` is
    `max_quality_loss`. With a `max_distance` c but no `max_quality_loss`, or with ``aim="least-loss"``, the history
    changes as little as possible instead:

    .. math:: \min_{H'} d_q(H, H') \quad \text{s.t.} \quad d_p(H', H'') \le c, \quad \sum_i H'[i] = N

    Parameters
    ----------
    histogram
        The history H: a `Histogram`, what `read` returns, or anything that `Histogram` accepts (a mapping, pairs, a
        `collections.Counter`, a pandas Series).
    target
        The target H'': a `Profile`, what `profiles.stored` returns, or counts or other nonnegative weights by location.
        Places match the history's by any spelling of their names.
    max_quality_loss
        The limit on d_q(H, H'). Limits allow for rounding: 1e-12, or the rounding error of the limit if that is larger.
        Default: no limit, and the release of least quality loss that meets `max_distance`.
    quality
        The distance d_q: ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"``,
        ``"neyman"``, a `TreeDistance`, a `SmoothedJS`, or your own function of (original count, released count) for one
        location.
    privacy
        The distance d_p: one of the same names, a `KindDistance` if the target has kinds of place in place of
        locations, or your own function of (target count, released count) for one location.
    method
        ``"optimal"`` (the paper's RO, the default) or ``"heuristic"`` (RH: greedy and fast, not always optimal; over
        a taxonomy the solution that the best multiplier of the quality loss leads to), or ``"drawn"``: chance decides
        how near to the target the release is and which of its places it has, as with members of the profile, so that
        knowing the method helps little to recognise it. It needs `max_quality_loss` and a profile with a `spread`.
    max_distance
        The privacy parameter c: the release may be at most this far from the target. If no release within
        `max_quality_loss` is, `PrivacyNotMet` is raised. Default: any distance is accepted; if the release is drawn,
        that of the farthest member.
    size
        ``"original"`` gives the release the size of the history (the default). ``"target"`` gives it the size of the
        target, which is then not scaled. ``"free"``, with the history as `lower`, keeps all visits and adds as few as
        meet `max_distance`, which is then required; `added` of the result says where.
    aim
        What is optimised. ``"near"``: the privacy distance, within `max_quality_loss`. ``"least-loss"``: the quality
        loss, among the releases that meet `max_distance`. Default: ``"near"`` if `max_quality_loss` is given, else
        ``"least-loss"``.
    sensitive
        Names of locations whose counts become 0. Any spelling of a name matches, and so do patterns such as
        ``"*church*"``.
    visited_only
        If True, locations with count 0 stay at 0. Default: they may receive visits.
    lower
        The least count of each location, by name or pattern. Pass an earlier release to keep a series of releases
        consistent.
    upper
        The greatest count of each location, by name or pattern.
    forbidden
        Complete histograms that must not be released. You get the best of the others.
    candidates
        Names of locations that are in neither the history nor the target but may receive visits. Patterns are not
        allowed here.
    time_limit
        Seconds after which the search stops with the best release found so far. Default: no limit, but a search that
        does not close its gap stops after some seconds' worth of work. A limit lets it go on until then.
    gap
        Absolute distance to the proven bound at which the search may stop. Default: 0, an exact optimum.
    memory_limit
        Bytes that the search may use. Default: 1 GiB.
    taxonomy
        Measure both distances over this `Taxonomy`, so that a move to a similar place costs less; `TreeDistance` has
        the formula. To measure only one of them so, give it as a `TreeDistance` instead. Default: places are alike or
        different, nothing in between.
    levels
        The weights of the taxonomy's levels, from the top down to the locations. Default: equal shares.
    key
        The secret that is used to draw: bytes, 32 random ones at best. Default: your own key: ``$ELSEWHERE_KEY``, or
        your private key file, which is made on first use.

    Returns
    -------
    Sanitized
        The release, both distances, and a proven bound. If the quality loss was minimised, or the release was drawn,
        the bound is one on the quality loss, and `regret` is the loss above it. ``result.save(path)`` writes the
        release. It raises `Unchanged` if the release equals the history.

    Raises
    ------
    InputError
        An argument is not valid; the message names the value.
    Infeasible
        No histogram satisfies the constraints. Its `needed_quality_loss` is the least limit that would.
    PrivacyNotMet
        No release within `max_quality_loss` meets `max_distance`. The error has the best one as `best`, and
        `needed_quality_loss`. It is raised, too, if none of 15 draws can be met, or no number of added visits; `best`
        then adds none.

    See Also
    --------
    avoid : Move a histogram away from a target.
    frontier : Results for many limits at once.
    profiles : Shipped targets, and how to learn your own.
    verify : Check a release without trusting the solvers.

    Notes
    -----
    Locations are ordered by name. Of equally good histograms you get the first that is found in that order. Locations
    that differ only in their names get their counts in descending order. With a `KindDistance`, each kind's visits are
    split among its locations at the least quality loss, unless histograms are forbidden or `quality` is a function.

    A drawn release is made in three steps. A distance :math:`\tau \le c` is drawn from those of the members, and a
    number m from how many of the profile's places they visit. If the history has only a < m of these places, m - a
    others are drawn without replacement, by the shares of the members who visit them. At these and the history's own
    places the release is the least quality loss with :math:`d_p \le \tau`. If that is above `max_quality_loss`, all of
    it is drawn again, at most 15 times. The `regret` is the quality loss above the least that meets c at any places.
    With a `KindDistance`, a kind counts as a place, and only kinds that a candidate has can be added. The draw depends
    on the key and the history: the same question has the same answer on any machine.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4.

    Examples
    --------
    >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> r = resemble(bob, frugal, max_quality_loss=0.05)
    >>> dict(r.histogram), r.status, round(r.privacy_distance, 7)
    ({'a': 10, 'b': 6, 'c': 5, 'd': 2, 'e': 14, 'f': 5, 'g': 5, 'h': 3}, 'optimal', 0.0045983)

    Close enough, at the least quality loss:

    >>> r = resemble(bob, frugal, max_distance=0.04)
    >>> dict(r.histogram), round(r.quality_loss, 7), round(r.privacy_distance, 7)
    ({'a': 8, 'b': 4, 'c': 4, 'd': 2, 'e': 12, 'f': 10, 'g': 7, 'h': 3}, 0.0085008, 0.0397449)

    Close enough, with every visit kept and as few as possible added:

    >>> r = resemble(bob, frugal, max_distance=0.04, size="free", lower=bob)
    >>> r.added, round(r.privacy_distance, 7), r.status
    ({'b': 4, 'c': 2, 'a': 1}, 0.0387192, 'optimal')

    As near as some tourist, at some of the places of tourists:

    >>> from elsewhere import profiles
    >>> carol = {"Hotel": 3, "Office": 14, "Café": 9, "Park": 4}
    >>> r = resemble(carol, profiles.stored("tourist"), 0.1, max_distance=0.6, method="drawn", key=bytes(32))
    >>> dict(r.histogram)
    {'Airport': 1, 'Café': 8, 'Hotel': 5, 'Metro Station': 1, 'Museum': 1, 'Office': 10, 'Park': 3, 'Plaza': 1}
    >>> round(r.quality_loss, 4), round(r.regret, 4), round(r.privacy_distance, 4)
    (0.0832, 0.0115, 0.5813)
    """
    taxonomy = informed(taxonomy, histogram)
    return _solver()(
        Question(
            "resemble",
            as_histogram(histogram),
            target,
            math.inf if max_quality_loss is None else max_quality_loss,
            max_distance,
            over_taxonomy(quality, taxonomy, levels),
            over_taxonomy(privacy, taxonomy, levels),
            method,
            size,
            sensitive=sensitive,
            visited_only=visited_only,
            lower=lower,
            upper=upper,
            forbidden=forbidden,
            candidates=candidates,
            search=SearchLimits(time_limit, gap, memory_limit),
            aim=chosen_aim("resemble", max_quality_loss, max_distance, aim, method, size),
            key=None if key is None else as_key(key),
        )
    )


def avoid(
    histogram: TableLike,
    target: TargetLike,
    max_quality_loss: float | None = None,
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    method: Method = "optimal",
    min_distance: float | None = None,
    size: Size = "original",
    *,
    aim: Literal["far", "least-loss"] | None = None,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
    key: KeyLike | None = None,
) -> Sanitized:
    r"""Move a histogram as far from a target as a limit on the quality loss allows.

    This is the Target Avoidance problem (TA) of [1]_, section 3.4:

    .. math:: \max_{H'} d_p(H', H'') \quad \text{s.t.} \quad d_q(H, H') \le \epsilon, \quad \sum_i H'[i] = N

    where H is the histogram, N its size, H' the release, H'' the target scaled to size N, and :math:`\epsilon` is
    `max_quality_loss`. An infinite privacy distance is the best possible. Of the histograms that reach it you get the
    one with the least quality loss. With a `min_distance` c but no `max_quality_loss`, or with ``aim="least-loss"``,
    the history changes as little as possible instead:

    .. math:: \min_{H'} d_q(H, H') \quad \text{s.t.} \quad d_p(H', H'') \ge c, \quad \sum_i H'[i] = N

    Parameters
    ----------
    histogram
        The history H: a `Histogram`, what `read` returns, or anything that `Histogram` accepts (a mapping, pairs, a
        `collections.Counter`, a pandas Series).
    target
        The target H'': a `Profile`, what `profiles.stored` returns, or counts or other nonnegative weights by location.
        Places match the history's by any spelling of their names.
    max_quality_loss
        The limit on d_q(H, H'). Limits allow for rounding: 1e-12, or the rounding error of the limit if that is larger.
        Default: no limit, and the release of least quality loss that meets `min_distance`.
    quality
        The distance d_q: ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"``,
        ``"neyman"``, a `TreeDistance`, or your own function of (original count, released count) for one location.
    privacy
        The distance d_p: one of the same names, a `KindDistance` if the target has kinds of place in place of
        locations, or your own function of (target count, released count) for one location.
    method
        ``"optimal"`` (the paper's AO, the default) or ``"heuristic"`` (AH: greedy and fast, not always optimal; over
        a taxonomy the solution that the best multiplier of the quality loss leads to), or ``"drawn"``: chance decides
        how far from the target the release is, as with people who are no members of the profile, so that knowing the
        method helps less to recognise it. It needs `max_quality_loss` and a profile whose `spread` has `others`.
    min_distance
        The privacy parameter c: the release must be at least this far from the target. If no release within
        `max_quality_loss` is, `PrivacyNotMet` is raised. Default: any distance is accepted; if the release is drawn,
        that of the nearest of the others.
    size
        ``"original"`` gives the release the size of the history (the default). ``"target"`` gives it the size of the
        target, which is then not scaled. ``"free"``, with the history as `lower`, keeps all visits and adds as few as
        meet `min_distance`, which is then required; `added` of the result says where.
    aim
        What is optimised. ``"far"``: the privacy distance, within `max_quality_loss`. ``"least-loss"``: the quality
        loss, among the releases that meet `min_distance`. Default: ``"far"`` if `max_quality_loss` is given, else
        ``"least-loss"``.
    sensitive
        Names of locations whose counts become 0. Any spelling of a name matches, and so do patterns such as
        ``"*church*"``.
    visited_only
        If True, locations with count 0 stay at 0. Default: they may receive visits.
    lower
        The least count of each location, by name or pattern. Pass an earlier release to keep a series of releases
        consistent.
    upper
        The greatest count of each location, by name or pattern.
    forbidden
        Complete histograms that must not be released. You get the best of the others.
    candidates
        Names of locations that are in neither the history nor the target but may receive visits. Patterns are not
        allowed here.
    time_limit
        Seconds after which the search stops with the best release found so far. Default: no limit, but a search that
        does not close its gap stops after some seconds' worth of work. A limit lets it go on until then.
    gap
        Absolute distance to the proven bound at which the search may stop. Default: 0, an exact optimum.
    memory_limit
        Bytes that the search may use. Default: 1 GiB.
    taxonomy
        Measure both distances over this `Taxonomy`, so that a move to a similar place costs less; `TreeDistance` has
        the formula. To measure only one of them so, give it as a `TreeDistance` instead. Default: places are alike or
        different, nothing in between.
    levels
        The weights of the taxonomy's levels, from the top down to the locations. Default: equal shares.
    key
        The secret that is used to draw: bytes, 32 random ones at best. Default: your own key: ``$ELSEWHERE_KEY``, or
        your private key file, which is made on first use.

    Returns
    -------
    Sanitized
        The release, both distances, and a proven bound. If the quality loss was minimised, or the release was drawn,
        the bound is one on the quality loss, and `regret` is the loss above it. ``result.save(path)`` writes the
        release. It raises `Unchanged` if the release equals the history.

    Raises
    ------
    InputError
        An argument is not valid; the message names the value.
    Infeasible
        No histogram satisfies the constraints. Its `needed_quality_loss` is the least limit that would.
    PrivacyNotMet
        No release within `max_quality_loss` meets `min_distance`. The error has the best one as `best`, and
        `needed_quality_loss`. It is raised, too, if no number of added visits meets it; `best` then adds none.

    See Also
    --------
    resemble : Move a histogram towards a target.
    frontier : Results for many limits at once.
    profiles : Shipped targets, and how to learn your own.
    verify : Check a release without trusting the solvers.

    Notes
    -----
    For a drawn release a distance :math:`\tau \ge c` is drawn from those of the people who are no members, among those
    that can be met within `max_quality_loss` at the history's own places. At these the release is the least quality
    loss with :math:`d_p \ge \tau`. The `regret` is the quality loss above the least that meets c at any places. The
    draw depends on the key and the history: the same question has the same answer on any machine.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4.

    Examples
    --------
    >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> r = avoid(bob, frugal, max_quality_loss=0.05, method="heuristic")
    >>> dict(r.histogram), r.status, round(r.privacy_distance, 7)
    ({'a': 4, 'c': 1, 'd': 3, 'e': 10, 'f': 18, 'g': 11, 'h': 3}, 'feasible', 0.2260447)
    """
    taxonomy = informed(taxonomy, histogram)
    return _solver()(
        Question(
            "avoid",
            as_histogram(histogram),
            target,
            math.inf if max_quality_loss is None else max_quality_loss,
            min_distance,
            over_taxonomy(quality, taxonomy, levels),
            over_taxonomy(privacy, taxonomy, levels),
            method,
            size,
            sensitive=sensitive,
            visited_only=visited_only,
            lower=lower,
            upper=upper,
            forbidden=forbidden,
            candidates=candidates,
            search=SearchLimits(time_limit, gap, memory_limit),
            aim=chosen_aim("avoid", max_quality_loss, min_distance, aim, method, size),
            key=None if key is None else as_key(key),
        )
    )


def frontier(
    histogram: TableLike,
    target: TargetLike,
    budgets: Sequence[float],
    goal: Literal["resemble", "avoid"] = "resemble",
    quality: DistanceLike = "js",
    privacy: DistanceLike = "js",
    size: Size = "original",
    *,
    aim: Aim | None = None,
    sensitive: Iterable[str] = (),
    visited_only: bool = False,
    lower: BoundsLike = None,
    upper: BoundsLike = None,
    forbidden: Iterable[TableLike] = (),
    candidates: Iterable[str] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    memory_limit: int = MEMORY_LIMIT,
    taxonomy: Taxonomy | None = None,
    levels: Sequence[float] | None = None,
) -> Frontier:
    r"""Solve `resemble` or `avoid` for many limits on the quality loss: what each limit buys.

    .. math:: f(\epsilon) = \min_{H'} d_p(H', H'') \quad \text{s.t.} \quad d_q(H, H') \le \epsilon, \quad
        \sum_i H'[i] = N

    for each :math:`\epsilon` in `budgets`; avoid has the maximum in place of the minimum. Each point is what `resemble`
    or `avoid` returns for that limit, found faster; only the multipliers of its certificate may be others. A point
    whose search a limit ended may be better: it is never worse than that of a smaller budget. With a `SmoothedJS`, it
    may be another release that is as good. With ``aim="least-loss"`` the budgets are privacy distances instead, and
    each point is the release of least quality loss that meets one of them.

    Parameters
    ----------
    histogram
        The history H: a `Histogram`, what `read` returns, or anything that `Histogram` accepts (a mapping, pairs, a
        `collections.Counter`, a pandas Series).
    target
        The target H'': a `Profile`, what `profiles.stored` returns, or counts or other nonnegative weights by location.
        Places match the history's by any spelling of their names.
    budgets
        The limits on d_q(H, H') to try, or with ``aim="least-loss"`` the limits on d_p(H', H''): `max_distance` of
        resemble, `min_distance` of avoid.
    goal
        ``"resemble"`` (the default) or ``"avoid"``.
    quality
        The distance d_q: ``"js"``, ``"jeffreys"``, ``"variational"``, ``"l2"``, ``"squared-l2"``, ``"pearson"``,
        ``"neyman"``, a `TreeDistance`, a `SmoothedJS`, or your own function of (original count, released count) for one
        location.
    privacy
        The distance d_p: one of the same names, a `KindDistance` if the target has kinds of place in place of
        locations, or your own function of (target count, released count) for one location.
    size
        ``"original"`` gives the releases the size of the history (the default). ``"target"`` gives them the size of the
        target, which is then not scaled.
    aim
        What is optimised: ``"near"`` in resemble and ``"far"`` in avoid (the default), or ``"least-loss"``.
    sensitive
        Names of locations whose counts become 0. Any spelling of a name matches, and so do patterns such as
        ``"*church*"``.
    visited_only
        If True, locations with count 0 stay at 0. Default: they may receive visits.
    lower
        The least count of each location, by name or pattern.
    upper
        The greatest count of each location, by name or pattern.
    forbidden
        Complete histograms that must not be released. You get the best of the others.
    candidates
        Names of locations that are in neither the history nor the target but may receive visits. Patterns are not
        allowed here.
    time_limit
        Seconds after which the search for each point stops with the best release found so far. Default: no limit.
    gap
        Absolute distance to the proven bound at which the search may stop. Default: 0, exact optima.
    memory_limit
        Bytes that the search may use. Default: 1 GiB.
    taxonomy
        Measure both distances over this `Taxonomy`, so that a move to a similar place costs less; `TreeDistance` has
        the formula. To measure only one of them so, give it as a `TreeDistance` instead. Default: places are alike or
        different, nothing in between.
    levels
        The weights of the taxonomy's levels, from the top down to the locations. Default: equal shares.

    Returns
    -------
    Frontier
        A `Sanitized` for each budget, in the order given. ``suggest()`` returns the knee of the curve.

    Raises
    ------
    InputError
        An argument is not valid; the message names the value.
    Infeasible
        No histogram satisfies the constraints within the smallest budget. Its `needed_quality_loss` is the least that
        would.
    PrivacyNotMet
        No release meets one of the privacy distances.

    See Also
    --------
    resemble : One result, closest to the target.
    avoid : One result, farthest from the target.
    Frontier.suggest : The point after which more quality loss gains little.

    References
    ----------
    .. [1] Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and
       Target Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020,
       doi:10.1007/s10115-019-01432-4, sections 3.3 and 3.4.

    Examples
    --------
    >>> bob = dict(a=7, b=2, c=3, d=2, e=13, f=12, g=8, h=3)
    >>> frugal = dict(a=10, b=8, c=6, d=2, e=13, f=4, g=4, h=3)
    >>> [round(r.privacy_distance, 4) for r in frontier(bob, frugal, [0.001, 0.01, 0.1])]
    [0.0711, 0.0364, 0.0]
    >>> [round(r.quality_loss, 4) for r in frontier(bob, frugal, [0.07, 0.04, 0.0], aim="least-loss")]
    [0.0013, 0.0085, 0.079]
    """
    from elsewhere.solve import solve_frontier

    if not isinstance(goal, str) or goal not in ("resemble", "avoid"):
        raise InputError(f"goal is {quote(goal)}; it must be 'resemble' or 'avoid'", ("goal",))
    if size == "free":
        raise InputError("a frontier cannot have a free size; use resemble or avoid", ("size",))
    taxonomy = informed(taxonomy, histogram)
    limits = [nonnegative("budgets", budget) for budget in as_list("budgets", budgets, "limits")]
    most = max(limits, default=0.0)
    aim = chosen_aim(goal, most, most, aim)
    question = Question(
        goal,
        as_histogram(histogram),
        target,
        math.inf if aim == "least-loss" else most,
        most if aim == "least-loss" else None,
        quality=over_taxonomy(quality, taxonomy, levels),
        privacy=over_taxonomy(privacy, taxonomy, levels),
        size=size,
        sensitive=sensitive,
        visited_only=visited_only,
        lower=lower,
        upper=upper,
        forbidden=forbidden,
        candidates=candidates,
        search=SearchLimits(time_limit, gap, memory_limit),
        aim=aim,
    )
    return solve_frontier(question, limits)


@cache
def _solver() -> Callable[[Question], Sanitized]:
    """`solve`, imported with the first question, because it loads the solvers; and only once, to save time."""
    from elsewhere.solve import solve

    return solve
