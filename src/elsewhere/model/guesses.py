"""What a stranger could still guess from a release: plain sentences, each with a measured figure and its source.

A figure was measured under a condition: how many visits were hidden, or the limit on the quality loss. The figure whose
condition is nearest to the release is given, together with its condition. Nothing is extrapolated: what nobody has
measured is reported as unknown.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from elsewhere.model.distances import DistanceLike, find_distance
from elsewhere.model.measured import ANY_KIND, Attack, Figure, figures
from elsewhere.model.names import name_key
from elsewhere.model.parts import place_of
from elsewhere.model.question import Aim, Goal, Method, Question
from elsewhere.model.smoothing import SmoothedJS
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.model.trees import KindDistance, TreeDistance

_STRANGER = "A stranger who has seen many releases tells one like this from"
_PAIRS = "in {about} {cases} of 100 cases (50 is guessing)."
#: A sentence for each attack. Profiling depends on the goal, repetition on whether there are lower bounds, and
#: re-identification on what the attacker knows.
_SENTENCES: dict[str, str] = {
    "detection": f"{_STRANGER} a genuine history {_PAIRS}",
    "resemble": f"{_STRANGER} the history of somebody who really is like the target {_PAIRS}",
    "avoid": f"{_STRANGER} the history of somebody who never was like the target {_PAIRS}",
    "inference": f"Other places may give away a visit to {{place}}: a stranger tells who was there {_PAIRS}",
    "repetition": "A later release can prove that something is hidden: some count falls for {about} {cases} of 100 "
    "people, unless it continues the earlier release (--since, or lower in Python).",
    "bounded": "A later release that continues the earlier one (--since, or lower in Python) proves that something is "
    "hidden for {about} {cases} of 100 people.",
    "reidentification": "Somebody who knows {knows} finds the release among those of {users:,} people "
    "in {about} {cases} of 100 cases.",
    "halves": "Somebody who knows half of a person's visits finds a release of the other half among those of {users:,} "
    "people in {about} {cases} of 100 cases.",
}
#: The sentence for an attack without a figure.
_UNKNOWN: dict[Attack, str] = {
    "detection": "how well a release like this is recognised",
    "profiling": "how well a release like this is recognised",
    "inference": "what other places tell about the hidden ones",
    "repetition": "what two releases tell together",
    "reidentification": "how often somebody who knows some of the visits finds the release among others",
}
#: A lower bound on conditions, so that they have a logarithm.
_LEAST = 1e-6
#: The most hidden places whose kinds are looked up.
_MOST_PLACES = 500


@dataclass(frozen=True)
class Guess:
    """A sentence about what a stranger could guess, with its source. It is private."""

    #: None if the sentence is about something unknown.
    attack: Attack | None
    sentence: str
    source: str | None = None
    figures: tuple[Figure, ...] = ()

    def __str__(self) -> str:
        return self.sentence if self.source is None else f"{self.sentence} {self.source}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        told = [{key: value for key, value in asdict(figure).items() if value is not None} for figure in self.figures]
        return {"attack": self.attack, "sentence": self.sentence, "source": self.source, "figures": told}


@dataclass(frozen=True)
class Situation:
    """The keys for looking up figures. None means unknown, as for the many users of a batch."""

    goal: Goal
    method: Method
    aim: Aim | None
    #: Whether visits are hidden, and what share of all.
    hides: bool
    hidden: float | None
    limit: float | None
    #: Whether there are lower bounds.
    lower: bool
    #: The measured kinds of place that are hidden, and whether there are hidden places of other kinds.
    kinds: tuple[str, ...]
    other_kinds: bool
    #: Whether drawn visits also go to popular places where the person never was.
    popularity: bool = False
    #: The unmeasured properties of the release.
    unmeasured: tuple[str, ...] = ()


def guesses_about(question: Question, quality_loss: float) -> tuple[Guess, ...]:
    """What a stranger could guess from the answer to a question, which has this quality loss."""
    problem = question.problem
    at = problem.sensitive & (problem.original > 0)
    places = [problem.locations[it] for it in np.flatnonzero(at).tolist()]
    covered = {name: below for name, below in question.covered.items() if below.intersection(places)}
    kinds, others = hidden_kinds(covered, places)
    return guesses(
        Situation(
            question.goal,
            question.method,
            question.aim,
            hides=bool(places),
            hidden=question.hidden_visits / question.history.size,
            limit=question.max_quality_loss if question.max_quality_loss < math.inf else quality_loss,
            lower=bool(question.lower),
            kinds=kinds,
            other_kinds=others,
            popularity=question.popularity is not None and not question.visited_only,
            unmeasured=unmeasured(
                [question.quality] if question.goal == "hide" else [question.quality, question.privacy],
                resized=question.redistribute not in (None, question.hidden_visits) or question.size != "original",
                in_parts=any(place_of(name) != name for name in question.history),
            ),
        )
    )


def hidden_kinds(covered: Mapping[str, Collection[str]], places: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The measured kinds among sensitive names and hidden places, and whether there are places of other kinds.

    `covered` has the places that each sensitive name covers. Of very many places only the first are looked up; the
    others count as of other kinds.
    """
    by_key = {name_key(name): below for name, below in covered.items()}
    looked_up, left, found = places[:_MOST_PLACES], {*places}, []
    for kind in dict.fromkeys(figure.kind for figure in figures()):
        if kind is None or kind == ANY_KIND:
            continue
        named = by_key.get(name_key(kind))
        below = Taxonomy.shipped().select([kind], among=looked_up).union(named or ())
        if below or named is not None:
            found.append(kind)
            left -= below
    return tuple(found), bool(left)


