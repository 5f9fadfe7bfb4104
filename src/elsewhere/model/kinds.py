"""The kind of place that a name stands for: a node of the shipped taxonomy, with its confidence and reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from elsewhere.model.lexicon import OPENING, TAIL, Lexicon, Word
from elsewhere.model.names import name_key
from elsewhere.model.patterns import PEOPLES, Pattern, first_pattern, last_pattern
from elsewhere.model.sites import Site, Sites, is_host
from elsewhere.model.words import bases, by_script, folded, has_unspaced, plain_words
from elsewhere.text import quote


@dataclass(frozen=True)
class Kind:
    """The kind of one place.

    Attributes
    ----------
    name
        The name of the place, as given.
    node
        The id of a node of the shipped taxonomy; None if neither the name nor the export gives one.
    confidence
        Roughly the share of such findings that are right, from 0 to 1; 0 without a node.
    reason
        A clause that says where the kind comes from.
    """

    name: str
    node: str | None
    confidence: float
    reason: str


class Found(NamedTuple):
    """Words of a name that indicate a kind: their range, the node, their usual position, the confidence and reason."""

    words: list[str]
    start: int
    end: int
    node: str
    place: str
    confidence: float
    #: A template for the words.
    why: str

    @property
    def reason(self) -> str:
        return self.why.format(quote(" ".join(self.words[self.start : self.end])))


#: The most letters of a name that are used: a longer text is not a name, and would make patterns slow.
_LONGEST = 300
UNKNOWN = "the name does not tell"
_BRAND, _WORD, _END = "the brand {}", "the word {}", "the end of the word {}"

#: Separators of the parts of a name; the first part says what the place is, and the others mostly where it is.
_PARTS = re.compile(
    r"\s[-\u2013|~]+\s|[-\u2013]\s|\s[-\u2013]|[()\[\],:;@/\u2014\u3000\uff08\uff09]"
    r"|\s(?:at|(?<!walk )in|near|bei|presso)\s"
)
#: A name with several parts contains one of these signs or words.
_SIGNS = re.compile(r"[-\u2013|~()\[\],:;@/\u2014\u3000\uff08\uff09]")
_PREPOSITIONS = frozenset(("at", "in", "near", "bei", "presso"))
#: House numbers and street corners: 12 Church, Church & Elm.
_ADDRESS = re.compile(r"\s*\d+[a-z]? (?:[ewns]\.? )?[^\W\d]+\s*$")
_CROSSING = re.compile(r"\s*[\w'.]+ (?:&|and|\+) [\w'.]+(?: st\w*| ave\w*)?\s*$")
_NAMES_OF_STREETS = re.compile(r"\b(?:church|chapel|temple|court|school|hospital|college|gay|mission|convent)\b")
_STREETS = ("st", "street", "ave", "avenue", "av", "rd", "road", "blvd", "boulevard", "dr", "drive", "ln", "lane")
_ORDINALS = ("st", "nd", "rd", "th")
_SAINTS = ("st", "saint", "san", "santa")
_OF = ("of", "for")

#: Kinds that say what the place is even as the first word, also in English: Hotel Church Street.
_HOSTS = ("food_and_drink", "nightlife", "lodging", "road")
#: Kinds that say where a place is, unless they are the last word: Staten Island Academy, but Coney Island.
_WHERE = ("outdoors", "road", "neighborhood", "bridge", "plaza")
#: Kinds that may be part of a place of another kind: a church's office, a hospital's garden.
_HOSTED = (
    "work", "home", "housing", "parking", "sports_field", "gym", "swimming_pool", "garden", "park", "cemetery",
    "community_center", "neighborhood", "plaza", "event_space", "social_club", "public_place", "outdoors", "studio",
    "recreation_center", "sports_club", "sport", "education", "festival", "cafeteria", "running_track", "city_hall",
    "government_building", "student_center", "conference_room", "storage_facility",
)  # fmt: skip
_NOT_HOSTED = ("library", "dog_park")
_ALSO_HOSTED = ("service", "spa")
#: Kinds of a preset whose words are part of many other names.
_PRIVATE = ("home", "work", "office", "coworking_space", "conference_room")

_BELIEF = re.compile(
    r"\b(?:catholic|christian|lutheran|baptist|methodist|presbyterian|episcopal|adventist|yeshiva\w*|hebrew|jewish"
    r"|islamic|muslim|friends|jesuit|parochial|saints?|sts?(?!\.? school)|sankt|sint|our lady|holy|sacred|immaculate"
    r"|blessed|notre dame|bishop|archbishop|zion|calvary|mt\.? (?:zion|hebron|moriah)|cardinal|monsignor|msgr|christ"
    r"|corpus christi|redeemer|good shepherd|nativity|annunciation|assumption|resurrection|convent|torah|talmud"
    r"|depaul|loyola|xavier|xaverian|aquinas|marist|la salle|don bosco|santa|san|sao|santo"
    r"|katholische\w*|evangelische\w*|katolick\w*)\b"
)
_SCHOOLS = ("school", "elementary_school", "middle_school", "high_school", "nursery_school", "daycare")
#: What other kinds become together with a religion.
_OF_BELIEFS = {**dict.fromkeys(_SCHOOLS, "religious_school"), "cemetery": "religious_cemetery"}
_ANIMALS = frozenset(("animal", "animals", "veterinary", "vet", "pet", "pets", "dog", "dogs", "cat", "cats", "equine"))


class Matcher:
    """Finds kinds by the words of names.

    Parameters
    ----------
    lexicon
        The words.
    upward
        Returns the ids from a node to the top of its branch.
    sensitive
        The nodes that a preset covers.
    """

    def __init__(self, lexicon: Lexicon, upward: Callable[[str], Iterable[str]], sensitive: Collection[str]) -> None:
        self._lexicon = lexicon
        #: The nodes from a node to the top of its branch.
        self._branch = cache(lambda node: frozenset(upward(node)))
        self._sensitive = frozenset(sensitive).difference(_PRIVATE)
        self._nodes = {word.node for word in lexicon.runs.values()}.union(lexicon.brands.values())
        self._hosts = self._below(_HOSTS) - {"food_and_drink"}  # Food and Finance High School is a school
        self._where = self._below(_WHERE)
        self._hosted = (self._below(_HOSTED) - self._sensitive).difference(_NOT_HOSTED).union(_ALSO_HOSTED, _PRIVATE)
        self._medical = self._below(("health_care",))
        self._sites = Sites(lexicon, self._of_words)

    def _below(self, tops: Iterable[str]) -> frozenset[str]:
        return frozenset(node for node in self._nodes if not self._branch(node).isdisjoint(tops))

    def kind(self, name: str) -> Kind:
        """The kind of the place called `name`."""
        found = self.find(name_key(name))
        if found is None:
            return Kind(name, None, 0.0, UNKNOWN)
        return Kind(name, found.node, found.confidence, found.reason)

    def find(self, key: str) -> Found | Pattern | Site | None:
        """The words that indicate the kind of the place whose name has the `key`, if any."""
        key = key[:_LONGEST]
        text = folded(key)
        words = plain_words(text)
        if "." in key and " " not in key and is_host(key):  # a web site is not a home or an office
            told = self._sites.find(key) or self._find(text, words)
            return None if told is not None and told.node in _PRIVATE else told
        pattern, found = first_pattern(text, words), self._find(text, words)
        if pattern is not None:  # words may make it more specific: Dr Lee, Psychotherapy
            return found if found is not None and self._medical >= {pattern.node, found.node} else pattern
        if found is not None and found.node in self._sensitive:
            return found
        says_where = found is not None and found.node in self._where and found.end < len(found.words)
        return last_pattern(text, words, found.node if found and not says_where else None) or found

    def _of_words(self, text: str) -> Found | None:
        return self._decide(text, plain_words(text), True)

    def _find(self, text: str, words: list[str]) -> Found | None:
        """The kind in the first part of a name, or in a later one; for a place within another, the other's kind."""
        parts = _parts(text, words)
        best: Found | None = None
        for at, part in enumerate(parts):
            if _is_address(part, at > 0):
                continue
            found = self._decide(part, words if len(parts) == 1 else plain_words(part), at == 0)
            if found is None:
                continue
            if at == 0:
                found = self._composed(found, text, words)
            if best is None or (best.node in self._hosted and found.node in self._sensitive):
                best = found
        return best

    def _decide(self, text: str, raw: list[str], is_first: bool) -> Found | None:
        """The kind in a part of a name."""
        if has_unspaced(text):
            raw = [part for word in raw for part in ((word,) if word.isascii() else self._segments(word))]
        found = self._runs(raw)
        if is_first and (brand := self._brand(raw)) and not self._is_doubtful(brand, found):
            found = [brand, *(it for it in found if it.start >= brand.end)]
        if not found:
            return None
        return found[0] if len(found) == 1 else self._head(found, raw)

    def _head(self, found: list[Found], raw: list[str]) -> Found:
        """The word, among several, that says what the place is."""
        # Indian means a cuisine if nothing else indicates a kind.
        if not PEOPLES.isdisjoint(raw):
            found = [it for it in found if raw[it.start] not in PEOPLES or it.end > it.start + 1] or found
        # Words after `of` only specify: a museum of faiths is a museum.
        for at, it in enumerate(found):
            if it.end < len(raw) and raw[it.end] in _OF and it.node not in self._hosted:
                found = found[: at + 1]
                break
        if len(found) > 1 and found[-1].node == "road" and raw[found[-1].start - 1][0].isdigit():
            found = found[:-1]  # an address: Lyceum High School North 13th Street
        first, last = found[0], found[-1]
        head = last
        if first.start == 0 and (first.place == "first" or (first.place == "any" and first.node in self._hosts)):
            head = first
        elif last.node in self._hosted:
            head = next((it for it in reversed(found) if it.node in self._sensitive), last)
        # The more specific of two kinds, in any position: counselling for mental health.
        for it in found:
            if it.node != head.node and head.node in self._branch(it.node):
                return it
        return head

    def _composed(self, found: Found, text: str, words: list[str]) -> Found:
        """The kind that two words form together: a school or a cemetery of a religion, a doctor for animals."""
        if found.node in _OF_BELIEFS and _BELIEF.search(text):
            return found._replace(node=_OF_BELIEFS[found.node], why=f"{found.why} and a belief")
        if found.node in self._medical and not _ANIMALS.isdisjoint(words):
            return found._replace(node="veterinarian", why=f"{found.why} and animals")
        return found

    def _brand(self, raw: list[str]) -> Found | None:
        """The longest brand at the start of the name.

        Many brands are ordinary words, so a number or a street must follow to identify the branch. Brands of ordinary
        kinds with several words may be followed by anything.
        """
        if raw and len(raw[0]) >= OPENING and raw[0][:OPENING] not in self._lexicon.openings:
            return None
        brands, starts = self._lexicon.brands, list(accumulate(raw[:6]))
        if brands.keys().isdisjoint(starts):
            return None
        end, node = max((end, brands[start]) for end, start in enumerate(starts, start=1) if start in brands)
        best = Found(raw, 0, end, node, "any", 0.95, _BRAND)
        rest = raw[best.end :]
        if not rest or rest[-1] in _STREETS or any(word[0].isdigit() for word in rest):
            return best._replace(place="first")
        ordinary = best.end > 1 and best.node not in self._sensitive and raw[0] not in _SAINTS
        return best if ordinary else None

    def _is_doubtful(self, brand: Found, found: list[Found]) -> bool:
        """Whether other words contradict the brand: Citizens is a bank, but Citizens Advice 7 is not."""
        sensitive = brand.end == 1 and any(it.start >= brand.end and it.node in self._sensitive for it in found)
        return sensitive or any(it.start < brand.end < it.end for it in found)

    def _runs(self, raw: list[str]) -> list[Found]:
        """The runs of words with a meaning, none inside another, and ends of compounds."""
        based = bases(raw)
        runs, longest, tails = self._lexicon.runs, self._lexicon.longest, self._lexicon.tails
        found: list[Found] = []
        covered = 0
        for start, word in enumerate(based):
            if start < covered:
                continue
            if word == "st" and _is_street(raw, start):
                found.append(Found(raw, start, start + 1, "road", "last", 0.9, _WORD))
            elif word in longest and (run := self._run(based, start, longest[word])):
                covered, known = run
                found.append(Found(raw, start, covered, known.node, known.place, 0.95, _WORD))
            elif word in runs:
                known = runs[word]
                found.append(Found(raw, start, start + 1, known.node, known.place, 0.9, _WORD))
            elif len(word) > 6 and word.endswith(tails.get(word[-TAIL:], ())) and (node := self._compound(word)):
                found.append(Found(raw, start, start + 1, node, "first", 0.75, _END))
        return found

    def _run(self, based: list[str], start: int, longest: int) -> tuple[int, Word] | None:
        """The end of the longest run of several words that begins here, and its meaning."""
        last = start + 1
        for word in based[last : start + longest]:
            if word not in self._lexicon.later:
                break
            last += 1
        for end in range(last, start + 1, -1):
            if known := self._lexicon.runs.get(" ".join(based[start:end])):
                return end, known
        return None

    def _compound(self, word: str) -> str | None:
        """The node of a compound by its ending, which must not be the whole word."""
        for end in self._lexicon.tails[word[-TAIL:]]:
            if word.endswith(end) and len(word) >= len(end) + 2:
                return self._lexicon.ends[end]
        return None

    def _segments(self, word: str) -> Iterator[str]:
        """Split a word of a script without blanks into known words, always the longest, from left to right."""
        inside, runs = self._lexicon.inside, self._lexicon.runs
        for part in by_script(word):
            start = at = 0
            while at < len(part):
                for length in (*inside.get(part[at : at + 2], ()), *inside.get(part[at], ())):
                    if part[at : at + length] in runs:
                        break
                else:
                    at += 1
                    continue
                if at > start:
                    yield part[start:at]
                yield part[at : at + length]
                start = at = at + length
            if start < len(part):
                yield part[start:]


def _parts(text: str, words: Collection[str]) -> list[str]:
    """The parts of a name with these words."""
    is_divided = _SIGNS.search(text) or not _PREPOSITIONS.isdisjoint(words)
    return _PARTS.split(text) if is_divided else [text]


def _is_address(text: str, is_later: bool) -> bool:
    """Whether a part of a name is a house number with a street, or a street corner."""
    if text.lstrip()[:1].isdigit():
        return bool(_ADDRESS.match(text) and _NAMES_OF_STREETS.search(text))
    if "&" not in text and "and" not in text and "+" not in text:
        return False
    return bool(_CROSSING.match(text)) and (is_later or bool(_NAMES_OF_STREETS.search(text)))


def _is_street(raw: list[str], at: int) -> bool:
    """Whether St means street. It means saint if a name follows, except after a number."""
    return at > 0 and (at + 1 == len(raw) or raw[at - 1][-2:] in _ORDINALS)
