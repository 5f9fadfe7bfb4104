"""Attackers that learn: trained on some users, tested on others, and how sure the figure is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from elsewhere.attacks.features import Features
from elsewhere.attacks.result import Rate
from elsewhere.extras import load
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.errors import InputError

#: Users of a kind, at least, that an attacker must have to learn from and be tested on.
FEWEST = 20
#: Users of a kind, at most, that are drawn for an attack: enough for an interval of some two percent to either side.
MOST = 1000
_FOLDS, _INNER = 4, 3
#: How many trees an attacker grows: in one go, and one after the other.
_TREES, _ROUNDS = 60, 50
_Z = 1.959963984540054

#: Takes users to learn from and users to score, and returns the scores.
Attacker: TypeAlias = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True)
class View:
    """What an attacker gets: a label per user, and which rows of the features are the user's."""

    features: Features
    labels: Flags
    #: The row to learn from, and the row to be judged by.
    learned: Ints
    judged: Ints
    #: Users and rows of further draws, which only some attackers learn from and nobody is judged by.
    more: tuple[Ints, Ints]

    @classmethod
    def of(
        cls,
        features: Features,
        labels: Flags,
        learned: Ints | None = None,
        judged: Ints | None = None,
        more: tuple[Ints, Ints] | None = None,
    ) -> View:
        """The view of users who have one row each, in their order, unless something else is said."""
        learned = np.arange(len(labels)) if learned is None else learned
        nothing = np.zeros(0, np.int64)
        return cls(features, labels, learned, learned if judged is None else judged, more or (nothing, nothing))


class Judged(NamedTuple):
    """How often an attacker is right: one who takes the strongest learner, and each single learner by name."""

    right: Rate
    by: Mapping[str, Rate]


def guess(views: Sequence[View], seeds: Sequence[int]) -> Judged:
    """How often an attacker who is shown two users, one of either label, says rightly which is which (AUC).

    Each split of the users has a view and a seed. Users are split into four parts, and those of each part are judged by
    an attacker who learned from the others. Of several learners the attacker takes the one that does best among those
    others, which are split once more for that, so that nothing about the users who are judged goes into the choice. A
    user is never in two parts, with whatever number of rows. `over_splits` says what becomes of several splits.
    """
    found = [_guess(view, int(seed) % 2**32) for view, seed in zip(views, seeds, strict=True)]  # sklearn's limit
    names = found[0].by
    return Judged(
        over_splits([one.right for one in found]),
        {name: over_splits([one.by[name] for one in found]) for name in names},
    )


def _guess(view: View, seed: int) -> Judged:
    """The figures of one split."""
    labels, attackers = view.labels, _attackers(view, seed)
    judged: list[tuple[float, float]] = []
    by: dict[str, list[tuple[float, float]]] = {name: [] for name in attackers}
    # Several threads for so little work wait for each other longer than they work.
    with import_module("threadpoolctl").threadpool_limits(1):
        for train, test in _split(labels, _FOLDS, seed):
            for name, attack in attackers.items():
                by[name].append(auc(attack(train, test), labels[test]))
            judged.append(by[_strongest(attackers, labels, train, seed)][-1])
    return Judged(_mean(judged, labels), {name: _mean(of, labels) for name, of in by.items()})


def _strongest(attackers: Mapping[str, Attacker], labels: Flags, train: Ints, seed: int) -> str:
    """The attacker that does best among those whom it may learn from; the simplest if there is no other."""
    if len(attackers) == 1:
        return next(iter(attackers))
    known, held = (train[part] for part in next(_split(labels[train], _INNER, seed)))
    tried = {name: auc(attack(known, held), labels[held])[0] for name, attack in attackers.items()}
    return max(tried, key=tried.__getitem__)


