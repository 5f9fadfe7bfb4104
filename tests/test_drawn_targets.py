"""Drawn releases of resemble and avoid: what is promised about them, how likely each is, and what is refused."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere import drawing_targets, profiles
from elsewhere.model.histogram import Profile
from elsewhere.model.keys import Key
from elsewhere.model.question import Question
from elsewhere.model.spread import Spread
from tests.support.chances import CHI_SQUARE, chi_square, key_number
from tests.support.command import HISTORY, Run, rows, run
from tests.support.instances import DISTANCES, targetings

__all__ = ["run"]

KEY = bytes(range(32))
STEPS = [Fraction(at, 20) for at in range(21)]
BOB = {"a": 6, "b": 2, "x": 3, "y": 1}
SPREAD = Spread(
    visited={"a": 0.9, "b": 0.5, "c": 0.25, "d": 0.5, "e": 0.125},
    distances=tuple(0.1 + 0.04 * at for at in range(21)),
    places=(1, 2, *[2] * 4, *[3] * 8, *[4] * 4, 4, 5, 5),
    others=tuple(0.3 + 0.03 * at for at in range(21)),
)
PROFILE = Profile({"a": 3, "b": 2, "c": 2, "d": 2, "e": 1}, SPREAD)


def spreads(places: list[str]) -> st.SearchStrategy[Spread]:
    def ascending(most: float) -> st.SearchStrategy[tuple[float, ...]]:
        return st.lists(st.floats(0.0, most), min_size=21, max_size=21).map(lambda values: tuple(sorted(values)))

    shares = st.fixed_dictionaries({place: st.sampled_from([0.0, 0.1, 0.5, 1.0]) for place in places})
    return st.builds(Spread, shares, ascending(1.0), ascending(4.0), ascending(1.0))


@pytest.mark.parametrize("goal", ["resemble", "avoid"])
@settings(max_examples=150)
@given(data=st.data(), quality=st.sampled_from(DISTANCES))
def test_every_promise_is_kept(goal: str, data: st.DataObject, quality: str) -> None:
    instance = data.draw(targetings(quality).filter(lambda it: "size" not in it.asked))
    assert instance.target is not None
    target = Profile(instance.target, data.draw(spreads(sorted(instance.target))))
    assert target.spread is not None
    secret = data.draw(st.binary(min_size=16, max_size=16))
    whose = target.spread.distances if goal == "resemble" else target.spread.others
    limit = data.draw(st.none() | st.floats(whose[0], whose[-1]))
    asked = {**instance.asked, "quality": quality}
    name = "max_distance" if goal == "resemble" else "min_distance"
    met = {name: limit if limit is not None else whose[-1 if goal == "resemble" else 0]}

    def answer(**more: Any) -> ew.Sanitized:
        verb = ew.resemble if goal == "resemble" else ew.avoid
        return verb(instance.histogram, target, **asked, **more)

    try:
        drawn = answer(method="drawn", key=secret, **{name: limit})
    except (ew.Infeasible, ew.PrivacyNotMet):
        return
    check = ew.verify(instance.histogram, drawn, target=target, **asked, **met)  # type: ignore[arg-type]
    assert check.problems == []
    assert drawn.status == "feasible"
    best = answer(aim="least-loss", **met)
    assert drawn.regret is not None
    assert math.isclose(drawn.quality_loss - drawn.regret, best.quality_loss, abs_tol=1e-9)
    assert drawn.quality_loss <= instance.asked["max_quality_loss"] + 1e-9
    assert not any(drawn.histogram[place] for place in instance.asked.get("sensitive", ()))
    new = [place for place in drawn.histogram if not instance.histogram[place]]
    # At own places, and where somebody said so; in resemble also where some member is.
    said = {*instance.asked["candidates"], *instance.asked.get("lower", {}), *instance.histogram}
    members = {place for place, share in target.spread.visited.items() if share} if goal == "resemble" else set()
    assert set(new) <= said | members
    assert answer(method="drawn", key=secret, **{name: limit}).histogram == drawn.histogram


def quantile(values: Sequence[float], chance: Fraction) -> Fraction:
    at = min(int(chance * 20), 19)
    low, high = Fraction(values[at]), Fraction(values[at + 1])
    return low + (chance * 20 - at) * (high - low)


def numbers_of_places(values: Sequence[float]) -> dict[int, Fraction]:
    """How likely each number of places is, by cutting the chances finely and exactly: steps are of halves."""
    found: dict[int, Fraction] = {}
    cells = 20 * 16
    for cell in range(cells):
        middle = (Fraction(cell) + Fraction(1, 2)) / cells
        number = math.floor(quantile(values, middle) + Fraction(1, 2))
        found[number] = found.get(number, Fraction(0)) + Fraction(1, cells)
    return found


def chances_of_sets(shares: dict[str, float], number: int) -> dict[frozenset[str], Fraction]:
    """How likely each set is if places are drawn one after the other, without replacement."""
    found: dict[frozenset[str], Fraction] = {}
    for order in permutations(shares, min(number, len(shares))):
        chance, left = Fraction(1), sum(map(Fraction, shares.values()))
        for place in order:
            chance *= Fraction(shares[place]) / left
            left -= Fraction(shares[place])
        found[frozenset(order)] = found.get(frozenset(order), Fraction(0)) + chance
    return found


def draws(at: int, limit: float | None = None, **more: Any) -> Iterator[drawing_targets.Draw]:
    question = Question(
        "resemble", ew.Histogram(BOB), PROFILE, max_quality_loss=0.5, distance_limit=limit, method="drawn", **more
    )
    return drawing_targets.draws_near(question, Key(key_number(at)))


def opened(draw: drawing_targets.Draw) -> frozenset[str]:
    places = zip(draw.problem.locations, draw.problem.original.tolist(), draw.problem.upper.tolist(), strict=True)
    return frozenset(name for name, count, most in places if most and not count)


@pytest.mark.parametrize("sensitive", [(), ("b", "c")])
def test_places_are_drawn_as_members_have_them(sensitive: tuple[str, ...]) -> None:
    """The number from the quantiles, the places one after the other by their shares; what is sensitive is left out."""
    had = {"a", "b"} - set(sensitive)
    missing = {place: share for place, share in SPREAD.visited.items() if place not in had.union(sensitive)}
    wanted: dict[frozenset[str], Fraction] = {}
    for number, chance in numbers_of_places(SPREAD.places).items():
        for places, part in chances_of_sets(missing, max(0, number - len(had))).items():
            wanted[places] = wanted.get(places, Fraction(0)) + chance * part
    assert sum(wanted.values()) == 1
    seen = Counter(opened(next(draws(at, sensitive=sensitive))) for at in range(2000))
    assert chi_square(seen, wanted) < CHI_SQUARE[len(wanted) - 1 + (len(wanted) - 1) % 2]
    # The next draw is another one, and just as likely.
    again = Counter(opened(list(draws(at, sensitive=sensitive))[7]) for at in range(400))
    assert chi_square(again, wanted) < CHI_SQUARE[len(wanted) - 1 + (len(wanted) - 1) % 2]


@pytest.mark.parametrize("limit", [None, 0.55, 0.14, 0.1])
def test_distances_are_drawn_as_members_have_them_up_to_the_limit(limit: float | None) -> None:
    most = SPREAD.distances[-1] if limit is None else limit
    drawn = sorted(next(draws(at, limit)).distance for at in range(1000))
    assert SPREAD.distances[0] <= drawn[0] <= drawn[-1] <= most
    # Here the distances are uniform, and so they are below a limit.
    width = most - SPREAD.distances[0]
    apart = max(abs((value - SPREAD.distances[0]) - width * at / 1000) for at, value in enumerate(drawn))
    assert apart <= width * 1.95 / math.sqrt(1000)  # Kolmogorov and Smirnov, 1 in 1000


def test_a_skewed_spread_is_followed_too() -> None:
    quantiles = (0.0, *[0.2] * 10, *(0.2 + 0.08 * at for at in range(1, 11)))
    for least, most in ((-math.inf, math.inf), (0.1, 0.6), (0.2, 0.2), (0.3, 0.9), (0.0, 0.15)):
        grid = [drawing_targets.drawn_from(quantiles, (at + 0.5) / 2000, least, most) for at in range(2000)]
        fine = (float(quantile(quantiles, Fraction(2 * at + 1, 4000))) for at in range(2000))
        kept = sorted(value for value in fine if least <= value <= most)
        for at in range(0, len(kept), 50):
            wanted = kept[at]
            found = grid[int((at + 0.5) / len(kept) * 2000)]
            assert found == pytest.approx(wanted, abs=0.01)


def releases(places: list[str], size: int) -> Iterator[dict[str, int]]:
    for visits in combinations_with_replacement(places, size):
        yield {place: visits.count(place) for place in places}


def least_at(history: dict[str, int], target: Profile, places: list[str], goal: str, wanted: float) -> float:
    """The least quality loss that meets a distance at some places, by looking at every histogram."""
    losses = [math.inf]
    size = sum(history.values())
    for release in releases(places, size):
        reached = ew.distance("js", {place: weight * size for place, weight in target.items()}, release)
        if reached <= wanted + 1e-12 if goal == "resemble" else reached >= wanted - 1e-12:
            losses.append(ew.distance("js", history, release))
    return min(losses)


def test_the_release_is_the_least_loss_at_what_the_first_draw_that_fits_has() -> None:
    history, limit, c = {"a": 1, "x": 4, "y": 1}, 0.17, 0.7
    question = Question("resemble", ew.Histogram(history), PROFILE, limit, c, method="drawn")
    tried, none = Counter[int](), 0
    for at in range(25):
        losses = []
        for draw in drawing_targets.draws_near(question, Key(key_number(at))):
            losses.append(least_at(history, PROFILE, [*history, *opened(draw)], "resemble", draw.distance))
            if losses[-1] <= limit:
                break
        asked: dict[str, Any] = {"max_distance": c, "method": "drawn", "key": key_number(at)}
        enough = limit
        if losses[-1] > limit:
            none += 1
            with pytest.raises(ew.PrivacyNotMet, match="none of 15 draws can be met") as error:
                ew.resemble(history, PROFILE, limit, **asked)
            enough = error.value.needed_quality_loss
            assert enough == pytest.approx(min(losses), abs=1e-9)
        result = ew.resemble(history, PROFILE, enough, **asked)
        assert result.quality_loss == pytest.approx(losses[-1] if enough == limit else enough, abs=1e-9)
        tried[len(losses)] += 1
    assert len(tried) > 3
    assert 0 < none < 20


def test_avoid_is_the_least_loss_at_own_places_with_a_distance_of_others_that_the_limit_allows() -> None:
    history, limit, c = {"a": 4, "b": 1, "x": 1, "y": 1}, 0.12, 0.42
    size = sum(history.values())
    scaled = {place: weight * size for place, weight in PROFILE.items()}
    reach = max(
        ew.distance("js", scaled, release)
        for release in releases([*history], size)
        if ew.distance("js", history, release) <= limit
    )
    assert c < reach < SPREAD.others[-1]
    drawn = []
    for at in range(60):
        result = ew.avoid(history, PROFILE, limit, min_distance=c, method="drawn", key=key_number(at))
        assert set(result.histogram) <= set(history)
        question = Question("avoid", ew.Histogram(history), PROFILE, limit, c, method="drawn")
        drawn.append(drawing_targets.distance_afar(question, Key(key_number(at)), reach))
        assert c <= drawn[-1] <= reach
        assert result.quality_loss == pytest.approx(least_at(history, PROFILE, [*history], "avoid", drawn[-1]))
    drawn.sort()  # the distances of others are uniform here
    apart = max(abs((value - c) - (reach - c) * at / 60) for at, value in enumerate(drawn))
    assert apart < (reach - c) * 1.95 / math.sqrt(60)
    # What another place of the profile would make possible, own ones do not.
    assert set(ew.avoid({"a": 4, "b": 3}, PROFILE, min_distance=0.65).histogram) == {"e"}
    with pytest.raises(
        ew.PrivacyNotMet, match="the draw cannot be met at a quality loss of at most 1; no quality loss"
    ):
        ew.avoid({"a": 4, "b": 3}, PROFILE, 1.0, min_distance=0.65, method="drawn", key=KEY)


def test_the_same_in_any_order_and_spelling_and_another_with_another_key() -> None:
    def answer(history: dict[str, int], target: Any, key: bytes = KEY) -> dict[str, int]:
        result = ew.resemble(history, target, 0.4, max_distance=0.6, method="drawn", key=key)
        return {place.lower(): count for place, count in sorted(result.histogram.items(), key=str)}

    here = answer(BOB, PROFILE)
    assert answer(dict(reversed(BOB.items())), pickle.loads(pickle.dumps(PROFILE))) == here
    shouted = Profile(
        {place.upper(): weight for place, weight in PROFILE.items()},
        replace(SPREAD, visited={f" {place.upper()} ": share for place, share in SPREAD.visited.items()}),
    )
    assert answer({place.upper(): count for place, count in BOB.items()}, shouted) == here
    assert answer(BOB, Profile({**PROFILE, "never": 0.0}, SPREAD)) == here
    assert len({str(answer(BOB, PROFILE, key_number(at))) for at in range(20)}) > 12
    assert len({str(answer({**BOB, "z": more}, PROFILE)) for more in range(1, 5)}) == 4


def test_a_bound_that_is_too_high_is_found_out() -> None:
    for verb, name, limit in ((ew.resemble, "max_distance", 0.45), (ew.avoid, "min_distance", 0.66)):
        asked: dict[str, Any] = {"target": PROFILE, "max_quality_loss": 0.4, name: limit}
        result = verb(BOB, **asked, method="drawn", key=KEY)
        assert result.regret is not None
        assert result.regret > 1e-3
        assert ew.verify(BOB, result, **asked).ok
        claimed = replace(result, bound=result.bound + result.regret / 2, gap=result.regret / 2)
        assert not ew.verify(BOB, claimed, **asked).ok
        assert not ew.verify(BOB, result, **{**asked, "max_quality_loss": result.quality_loss - 1e-6}).ok


def test_with_a_target_of_kinds_only_kinds_of_own_places_and_candidates_are_there() -> None:
    history = {"Hotel Adlon": 2, "Café Kranzler": 9, "Office Nord": 14}
    kinds = {"Hotel Adlon": "Hotel", "Café Kranzler": "Café", "Louvre": "Museum", "Prado": "Museum", "Tate": "Museum"}
    tourist = profiles.stored("tourist")
    drawn = [
        ew.resemble(
            history, tourist, 0.4, privacy=ew.KindDistance("js", kinds), method="drawn", max_distance=0.75,
            candidates=["Louvre", "Prado"], key=key_number(at),
        )
        for at in range(10)
    ]  # fmt: skip
    places = {place for result in drawn for place in result.histogram}
    assert {"Louvre"} <= places <= {*history, "Louvre", "Prado"}


def test_policies_by_kind_and_by_name() -> None:
    history = {"Hotel Adlon": 2, "Café Kranzler": 9, "Office": 14, "Louvre Museum": 1, "Central Park": 3}
    policy = ew.Policy(
        "resemble", target="tourist", max_quality_loss=0.3, max_distance=0.7, method="drawn", allow_mismatch=True
    )
    plan, of_kinds = policy.plan(), replace(policy, by="kind").plan()
    added = []
    for at in range(10):
        result = plan.with_key(Key(key_number(at))).sanitize(history)
        assert (result.status, plan.verify(history, result).problems) == ("feasible", [])
        assert set(result.histogram) <= set(history)
        result = of_kinds.with_key(Key(key_number(at))).sanitize(history)
        assert of_kinds.verify(history, result).problems == []
        assert any("the spread of their kinds was estimated" in note for note in result.notes)
        added.append(set(result.histogram) - set(of_kinds.counted(ew.Histogram(history))))
    assert sum(map(bool, added)) > 3
    with pytest.raises(ew.InputError, match="a frontier cannot be drawn"):
        plan.frontier(history, [0.1])


def test_merged_kinds_are_visited_at_least_as_often() -> None:
    merged = SPREAD.by_kind(lambda place: "ab" if place in "ab" else place)
    assert dict(merged.visited) == pytest.approx({"ab": 0.95, "c": 0.25, "d": 0.5, "e": 0.125})
    assert (merged.merged, merged.distances) == (True, SPREAD.distances)
    assert merged.places[-1] == pytest.approx(5 * (0.95 + 0.875) / (1.4 + 0.875))
    renamed = SPREAD.by_kind(str.upper)
    assert (renamed.merged, renamed.places, renamed.visited["A"]) == (False, SPREAD.places, 0.9)


def test_a_stored_profile_is_a_target_wherever_one_is_taken() -> None:
    history, tourist = {"Hotel": 3, "Office": 14, "Café": 9}, profiles.stored("tourist")
    for verb in (ew.resemble, ew.avoid):
        assert verb(history, tourist, 0.05) == verb(history, tourist.profile, 0.05)
    assert ew.frontier(history, tourist, [0.01]) == ew.frontier(history, tourist.profile, [0.01])
    assert ew.verify(history, ew.resemble(history, tourist, 0.05), target=tourist, max_quality_loss=0.05).ok
    policy = ew.Policy("resemble", target="student", max_quality_loss=0.05)
    assert policy.plan(target=tourist).sanitize(history) == policy.plan(target=tourist.profile).sanitize(history)
    assert Profile(tourist) == tourist.profile
    # A bare profile does not say how many users it was learned from: nobody is sent to its places.
    asked: dict[str, Any] = {"method": "drawn", "key": KEY}
    assert set(ew.hide(history, ["Office"], popularity=tourist.profile, **asked).histogram) == {"Café", "Hotel"}
    assert set(ew.hide(history, ["Office"], popularity=tourist, **asked).histogram) > {"Café", "Hotel"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"max_quality_loss": None, "max_distance": 0.5}, "method='drawn' needs max_quality_loss"),
        ({"max_quality_loss": math.inf}, "method='drawn' needs max_quality_loss"),
        ({"target": {"a": 1}}, "method='drawn' needs a target with a spread: a shipped profile, or one"),
        ({"target": Profile({"a": 1})}, "needs a target with a spread"),
        ({"aim": "near"}, "leave aim out"),
        ({"privacy": "variational"}, "privacy is 'variational', but the distances of the target's members are by 'js'"),
        ({"privacy": ew.SmoothedJS({("a", "b"): 0.5})}, "does not support a SmoothedJS"),
        ({"quality": ew.SmoothedJS({("a", "b"): 0.5})}, "does not support a SmoothedJS"),
        ({"max_distance": 0.05}, "max_distance is 0.05, but no member of the profile is nearer than 0.1"),
        ({"size": "target"}, "a profile has only shares"),
        ({"key": "secret"}, "key must be a Key, or bytes"),
    ],
)
def test_what_cannot_be_drawn(arguments: dict[str, Any], named: str) -> None:
    asked = {"target": PROFILE, "max_quality_loss": 0.3, "method": "drawn", "key": KEY, **arguments}
    with pytest.raises(ew.InputError) as error:
        ew.resemble(BOB, **asked)
    assert named in str(error.value)
    assert "secret" not in str(error.value)


def test_what_cannot_be_drawn_afar() -> None:
    alone = Profile(PROFILE, replace(SPREAD, others=()))
    with pytest.raises(ew.InputError, match="whose spread has the distances of others"):
        ew.avoid(BOB, alone, 0.3, method="drawn", key=KEY)
    with pytest.raises(ew.InputError, match=r"min_distance is 0\.95, but nobody is farther from the profile than 0\.9"):
        ew.avoid(BOB, PROFILE, 0.3, min_distance=0.95, method="drawn", key=KEY)
    with pytest.raises(ew.InputError, match="popularity is for hide, not for avoid"):
        ew.Policy("avoid", target="tourist", max_quality_loss=0.1, method="drawn", popularity="tourist")
    with pytest.raises(ew.InputError, match="max_quality_loss"):
        ew.Policy("avoid", target="tourist", min_distance=0.1, method="drawn")


def test_a_history_that_meets_what_was_drawn_is_not_saved_as_a_release(tmp_path: Path) -> None:
    near = Profile(PROFILE, replace(SPREAD, distances=(0.99,) * 21))
    result = ew.resemble(BOB, near, 0.3, method="drawn", key=b"short")
    assert result.unchanged
    assert any("the key has fewer than 16 bytes" in note for note in result.notes)
    with pytest.raises(ew.Unchanged, match="equals your history, which meets what was drawn"):
        result.save(tmp_path / "release.csv")


def test_commands_draw_and_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELSEWHERE_KEY", raising=False)
    members = {str(at): {"café": 1 + at % 5, "museum": at % 3, "zoo": at % 2, "gym": 2} for at in range(40)}
    others = {str(at): {"gym": 1 + at % 5, "park": at % 3, "office": at % 7} for at in range(40)}
    stored = replace(profiles.learn(members), name="visitor")
    profile = profiles.spread_of(stored, members, others=others)
    profiles.save("visitor.toml", replace(stored, profile=profile))
    secret = bytes(range(32))
    Path("key").write_text(secret.hex(), encoding="ascii")
    for goal, limit in (("resemble", "--max-distance"), ("avoid", "--min-distance")):
        asked = [goal, "history.csv", "--target", "visitor.toml", "--max-quality-loss", "0.2", limit, "0.4"]
        drawn = ["--method", "drawn", "--key-file", "key", "--allow-mismatch"]
        status, _, told = run(*asked, *drawn, "-o", f"{goal}.csv", "--report", "report.json")
        assert (status, "Drawn at random: the quality loss is" in told) == (0, True), told
        limits = {limit[2:].replace("-", "_"): 0.4, "max_quality_loss": 0.2}
        policy = ew.Policy(goal, target="visitor.toml", method="drawn", allow_mismatch=True, **limits)  # type: ignore[arg-type]
        wanted = policy.plan().with_key("key").sanitize(HISTORY)
        assert rows(f"{goal}.csv") == dict(wanted.histogram)
        report = json.loads(Path("report.json").read_text(encoding="utf-8"))
        assert (report["policy"]["method"], report["regret"]) == ("drawn", pytest.approx(wanted.regret))
        assert secret.hex() not in json.dumps(report)
        assert run("verify", "history.csv", f"{goal}.csv", "--report", "report.json", "--quiet")[0] == 0
    assert "--key-file is for --method drawn only" in run(*asked, "--key-file", "key", "--allow-mismatch")[2]
    ew.Policy("resemble", target="visitor.toml", max_quality_loss=0.2, method="drawn").save("policy.toml")
    assert "a frontier cannot be drawn" in run("frontier", "history.csv", "--policy", "policy.toml")[2]
    assert "Half of the members visit" in run("profile", "show", "visitor.toml")[1]
