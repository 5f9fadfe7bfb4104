"""Small blocks of users, and by trying everything what they can share."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from elsewhere.model.arrays import Floats, Ints
from elsewhere.model.distances import DISTANCES
from elsewhere.sharing.block import Block
from elsewhere.solvers.pairs import KINDS


def block(
    histories: list[list[int]],
    secret: list[bool],
    limit: float,
    quality: str = "js",
    closed: tuple[int, ...] = (),
    held: tuple[int, ...] = (),
) -> Block:
    """A block of users with these counts at all places."""
    visits = [np.flatnonzero(history) for history in histories]
    offset = np.append(0, np.cumsum([len(places) for places in visits])).astype(np.int64)
    counts = np.concatenate([np.array(history)[at] for history, at in zip(histories, visits, strict=True)])
    places = np.arange(len(histories[0]))
    return Block(
        offset, np.concatenate(visits).astype(np.int64), counts.astype(np.int64), np.isin(places, closed),
        np.isin(places, held), np.array(secret), KINDS[quality], limit,
    )  # fmt: skip


def random_block(dice: np.random.Generator, users: int) -> Block:
    places = int(dice.integers(2, 5))
    histories: list[list[int]] = []
    while len(histories) < users:
        history = dice.integers(0, 5, places) * (dice.random(places) < 0.8)
        if 0 < history.sum() <= 9:
            histories.append(history.tolist())
    quality = str(dice.choice(["js", "variational"]))
    limit = float(dice.choice([0.05, 0.1, 0.2, 0.3])) * (3.0 if quality == "variational" else 1.0)
    closed, held = (tuple(np.flatnonzero(dice.random(places) < 0.15).tolist()) for _ in range(2))
    secret = dice.permutation(np.arange(users) < users // 2).tolist()
    return block(histories, secret, limit, quality, closed, held)


def history(of: Block, user: int) -> Ints:
    found = np.zeros(len(of.closed), np.int64)
    rows = slice(of.offset[user], of.offset[user + 1])
    found[of.place[rows]] = of.counts[rows]
    return found


def quality_loss(of: Block, user: int, release: Ints) -> float:
    name = next(name for name, number in KINDS.items() if number == of.kind)
    original, x = history(of, user).astype(np.float64), release.astype(np.float64)
    return float(DISTANCES[name].terms(original, x, original.sum(), x.sum()).sum())


def releases(of: Block, u: int, v: int) -> Iterator[Ints]:
    """Every histogram that the two may share, whatever its loss."""
    first, second = history(of, u), history(of, v)
    size = -(-int(first.sum() + second.sum()) // 2)
    most = np.where(of.closed, 0, np.where(of.held, np.minimum(first, second), size))
    for counts in _sums(len(most), size):
        release = np.array(counts)
        if (release <= most).all():
            yield release


def _sums(length: int, size: int) -> Iterator[list[int]]:
    if length == 1:
        yield [size]
        return
    for count in range(size + 1):
        yield from ([count, *rest] for rest in _sums(length - 1, size - count))


def least_total(of: Block, u: int, v: int) -> float:
    """The least total loss within both limits; infinite if there is none."""
    found = math.inf
    for release in releases(of, u, v):
        losses = [quality_loss(of, user, release) for user in (u, v)]
        if max(losses) <= of.limit + 1e-12:
            found = min(found, sum(losses))
    return found


def costs(of: Block) -> Floats:
    """The least total loss of every pair of users with and without the secret."""
    first, second = np.flatnonzero(of.secret).tolist(), np.flatnonzero(~of.secret).tolist()
    return np.array([[least_total(of, u, v) for v in second] for u in first]).reshape(len(first), len(second))
