"""What kind of place a name means: words of many languages, brands, patterns, web sites, traps, exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from benchmarks import kinds as benchmark
from hypothesis import given

import elsewhere as ew
from elsewhere.histories import InMemoryFile
from elsewhere.model import kinds, patterns, places
from elsewhere.model import words as model_words
from elsewhere.model.kinds import Matcher
from elsewhere.model.lexicon import Lexicon
from elsewhere.model.words import base, is_unspaced, plain_words, words

SHIPPED = ew.Taxonomy.shipped()
NODES = {node.id: node for _, node in SHIPPED.tree()}
LEXICON = Lexicon()


def matcher() -> Matcher:
    return places._matcher()


def node_of(name: str) -> str | None:
    return ew.kinds([name])[0].node


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("Café Morgenrot", "cafe"),
        ("Klinikum Nord", "hospital"),
        ("Rathausapotheke", "pharmacy"),  # compounds, by their end
        ("Bloemenziekenhuis", "hospital"),
        ("Björkskolan", "school"),
        ("中央病院", "hospital"),  # no blanks
        ("東京ABC歯科", "dentist"),
        ("โรงพยาบาลกลาง", "hospital"),
        ("مستشفى السلام", "hospital"),
        ("المستشفى", "hospital"),  # with its article
        ("Аптека № 7", "pharmacy"),
        ("Φαρμακείο Νίκου", "pharmacy"),
        ("בית מרקחת השרון", "pharmacy"),
        ("जिला अस्पताल", "hospital"),
        ("Devlet Hastanesi", "hospital"),  # a form that no dictionary has
        ("CVS - 3rd Ave", "pharmacy"),  # brands, with and without blanks
        ("Lab Corp", "medical_lab"),
        ("Dr Wendelin", "doctors_office"),
        ("Jane Roe, D.D.S.", "dentist"),
        ("Dr. Lee, Psychotherapy", "psychotherapist"),
        ("P.S. 412", "elementary_school"),
        ("Larkhill Academy - PS 368", "elementary_school"),
        ("Our Lady of the Snows", "church"),
        ("Saint Casimir of Vilna", "church"),
        ("St. Wilfrid's High School", "religious_school"),
        ("St Aldhelm Hospital", "hospital"),
        ("Holy Redeemer Cemetery", "religious_cemetery"),
        ("Norwegian Rowing Club", "ethnic_community_center"),
        ("Ashdown & Pike LLP", "lawyer"),
        ("Hillview Community Church Office", "church"),
        ("Mental Health Counseling & Couples Therapy", "psychotherapist"),
        ("Anna's Apartment", "home"),
        ("Mom and Dad's House", "home"),
        ("My Apartment", "home"),  # although an apartment is a building
        ("Robin's Secret Lair", "home"),
        ("Robin's Desk", "office"),
        ("Acme HQ", "office"),
        ("Larkhill Magazine", "office"),
        ("P.S.149", "elementary_school"),  # numbers of schools in all spellings
        ("P.S 149", "elementary_school"),
        ("P.S. / M.S. 149", "elementary_school"),
        ("MS 149", "middle_school"),
        ("Willow Island Academy", "school"),  # what says where does not say what
        ("Food and Design High School", "high_school"),
        ("Larkhill High School North 13th Street", "high_school"),
        ("Larkhill International School of York", "school"),
        ("Loyola High School", "religious_school"),
        ("Holy Family", "church"),
        ("St. Thomas Aquinas", "church"),
        ("Larkhill Smiles", "dentist"),
        ("Jane Roe, LCSW", "psychotherapist"),
        ("Latino Council on AIDS", "infectious_disease_clinic"),
        ("Carpenters Local 7", "trade_union_office"),
        ("7th Pct.", "police_station"),
        ("City Council Member Jane Roe", "campaign_office"),
        ("Club Norway", "ethnic_community_center"),
        ("Norwegian Mission", "embassy"),
        ("klinikum-nord.de", "hospital"),  # web sites
        ("www.pornhub.com", "adult_entertainment_venue"),
        ("shop.cvs.com", "pharmacy"),
        ("riversidedental.com", "dentist"),
    ],
)
def test_names_that_tell(name: str, node: str) -> None:
    assert node_of(name) == node


TRAPS = """
    Church St|12 Church|Church and Elm|Donut Hut - Church And Elm|Church Street Station|Church's Chicken|
    Temple Bar|The New School|PS122|Omar's Halal Cart|Constable's Tavern|St. Bede's Pub|St. Bede's Ale House|
    Hospital Street Bus Stop|Bingo Bakery|Animal Hospital of Westbrook|Lakeside Veterinary Hospital|
    Museum of Jewish Music|School of Business|Indian Road Café|Rue de l'Église|Calle de la Iglesia|Bar La Farmacia|
    Hotel Alte Schule|Kirchstraße|Tierklinik Weidenhof|動物病院|医院路|高円寺駅|โรงพยาบาลสัตว์|شارع المسجد|
    Церковная улица|Hastane Caddesi|Dr. Martens|Passport Photos|essex.gov.uk|expertsexchange.com|Ty's Bar|Iron Works|
    Steak House|St. Mark's Comics|Film Academy of Larkhill|Fire Headquarters|
    Larkhill Health and Racquet Club|Car Care Center|google.com|larkhill-media.com|Church St Café|Box Office
