"""Which files in a folder belong to the table, for every engine and every file system."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from elsewhere.engines.columns import kind_of
from elsewhere.histories.columns import called
from elsewhere.model.errors import InputError
from elsewhere.text import name_list, quote

#: The suffix of a batch's private report: it follows the name of the output.
PRIVATE = ".private"
#: The file that a batch writes last.
SUCCESS = "_SUCCESS"
_OUTCOMES = re.compile(r"(^|/)outcomes-\d{5}\.parquet$|\.private/outcomes/")
_ICEBERG = re.compile(r"(^|.*/)metadata/[^/]*\.metadata\.json$")


def table_files(folder: str, names: Iterable[str]) -> list[str]:
    """The files of the table among all files below a folder, each named by its path from the folder.

    Files and folders whose names begin with ``_`` or ``.`` are bookkeeping, not data. Tables that need their own
    library, and the results of earlier batches, are refused.
    """
    found = sorted(names)
    _refuse_lake_tables(folder, found)
    visible = [name for name in found if not any(map(_is_hidden, name.split("/")))]
    for name in visible:
        if _OUTCOMES.search(name):
            raise InputError(f"{quote(folder)} holds the private report of an earlier batch, {quote(name)}; {_REMEDY}")
    return visible


def partition_names(name: str) -> list[str]:
    """The columns whose values are in the folder names of a file, such as month=2026-01."""
    parts = (part.partition("=") for part in name.split("/")[:-1])
    return [column for column, equals, _ in parts if column and equals]


def earlier_release(folder: str) -> InputError:
    """The error for a table that is the output of a batch."""
    return InputError(f"{quote(folder)} holds the releases of an earlier batch; {_REMEDY}")


def unfinished(folder: str) -> InputError:
    """The error for earlier releases of which some may be missing."""
    return InputError(f"{quote(folder)} has no {SUCCESS}: the batch that makes these releases has not finished")


def one_kind(folder: str, files: Sequence[str]) -> str:
    """The one kind of some files: Parquet, CSV or TSV."""
    if not files:
        raise InputError(f"there is no file at {quote(folder)}")
    first: dict[str, str] = {}
    for file in files:
        first.setdefault(kind_of(file), file)
    if len(first) > 1:
        one, other = [*first.values()][:2]
        raise InputError(f"{quote(folder)} has files of more than one kind: {quote(one)} and {quote(other)}")
    return next(iter(first))


def check_one_schema(columns: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """The columns that all files share, given those of each file; raise if two files disagree."""
    first: tuple[str, Sequence[str]] | None = None
    for file, names in columns:
        if first is None:
            first = file, names
        elif list(names) != list(first[1]):
            raise _disagreement(first, (file, names))
    return list(first[1]) if first else []


def _disagreement(one: tuple[str, Sequence[str]], other: tuple[str, Sequence[str]]) -> InputError:
    (first, some), (second, others) = one, other
    return InputError(
        f"two files have different columns: {quote(first)} has {name_list(some)}, {quote(second)} has "
        f"{name_list(others)}; give files of one table"
    )


def folder_columns(columns: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """The columns whose values become folders; raise for a name that could not be read back from a folder name."""
    found = tuple(called(columns, name) for name in given)
    for name in found:
        if not re.fullmatch(r"\w[\w .+-]*", name):
            raise InputError(f"the column {quote(name)} cannot name a folder; rename it", ("partition_by",))
    return found


def check_apart(folder: Path, private: Path) -> None:
    """Raise if the private report would be inside the folder of releases."""
    if is_within(private, folder):
        told = f"report is {quote(str(private))}, in the folder of the releases; name another folder"
        raise InputError(told, ("report",))


def is_within(path: Path, folder: Path) -> bool:
    real, other = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    return real == other or real in other.parents


_REMEDY = "give only the folder of the original tables"


def _is_hidden(part: str) -> bool:
    # A folder such as _tenant=7 is data, not bookkeeping.
    return part.startswith(".") or (part.startswith("_") and "=" not in part)


def _refuse_lake_tables(folder: str, names: Sequence[str]) -> None:
    for name in names:
        if "_delta_log" in name.split("/"):
            read = "deltalake.DeltaTable(path).to_pyarrow_dataset()"
            raise _lake_table(folder, "a Delta table", name.partition("_delta_log")[0], read)
        if iceberg := _ICEBERG.match(name):
            read = "pyiceberg's table.scan().to_arrow()"
            raise _lake_table(folder, "an Iceberg table", iceberg[1], read)


def _lake_table(folder: str, kind: str, below: str, read: str) -> InputError:
    where = quote(f"{folder}/{below}".rstrip("/"))
    return InputError(
        f"{where} is {kind}, whose files alone do not say which rows are current; pass ew.batch what {read} returns, "
        "or a Spark DataFrame"
    )
