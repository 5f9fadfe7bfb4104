"""Kinds from the form of a name: titles of doctors, numbers of schools, saints, homes, companies, societies.

Patterns are matched against folded names (`words.folded`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple


class Pattern(NamedTuple):
    """A form of names and the kind that it indicates."""

    node: str
    confidence: float
    reason: str
    form: re.Pattern[str]
    #: A name of this form contains one of these words; empty if any name may have the form.
    words: frozenset[str] = frozenset()


def _pattern(node: str, confidence: float, reason: str, form: str, words: str = "") -> Pattern:
    return Pattern(node, confidence, reason, re.compile(form), frozenset(words.split()))


_NO_DOCTORS = "martens|pepper|who|dre|scholls?|oetker|seuss"
#: The museum PS1 and the theatre PS122 were schools.
_SCHOOL_NUMBER = r" ?#? ?[kmqx]?(?!1\b|122\b)\d{1,3}(?:\b|[a-z]\b)"
#: Patterns that decide, whatever else is in the name.
_TITLES = (
    _pattern("doctors_office", 0.9, "the title Dr",
             rf"^(?:the )?(?:office of )?dr(?:\. ?|\.?'?s | )(?!(?:{_NO_DOCTORS})\b)[^\W\d]", "dr drs"),
    _pattern("dentist", 0.95, "a dentist's degree", r"\b(?:dds|dmd)\b", "dds dmd"),
    _pattern("doctors_office", 0.9, "a doctor's degree", r"\w[ ,]+(?:md|facog|facs|dpm)\b(?! ?\d)",
             "md facog facs dpm"),
    _pattern("psychotherapist", 0.9, "a therapist's degree", r"\w[ ,]+(?:lcsw|lmsw|lsw|lmft|lmhc|psyd)\b",
             "lcsw lmsw lsw lmft lmhc psyd"),
)  # fmt: skip
_OF_TITLES = frozenset().union(*(pattern.words for pattern in _TITLES))
#: The start of a school's number, at the beginning of a name or after a sign.
_OF_NUMBERS = ("ps", "is", "ms", "jhs")
_BEHIND_SIGN = re.compile(rf"[-(/:] ?(?:{'|'.join(_OF_NUMBERS)})")
_NUMBERS = (
    _pattern("elementary_school", 0.9, "the number of a public school",
             rf"(?:^|[-(/:] ?)ps(?: ?/ ?[im]s)?{_SCHOOL_NUMBER}"),
    _pattern("middle_school", 0.9, "the number of a public school", rf"(?:^|[-(/:] ?)(?:is|ms|jhs){_SCHOOL_NUMBER}"),
)  # fmt: skip

_HOMES = (
    "house home apartment appartment apt crib krib pad condo flat loft mansion penthouse estate residence abode"
    " compound casa castle den lair duplex bungalow hideaway hideout"
)
_DWELLING = f"(?:{_HOMES.replace(' ', '|')})"
_MY_HOMES = "house home place apartment apt crib pad condo flat loft abode bed bedroom room couch"
_RELATIVE = "(?:mom|dad|mum|mama|parents|grandma|grandpa|grandmother|in[ -]?laws)"
_FORMS_OF_COMPANIES = "inc llc ltd gmbh corp corporation plc sarl bv"
_COMPANIES = (
    "media holding holdings ventures capital consulting consultants technologies software solutions interactive"
    " worldwide advertising communications publishing investment investments investor investors systems network"
    " networks labs branding creative digital partners analytics advisors brokerage multimedia broadcasting staffing"
    " enterprises architects"
)
#: Endings of company names.
_ENDS_OF_COMPANIES = (
    "press group design associates agency productions entertainment films management magazine research marketing pr usa"
    " america"
)
_NO_COMPANIES = "hair|nail|floral|flower|jewel|interior|veterinar|institute|college|school|museum|man group|opera"
_NO_SCHOOLS = (
    "sport|dance|beauty|hair|driv|fitness|martial|karate|music|cook|pet|fire|film|tennis|soccer|golf|swim|gymnast|culinary"
    "|barber|massage|yoga|flight|police|perform|dramatic|drama|scienc|award|records"
)
#: Names of churches without a saint.
_DEDICATIONS = (
    "holy (?:family|trinity|cross|name|rosary|spirit|innocents|angels|ghost|apostles)|sacred hearts?"
    "|immaculate (?:conception|heart)|blessed (?:sacrament|virgin)|corpus christi|good shepherd|precious blood"
    r"|christ the king|queen of (?:peace|heaven|angels|martyrs)|redeemer(?: \w+)?"
)
#: Saints whose names usually belong to streets and shops if another word follows: St Marks Comics.
_POSSESSED = "anns|davids|georges|johns|josephs|lukes|marks|marys|michaels|patricks|pauls|peters"
_NO_SAINTS = f"delivery|(?:{_POSSESSED}) \\w|\\w+ (?:tower|place|express)"
#: Patterns that decide if no word indicates a sensitive kind.
_NEXT = (
    _pattern("church", 0.9, "the name of a church", r"\bour lady (?:of|queen)\b|\bnuestra senora\b|\bnossa senhora\b"
             r"|\bmadonna del", "lady nuestra nossa madonna"),
    _pattern("religious_community_center", 0.7, "the word 'missions'", r"\bmissions$", "missions"),
    _pattern("infectious_disease_clinic", 0.85, "the word 'AIDS'", r"(?<!hearing )(?<!visual )\baids\b", "aids"),
    _pattern("trade_union_office", 0.85, "the number of a local union", r"\b\w+ers local \d", "local"),
    _pattern("police_station", 0.9, "the number of a precinct", r"\b\d{1,3}(?:st|nd|rd|th)? pct\b", "pct"),
    _pattern("home", 0.85, "somebody's home", rf"^(?:[\w.&]+ ){{0,3}}\w+(?:s'?|') (?:new |old )?{_DWELLING}[!.]*"
             r"(?:$| in | on | at | ?[@(])", _HOMES),
    _pattern("home", 0.85, "somebody's home", r"\w(?:s'?|') (?:\w+ ){1,3}"
             r"(?:apartment|apt|crib|krib|pad|condo|penthouse|abode|lair|bungalow)\b", _HOMES),
    _pattern("home", 0.85, "somebody's home", rf"\b{_RELATIVE}s? (?:and \w+s? )?(?:house|home|place|apartment|apt)\b",
             "house home place apartment apt"),
    _pattern("home", 0.85, "somebody's home", rf"^(?:my|our) (?:\w+ ){{0,2}}(?:{_MY_HOMES.replace(' ', '|')})[!.]*$",
             _MY_HOMES),
    _pattern("home", 0.75, "an apartment", r"\b(?:apartment|apt)\.?$"
             r"|^(?:apartment #|apt\.? ?#?)[a-z]?\d+[a-z]?$|^(?:apartment|apt) (?:in|on|at) ", "apartment apt"),
    _pattern("office", 0.85, "a company's headquarters",
             r"\b(?:(?<!fire )(?:hq|headquarters?)|(?:head|main) office|hauptverwaltung)\b",
             "hq headquarter headquarters office hauptverwaltung"),
    _pattern("office", 0.8, "the name of a company",
             r"\b(?:music|hotel|media|entertainment|restaurant|financial|consulting|insurance) group$"
             r"|\b(?:investors?|financial) services$|\boffice (?:center|centre|park|building|tower)$",
             "group services center centre park building tower"),
)  # fmt: skip
#: Patterns that decide if no word indicates any kind.
_LAST = (
    _pattern("church", 0.6, "the name of a saint", r"^(?:mt\.? )?(?:st|saint|sts|saints)(?:\. ?| )"
             rf"(?!{_NO_SAINTS})[^\W\d][\w']*"
             r"(?: (?:of|the|and|&|by) .*| [^\W\d][\w']*){0,2}$", "st saint sts saints"),
    _pattern("church", 0.8, "the name of a church", rf"^(?:the )?(?:most )?(?:{_DEDICATIONS})(?: of .*|,.*)?$",
             "holy sacred immaculate blessed corpus shepherd blood christ queen redeemer"),
    _pattern("dentist", 0.8, "the word 'smiles'", r"\bsmiles$", "smiles"),
    _pattern("campaign_office", 0.8, "the title of a representative",
             r"\b(?:assembly|council|congress) ?(?:man|woman|member)\b"
             r"|\bfor (?:congress|senate|governor|mayor|assembly)$",
             "assemblyman assemblywoman assemblymember councilman councilwoman councilmember council congressman"
             " congresswoman congress senate governor mayor assembly"),
    _pattern("youth_club", 0.7, "the Police Athletic League", r"\w pal$", "pal"),
    _pattern("home", 0.8, "somebody's home", r"^(?:da|the|at|in) (?:\w+ )?(?:home|crib|apt|pad|abode|estate|compound)$"
             r"|^(?:home|apt|crib|krib|pad|flat|residence|abode|casa)$|\bhome sweet home\b"
             r"|^home ?(?:[-@!.:<(]|on |at |in )", _HOMES),
    _pattern("home", 0.6, "somebody's home", r"^(?:la |el )?casa (?:(?:de|di|du|del|da|do) "
             r"(?:\w+ (?:&|and|y) )?)?\w+(?: ?\(.*)?$|\(casa de |\w casa$", "casa"),
    _pattern("home", 0.7, "somebody's home", r"\w(?:s'?|') (?:bed|couch|bedroom)$", "bed couch bedroom"),
    _pattern("office", 0.8, "somebody's place of work", r"\w(?:s'?|') (?:desk|cubicle|work)(?:$| at )",
             "desk cubicle work"),
    _pattern("home", 0.7, "somebody's home", r"\w (?:crib|krib|abode|compound|home|residence)$"
             r"|\b(?:apt|apartment)\.? ?#?\d", _HOMES),
    _pattern("school", 0.6, "the name of a school", rf"^(?!.*(?:{_NO_SCHOOLS}))(?:\w+ ){{2,}}academ(?:y|ies)"
             r"(?: [ivx]+| ?\(.*)?$", "academy academies"),
    _pattern("lawyer", 0.6, "the form of a law firm", r"\bllp\.?$|\besq\b", "llp esq"),
    _pattern("office", 0.65, "the form of a company", rf"\b(?:{_FORMS_OF_COMPANIES.replace(' ', '|')})\.?$",
             _FORMS_OF_COMPANIES),
    _pattern("office", 0.7, "the name of a company", rf"\b(?:{_COMPANIES.replace(' ', '|')})\b", _COMPANIES),
    _pattern("office", 0.65, "the name of a company", rf"^(?!.*(?:{_NO_COMPANIES})).*\w[^\w-]+(?<!for )(?<!of )(?<!in )"
             rf"(?:{_ENDS_OF_COMPANIES.replace(' ', '|')})$", _ENDS_OF_COMPANIES),
    _pattern("office", 0.7, "the name of a company", r"\bpublic relations\b", "relations"),
)  # fmt: skip
_NEXT_AND_LAST = _NEXT + _LAST
_TELLING = frozenset().union(*(pattern.words for pattern in _NEXT_AND_LAST))

#: English words for the people of a country or a region.
_PEOPLES_IN_ENGLISH = """
    afghan african albanian algerian american angolan arab arabic argentine argentinian armenian asian assyrian
    australian austrian azerbaijani bangladeshi barbadian basque belarusian belgian bengali bolivian bosnian
    brazilian british bulgarian burmese cambodian canadian caribbean catalan chilean chinese colombian congolese
    croatian cuban cypriot czech danish dominican dutch ecuadorian egyptian eritrean estonian ethiopian filipino
    finnish french galician gambian georgian german ghanaian greek guatemalan guinean guyanese haitian hellenic
    hispanic honduran hungarian icelandic indian indonesian iranian iraqi irish israeli italian ivorian jamaican
    japanese jordanian kazakh kenyan korean kosovar kurdish lankan laotian latin latino latvian lebanese liberian
    libyan lithuanian macedonian malaysian malian maltese mexican moldovan mongolian moroccan nepalese nepali
    nicaraguan nigerian nordic norwegian pakistani palestinian panamanian paraguayan persian peruvian philippine
    polish portuguese punjabi rican romanian russian salvadoran saudi scandinavian scottish senegalese serbian
    sicilian slavic slovak slovenian somali spanish sudanese swedish swiss syrian taiwanese tamil tatar thai tibetan
    trinidadian tunisian turkish ugandan ukrainian uruguayan uzbek venezuelan vietnamese welsh yemeni