"""


@pytest.mark.parametrize("name", [name.strip() for name in TRAPS.split("|")])
def test_traps(name: str) -> None:
    assert SHIPPED.select(["preset:all"], among=[name]) == frozenset()


def test_a_place_without_a_kind_says_so() -> None:
    (kind,) = ew.kinds(["Xyzzy"])
    assert kind == ew.Kind("Xyzzy", None, 0.0, "the name does not tell")


@pytest.mark.parametrize(
    ("name", "said", "node"),
    [
        ("Iron Works", "Gym / Fitness Center", "gym"),
        ("Marina", "Office", "office"),
        ("Church Street 5", "TYPE_UNKNOWN", "road"),  # a type that nobody knows does not count
        ("St. Mary's", "amenity=pub", "pub"),
        ("Hospital Club", "healthcare=rarest", "health_care"),
        ("Church Corner", "Hunan Restaurant", "restaurant"),
    ],
)
def test_what_an_export_says_beats_the_name(name: str, said: str, node: str) -> None:
    (kind,) = ew.kinds([name], {name: [said]})
    assert kind.node == node
    told = SHIPPED.with_types({name: [said]})
    assert name in told.select([node], among=[name])
    assert told.placed([name]).own == {node: [name]}


def test_the_kinds_of_a_history() -> None:
    visits = ",".join(
        f'{{"placeVisit": {{"location": {{"name": "{name}", "semanticType": "{said}"}}}}}}'
        for name, said in [("Willow Court", "TYPE_HOME"), ("willow court ", ""), ("Willow Court", "TYPE_WORK")]
    )
    history = ew.read(InMemoryFile("a.json", f'{{"timelineObjects": [{visits}]}}'.encode()))
    assert dict(history.histogram) == {"Willow Court": 3}
    assert history.types == {"Willow Court": ("home", "work")}  # all that a place may be
    assert [kind.node for kind in ew.kinds(history)] == ["home"]


@pytest.mark.parametrize(
    ("file", "known"),
    [
        ("google_takeout_2023_MARCH.json", {"Willow Court 12": "home", "Harbour Analytics Ltd": "work"}),
        (
            "google_timeline_android_Timeline.json",
            {"ChIJexampleHOME0000000000001": "home", "ChIJexampleWORK0000000000002": "work"},
        ),
        ("swarm_api_checkins.json", {"Home (private)": "home", "Office": "office", "Gym": "gym"}),
    ],
)
def test_exports_know_home_and_work(file: str, known: dict[str, str]) -> None:
    history = ew.read(Path(__file__).parents[1] / "fixtures" / "exports" / file)
    found = {kind.name: kind.node for kind in ew.kinds(history)}
    assert known.items() <= found.items()
    assert found.keys() == {*history.histogram.locations}


@pytest.mark.parametrize("names", ["Hospital", ["Hospital", 3]])
def test_names_that_are_none(names: Any) -> None:
    with pytest.raises(ew.InputError, match="'Hospital'" if isinstance(names, str) else "has 3"):
        ew.kinds(names)


#: Words that overlap in several runs, and some that are in none.
SOME = [
    "animal",
    "hospital",
    "medical",
    "school",
    "of",
    "law",
    "mental",
    "health",
    "center",
    "st",
    "xyzzy",
    "krankenhaus",
]


@given(st.lists(st.sampled_from(SOME), min_size=1, max_size=7))
def test_runs_are_the_longest_from_left_to_right(raw: list[str]) -> None:
    """Against the obvious way: at every word the longest run that begins there, and on after its end."""
    expected, at = [], 0
    while at < len(raw):
        ends = [end for end in range(len(raw), at, -1) if " ".join(map(base, raw[at:end])) in LEXICON.runs]
        if ends:
            expected.append((at, ends[0], LEXICON.runs[" ".join(map(base, raw[at : ends[0]]))].node))
        at = ends[0] if ends else at + 1
    found = [(it.start, it.end, it.node) for it in matcher()._runs(raw) if it.why == "the word {}"]
    assert [it for it in found if raw[it[0]] != "st" or it[1] > it[0] + 1] == expected


@given(st.text(st.sampled_from("病院東京教会前薬局abcไทยวัด"), max_size=12))
def test_segments_are_all_of_a_word(word: str) -> None:
    segments = list(matcher()._segments(word))
    assert "".join(segments) == word
    at = 0
    for segment in segments:
        known = [end for end in range(len(word), at, -1) if word[at:end] in LEXICON.runs and is_unspaced(word[at:end])]
        assert not known or segment == word[at : known[0]], "the longest word that begins here"
        at += len(segment)


#: What names are divided at, and pieces of numbers of schools, between words.
PIECES = ["ps", "is ", "jhs", "ms", "#", "k12", "5", " ", "  ", "-", " - ", "(", "/", ":", "\u2013", "~", "|", "@", "_",
          " at ", " in ", "walk in ", "near", " bei ", "presso ", "病院", "วัด", "ी", "é", ".", "&"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_what_is_looked_at_first_hides_nothing(text: str) -> None:
    """Quick looks come before the regular expressions, and must let everything through that these find."""
    split = plain_words(text)
    assert split == model_words._WORD.findall(text.replace("_", " "))
    assert kinds._parts(text, split) == kinds._PARTS.split(text)
    assert patterns.first_pattern(text, split) == patterns._fitting(patterns._NUMBERS, text, split)


@given(st.sampled_from(sorted(LEXICON.brands)), st.lists(st.integers(1, 12), max_size=5))
def test_a_brand_is_found_however_it_is_divided(brand: str, cuts: list[int]) -> None:
    ends = sorted({cut for cut in cuts if cut < len(brand)} | {len(brand)})
    raw = [brand[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    found = matcher()._brand(raw)
    assert found is not None
    assert (found.end, found.node) == (len(raw), LEXICON.brands[brand])


def test_the_lists_are_of_the_taxonomy() -> None:
    nodes = {word.node for word in LEXICON.runs.values()} | {*LEXICON.ends.values()}
    assert nodes | {*LEXICON.brands.values()} | {*LEXICON.sites.values()} <= NODES.keys()
    for phrase in LEXICON.runs:
        assert " ".join(map(base, plain_words(phrase))) == phrase == phrase.casefold()


@given(st.text(max_size=30))
def test_any_text_has_a_kind_or_none(name: str) -> None:
    (kind,) = ew.kinds([name])
    assert (kind.node is None) == (kind.confidence == 0.0)
    assert kind.node is None or (kind.node in NODES and kind.reason)
    # The same name in another spelling is the same place.
    assert ew.kinds([f"  {name}\u200b"])[0].node == kind.node


@pytest.mark.parametrize("piece", ["st a of ", "a-a.", "aa ", "'s ", "の", "casa ", "as pad ", "a group ", "a & "])
def test_a_name_of_a_megabyte_takes_no_longer(piece: str) -> None:
    assert ew.kinds([piece * 200_000])[0].name.startswith(piece)


@pytest.mark.parametrize(
    "name", ["", " ", ".", "www.", "www.co", "'", "'s", "\u200b", "\ud800", "\u0301", "💊", "&", "-"]
)
def test_names_that_are_hardly_names(name: str) -> None:
    assert ew.kinds([name])[0].node is None


def test_words_do_not_depend_on_how_letters_are_written() -> None:
    assert words("Hôpital") == words("HOPITAL") == words("ho\u0302pital")
    assert words("مُسْتَشْفَى") == words("مستشفى")
    assert words("Ράφτης") == words("ΡΑΦΤΗΣ")


@pytest.mark.parametrize("file", ["names", "other_languages", "sites"])
def test_the_presets_reach_their_goal_on_the_lists(file: str) -> None:
    labelled = benchmark.read(benchmark._LISTS / f"{file}.csv")
    found = benchmark.presets_of([row.name for row in labelled])
    score = benchmark.score(labelled, found, set(SHIPPED.presets) - {"all"})
    assert score.precision[0] >= 90
    assert score.recall[0] >= 80


def test_a_history_of_kinds() -> None:
    """The size stays, what an export says counts, and a place that nothing tells about is in no other kind."""
    history = {"Klinikum Nord": 2, "Zahnarzt Weber": 1, "Café Morgenrot": 3, "Iron Works": 4, "Charing Cross": 5}
    top = ew.by_kind(history, depth=1)
    assert dict(top) == {"Food and drink": 3, "Health care": 3, "Unknown": 9}
    said = ew.by_kind(history, depth=1, types={"Iron Works": ["gym"]})
    assert said["Unknown"] == 5
    for depth in (1, 2, 3, 9):
        assert ew.by_kind(history, depth=depth).size == ew.Histogram(history).size
    own = ew.by_kind(history, depth=9)
    for kind in ew.kinds(history):
        if kind.node is not None:
            name = next(node.name for _, node in SHIPPED.tree() if node.id == kind.node)
            assert own[name] >= history[kind.name]
    profile = ew.profiles.stored("tourist").profile
    release = ew.resemble(ew.by_kind(history), profile, max_quality_loss=0.2)
    assert not set(release.histogram) & set(history)


@pytest.mark.parametrize("depth", [0, -1, 1.5, "2", True])
def test_a_depth_that_is_none(depth: Any) -> None:
    with pytest.raises(ew.InputError, match="depth is"):
        ew.by_kind({"gym": 1}, depth=depth)
