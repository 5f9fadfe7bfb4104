"""The result of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from elsewhere.engines.arrow import Table, datasets, pa, pa_fs
from elsewhere.engines.stores import Location, locate


class BatchResult(dict[str, Any]):
    """The private summary of a batch, by name; its releases and outcomes are tables.

    `releases` may be shared: the columns user (and further keys, under their own names), location and count.
    `outcomes` is private: one row per user, with the figures of the release or the reason why there is none.
    """

    def __init__(self, summary: Mapping[str, Any], releases: Location | str, outcomes: Location | str) -> None:
        super().__init__(summary)
        self._releases, self._outcomes = releases, outcomes

    def loaded(self) -> BatchResult:
        """The same result with its tables in memory, so that the folders can be removed."""
        assert self.releases is not None
        assert self.outcomes is not None
        return self

    @cached_property
    def releases(self) -> Table:
        """The releases of all users, as an Arrow table."""
        return _read(self._releases, ("part-",))

    @cached_property
    def outcomes(self) -> Table:
        """The private outcomes of all users, as an Arrow table."""
        return _read(self._outcomes, ("outcomes-", "part-"))


def _read(where: Location | str, prefixes: tuple[str, ...]) -> Table:
    place = locate(where, "output") if isinstance(where, str) else where
    listed = place.filesystem.get_file_info(pa_fs.FileSelector(place.path, recursive=True))
    files = sorted(info.path for info in listed if info.path.rpartition("/")[2].startswith(prefixes))
    folders = files[0][len(place.path) :].split("/")[:-1] if files else []
    names = [folder.partition("=")[0] for folder in folders if "=" in folder]
    partitioning = datasets().partitioning(pa.schema([(name, pa.string()) for name in names]), flavor="hive")
    return datasets().dataset(
        files, filesystem=place.filesystem, format="parquet", partitioning=partitioning if names else None,
        partition_base_dir=place.path,
    ).to_table()  # fmt: skip