"""
PEOPLES = frozenset(_PEOPLES_IN_ENGLISH.split())
#: "American" in a name means little.
_OTHER_PEOPLES = PEOPLES - {"american"}
#: Words for the societies of a people, and kinds that they look like.
_NAMES_OF_SOCIETIES = """
    cultural community heritage club society association federation league benevolent center centre institute council
    veterans citizens foundation forum
"""
_SOCIETIES = frozenset(_NAMES_OF_SOCIETIES.split())
_LIKE_SOCIETIES = ("community_center", "social_club", "sports_club", "event_space", "sport", "nightclub", "education")
#: Countries whose plain names appear in societies, and the words of such societies: Club Spain, Japan Foundation.
_NAMES_OF_COUNTRIES = """
    africa albania algeria argentina armenia asia australia austria bangladesh belgium bolivia bosnia brasil brazil
    bulgaria canada chile china colombia croatia cuba cyprus denmark ecuador egypt england eritrea ethiopia finland
    france germany ghana greece guatemala guyana haiti honduras hungary iceland india indonesia iran iraq
    ireland israel italy jamaica japan kenya korea kurdistan latvia lebanon lithuania macedonia malaysia mali malta
    mexico morocco nepal netherlands nigeria norway pakistan palestine panama paraguay peru philippines poland
    polonia portugal romania russia scandinavia scotland senegal serbia slovakia slovenia somalia spain sudan sweden
    switzerland syria taiwan thailand tibet tunisia uganda ukraine uruguay uzbekistan venezuela vietnam wales
    yemen
