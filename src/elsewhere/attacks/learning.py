"""Attackers that learn: trained on some users and tested on others, with confidence intervals."""

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

#: The least number of users of each kind for training and testing.
FEWEST = 20
#: The most users of each kind that are sampled: enough for an interval of about two percent to either side.
MOST = 1000
_FOLDS, _INNER = 4, 3
#: The number of trees of an attacker: of extremely randomised trees, and of boosting.
_TREES, _ROUNDS = 60, 50
_Z = 1.959963984540054

#: A function of users to learn from and users to score; it returns the scores.
Attacker: TypeAlias = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True)
class View:
    """The data of an attacker: a label per user, and the rows of features of each user."""

    features: Features
    labels: Flags
    #: The row for training, and the row for testing.
    learned: Ints
    judged: Ints
    #: Users and rows of further draws; only some attackers train on them, and none are tested.
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
        """The view of users with one row each, in their order, unless given otherwise."""
        learned = np.arange(len(labels)) if learned is None else learned
        nothing = np.zeros(0, np.int64)
        return cls(features, labels, learned, learned if judged is None else judged, more or (nothing, nothing))


class Judged(NamedTuple):
    """How often an attacker is right: with the strongest learner, and with each single learner by name."""

    right: Rate
    by: Mapping[str, Rate]


def guess(views: Sequence[View], seeds: Sequence[int]) -> Judged:
    """How often an attacker who sees two users, one of each label, tells correctly which is which (AUC).

    Each split of the users has a view and a seed. Users are split into four parts, and each part is tested by an
    attacker who learned from the other parts. The attacker chooses the learner that does best in an inner split of the
    training users, so nothing about the tested users affects the choice. A user is never in two parts, whatever the
    number of rows. `over_splits` combines several splits.
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
    # For so little work, threads would wait for each other longer than they work.
    with import_module("threadpoolctl").threadpool_limits(1):
        for train, test in _split(labels, _FOLDS, seed):
            for name, attack in attackers.items():
                by[name].append(auc(attack(train, test), labels[test]))
            judged.append(by[_strongest(attackers, labels, train, seed)][-1])
    return Judged(_mean(judged, labels), {name: _mean(of, labels) for name, of in by.items()})


def _strongest(attackers: Mapping[str, Attacker], labels: Flags, train: Ints, seed: int) -> str:
    """The learner that does best on the training users; the only one if there is no choice."""
    if len(attackers) == 1:
        return next(iter(attackers))
    known, held = (train[part] for part in next(_split(labels[train], _INNER, seed)))
    tried = {name: auc(attack(known, held), labels[held])[0] for name, attack in attackers.items()}
    return max(tried, key=tried.__getitem__)


def _split(labels: Flags, parts: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """The users outside and inside each part; parts are stratified by label."""
    split = import_module("sklearn.model_selection").StratifiedKFold(parts, shuffle=True, random_state=seed)
    pairs: Iterator[tuple[Ints, Ints]] = split.split(labels, labels)
    return pairs


def auc(scores: Floats, labels: Flags) -> tuple[float, float]:
    """The area under the ROC curve, and its variance by DeLong, DeLong and Clarke-Pearson (1988)."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    # For each user, the share of users with the other label whom the score ranks correctly; ties count a half.
    yes = (ranks[labels] - rankdata(scores[labels])) / np.count_nonzero(~labels)
    no = 1.0 - (ranks[~labels] - rankdata(scores[~labels])) / np.count_nonzero(labels)
    return float(yes.mean()), float(yes.var(ddof=1) / len(yes) + no.var(ddof=1) / len(no))


def share(which: Flags) -> Rate:
    """The share of users with a property, with Wilson's interval."""
    number, found = len(which), float(which.mean())
    scale = 1.0 + _Z**2 / number
    middle = (found + _Z**2 / (2 * number)) / scale
    half = _Z * math.sqrt(found * (1.0 - found) / number + _Z**2 / (4 * number**2)) / scale
    return Rate(found, max(0.0, middle - half), min(1.0, middle + half))


def over_splits(rates: Sequence[Rate]) -> Rate:
    """The mean over splits, with an interval that covers other users and other splits.

    Its variance is the mean variance within a split plus the variance between the splits. The splits share their users,
    so more splits do not reduce the first part.
    """
    values = np.array([rate.value for rate in rates])
    mean = float(values.mean())
    between = _Z**2 * float(values.var(ddof=1)) if len(rates) > 1 else 0.0
    below = math.sqrt(np.mean([(rate.value - rate.low) ** 2 for rate in rates]) + between)
    above = math.sqrt(np.mean([(rate.high - rate.value) ** 2 for rate in rates]) + between)
    return Rate(mean, max(0.0, mean - below), min(1.0, mean + above))


def drawn(which: Flags, seed: int, most: int = MOST) -> Ints:
    """A random sample of the users with a property, in order."""
    rows = np.flatnonzero(which)
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


class TooFewUsers(InputError):
    """There are too few users of a kind for an attack."""


def enough(what: str, ones: str, one: Ints | Flags, others: str, other: Ints | Flags) -> None:
    """Raise unless there are enough users of both kinds for training and testing."""
    if min(len(one), len(other)) < FEWEST:
        found = f"found {len(one)} {ones} and {len(other)} {others}"
        raise TooFewUsers(f"skipped {what}: it needs at least {FEWEST} users in each group; {found}")


def check_learners() -> None:
    """Raise unless the libraries for learning are installed."""
    load("sklearn", "audit needs scikit-learn", "audit")


def _mean(judged: list[tuple[float, float]], labels: Flags) -> Rate:
    """The mean over the parts, which have different users."""
    areas, variances = np.array(judged).T
    area, half = float(areas.mean()), _Z * math.sqrt(variances.sum()) / len(judged)
    if area == 1.0:  # without any error the variance is 0, so use the rule of three
        half = 3.0 / min(np.count_nonzero(labels), np.count_nonzero(~labels))
    return Rate(area, max(0.0, area - half), min(1.0, area + half))


def _attackers(view: View, seed: int) -> dict[str, Attacker]:
    """Every attacker with features to use, the simplest first."""
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
    """A model, and its matrix: one row per histogram, made without the tested users."""

    def attack(train: Ints, test: Ints) -> Floats:
        users, rows = train, view.learned[train]
        if several:  # a user counts once, whatever the number of rows
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