def unmeasured(
    distances: Iterable[DistanceLike], *, over_taxonomy: bool = False, resized: bool = False, in_parts: bool = False
) -> tuple[str, ...]:
    """The unmeasured properties: the figures are for the standard distance, and for releases of the history's size."""
    words = ["distances over a taxonomy"] if over_taxonomy else []
    for distance in distances:
        if isinstance(distance, TreeDistance):
            words.append("distances over a taxonomy")
        elif isinstance(distance, KindDistance):
            words.append("releases with names of places and a target of kinds")
        elif isinstance(distance, SmoothedJS):
            words.append("smoothed distances")
        elif (name := find_distance(distance).name) != "js":
            words.append(f"the distance {name}")
    if in_parts:
        words.append("bins of place and time")
    if resized:
        words.append("releases of another size than the history")
    return tuple(dict.fromkeys(words))


def guesses(situation: Situation, known: Sequence[Figure] | None = None) -> tuple[Guess, ...]:
    """What a stranger could guess in a situation, the most general first and what is unknown last."""
    found: list[Guess] = []
    unknown: list[str] = []
    fitting = [figure for figure in (figures() if known is None else known) if _is_alike(figure, situation)]
    if not fitting:
        what = _releases(situation)
        return (Guess(None, f"Nobody has measured what a stranger could guess from {what}."),)
    if situation.unmeasured:
        what = _listed(situation.unmeasured, "and")
        found.append(Guess(None, f"Nobody has measured this for {what}; the figures are for the nearest known case."))
    for attack in _attacks(situation):
        sayings = [_guess(group, situation) for group in _groups(attack, fitting, situation)]
        found += sayings
        if not sayings:
            unknown.append(_UNKNOWN[attack])
    if unknown:
        found.append(Guess(None, f"Nobody has measured {_listed(unknown, 'or')}."))
    return tuple(found)


def _is_alike(figure: Figure, situation: Situation) -> bool:
    # A drawn release has only one aim.
    same_aim = situation.method == "drawn" or (figure.aim == "least-loss") == (situation.aim == "least-loss")
    same_places = (figure.goal, figure.method) != ("hide", "drawn") or figure.popularity == situation.popularity
    return same_aim and same_places and (figure.goal, figure.method) == (situation.goal, situation.method)


def _releases(situation: Situation) -> str:
    """The releases of a situation that has no figures, in words."""
    how = "" if situation.method == "optimal" else f"{situation.method} "
    least = " with the least quality loss" if situation.aim == "least-loss" and not how else ""
    return f"{how}releases of {situation.goal}{least}"


def _attacks(situation: Situation) -> Iterator[Attack]:
    if situation.goal != "hide":
        yield "profiling"
    if situation.hides:
        if situation.goal == "hide":
            yield "detection"
        yield "inference"
    if situation.hides or situation.goal != "hide":
        yield "repetition"
    yield "reidentification"


