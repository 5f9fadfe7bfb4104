"""Profiles: what is learned, what a file may hold, whose profile wins, and what the shipped ones may not have."""

from __future__ import annotations

import re
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import elsewhere as ew
from elsewhere import profiles
from elsewhere.model.spread import Spread
from elsewhere.profiles import StoredProfile

MINE = 'label = "Mine"\ndescription = "A test."\nsource = "Made up."\nusers = 3\n\n[weights]\n"Bar" = 3\n"Café" = 1.0\n'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder."""
    monkeypatch.setenv("ELSEWHERE_PROFILES", str(tmp_path))
    return tmp_path


def histograms() -> st.SearchStrategy[dict[str, int]]:
    counts = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 9), min_size=1)
    return counts.filter(lambda histogram: sum(histogram.values()) > 0)


@given(st.lists(histograms(), min_size=1, max_size=30), st.sets(st.sampled_from("abcx"), max_size=2), st.booleans())
def test_learns_the_mean_of_the_shares(users: list[dict[str, int]], visited: set[str], by_name: bool) -> None:
    kept = [counts for counts in users if not visited or any(map(counts.get, visited))]
    given_as: Any = {str(at): counts for at, counts in enumerate(users)} if by_name else (("", c) for c in users)
    if not kept:
        with pytest.raises(ew.InputError, match=f"none of the {len(users)} users visited any of"):
            profiles.learn(given_as, visited=visited)
        return
    learned = profiles.learn(given_as, visited=visited)
    for location in "abcde":
        shares = [counts.get(location, 0) / sum(counts.values()) for counts in kept]
        assert learned.profile[location] == pytest.approx(sum(shares) / len(kept))
        assert (location in learned.profile) == any(shares)
    assert learned.users == len(kept)
    assert (learned.warning is None) == (len(kept) >= 20)


@given(st.lists(histograms(), min_size=1, max_size=30), st.booleans())
def test_learns_how_members_differ(users: list[dict[str, int]], by_name: bool) -> None:
    given_as: Any = {str(at): counts for at, counts in enumerate(users)} if by_name else (("", c) for c in users)
    learned = profiles.learn(given_as)
    spread = learned.profile.spread
    assert (spread is None) == (len(users) < 20) == ("It has no spread" in learned.description)
    if spread is None:
        return
    assert_spread(spread, learned.profile, users)
    assert spread.others == ()
    # The same for a profile that is not their mean, and with people who are no members.
    other = ew.Profile({"a": 1, "e": 3, "x": 2})
    members = {str(at): counts for at, counts in enumerate(users)}
    found = profiles.spread_of(other, members, "variational", others=dict(reversed(members.items())))
    assert dict(found) == dict(other)
    assert found.spread is not None
    assert_spread(found.spread, other, users)
    assert found.spread.others == pytest.approx(found.spread.distances)


def assert_spread(spread: Spread, profile: ew.Profile, users: list[dict[str, int]]) -> None:
    """A spread is what one gets by looking at everybody and everything."""
    distances = [ew.distance(spread.privacy, profile, counts) for counts in users]
    places = [sum(counts.get(place, 0) > 0 for place in profile) for counts in users]
    assert spread.distances == pytest.approx(np.percentile(distances, range(0, 101, 5)))
    assert spread.places == pytest.approx(np.percentile(places, range(0, 101, 5)))
    assert list(spread.distances) == sorted(spread.distances)
    for place in profile:
        assert spread.visited[place] == sum(counts.get(place, 0) > 0 for counts in users) / len(users)


def test_nobody_is_farther_away_than_can_be() -> None:
    weights = {f"place {at}": 1 + at % 7 for at in range(1000)}
    strangers = {str(at): {f"other {number}": 1 + number % 11 for number in range(at + 50)} for at in range(60)}
    assert profiles.spread_of(weights, strangers).spread.distances == pytest.approx([1.0] * 21)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"users": {"ann": {"cafe": 1}}}, "users has 1 histograms; with fewer than 20 a spread could reveal"),
        ({"others": {"ann": {"cafe": 1}}}, "others has 1 histograms"),
        ({"privacy": "jeffreys"}, "privacy is 'jeffreys'; it must be one of js, variational"),
        ({"profile": {}}, "the profile is empty"),
    ],
)
def test_spreads_that_make_no_sense(arguments: dict[str, Any], named: str) -> None:
    many = {str(at): {"cafe": 1} for at in range(20)}
    with pytest.raises(ew.InputError, match=re.escape(named)):
        profiles.spread_of(**{"profile": {"cafe": 1}, "users": many, **arguments})


def test_few_users_are_warned_about() -> None:
    assert profiles.learn({"ann": {"cafe": 1}}).warning == (
        "only 1 user is behind this profile; with fewer than 20 it can reveal a single person's history"
    )


@pytest.mark.parametrize(
    ("users", "visited", "named"),
    [
        ({}, (), "there are no users"),
        (None, (), "users is None"),
        (["ann"], (), "users has 'ann'"),
        ({"ann": {"cafe": -1}}, (), "the user 'ann': the histogram gives 'cafe' the count -1"),
        ({"ann": {"cafe": 0}}, (), "the user 'ann'"),
        ({"ann": {"cafe": 1}}, "cafe", "visited is 'cafe'"),
    ],
)
def test_users_that_make_no_sense(users: Any, visited: Any, named: str) -> None:
    with pytest.raises(ew.InputError, match=re.escape(named)):
        profiles.learn(users, visited=visited)


LINES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(
    texts=st.tuples(LINES, LINES, LINES),
    users=st.none() | st.integers(1, 100),
    weights=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.floats(1e-9, 1e9), min_size=1),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    texts: tuple[str, str, str],
    users: int | None,
    weights: dict[str, float],
) -> None:
    file = tmp_path_factory.mktemp("profiles") / "mine.toml"
    profile = ew.Profile(weights)
    steps = tuple(0.05 * at for at in range(21))
    spread = Spread(dict.fromkeys(profile, 0.25), steps, steps, steps if users else (), "variational")
    written = StoredProfile("any", *texts, ew.Profile(weights, spread if users != 1 else None), users)
    profiles.save(file, written)
    read = profiles.load(file)
    assert dict(read.profile) == pytest.approx(dict(written.profile), rel=1e-12)
    assert read.profile.spread == written.profile.spread
    assert replace(read, name="any", profile=written.profile) == written
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ('label = "Mine"', "", "has no label"),
        ('label = "Mine"', 'label = " "', "the label ' ', which is not a string"),
        ('source = "Made up."', "source = 3", "the source 3, which is not a string"),
        ("users = 3", "user = 3", "the unknown key 'user'; did you mean 'users'?"),
        ("users = 3", "users = 3.5", "users = 3.5;"),
        ("users = 3", "users = true", "users = True;"),
        ("users = 3", "users = 0", "users = 0;"),
        ("[weights]", "", "the unknown key 'Bar'"),
        ("[weights]", "[weights.all]", "gives 'all' the weight {'Bar': 3"),
        ('[weights]\n"Bar" = 3\n"Café" = 1.0', "weights = 3", "has no table of weights"),
        ('"Bar" = 3\n"Café" = 1.0', "", "is empty: it has no location"),
        ('"Bar" = 3\n"Café" = 1.0', '"Bar" = 0', "sum to 0.0"),
        ("3\n\"Café", "-3\n\"Café", "gives 'Bar' the weight -3; weights must be finite and not negative"),
        ("1.0", "nan", "gives 'Café' the weight nan"),
        ("1.0", "true", "gives 'Café' the weight True, which is not a number"),
        ("1.0", '"much"', "gives 'Café' the weight 'much', which is not a number"),
        ("1.0", "2\n\"Bar\" = 4", "is not valid TOML: Cannot overwrite a value (at line 9"),
        ("1.0", "9" * 5000, "is not valid TOML"),
        ("1.0", "[" * 100_000, "is not valid TOML"),
        ("Café", "Caf\udce9", "is not UTF-8 text at byte 9"),
    ],
)  # fmt: skip
def test_broken_files(own: Path, before: str, after: str, named: str) -> None:
    assert before in MINE
    (own / "mine.toml").write_bytes(MINE.replace(before, after).encode(errors="surrogateescape"))
    (own / "fine.toml").write_text(MINE, encoding="utf-8")
    with pytest.raises(ew.InputError, match=re.escape(named)) as raised:
        profiles.stored("mine")
    assert "mine.toml'" in str(raised.value)
    assert "\n" not in str(raised.value)
    listing = profiles.all_profiles()
    assert listing["fine"].profile["Bar"] == 0.75
    assert "mine" not in listing
    assert listing.notes == (str(raised.value),)


STEPS = f"[{', '.join(str(at / 20) for at in range(21))}]"
SPREAD = f"""
[spread]
privacy = "js"
distances = {STEPS}
places = {STEPS}
[spread.visited]
"Bar" = 0.5
"""


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (f"distances = {STEPS}", "", "has a spread without distances"),
        (f"distances = {STEPS}", "distances = [0.1, 0.2]", "the spread has 2 distances; it must have 21"),
        (f"distances = {STEPS}", "distances = 3", "the spread has distances = 3; it must be a list of 21 numbers"),
        ("distances = [0.0", "distances = [0.5", "distances that are not in ascending order"),
        ("distances = [0.0", "distances = [-0.5", "has -0.5 among its distances; each must be a number from 0 to 1"),
        ("places = [0.0", "places = ['a'", "has 'a' among its places; each must be a number that is not negative"),
        ("places = [0.0", "places = [nan", "has nan among its places"),
        ("1.0]\n[spread.v", "inf]\n[spread.v", "has inf among its places"),
        ('privacy = "js"', 'privacy = "l2"', "the spread has privacy = 'l2'; it must be one of js, variational"),
        ('privacy = "js"', "privacy = [1]", "the spread has privacy = [1]; it must be one of js, variational"),
        ('privacy = "js"', 'privat = "js"', "the unknown key 'privat' in its spread; did you mean 'privacy'?"),
        ('privacy = "js"', "others = [1]", "the spread has 1 others; it must have 21"),
        ('"Bar" = 0.5', '"Baar" = 0.5', "the spread names 'Baar', which is not a place of the profile"),
        ('"Bar" = 0.5', '"Bar" = 1.5', "the spread gives 'Bar' the share 1.5; it must be from 0 to 1"),
        ('"Bar" = 0.5', '"Bar" = true', "the spread gives 'Bar' the share True; it must be from 0 to 1"),
        ('[spread.visited]\n"Bar" = 0.5', "visited = 3", "the spread has no table of shares by place (visited)"),
    ],
)
def test_broken_spreads(own: Path, before: str, after: str, named: str) -> None:
    assert before in SPREAD
    (own / "mine.toml").write_text(MINE + SPREAD, encoding="utf-8")
    assert profiles.stored("mine").profile.spread is not None
    (own / "mine.toml").write_text(MINE + SPREAD.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ew.InputError, match=re.escape(named)) as raised:
        profiles.stored("mine")
    assert "\n" not in str(raised.value)


def test_the_users_own_win(own: Path) -> None:
    assert profiles.stored("tourist").shipped
    (own / "tourist.toml").write_text(MINE, encoding="utf-8")
    (own / ".#tourist.toml").write_text("half written", encoding="utf-8")
    (own / "tourist.toml~").write_text("older", encoding="utf-8")
    mine = profiles.stored("tourist")
    assert (mine.name, mine.label, mine.users, mine.shipped) == ("tourist", "Mine", 3, False)
    listing = profiles.all_profiles()
    assert listing["tourist"] == mine
    assert listing["student"].shipped
    assert listing.notes == ()
    # A broken one is not silently replaced by the shipped one.
    (own / "tourist.toml").write_text("", encoding="utf-8")
    assert "tourist" not in profiles.all_profiles()


def test_the_file_in_the_docs(own: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "choosing.md").read_text(encoding="utf-8")
    (own / "gardener.toml").write_text(page.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    assert profiles.stored("gardener").profile["Garden"] == 6 / 17.5


def test_a_folder_that_is_none(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE_PROFILES", str(own / "missing"))
    assert "tourist" in profiles.all_profiles()
    (own / "file").touch()
    monkeypatch.setenv("ELSEWHERE_PROFILES", str(own / "file"))
    with pytest.raises(ew.InputError, match="file' cannot be read"):
        profiles.all_profiles()


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("turist", "'turist'; did you mean 'tourist'?"),
        ("../tourist", "'../tourist'"),
        ("zzz", "the profiles are budget-"),
        ([], "[]"),
    ],
)
def test_unknown_names(own: Path, name: Any, named: str) -> None:
    with pytest.raises(ew.InputError, match=re.escape(named)):
        profiles.stored(name)


@pytest.mark.parametrize("path", ["missing.toml", ".", "a\0b.toml", 3, None])
def test_paths_that_cannot_be(own: Path, path: Any) -> None:
    with pytest.raises(ew.InputError):
        profiles.load(path)
    fine = profiles.stored("tourist")
    with pytest.raises(ew.InputError):
        profiles.save(own / "missing" / path if isinstance(path, str) else path, fine)


def test_what_is_not_saved(own: Path) -> None:
    fine = profiles.stored("tourist")
    with pytest.raises(ew.InputError, match="csv'; it must end in"):
        profiles.save(own / "mine.csv", fine)
    with pytest.raises(ew.InputError, match="cannot be written to a file"):
        profiles.save(own / "mine.toml", replace(fine, profile=ew.Profile({"\udce9": 1})))
    assert not list(own.iterdir())


def test_shipped_profiles_are_of_known_kinds_and_none_is_sensitive(own: Path) -> None:
    places = ew.Taxonomy.shipped()
    known = {spelt.casefold() for _, node in places.tree() for spelt in (node.name, *node.aliases)}
    listing = profiles.all_profiles()
    assert len(listing) == 10
    assert listing.notes == ()
    for stored in listing.values():
        assert stored.source == "Illustration written for elsewhere; not measured. The spread is made up, too."
        assert stored.profile.spread is not None
        assert stored.profile.spread.others
        assert 25 <= stored.profile.length <= 45
        assert {location.casefold() for location in stored.profile} <= known
        telling = [f"preset:{preset}" for preset in places.presets if preset not in ("all", "home", "work")]
        assert not places.select(telling, among=stored.profile)
