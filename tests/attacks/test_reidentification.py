"""Re-identification: ranks are those of literal loops, and the published toy case comes out."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from scipy.sparse import csr_array

from elsewhere.attacks.noise import _by_opendp, two_sided
from elsewhere.attacks.reidentification import SCORES, Sought, likelihood
from elsewhere.attacks.risks import risks
from elsewhere.attacks.table import Table

LUCCA, LEGHORN, PISA, FLORENCE = "Lucca", "Leghorn", "Pisa", "Florence"
#: The toy case of scikit-mobility. Users 1 to 6 are in its tests (skmob/privacy/tests/test_privacy.py). The seventh is
#: only in the file of the examples (tutorial/data/privacy_toy.csv); no other histogram has the published risks.
TOY = [
    {LUCCA: 1, LEGHORN: 1, PISA: 1, FLORENCE: 1},
    {LUCCA: 2, LEGHORN: 1, PISA: 1},
    {LUCCA: 1, LEGHORN: 1, PISA: 1, FLORENCE: 1},
    {LEGHORN: 1, PISA: 1, FLORENCE: 1},
    {LUCCA: 1, PISA: 1, FLORENCE: 1},
    {LUCCA: 1, LEGHORN: 1},
    {LUCCA: 2, FLORENCE: 1},
]
THIRD, HALF, FOURTH = 1 / 3, 1 / 2, 1 / 4


@pytest.mark.parametrize(
    ("known", "places", "tolerance", "published"),
    [
        ("counts", 2, 0.0, [THIRD, 1, THIRD, THIRD, THIRD, THIRD, 1]),
        ("counts", 2, 0.5, [THIRD, 1, THIRD, THIRD, FOURTH, FOURTH, 1]),
        ("counts", 3, 0.5, [HALF, 1, HALF, THIRD, THIRD, FOURTH, 1]),
        ("shares", 2, 0.0, [HALF, 1, HALF, 1, 1, 1, 1]),
        ("shares", 2, 0.5, [THIRD, HALF, THIRD, THIRD, FOURTH, 1, 1]),
        ("shares", 3, 0.5, [HALF, 1, HALF, THIRD, THIRD, 1, 1]),
        ("proportions", 2, 0.0, [THIRD, 1, THIRD, THIRD, THIRD, THIRD, 1]),
        ("proportions", 2, 0.5, [THIRD, FOURTH, THIRD, THIRD, THIRD, THIRD, FOURTH]),
        ("proportions", 3, 0.5, [HALF, THIRD, HALF, THIRD, THIRD, THIRD, FOURTH]),
    ],
)
def test_published_risks(
    known: Literal["counts", "shares", "proportions"], places: int, tolerance: float, published: list[float]
) -> None:
    """The examples of LocationFrequencyAttack, LocationProbabilityAttack and LocationProportionAttack."""
    assert risks(TOY, places, known, tolerance) == pytest.approx(published)


def test_likelihood_is_literal() -> None:
    random = np.random.default_rng(1)
    known, releases = (random.integers(0, 4, (6, 5)) + np.eye(6, 5, dtype=int) for _ in range(2))
    releases[5] = 1
    scores = likelihood(0.3)(csr_array(known), csr_array(releases))(np.arange(6))
    everybody = (known + releases).sum(axis=0) / (known + releases).sum()
    for at in range(6):
        logs = [
            sum(
                k * math.log(0.7 * x / sum(release) + 0.3 * g)
                for k, x, g in zip(known[at], release, everybody, strict=True)
            )
            for release in releases
        ]
        assert scores[at] - scores[at, 0] == pytest.approx(np.array(logs) - logs[0])


def test_who_has_a_place_of_their_own_is_found() -> None:
    """Half of the visits tell everybody apart who is alone at a place; among equal releases chance decides."""
    table = Table.of({f"user {at:02d}": {f"place {at:02d}": 20, "home": 20} for at in range(40)})
    sought = Sought.by_half(table, 1)
    assert (sought.known + sought.counts).toarray().tolist() == table.counts.toarray().tolist()
    alone, equal = (
        sought.found("some", releases, "js") for releases in (sought.counts, csr_array(np.ones(table.counts.shape)))
    )
    assert alone is not None
    assert equal is not None
    assert (alone.first.value, alone.users, alone.quality_loss) == (1.0, 40, 0.0)
    assert equal.first.low < 1 / 40 < equal.first.high
    assert equal.first_ten.low < 10 / 40 < equal.first_ten.high


def test_earlier_period() -> None:
    """Users are matched by name, whatever the order; those of one period are left out."""
    later = {f"user {at:02d}": {f"place {at:02d}": 3, "home": 2} for at in range(30)} | {"new": {"home": 1}}
    earlier = {user: counts | {"gone": 1} for user, counts in reversed(later.items()) if user != "new"}
    table = Table.of(later, ["gone"])
    sought = Sought.by_earlier(table, Table.of(earlier, table.locations), 1)
    one = sought.found("no protection", sought.counts, "js")
    assert one is not None
    assert (one.users, one.first.value, one.knowledge) == (30, 1.0, "an earlier period")
    none = sought.found("none", sought.counts * 0, "js")
    assert none is None
    assert len(SCORES) == 3


def test_noise_is_two_sided_geometric() -> None:
    """At epsilon 1 per visit and a sensitivity of 2, a number is exp(1/2) times as likely as the next."""
    noise = two_sided(2.0, (1000, 400), 3)
    number = np.bincount(noise[noise >= 0])
    assert number[:5] / number[1:6] == pytest.approx(np.full(5, math.exp(0.5)), rel=0.03)
    assert noise.mean() == pytest.approx(0.0, abs=0.02)
    assert np.mean(noise == 0) == pytest.approx(math.tanh(0.25), abs=0.005)


def test_noise_of_opendp() -> None:
    """The same distribution, by the library that proves its privacy."""
    measurements = pytest.importorskip("opendp.measurements")
    domains, metrics = (pytest.importorskip(f"opendp.{name}") for name in ("domains", "metrics"))
    noise = _by_opendp(np.zeros((200, 200), np.int64), 2.0)
    assert np.mean(noise == 0) == pytest.approx(math.tanh(0.25), abs=0.015)
    assert noise.var() == pytest.approx(two_sided(2.0, (1000, 400), 3).var(), rel=0.06)
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    assert measurements.make_geometric(*space, scale=2.0).map(2) == pytest.approx(1.0)
