"""Drawn releases: what is promised about them, how likely each is, and that the key is nowhere but in its file."""

from __future__ import annotations

import base64
import json
import math
import os
import stat
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere import drawing, profiles
from elsewhere.model.keys import Key
from elsewhere.popularity import popularity_of
from tests.support.chances import CHI_SQUARE, chi_square, key_number
from tests.support.command import HISTORY, Run, rows, run
from tests.support.instances import DISTANCES, bumpy, hidings

__all__ = ["run"]

KEY = bytes(range(32))
ALICE = {"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3}
WEIGHTS = {"a": 1.0, "b": 5.0, "d": 2.0}
TINY = {"a": 3, "b": 1, "c": 1, "s": 3}


def mixture(own: dict[str, int], popularity: dict[str, float]) -> dict[str, Fraction]:
    """The probability of each place by the formula, in fractions."""
    shares = {place: Fraction(count, sum(own.values())) for place, count in own.items()}
    total = sum(Fraction(popularity[place]) for place in own if place in popularity)
    known = sum(shares[place] for place in own if place in popularity)
    followed = {place: Fraction(weight) * known / total for place, weight in popularity.items()}
    return {place: (4 * shares[place] + followed.get(place, shares[place])) / 5 for place in own}


@settings(max_examples=150)
@given(instance=hidings(), quality=st.sampled_from([*DISTANCES, bumpy]), secret=st.binary(min_size=16, max_size=16))
def test_a_drawn_release_keeps_every_promise_but_the_least_loss(instance, quality, secret) -> None:  # type: ignore[no-untyped-def]
    try:
        best = ew.hide(instance.histogram, quality=quality, **instance.asked)
    except ew.Infeasible:
        with pytest.raises(ew.Infeasible):
            ew.hide(instance.histogram, quality=quality, method="drawn", key=secret, **instance.asked)
        return
    drawn = ew.hide(instance.histogram, quality=quality, method="drawn", key=secret, **instance.asked)
    assert ew.verify(instance.histogram, drawn, quality=quality, **instance.asked).problems == []
    assert drawn.status == "feasible"
    assert drawn.regret is not None
    assert math.isclose(drawn.quality_loss - drawn.regret, best.quality_loss, abs_tol=1e-12)
    for place, count in instance.histogram.items():
        least = 0 if place in instance.asked["sensitive"] else count
        assert drawn.histogram[place] >= min(least, instance.asked.get("upper", {}).get(place, least))
    assert drawn.histogram.size == best.histogram.size


def test_the_same_question_has_the_same_answer_in_another_process_and_in_any_order_and_spelling() -> None:
    here = ew.hide(ALICE, {"g", "h"}, method="drawn", key=KEY).histogram
    assert dict(here) == {"a": 8, "b": 2, "c": 5, "d": 3, "e": 18, "f": 14}
    program = (
        "import elsewhere as ew; print(dict(ew.hide(dict(h=3,g=8,f=12,e=13,d=2,c=3,b=2,a=7), ['h','g'],"
        f"method='drawn', key={KEY!r}).histogram))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert told.stdout.strip() == str(dict(here))
    shouted = ew.hide({place.upper(): count for place, count in ALICE.items()}, {"G", "h"}, method="drawn", key=KEY)
    assert {place.lower(): count for place, count in shouted.histogram.items()} == dict(here)


def test_another_key_or_another_history_has_another_draw() -> None:
    keys = {tuple(ew.hide(ALICE, {"g", "h"}, method="drawn", key=key_number(at)).histogram.items()) for at in range(20)}
    assert len(keys) > 15
    received = {
        tuple(ew.hide({**ALICE, "g": 8 + more, "h": 3 - more}, {"g", "h"}, method="drawn", key=KEY).histogram.items())
        for more in range(4)
    }
    assert len(received) == 4  # of the same visits to the same places


def test_more_visits_continue_the_same_draw() -> None:
    # So nobody who sees releases of one history with several sizes can average the draws.
    sizes = [ew.hide(ALICE, {"g", "h"}, method="drawn", key=KEY, redistribute=many).histogram for many in range(12)]
    for smaller, larger in pairwise(sizes):
        assert all(larger[place] >= count for place, count in smaller.items())


def test_visits_follow_the_mixture() -> None:
    own = {place: count for place, count in ALICE.items() if place not in "gh"}
    seen: Counter[tuple[int, ...]] = Counter()
    for at in range(300):
        release = ew.hide(ALICE, {"g", "h"}, method="drawn", popularity=WEIGHTS, key=key_number(at)).histogram
        for number, place in enumerate(own):
            seen[(number,)] += release[place] - own[place]
    shares = mixture(own, WEIGHTS)
    wanted: dict[tuple[int, ...], Fraction] = {(number,): shares[place] for number, place in enumerate(own)}
    assert chi_square(seen, wanted) < CHI_SQUARE[5]
    assert chi_square(seen, {at: Fraction(own[place], 39) for at, place in zip(wanted, own, strict=True)}) > 40.0


@pytest.mark.parametrize("way", ["whole draws", "listed", "walked"])
@pytest.mark.parametrize(
    "condition", [{"max_quality_loss": 0.245}, {"upper": {"a": 4}}, {"forbidden": [{"a": 6, "b": 1, "c": 1}]}]
)
def test_conditions_leave_the_draws_as_likely_as_they_were_to_each_other(
    way: str, condition: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if way != "whole draws":
        monkeypatch.setattr(drawing, "_TRIES", 1)
    if way == "walked":
        monkeypatch.setattr(drawing, "_LISTED", 0)
    shares = mixture({"a": 3, "b": 1, "c": 1}, {"a": 1.0, "c": 3.0})
    wanted: dict[tuple[int, ...], Fraction] = {}
    for places in product("abc", repeat=3):
        counts = {place: TINY[place] + places.count(place) for place in "abc"}
        if ew.verify(TINY, counts, sensitive={"s"}, **condition).ok:  # type: ignore[arg-type]
            chance = math.prod(shares[place] for place in places)
            at = tuple(counts.values())
            wanted[at] = wanted.get(at, Fraction(0)) + Fraction(chance)
    assert 2 < len(wanted) < 10
    total = sum(wanted.values())
    wanted = {at: chance / total for at, chance in wanted.items()}
    seen: Counter[tuple[int, ...]] = Counter()
    for number in range(600):
        result = ew.hide(
            TINY, {"s"}, method="drawn", popularity={"a": 1, "c": 3}, key=key_number(number), **condition  # type: ignore[arg-type]
        )  # fmt: skip
        seen[tuple(result.histogram[place] for place in "abc")] += 1
    assert chi_square(seen, wanted) < CHI_SQUARE[len(wanted) - 1]


def test_a_limit_near_the_least_loss_is_kept_and_one_below_is_refused() -> None:
    history = {f"place {at}": 5 + at for at in range(30)} | {"clinic": 60}
    best = ew.hide(history, {"clinic"})
    limit = best.quality_loss + 1e-5
    result = ew.hide(history, {"clinic"}, method="drawn", key=KEY, max_quality_loss=limit)
    assert best.quality_loss < result.quality_loss <= limit
    assert any("few draws satisfy all limits" in note for note in result.notes)
    assert ew.verify(history, result, sensitive={"clinic"}, max_quality_loss=limit).ok
    assert not ew.verify(history, result, sensitive={"clinic"}, max_quality_loss=best.quality_loss).ok
    for method in ("drawn", "optimal"):
        with pytest.raises(ew.Infeasible, match="the least possible is") as error:
            ew.hide(history, {"clinic"}, method=method, key=KEY, max_quality_loss=0.01)
        assert error.value.needed_quality_loss == pytest.approx(best.quality_loss, abs=1e-12)


def test_a_bound_that_is_too_high_is_found_out() -> None:
    kinds = ew.Taxonomy.parse("kinds.txt", b"Food\n  Italian\n  French\nArts\n  Cinema\n  Museum\n")
    history = {"Italian": 40, "French": 5, "Cinema": 5, "Museum": 9}
    for taxonomy in (None, kinds):
        result = ew.hide(history, {"Italian"}, method="drawn", key=KEY, taxonomy=taxonomy)
        assert ew.verify(history, result, sensitive={"Italian"}, taxonomy=taxonomy).ok
        assert result.regret is not None
        assert result.regret > 1e-4
        claimed = replace(result, bound=result.bound + result.regret / 2, gap=result.regret / 2)
        assert not ew.verify(history, claimed, sensitive={"Italian"}, taxonomy=taxonomy).ok


def test_draws_are_repeated_until_one_keeps_the_limit() -> None:
    history = {f"place {at}": 5 + at for at in range(30)} | {"clinic": 60}
    losses = sorted(ew.hide(history, {"clinic"}, method="drawn", key=key_number(at)).quality_loss for at in range(20))
    for at in range(20):
        result = ew.hide(history, {"clinic"}, method="drawn", key=key_number(at), max_quality_loss=losses[5])
        assert (result.quality_loss <= losses[5] + 1e-12, result.notes) == (True, ())


def test_an_earlier_release_as_lower_continues_it_so_that_no_count_falls() -> None:
    fell = 0
    for at in range(30):
        release = earlier = ew.hide(ALICE, {"g", "h"}, method="drawn", key=key_number(at)).histogram
        history = dict(ALICE)
        for week in range(4):
            history = {place: count + (week * at + number) % 3 for number, (place, count) in enumerate(history.items())}
            alone = ew.hide(history, {"g", "h"}, method="drawn", key=key_number(at)).histogram
            fell += any(alone[place] < count for place, count in release.items())
            release = ew.hide(history, {"g", "h"}, method="drawn", key=key_number(at), lower=earlier).histogram
            assert all(release[place] >= count for place, count in earlier.items())
            assert release.size == sum(history.values())
            earlier = release
    assert fell > 10  # without it they do


def test_ties_go_by_the_key_if_there_is_one() -> None:
    history = {**dict.fromkeys("abcdef", 1), "s": 3}
    chosen = Counter(
        place
        for at in range(60)
        for place, count in ew.hide(history, {"s"}, key=key_number(at)).histogram.items()
        if count == 2
    )
    assert min(chosen[place] for place in "abcdef") > 15
    assert dict(ew.hide(history, {"s"}).histogram) == dict(zip("abcdef", (2, 2, 2, 1, 1, 1), strict=True))
    result = ew.hide(history, {"s"}, key=KEY)
    assert ew.verify(history, result, sensitive={"s"}).optimal


def test_popularity_by_kind_of_place() -> None:
    places = ew.Histogram({"Café Anna": 1, "Café Berta": 1, "Hotel Post": 1, "Xyzzy": 1}).index
    anna, berta, hotel, unknown = (weight or 0.0 for weight in popularity_of(places, None))
    shipped = [stored.profile for stored in profiles.shipped()]
    assert math.isclose(hotel, sum(profile["Hotel"] for profile in shipped) / len(shipped))
    assert anna == berta > 0.0
    assert math.isclose(unknown, (anna + berta + hotel) / 3)
    nowhere = ew.hide({"xyzzy": 3, "plugh": 1, "s": 4}, {"s"}, method="drawn", popularity={"zoo": 1}, key=KEY)
    assert set(nowhere.histogram) == {"xyzzy", "plugh"}


def test_places_never_visited_receive_only_if_they_are_candidates() -> None:
    received = [
        ew.hide({"a": 1, "s": 9}, {"s"}, method="drawn", popularity={"a": 1, "x": 9, "y": 9}, candidates=["x"], key=KEY)
    ]
    assert set(received[0].histogram) == {"a", "x"}


def test_bad_arguments_are_named_and_the_key_is_not() -> None:
    for arguments, named in (
        ({"method": "random"}, "method is 'random'; it must be one of 'optimal', 'drawn'"),
        ({"method": "heuristic"}, "method is 'heuristic'; it must be one of 'optimal', 'drawn'"),
        ({"method": "drawn", "key": "secret"}, "key must be a Key, or bytes"),
        ({"method": "drawn", "key": b""}, "key must be a Key, or bytes"),
        ({"popularity": {"a": 1}}, "popularity is for the method 'drawn' only"),
        ({"method": "drawn", "key": KEY, "popularity": {"a": -1}}, "the popularity gives 'a' the weight -1"),
        ({"method": "drawn", "key": KEY, "max_quality_loss": -1}, "max_quality_loss is -1"),
        ({"method": "drawn", "key": KEY, "redistribute": 10**9}, "1,000,000,000 visits would have to be drawn"),
        ({"method": "drawn", "key": KEY, "quality": ew.SmoothedJS({("a", "b"): 0.5})}, "does not support a SmoothedJS"),
    ):
        with pytest.raises(ew.InputError) as error:
            ew.hide(ALICE, {"g"}, **arguments)
        assert named in str(error.value)
        assert "secret" not in str(error.value)
    assert any("may be guessed" in note for note in ew.hide(ALICE, {"g"}, method="drawn", key=b"x").notes)


def test_the_key_is_made_once_privately_and_read_in_all_its_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ELSEWHERE_KEY", "ELSEWHERE_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    result = ew.hide(ALICE, {"g", "h"}, method="drawn")
    first, file = result.histogram, tmp_path / "elsewhere" / "key"
    assert [note.partition(";")[0] for note in result.notes] == [f"made your secret key in {file}"]
    assert not ew.hide(ALICE, {"g", "h"}, method="drawn").notes
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [it.name for it in file.parent.iterdir()] == ["key"]
    secret = bytes.fromhex(file.read_text())
    assert len(secret) == 32
    for text in (secret.hex(), base64.b64encode(secret).decode()):
        monkeypatch.setenv("ELSEWHERE_KEY", text)
        assert ew.hide(ALICE, {"g", "h"}, method="drawn").histogram == first
    monkeypatch.delenv("ELSEWHERE_KEY")
    monkeypatch.setenv("ELSEWHERE_KEY_FILE", str(tmp_path / "another"))
    assert Key.own() != Key(secret)
    assert Key.own() == Key.at(tmp_path / "another")
    for wrong in ("hunter2", "00" * 15, "ä" * 40):
        (tmp_path / "wrong").write_text(wrong, encoding="utf-8")
        with pytest.raises(ew.InputError, match="has no key: it must be at least 16 bytes") as error:
            Key.at(tmp_path / "wrong")
        assert wrong not in str(error.value)
    assert secret.hex() not in repr(Key(secret)) + str([Key(secret)])


def test_numbers_do_not_depend_on_how_many_are_asked_for_at_a_time() -> None:
    whole = Key(KEY).numbers("test").below(3 * 2**60, 1000).tolist()  # nearly half of all words are rejected
    pieces, numbers = [], Key(KEY).numbers("test")
    for many in (0, 1, 2, 7, 90, 900):
        pieces += numbers.below(3 * 2**60, many).tolist()
    assert pieces == whole
    assert 0.45 < sum(whole) / 1000 / (3 * 2**60) < 0.55
    assert Key(KEY).numbers("te", "st").words(1) != Key(KEY).numbers("test").words(1)


def test_the_command_leaves_no_trace_of_the_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELSEWHERE_KEY", raising=False)
    asked = ["hide", "history.csv", "--sensitive", "hospital", "--method", "drawn", "--key-file", "key"]
    status, _, told = run(*asked)
    assert (status, told) == (2, "elsewhere: the key file 'key' does not exist; make one with: elsewhere key key\n")
    assert run("key", "key")[0] == 0
    status, _, told = run("key", "key")
    assert (status, told) == (2, "elsewhere: 'key' exists already; name a new file for the key\n")
    status, _, told = run(*asked, "-o", "release.csv", "--report", "report.json", "--save-policy", "policy.toml")
    assert (status, "Drawn at random: the quality loss is" in told) == (0, True)
    assert stat.S_IMODE(Path("key").stat().st_mode) == 0o600
    secret = bytes.fromhex(Path("key").read_text())
    report = json.loads(Path("report.json").read_text())
    assert (report["policy"]["method"], report["regret"]) == ("drawn", report["gap"])
    wanted = ew.hide(HISTORY, {"hospital"}, method="drawn", key=secret).histogram
    assert rows("release.csv") == dict(wanted)
    assert run("verify", "history.csv", "release.csv", "--report", "report.json", "--quiet")[0] == 0
    status, release, told_more = run("hide", "history.csv", "--policy", "policy.toml", "--key-file", "key")
    assert release == Path("release.csv").read_text()
    written = [file.read_bytes() for file in Path().rglob("*") if file.is_file() and file.name != "key"]
    for content in [*written, told.encode(), told_more.encode(), release.encode()]:
        for form in (secret, secret.hex().encode(), base64.b64encode(secret)):
            assert form not in content
    assert run(*asked, "-o", "key")[0] == 2
    assert bytes.fromhex(Path("key").read_text()) == secret
    assert "--key-file is for --method drawn only" in run(*asked[:4], "--key-file", "key")[2]


def test_verify_says_that_a_drawn_release_is_not_the_best_on_purpose(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE_KEY", KEY.hex())
    asked = ["history.csv", "--sensitive", "gym"]
    assert run("hide", *asked, "--method", "drawn", "-o", "release.csv", "--quiet")[0] == 0
    exists = f"a release with a quality loss of {ew.hide(HISTORY, {'gym'}).quality_loss:.4g} exists."
    hint = "If you drew this one, that is on purpose: add --method drawn."
    for method, sentence in (
        ([], f"Valid, but not optimal: {exists} {hint}\n"),
        (["--method", "drawn"], f"A drawn release is not optimal, on purpose: {exists}\n"),
    ):
        status, _, told = run("verify", asked[0], "release.csv", *asked[1:], *method)
        assert (status, told.endswith(sentence)) == (0, True), told


def test_popular_places_receive_visits_where_nobody_was() -> None:
    """Places of a given table do, unless they are sensitive, of a kind that often is, or only visited ones may."""
    history, table = {"a": 30, "b": 10, "s": 40}, {"a": 1, "pier": 8, "s": 50, "St. Mary's Hospital": 50}
    release = ew.hide(history, {"s"}, method="drawn", popularity=table, key=KEY).histogram
    assert release.size == 80
    assert release["pier"] > 0
    assert release["s"] == release["St. Mary's Hospital"] == 0
    own = ew.hide(history, {"s"}, method="drawn", popularity=table, key=KEY, visited_only=True).histogram
    assert set(own) == {"a", "b"}
    plan = ew.Policy("hide", sensitive=("s", "pi*"), method="drawn").plan(popularity=table).with_key(Key(KEY))
    assert set(plan.sanitize(history).histogram) == {"a", "b"}


def test_popular_kinds_receive_visits() -> None:
    """Where kinds are counted the shipped table has them all."""
    history = {"Blue Note Café": 20, "Office": 10, "Clinic": 30}
    plan = ew.Policy("hide", sensitive=("Clinic",), method="drawn", by="kind").plan().with_key(Key(KEY))
    release = plan.sanitize(history).histogram
    assert len(release) > 2
    assert release.size == 60
    assert not ew.Taxonomy.shipped().often_sensitive(release)


def test_results_that_were_drawn_are_verified() -> None:
    """Popular places are taken from the result, and so is the distance that a spread gives."""
    history, table = {"Cafe Rio": 60, "Clinic": 90, "Gym": 30}, {"Pier 7": 50, "E*Trade Arena": 9, "Cafe Rio": 5}
    hidden = ew.hide(history, {"clinic"}, method="drawn", popularity=table, key=KEY)
    assert hidden.histogram["Pier 7"] > 0 == hidden.histogram["E*Trade Arena"]
    assert ew.verify(history, hidden, sensitive={"clinic"}).ok
    tourist, carol = profiles.stored("tourist"), {"Hotel": 3, "Office": 14, "Café": 9, "Park": 4}
    near = ew.resemble(carol, tourist, 0.1, method="drawn", key=KEY)
    assert ew.verify(carol, near, target=tourist, max_quality_loss=0.1).ok
    told = ew.Policy("hide", sensitive=("clinic",), method="drawn", kinds={"Pier 7": "Hospital"})
    assert set(told.plan(popularity=table).with_key(Key(KEY)).sanitize(history).histogram) == {"Cafe Rio", "Gym"}