def _split(labels: Flags, parts: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """The users outside and inside each part; every part has its share of either label."""
    split = import_module("sklearn.model_selection").StratifiedKFold(parts, shuffle=True, random_state=seed)
    pairs: Iterator[tuple[Ints, Ints]] = split.split(labels, labels)
    return pairs


def auc(scores: Floats, labels: Flags) -> tuple[float, float]:
    """The area under the ROC curve, and the variance of that by DeLong, DeLong and Clarke-Pearson (1988)."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    # For each user, the share of those with the other label whom the score puts on the right side; ties are a half.
    yes = (ranks[labels] - rankdata(scores[labels])) / np.count_nonzero(~labels)
    no = 1.0 - (ranks[~labels] - rankdata(scores[~labels])) / np.count_nonzero(labels)
    return float(yes.mean()), float(yes.var(ddof=1) / len(yes) + no.var(ddof=1) / len(no))


def share(which: Flags) -> Rate:
    """The share of users of whom something holds, with Wilson's interval."""
    number, found = len(which), float(which.mean())
    scale = 1.0 + _Z**2 / number
    middle = (found + _Z**2 / (2 * number)) / scale
    half = _Z * math.sqrt(found * (1.0 - found) / number + _Z**2 / (4 * number**2)) / scale
    return Rate(found, max(0.0, middle - half), min(1.0, middle + half))


def over_splits(rates: Sequence[Rate]) -> Rate:
    """The mean over splits, with an interval for what other users and another split might change.

    Its variance is the mean variance within a split plus the variance between the splits. The splits share their users,
    so that more of them do not make the first part smaller.
    """
    values = np.array([rate.value for rate in rates])
    mean = float(values.mean())
    between = _Z**2 * float(values.var(ddof=1)) if len(rates) > 1 else 0.0
    below = math.sqrt(np.mean([(rate.value - rate.low) ** 2 for rate in rates]) + between)
    above = math.sqrt(np.mean([(rate.high - rate.value) ** 2 for rate in rates]) + between)
    return Rate(mean, max(0.0, mean - below), min(1.0, mean + above))


def drawn(which: Flags, seed: int, most: int = MOST) -> Ints:
    """Some of the users of whom something holds, at random, in order."""
    rows = np.flatnonzero(which)
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


class TooFewUsers(InputError):
    """There are too few users of a kind for an attack."""


def enough(what: str, ones: str, one: Ints | Flags, others: str, other: Ints | Flags) -> None:
    """Raise unless there are enough users of two kinds to learn from and to be tested on."""
    if min(len(one), len(other)) < FEWEST:
        found = f"found {len(one)} {ones} and {len(other)} {others}"
        raise TooFewUsers(f"skipped {what}: it needs at least {FEWEST} users in each group; {found}")


def check_learners() -> None:
    """Raise unless the libraries that attackers learn with are there."""
    load("sklearn", "audit needs scikit-learn", "audit")


def _mean(judged: list[tuple[float, float]], labels: Flags) -> Rate:
    """The mean over the parts, whose users are different ones."""
    areas, variances = np.array(judged).T
    area, half = float(areas.mean()), _Z * math.sqrt(variances.sum()) / len(judged)
    if area == 1.0:  # where nobody is misjudged the variance says nothing, and the rule of three does
        half = 3.0 / min(np.count_nonzero(labels), np.count_nonzero(~labels))
    return Rate(area, max(0.0, area - half), min(1.0, area + half))


def _attackers(view: View, seed: int) -> dict[str, Attacker]:
    """Every attacker that has something to look at, the simplest first."""
    linear, ensemble = import_module("sklearn.linear_model"), import_module("sklearn.ensemble")
    see = view.features

    def logistic(strength: float) -> Any:
        return linear.LogisticRegression(C=strength, solver="liblinear", max_iter=1000, random_state=seed)

    def boosting() -> Any:
        return ensemble.HistGradientBoostingClassifier(
            max_iter=_ROUNDS, max_leaf_nodes=8, min_samples_leaf=10, l2_regularization=1.0, max_bins=32,
            early_stopping=False, random_state=seed,
        )  # fmt: skip

    def forest() -> Any:
        return ensemble.ExtraTreesClassifier(_TREES, min_samples_leaf=5, random_state=seed)

    found = {"size": _attacker(view, logistic(1.0), see.size)}
    if not see.counts.shape[1] and see.shape.shape[1]:
        found["boosting"] = _attacker(view, boosting(), see.traces)
    if see.counts.shape[1]:
        found["shape"] = _attacker(view, logistic(1.0), see.scaled)
        found["places"] = _attacker(view, logistic(0.1), see.everything)
        found["places, weak penalty"] = _attacker(view, logistic(1.0), see.everything)
        found["inverting"] = _attacker(view, forest(), see.traces)
        found["boosting"] = _attacker(view, boosting(), see.dense)
    if see.informed is not None:
        found["informed"] = _attacker(view, forest(), see.knowledge)
    if len(view.more[0]):
        found["places, several draws"] = _attacker(view, logistic(1.0), see.everything, several=True)
        found["inverting, several draws"] = _attacker(view, forest(), see.traces, several=True)
        found["boosting, several draws"] = _attacker(view, boosting(), see.dense, several=True)
    return found


def _attacker(view: View, model: Any, look: Callable[[Ints, Ints], Any], *, several: bool = False) -> Attacker:
    """A model, and the matrix that it looks at: a row a histogram, made without looking at whom it is tested on."""

    def attack(train: Ints, test: Ints) -> Floats:
        users, rows = train, view.learned[train]
        if several:  # a user counts once, with however many rows
            of, more = view.more
            extra = np.isin(of, train)
            users, rows = np.append(users, of[extra]), np.append(rows, more[extra])
        weights = 1.0 / np.bincount(users)[users] if several else None
        model.fit(look(rows, rows), view.labels[users], sample_weight=weights)
        seen = look(rows, view.judged[test])
        scores: Floats = (
            model.decision_function(seen) if hasattr(model, "decision_function") else model.predict_proba(seen)[:, 1]
        )
        return scores

    return attack
