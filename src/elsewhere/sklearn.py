"""A transformer for scikit-learn: learn a profile from some users, and move others towards it or away from it.

It needs scikit-learn: ``pip install 'elsewhere[audit]'``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]

from elsewhere.model.arrays import Ints
from elsewhere.model.histogram import Profile
from elsewhere.verbs import avoid, resemble

__all__ = ["ProfileTransformer"]


class ProfileTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Release histograms that resemble, or avoid, the profile of the users it was fitted on.

    Each row of `X` is a user and each column a location, with the number of visits.

    Parameters
    ----------
    goal
        ``"resemble"`` or ``"avoid"`` the profile.
    max_quality_loss
        The limit on the quality loss of each row.
    quality, privacy
        The distances, by name.

    Attributes
    ----------
    profile_ : ndarray of shape (n_features,)
        The mean of the users' distributions; it adds up to 1.

    Examples
    --------
    >>> from elsewhere.sklearn import ProfileTransformer
    >>> museums = [[1, 9], [2, 8]]
    >>> ProfileTransformer(max_quality_loss=0.05).fit(museums).transform([[6, 4]]).tolist()
    [[4, 6]]
    """

    def __init__(
        self,
        goal: Literal["resemble", "avoid"] = "resemble",
        max_quality_loss: float = 0.05,
        quality: str = "js",
        privacy: str = "js",
    ) -> None:
        self.goal = goal
        self.max_quality_loss = max_quality_loss
        self.quality = quality
        self.privacy = privacy

    def fit(self, X: ArrayLike, y: object = None) -> ProfileTransformer:  # noqa: N803
        """Learn the profile of the rows; rows without visits do not count."""
        counts = validate_data(self, X, dtype=np.float64, ensure_non_negative=True)
        totals = counts.sum(axis=1)
        if not totals.any():
            raise ValueError("there are no visits: every count is 0")
        visited = totals > 0
        self.profile_ = (counts[visited] / totals[visited, None]).mean(axis=0)
        return self

    def transform(self, X: ArrayLike) -> Ints:  # noqa: N803
        """Return a release for each row; a row without visits stays as it is."""
        check_is_fitted(self)
        given = validate_data(self, X, dtype=np.float64, ensure_non_negative=True, reset=False)
        counts: Ints = given.astype(np.int64)
        if (counts != given).any():
            raise ValueError(f"counts are whole numbers; found {given[counts != given][0]:g}")
        if self.goal not in ("resemble", "avoid"):
            raise ValueError(f"goal is {self.goal!r}; it must be 'resemble' or 'avoid'")
        verb = resemble if self.goal == "resemble" else avoid
        names = [f"{at:08d}" for at in range(counts.shape[1])]
        profile = Profile(dict(zip(names, self.profile_.tolist(), strict=True)))
        released = np.zeros_like(counts)
        for at in np.flatnonzero(counts.any(axis=1)):
            history = dict(zip(names, counts[at].tolist(), strict=True))
            found = verb(history, profile, self.max_quality_loss, quality=self.quality, privacy=self.privacy)
            released[at] = [found.histogram[name] for name in names]
        return released

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags
