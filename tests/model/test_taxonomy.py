"""Taxonomies: files of three shapes, what a selection catches, and how well the shipped presets do."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import elsewhere as ew
from elsewhere.model.lexicon import _WHOLE_NAMES
from elsewhere.model.taxonomy import Selection
from elsewhere.model.taxonomy_files import Node, parse_nodes

SHIPPED = ew.Taxonomy.shipped()
DOCS = (Path(__file__).parents[2] / "docs" / "taxonomies.md").read_text(encoding="utf-8")

PLACES = [
    Node("m", "Medical Center"),
    Node("h", "Hospital", "m", ("clinic", "Krankenhaus"), ("health",)),
    Node("w", "Ward", "h"),
    Node("f", "Food", None, (), ("everyday",)),
    Node("f1", "Other", "f"),
    Node("m1", "Other", "m"),
    Node("x", "m", "f"),
]


@st.composite
def trees(draw: st.DrawFn) -> list[Node]:
    """Nodes below earlier ones, with few names, so that ids, names and aliases get into each other's way."""
    names = st.sampled_from(["a", "A", "b", "n1", "N2", "é"])
    nodes: list[Node] = []
    for at in range(draw(st.integers(1, 8))):
        parent = draw(st.sampled_from([None, *(node.id for node in nodes)]))
        groups = tuple(draw(st.sets(st.sampled_from(["g", "h"]))))
        nodes.append(Node(f"n{at}", draw(names), parent, tuple(draw(st.lists(names, max_size=2))), groups))
    return draw(st.permutations(nodes))


def meant(nodes: Collection[Node], name: str) -> list[Node]:
    """The slow, obvious way to find nodes."""
    for fits in (
        lambda node: node.id == name,
        lambda node: name.casefold() in (node.id.casefold(), node.name.casefold()),
        lambda node: name.casefold() in [alias.casefold() for alias in node.aliases],
    ):
        found = [node for node in nodes if fits(node)]
        if found:
            return found
    return []


def located(nodes: Collection[Node], location: str) -> list[Node]:
    """The slow, obvious way to find all that a location may mean: its name may be the id of another node."""
    folded = location.casefold()
    found = [node for node in nodes if folded in (node.id.casefold(), node.name.casefold())]
    return found or [node for node in nodes if folded in [alias.casefold() for alias in node.aliases]]


def upward(nodes: Collection[Node], node: Node) -> list[Node]:
    path = [node]
    while path[-1].parent is not None:
        path += [other for other in nodes if other.id == path[-1].parent]
    return path


@given(trees(), st.lists(st.sampled_from(["a", "A", "b", "B", "N1", "n2", "É", "e", "preset:g"]), max_size=3))
def test_selects_what_is_at_or_below(nodes: list[Node], wanted: list[str]) -> None:
    taxonomy = ew.Taxonomy(nodes)
    tops: list[Node] = []
    for name in wanted:
        found = [node for node in nodes if "g" in node.groups] if name == "preset:g" else meant(nodes, name)
        if not found:
            with pytest.raises(ew.InputError):
                taxonomy.select(wanted)
            return
        tops += found
    chosen = [node for node in nodes if set(upward(nodes, node)) & set(tops)]
    assert taxonomy.select(wanted) == Selection(name for node in chosen for name in (node.name, *node.aliases))
    locations = ["a", "A", "B", "n1", "N1", "N7", "e", "É", "nowhere"]
    assert taxonomy.select(wanted, among=locations) == Selection(
        name for name in locations if set(located(nodes, name)) & set(chosen)
    )


@given(trees(), st.dictionaries(st.sampled_from(["a", "B", "n1", "N7", "é", "x"]), st.integers(0, 5), min_size=1))
def test_counts_are_those_of_the_selections(nodes: list[Node], visits: dict[str, int]) -> None:
    counts = ew.Taxonomy(nodes).counts(visits)
    for node in nodes:
        assert counts.own[node.id] == sum(count for name, count in visits.items() if node in located(nodes, name))
        below = ew.Taxonomy(nodes).select([node.id], among=visits)
        assert counts.below[node.id] == sum(visits[name] for name in below)
    assert set(counts.unknown) == {name for name in visits if not located(nodes, name)}


