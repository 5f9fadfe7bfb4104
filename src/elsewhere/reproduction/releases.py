"""The releases that the experiments need, and how good each is: one row per release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from elsewhere.evaluation import Tables, conditional_entropies, quality_losses
from elsewhere.model.distances import distance
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Goal, Method
from elsewhere.reproduction.experiment import Dataset, Study
from elsewhere.reproduction.rows import Rows
from elsewhere.verbs import avoid, hide, resemble

#: The paper's name for each goal and method.
NAMES: dict[tuple[Goal, Method], str] = {
    ("resemble", "optimal"): "RO",
    ("resemble", "heuristic"): "RH",
    ("avoid", "optimal"): "AO",
    ("avoid", "heuristic"): "AH",
}
GOALS: tuple[Goal, ...] = ("resemble", "avoid")
METHODS: tuple[Method, ...] = ("optimal", "heuristic")


def drawn(histogram: Histogram, number: int, random: np.random.Generator) -> list[str]:
    """Draw sensitive locations uniformly at random.

    From a generator in the same state, a larger set contains every smaller one.
    """
    order = random.permutation(histogram.length)
    return [histogram.locations[at] for at in order[:number]]


def drawn_with(histogram: Histogram, number: int, visits: int, random: np.random.Generator) -> list[str] | None:
    """The first of many random draws that has exactly the given number of visits; None if none has."""
    for _ in range(200):
        sensitive = drawn(histogram, number, random)
        if sum(histogram[location] for location in sensitive) == visits:
            return sensitive
    return None


def hidden(study: Study, dataset: Dataset, sensitive: int, clusters: Sequence[int] = ()) -> Rows:
    """Hide some random locations of every user of a set who has more locations than that, and measure the loss.

    The paper adds up the terms of the other bins only. That is the length of LHO's path, here `js_path` and `l2_path`.
    `js` and `l2` are the whole distances, which include the emptied bins. `nce` is for the paper's three clusters, and
    `nce_2` and so on are for the other numbers of clusters.
    """
    # Hiding is quicker than recommending, so there is time for more users.
    users = study.sample(dataset.histograms, 4 * study.scale.users, dataset.name, "hidden")
    found = Rows()
    for draw in range(study.scale.draws):
        random = study.random("sensitive", dataset.name, draw)
        chosen = [(h, drawn(h, sensitive, random)) for h in users]
        chosen = [(h, locations) for h, locations in chosen if len(locations) == sensitive < h.length]
        if chosen:
            found.extend(dataset.row(sensitive=sensitive, draw=draw, **row) for row in _hidden_rows(chosen, clusters))
    return found


def _hidden_rows(
    chosen: Sequence[tuple[Histogram, Sequence[str]]], clusters: Sequence[int]
) -> Iterator[dict[str, Any]]:
    releases = [hide(history, locations).histogram for history, locations in chosen]
    tables = side_by_side([history for history, _ in chosen], releases)
    losses = quality_losses(tables)
    measured = losses["js"], losses["l2"], conditional_entropies(tables)
    others = {f"nce_{number}": conditional_entropies(tables, number) for number in clusters}
    for at, (history, locations) in enumerate(chosen):
        counts = [history[location] for location in locations]
        js, l2, nce = (float(values[at]) for values in measured)
        yield {
            "n": history.length,
            "N": history.size,
            "K": sum(counts),
            # The term of an emptied bin is half its share in JS, and its squared count in L2.
            "js_path": max(0.0, js - 0.5 * sum(counts) / history.size),
            "js": js,
            "l2_path": math.sqrt(max(0.0, l2 * l2 - sum(count * count for count in counts))),
            "l2": l2,
            "nce": nce,
            **{name: float(values[at]) for name, values in others.items()},
        }


def targeted(goal: Goal, method: Method, history: Histogram, threshold: float) -> dict[str, Any]:
    """Resemble or avoid the uniform histogram, and measure the release."""
    target = uniform(history)
    result = (resemble if goal == "resemble" else avoid)(history, target, threshold, method=method)
    nce = conditional_entropies(side_by_side([history], [result.histogram]))
    return {
        "goal": goal,
        "method": method,
        "n": history.length,
        "N": history.size,
        "threshold": threshold,
        "d_p": result.privacy_distance,
        "d_q": result.quality_loss,
        "nce": float(nce[0]),
        "l2": distance("l2", dict.fromkeys(target, history.size / history.length), result.histogram),
    }


def uniform(history: Histogram) -> dict[str, float]:
    """The paper's target: the same share for every location."""
    return dict.fromkeys(history.locations, 1.0)


def side_by_side(histories: Sequence[Histogram], releases: Sequence[Histogram]) -> Tables:
    """The tables of an evaluation; users are numbered so that they stay in this order."""
    names = [f"{at:09d}" for at in range(len(histories))]
    return Tables.of(dict(zip(names, histories, strict=True)), dict(zip(names, releases, strict=True)))


def excess(rows: Rows) -> list[float]:
    """The heuristic's relative error in d_p: how far above the optimum in resemble, and below it in avoid."""
    missed = []
    for _, pair in rows.by("question"):
        best, found = (pair.where(method=method)[0]["d_p"] for method in METHODS)
        sign = 1 if pair[0]["goal"] == "resemble" else -1
        missed.append(sign * (found - best) / best if best else math.inf if found else 0.0)
    return missed
