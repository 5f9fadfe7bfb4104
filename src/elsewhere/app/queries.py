"""Answer the page's questions: each becomes a policy, which is answered like any other."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from elsewhere.app.interface import QUESTION
from elsewhere.app.plans import check_texts, plan_about
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.kernels.first_answers import is_compiled
from elsewhere.model.errors import (
    ElsewhereError,
    Infeasible,
    InputError,
    PrivacyNotMet,
    TargetMismatch,
    sufficient_limit,
)
from elsewhere.model.histogram import Histogram, Profile
from elsewhere.model.names import NameIndex
from elsewhere.model.question import Covered, Question
from elsewhere.model.result import Sanitized
from elsewhere.model.trees import KindDistance, TreeDistance
from elsewhere.output.sentences import in_words, on_scale
from elsewhere.pictures.changes import figure
from elsewhere.plan import Plan
from elsewhere.policy import Policy
from elsewhere.solve import solve
from elsewhere.text import as_sentence, closest, plural, quote
from elsewhere.verification.verify import Check, check_release

#: Seconds that one question may take.
SECONDS = 10.0
#: Seconds per visit and place until a search over a tree has a first result.
_AT_LEAST = 3e-7
#: Words for the share of visits that are gone or new.
_NOTICED = (
    (0.0, "nothing changed"),
    (0.05, "hardly noticeable"),
    (0.2, "noticeable to somebody who knows your habits"),
    (0.5, "clearly different"),
    (1.0, "mostly another history"),
)
#: Seconds that a question may take while the solvers are not compiled.
_AT_FIRST = 2.0


class Asked(NamedTuple):
    """The page's question: as a policy, which a command could use, and resolved against the history."""

    policy: Policy
    question: Question


