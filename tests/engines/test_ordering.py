"""Rows in the order of their buckets, from memory and from a file."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elsewhere as ew
from elsewhere.engines.local import ordering
from elsewhere.engines.local.ordering import Room

pa: Any = pytest.importorskip("pyarrow")


def batches(number: int, rows: int, *, buckets: int = 1 << 16) -> Iterator[Any]:
    """Rows of every type that a batch can have, numbered across the batches."""
    rng = np.random.default_rng(7)
    places = pa.array(["bar", "café", "gym"])
    for at in range(number):
        row = np.arange(at * rows, (at + 1) * rows)
        codes = pa.array(rng.integers(0, 3, rows), pa.uint8(), mask=rng.random(rows) < 0.1)
        yield pa.record_batch(
            {
                "user": pa.array([None if it % 11 == 0 else f"user {it}" * (it % 5) for it in row.tolist()]),
                "location": pa.DictionaryArray.from_arrays(codes, places),
                "row": row,
                "own": pa.array([[f"own {it}"] * (it % 3) for it in row.tolist()], pa.list_(pa.string())),
                "earlier": pa.array(row % 2 == 0),
                "bucket": rng.integers(0, buckets, rows).astype(np.uint16),
            }
        )


@pytest.mark.parametrize("buckets", [1, 3, 1000, 1 << 16])
@pytest.mark.parametrize("kept", [0, 20_000, 1 << 26], ids=["in the file", "some in memory", "in memory"])
def test_rows_in_the_order_of_buckets(kept: int, buckets: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RUN_ROWS", 100), ("_SLICE_ROWS", 7), ("_MAPPED_ROWS", 150)):
        monkeypatch.setattr(ordering, name, value)
    given = [*batches(9, 111, buckets=buckets)]
    found = [*ordering.by_bucket(iter(given), "bucket", Room(kept, tmp_path))]
    rows = [row for batch in found for row in batch.to_pylist()]
    assert all(one["bucket"] <= other["bucket"] for one, other in pairwise(rows))
    expected = [row for batch in given for row in batch.to_pylist()]
    assert sorted(rows, key=lambda row: row["row"]) == expected
    assert all(batch.schema == given[0].schema for batch in found)
    assert len(found) == 1 if buckets < 64 else len(found) > 5
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("kept", [0, 1 << 26])
def test_no_rows(kept: int, tmp_path: Path) -> None:
    assert not [*ordering.by_bucket([], "bucket", Room(kept, tmp_path))]
    assert not [*ordering.by_bucket([next(batches(1, 10)).slice(0, 0)], "bucket", Room(kept, tmp_path))]


class Full(io.BytesIO):
    """A file on a full disk."""

    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "TemporaryFile", lambda **_: Full())
    with pytest.raises(ew.InputError, match="fit neither into the allowed memory nor onto the disk"):
        [*ordering.by_bucket(batches(2, 10), "bucket", Room(0, tmp_path))]