@given(trees())
def test_the_tree_has_every_node_below_its_parent(nodes: list[Node]) -> None:
    shown = list(ew.Taxonomy(nodes).tree())
    assert sorted(node.id for _, node in shown) == sorted(node.id for node in nodes)
    path: list[Node] = []
    for depth, node in shown:
        path[depth:] = [node]
        assert path == upward(nodes, node)[::-1]


def test_a_subtree_in_the_order_of_the_file() -> None:
    taxonomy = ew.Taxonomy(PLACES)
    assert [(depth, node.id) for depth, node in taxonomy.tree("Medical center")] == [
        (0, "m"), (1, "h"), (2, "w"), (1, "m1")
    ]  # fmt: skip
    assert taxonomy.presets == {"everyday": "Food", "health": "Hospital"}


@pytest.mark.parametrize(
    ("wanted", "caught"),
    [
        (["m"], {"Medical Center", "Krankenhaus", "WARD", "Other"}),  # the id of one node, not the name of another
        (["Other"], {"Other"}),
        (["KRANKENHAUS"], {"Krankenhaus", "WARD"}),
        (["preset:health"], {"Krankenhaus", "WARD"}),
        (["x", "w"], {"x", "WARD"}),
        ([], set()),
    ],
)
def test_names_are_found_whatever_they_are_called(wanted: list[str], caught: set[str]) -> None:
    places = ew.Histogram(dict.fromkeys(["Medical Center", "Krankenhaus", "WARD", "Other", "Food", "x", "gym"], 1))
    assert ew.Taxonomy(PLACES).select(wanted, among=places) == Selection(caught)


@st.composite
def plain_trees(draw: st.DrawFn) -> list[Node]:
    """Nodes in the order of the tree, named by their ids, as all three shapes can have them."""
    nodes: list[Node] = []
    path: list[Node] = []
    for name in draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)):
        del path[draw(st.integers(0, len(path))) :]
        nodes.append(Node(name * 2, name * 2, path[-1].id if path else None))
        path.append(nodes[-1])
    return nodes


@given(plain_trees(), st.sampled_from([" ", "\t", "   "]), st.booleans())
def test_three_shapes_of_one_tree(nodes: list[Node], indent: str, bare: bool) -> None:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["parent_id", "icon", "name", "id"])
    writer.writerows([node.parent, "!", node.name, node.id] for node in nodes)
    assert parse_nodes(table.getvalue().encode("utf-8-sig")) == nodes

    def nested(parent: str | None) -> list[dict[str, Any]]:
        return [
            {"id": node.id, "name": node.name, "categories": nested(node.id)} for node in nodes if node.parent == parent
        ]

    categories: Any = nested(None) if bare else {"categories": nested(None)}
    for shape in (categories, {"response": categories}):
        assert parse_nodes(json.dumps(shape).encode()) == nodes
    lines = [indent * (len(upward(nodes, node)) - 1) + node.name for node in nodes]
    assert parse_nodes("\r\n\n".join(lines).encode()) == nodes


