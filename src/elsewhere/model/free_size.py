"""Releases of a free size: checks of their questions."""

from __future__ import annotations

import math

from elsewhere.model.distances import find_distance
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Question, as_histogram, as_list, check_free
from elsewhere.model.trees import KindDistance
from elsewhere.text import quote


def kept_visits(question: Question) -> Histogram:
    """The visits that a release of free size keeps; raises unless they are all of the history's."""
    if question.goal == "hide":
        raise InputError("hide removes visits, so it cannot have size='free', which only adds some", ("size",))
    limited = None if question.max_quality_loss == math.inf else question.max_quality_loss
    check_free(question.goal, limited, question.distance_limit, question.aim, question.method)
    for argument in ("quality", "privacy"):
        given = getattr(question, argument)
        of_kinds = argument == "privacy" and isinstance(given, KindDistance)
        if not of_kinds and not isinstance(given, str):
            raise InputError(f"with a free size, {argument} must be the name of a distance", (argument,))
    privacy = find_distance(question.privacy)
    if privacy.ratio is None:
        raise InputError(
            f"privacy is {privacy.name!r}, which compares counts; with a free size it must be 'js', 'jeffreys' or "
            "'variational', which compare shares",
            ("privacy",),
        )
    if as_list("forbidden", question.forbidden, "histograms"):
        raise InputError("forbidden cannot be combined with a free size", ("forbidden",))
    if question.search.time_limit is not None or question.search.gap:
        name = "gap" if question.search.time_limit is None else "time_limit"
        raise InputError(f"{name} cannot be combined with a free size, whose search is always exact", (name,))
    if question.lower is None:
        raise InputError("size='free' only adds visits; give the history as lower, too", ("size", "lower"))
    kept = as_histogram(question.lower)
    for name, count in question.history.items():
        if kept[name] < count:
            raise InputError(
                f"size='free' only adds visits, but lower has {kept[name]} of the {count} at {quote(name)}; give "
                "the history as lower",
                ("size", "lower"),
            )
    return kept
