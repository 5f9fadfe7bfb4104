"""What kind of place a name means: a node of the shipped taxonomy, how sure that is, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from elsewhere.model.lexicon import Lexicon, Word
from elsewhere.model.patterns import PEOPLES, person_pattern, place_pattern
from elsewhere.model.sites import Sites
from elsewhere.model.words import base, folded, plain_words, unspaced
from elsewhere.text import quote


@dataclass(frozen=True)
class Kind:
    """The kind of one place.

    Attributes
    ----------
    name
        The name of the place, as given.
    node
        The id of a node of the shipped taxonomy; None if neither the name nor the export tells.
    confidence
        How sure that is, from 0 to 1: about the share of such findings that are right. 0 without a node.
    reason
        One clause that says what told.
    """

    name: str
    node: str | None
    confidence: float
    reason: str


class Found(NamedTuple):
    """A part of a name that tells a kind."""

    start: int
    end: int
    node: str
    place: str
    confidence: float
    reason: str


UNKNOWN = "nothing in the name tells"

#: What a name is divided at; the first part says what the place is, the others mostly where.
_PARTS = re.compile(r"\s[-\u2013|~]+\s|[-\u2013]\s|\s[-\u2013]|[()\[\],:;@\u2014\u3000\uff08\uff09]|/|\s(?:at|in|near|bei|chez|presso)\s")
#: Streets that meet: Church & Murray.
_CROSSING = re.compile(r"^\s*[\w'.]+ (?:&|and|\+|@) [\w'.]+(?: st\w*| ave\w*)?\s*$")
_NAMES_OF_STREETS = re.compile(r"\b(?:church|chapel|temple|court|school|hospital|college|gay|mission|convent)\b")
_ADDRESS = re.compile(r"^\s*\d+[a-z]? (?:[ewns]\.? )?[^\W\d]+\s*$")

#: Kinds that say what the place is even as the first word, in English as well: Hotel Church Street.
_HOSTS = ("food_and_drink", "nightlife", "lodging", "road")
#: Kinds of which a place of another kind may have one: a church's office, a hospital's garden.
_PARTS_OF_PLACES = (
    "work", "home", "housing", "parking", "sports_field", "gym", "swimming_pool", "garden", "park", "cemetery",
    "community_center", "neighborhood", "plaza", "event_space", "social_club", "public_place", "outdoors", "studio",
    "recreation_center", "sports_club", "sport", "education", "festival", "cafeteria", "running_track", "city_hall",
    "government_building", "student_center", "conference_room", "storage_facility",
)  # fmt: skip
#: Words that belong to a belief, whatever else the name says.
_BELIEF = re.compile(
    r"\b(?:catholic|christian|lutheran|baptist|methodist|presbyterian|episcopal|adventist|yeshiva\w*|hebrew|jewish|islamic"
    r"|muslim|friends|jesuit|parochial|saints?|sts?|sankt|sint|our lady|holy|sacred|immaculate|blessed|notre dame|bishop"
    r"|zion|calvary|cardinal|monsignor|msgr|santa|san|sao|santo|katholische\w*|evangelische\w*|katolick\w*)\b"
)
#: What a preset covers but what is a part of many names.
_NOT_SENSITIVE = frozenset(("home", "work", "office", "coworking_space", "conference_room"))
_SAINTS = ("st", "saint", "san", "santa")
_ORDINALS = ("st", "nd", "rd", "th")
_STREETS = frozenset("st street ave avenue av rd road blvd boulevard dr drive ln lane hwy highway pkwy".split())
_OF_BELIEFS = {
    **dict.fromkeys(
        ("school", "elementary_school", "middle_school", "high_school", "nursery_school", "daycare"), "religious_school"
    ),
    "cemetery": "religious_cemetery",
}
_ANIMALS = re.compile(r"\b(?:animals?|veterinary|vet|pets?|dogs?|cats?|equine)\b")


class Matcher:
    """Finds kinds by the words of names.

    Parameters
    ----------
    lexicon
        The words.
    upward
        The ids from a node to the top of its branch.
    sensitive
        The nodes that a preset covers.
    """

    def __init__(self, lexicon: Lexicon, upward: Callable[[str], Iterable[str]], sensitive: frozenset[str]) -> None:
        self._lexicon = lexicon
        self._sensitive = sensitive - _NOT_SENSITIVE
        self._upward = upward
        self._hosts = frozenset(node for node in self._below(upward, _HOSTS))
        self._partly = frozenset(self._below(upward, _PARTS_OF_PLACES)) - self._sensitive - {"library", "dog_park"} | _NOT_SENSITIVE | {"service", "spa"}
        self._medical = frozenset(self._below(upward, ("health_care",)))
        self._ends: dict[str, str | None] = {}
        self._sites = Sites(lexicon, self._site_words)

    def _below(self, upward: Callable[[str], Iterable[str]], tops: tuple[str, ...]) -> Iterator[str]:
        nodes = {word.node for word in self._lexicon.runs.values()}
        return (node for node in nodes if not set(tops).isdisjoint(upward(node)))

    def kind(self, name: str) -> Kind:
        """The kind of the place that `name` means."""
        if "." in name and " " not in name and (site := self._sites.find(name)):
            return Kind(name, *site)
        found = self._find(name)
        if found is None:
            return Kind(name, None, 0.0, UNKNOWN)
        return Kind(name, found.node, found.confidence, found.reason)

    def _site_words(self, text: str) -> tuple[str, str] | None:
        found = self._decide(folded(text), True)
        return None if found is None else (found.node, found.reason)

    def _find(self, name: str) -> Found | None:
        text = folded(name)
        if found := person_pattern(text):
            return Found(0, 0, found.node, "any", found.confidence, found.reason)
        parts = [part for part in _PARTS.split(text) if part.strip()] if _PARTS.search(text) else [text]
        best: Found | None = None
        for at, part in enumerate(parts):
            if _is_address(part, at > 0):
                continue
            decided = self._decide(part, at == 0)
            if decided is None:
                continue
            if at == 0:
                decided = self._composed(decided, text)
            if best is None or (best.node in self._partly and decided.node in self._sensitive):
                best = decided
        if (best is None or best.node not in self._sensitive) and (found := place_pattern(text, best and best.node)):
            return Found(0, 0, found.node, "any", found.confidence, found.reason)
        return best

    def _decide(self, text: str, is_first: bool) -> Found | None:
        """What a part of a name says: of several words the one that stands where the head of a name stands."""
        raw = plain_words(text)
        found = [*(self._brand(raw) if is_first else ()), *self._runs(raw), *self._inside(text)]
        if not found:
            return None
        found = _uncovered(found)
        # Indian says what the food is like if nothing else tells.
        if len(found) > 1:
            found = [it for it in found if not PEOPLES.search(it.reason)] or found
        head = self._head(found, raw)
        # The more special of two kinds, wherever it stands: counselling for mental health.
        special = [it for it in found if it.node != head.node and head.node in self._upward(it.node)]
        return special[0] if special else head

    def _head(self, found: list[Found], raw: list[str]) -> Found:
        """Of several words the one that says what the place is."""
        # What follows `of` says whose or which: a museum of faiths is a museum.
        for at, it in enumerate(found):
            if it.node not in self._partly and raw[it.end : it.end + 1] in (["of"], ["for"]):
                found = found[: at + 1]
                break
        first, last = found[0], found[-1]
        if first is last:
            return first
        if first.start == 0 and (first.place == "first" or (first.place == "any" and first.node in self._hosts)):
            return first
        if last.place == "first" and last.node not in self._sensitive and first.place == "first":
            return first
        if last.node in self._partly:
            return next((it for it in reversed(found) if it.node in self._sensitive), last)
        return last

    def _composed(self, found: Found, text: str) -> Found:
        """What two words say together: a school or a cemetery of a belief, a doctor for animals."""
        if found.node in _OF_BELIEFS and _BELIEF.search(text):
            return found._replace(node=_OF_BELIEFS[found.node], reason=f"{found.reason}, and a belief")
        if found.node in self._medical and _ANIMALS.search(text):
            return found._replace(node="veterinarian", reason=f"{found.reason}, for animals")
        return found

    def _brand(self, raw: list[str]) -> Iterator[Found]:
        """The brand that the name begins with, the longest; a single word only if it is the whole name or stands out."""
        joined = ""
        best = None
        for end, word in enumerate(raw[:6], start=1):
            joined += word
            if node := self._lexicon.brands.get(joined):
                best = Found(0, end, node, "any", 0.9, f"the brand {quote(' '.join(raw[:end]))}")
        if best is None:
            return
        rest = raw[best.end :]
        if not rest or _is_branch(rest):
            yield best._replace(place="first")
        elif best.end > 1 and best.node not in self._sensitive and raw[0] not in _SAINTS:
            yield best

    def _runs(self, raw: list[str]) -> Iterator[Found]:
        """The runs of words that mean something, none inside another; else the end of a compound."""
        based = [base(word) for word in raw]
        runs, longest = self._lexicon.runs, self._lexicon.longest
        covered = 0
        for start, word in enumerate(based):
            if start < covered:
                continue
            if word == "st" and _is_street(raw, start):
                yield Found(start, start + 1, "road", "last", 0.85, "the word 'St'")
                continue
            for end in range(min(start + longest.get(word, 0), len(based)), start, -1):
                phrase = word if end == start + 1 else " ".join(based[start:end])
                if known := runs.get(phrase):
                    sure = 0.9 if end > start + 1 else 0.85
                    yield Found(start, end, known.node, known.place, sure, f"the word {quote(' '.join(raw[start:end]))}")
                    covered = end
                    break
            else:
                if len(word) > 6 and (node := self._end(word)):
                    yield Found(start, start + 1, node, "first", 0.75, f"the end of the word {quote(raw[start])}")

    def _end(self, word: str) -> str | None:
        """The node that a compound means by its end, which must leave something before it."""
        if word not in self._ends:
            lengths = (length for length in self._lexicon.end_lengths if length + 2 <= len(word))
            nodes = (self._lexicon.ends.get(word[-length:]) for length in lengths)
            self._ends[word] = next((node for node in nodes if node), None)
        return self._ends[word]

    def _inside(self, text: str) -> Iterator[Found]:
        """Words of scripts without blanks: where they begin, the longest."""
        for part in unspaced(text):
            at = 0
            while at < len(part):
                for phrase, word in self._lexicon.inside.get(part[at], ()):
                    if part.startswith(phrase, at):
                        yield _inner(at, phrase, word)
                        at += len(phrase)
                        break
                else:
                    at += 1


def _is_address(text: str, is_later: bool) -> bool:
    """Whether a part of a name is a number in a street, or streets that meet."""
    if _ADDRESS.match(text):
        return True
    return bool(_CROSSING.match(text)) and (is_later or bool(_NAMES_OF_STREETS.search(text)))


def _is_street(raw: list[str], at: int) -> bool:
    """Whether St is a street: a saint if a name follows, except after a number."""
    return at > 0 and (at + 1 == len(raw) or raw[at - 1][-2:] in _ORDINALS)


def _is_branch(rest: list[str]) -> bool:
    """Whether what follows a brand says which of its branches: a number or a street."""
    return any(word[0].isdigit() for word in rest) or rest[-1] in _STREETS


def _inner(at: int, phrase: str, word: Word) -> Found:
    return Found(at, at + len(phrase), word.node, word.place, 0.8, f"the word {quote(phrase)}")


def _uncovered(found: list[Found]) -> list[Found]:
    """In the order of the name, without what is inside something longer."""
    found.sort(key=lambda it: (it.start, -it.end))
    kept: list[Found] = []
    for it in found:
        if not kept or it.end > kept[-1].end:
            kept.append(it)
    return kept
