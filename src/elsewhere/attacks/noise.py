"""Geometric noise, as a baseline: differential privacy adds it to every count.

The list of places is public: all columns of the table. Two histories are neighbours if they differ in the place of one
visit, so two counts differ by 1 each and the L1 sensitivity is 2. The noise of a count is two-sided geometric: k with
probability proportional to exp(-|k| epsilon / 2). Counts below 0 become 0, which costs no privacy. This protects a
single visit, not all visits of a person.
"""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from elsewhere.model.arrays import Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: With more places than this no noise is added, because it would create visits at a large share of them.
MOST_PLACES = 10_000
_SENSITIVITY = 2

Seed: TypeAlias = int | tuple[int, ...]


def from_opendp() -> bool:
    """Whether OpenDP is installed. Its noise takes no seed, so figures differ a little from run to run."""
    return find_spec("opendp") is not None


def noised(counts: csr_array, epsilon: float, seed: Seed) -> csr_array:
    """The counts of all places with noise at this epsilon per visit."""
    from scipy.sparse import csr_array

    scale = _SENSITIVITY / epsilon
    dense = counts.toarray()
    noisy = _by_opendp(dense, scale) if from_opendp() else dense + two_sided(scale, dense.shape, seed)
    return csr_array(np.maximum(noisy, 0))


def two_sided(scale: float, shape: tuple[int, int], seed: Seed) -> Ints:
    """Whole numbers k, each with probability proportional to exp(-|k| / scale)."""
    random, stop = np.random.default_rng(seed), -math.expm1(-1.0 / scale)
    # The difference of two geometric numbers has this distribution.
    noise: Ints = random.geometric(stop, shape) - random.geometric(stop, shape)
    return noise


def _by_opendp(counts: Ints, scale: float) -> Ints:
    domains, metrics, mod = (import_module(f"opendp.{name}") for name in ("domains", "metrics", "mod"))
    mod.enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    mechanism = import_module("opendp.measurements").make_geometric(*space, scale=scale)
    noisy: Ints = np.array(mechanism(counts.ravel().tolist()), np.int64).reshape(counts.shape)
    return noisy
