"""What the form of a name tells: titles of doctors, numbers of schools, saints, homes, companies, societies.

Patterns are matched against folded names (`words.folded`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple


class Pattern(NamedTuple):
    """A form of names and the kind that it tells."""

    node: str
    confidence: float
    reason: str
    form: re.Pattern[str]
    #: Words of which a name has one if it has the form; none if any name may have it.
    words: frozenset[str] = frozenset()


def _pattern(node: str, confidence: float, reason: str, form: str, words: str = "") -> Pattern:
    return Pattern(node, confidence, reason, re.compile(form), frozenset(words.split()))


_NO_DOCTORS = "martens|pepper|who|dre|scholls?|oetker|seuss"
#: What tells whatever else the name says.
_FIRST = (
    _pattern("doctors_office", 0.9, "the title Dr",
             rf"^(?:the )?(?:office of )?dr\.? (?!(?:{_NO_DOCTORS})\b)[^\W\d]", "dr"),
    _pattern("dentist", 0.95, "a dentist's degree", r"\b(?:dds|dmd)\b", "dds dmd"),
    _pattern("doctors_office", 0.9, "a doctor's degree", r"\w[ ,]+(?:md|facog|facs)\b(?! ?\d)", "md facog facs"),
    _pattern("elementary_school", 0.9, "the number of a public school",
             r"(?:^|[-(/:] ?)(?:ps|is|jhs)(?:/[im]s)? ?#? ?(?!1\b|122\b)\d{1,3}(?:\b|[a-z]\b)"),
)  # fmt: skip

_HOMES = "house home apartment apt crib pad condo flat loft mansion penthouse estate residence abode compound"
_DWELLING = f"(?:{_HOMES.replace(' ', '|')})"
_RELATIVE = "(?:mom|dad|mum|mama|parents|grandma|grandpa|grandmother|in[ -]?laws)"
_FORMS_OF_COMPANIES = "inc llc ltd gmbh corp corporation plc sarl bv"
_COMPANIES = (
    "media holding holdings ventures capital consulting technologies software solutions interactive worldwide"
    " advertising communications publishing investment investments investor investors systems network networks labs"
    " branding creative digital partners press"
)
_NO_SCHOOLS = "sport|dance|beauty|hair|driv|fitness|martial|karate|music|cook|pet|fire"
#: What tells if no word tells anything sensitive.
_NEXT = (
    _pattern("church", 0.9, "the name of a church", r"\bour lady (?:of|queen)\b|\bnuestra senora\b|\bnossa senhora\b"
             r"|\bmadonna del", "lady nuestra nossa madonna"),
    _pattern("religious_community_center", 0.7, "the word 'missions'", r"\bmissions$", "missions"),
    _pattern("home", 0.85, "somebody's home", rf"^(?:[\w.&]+ ){{0,3}}\w+(?:s'?|') (?:new |old )?{_DWELLING}!?$",
             _HOMES),
    _pattern("home", 0.85, "somebody's home", rf"\b{_RELATIVE}s? (?:and \w+s? )?(?:house|home|place|apartment|apt)\b",
             "house home place apartment apt"),
    _pattern("office", 0.85, "a company's headquarters",
             r"\b(?:hq|headquarters?|(?:head|main) office|hauptverwaltung)\b",
             "hq headquarter headquarters office hauptverwaltung"),
    _pattern("office", 0.8, "the name of a company",
             r"\b(?:music|hotel|media|entertainment|restaurant|financial|consulting|insurance) group$"
             r"|\b(?:investors?|financial) services$|\boffice (?:center|centre|park|building|tower)$",
             "group services center centre park building tower"),
)  # fmt: skip
#: What tells if no word tells anything.
_LAST = (
    _pattern("church", 0.6, "the name of a saint", r"^(?:st|saint|sts|saints)\.? (?!delivery)[^\W\d][\w']*"
             r"(?: (?:of|the|and|&|by) .*| [^\W\d][\w']*){0,2}$", "st saint sts saints"),
    _pattern("home", 0.8, "somebody's home", r"^(?:my|our|da|the|at|in) (?:\w+ )?(?:home|crib|apartment|apt|pad|abode"
             rf"|estate|compound)$|^{_DWELLING}$|\bhome sweet home\b", _HOMES),
    _pattern("home", 0.6, "somebody's home", r"^(?:la )?casa (?:(?:de|di|du|del|da|do) )?\w+$|\(casa de ", "casa"),
    _pattern("home", 0.7, "somebody's home", r"\w (?:crib|abode|compound|home|residence)$|\b(?:apt|apartment)\.? ?#?\d",
             _HOMES),
    _pattern("school", 0.6, "the name of a school", rf"^(?!.*(?:{_NO_SCHOOLS}))(?:\w+ ){{2,}}academy$", "academy"),
    _pattern("lawyer", 0.6, "the form of a law firm", r"\bllp\.?$|\besq\b", "llp esq"),
    _pattern("office", 0.65, "the form of a company", rf"\b(?:{_FORMS_OF_COMPANIES.replace(' ', '|')})\.?$",
             _FORMS_OF_COMPANIES),
    _pattern("office", 0.7, "the name of a company", rf"\b(?:{_COMPANIES.replace(' ', '|')})\b", _COMPANIES),
)  # fmt: skip
_TELLING = frozenset().union(*(pattern.words for pattern in (*_NEXT, *_LAST)))

#: What the people of a country or a region are called in English.
_PEOPLES_IN_ENGLISH = """
    afghan african albanian algerian american angolan arab arabic argentine argentinian armenian asian assyrian
    australian austrian azerbaijani bangladeshi barbadian basque belarusian belgian bengali bolivian bosnian brazilian
    british bulgarian burmese cambodian canadian caribbean catalan chilean chinese colombian congolese croatian cuban
    cypriot czech danish dominican dutch ecuadorian egyptian eritrean estonian ethiopian filipino finnish french
    galician gambian georgian german ghanaian greek guatemalan guinean guyanese haitian hellenic hispanic honduran
    hungarian icelandic indian indonesian iranian iraqi irish israeli italian ivorian jamaican japanese jordanian
    kazakh kenyan korean kosovar kurdish laotian latin latino latvian lebanese liberian libyan lithuanian macedonian
    malaysian malian maltese mexican moldovan mongolian moroccan nepalese nicaraguan nigerian nordic norwegian
    pakistani palestinian panamanian paraguayan persian peruvian philippine polish portuguese punjabi romanian russian
    salvadoran saudi scandinavian scottish senegalese serbian sicilian slavic slovak slovenian somali spanish sudanese
    swedish swiss syrian taiwanese tamil tatar thai tibetan trinidadian tunisian turkish ugandan ukrainian uruguayan
    uzbek venezuelan vietnamese welsh yemeni
