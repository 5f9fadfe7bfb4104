"""Plans: a policy with its files read, for any number of histories."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from elsewhere.histories import read
from elsewhere.histories.coordinates import Coordinates
from elsewhere.histories.zones import Zone, check_located, inside, read_zone
from elsewhere.model.arrays import Floats
from elsewhere.model.comparison import Comparison, Match, check_known, totals_by_kind
from elsewhere.model.constraints import visited_in
from elsewhere.model.distances import DistanceLike
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import HasProfile, Histogram, Profile, TableLike, TargetLike, parse_weights
from elsewhere.model.keys import Key
from elsewhere.model.names import NameIndex, name_key
from elsewhere.model.places import Places
from elsewhere.model.question import Covered, Question, SearchLimits, as_histogram
from elsewhere.model.result import Frontier, Sanitized
from elsewhere.model.taxonomy import NO_KIND, PRESET, UNKNOWN_KIND, Taxonomy, Types
from elsewhere.model.trees import KindDistance, TreeDistance
from elsewhere.policy import SHIPPED, Policy
from elsewhere.popularity import Popularity, shipped_table
from elsewhere.text import closest, plural, quote
from elsewhere.verification.verify import Check, check_release

AnyTaxonomy = TypeVar("AnyTaxonomy", bound=Taxonomy)


class NamesAsked(NamedTuple):
    """The constraints of a plan that compares by name, for the places of any user."""

    #: The target's places and the weight of each.
    target: NameIndex
    weights: Floats
    #: The names of the places of the candidates and the target, by key.
    beyond: dict[str, str]
    #: Places that must not get more visits: if they are the user's own, and in any case.
    fixed_own: frozenset[str]
    fixed: frozenset[str]
    #: The vote of each name: 1 for comparing a history by name, -1 against.
    votes: list[int]


class Plan:
    """A policy whose files have been read, ready for any number of histories. `Policy.plan` makes one."""

    def __init__(
        self,
        policy: Policy,
        target: Mapping[str, Any] | HasProfile | None,
        taxonomy: Taxonomy | None,
        popularity: TargetLike | None,
    ) -> None:
        self.policy = policy
        self.target = policy.weights() if target is None and policy.target is not None else _weights(target)
        self._own_taxonomy = _taxonomy(policy) if taxonomy is None else taxonomy
        #: Known types of locations: from the person first, then from the export.
        self._types: tuple[Types, ...] = (
            {name: (NO_KIND if name_key(kind) == NO_KIND else kind,) for name, kind in policy.kinds.items()},
        )
        given = policy.table("popularity") if popularity is None and policy.popularity is not None else popularity
        self._given_popularity = None if given is None else Popularity.of(given)
        self._key: Key | None = None
        self._lower, self._upper = _bounds(policy, policy.lower), _bounds(policy, policy.upper)
        #: The coordinates of the visits to each place of the history.
        self._spots: Mapping[str, Collection[Coordinates]] = {}
        self._forbidden = [read(policy._at(name)).histogram for name in policy.forbidden]
        self._check_kinds()

    def with_choices(self, choices: Mapping[str, Any]) -> Plan:
        """Return the same plan with other `choices`, by field of `Policy`. None of them may be a file or a kind."""
        # The types of locations stay, so that no name is looked up twice.
        return self._changed(policy=replace(self.policy, **choices), _taxonomy=self._taxonomy, shipped=self.shipped)

    def with_key(self, file: str | os.PathLike[str] | Key | None = None) -> Plan:
        """Return the same plan with the key in `file`, or else your own, if the policy needs a key.

        A plan without a key uses your own key when it draws. With a key, it draws the same on other machines.
        """
        if not self.policy.takes_key:
            return self
        if file is None and self._key is not None:
            return self
        if isinstance(file, Key):
            return self._changed(_key=file)
        return self._changed(_key=Key.own() if file is None else Key.at(file))

    def key_of(self, whose: Sequence[str]) -> Key | None:
        """Return the key for the user `whose`, so that users with the same history have different draws."""
        return None if not self.policy.takes_key else (self._key or Key.own()).derived("user", *whose)

    @property
    def key_notes(self) -> tuple[str, ...]:
        """Notes about the key as clauses, such as that it was just created."""
        return () if self._key is None else self._key.notes

    def key_fingerprint(self) -> str | None:
        """Return the fingerprint of the key; None without one."""
        return None if self._key is None else self._key.fingerprint()

    def continuing(self, earlier: Histogram) -> Plan:
        """Return the same plan for a release that continues an `earlier` one: no count falls."""
        other = copy(self)
        for name in ("_comparison", "_beyond", "_places_beyond", "_asked_beyond"):
            other.__dict__.pop(name, None)
        other._lower = earlier
        return other

    def about(self, history: TableLike) -> Plan:
        """Return the same plan with the types of locations from the export of `history`."""
        types: Types = getattr(history, "types", None) or {}
        spots = (getattr(history, "spots", None) or {}) if self._zones else {}
        return (
            self._changed(_types=(*self._types, types) if types else self._types, _spots=spots)
            if types or spots
            else self
        )

    def question(self, history: TableLike) -> Question:
        """Return what the policy asks of `history`, with the locations that each sensitive name covers.

        An unknown name raises `InputError`, and a target that has little to do with the history `TargetMismatch`. If
        `hide` would hide nothing at all, this does not raise; saving the result raises `Unchanged` instead.
        """
        self.check_single()
        plan, histogram = self.about(history), as_histogram(history)
        plan._check_places(histogram.index)
        covered = plan.covered_in(histogram)
        if plan.policy.goal != "hide" or any(covered.values()):
            covered.check_known()
        counted = plan.counted(histogram)
        known = plan._known(histogram.index).union(counted.index)
        for name in plan.policy.spared:
            if not known.covered(name):
                raise InputError(f"the spared location {quote(name)} is not in the history{closest(name, known.names)}")
        match = plan._match(counted)
        if not plan.policy.allow_mismatch:
            match.check()
        return plan._question(histogram, counted, match, covered)

    def check_single(self) -> None:
        """Raise if the policy needs many users."""
        if self.policy.mechanism == "shared":
            raise InputError("the policy has mechanism = 'shared', which takes many users; use it for a batch")

    def counted(self, history: Histogram) -> Histogram:
        """Return the histogram that the policy applies to: `history` itself, or its histogram of kinds of place."""
        if self.policy.by == "name":
            return history
        return Histogram(totals_by_kind(history, lambda _: self.kinds, self.policy.depth))

    def counted_names(self, names: Sequence[str]) -> list[str]:
        """Return the location that visits to each place in `names` count for: the place itself, or its kind."""
        if self.policy.by == "name":
            return list(names)
        return [self.kinds.kind_at(name, self.policy.depth) for name in names]

    def covered_in(self, history: Histogram) -> Covered:
        """Return the locations that each sensitive name covers in `history`, and in what the policy adds to it.

        A name that is neither a location nor a node of the policy's taxonomy is looked up in the shipped one. With
        ``by = "kind"`` the locations are kinds: those that hold a covered place of the history.
        """
        known, own = self._known(history.index), self._taxonomy
        covered = self._covered(history.index)
        for name, locations in covered.items():
            # A name may be a kind even if the target or the candidates have a place of that name.
            if any(location in history for location in locations) or self._taxonomy_of(name):
                continue
            if own is None and self.shipped.knows(name):
                kind = self._below(self.shipped, name, history.index)
                covered[name] = locations | kind.difference(self._spared(known))
            elif not locations:
                kinds = () if own is None else (node.name for _, node in own.tree())
                covered.unknown[name] = closest(name, [*known.names, *kinds])
        if self._zones:
            self._add_zones(covered, history, self._spared(known))
        return covered if self.policy.by == "name" else self._kinds_with(covered, history)

    def _add_zones(self, covered: Covered, history: Histogram, spared: set[str]) -> None:
        """Add the places of the history that are in zones. All its other places must have coordinates."""
        settled = covered.locations | spared
        check_located(self._spots, (name for name in history if name not in settled))
        for name, zone in self._zones.items():
            places = inside(self._spots, [zone], history)
            covered[name] = places - spared
            if not places:
                covered.empty_zones.append(name)

    def _kinds_with(self, covered: Covered, history: Histogram) -> Covered:
        """The kinds with covered places, and the kinds with the same names."""
        kinds = dict(zip(history.locations, self.counted_names(history.locations), strict=True))
        bins = self.counted(history).index.union(self._beyond)
        spared = self._spared(bins)
        beyond = self._covered(NameIndex(()))
        found = Covered(
            (
                name,
                beyond.get(name, frozenset()).union(bins.match(name), (kinds[at] for at in places if at in kinds))
                - spared,
            )
            for name, places in covered.items()
        )
        found.unknown = {name: meant for name, meant in covered.unknown.items() if not found[name]}
        found.empty_zones = covered.empty_zones
        return found

    def question_about(self, history: Histogram, sensitive: Iterable[str] | Covered) -> Question:
        """Return what the policy asks of `history` when its `sensitive` locations are known already."""
        counted = self.counted(history)
        match = self._match(counted)
        # If the person's places hardly match the target's kinds, a release would be useless.
        if match.kinds is not None and not self.policy.allow_mismatch:
            match.check()
        return self._question(history, counted, match, sensitive)

    def _match(self, counted: Histogram) -> Match:
        """How a histogram, of places or of kinds, matches the target."""
        return Match({}, None, 1.0) if self._comparison is None else self._comparison.match(counted.index)

    def _question(
        self, places: Histogram, history: Histogram, match: Match, sensitive: Iterable[str] | Covered
    ) -> Question:
        """The question about `history`; if the policy is about kinds, `places` has the original places."""
        policy, watched = self.policy, self._watched(places)
        quality, privacy = self._distances(match)
        fixed = frozenset() if policy.allow_sensitive_rise else watched
        if match.kinds is not None:  # the release has names, so a bare kind gets no visits
            fixed = fixed.union(name for name in self._beyond.names if history.index.position(name) < 0)
        candidates = NameIndex(self._candidates)
        return Question(
            policy.goal,
            history,
            self._wanted if policy.levels is not None or match.kinds is None else match.target,
            math.inf if policy.max_quality_loss is None else policy.max_quality_loss,
            policy.max_distance if policy.goal == "resemble" else policy.min_distance,
            quality,
            privacy,
            policy.method,
            policy.size,
            policy.redistribute,
            sensitive,
            policy.visited_only,
            history if policy.size == "free" else self._lower,
            self._upper,
            self._forbidden,
            self._candidates,
            SearchLimits(policy.time_limit, policy.gap, policy.memory_limit),
            not_raised=frozenset(name for name in fixed if candidates.position(name) < 0),
            watched=watched,
            notes=self._notes(match, sum(name in history for name in watched)),
            aim=policy.chosen_aim,
            popularity=None if self._popularity is None else self._popularity.weights,
            key=self._key,
        )

    def names_asked(self, names: Sequence[str]) -> NamesAsked:
        """Return the constraints that `question_about` makes for the places `names` of many users."""
        assert self._comparison is not None
        votes = self._comparison.votes(NameIndex(names))
        if self.policy.allow_sensitive_rise:
            return self._asked_beyond._replace(votes=votes)
        candidates = NameIndex(self._candidates)
        own = self.shipped.often_sensitive(names)
        fixed = frozenset(name for name in own if candidates.position(name) < 0)
        return self._asked_beyond._replace(fixed_own=fixed, votes=votes)

    @cached_property
    def _asked_beyond(self) -> NamesAsked:
        """What `names_asked` returns for no names at all."""
        assert self._wanted is not None
        target, weights = parse_weights(self._wanted, "target")
        candidates = NameIndex(self._candidates)
        beyond = dict(zip(target.keys, target.names, strict=True))
        beyond |= dict(zip(candidates.keys, candidates.names, strict=True))
        fixed = frozenset[str]()
        if not self.policy.allow_sensitive_rise:
            others = self.shipped.often_sensitive(self._places_beyond.names)
            kinds = self.shipped.without_types().often_sensitive(self._target_kinds)
            fixed = frozenset(name for name in others | kinds if candidates.position(name) < 0)
        return NamesAsked(target, weights, beyond, frozenset(), fixed, [])

    def _notes(self, match: Match, watched: int) -> tuple[str, ...]:
        notes = []
        if match.kinds is not None and self.policy.levels is None:
            share = f"{100 * match.share:.0f}% of the target's weight is at kinds that the history has"
            notes.append(f"compared totals of kinds of place: {share}")
        if watched and not self.policy.allow_sensitive_rise:
            notes.append(f"kept the visits to {plural(watched, 'place')} of often sensitive kinds from rising")
        return tuple(notes)

    def _distances(self, match: Match) -> tuple[DistanceLike, DistanceLike]:
        """The distances of the policy: flat, over the taxonomy, or between totals of kinds."""
        policy = self.policy
        if policy.levels is not None:
            levels = None if isinstance(policy.levels, str) else policy.levels  # all alike
            taxonomy = self.kinds if policy.by == "name" else self.kinds.without_types()
            over = (TreeDistance(name, taxonomy, levels) for name in (policy.quality, policy.privacy))
            return next(over), next(over)
        if match.kinds is not None:
            return policy.quality, KindDistance(policy.privacy, match.kinds)
        return policy.quality, policy.privacy

    def _watched(self, history: Histogram) -> frozenset[str]:
        """The places of often sensitive kinds, or the kinds with such places, unless they are candidates."""
        if self.policy.goal == "hide":
            return frozenset()
        others = [name for name in self._places_beyond.names if history.index.position(name) < 0]
        delicate = self.shipped.often_sensitive([*history.index.names, *others])
        if self.policy.by == "kind":
            delicate = frozenset(self.counted_names([name for name in delicate if name in history]))
        candidates = NameIndex(self._candidates)
        return frozenset(
            name
            for name in delicate | self.shipped.without_types().often_sensitive(self._target_kinds)
            if candidates.position(name) < 0
        )

    def covered(self, locations: Sequence[str]) -> Covered:
        """Return which of the `locations` of many users each sensitive name covers, in all spellings."""
        index = NameIndex(locations)
        return Covered((name, places.intersection(locations)) for name, places in self._covered(index).items())

    @property
    def expects_target(self) -> bool:
        """Whether most of the target's weight must be at places that some user has."""
        comparison = self._comparison
        return comparison is not None and not comparison.is_of_kinds and not self.policy.allow_mismatch

    def target_in(self, locations: Sequence[str]) -> frozenset[str]:
        """Return the target's names that are among `locations` of many users."""
        assert self._comparison is not None
        return self._comparison.names_in(NameIndex(self.counted_names(locations)))

    def compares_names(self, names: Sequence[str]) -> bool:
        """Return whether a history with the places called `names` is compared with the target by name, not by kind."""
        return self._comparison is None or sum(self._comparison.votes(NameIndex(names))) >= 0

    def check_target(self, found: Iterable[str]) -> None:
        """Raise `TargetMismatch` if most of the target's weight is at other names than those that were `found`."""
        assert self._comparison is not None
        Match({}, None, self._comparison.share(found)).check()

    @property
    def elsewhere(self) -> frozenset[str]:
        """The sensitive locations of the target, the candidates and the earlier release."""
        return self._covered(NameIndex(())).locations

    def sanitize(self, history: TableLike) -> Sanitized:
        """Return the release of `history` and what it cost."""
        from elsewhere.solve import solve

        return solve(self.question(history))

    def frontier(self, history: TableLike, budgets: Sequence[float]) -> Frontier:
        """Return the best result for `history` within each limit in `budgets`, instead of the policy's own limit.

        If the policy asks for the least quality loss, `budgets` are privacy distances to meet.
        """
        if self.policy.goal == "hide":
            raise InputError("hide has no frontier; only resemble and avoid have one")
        if self.policy.method == "drawn":
            raise InputError("a frontier cannot be drawn; use another method", ("method",))
        from elsewhere.solve import solve_frontier

        question = self.question(history)
        if question.aim != "least-loss":
            question = question.within(max(budgets, default=0.0))
        return solve_frontier(question, budgets)

    def verify(self, history: TableLike, release: TableLike | Sanitized) -> Check:
        """Check whether `release`, a histogram or a whole `Sanitized`, satisfies what the policy asks of `history`."""
        return check_release(self.question(history), release)

    def _changed(self, **attributes: Any) -> Plan:
        """A copy with other attributes, and without cached values of the old ones."""
        other = copy(self)
        for name, value in vars(type(self)).items():
            if isinstance(value, cached_property):
                other.__dict__.pop(name, None)
        vars(other).update(attributes)
        return other

    @cached_property
    def _zones(self) -> dict[str, Zone]:
        """The zones, by their names among the sensitive names."""
        return {f"zone {zone}": read_zone(zone, self.policy.folder) for zone in self.policy.sensitive_zones}

    @cached_property
    def _wanted(self) -> Mapping[str, Any] | None:
        """The target that the history is compared with: the policy's target, or its histogram of kinds."""
        if self.target is None or self.policy.by == "name":
            return self.target
        totals = totals_by_kind(self.target, self._taxonomy_for, self.policy.depth)
        if not self.policy.allow_mismatch:
            check_known(totals)
        if not isinstance(self.target, Profile):
            return totals
        spread = self.target.spread
        if spread is None:
            return Profile(totals)
        return Profile(totals, spread.by_kind(lambda name: self._taxonomy_for(name).kind_at(name, self.policy.depth)))

    def _taxonomy_for(self, name: str) -> Taxonomy:
        """The taxonomy for the kind of a name. Types of a place do not affect a kind with the same name."""
        kinds = self._bare_kinds
        return kinds if kinds.node(name) else self.kinds

    @cached_property
    def _bare_kinds(self) -> Taxonomy:
        return self.kinds.without_types()

    @cached_property
    def _comparison(self) -> Comparison | None:
        if self._wanted is None:
            return None
        return Comparison(self._wanted, [*self._candidates, *visited_in(self._lower)], self.kinds, self.policy.depth)

    @cached_property
    def _candidates(self) -> tuple[str, ...]:
        """The candidates, or their kinds, and the popular places that drawn visits may go to."""
        own = self.policy.candidates
        if self.policy.by == "kind":
            own = tuple(name if self.kinds.node(name) else self.counted_names([name])[0] for name in own)
        if self._popularity is None or self.policy.visited_only:
            return own
        # The types of places may make a place sensitive although its name does not.
        delicate = self.shipped.often_sensitive(self._popularity.receivers)
        return tuple(dict.fromkeys((*own, *(name for name in self._popularity.receivers if name not in delicate))))

    @cached_property
    def _popularity(self) -> Popularity | None:
        """The popularity for draws, by location or by kind; None for that of the shipped profiles at own places."""
        if self.policy.goal != "hide" or self.policy.method != "drawn":
            return None
        if self.policy.by == "name":
            return self._given_popularity
        table = shipped_table() if self._given_popularity is None else self._given_popularity.weights
        totals = totals_by_kind(table, self._taxonomy_for, self.policy.depth)
        kinds = Popularity.of({kind: weight for kind, weight in totals.items() if kind != UNKNOWN_KIND} or totals)
        if self._given_popularity is None:
            return kinds
        # A kind that few users visited would reveal as much about them as a place.
        known = set(self.counted_names(self._given_popularity.receivers))
        return replace(kinds, receivers=tuple(kind for kind in kinds.receivers if kind in known))

    @cached_property
    def _beyond(self) -> NameIndex:
        """The places of the candidates, the target and the earlier release."""
        return NameIndex([*self._candidates, *visited_in(self._lower), *(self._wanted or ())])

    @cached_property
    def _target_kinds(self) -> list[str]:
        """The target's names that are kinds."""
        return [name for name in self._wanted or () if self.kinds.node(name) is not None]

    @cached_property
    def _places_beyond(self) -> NameIndex:
        """The candidates, the places of the earlier release, and the target's names that are places."""
        target = (name for name in self._wanted or () if self.kinds.node(name) is None)
        return NameIndex([*self._candidates, *visited_in(self._lower), *target])

    @cached_property
    def _taxonomy(self) -> Taxonomy | None:
        """The policy's own taxonomy, with the known types of locations."""
        return None if self._own_taxonomy is None else self._told(self._own_taxonomy)

    @cached_property
    def shipped(self) -> Places:
        """The shipped taxonomy, with the known types of locations."""
        return self._told(Taxonomy.shipped())

    @property
    def kinds(self) -> Taxonomy:
        """The taxonomy that says what kind a place is."""
        return self.shipped if self._taxonomy is None else self._taxonomy

    def _told(self, taxonomy: AnyTaxonomy) -> AnyTaxonomy:
        own, *exported = self._types
        taxonomy = taxonomy.with_types(own, patterns=True)
        for types in exported:
            taxonomy = taxonomy.with_types(types)
        return taxonomy

    def _check_kinds(self) -> None:
        """Raise unless the taxonomy has the kinds that the policy gives to places, one to each."""
        kinds: dict[str, str] = {}
        for place, kind in self.policy.kinds.items():
            if name_key(kind) != NO_KIND and self.kinds.node(kind) is None:
                known = [node.name for _, node in self.kinds.tree()]
                raise InputError(
                    f"kinds gives {quote(place)} the kind {quote(kind)}, which is not in the taxonomy"
                    f"{closest(kind, known)}",
                    ("kinds",),
                )
            if kinds.setdefault(name_key(place), kind) != kind:
                other = kinds[name_key(place)]
                raise InputError(f"kinds gives {quote(place)} two kinds: {quote(other)} and {quote(kind)}", ("kinds",))

    def _check_places(self, history: NameIndex) -> None:
        """Raise if the policy seems to misspell a place to which it gives a kind; a missing place is no error."""
        known, told = self._known(history), NameIndex(list(self.policy.kinds))
        for name in told.names:
            meant = "" if known.covered(name) else closest(name, [at for at in history.names if told.position(at) < 0])
            if meant:
                raise InputError(f"kinds names {quote(name)}, which is not in the history{meant}", ("kinds",))

    def _known(self, history: NameIndex) -> NameIndex:
        return history.union(self._beyond)

    def _covered(self, history: NameIndex) -> Covered:
        """The locations that each sensitive name covers, in the history and in what the policy adds to it."""
        known = self._known(history)
        spared = self._spared(known)
        return Covered((name, self._matched(name, history, known) - spared) for name in self.policy.sensitive)

    def _spared(self, known: NameIndex) -> set[str]:
        """The known locations that are kept even though a sensitive name covers them."""
        return {known.names[at] for name in self.policy.spared for at in known.covered(name)}

    def _matched(self, name: str, history: NameIndex, known: NameIndex) -> frozenset[str]:
        """The known locations that a name matches: a place of that name, and those below a node or a preset."""
        matched = frozenset(known.names[at] for at in known.covered(name))
        taxonomy = self._taxonomy_of(name)
        return matched if taxonomy is None else matched | self._below(taxonomy, name, history)

    def _below(self, taxonomy: Taxonomy, name: str, history: NameIndex) -> frozenset[str]:
        """The locations below a node or a preset.

        A kind of the target is found by its name, whatever the types of a place of the history with the same name.
        """
        places = history.union(self._places_beyond)
        return taxonomy.select([name], among=places.names) | taxonomy.without_types().select(
            [name], among=[kind for kind in self._target_kinds if history.position(kind) < 0]
        )

    def _taxonomy_of(self, name: str) -> Taxonomy | None:
        """The taxonomy in which a name is a node or a preset, if there is one; by kind, any name may be one."""
        if self._taxonomy is not None and self._taxonomy.knows(name):
            return self._taxonomy
        is_kind = self.policy.by == "kind" and self._taxonomy is None and self.shipped.knows(name)
        return self.shipped if name.startswith(PRESET) or is_kind else None


def _taxonomy(policy: Policy) -> Taxonomy | None:
    if policy.taxonomy is None:
        return None
    return Taxonomy.shipped() if policy.taxonomy == SHIPPED else Taxonomy.load(policy._at(policy.taxonomy))


def _weights(target: Mapping[str, Any] | HasProfile | None) -> Mapping[str, Any] | None:
    """A target as weights by location."""
    return target if target is None or isinstance(target, Mapping) else target.profile


def _bounds(policy: Policy, given: str | Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Bounds by location; those in a file may be an earlier release."""
    return read(policy._at(given)).histogram if isinstance(given, str) else given
