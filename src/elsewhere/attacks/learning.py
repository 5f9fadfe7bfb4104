"""Attackers that learn: trained on some users, tested on others, and how sure the figure is."""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from elsewhere.attacks.features import Features
from elsewhere.attacks.result import Rate
from elsewhere.model.arrays import Flags, Floats, Ints
from elsewhere.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Users of a kind, at least, that an attacker must have to learn from and be tested on.
FEWEST = 20
#: Users of a kind, at most, that are drawn for an attack: enough for an interval of some two percent to either side.
MOST = 1000
_FOLDS, _INNER = 5, 3
_Z = 1.959963984540054


def guess(features: Features, labels: Flags, seed: int, judged_by: Ints | None = None) -> Rate:
    """How often an attacker who is shown two users, one of either label, says rightly which is which (AUC).

    Users are split into five parts, and those of each part are judged by an attacker who learned from the others. Of
    several kinds of learner the attacker takes the one that does best among those others, which are split once more for
    that, so that nothing about the users who are judged goes into the choice. A user is one row, and therefore never in
    two parts. `judged_by` has the row by which each user is judged, if it is another than the one to learn from.
    """
    rows = np.arange(len(labels)) if judged_by is None else judged_by
    seed = int(seed) % 2**32  # scikit-learn takes none beyond
    learners = _learners(features, seed)
    judged = []
    # Several threads for so little work wait for each other longer than they work.
    with import_module("threadpoolctl").threadpool_limits(1):
        for train, test in _split(labels, _FOLDS, seed):
            inner = [(train[known], train[held]) for known, held in _split(labels[train], _INNER, seed)]
            tried = [[auc(learn(labels, *parts), labels[parts[1]])[0] for parts in inner] for learn in learners]
            best = learners[int(np.argmax(np.mean(tried, axis=1)))]
            judged.append(auc(best(labels, train, rows[test]), labels[test]))
    return _mean(judged, labels)


def _split(labels: Flags, parts: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """The rows outside and inside each part; every part has its share of either label."""
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
    try:
        import_module("sklearn")
    except ImportError:
        raise InputError("audit needs scikit-learn; install it with: pip install 'elsewhere[audit]'") from None


def _mean(judged: list[tuple[float, float]], labels: Flags) -> Rate:
    """The mean over the parts, whose users are different ones."""
    areas, variances = np.array(judged).T
    area, half = float(areas.mean()), _Z * math.sqrt(variances.sum()) / len(judged)
    if area == 1.0:  # where nobody is misjudged the variance says nothing, and the rule of three does
        half = 3.0 / min(np.count_nonzero(labels), np.count_nonzero(~labels))
    return Rate(area, max(0.0, area - half), min(1.0, area + half))


def _learners(features: Features, seed: int) -> list[Callable[[Flags, Ints, Ints], Floats]]:
    """Ways to score users, the simplest first: each takes the labels, whom to learn from and whom to score."""
    linear, ensemble = import_module("sklearn.linear_model"), import_module("sklearn.ensemble")

    def logistic(strength: float) -> Any:
        return linear.LogisticRegression(C=strength, solver="liblinear", max_iter=1000, random_state=seed)

    trees = ensemble.HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=30,
        max_leaf_nodes=8,
        min_samples_leaf=10,
        max_bins=64,
        early_stopping=False,
        random_state=seed,
    )
    return [
        _scorer(logistic(1.0), features.size),
        _scorer(logistic(1.0), features.scaled),
        _scorer(logistic(0.1), features.everything),
        _scorer(logistic(1.0), features.everything),
        _scorer(trees, lambda known: features.shape),
        _scorer(trees, features.dense),
    ]


def _scorer(model: Any, look: Callable[[Ints], Any]) -> Callable[[Flags, Ints, Ints], Floats]:
    """A model, and the matrix that it looks at: a row a user, made without looking at whom it is tested on."""

    def learn(labels: Flags, train: Ints, test: Ints) -> Floats:
        matrix = look(train)
        scores: Floats = model.fit(matrix[train], labels[train]).decision_function(matrix[test])
        return scores

    return learn
