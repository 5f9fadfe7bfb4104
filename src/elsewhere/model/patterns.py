"""Patterns of names: titles of doctors, numbers of schools, saints, homes and offices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Pattern(NamedTuple):
    node: str
    confidence: float
    reason: str


#: What tells whatever else is in the name. They are matched against the folded name.
_PERSONS = (
    (re.compile(r"^(?:the )?(?:office of )?dr\.? (?!martens|pepper|who\b|dre\b|jay|scholl|oetker|seuss)[^\W\d]"), "doctors_office", 0.85, "the title Dr"),
    (re.compile(r"\b(?:dds|dmd)\b"), "dentist", 0.95, "a dentist's degree"),
    (re.compile(r"(?<!, )\b\w+[ ,]+(?:md|facog|facs)\b(?! ?\d)"), "doctors_office", 0.9, "a doctor's degree"),
    (re.compile(r"^(?:ps|p s|is|i s|ms|jhs) ?#? ?\d{1,3}\b(?! ?[a-z]* (?:1|bar|theat))"), "elementary_school", 0.9, "the number of a public school"),
)  # fmt: skip

#: What the people of a country or a region are called.
PEOPLES = re.compile(
    r"\b(?:afghan|african|albanian|algerian|american|angolan|arab|arabic|argentine|argentinian|armenian|asian|assyrian"
    r"|australian|austrian|azerbaijani|bangladeshi|barbadian|basque|belarusian|belgian|bengali|bolivian|bosnian|brazilian"
    r"|british|bulgarian|burmese|cambodian|canadian|caribbean|catalan|chilean|chinese|colombian|congolese|croatian|cuban"
    r"|cypriot|czech|danish|dominican|dutch|ecuadorian|egyptian|eritrean|estonian|ethiopian|filipino|finnish|french"
    r"|galician|gambian|georgian|german|ghanaian|greek|guatemalan|guinean|guyanese|haitian|hellenic|hispanic|honduran"
    r"|hungarian|icelandic|indian|indonesian|iranian|iraqi|irish|israeli|italian|ivorian|jamaican|japanese|jordanian"
    r"|kazakh|kenyan|korean|kosovar|kurdish|laotian|latin|latino|latvian|lebanese|liberian|libyan|lithuanian|macedonian"
    r"|malaysian|malian|maltese|mexican|moldovan|mongolian|moroccan|nepalese|nicaraguan|nigerian|nordic|norwegian"
    r"|pakistani|palestinian|panamanian|paraguayan|persian|peruvian|philippine|polish|portuguese|puerto rican|punjabi"
    r"|romanian|russian|salvadoran|saudi|scandinavian|scottish|senegalese|serbian|sicilian|slavic|slovak|slovenian|somali"
    r"|spanish|sri lankan|sudanese|swedish|swiss|syrian|taiwanese|tamil|tatar|thai|tibetan|trinidadian|tunisian|turkish"
    r"|ugandan|ukrainian|uruguayan|uzbek|venezuelan|vietnamese|welsh|west indian|yemeni)\b"
)
_SOCIETY = (
    r"(?:cultural|community|heritage|sports? club|social club|club|society|association|federation|league|benevolent"
    r"|center|centre|community house|institute|council|veterans|citizens?)"
)
_PEOPLE = re.compile(rf"(?!^american \w+$){PEOPLES.pattern}(?: american)?(?: [\w&]+){{0,2}} {_SOCIETY}\b")
#: Kinds that a society of a people may look like.
_SOCIETIES = ("community_center", "social_club", "sports_club", "event_space", "sport", "nightclub", "education")
_DWELLING = (
    r"(?:house|home|apartment|apt|crib|pad|condo|flat|loft|mansion|penthouse|estate|residence|abode|compound|haus|wohnung)"
)
_RELATIVES = r"(?:mom|dad|mum|mama|parents|grandma|grandpa|grandmother|in laws|in-laws|inlaws|aunt \w+|uncle \w+)"
#: What tells if no word tells something sensitive.
_CHURCH = re.compile(r"\bour lady (?:of|queen)\b|\bnuestra senora\b|\bnossa senhora\b|\bmadonna del")
_OWNED = (
    (re.compile(rf"^(?:[\w.&]+ ){{0,3}}\w+(?:s|s'|') (?:new |old |nyc )?{_DWELLING}!?$"), "home", 0.7, "somebody's home"),
    (re.compile(rf"\b{_RELATIVES}s? (?:and \w+s? )?(?:house|home|place|apartment|apt)\b"), "home", 0.8, "somebody's home"),
    (re.compile(r"\b(?:hq|headquarters?|head office|main office|hauptverwaltung|siege social)\b"), "office", 0.8, "a company's headquarters"),
)  # fmt: skip
#: What tells if no word does.
_PLACES = (
    (re.compile(r"^(?:st|saint|sts|saints)\.? (?!delivery)[^\W\d][\w']*(?: (?:of|the|and|&|by) .*| [^\W\d][\w']*){0,2}$"), "church", 0.6, "the name of a saint"),
    (re.compile(rf"^(?:my|our|da|the|at|in) (?:\w+ )?(?:home|crib|apartment|apt|pad|abode|estate|compound)$|^{_DWELLING}$|\bhome sweet home\b"), "home", 0.8, "somebody's home"),
    (re.compile(r"^(?:la )?casa (?:(?:de|di|du|del|da|do) )?\w+$|\(casa de "), "home", 0.5, "somebody's home"),
    (re.compile(r"\w (?:crib|abode|compound|home|residence)$|\bapt\.? ?#?\d|\bapartment ?#?\d"), "home", 0.6, "somebody's home"),
    (re.compile(r"^(?!.*(?:sport|dance|beauty|hair|driv|fitness|martial|karate|music|cook|pet|fire))(?:\w+ ){2,}academy$"), "school", 0.6, "the name of a school"),
    (re.compile(r"\bllp\.?$|\besq\b"), "lawyer", 0.6, "the form of a law firm"),
    (re.compile(r"\b(?:inc|llc|ltd|gmbh|corp|corporation|plc|sarl|bv)\.?$"), "office", 0.7, "the form of a company"),
    (re.compile(r"\b(?:media|holdings?|ventures|capital|consulting|technologies|software|solutions|interactive|worldwide|advertising|communications|publishing|investments?|investors?|systems|networks?|labs|branding|creative|digital|(?:music|hotel) group|partners|press)\b"), "office", 0.6, "the name of a company"),
)  # fmt: skip


def person_pattern(text: str) -> Pattern | None:
    """The kind that a title or a number tells, whatever else the folded name says."""
    return _first(_PERSONS, text)


def place_pattern(text: str, node: str | None) -> Pattern | None:
    """The kind that the form of a name tells, if its words tell nothing or the ordinary kind `node`."""
    if _CHURCH.search(text):
        return Pattern("church", 0.85, "the name of a church")
    if (node is None or node in _SOCIETIES) and (people := _PEOPLE.search(text)) and people[0].split()[0] != "american":
        return Pattern("ethnic_community_center", 0.7, "the society of a people")
    return _first(_OWNED, text) or (_first(_PLACES, text) if node is None else None)


def _first(patterns: Iterable[tuple[re.Pattern[str], str, float, str]], text: str) -> Pattern | None:
    return next((Pattern(*told) for pattern, *told in patterns if pattern.search(text)), None)