def test_further_columns(tmp_path: Path) -> None:
    file = tmp_path / "places.csv"
    file.write_text('id,name,parent_id,aliases,groups\nh,"Café, Bar",,pub; Kneipe ;,a;b\n', encoding="utf-8")
    taxonomy = ew.Taxonomy.load(file)
    assert list(taxonomy.tree()) == [(0, Node("h", "Café, Bar", None, ("pub", "Kneipe"), ("a", "b")))]
    # The accent may be a character of its own.
    caught = ["kneipe", "cafe\u0301, bar"]
    assert taxonomy.select(["preset:b"], among=[*caught, "gym"]) == Selection(caught)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"id,name,parent_id\n", "no node"),
        (b"id,name,parent_id\na,A,\na,B,\n", "id 'a' more than once"),
        (b"id,name,parent_id\na,A,b\n", "'a' below 'b'"),
        (b"id,name,parent_id\nr,R,\na,A,b\nb,B,a\n", "cycle: the parents of 'a'"),
        (b"id,name,parent_id\na,A,a\n", "cycle: the parents of 'a'"),
        (b"id,name,parent_id\na,A,\n\nb, ,a\n", "no name in line 4"),
        (b"id,name,parent_id\n,A,\n", "no id in line 2"),
        (b"id,name,parent_id\na,A\n", "2 cells in line 2"),
        (b'id,name,parent_id\na,"A,\n', "not valid CSV in line 2"),
        (b"id,name,name,parent_id\na,A,A,\n", "'name' more than once"),
        (b"id,title,parent_id\na,A,\n", "no column 'name'"),
        (b"id;name;parent_id\na;A;\n", "no column 'id'"),
        (b"\x89PNG\r\n\x1a\n\0\0", "byte 0x89 at 0"),
        (b"Food\n Ba\0r", "zero byte at 8"),
        ("Café\n".encode("latin-1"), "byte 0xe9 at 3"),
        (b"Food\n    Bar\n  Cafe\n", "line 3 ('Cafe')"),
        (b"  Food\nBar\n", "line 2 ('Bar')"),
        (b"Food\n\tBar\n    Cafe\n", "line 3 ('Cafe')"),
        (b"Food\n Bar\nShop\n Bar\n", "id 'Bar' more than once"),
        ("".join(" " * depth + f"n{depth}\n" for depth in range(102)).encode(), "100 levels deep at 'n100'"),
        (b'{"categories": [', "not valid JSON in line 1"),
        (b"[" * 200_000, "not valid JSON"),
        (b'{"places": []}', "has None at its top instead of a list of categories"),
        (b'{"response": 3}', "has 3 at its top instead of a list of categories"),
        (b"[]", "no node"),
        (b"[3]", "without an id or a name: 3"),
        (b'[{"id": 3, "name": "Bar"}]', "without an id or a name: {'id': 3"),
        (b'[{"id": "b", "name": " "}]', "without an id or a name: {'id': 'b'"),
        (b'[{"id": "b", "name": "Bar", "categories": {"id": "c"}}]', "has {'id': 'c'} below 'Bar' instead of a list"),
    ],
)
def test_malformed_files(tmp_path: Path, content: bytes, named: str) -> None:
    file = tmp_path / "taxonomy"
    file.write_bytes(content)
    with pytest.raises(ew.InputError, match=re.escape(named)) as raised:
        ew.Taxonomy.load(file)
    assert "\n" not in str(raised.value)


def test_files_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "taxonomy"
    file.write_text("".join(f"node {at}\n" for at in range(100_001)), encoding="utf-8")
    with pytest.raises(ew.InputError, match=r"has 100,001 nodes; at most 100,000 are read"):
        ew.Taxonomy.load(file)
    monkeypatch.setattr("elsewhere.model.taxonomy_files._MOST_BYTES", 1 << 20)
    with pytest.raises(ew.InputError, match="is larger than 1 MiB"):
        ew.Taxonomy.load(file)


@pytest.mark.parametrize("path", ["missing.csv", ".", "a\0b", 3, None])
def test_files_that_cannot_be_read(path: Any) -> None:
    with pytest.raises(ew.InputError, match="cannot be read"):
        ew.Taxonomy.load(path)


@pytest.mark.parametrize(
    ("nodes", "among", "named"),
    [
        ("Hospital", None, "nodes is 'Hospital'; give a collection"),
        (None, None, "nodes is None;"),
        ([3], None, "nodes has 3, which is not a string"),
        (["Hospitl"], None, "'Hospitl' is not in the taxonomy; did you mean 'Hospital'?"),
        (["preset:helth"], None, "no preset 'helth'; its presets are everyday, health"),
        (["m"], "Hospital", "among is 'Hospital';"),
        (["m"], [None], "among has None"),
    ],
)
def test_selections_that_make_no_sense(nodes: Any, among: Any, named: str) -> None:
    with pytest.raises(ew.InputError, match=re.escape(named)):
        ew.Taxonomy(PLACES).select(nodes, among)


