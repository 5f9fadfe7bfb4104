"""Plans: kinds of place in a policy, from what an export says to what a release may show."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

import elsewhere as ew
from elsewhere.histories import History
from elsewhere.model.places import Places
from elsewhere.model.question import Goal, Question
from elsewhere.solve import solve

NAMES = {"Hotel Adlon": "hotel", "Hotel Hilde": "hotel", "Museum of Glass": "museum", "Trattoria Roma": "restaurant"}
TOURIST = {"Hotel": 3, "Museum": 2, "Restaurant": 1}


def resembling(target: str | None = "tourist", goal: Goal = "resemble", **choices: object) -> ew.Policy:
    return ew.Policy.of({"goal": goal, "target": target, "max_quality_loss": 0.1, **choices})


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4).filter(any), st.sampled_from(["resemble", "avoid"]))
def test_a_target_of_kinds_is_compared_with_totals_of_kinds(counts: list[int], goal: Goal) -> None:
    history = ew.Histogram(dict(zip(NAMES, counts, strict=True)))
    result = resembling(goal=goal).plan(target=TOURIST).sanitize(history)
    assert set(result.histogram) <= set(NAMES)  # no visit to a bare kind
    best = []
    for released in product(range(history.size + 1), repeat=4):
        if sum(released) == history.size:
            release = dict(zip(NAMES, released, strict=True))
            totals = {"Hotel": released[0] + released[1], "Museum": released[2], "Restaurant": released[3]}
            if ew.distance("js", history, release) <= 0.1 + 1e-12:
                best.append(ew.distance("js", TOURIST, totals))
    assert result.privacy_distance == pytest.approx((min if goal == "resemble" else max)(best))
    assert resembling(goal=goal).plan(target=TOURIST).verify(history, result).ok


def test_kinds_are_compared_at_a_level() -> None:
    target = {"Food and drink": 1, "Restaurant": 2, "Italian Restaurant": 3, "Office": 2}
    history = ew.History(
        ew.Histogram({"Trattoria Roma": 5, "Steak Restaurant": 1, "Café Mitte": 2, "Xy": 1, "Acme": 4}), "csv",
        types={"Acme": ["work"]},
    )  # fmt: skip

    def asked(depth: int) -> Question:
        question = resembling(depth=depth).plan(target=target).question(history)
        assert isinstance(question.privacy, ew.KindDistance)
        assert "Xy" not in question.privacy.kinds
        assert question.privacy.kinds["Acme"] == "Office"  # of the wider kind only the heaviest below it can be meant
        return question

    kinds = {"Trattoria Roma": "Restaurant", "Steak Restaurant": "Restaurant", "Café Mitte": "Food and drink"}
    assert asked(2).privacy == ew.KindDistance("js", {**kinds, "Acme": "Office"})
    assert asked(2).target == {"Food and drink": 1, "Restaurant": 5, "Office": 2}
    kinds["Trattoria Roma"] = "Italian restaurant"
    assert asked(3).privacy == ew.KindDistance("js", {**kinds, "Acme": "Office"})
    assert asked(3).target == {"Food and drink": 1, "Restaurant": 2, "Italian restaurant": 3, "Office": 2}


def test_names_of_kinds_are_compared_as_they_are() -> None:
    history = {"Hotel": 1, "Café": 4, "Trattoria Roma": 2, "Gym": 1}
    question = resembling().plan(target=TOURIST).question(history)
    assert question.privacy == "js"
    assert solve(question).histogram["Museum"] > 0


@pytest.mark.parametrize(
    ("history", "target", "share"),
    [
        ({"Hotel Adlon": 3, "Xyz": 2, "Zyx": 1}, {"Hotel": 1, "Museum": 2}, "33%"),
        ({"Xyz": 2, "Zyx": 1}, {"Xyz": 1, "Abc": 2}, "33%"),
        ({"Xyz": 2, "Zyx": 1}, {"Abc": 2}, "0%"),
    ],
)
def test_a_target_that_matches_little_is_refused(history: dict[str, int], target: dict[str, int], share: str) -> None:
    with pytest.raises(ew.TargetMismatch, match=f"only {share} of the target's weight"):
        resembling().plan(target=target).question(history)
    result = resembling(allow_mismatch=True).plan(target=target).sanitize(history)
    assert "Hotel" not in result.histogram
    # Half of the weight is enough, and so are candidates.
    resembling(candidates=["Museum of Glass", "Abc"]).plan(target=target).question(history)


def test_a_target_of_unknown_places_has_no_kinds() -> None:
    plan = resembling(by="kind").plan(target={"Xyz": 3, "Hotel Adlon": 1})
    with pytest.raises(ew.TargetMismatch, match="only 25% of the target's weight is at places whose kind is known"):
        plan.question(NAMES.fromkeys(NAMES, 1))


def test_a_history_of_kinds() -> None:
    history = {"Hotel Adlon": 3, "Hotel Hilde": 1, "Klinikum Nord": 2, "Xyz": 4}
    policy = ew.Policy("hide", sensitive=("preset:health",), by="kind", depth=1)
    result = policy.plan().sanitize(history)
    assert set(result.histogram) == {"Lodging", "Unknown"}
    assert result.histogram.size == 10
    # A target of names or of other levels becomes one of kinds, too.
    aimed = resembling(by="kind", depth=1).plan(target={"Museum of Glass": 2, "Hotel": 6})
    question = aimed.question(history)
    assert question.target == {"Arts and entertainment": 2, "Lodging": 6}
    assert solve(question).histogram.size == 10


def test_a_place_that_is_called_like_a_kind_does_not_speak_for_the_kind() -> None:
    history = {"Hospital": 3, "Klinikum Nord": 2, "Bar Lu": 4}
    policy = ew.Policy("hide", sensitive=("preset:health",), kinds={"Hospital": "bar"}, by="kind")
    assert dict(policy.plan().sanitize(history).histogram) == {"Bar": 9}


def test_what_is_said_about_places_counts_most() -> None:
    read = History(ew.Histogram({"Iron Works": 3, "Willow Court 12": 5, "Apotheke": 2}), "csv", (), {
        "Iron Works": ["gym"], "Willow Court 12": ["home"]
    })  # fmt: skip
    hidden = ew.Policy("hide", sensitive=("preset:home", "preset:health"))
    assert set(hidden.plan().sanitize(read).histogram) == {"Iron Works"}
    own = ew.Policy(
        "hide", sensitive=("preset:home", "preset:health"), kinds={"apotheke ": "bar", "*works": "Hospital"}
    )
    assert set(own.plan().sanitize(read).histogram) == {"Apotheke"}
    none = ew.Policy("hide", sensitive=("preset:home", "preset:health"), kinds={"Apotheke": "none"})
    assert set(none.plan().sanitize(read).histogram) == {"Iron Works", "Apotheke"}


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"kinds": {"Apotheke": "hospitl"}}, "'hospitl', which is not in the taxonomy; did you mean 'Hospital'"),
        (
            {"kinds": {"Apotheek": "bar"}},
            "kinds names 'Apotheek', which is not in the history; did you mean 'Apotheke'",
        ),
        ({"kinds": ["bar"]}, "kinds is"),
        ({"by": "place"}, "by is 'place'; it must be one of name, kind"),
        ({"depth": 0}, "depth is 0; it must be a whole number from 1 up"),
        ({"levels": "all"}, "levels is 'all'; it must be a list of weights, or 'equal'"),
        ({"levels": [1, -1]}, "levels is -1"),
        ({"levels": [1] * 50}, "levels has 50 weights"),
        ({"allow_mismatch": True}, "allow_mismatch is for resemble and avoid, not for hide"),
    ],
)
def test_keys_about_kinds_that_make_no_sense(choices: dict[str, object], named: str) -> None:
    with pytest.raises(ew.InputError, match=named):
        ew.Policy.of({"goal": "hide", "sensitive": ["Apotheke"], **choices}).plan().question({"Apotheke": 2, "Bar": 3})


def test_a_place_that_is_missing_may_have_a_kind() -> None:
    policy = ew.Policy("hide", sensitive=("Apotheke",), kinds={"Somewhere else": "bar"})
    assert dict(policy.plan().sanitize({"Apotheke": 2, "Gym": 3}).histogram) == {"Gym": 5}


def test_distances_over_the_taxonomy() -> None:
    history, target = {"Hotel": 4, "Café": 3, "Museum": 2}, {"Hostel": 3, "Museum": 1, "Park": 2}
    shipped = ew.Taxonomy.shipped()
    for levels, own in (("equal", None), ((2.0, 1.0), (2.0, 1.0))):
        policy = resembling(levels=levels)
        found = policy.plan(target=target).sanitize(history)
        verb = ew.resemble(history, target, 0.1, taxonomy=shipped, levels=own)
        assert (found.quality_loss, found.privacy_distance) == (verb.quality_loss, verb.privacy_distance)
        assert policy.plan(target=target).verify(history, found).ok


@given(
    st.dictionaries(st.sampled_from(["Klinikum Nord", "St. Mary Church", "Café Mitte", "Bar Lu", "Xy"]),
                    st.integers(1, 6), min_size=2),
    st.sampled_from(["resemble", "avoid"]),
)  # fmt: skip
def test_counts_do_not_rise_at_places_of_sensitive_kinds(history: dict[str, int], goal: Goal) -> None:
    target = {"Klinikum Nord": 5, "St. Mary Church": 4, "Café Mitte": 1, "Bar Lu": 1}
    delicate = ("Klinikum Nord", "St. Mary Church")
    plan = resembling(goal=goal, max_quality_loss=0.3, allow_mismatch=True)
    careful = plan.plan(target=target).sanitize(history)
    assert all(careful.histogram[name] <= history.get(name, 0) for name in delicate)
    assert not any("warning" in note for note in careful.notes)
    policy = resembling(goal=goal, max_quality_loss=0.3, allow_mismatch=True, allow_sensitive_rise=True)
    free = policy.plan(target=target).sanitize(history)
    rose = [name for name in delicate if free.histogram[name] > history.get(name, 0)]
    warned = [note for note in free.notes if note.startswith("warning: the release adds visits")]
    assert bool(warned) == bool(rose)
    assert all(f"'{name}'" in warned[0] for name in rose)


def test_a_bound_or_a_candidate_insists_on_a_rise() -> None:
    history, target = {"Klinikum Nord": 2, "Xy": 4}, {"Klinikum Nord": 5, "Xy": 1}
    bound = resembling(max_quality_loss=1.0, lower={"Klinikum Nord": 4}).plan(target=target)
    assert bound.sanitize(history).histogram["Klinikum Nord"] == 4
    named = resembling(max_quality_loss=1.0, candidates=["Klinikum Nord"]).plan(target=target)
    assert named.sanitize(history).histogram["Klinikum Nord"] == 5


def test_home_and_work_are_not_watched() -> None:
    shipped = ew.Taxonomy.shipped()
    assert isinstance(shipped, Places)
    assert shipped.often_sensitive(["Home", "Office", "Hospital", "Café"]) == {"Hospital"}


def test_kinds_are_a_part_of_the_file(tmp_path: Path) -> None:
    policy = resembling(kinds={"Ty's": "Gay bar"}, by="kind", depth=3, levels=[1.0, 2.0], allow_sensitive_rise=True)
    policy.save(tmp_path / "policy.toml")
    assert ew.Policy.load(tmp_path / "policy.toml") == policy
    assert policy.fingerprint() != resembling().fingerprint()


@pytest.mark.parametrize(
    ("sensitive", "depth", "left"),
    [
        ("Health care", 2, {"Café", "Hotel", "Adult entertainment venue", "Beach"}),  # also places of exactly that kind
        ("preset:sex-life", 2, {"Café", "Hotel", "Hospital", "Health care", "Pharmacy"}),
        ("preset:all", 1, {"Food and drink", "Lodging"}),  # a kind that holds a sensitive place is hidden whole
        ("Nudist Beach Sylt", 2, {"Café", "Hotel", "Hospital", "Health care", "Pharmacy", "Adult entertainment venue"}),
    ],
)
def test_no_kind_that_holds_a_sensitive_place_is_left(sensitive: str, depth: int, left: set[str]) -> None:
    history = {"St Mary Hospital": 3, "Lindenapotheke": 2, "Joe's Cafe": 5, "Health Care Center": 1, "Grand Hotel": 2,
               "Strip Club Pink": 4, "Nudist Beach Sylt": 2}  # fmt: skip
    plan = ew.Policy("hide", sensitive=(sensitive,), by="kind", depth=depth).plan()
    found = plan.sanitize(history).histogram
    assert set(found) <= left
    assert found.size == 19
    watching = resembling(by="kind", depth=1, max_quality_loss=0.5).plan(target={"Bar": 9, "Beach": 1})
    assert watching.sanitize(history).histogram["Nightlife"] <= 4


def test_names_of_an_export_are_no_patterns() -> None:
    history = History(ew.Histogram({"M*": 2, "Mercy Hospital": 1, "Gym": 1}), "swarm", (), {"M*": ["Bar"]})
    found = ew.Policy("hide", sensitive=("preset:health",)).plan().sanitize(history).histogram
    assert set(found) == {"M*", "Gym"}


def test_a_name_of_two_venues_may_be_either_kind() -> None:
    history = History(ew.Histogram({"Phoenix": 2, "Gym": 1}), "swarm", (), {"Phoenix": ["Bar", "Hospital"]})
    for preset in ("preset:health", "bar"):
        assert set(ew.Policy("hide", sensitive=(preset,)).plan().sanitize(history).histogram) == {"Gym"}


def test_a_kind_that_another_taxonomy_has_erases_nothing() -> None:
    own = ew.Taxonomy.parse("own.txt", b"Alpha\nBeta\n")
    history = History(ew.Histogram({"Tys": 2, "Gym": 1}), "csv", (), {"Tys": ["Hospital"]})
    policy = ew.Policy("hide", sensitive=("preset:health",), kinds={"Tys": "Alpha"})
    assert set(policy.plan(taxonomy=own).sanitize(history).histogram) == {"Gym"}


@pytest.mark.parametrize("by", ["name", "kind"])
def test_what_is_said_about_a_place_does_not_change_the_target(by: str) -> None:
    target, others = {"Bar": 5, "Hotel": 5}, {"Joe's Pub": 3, "Grand Hotel": 2, "Inn Nr 7": 1, "Xyz": 1}
    found = [
        resembling(by=by, kinds={place: "Hotel"}, max_quality_loss=0.3)
        .plan(target=target)
        .sanitize({place: 5, **others})
        for place in ("Bar", "Bax")
    ]
    assert found[0].privacy_distance == found[1].privacy_distance
    none = resembling(kinds={"*bar*": "none"}, max_quality_loss=0.3, allow_mismatch=True).plan(target=target)
    assert none.sanitize(others).histogram.size == 7


def test_two_nodes_of_one_name_are_no_kind() -> None:
    own = ew.Taxonomy.parse("own.csv", b"id,name,parent_id\na,A,\nb,B,\no,Other,a\np,Other,b\n")
    plan = resembling(allow_mismatch=True).plan(target={"Other": 1, "A": 1}, taxonomy=own)
    assert plan.sanitize({"x": 3, "y": 2}).histogram.size == 5


def test_places_in_a_taxonomy_of_ones_own_are_no_kinds() -> None:
    own = ew.Taxonomy.parse("own.txt", b"Eat\n  B Cafe\n  C Diner\nLodge\n  A Inn\n")
    history = {"B Cafe": 4, "C Diner": 3, "A Inn": 2}
    found = (
        resembling(max_quality_loss=0.2, depth=1).plan(target={"Eat": 1, "Lodge": 3}, taxonomy=own).sanitize(history)
    )
    assert set(found.histogram) <= set(history)
    with pytest.raises(ew.TargetMismatch):
        resembling().plan(target={"Hotel": 1}).question({"Home": 20, "Work": 15, "Klinikum Nord": 2, "Cafe A": 3})


def test_candidates_in_any_spelling() -> None:
    target = {"Museum": 5, "Hotel": 1}
    plans = [resembling(candidates=[name], max_quality_loss=0.5) for name in ("Museum", "museum ")]
    found = [plan.plan(target=target).sanitize({"Hotel Adlon": 3, "Xy": 2}) for plan in plans]
    assert found[0].privacy_distance == found[1].privacy_distance
    assert found[0].histogram.length > 2
    kinds = resembling(by="kind", candidates=["Museum of Glass"], max_quality_loss=0.5).plan(target=target)
    assert "Museum of Glass" not in kinds.sanitize({"Hotel Adlon": 3, "Xy": 2}).histogram


def test_places_of_the_target_and_of_other_months_may_have_kinds() -> None:
    kinds = {"Place 13": "Hotel", "Place 14": "Museum", "Hall 12": "Museum", "Hall 13": "Museum"}
    plan = resembling(by="kind", kinds=kinds).plan(target={"Place 13": 1, "Place 14": 1})
    assert plan.sanitize({"Hall 13": 3, "Grand Hotel": 1}).histogram.size == 4


def test_places_of_an_earlier_release_are_asked_about_anew() -> None:
    plan = ew.Policy("resemble", target="tourist", max_quality_loss=0.05).plan()
    before = plan.names_asked(["café"])
    later = plan.continuing(ew.Histogram({"Northside Clinic": 3})).names_asked(["café"])
    assert later.fixed - before.fixed == {"Northside Clinic"}