"""
PEOPLES = frozenset(_PEOPLES_IN_ENGLISH.split())
#: In a name American says little.
_OTHER_PEOPLES = PEOPLES - {"american"}
#: What the societies of a people call themselves, and kinds that they look like.
_NAMES_OF_SOCIETIES = """
    cultural community heritage club society association federation league benevolent center centre institute council
    veterans citizens foundation forum
"""
_SOCIETIES = frozenset(_NAMES_OF_SOCIETIES.split())
_LIKE_SOCIETIES = ("community_center", "social_club", "sports_club", "event_space", "sport", "nightclub", "education")
_SOCIETY = Pattern("ethnic_community_center", 0.75, "the society of a people", re.compile(""))


def first_pattern(text: str, words: Collection[str]) -> Pattern | None:
    """The pattern that tells a kind whatever else the name says."""
    return _fitting(_FIRST, text, words)


def last_pattern(text: str, words: Collection[str], node: str | None) -> Pattern | None:
    """The pattern that tells a kind if the words tell nothing or only the ordinary kind `node`."""
    if not _TELLING.isdisjoint(words) and (found := _fitting(_NEXT if node else (*_NEXT, *_LAST), text, words)):
        return found
    return _SOCIETY if (node is None or node in _LIKE_SOCIETIES) and _is_society(words) else None


def _fitting(patterns: Iterable[Pattern], text: str, words: Collection[str]) -> Pattern | None:
    for pattern in patterns:
        if (not pattern.words or not pattern.words.isdisjoint(words)) and pattern.form.search(text):
            return pattern
    return None


def _is_society(words: Collection[str]) -> bool:
    """Whether a name has a people and a society: Norwegian Rowing Club, but no American Kennel Club."""
    return not _OTHER_PEOPLES.isdisjoint(words) and not _SOCIETIES.isdisjoint(words)