def test_the_verbs_pass_over_what_is_not_in_the_histogram() -> None:
    history, target = {"Ward": 3, "Cafe": 4, "gym": 5}, {"Cafe": 1, "gym": 1}
    sensitive = ew.Taxonomy(PLACES).select(["Medical Center"])
    hidden = ew.hide(history, sensitive)
    assert hidden.histogram == ew.hide(history, {"Ward"}).histogram
    assert ew.verify(history, hidden, sensitive=sensitive).ok
    assert not ew.verify(history, history, sensitive=sensitive).ok
    for verb in (ew.resemble, ew.avoid):
        assert "Ward" not in verb(history, target, 1.0, sensitive=sensitive).histogram
    with pytest.raises(ew.InputError, match="not in the histogram"):
        ew.hide(history, frozenset(sensitive))


CAUGHT = {
    "health": """Medical Center|Acupuncturist|Alternative Healer|Blood Donation Center|Chiropractor|Dentist's Office|
        Doctor's Office|Doctors Office|Emergency Room|Eye Doctor|Hospice|Hospital|Hospital Ward|Maternity Clinic|
        Medical Lab|Mental Health Office|Nutritionist|Physical Therapist|Rehab Center|Urgent Care Center|Pharmacy|
        Drugstore / Pharmacy|Pharmacies|Medical Supply Store|Weight Loss|Assisted Living|amenity=hospital|
        amenity=doctors|healthcare=dentist|doctor|physiotherapist|Northside Fertility Clinic|Uniklinik Köln|
        HOPITAL SAINT LOUIS|Hôpital Saint-Louis|Farmacia Centrale|Praxis Dr. Müller|Clínica Dental|DNA Test""",
    "mental-health": "Mental Health Office|Psychiatrist|Dr. Lee, Psychotherapy|Riverside Counseling|Suicide Prevention",
    "reproductive-health": "Northside Fertility Clinic|Maternity Clinic|Planned Parenthood|Frauenarztpraxis|Abortions",
    "religion": """Spiritual Center|Buddhist Temple|Cemevi|Church|Confucian Temple|Hindu Temple|Kingdom Hall|Monastery|
        Mosque|Prayer Room|Shrine|Sikh Temple|Synagogue|Temple|Terreiro|Religious School|Kosher Restaurant|hindu_temple|
        place_of_worship|amenity=place_of_worship|St. Brendan Church|Churches|Grande Mosquée de Paris|Marienkirche|
        ÉGLISE Saint-Sulpice|Église|Al-Noor Masjid|Islamic Cultural Center|Chabad of Midtown|Freemasons' Hall|
        Humanist Association|Jehovah\u2019s Witnesses|Moschee|Iglesia San Juan|Chiesa di San Marco""",
    "politics": "Campaign Office|Voting Booth|Democratic Party of Ohio|Polling place 12|SPD|Wahllokal",
    "trade-union": "Trade union|Teamsters Local 237|Union Hall|Gewerkschaftshaus|Bourse du travail|office=union",
    "sex-life": "Gay Bar|Adult Boutique|Strip Club|LGBT Center|Sexual Health Clinic|HIV Clinic|amenity=swingerclub",
    "ethnic-origin": "Jewish Restaurant|Embassy / Consulate|Turkish Cultural Center|Refugee Centre|Jewish Cemetery",
    "addiction": "Rehab Center|Marijuana Dispensary|AA Meeting|Alcoholics Anonymous|Suchtberatung|Methadone Clinic",
    "legal-aid": "Lawyer|Legal Aid Society|Financial or Legal Service|Rechtsanwalt Schmidt|Smith Law Offices|Notary",
    "justice": "Courthouse|Police Station|Prison|Supreme Court|Amtsgericht Mitte|County Jail|police",
    "immigration": "Embassy / Consulate|Immigration Office|Ausländerbehörde|Asylum Center|embassy",
    "shelters": "Homeless Shelter|Women\u2019s Refuge|Frauenhaus|Bowery Mission|Union Gospel Mission|Night shelters",
    "debt": "Pawn Shop|Check Cashing Service|Schuldnerberatung|Payday Loans|Food Bank|Jobcentre Plus",
    "gambling": "Casino|Betting Shop|Pachinko Parlor|Racecourse|Lottery Retailer|Spielothek|shop=bookmaker",
    "adult-entertainment": "Strip Club|Adult Boutique|Erotic Museum|Sex Shop|Gentlemen's Club|amenity=brothel",
    "home": "Home|Home (private)|Anna's Apartment|Mom's House|my home",
    "work": "Work|Office|Acme HQ|Coworking Space|Larkhill Media Inc.",
    "all": "Hospital|Church|Anna's Apartment|Acme HQ|Casino",
    "children": "Elementary School|Daycare|Playground|Nursery School|Kids Store|Toy / Game Store|Pediatrician|Kita",
}

