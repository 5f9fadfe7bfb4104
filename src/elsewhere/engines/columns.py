"""What every engine asks of a table: the kind of its files, the columns that matter, and rows that make sense."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from elsewhere.model.errors import InputError
from elsewhere.text import quote

#: What the columns with users, locations and counts are usually called.
COLUMNS = {
    "user": ("user", "user_id", "userid"),
    "location": ("location", "place", "category", "venue", "site"),
    "count": ("count", "visits", "n"),
}


def find_column(columns: Collection[str], what: str, wanted: str | None) -> Any:
    """The column that has the users, the locations or the counts; None for no counts."""
    if wanted is not None:
        if wanted not in columns:
            raise InputError(f"there is no column {quote(wanted)}; there are {_list(columns)}")
        return wanted
    folded = {name.casefold(): name for name in columns}
    for name in COLUMNS[what]:
        if name in folded:
            return folded[name]
    if what == "count":
        return None
    raise InputError(f"no column is called {what}; say with --{what}-column which of {_list(columns)} it is")


def kind_of(file: str) -> str:
    """Parquet, CSV or TSV, as the end of the name says."""
    name = file.lower().removesuffix(".gz").removesuffix(".zst")
    for kind in ("parquet", "csv", "tsv"):
        if name.endswith(f".{kind}"):
            return kind
    raise InputError(f"{quote(file)} ends in none of .parquet, .csv, .tsv")


def complaint(row: Mapping[str, Any]) -> str:
    """What is wrong with rows of a user at a location."""
    if row["user"] is None:
        what = f"{row['rows']} rows have no user"
    elif row["location"] is None:
        what = f"the user {quote(row['user'])} has rows without a location"
    else:
        what = (
            f"the user {quote(row['user'])} has a count at {quote(row['location'])} that is no whole number from 0 up"
        )
    return f"{what}; --on-error skip leaves such rows out"


def _list(columns: Collection[str]) -> str:
    return ", ".join(map(quote, columns))