"""
_COUNTRIES = frozenset(_NAMES_OF_COUNTRIES.split())
_OF_COUNTRIES = frozenset(("society", "club", "foundation", "association", "federation", "cultural", "benevolent"))
_MISSION = Pattern("embassy", 0.75, "the mission of a state", re.compile(""))
_SOCIETY = Pattern("ethnic_community_center", 0.75, "the society of a people", re.compile(""))


def first_pattern(text: str, words: Collection[str]) -> Pattern | None:
    """The pattern that decides the kind, whatever else is in the name."""
    if not _OF_TITLES.isdisjoint(words) and (found := _fitting(_TITLES, text, words)):
        return found
    if text.startswith(_OF_NUMBERS) or _BEHIND_SIGN.search(text):
        return _fitting(_NUMBERS, text, words)
    return None


def last_pattern(text: str, words: Collection[str], node: str | None) -> Pattern | None:
    """The pattern that decides the kind if the words indicate none, or only the ordinary kind `node`."""
    if not _TELLING.isdisjoint(words) and (found := _fitting(_NEXT if node else _NEXT_AND_LAST, text, words)):
        return found
    if node is None and "mission" in words and not _OTHER_PEOPLES.isdisjoint(words):
        return _MISSION
    return _SOCIETY if (node is None or node in _LIKE_SOCIETIES) and _is_society(words) else None


def _fitting(patterns: Iterable[Pattern], text: str, words: Collection[str]) -> Pattern | None:
    for pattern in patterns:
        if (not pattern.words or not pattern.words.isdisjoint(words)) and pattern.form.search(text):
            return pattern
    return None


def _is_society(words: Collection[str]) -> bool:
    """Whether a name has a people and a society: Norwegian Rowing Club, but no American Kennel Club."""
    if not _OTHER_PEOPLES.isdisjoint(words):
        return not _SOCIETIES.isdisjoint(words)
    return not _COUNTRIES.isdisjoint(words) and not _OF_COUNTRIES.isdisjoint(words)