def _groups(attack: Attack, fitting: Sequence[Figure], situation: Situation) -> Iterator[list[Figure]]:
    """The figures for each question: the nearest of every set of users, the worst set first."""
    asked = [figure for figure in fitting if figure.attack == attack]
    if attack == "repetition":
        asked = [figure for figure in asked if figure.lower == situation.lower]
    if attack == "inference":
        kinds = [*situation.kinds, *([ANY_KIND] if situation.other_kinds else [])]
        asked = [figure for figure in asked if figure.kind in kinds]
    order = {question: at for at, question in enumerate(dict.fromkeys(map(_question, asked)))}
    asked.sort(key=lambda figure: (order[_question(figure)], figure.data))
    for _, group in groupby(asked, key=_question):
        by_data = [_nearest(list(same), situation) for _, same in groupby(group, key=lambda figure: figure.data)]
        by_data.sort(key=lambda same: max(figure.value for figure in same), reverse=True)
        yield [figure for same in by_data for figure in same]


def _question(figure: Figure) -> str | None:
    """The key that distinguishes several questions of one attack."""
    return {"inference": figure.kind, "reidentification": figure.knows}.get(figure.attack)


def _nearest(same: list[Figure], situation: Situation) -> list[Figure]:
    """The figure with the nearest condition (of two, the worse), or all of them if the condition is unknown."""
    if any(own is None and measured is not None for figure in same for measured, own in _conditions(figure, situation)):
        return sorted(same, key=lambda figure: (figure.hidden or 0.0, figure.limit or 0.0))

    def far(figure: Figure) -> tuple[float, float]:
        apart = 0.0
        for measured, own in _conditions(figure, situation):
            if measured is not None and own is not None:
                apart += abs(math.log(max(measured, _LEAST) / max(own, _LEAST)))
        return round(apart, 9), -figure.value

    return [min(same, key=far)]


def _conditions(figure: Figure, situation: Situation) -> tuple[tuple[float | None, float | None], ...]:
    """The condition of the figure, and that of the situation."""
    return (figure.hidden, situation.hidden), (figure.limit, situation.limit)


def _guess(group: list[Figure], situation: Situation) -> Guess:
    """The sentence with the worst of the figures, and the source of each."""
    worst = max(group, key=lambda figure: figure.value)
    name: str = situation.goal if worst.attack == "profiling" else worst.attack
    if worst.attack == "repetition" and worst.lower:
        name = "bounded"
    if worst.attack == "reidentification" and worst.knows is None:
        name = "halves"
    place = worst.place
    if worst.kind == ANY_KIND and situation.kinds:
        place = "the other hidden places"
    sentence = _SENTENCES[name].format(
        about="about" if len(group) == len({figure.data for figure in group}) else "up to",
        cases=_cases(worst.value),
        place=place,
        knows=worst.knows,
        users=worst.users,
    )
    return Guess(worst.attack, sentence, " ".join(_source(figure, situation) for figure in group), tuple(group))


def _source(figure: Figure, situation: Situation) -> str:
    """A figure with its interval, its users and its condition, and how the release differs from that."""
    told = f"Measured: {_cases(figure.value)} (95% interval {_cases(figure.low)} to {_cases(figure.high)})"
    told += f" on {figure.users:,} {figure.data}"
    own = ""
    if figure.hidden is not None:
        told += f", {_percent(figure.hidden)} of the visits hidden"
        if situation.hidden is not None and _percent(situation.hidden) != _percent(figure.hidden):
            own += f"; you hide {_percent(situation.hidden)}"
    if figure.target is not None:
        told += f", profile {figure.target}"
    if figure.limit is not None:
        told += f", quality loss at most {figure.limit:.4g}"
        if situation.limit is not None and f"{situation.limit:.4g}" != f"{figure.limit:.4g}":
            own += f"; yours is {situation.limit:.4g}"
    if figure.where is not None:
        told += f", {figure.where}"
    return f"{told}{own}."


def _cases(share: float) -> str:
    """A share as a number out of 100, with one more digit near 0 and 100."""
    return f"{100.0 * share:.1f}".removesuffix(".0") if min(share, 1.0 - share) < 0.01 else f"{100.0 * share:.0f}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}%" if share >= 0.01 else f"{100.0 * share:.1g}%"


def _listed(clauses: Sequence[str], last: str) -> str:
    *first, end = clauses
    return f"{', '.join(first)} {last} {end}" if first else end
