"""``python -m benchmarks.tried``: ideas against attackers who learn that were tried and do not work.

- **Limited log-odds**: the release of least quality loss that a linear attacker mistakes for that of somebody who hides
  nothing. The next attacker has seen such releases.
- **A perturbed target**: each user resembles a target whose weights were changed at random.
- **A copied member**: each user resembles the nearest member of the target's group.
- **Hiding more**: also places that are correlated with the sensitive ones.

The attackers are those of the audit, over three splits. It needs the evaluation sets in a folder `data`. Give `nyc` or
`gowalla` to measure only that set.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import elsewhere as ew
from benchmarks.attacks import Users, evaluation_users
from elsewhere.attacks.baselines import deleted, median_loss
from elsewhere.attacks.features import Features
from elsewhere.attacks.learning import View, guess
from elsewhere.attacks.profiling import Group
from elsewhere.attacks.result import Rate
from elsewhere.attacks.setting import DRAWN, Setting
from elsewhere.attacks.table import Table, as_histogram
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.policy import Policy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SEEDS = (1, 2, 3)
_CLASS, _TARGET = "preset:health", "tourist"
#: Seconds after which a search is ended; the figures do not depend on optima.
_SEARCH: dict[str, Any] = {"time_limit": 1.0, "gap": 1e-3}


class Row(NamedTuple):
    """The idea, how often the attacker is right, and the median quality loss of changed releases."""

    what: str
    right: Rate
    loss: float | None
    #: The share of these users with a release.
    released: float = 1.0

    def __str__(self) -> str:
        loss = "" if self.loss is None else f"{self.loss:.3f}"
        return f"| {self.what} | {self.right} | {loss} | {self.released:.0%} |"


def main() -> None:
    print("| set | what | the attacker is right | median quality loss | have a release |")
    print("| --- | --- | --- | --- | --- |")
    for name, users_of in evaluation_users().items():
        if name not in (sys.argv[1:] or name):
            continue
        users = users_of()
        for attempt in (_limited_log_odds, _perturbed_target, _copied_member, _more_hidden):
            for row in attempt(users):
                print(f"| {name} {row}", flush=True)


def _limited_log_odds(users: Users) -> Iterator[Row]:
    setting = _hiding(users)
    rows = np.flatnonzero(setting.releasable)
    secret = setting.hiding[rows]
    hidden = setting.releases("hide", rows)
    yield Row(f"hide {_CLASS}", _inferred(setting, hidden, secret), setting.loss("hide", rows))
    for limit, what in ((0.5, "median"), (0.25, "lower quartile")):
        releases = _with_usual_score(setting, rows, hidden, secret, limit)
        changed = np.diff((releases - hidden).tocsr().indptr) > 0
        loss = median_loss("js", setting.table.counts[rows[changed]], releases[changed])
        yield Row(f"log-odds at most the {what} of the others", _inferred(setting, releases, secret), loss)


def _with_usual_score(setting: Setting, rows: Ints, hidden: csr_array, secret: Flags, limit: float) -> csr_array:
    """The releases whose score by a linear attacker is at most a quantile of the scores of users who hide nothing.

    The attacker learned from the other half of the users.
    """
    linear = import_module("sklearn.linear_model")
    locations, counts = setting.table.locations, setting.table.counts[rows]
    shares = hidden.toarray() / hidden.sum(axis=1)[:, None]
    half = np.random.default_rng(_SEEDS[0]).random(len(rows)) < 0.5
    releases = [as_histogram(locations, hidden, row) for row in range(len(rows))]
    for known in (half, ~half):
        model = linear.LogisticRegression(max_iter=2000).fit(10.0 * shares[known], secret[known])
        weights = model.coef_[0] - model.coef_[0].min() + 1e-6
        scores = shares @ weights
        most = float(np.quantile(scores[known & ~secret], limit))
        target = dict(zip(locations, weights.tolist(), strict=True))
        for row in np.flatnonzero(~known & secret & (scores > most)).tolist():
            history = as_histogram(locations, counts, row)
            sensitive = [name for name in history if setting.sensitive[locations.index(name)]]
            # The target is scaled to the size of the history, and so is the limit.
            within = most * history.size**2 / weights.sum() * (1.0 + 1e-9)
            try:
                releases[row] = ew.resemble(
                    history, target, max_distance=within, privacy=_score, sensitive=sensitive, **_SEARCH
                ).histogram
            except ew.PrivacyNotMet:
                continue
    return _matrix(locations, releases)


def _score(weight: float, count: float) -> float:
    return weight * count


def _perturbed_target(users: Users) -> Iterator[Row]:
    group, shares = _around(users)
    rng = np.random.default_rng(_SEEDS[0])
    for spread in (0.0, 0.5, 1.0):

        def release(history: ew.Histogram, spread: float = spread) -> ew.Histogram:
            noisy = {name: share * float(np.exp(spread * rng.normal())) for name, share in shares.items()}
            return ew.resemble(history, noisy, 0.05, **_SEARCH).histogram

        yield _resembling(group, shares, release, f"resemble at 0.05, weights times exp({spread:g} z), z normal")


def _copied_member(users: Users) -> Iterator[Row]:
    group, shares = _around(users)
    table = group.table
    members = table.counts[group.inside]
    known = members.toarray() / members.sum(axis=1)[:, None]
    for limit in (0.1, 0.2):

        def release(history: ew.Histogram, limit: float = limit) -> ew.Histogram:
            nearest = int(np.argmin(_divergences(_vector(table.locations, history), known)))
            copied = as_histogram(table.locations, members, nearest)
            return ew.resemble(history, copied, limit, **_SEARCH).histogram

        what = f"resemble the nearest member at {limit}"
        yield _resembling(group, shares, release, what)
        yield _resembling(group, shares, release, f"{what}, known to the attacker", known)


def _more_hidden(users: Users) -> Iterator[Row]:
    first = _hiding(users)
    secret = first.hiding
    visited = deleted(first.table.counts, first.sensitive) > 0
    selection = import_module("sklearn.feature_selection")
    telling = selection.mutual_info_classif(visited[first.releasable], secret[first.releasable], discrete_features=True)
    order = np.argsort(-telling, kind="stable")
    for more in (0, 5, 10, 20):
        also = tuple(first.table.locations[at] for at in order[:more])
        setting = Setting.of(first.table, Policy("hide", (_CLASS, *also)).plan(), _SEEDS)
        rows = np.flatnonzero(setting.releasable)
        for protection in ("deletion", "hide", DRAWN):
            right = _inferred(setting, setting.releases(protection, rows), secret[rows])
            yield Row(f"{protection}, and {more} kinds that tell most", right, setting.loss(protection, rows))


def _hiding(users: Users) -> Setting:
    return Setting.of(Table.of(users), Policy("hide", (_CLASS,)).plan(), _SEEDS)


def _around(users: Users) -> tuple[Group, ew.Profile]:
    plan = Policy("resemble", target=_TARGET, max_quality_loss=0.05).plan()
    assert plan.target is not None
    return Group.around(Table.of(users, plan.target), plan, None, _SEEDS), ew.Profile(plan.target)


def _inferred(setting: Setting, releases: csr_array, secret: Flags) -> Rate:
    view = View.of(Features.of(releases, setting.sensitive), secret)
    return guess([view] * len(_SEEDS), _SEEDS).right


def _resembling(
    group: Group,
    shares: ew.Profile,
    release: Callable[[ew.Histogram], ew.Histogram],
    what: str,
    known: Floats | None = None,
) -> Row:
    """How well such releases can be told from members; an attacker may know the members' shares."""
    from scipy.sparse import vstack

    locations = group.table.locations
    found, losses, outside = [], [], np.flatnonzero(~group.inside).tolist()
    for row in outside:
        history = as_histogram(locations, group.table.counts, row)
        try:
            made = release(history)
        except ew.ElsewhereError:
            continue
        if _distance(shares, made) <= group.threshold:
            found.append(made)
            losses.append(ew.distance("js", history, made))
    counts = vstack([_matrix(locations, found), group.table.counts[group.inside]], format="csr")
    labels = np.arange(counts.shape[0]) < len(found)
    numbers = [[_distance(shares, as_histogram(locations, counts, row))] for row in range(counts.shape[0])]
    if known is not None:
        for row, vector in enumerate(counts.toarray() / counts.sum(axis=1)[:, None]):
            divergences = _divergences(vector, known)
            if row >= len(found):  # a member must not be a copy of itself
                divergences[row - len(found)] = np.inf
            numbers[row].append(float(divergences.min()))
    seen = Features.of(counts, np.zeros(counts.shape[1], np.bool_))
    seen = replace(seen, shape=np.column_stack([seen.shape, numbers]))
    right = guess([View.of(seen, labels)] * len(_SEEDS), _SEEDS).right
    return Row(what, right, float(np.median(losses)), len(found) / len(outside))


def _distance(shares: ew.Profile, release: ew.Histogram) -> float:
    return ew.distance("js", {name: release.size * share for name, share in shares.items()}, release)


def _divergences(shares: Floats, many: Floats) -> Floats:
    """The JS-divergence of one vector of shares from each of many."""
    middle = (shares + many) / 2.0

    def relative(one: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            parts: Floats = np.where(one > 0, one * np.log2(one / middle), 0.0)
        return np.asarray(parts.sum(axis=1))

    return (relative(np.broadcast_to(shares, many.shape)) + relative(many)) / 2.0


def _vector(locations: tuple[str, ...], history: ew.Histogram) -> Floats:
    return np.array([history[name] / history.size for name in locations])


def _matrix(locations: tuple[str, ...], histograms: list[ew.Histogram]) -> csr_array:
    from scipy.sparse import csr_array

    number = {name: at for at, name in enumerate(locations)}
    entries = [
        (row, number[name], count)
        for row, histogram in enumerate(histograms)
        for name, count in histogram.items()
        if count
    ]
    rows, columns, counts = np.array(entries, np.int64).T
    return csr_array((counts, (rows, columns)), shape=(len(histograms), len(locations)))


if __name__ == "__main__":
    main()