def release(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> dict[str, Any]:
    """The release for a question with everything that the page shows about it, or why there is none."""
    began = time.perf_counter()
    asked, draft = resolve(session, opened, question), question.get("draft") is True
    opened.question = {key: value for key, value in question.items() if key != "draft"}
    answer: dict[str, Any] = {"number": question["number"], "possible": True, "draft": draft}
    try:
        answer |= _figures(drafted(opened, asked) if draft else sanitized(opened, asked), asked.policy)
        if draft:
            answer["certificate"] = "The proof is checked when the slider rests."
    except Infeasible as error:
        answer |= impossible(error) | {"best": None}
    except PrivacyNotMet as error:
        answer |= impossible(error) | {"best": _figures(error.best, asked.policy)}
    return answer | {"seconds": time.perf_counter() - began}


def resolve(session: Session, opened: OpenHistory, question: Mapping[str, Any]) -> Asked:
    """Turn a question of the page into a policy and a resolved question."""
    choices = _choices(question)
    ticked = choices.pop("ticked", None)
    plan, history = plan_about(session, opened, choices), opened.history.histogram
    try:
        found = plan.question(history)
    except TargetMismatch as error:
        raise _mismatched(error, plan.policy) from None
    seconds = _seconds(found)
    plan, found = plan.with_choices({"time_limit": seconds}), found.in_time(seconds)
    return Asked(plan.policy, found) if ticked is None else _settled(plan, history, found, ticked)


def _seconds(question: Question) -> float:
    """The time limit of a question: as requested, but enough to find something."""
    asked, history = question.search.time_limit, question.history
    least = 0.0 if is_compiled() else _AT_FIRST
    if any(isinstance(distance, TreeDistance | KindDistance) for distance in (question.quality, question.privacy)):
        least = max(least, _AT_LEAST * history.size * history.length)
    return min(SECONDS, SECONDS if asked is None else max(asked, least))


def _mismatched(error: TargetMismatch, policy: Policy) -> Refused:
    """The usual error, with remedies in the words of the page."""
    sentence, _, _ = str(error).partition(";")
    if policy.by == "kind":
        return Refused(400, sentence, "Choose another target, or compare anyway.", ("mismatch",))
    hint = "Compare kinds of place instead, choose another target, or compare anyway."
    return Refused(400, sentence, hint, ("kind", "mismatch"))


def _settled(plan: Plan, history: Histogram, question: Question, ticked: Iterable[str]) -> Asked:
    """The same question, in which exactly the ticked locations are sensitive, whatever else their names cover."""
    known, covered = _known(question), question.covered
    chosen = set()
    for name in ticked:
        if (place := known.find(name)) is None:
            raise InputError(f"{quote(name)} is not in the history{closest(name, known.names)}")
        chosen.add(place)
    missed = sorted(chosen - covered.locations)
    # A ticked branch also covers places of the target only, which could not be ticked before.
    wanted = chosen.union(name for name in covered.locations if name not in question.history)
    # A name with a * stands for several places, and the name of a kind for all places of that kind.
    named = plan.with_choices({"sensitive": (*plan.policy.sensitive, *missed)}).covered_in(history)
    beyond = named.locations - wanted
    if kept := sorted(wanted.intersection(chain.from_iterable(map(known.match, beyond)))):
        raise InputError(f"the * in an unticked name also matches {quote(kept[0])}; tick both, or neither")
    sensitive = Covered((name, locations - beyond) for name, locations in named.items())
    policy = replace(
        plan.policy,
        sensitive=(*plan.policy.sensitive, *missed),
        spared=(*plan.policy.spared, *sorted(beyond)),
    )
    return Asked(policy, replace(question, sensitive=sensitive))


def _known(question: Question) -> NameIndex:
    """The places of the history and, unless only visited places may receive counts, those of the target."""
    if question.target is None or question.visited_only or isinstance(question.privacy, KindDistance):
        return question.history.index
    return question.history.index.union(Profile(question.target).index)


def sanitized(opened: OpenHistory, asked: Asked) -> Sanitized:
    """The answer after its check; the last answer is cached."""
    if (result := _remembered(opened.answered, asked)) is not None:
        return result
    result = _remembered(opened.drafted, asked) or _solved(asked)
    _insist(check_release(asked.question, result))
    opened.answered = (asked.policy, result)
    return result


def drafted(opened: OpenHistory, asked: Asked) -> Sanitized:
    """The answer while the slider moves. Its constraints are checked, but not its optimality."""
    if (result := _remembered(opened.answered, asked)) is not None:
        return result
    result = _remembered(opened.drafted, asked) or _solved(asked)
    _insist(check_release(asked.question, result.histogram))
    opened.drafted = (asked.policy, result)
    return result


def _remembered(kept: tuple[Policy, Sanitized] | None, asked: Asked) -> Sanitized | None:
    """The cached result, if it answers the question."""
    if kept is None:
        return None
    policy, result = kept
    if result.status == "optimal":  # more time would not improve it
        policy = replace(policy, time_limit=asked.policy.time_limit)
    # Two files may have the same name, so comparing policies is not enough.
    same = policy == asked.policy and result.question.covered == asked.question.covered
    same = same and result.question.lower == asked.question.lower
    if not same or result.question.target is not asked.question.target:
        return None
    return replace(result, question=asked.question)


def _solved(asked: Asked) -> Sanitized:
    leave_some(asked.question)
    return solve(asked.question)


def _insist(check: Check) -> None:
    if not check.ok:
        raise ElsewhereError(f"the release failed its check and is not shown: {check.problems[0]}")


def leave_some(question: Question) -> None:
    """Raise if every visit would be hidden."""
    known, fixed = _known(question), NameIndex(list(question.not_raised))
    open_to = (name for name in known.names if name in question.history or fixed.position(name) < 0)
    if question.covered.locations.issuperset(chain(open_to, question.candidates)):
        raise Infeasible("every place is ticked, so there is nowhere to move the visits", math.inf)


def _choices(question: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a policy in a question, and the ticked locations."""
    known = QUESTION["properties"]
    for key in question:
        if key not in known:
            raise InputError(f"unknown key {quote(key)}{closest(key, known)}")
    for key in QUESTION["required"]:
        if question.get(key) is None:
            raise InputError(f"the key {key!r} is missing")
    check_texts(question)
    ticked = question.get("ticked") or []
    if not isinstance(ticked, list) or not all(isinstance(name, str) for name in ticked):
        raise InputError(f"ticked is {quote(ticked)}; it must be a list of texts")
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in question.items()
        if value is not None and key not in ("number", "draft")
    }


def _figures(result: Sanitized, policy: Policy) -> dict[str, Any]:
    notes = list(map(as_sentence, result.notes))
    if result.unchanged:
        notes.append("Warning: nothing was hidden. The release would equal your history.")
    exact, *words, certificate = in_words(result, policy.quality, policy.privacy)
    distance = result.privacy_distance
    return {
        "bars": [
            {
                "location": row.location,
                "before": row.before,
                "after": row.after,
                "target": row.target,
                "sensitive": row.sensitive,
            }
            for row in result.changes().all_rows()
        ],
        "plain": plainly(result.question.history, result.histogram),
        "exact": exact,
        "quality_loss": finite(result.quality_loss),
        "privacy_distance": finite(distance),
        "quality_words": on_scale(result.quality_loss, policy.quality) + _regret(result),
        "privacy_words": None if distance is None else on_scale(distance, policy.privacy),
        "words": [sentence for sentence in words if sentence not in notes],
        "certificate": certificate,
        "status": result.status,
        "notes": notes,
        "unchanged": result.unchanged,
        "guesses": [{"sentence": guess.sentence, "source": guess.source} for guess in result.guesses],
    }


def plainly(history: Histogram, release: Histogram) -> str:
    """How much the two histograms differ, in visits and in a word."""
    gone = sum(max(0, count - release[name]) for name, count in history.items())
    share = gone / history.size
    added = release.size - history.size
    # If the release has many more visits, most of them are new, even if few are gone.
    told = next(words for most, words in _NOTICED if max(share, (gone + added) / release.size) <= most)
    # If the sizes are equal, visits that are gone from one place are at another.
    done = "moved" if added == 0 else "removed"
    more = f", {plural(gone + added, 'visit')} added" if added else ""
    return f"{gone:,} of {plural(history.size, 'visit')} {done} ({_percent(share)}){more}: {told}."


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "less than 1%"
    return f"{100 * share:.0f}%"


def _regret(result: Sanitized) -> str:
    """A sentence about the extra loss of a random release."""
    if result.question.method != "drawn" or result.regret is None:
        return ""
    return f"; {figure(result.regret)} above the least possible"


def impossible(error: Infeasible | PrivacyNotMet) -> dict[str, Any]:
    needed = error.needed_quality_loss
    hint = "Untick some places, or allow more change."
    if 0.0 < needed < math.inf:
        hint = f"A quality loss of {sufficient_limit(needed)} is enough."
    return {
        "possible": False,
        "sentence": as_sentence(str(error)).rstrip("."),
        "hint": hint,
        "needed_quality_loss": finite(needed),
    }


def finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def overtaken() -> Refused:
    return Refused(
        409, "another tab has asked a newer question about the same history", "Continue there, or try again here."
    )