EVERYDAY = """Gym|Gym / Fitness Center|Health Club|Train Station|Coffee Shop|Bar|Museum|Hotel|Airport|Bank|
    Credit Union|Park|Pizza Place|Burger Joint|Movie Theater|Supermarket|Grocery Store|Health Food Store|Bus Station|
    Bus Shelter|Subway|Union Square|Union Station|Western Union|Student Union|Mission District|Food Court|Tennis Court|
    Court Street|Medical School|Law School|Driving School|Adult Education Center|Animal Shelter|Northside Pet Hospital|
    Embassy Suites|Ministry of Finance|Residential Building (Apartment / Condo)|University|Library|
    Temple University|Nightclub|Sports Bar|Beer Garden|Bookstore|Clothing Store|Hardware Store|Salon / Barbershop|
    Nail Salon|Gas Station / Garage|Post Office|City Hall|Beach|Garden Center|Ice Cream Shop|Thrift / Vintage Store|
    Performing Arts Venue|Stadium|Concert Hall|Plaza|night_club|amenity=bar|leisure=fitness_centre|shop=supermarket"""


def test_every_preset_is_described_and_tried() -> None:
    groups = {group for _, node in SHIPPED.tree() for group in node.groups}
    assert groups == set(SHIPPED.presets) == set(CAUGHT)


@pytest.mark.parametrize("preset", CAUGHT)
def test_presets_catch_what_a_careful_person_expects(preset: str) -> None:
    names = {name.strip() for name in CAUGHT[preset].split("|")}
    assert names - SHIPPED.select([f"preset:{preset}"], among=names) == set()


def test_presets_leave_everyday_places_alone() -> None:
    names = [name.strip() for name in EVERYDAY.split("|")]
    assert SHIPPED.select([f"preset:{preset}" for preset in SHIPPED.presets], among=names) == Selection()
    assert len(names) >= 40


def test_every_spelling_leads_to_its_own_node() -> None:
    """No alias is the name of another node, which would win; an alias may have several nodes."""
    for _, node in SHIPPED.tree():
        for name in (node.id, node.name, *node.aliases):
            assert node in [found for depth, found in SHIPPED.tree(name) if depth == 0], name
            # Home and work are words of many names, and what divides a name makes two things of one.
            if name != node.id and node.id not in _WHOLE_NAMES and not re.search(r"[/,:=(&]", name):
                assert SHIPPED.select([node.id], among=[f"{name} 7"]), name


def test_the_table_of_presets_in_the_docs() -> None:
    for preset, description in SHIPPED.presets.items():
        kinds = {node.id for _, node in SHIPPED.tree(f"preset:{preset}")}
        assert f"| `{preset}` | {description} | {len(kinds)} |\n" in DOCS
    assert f"{len(list(SHIPPED.tree()))} kinds of place" in DOCS


def test_the_three_shapes_in_the_docs() -> None:
    _, _, *shapes = re.findall(r"```(?:python)?\n(.*?)```", DOCS, re.DOTALL)
    assert len(shapes) == 3
    for shape in shapes:
        names = [(depth, node.name) for depth, node in ew.Taxonomy(parse_nodes(shape.encode())).tree()]
        assert names == [(0, "Medical Center"), (1, "Hospital"), (0, "Café")]
